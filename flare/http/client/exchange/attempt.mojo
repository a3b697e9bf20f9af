"""One request and its response on one connection, without ever waiting.

What it waits for is a `RequestPhase`. Who drives it (a blocking call, or a reactor
with many) calls `step` and does what it says.
"""

from flare.bytes.buffer import Buffer
from flare.http.client.connect.error import ClientError, Phase
from flare.http.client.connect.connection import ClientConnection
from flare.http.exchange.forwarded_request import fill
from flare.http.exchange.outgoing_request import OutgoingRequest
from flare.http.exchange.request_phase import (
    RequestEvent,
    RequestPhase,
    phase_after,
)
from flare.http.h1.error import Rule
from flare.http.h1.field_section import HeadLimits
from flare.http.h1.framing import CONTINUE
from flare.http.h1.response_parser import ResponseParser, ResponseProgress
from flare.http.h1.serialiser import RequestFraming
from flare.http.message.method import Method
from flare.sys.errno import EAGAIN, ECONNRESET, EPIPE
from flare.sys.poll import POLL_READ, POLL_WRITE, PollEntry
from flare.tls.error import ClosedEarly
from flare.sys.clock import coarse_monotonic_ms
from std.memory import OwnedPointer

comptime PIECE_LEN = 65_536
"""Content handed to the connection, or read from it, at once, in bytes."""


@fieldwise_init
struct Step(Equatable, TrivialRegisterPassable):
    """What the driver of an attempt has to do."""

    var number: UInt8

    comptime WAIT = Step(0)
    """Wait until the connection is ready: see `Attempt.wants_write`."""
    comptime NEEDS_CONTENT = Step(1)
    """Put the next piece of content into `Attempt.outgoing`, or end it."""
    comptime HEAD = Step(2)
    """The final response's head is in `Attempt.parser`."""
    comptime CONTENT = Step(3)
    """A piece of content is in `Attempt.parser`."""
    comptime END = Step(4)


@fieldwise_init
struct Feeding(Equatable, TrivialRegisterPassable):
    """How the caller stands to a request whose content it gives."""

    var number: UInt8

    comptime NONE = Feeding(0)
    """Nobody is asked: what was given is on its way."""
    comptime ASKED = Feeding(1)
    """All that was given is sent, and more is asked for; what the caller takes
    for it is not the server's time."""
    comptime HELD = Feeding(2)
    """The caller has no more now: the response is waited for in place of it,
    until the caller gives some."""

    comptime COUNT = 3

    def note_sent(mut self, wants_more: Bool):
        """What was there is sent as far as it goes; `wants_more` if that was all
        of it."""
        self = Self.ASKED if wants_more else Self.NONE

    def hold(mut self):
        self = Self.HELD

    def feed(mut self):
        if self == Self.HELD:
            self = Self.ASKED


struct Attempt(Movable):
    """Buffers and state of an exchange; used for one after the other."""

    var parser: ResponseParser
    var outgoing: OutgoingRequest
    var waits_for: RequestPhase
    """What the exchange waits for, once it has a connection or a stream."""
    var delivery: Delivery
    var content_len: Int
    """How much of the request's content was put into `outgoing`, in bytes."""
    var feeding: Feeding
    var sends_first: Bool
    """True while content of a response over HTTP/2 is left alone as long as
    more of the request may go."""
    var size_setting: StaticString
    """The setting that limits the response's content."""
    # True if the last read has filled its room.
    var _may_have_more: Bool
    var _write_failure: Optional[ClientError]

    def __init__(out self):
        self.parser = ResponseParser(PIECE_LEN)
        self.outgoing = OutgoingRequest(Buffer(4_096))
        self.waits_for = RequestPhase.SENDING
        self.delivery = Delivery()
        self.content_len = 0
        self.feeding = Feeding.NONE
        self.sends_first = False
        self.size_setting = "max_response_size"
        self._may_have_more = False
        self._write_failure = None

    def begin(
        mut self,
        method: StringSpan,
        framing: RequestFraming,
        is_strict: Bool = True,
    ):
        """Gets ready for a request, whose head the caller puts into `outgoing`;
        the framing says, too, whether the content waits for 100. Unless it
        `is_strict`, responses that are irregular but clear are read."""
        self.parser.begin_elsewhere(Method(method), is_strict=is_strict)
        self._begin_request(framing)
        self._may_have_more = False
        self._write_failure = None
        self.delivery = Delivery()

    def forget(mut self):
        """Drops the last request, while the next one waits for its turn."""
        self.parser.reset()
        self._begin_request(RequestFraming.none())

    def _begin_request(mut self, framing: RequestFraming):
        self.outgoing.begin(framing)
        self.content_len = 0
        self.feeding = Feeding.NONE
        self.waits_for = RequestPhase.SENDING

    def was_sent(self) -> Bool:
        """Tells whether anything of the request has left."""
        return self.outgoing.sent_count > 0

    def has_head(self) -> Bool:
        return self.waits_for.has_head()

    def has_response(self) -> Bool:
        """Tells whether anything of a response over HTTP/1.1 has arrived, so
        that a repetition of the request could meet two responses. The fate of
        a stream says so of HTTP/2."""
        return self.parser.has_begun()

    def wants_write(self) -> Bool:
        """Tells whether to wait until the connection takes octets or has some,
        and not only until it has some."""
        return self.takes_content() and self.feeding != Feeding.HELD

    def takes_content(self) -> Bool:
        return (
            self.waits_for.is_sending()
            or self.waits_for == RequestPhase.BOTH_WAYS
        )

    def watch(self, connection: ClientConnection) -> PollEntry:
        var wanted = POLL_READ
        if self.wants_write() or connection.transport.wants_write():
            wanted |= POLL_WRITE
        return PollEntry(connection.transport.fd(), wanted, 0)

    def moved_len(self) -> Int:
        return self.content_len + self.parser.body.taken_len

    def is_asking(self) -> Bool:
        """Tells whether the server was asked if it wants the content: only its
        answer counts, or a second without one."""
        return self.waits_for == RequestPhase.ASKING

    def note(mut self, event: RequestEvent):
        """Takes note of what has happened; what is not sent and not wanted any
        more is dropped."""
        self.waits_for = phase_after(self.waits_for, event)
        if event == RequestEvent.BROKEN or event == RequestEvent.REFUSAL:
            self.outgoing.drop_unsent()

    def note_head(mut self, status: Int):
        # A server that refuses need not be sent the rest.
        if status >= 300:
            self.note(RequestEvent.REFUSAL)
        else:
            self.note(RequestEvent.HEAD)

    def phase(self) -> Phase:
        """Names what is going on, for errors."""
        if not self.has_head() and self.wants_write():
            return Phase.WRITE
        return self._read_phase()

    def step(
        mut self,
        mut connection: OwnedPointer[ClientConnection],
        limits: HeadLimits,
    ) raises ClientError -> Step:
        """Goes on with what is there. Returns what the driver has to do; then
        this is to be called again, after a wait with `receive` before it.
        Raises if the connection or the response fails."""
        while True:
            var progress = self._advance(limits)
            if progress == ResponseProgress.HEAD_READY:
                self.note_head(Int(self.parser.head.status))
                return Step.HEAD
            if progress == ResponseProgress.CONTENT:
                return Step.CONTENT
            if progress == ResponseProgress.END:
                return Step.END
            if progress == ResponseProgress.NEEDS_OCTETS:
                break
            if self.is_asking() and self.parser.head.status == CONTINUE:
                self.note(RequestEvent.CONTINUE)
        if self.wants_write():
            return self._send(connection)
        return Step.WAIT

    def _advance(
        mut self, limits: HeadLimits
    ) raises ClientError -> ResponseProgress:
        try:
            return self.parser.advance(limits)
        except error:
            var failure = ClientError(self._read_phase(), error)
            if error.rule == Rule.BODY_LEN:
                failure.name_setting(self.size_setting)
            raise self._failure(failure^)

    def _send(
        mut self, mut connection: OwnedPointer[ClientConnection]
    ) raises ClientError -> Step:
        var sent_count = self.outgoing.sent_count
        var event = self.outgoing.push(connection[].transport)
        if event == RequestEvent.BROKEN:
            return self._note_write_failure(connection)
        if event == RequestEvent.BLOCKED:
            # What the caller's source has taken is not the server's time.
            var has_sent = (
                self.feeding == Feeding.ASKED
                or self.outgoing.sent_count > sent_count
            )
            self.delivery.note(connection[], has_sent)
        elif event == RequestEvent.SENT:
            if self.delivery.is_going_on():
                # From now on silence counts from when all of it has arrived.
                self.delivery.note(connection[], has_sent=True)
            self.parser.end_request()
        var wants_more = event == RequestEvent.DRY
        self.feeding.note_sent(wants_more)
        self.note(event)
        return Step.NEEDS_CONTENT if wants_more else Step.WAIT

    def _note_write_failure(
        mut self, connection: OwnedPointer[ClientConnection]
    ) raises ClientError -> Step:
        """Looks for a response before giving up (RFC 9112 section 9.5)."""
        var number = self.outgoing.error_number
        var failure = connection[].transport.failure(
            Phase.WRITE, number, "write", connection[].endpoint.host
        )
        if number != -EPIPE and number != -ECONNRESET:
            raise failure^
        self._write_failure = failure^
        self.note(RequestEvent.BROKEN)
        return Step.WAIT

    def receive(
        mut self, mut connection: OwnedPointer[ClientConnection]
    ) raises ClientError -> Bool:
        """Reads what has arrived, once; the end of the stream is noted. Returns
        whether there is news; raises if the connection fails."""
        var count = fill(self.parser, connection[].transport)
        self._may_have_more = count > 0 and len(self.parser.input.spare()) == 0
        if count > 0 and not self.wants_write() and not self.is_asking():
            self.delivery.note_answer()
        if count == -EAGAIN:
            return False
        if count < 0:
            raise self._failure(
                connection[].transport.failure(
                    self._read_phase(),
                    count,
                    "read",
                    connection[].endpoint.host,
                )
            )
        return True

    def may_have_more(self, connection: ClientConnection) -> Bool:
        """Tells whether to receive at once, before any wait: octets are
        decrypted already, or the last read has filled its room."""
        return self._may_have_more or connection.transport.has_buffered()

    def _read_phase(self) -> Phase:
        if self.has_head():
            return Phase.READ_BODY
        return Phase.READ_HEAD

    def _failure(self, var error: ClientError) -> ClientError:
        """What went wrong first is the better explanation, unless the server
        has said why it closes: an alert of TLS."""
        var has_alert = False
        if error.tls_kind:
            has_alert = error.tls_kind.value() != ClosedEarly
        if (
            self._write_failure
            and not has_alert
            and not self.parser.has_begun()
        ):
            return self._write_failure.value().copy()
        return error^


struct Delivery(Defaultable, TrivialRegisterPassable):
    """How much was on its way when it was last looked at, and since when the server
    has taken nothing of it."""

    var _left_len: Int
    var _moved_ms: Int

    def is_going_on(self) -> Bool:
        """Tells whether octets are on their way to the server, for all that is
        known. If so, look again before all of the time is over: what the server
        takes now is seen only then."""
        return self._left_len > 0

    def look(mut self, connection: ClientConnection) -> Bool:
        """Tells whether the server has taken octets, so that less is on its
        way, since this was asked last, or since the connection took no more."""
        var left_len = connection.transport.undelivered_len()
        var is_progress = left_len < self._left_len
        self._left_len = left_len
        if is_progress:
            self._moved_ms = coarse_monotonic_ms()
        return is_progress

    def note(mut self, connection: ClientConnection, has_sent: Bool = False):
        """Notes how much is on its way, for `look`, when the connection takes
        no more; `has_sent` if it has just taken some."""
        var was_idle = not self.is_going_on()
        if not self.look(connection) and (has_sent or was_idle):
            self._moved_ms = coarse_monotonic_ms()

    def note_answer(mut self):
        """Notes that the server has answered while octets are on their way: whoever
        answers is there, and from now on its silence counts."""
        if self.is_going_on():
            self._moved_ms = coarse_monotonic_ms()

    def stalled_ms(self) -> Int:
        """Tells for how many milliseconds the server has taken nothing of what
        is on its way, as far as was looked."""
        return coarse_monotonic_ms() - self._moved_ms

    def look_again_ms(self, timeout_ms: Int) -> Int:
        """Tells in how many milliseconds to look what the server has taken: an
        eighth of the time that it may take nothing, or what is left of it. That
        is in milliseconds, too; negative for ever."""
        if timeout_ms < 0:
            return timeout_ms
        var left_ms = max(timeout_ms - self.stalled_ms(), 0)
        return min(left_ms, max(timeout_ms // 8, 1))

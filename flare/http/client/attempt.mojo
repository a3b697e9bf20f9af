"""One request and its response on one connection, without ever waiting.

    begin --> SENDING --all sent--> RECEIVING --response complete--> DONE
                 |  \\--100 wanted--> ASKING --100, or no answer--> SENDING
                 \\--final response has come--> RECEIVING

Who drives it (a blocking call, or a reactor with many) calls `step` and does
what it says.
"""

from flare.bytes.buffer import Buffer
from flare.http.client.error import ClientError, Phase
from flare.http.client.pool import ClientConnection
from flare.http.h1.error import Rule
from flare.http.h1.field_section import HeadLimits
from flare.http.h1.response_parser import ResponseParser, ResponseProgress
from flare.http.message.method import Method
from flare.sys.clock import coarse_monotonic_ms
from flare.sys.errno import EAGAIN, ECONNRESET, EINTR, EPIPE
from flare.sys.poll import POLL_READ, POLL_WRITE, PollEntry
from flare.tls.error import ClosedEarly
from std.memory import OwnedPointer

comptime PIECE_LEN = 65_536
"""Content handed to the connection, or read from it, at once, in bytes."""

comptime ROOM_LEN_MIN = 4_096
"""Least room worth a read, in bytes."""


struct Step(Equatable, TrivialRegisterPassable):
    """What the driver of an attempt has to do."""

    var number: UInt8

    comptime WAIT = Step(0)
    """Wait until the connection is ready: see `Attempt.wants_write`."""
    comptime NEEDS_CONTENT = Step(1)
    """Put the next piece of content into `Attempt.output`, or end it."""
    comptime HEAD = Step(2)
    """The final response's head is in `Attempt.parser`."""
    comptime CONTENT = Step(3)
    """A piece of content is in `Attempt.parser`."""
    comptime END = Step(4)
    """The response is complete."""

    def __init__(out self, number: UInt8):
        self.number = number


comptime _SENDING = UInt8(0)
comptime _ASKING = UInt8(1)
comptime _RECEIVING = UInt8(2)


struct Attempt(Movable):
    """Buffers and state of an exchange; used for one after the other."""

    var parser: ResponseParser
    var output: Buffer
    """What is still to be sent."""
    var content_len: Int
    """How much of the request's content was put into `output`, in bytes."""
    var was_sent: Bool
    """True once an octet of the request has left."""
    var has_head: Bool
    """True once the final response's head is complete."""
    var is_stream: Bool
    """True if it is a stream of HTTP/2, whose frames frame the content, and
    which `http2_exchange` drives in place of `step` and `receive`."""
    var has_answer: Bool
    """True once anything of an answer has come on the stream."""
    var size_setting: StaticString
    """The setting that limits the response's content."""
    # True if the last read has filled its room.
    var _may_have_more: Bool
    var _state: UInt8
    var _expects_continue: Bool
    var _has_all_content: Bool
    var _write_failure: Optional[ClientError]
    # What was on its way when it was last looked at, and since when the server
    # has taken nothing of it.
    var _undelivered_len: Int
    var _delivery_ms: Int
    # True while the caller gives more content.
    var _is_fed: Bool

    def __init__(out self):
        """Makes an attempt without a request."""
        self.parser = ResponseParser(PIECE_LEN)
        self.output = Buffer(4_096)
        self.content_len = 0
        self.was_sent = False
        self.has_head = False
        self.is_stream = False
        self.has_answer = False
        self.size_setting = "max_response_size"
        self._may_have_more = False
        self._state = _SENDING
        self._expects_continue = False
        self._has_all_content = False
        self._write_failure = None
        self._undelivered_len = 0
        self._delivery_ms = 0
        self._is_fed = False

    def begin(
        mut self,
        method: StringSpan,
        expects_continue: Bool = False,
        is_strict: Bool = True,
    ) raises ClientError:
        """Gets ready for a request, whose head the caller puts into `output`.

        Args:
            expects_continue: True to wait for 100 before content is sent.
            is_strict: False to read responses that are irregular but clear.

        Raises:
            ClientError: Never; the input is empty.
        """
        self.parser.reset()
        self.output.clear()
        self.content_len = 0
        self.was_sent = False
        self.has_head = False
        self.is_stream = False
        self.has_answer = False
        self._may_have_more = False
        self._state = _SENDING
        self._expects_continue = expects_continue
        self._has_all_content = False
        self._write_failure = None
        self._undelivered_len = 0
        self._is_fed = False
        try:
            self.parser.begin(Method(method), is_strict=is_strict)
        except error:
            raise ClientError(materialize[Phase.WRITE](), error)

    def forget(mut self):
        """Drops the last request, while the next one waits for its turn."""
        self.parser.reset()
        self.output.clear()
        self.content_len = 0
        self.was_sent = False
        self.has_head = False
        self.has_answer = False
        self._state = _SENDING

    def end_content(mut self):
        """Notes that all content is in `output`."""
        self._has_all_content = True

    def has_all_content(self) -> Bool:
        """Tells whether no more content comes into `output`.

        Returns:
            True behind `end_content`.
        """
        return self._has_all_content

    def has_response(self) -> Bool:
        """Tells whether anything of a response has arrived.

        Returns:
            False while a repetition of the request could not meet two
            responses.
        """
        return self.has_answer or self.parser.has_begun()

    def wants_write(self) -> Bool:
        """Tells what to wait for.

        Returns:
            True to wait until the connection takes octets or has some; False
            until it has some.
        """
        return self._state == _SENDING

    def watch(self, connection: ClientConnection) -> PollEntry:
        """Tells what to wait for."""
        var wanted = POLL_READ
        if self.wants_write() or connection.transport.wants_write():
            wanted |= POLL_WRITE
        return PollEntry(connection.transport.fd(), wanted, 0)

    def delivers(mut self, connection: ClientConnection) -> Bool:
        """Tells whether the server has taken octets since this was asked last,
        or since the connection took no more.

        A slow server takes them long before the connection takes more.

        Returns:
            True if less is on its way than before.
        """
        var left = connection.transport.undelivered_len()
        var is_progress = left < self._undelivered_len
        self._undelivered_len = left
        if is_progress:
            self._delivery_ms = coarse_monotonic_ms()
        return is_progress

    def note_delivery(
        mut self, connection: ClientConnection, has_sent: Bool = False
    ):
        """Notes how much is on its way, for `delivers`.

        Args:
            connection: The connection, which takes no more.
            has_sent: True if it has just taken some.
        """
        var was_idle = not self.is_delivering()
        if not self.delivers(connection) and (has_sent or was_idle):
            self._delivery_ms = coarse_monotonic_ms()

    def is_delivering(self) -> Bool:
        """Tells whether octets are on their way to the server, for all that is
        known.

        Returns:
            True to look again before all of the time is over: what the server
            takes now is seen only then.
        """
        return self._undelivered_len > 0

    def stalled_ms(self) -> Int:
        """Tells how long the server has taken nothing of what is on its way.

        Returns:
            Milliseconds, as far as was looked.
        """
        return coarse_monotonic_ms() - self._delivery_ms

    def look_again_ms(self, timeout_ms: Int) -> Int:
        """Tells when to look what the server has taken.

        Args:
            timeout_ms: How long it may take nothing, in milliseconds; negative
                for ever.

        Returns:
            Milliseconds from now: an eighth of that, or what is left of it.
        """
        if timeout_ms < 0:
            return timeout_ms
        var left_ms = max(timeout_ms - self.stalled_ms(), 0)
        return min(left_ms, max(timeout_ms // 8, 1))

    def moved_len(self) -> Int:
        """Counts the content that went either way."""
        return self.content_len + self.parser.body.taken_len

    def is_asking(self) -> Bool:
        """Tells whether the server was asked if it wants the content.

        Returns:
            True while only its answer, or a second without one, counts.
        """
        return self._state == _ASKING

    def start_asking(mut self) -> Bool:
        """Waits for 100, if the request asks for it and has not waited yet.

        Returns:
            False if the content is to be sent now.
        """
        if not self._expects_continue or self._has_all_content:
            return False
        self._expects_continue = False
        self._state = _ASKING
        return True

    def stop_asking(mut self):
        """Sends the content without an answer."""
        self._state = _SENDING

    def phase(self) -> Phase:
        """Names what is going on, for errors."""
        if self.has_head:
            return materialize[Phase.READ_BODY]()
        if self._state == _SENDING:
            return materialize[Phase.WRITE]()
        return materialize[Phase.READ_HEAD]()

    def step(
        mut self,
        mut connection: OwnedPointer[ClientConnection],
        limits: HeadLimits,
    ) raises ClientError -> Step:
        """Goes on with what is there.

        Args:
            limits: Bounds of the response's head.

        Returns:
            What the driver has to do; then `step` is to be called again, after
            a wait with `receive` before it.

        Raises:
            ClientError: If the connection or the response fails.
        """
        while True:
            var progress = self._advance(limits)
            if progress == ResponseProgress.HEAD_READY:
                self.has_head = True
                # A server that refuses need not be sent the rest.
                if self.parser.head.status >= 300:
                    self.stop_sending()
                return Step.HEAD
            if progress == ResponseProgress.CONTENT:
                return Step.CONTENT
            if progress == ResponseProgress.END:
                return Step.END
            if progress == ResponseProgress.NEEDS_OCTETS:
                break
            if self._state == _ASKING and self.parser.head.status == 100:
                self._state = _SENDING
        if self._state == _SENDING:
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
        # What the caller's source has taken is not the server's time.
        var has_sent = self._is_fed
        self._is_fed = False
        while len(self.output) > 0:
            var count = connection[].transport.send(self.output.span())
            if count >= 0:
                self.was_sent = True
                has_sent = has_sent or count > 0
                self.output.consume(count)
            elif count == -EAGAIN:
                self.note_delivery(connection[], has_sent)
                return Step.WAIT
            elif count != -EINTR:
                return self._note_write_failure(connection, count)
        var flushed = connection[].transport.flush()
        if flushed == -EAGAIN:
            self.note_delivery(connection[], has_sent)
            return Step.WAIT
        if flushed < 0:
            return self._note_write_failure(connection, flushed)
        if self.start_asking():
            return Step.WAIT
        if not self._has_all_content:
            self._is_fed = True
            return Step.NEEDS_CONTENT
        if self.is_delivering():
            # From now on silence counts from when all of it has arrived.
            self.note_delivery(connection[], has_sent=True)
        self.parser.end_request()
        self._state = _RECEIVING
        return Step.WAIT

    def _note_write_failure(
        mut self, connection: OwnedPointer[ClientConnection], number: Int
    ) raises ClientError -> Step:
        """Looks for a response before giving up (RFC 9112 section 9.5)."""
        var failure = connection[].transport.failure(
            materialize[Phase.WRITE](),
            number,
            "write",
            connection[].endpoint.host,
        )
        if number != -EPIPE and number != -ECONNRESET:
            raise failure^
        self._write_failure = failure^
        self.stop_sending()
        return Step.WAIT

    def stop_sending(mut self):
        """Sends nothing more: the rest of the request is not wanted, or is not
        there any more."""
        if self._state != _RECEIVING:
            self.output.clear()
            self._state = _RECEIVING

    def receive(
        mut self, mut connection: OwnedPointer[ClientConnection]
    ) raises ClientError -> Bool:
        """Reads what has arrived, once; the end of the stream is noted.

        Returns:
            True if there is news; False if nothing has arrived.

        Raises:
            ClientError: If the connection fails.
        """
        if len(self.parser.input.spare()) < ROOM_LEN_MIN:
            self.parser.input.reserve(PIECE_LEN)
        var room = self.parser.input.spare()
        var count = connection[].transport.receive(room)
        self._may_have_more = count == len(room)
        if count > 0:
            if self._state == _RECEIVING and self.is_delivering():
                # Whoever answers is there: from now on its silence counts.
                self._delivery_ms = coarse_monotonic_ms()
            self.parser.input.commit(count)
            return True
        if count == 0:
            self.parser.close_input()
            return True
        if count != -EAGAIN and count != -EINTR:
            raise self._failure(
                connection[].transport.failure(
                    self._read_phase(),
                    count,
                    "read",
                    connection[].endpoint.host,
                )
            )
        return False

    def may_have_more(self, connection: ClientConnection) -> Bool:
        """Tells whether to receive at once, before any wait.

        Returns:
            True if octets are decrypted already, or the last read has filled
            its room.
        """
        return self._may_have_more or connection.transport.has_buffered()

    def _read_phase(self) -> Phase:
        if self.has_head:
            return materialize[Phase.READ_BODY]()
        return materialize[Phase.READ_HEAD]()

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

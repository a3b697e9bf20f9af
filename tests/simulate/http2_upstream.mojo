"""A simulated upstream of HTTP/2: one connection of it.

Frames are read and written by the library's own session, in the server's role.
"""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.http.h2.connection_state import (
    EventKind,
    Http2Event,
    Http2Limits,
    Http2Role,
)
from flare.http.h2.error import ErrorCode
from flare.http.h2.field_section import WANTS_UPGRADE
from flare.http.h2.session import Http2Session
from flare.sys.errno import EAGAIN
from tests.simulate.actor import Answering
from tests.simulate.kernel import Kernel
from tests.simulate.requests import answer_of, id_of
from tests.simulate.seat import Seat
from tests.simulate.ws_host import WsHost
from tests.support.h2_fields import add_field

comptime _READ_LEN = 8_192

comptime _PAUSE_NS_MAX = 50_000_000

comptime _IS_GOING = -1


@fieldwise_init
struct Http2UpstreamManner(Equatable, TrivialRegisterPassable):
    """How an upstream behaves on a connection."""

    var _number: UInt8

    comptime POLITE = Http2UpstreamManner(0)
    comptime BREAKS_OFF = Http2UpstreamManner(1)
    """It ends the connection within a response, and says nothing."""
    comptime RESETS = Http2UpstreamManner(2)
    """It resets it there."""
    comptime ENDS_STREAMS = Http2UpstreamManner(3)
    """It resets some streams within their responses."""
    comptime REFUSES = Http2UpstreamManner(4)
    """It refuses some streams before it has done anything for them."""
    comptime IS_SILENT = Http2UpstreamManner(5)
    """It does not answer."""
    comptime IS_HASTY = Http2UpstreamManner(6)
    """It answers some uploads before it has their content."""
    comptime GOES_AWAY = Http2UpstreamManner(7)
    """It takes no more streams from some time on, finishes those that it has, and
    ends the connection."""

    comptime COUNT = 8


struct _Stream(Movable):
    """A request, and what has become of it."""

    var id: Int
    var line: String
    """Method and path."""
    var content: List[UInt8]
    var held_len: Int
    # What has come, and was not given back to the client's window.
    var is_whole: Bool
    """True if all of the request has come."""
    var status: Int
    """What it is answered with; 0 before it is."""
    var answer: List[UInt8]
    var sent_len: Int
    var has_head: Bool
    """True if the head of the response is sent."""
    var breaks_at: Int
    """How much of the answer is sent before it breaks off; -1 if it does not."""
    var talk: Optional[WsHost]
    """What comes behind an extended CONNECT (RFC 8441)."""
    var outbox: Buffer
    """What it is to be told."""
    var is_over: Bool

    def __init__(out self, id: Int, var line: String):
        self.id = id
        self.line = line^
        self.content = []
        self.held_len = 0
        self.is_whole = False
        self.status = 0
        self.answer = []
        self.sent_len = 0
        self.has_head = False
        self.breaks_at = -1
        self.talk = None
        self.outbox = Buffer(0)
        self.is_over = False


struct Http2Upstream(Answering):
    """Its streams, and how far they are."""

    var manner: Http2UpstreamManner
    var _seat: Seat
    var _begun: List[Int]
    var _session: Http2Session
    var _streams: List[_Stream]
    var _input: Buffer
    var _outbox: Buffer
    var _goes_ns: Int
    # When one that goes away says so; `_IS_GOING` once it has.
    var _leaves: Bool
    # Whether the connection ends when all is sent that is written.

    def __init__(out self, mut kernel: Kernel, end: Int):
        ref dice = kernel.dice
        # It acts as soon as it is there.
        self._seat = Seat(end, 0)
        self.manner = Http2UpstreamManner.POLITE
        if dice.one_in(2):
            self.manner = Http2UpstreamManner(
                UInt8(dice.below(Int(Http2UpstreamManner.COUNT)))
            )
        self._begun = []
        var limits = Http2Limits()
        limits.stream_window = 1 << dice.between(6, 16)
        limits.stream_count_max = dice.between(1, 100)
        self._session = Http2Session(Http2Role.SERVER, limits, 0)
        self._streams = []
        self._input = Buffer(0)
        self._outbox = Buffer(0)
        self._goes_ns = kernel.now_ns + dice.below(300_000_000)
        self._leaves = False
        self._session.state.local.enable_connect_protocol = True
        self._session.begin(self._outbox)

    def seat(self) -> Seat:
        return self._seat.copy()

    def take_begun(mut self) -> List[Int]:
        var begun = List[Int]()
        swap(begun, self._begun)
        return begun^

    def act(mut self, mut kernel: Kernel):
        self._seat.next_ns = Int.MAX
        self._receive(kernel)
        if self._seat.is_over:
            return
        self._go_away(kernel)
        self._give_back(kernel)
        if not self._leaves:
            self._answer(kernel)
        self._flush(kernel)

    def _receive(mut self, mut kernel: Kernel):
        while True:
            var count = self._seat.receive(kernel, self._input, _READ_LEN)
            if count == -EAGAIN:
                return
            if count <= 0:
                self._seat.leave(kernel, is_reset=False)
                return
            try:
                self._take_events(kernel)
            except error:
                self._seat.problem = String("the gateway broke a rule: ", error)
                self._seat.leave(kernel, is_reset=True)
                return
            if kernel.dice.one_in(4):
                self._seat.wake_later(kernel, _PAUSE_NS_MAX)
                return

    def _take_events(mut self, mut kernel: Kernel) raises:
        while True:
            var event = self._session.next_event(self._input, self._outbox, 0)
            if event.kind == EventKind.NEEDS_OCTETS:
                return
            if event.kind == EventKind.HEADERS:
                self._begin(kernel, event)
                continue
            for index in range(len(self._streams)):
                if self._streams.at(index).id == event.stream_id:
                    self._note(index, event)

    def _begin(mut self, mut kernel: Kernel, event: Http2Event):
        """Takes a request whose head has come, or refuses it."""
        var id = event.stream_id
        if self.manner == Http2UpstreamManner.REFUSES and kernel.dice.one_in(2):
            self._session.state.reset(
                self._outbox, id, ErrorCode.REFUSED_STREAM
            )
            return
        # SAFETY: it is copied before the section changes.
        var asked = self._session.section[].unsafe_request_line[
            ImmUntrackedOrigin
        ]()
        var stream = _Stream(id, String(asked.method_name, " ", asked.url))
        self._begun.append(id_of(stream.line))
        stream.is_whole = event.ends
        if (
            self.manner == Http2UpstreamManner.IS_HASTY
            and not event.ends
            and kernel.dice.one_in(2)
        ):
            stream.status = 503
        elif self._session.section[].facts.status == WANTS_UPGRADE:
            stream.status = 200
            var breaks_off = self._breaks_off() and kernel.dice.one_in(2)
            stream.talk = WsHost(
                kernel.dice.below(4) if breaks_off else Int.MAX
            )
        self._streams.append(stream^)

    def _note(mut self, index: Int, event: Http2Event):
        ref stream = self._streams.at(index)
        if event.kind == EventKind.DATA:
            var octets = self._session.data(self._input)
            stream.held_len += len(octets)
            if stream.talk:
                stream.talk.value().reader.inbox.append(octets)
            else:
                stream.content.extend(octets)
        elif event.kind == EventKind.RESET:
            stream.is_over = True
            self._session.state.owe(stream.held_len, self._outbox)
            stream.held_len = 0
            return
        if event.ends:
            stream.is_whole = True

    def _go_away(mut self, mut kernel: Kernel):
        """Says that it takes no more streams, when it is time; leaves when all are
        over."""
        if self.manner != Http2UpstreamManner.GOES_AWAY:
            return
        if kernel.now_ns < self._goes_ns:
            self._seat.next_ns = min(self._seat.next_ns, self._goes_ns)
            return
        if self._goes_ns != _IS_GOING:
            self._goes_ns = _IS_GOING
            self._session.end_drain(self._outbox)
        for index in range(len(self._streams)):
            if not self._streams.at(index).is_over:
                return
        self._leaves = True

    def _give_back(mut self, mut kernel: Kernel):
        """Gives room back for what was received, now or later."""
        for index in range(len(self._streams)):
            ref stream = self._streams.at(index)
            if stream.held_len == 0:
                continue
            if kernel.dice.one_in(3):
                self._seat.wake_later(kernel, _PAUSE_NS_MAX)
                continue
            self._session.state.consume(
                self._outbox, stream.id, stream.held_len
            )
            stream.held_len = 0

    def _answer(mut self, mut kernel: Kernel):
        """Answers what is whole, as far as windows allow, or less."""
        for index in range(len(self._streams)):
            ref stream = self._streams.at(index)
            if stream.is_over or self.manner == Http2UpstreamManner.IS_SILENT:
                continue
            if stream.status == 0:
                if not stream.is_whole:
                    continue
                self._decide(kernel, index)
            if not self._streams.at(index).has_head:
                self._write_head(kernel, index)
            if self._streams.at(index).talk:
                self._talk(kernel, index)
            else:
                self._write_content(kernel, index)
            if self._leaves:
                return

    def _decide(mut self, mut kernel: Kernel, index: Int):
        """Says what a request is answered with, and whether that breaks off."""
        ref stream = self._streams.at(index)
        stream.status = 200
        stream.answer = answer_of(stream.line, stream.content)
        if self._breaks_off() and kernel.dice.one_in(3):
            stream.breaks_at = kernel.dice.below(len(stream.answer) + 1)

    def _breaks_off(self) -> Bool:
        return (
            self.manner == Http2UpstreamManner.BREAKS_OFF
            or self.manner == Http2UpstreamManner.RESETS
            or self.manner == Http2UpstreamManner.ENDS_STREAMS
        )

    def _write_head(mut self, mut kernel: Kernel, index: Int):
        ref stream = self._streams.at(index)
        stream.has_head = True
        var id = stream.id
        var length = len(stream.answer)
        var status = stream.status
        self._session.begin_block()
        self._session.encoder.add_status(self._session.fields, status)
        if not stream.talk and kernel.dice.one_in(2):
            add_field(self._session, "content-length", String(length))
        self._session.end_block(self._outbox, id, False)

    def _talk(mut self, mut kernel: Kernel, index: Int):
        """Answers what is said over WebSocket, as far as windows allow, or less;
        ends the stream behind the last word, or when the client has."""
        ref stream = self._streams.at(index)
        ref talk = stream.talk.value()
        talk.answer(stream.outbox, kernel.dice)
        self._seat.problem = talk.reader.problem
        var left = len(stream.outbox)
        var count = self._seat.portion(
            kernel, left, self._session.sendable_len(stream.id), _PAUSE_NS_MAX
        )
        var breaks_off = talk.breaks_off()
        var ends = count == left and not breaks_off
        ends &= talk.is_over or stream.is_whole
        if count == 0 and not ends and not (breaks_off and left == 0):
            return
        self._session.write_data(
            self._outbox, stream.id, stream.outbox.span()[:count], ends
        )
        stream.outbox.consume(count)
        if ends or (breaks_off and count == left):
            self._end_stream(index, is_complete=ends)

    def _write_content(mut self, mut kernel: Kernel, index: Int):
        ref stream = self._streams.at(index)
        var end = len(stream.answer)
        if stream.breaks_at >= 0:
            end = stream.breaks_at
        var left = end - stream.sent_len
        var count = self._seat.portion(
            kernel, left, self._session.sendable_len(stream.id), _PAUSE_NS_MAX
        )
        if count == 0 and left > 0:
            return
        var is_last = count == left and stream.breaks_at < 0
        self._session.write_data(
            self._outbox,
            stream.id,
            Span(stream.answer)[stream.sent_len : stream.sent_len + count],
            is_last,
        )
        stream.sent_len += count
        if count == left:
            self._end_stream(index, is_complete=is_last)

    def _end_stream(mut self, index: Int, *, is_complete: Bool):
        """Lets go of a stream of which all is sent, or of which no more is."""
        ref stream = self._streams.at(index)
        stream.is_over = True
        if not is_complete and self.manner != Http2UpstreamManner.ENDS_STREAMS:
            self._leaves = True
        elif not is_complete:
            self._session.state.reset(
                self._outbox, stream.id, ErrorCode.INTERNAL_ERROR
            )
        elif not stream.is_whole and not stream.talk:
            # The rest is not wanted (RFC 9113 section 8.1).
            self._session.state.reset(
                self._outbox, stream.id, ErrorCode.NO_ERROR
            )
        self._session.state.owe(stream.held_len, self._outbox)
        stream.held_len = 0

    def _flush(mut self, mut kernel: Kernel):
        var is_sent = self._seat.send(kernel, self._outbox, _PAUSE_NS_MAX)
        if is_sent and self._leaves:
            self._seat.leave(
                kernel, is_reset=self.manner == Http2UpstreamManner.RESETS
            )

"""A simulated client of HTTP/2, polite or not, and what it must be told.

Frames are read and written by the library's own session, in the client's role;
h2spec and other implementations judge that one.
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
from flare.http.h2.priority import AbuseLimits
from flare.http.h2.session import Http2Session
from flare.sys.errno import EAGAIN
from tests.simulate.actor import Asking
from tests.simulate.kernel import Kernel, NOBODY
from tests.simulate.requests import Asked, AskedKind, choose_asked, content_of
from tests.simulate.requests import may_fail
from tests.simulate.seat import Seat
from tests.support.h2_fields import add_field

comptime _READ_LEN = 4_096

comptime _PAUSE_NS_MAX = 20_000_000

comptime _TINY_COUNT_MAX = 1_000_000
# Frames of no use that it bears: content that comes octet by octet from an upstream
# goes so to a client, which is none to judge it by.


@fieldwise_init
struct Http2Manner(Equatable, TrivialRegisterPassable):
    """How a client behaves. All but the first two may be given up."""

    var _number: UInt8

    comptime POLITE = Http2Manner(0)
    comptime CANCELS = Http2Manner(1)
    """It resets some of its streams; what it asks for on others it must get."""
    comptime LEAVES = Http2Manner(2)
    """It closes its connection some time."""
    comptime RESETS = Http2Manner(3)
    """It resets it."""
    comptime KEEPS_SHUT = Http2Manner(4)
    """It gives no room back for what it has received."""
    comptime STALLS = Http2Manner(5)
    """It does not send the last octet of what it uploads."""

    comptime COUNT = 6


struct _Stream(Movable):
    """A request, and what has become of it."""

    var asked: Asked
    var id: Int
    var upload: List[UInt8]
    var uploaded_len: Int
    var has_sent_end: Bool
    var status: Int
    var received: List[UInt8]
    var held_len: Int
    # What it has received, and has not given back to the server's window.
    var has_ended: Bool
    var was_reset: Bool
    # By the server, before it was complete.
    var is_cancelled: Bool

    def __init__(out self, asked: Asked):
        self.asked = asked.copy()
        self.id = 0
        self.upload = []
        if asked.kind == AskedKind.UPLOAD:
            self.upload = content_of(asked.id, asked.length)
        self.uploaded_len = 0
        self.has_sent_end = False
        self.status = 0
        self.received = []
        self.held_len = 0
        self.has_ended = False
        self.was_reset = False
        self.is_cancelled = False

    def is_over(self) -> Bool:
        return self.has_ended or self.was_reset or self.is_cancelled


struct Http2Client(Asking):
    """One connection's client: its streams, and how far they are."""

    var manner: Http2Manner
    var _seat: Seat
    # From when on it is rude to the whole connection.
    var _rude_ns: Int
    var _is_excused: Bool
    var _session: Http2Session
    var _streams: List[_Stream]
    var _input: Buffer
    var _outbox: Buffer

    def __init__(out self, mut kernel: Kernel, first_id: Int, asked_max: Int):
        ref dice = kernel.dice
        self._seat = Seat(NOBODY, kernel.now_ns + dice.below(100_000_000))
        self.manner = Http2Manner.POLITE
        if dice.one_in(2):
            self.manner = Http2Manner(UInt8(dice.below(Int(Http2Manner.COUNT))))
        self._rude_ns = self._seat.start_ns + (1 << dice.between(16, 36))
        self._is_excused = kernel.weather.is_slow
        var limits = Http2Limits()
        limits.abuse = AbuseLimits(_TINY_COUNT_MAX, 0)
        limits.stream_window = 1 << dice.between(6, 16)
        self._session = Http2Session(Http2Role.CLIENT, limits, 0)
        self._streams = []
        for index in range(min(dice.between(1, 12), asked_max)):
            var asked = choose_asked(
                dice, first_id + index, kernel.weather.length_max
            )
            # `Expect` is the other client's.
            asked.expects_continue = False
            self._streams.append(_Stream(asked))
        self._input = Buffer(0)
        self._outbox = Buffer(0)

    # What others ask.

    def seat(self) -> Seat:
        return self._seat.copy()

    def is_judged(self) -> Bool:
        return not self._is_excused and (
            self.manner == Http2Manner.POLITE
            or self.manner == Http2Manner.CANCELS
        )

    def excuse(mut self):
        self._is_excused = True

    def speaks_ill(self) -> Bool:
        return False

    def request_count(self) -> Int:
        return len(self._streams)

    def answered_count(self) -> Int:
        var count = 0
        for index in range(len(self._streams)):
            if self._streams.at(index).has_ended:
                count += 1
        return count

    def is_content(self) -> Bool:
        for index in range(len(self._streams)):
            ref stream = self._streams.at(index)
            if not stream.is_over():
                return False
        return True

    def asked(self, id: Int) -> Optional[Asked]:
        for index in range(len(self._streams)):
            if self._streams.at(index).asked.id == id:
                return self._streams.at(index).asked.copy()
        return None

    # What it does.

    def act(mut self, mut kernel: Kernel):
        self._seat.next_ns = Int.MAX
        if self._seat.end == NOBODY:
            if not self._seat.dial(kernel):
                return
            self._session.begin(self._outbox)
        if self._is_rude_now(kernel):
            return
        self._receive(kernel)
        if self._seat.is_over:
            return
        self._begin_streams(kernel)
        self._upload(kernel)
        self._give_back(kernel)
        self._flush(kernel)
        if self._seat.problem.byte_length() > 0:
            self._seat.leave(kernel, is_reset=True)
        elif self.is_content() and len(self._outbox) == 0:
            self._seat.leave(kernel, is_reset=False)

    def _is_rude_now(mut self, mut kernel: Kernel) -> Bool:
        var is_reset = self.manner == Http2Manner.RESETS
        if not is_reset and self.manner != Http2Manner.LEAVES:
            return False
        if kernel.now_ns < self._rude_ns:
            self._seat.next_ns = self._rude_ns
            return False
        self._seat.leave(kernel, is_reset=is_reset)
        return True

    def _begin_streams(mut self, mut kernel: Kernel):
        """Opens what the server lets it, or a part of that."""
        for index in range(len(self._streams)):
            if self._streams.at(index).id != 0:
                continue
            if not self._session.state.has_settings:
                return
            if kernel.dice.one_in(3):
                self._seat.wake_later(kernel, _PAUSE_NS_MAX)
                return
            var id = self._session.open_stream()
            if id == 0:
                return
            ref stream = self._streams.at(index)
            stream.id = id
            var is_upload = stream.asked.kind == AskedKind.UPLOAD
            stream.has_sent_end = not is_upload
            var path = stream.asked.path()
            self._session.begin_block()
            add_field(self._session, ":method", "POST" if is_upload else "GET")
            add_field(self._session, ":scheme", "http")
            add_field(self._session, ":path", path)
            add_field(self._session, ":authority", "simulated")
            self._session.end_block(self._outbox, id, not is_upload)

    def _upload(mut self, mut kernel: Kernel):
        """Sends content as far as the windows allow, or less."""
        for index in range(len(self._streams)):
            ref stream = self._streams.at(index)
            if stream.id == 0 or stream.has_sent_end or stream.is_over():
                continue
            var room = self._session.sendable_len(stream.id)
            if room < 0:
                continue
            var left = len(stream.upload) - stream.uploaded_len
            var sendable = left
            if self.manner == Http2Manner.STALLS:
                sendable -= 1
            var count = max(min(sendable, room), 0)
            if count > 1 and kernel.dice.one_in(2):
                count = kernel.dice.between(1, count)
                self._seat.wake_later(kernel, _PAUSE_NS_MAX)
            if count == 0 and left > 0:
                continue
            self._write_content(index, count)

    def _write_content(mut self, index: Int, count: Int):
        ref stream = self._streams.at(index)
        var start = stream.uploaded_len
        stream.uploaded_len += count
        stream.has_sent_end = stream.uploaded_len == len(stream.upload)
        self._session.write_data(
            self._outbox,
            stream.id,
            Span(stream.upload)[start : start + count],
            stream.has_sent_end,
        )

    def _give_back(mut self, mut kernel: Kernel):
        """Gives room back for what was received, now or later; cancels."""
        for index in range(len(self._streams)):
            ref stream = self._streams.at(index)
            if (
                self.manner == Http2Manner.CANCELS
                and stream.id != 0
                and not stream.is_over()
                and kernel.dice.one_in(20)
            ):
                self._session.state.reset(
                    self._outbox, stream.id, ErrorCode.CANCEL
                )
                self._session.state.owe(stream.held_len, self._outbox)
                stream.held_len = 0
                stream.is_cancelled = True
                # There is room for another one.
                self._seat.wake_later(kernel, _PAUSE_NS_MAX)
                continue
            if stream.held_len == 0 or self.manner == Http2Manner.KEEPS_SHUT:
                continue
            if kernel.dice.one_in(3):
                self._seat.wake_later(kernel, _PAUSE_NS_MAX)
                continue
            self._session.state.consume(
                self._outbox, stream.id, stream.held_len
            )
            stream.held_len = 0

    def _flush(mut self, mut kernel: Kernel):
        while len(self._outbox) > 0:
            var length = len(self._outbox)
            if kernel.dice.one_in(2):
                length = kernel.dice.between(1, length)
            var count = kernel.write(
                self._seat.end, self._outbox.span()[:length]
            )
            if count == -EAGAIN:
                return
            if count < 0:
                # What came before may still be read.
                self._outbox.clear()
                return
            self._outbox.consume(count)
            if kernel.dice.one_in(3):
                self._seat.wake_later(kernel, _PAUSE_NS_MAX)
                return

    def _receive(mut self, mut kernel: Kernel):
        while True:
            var count = self._seat.receive(kernel, self._input, _READ_LEN)
            if count == -EAGAIN:
                return
            if count <= 0:
                self._on_end(kernel)
                return
            try:
                self._take_events()
            except error:
                # Who is so slow that its preface does not come in time is
                # answered by HTTP/1.1.
                if self._session.state.has_settings or not self._is_excused:
                    self._seat.problem = String(
                        "the server broke a rule: ", error
                    )
                self._seat.leave(kernel, is_reset=True)
                return
            if self._seat.problem.byte_length() > 0:
                return
            if kernel.dice.one_in(3):
                self._seat.wake_later(kernel, _PAUSE_NS_MAX)
                return

    def _on_end(mut self, mut kernel: Kernel):
        if self.is_judged() and not self.is_content():
            self._seat.problem = String(
                "the connection ended with ",
                self.answered_count(),
                " of ",
                len(self._streams),
                " answers; ",
                self._story(),
            )
        self._seat.leave(kernel, is_reset=False)

    def _story(self) -> String:
        """Tells of the streams that are not over."""
        var text = String("manner ", self.manner._number, ";")
        for index in range(len(self._streams)):
            ref stream = self._streams.at(index)
            if stream.is_over():
                continue
            text += String(" ", stream.id, " ", stream.asked.path())
            text += String(": ", stream.status, " ", len(stream.received))
            if stream.asked.kind == AskedKind.UPLOAD:
                text += String(
                    ", of ",
                    len(stream.upload),
                    " sent ",
                    stream.uploaded_len,
                    ", end " if stream.has_sent_end else "",
                )
            text += ";"
        return text^

    def _take_events(mut self) raises:
        while True:
            var event = self._session.next_event(self._input, self._outbox, 0)
            if event.kind == EventKind.NEEDS_OCTETS:
                return
            if event.kind == EventKind.GOAWAY:
                if event.code != ErrorCode.NO_ERROR and self.is_judged():
                    self._seat.problem = String("GOAWAY: ", event.code)
                    return
                continue
            if event.stream_id == 0:
                continue
            for index in range(len(self._streams)):
                if self._streams.at(index).id == event.stream_id:
                    self._note(index, event)

    def _note(mut self, index: Int, event: Http2Event):
        ref stream = self._streams.at(index)
        if event.kind == EventKind.DATA:
            var octets = self._session.data(self._input)
            stream.received.extend(octets)
            stream.held_len += len(octets)
        elif event.kind == EventKind.HEADERS:
            stream.status = self._session.section.response_status
        elif event.kind == EventKind.RESET:
            self._note_reset(index, event.code)
            return
        if event.ends:
            stream.has_ended = True
            self._judge(index)

    def _note_reset(mut self, index: Int, code: ErrorCode):
        ref stream = self._streams.at(index)
        if stream.has_ended:
            # The rest of an upload that was answered early is not wanted.
            stream.has_sent_end = True
            return
        stream.was_reset = True
        if (
            self.manner == Http2Manner.CANCELS
            and code == ErrorCode.REFUSED_STREAM
        ):
            # What was cancelled may still be with its handler.
            return
        if self.is_judged() and not stream.asked.may_break_off():
            self._seat.problem = String(
                "the server reset ", stream.asked.path(), ": ", code
            )

    def _judge(mut self, index: Int):
        """Compares a response that is complete with what was asked for."""
        ref stream = self._streams.at(index)
        if stream.status == 200:
            if stream.received != stream.asked.answer():
                self._seat.problem = "a wrong answer to " + stream.asked.path()
        elif self.is_judged() and not (
            stream.asked.is_proxied() and may_fail(stream.status)
        ):
            self._seat.problem = String(
                "status ", stream.status, " for ", stream.asked.path()
            )

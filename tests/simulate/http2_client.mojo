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
from flare.http.h2.stream import StreamContent
from flare.sys.errno import EAGAIN
from tests.simulate.actor import Asking
from tests.simulate.kernel import Kernel, NOBODY
from tests.simulate.requests import (
    Asked,
    AskedKind,
    choose_asked,
    content_of,
    may_fail,
)
from tests.simulate.seat import Seat
from tests.simulate.stream_talk import StreamTalk, TalkManner, choose_talk
from tests.simulate.ws_talk import WsTold
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
    var talk: Optional[StreamTalk]

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
        self.talk = None

    def is_over(self) -> Bool:
        return self.has_ended or self.was_reset or self.is_cancelled

    def may_be_ended(self) -> Bool:
        """Tells whether the server may end it before all is answered."""
        if self.talk and self.talk.value().manner != TalkManner.POLITE:
            return True
        return self.asked.may_break_off()


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
    var _room: Int
    # The largest window that the server has given to the connection.

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
            var talks = dice.one_in(4)
            if talks:
                asked = choose_talk(dice, first_id + index)
            var stream = _Stream(asked)
            if talks:
                stream.talk = StreamTalk(kernel, asked, limits.stream_window)
            self._streams.append(stream^)
        self._input = Buffer(0)
        self._outbox = Buffer(0)
        self._room = 0

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
        var count = len(self._streams)
        for index in range(len(self._streams)):
            ref talk = self._streams.at(index).talk
            if talk:
                count += len(talk.value().words.expected)
        return count

    def answered_count(self) -> Int:
        var count = 0
        for index in range(len(self._streams)):
            ref stream = self._streams.at(index)
            if stream.has_ended:
                count += 1
            if stream.talk:
                count += stream.talk.value().words.answered_count
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

    def compare(mut self, told: WsTold, connection_window: Int):
        """Looks at what the handler was told of conversations that have ended as
        they should, and for room that was given back twice."""
        if self._room > connection_window:
            self._seat.problem = String(
                "a window of ", connection_window, " was ", self._room
            )
        if not self.is_judged():
            return
        for index in range(len(self._streams)):
            ref stream = self._streams.at(index)
            if not stream.talk or not stream.has_ended:
                # Who cancels may have some refused, too.
                continue
            ref talk = stream.talk.value()
            if (
                not stream.asked.is_proxied()
                and talk.manner == TalkManner.POLITE
            ):
                talk.words.compare(told, stream.asked.id)
                if self._seat.problem.byte_length() == 0:
                    self._seat.problem = talk.words.problem.copy()

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
        self._speak(kernel)
        self._give_back(kernel)
        self._flush(kernel)
        if self._seat.problem.byte_length() > 0:
            self._seat.leave(kernel, is_reset=True)
        elif self.is_content() and len(self._outbox) == 0:
            if self._has_room_back() or not self.is_judged():
                self._seat.leave(kernel, is_reset=False)

    def _has_room_back(self) -> Bool:
        """Tells whether the connection's window is open again: of what is over, no
        more is kept back than half of it, which the server gives back together.
        """
        return self._session.state.send_window * 2 >= self._room

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
            stream.has_sent_end = (
                stream.asked.kind != AskedKind.UPLOAD and not stream.talk
            )
            self._write_head(index)

    def _write_head(mut self, index: Int):
        ref stream = self._streams.at(index)
        var method = "POST" if stream.asked.kind == AskedKind.UPLOAD else "GET"
        if stream.talk:
            if not self._session.state.remote.enable_connect_protocol:
                self._seat.problem = "no extended CONNECT (RFC 8441 section 3)"
            method = "CONNECT"
            ref table = self._session.state.table
            table.at(table.find(stream.id)).expects = StreamContent.TUNNEL
        self._session.begin_block()
        add_field(self._session, ":method", method)
        add_field(self._session, ":scheme", "http")
        add_field(self._session, ":path", stream.asked.path())
        add_field(self._session, ":authority", "simulated")
        if stream.talk:
            add_field(self._session, ":protocol", "websocket")
            add_field(self._session, "sec-websocket-version", "13")
        self._session.end_block(self._outbox, stream.id, stream.has_sent_end)

    def _upload(mut self, mut kernel: Kernel):
        """Sends content as far as the windows allow, or less."""
        for index in range(len(self._streams)):
            ref stream = self._streams.at(index)
            if stream.id == 0 or stream.has_sent_end or stream.is_over():
                continue
            if stream.talk:
                continue
            var room = self._session.sendable_len(stream.id)
            if room < 0:
                continue
            var left = len(stream.upload) - stream.uploaded_len
            var sendable = left
            if self.manner == Http2Manner.STALLS:
                sendable -= 1
            var count = self._seat.portion(
                kernel, sendable, room, _PAUSE_NS_MAX
            )
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

    def _speak(mut self, mut kernel: Kernel):
        """Goes on with conversations, as far as the windows allow, or less."""
        for index in range(len(self._streams)):
            ref stream = self._streams.at(index)
            if not stream.talk or stream.id == 0 or stream.has_sent_end:
                continue
            if stream.was_reset or stream.is_cancelled:
                continue
            ref talk = stream.talk.value()
            if stream.has_ended:
                # Nobody hears more.
                stream.has_sent_end = True
                self._session.write_data(
                    self._outbox, stream.id, "".as_bytes(), True
                )
                # There is room for another one.
                self._seat.wake_later(kernel, _PAUSE_NS_MAX)
                continue
            if talk.leaves_ns <= kernel.now_ns:
                self._cancel(kernel, index)
                continue
            self._seat.next_ns = min(self._seat.next_ns, talk.leaves_ns)
            if not talk.is_open:
                continue
            while len(talk.words.outbox) == 0:
                if not talk.goes_on(kernel):
                    break
            if talk.words.resume_ns > kernel.now_ns:
                self._seat.next_ns = min(
                    self._seat.next_ns, talk.words.resume_ns
                )
            self._send_words(kernel, index)

    def _send_words(mut self, mut kernel: Kernel, index: Int):
        ref stream = self._streams.at(index)
        ref talk = stream.talk.value()
        var left = len(talk.words.outbox)
        var count = self._seat.portion(
            kernel, left, self._session.sendable_len(stream.id), _PAUSE_NS_MAX
        )
        stream.has_sent_end = count == left and talk.ends(kernel.dice)
        if stream.has_sent_end:
            talk.ended_ns = kernel.now_ns
        if count == 0 and not stream.has_sent_end:
            return
        self._session.write_data(
            self._outbox,
            stream.id,
            talk.words.outbox.span()[:count],
            stream.has_sent_end,
        )
        talk.words.outbox.consume(count)
        # There may be more to say.
        self._seat.wake_later(kernel, _PAUSE_NS_MAX)

    def _cancel(mut self, mut kernel: Kernel, index: Int):
        """Resets a stream, so that there is room for another one."""
        ref stream = self._streams.at(index)
        self._session.state.reset(self._outbox, stream.id, ErrorCode.CANCEL)
        self._session.state.owe(stream.held_len, self._outbox)
        stream.held_len = 0
        stream.is_cancelled = True
        self._seat.wake_later(kernel, _PAUSE_NS_MAX)

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
                self._cancel(kernel, index)
                continue
            if stream.held_len == 0 or self.manner == Http2Manner.KEEPS_SHUT:
                continue
            if kernel.dice.one_in(3):
                self._seat.wake_later(kernel, _PAUSE_NS_MAX)
                continue
            if stream.talk and stream.talk.value().is_deaf():
                # Others must not wait for it.
                self._session.state.owe(stream.held_len, self._outbox)
            else:
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
                self._take_events(kernel)
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
        elif self.is_judged() and not self._has_room_back():
            self._seat.problem = String(
                "of a window of ",
                self._room,
                " only ",
                self._session.state.send_window,
                " came back",
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
            if stream.talk:
                text += String(
                    ", manner ",
                    stream.talk.value().manner._number,
                    ", ",
                    stream.talk.value().words.story(),
                )
            text += ";"
        return text^

    def _take_events(mut self, mut kernel: Kernel) raises:
        while True:
            var event = self._session.next_event(self._input, self._outbox, 0)
            self._room = max(self._room, self._session.state.send_window)
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
                    self._note(kernel, index, event)

    def _note(mut self, mut kernel: Kernel, index: Int, event: Http2Event):
        ref stream = self._streams.at(index)
        if event.kind == EventKind.DATA:
            var octets = self._session.data(self._input)
            stream.held_len += len(octets)
            if stream.talk and stream.talk.value().is_open:
                ref talk = stream.talk.value()
                talk.words.reader.inbox.append(octets)
                talk.words.judging = talk.judging(self.is_judged())
                talk.words.take_messages(kernel.dice)
                if talk.words.problem.byte_length() > 0:
                    self._seat.problem = String(
                        stream.asked.path(),
                        ", manner ",
                        talk.manner._number,
                        ", ",
                        talk.words.story(),
                        ": ",
                        talk.words.problem,
                    )
            else:
                stream.received.extend(octets)
        elif event.kind == EventKind.HEADERS:
            stream.status = self._session.section[].facts.response_status
            if stream.talk and stream.status == 200:
                # RFC 8441 section 5.
                stream.talk.value().open(kernel)
        elif event.kind == EventKind.RESET:
            self._judge_time(index, kernel.now_ns)
            self._note_reset(index, event.code)
            return
        if event.ends:
            self._judge_time(index, kernel.now_ns)
            self._streams.at(index).has_ended = True
            self._judge(index)

    def _judge_time(mut self, index: Int, now_ns: Int):
        """Looks at how long a conversation has gone on without its client."""
        ref stream = self._streams.at(index)
        if (
            stream.talk
            and stream.talk.value().waited_too_long(now_ns)
            and self.is_judged()
            and not stream.asked.is_proxied()
        ):
            self._seat.problem = "a stream goes on whose client has ended"

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
        if self.is_judged() and not stream.may_be_ended():
            self._seat.problem = String(
                "the server reset ", stream.asked.path(), ": ", code
            )

    def _judge(mut self, index: Int):
        """Compares a response that is complete with what was asked for."""
        ref stream = self._streams.at(index)
        if stream.status == 200 and stream.talk:
            self._judge_talk(index)
        elif stream.status == 200:
            if stream.received != stream.asked.answer():
                self._seat.problem = "a wrong answer to " + stream.asked.path()
        elif self.is_judged() and not (
            stream.asked.is_proxied() and may_fail(stream.status)
        ):
            self._seat.problem = String(
                "status ", stream.status, " for ", stream.asked.path()
            )

    def _judge_talk(mut self, index: Int):
        """Looks at a conversation whose stream the server has ended."""
        ref stream = self._streams.at(index)
        ref talk = stream.talk.value()
        if not self.is_judged() or stream.asked.is_proxied():
            return
        if talk.manner == TalkManner.IS_BARE and talk.has_turned:
            if not talk.words.was_closed:
                self._seat.problem = "ended without a close frame"
        elif talk.manner == TalkManner.POLITE and not talk.words.is_content():
            self._seat.problem = String(
                stream.asked.path(), " ended: ", talk.words.story()
            )

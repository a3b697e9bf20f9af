"""What RFC 9113 says of each frame, written down once more for comparison: which
faults a frame has, and what a connection is like behind it.

Of a frame with several faults any one may be reported (section 5.4), so the
model gives all of them. Field blocks are decoded by the library's own decoder,
which has tests of its own; everything else is counted here anew.
"""

from flare.bytes.checked import *
from flare.http.h2.connection_state import Http2Limits
from flare.http.h2.field_section import Http2FieldSection
from flare.http.h2.hpack_decoder import HpackDecoder

comptime WINDOW_MAX = 2_147_483_647

comptime NO_ERROR = 0
comptime PROTOCOL = 1
comptime FLOW_CONTROL = 3
comptime STREAM_CLOSED = 5
comptime FRAME_SIZE = 6
comptime REFUSED = 7
comptime CALM = 11


struct Fate:
    """Why a stream is over."""

    comptime NONE = 0
    """It is not."""
    comptime ENDED = 1
    """Both sides have ended it."""
    comptime RESET_HERE = 2
    """The session has reset it, or takes it no more: what comes is dropped."""
    comptime RESET_THERE = 3
    """The peer has reset it."""


@fieldwise_init
struct ModelStream(Copyable, Movable):
    """A stream that was used."""

    var id: Int
    var fate: Int
    var peer_ended: Bool
    var own_ended: Bool
    var has_head: Bool
    """True if the peer's final header section has come."""
    var own_head: Bool
    """True if ours has been sent."""
    var receive: Int
    var send: Int
    var missing: Int
    """Content that content-length announces; -1 without one."""
    var is_empty: Bool
    """True if the peer's content has to be empty."""


struct Faults(Defaultable, Movable):
    """What is wrong with a frame."""

    var of_connection: List[Int]
    """Codes that would end the connection."""
    var of_stream: List[Int]
    """Codes that would end the stream."""

    def connection(mut self, code: Int, is_fault: Bool = True):
        """Adds a connection error if there is one."""
        if is_fault:
            self.of_connection.append(code)

    def stream(mut self, code: Int, is_fault: Bool = True):
        """Adds a stream error if there is one."""
        if is_fault:
            self.of_stream.append(code)

    def is_none(self) -> Bool:
        """Tells whether nothing is wrong."""
        return len(self.of_connection) == 0 and len(self.of_stream) == 0


@fieldwise_init
struct Frame(Movable):
    """A frame that the peer sends."""

    var type: Int
    var flags: Int
    var id: Int
    var payload: List[UInt8]

    def has(self, flag: Int) -> Bool:
        """Tells whether a flag is set."""
        return self.flags & flag != 0

    def number(self, offset: Int, length: Int = 4) -> Int:
        """Reads octets, big end first."""
        var number = 0
        for index in range(offset, offset + length):
            number = number * 256 + Int(self.payload.at(index))
        return number


struct Http2Model(Movable):
    """A connection as the RFC describes it, seen from one side."""

    var is_server: Bool
    var limits: Http2Limits
    var streams: List[ModelStream]
    var receive: Int
    """The connection's window that the peer has."""
    var send: Int
    """The connection's window that we have."""
    var first_send: Int
    """The peer's SETTINGS_INITIAL_WINDOW_SIZE."""
    var last_peer: Int
    var next_own: Int
    var goaway: Int
    """The last stream of the peer that we take."""
    var peer_goaway: Int
    var has_settings: Bool
    var is_acknowledged: Bool
    var events: String
    """What the session has to tell of the last frame."""
    var section: Http2FieldSection
    var _decoder: HpackDecoder
    var _enables_connect: Bool
    var block_id: Int
    """The stream whose field block is not complete; 0 for none."""
    var _block: List[UInt8]
    var _block_ends: Bool
    var _block_count: Int
    var _depends_on_itself: Bool
    var _early: List[Int]

    def __init__(out self, is_server: Bool, limits: Http2Limits):
        self.is_server = is_server
        self.limits = limits
        self.streams = []
        self.receive = limits.connection_window
        self.send = 65_535
        self.first_send = 65_535
        self.last_peer = 0
        self.next_own = 2 if is_server else 1
        self.goaway = WINDOW_MAX
        self.peer_goaway = WINDOW_MAX
        self.has_settings = False
        self.is_acknowledged = False
        self.events = String()
        self.section = Http2FieldSection()
        self._decoder = HpackDecoder()
        self._enables_connect = False
        self._block = []
        self.block_id = 0
        self._block_ends = False
        self._block_count = 0
        self._depends_on_itself = False
        self._early = []

    def find(self, id: Int) -> Int:
        """Gives the index of a stream that was used, or -1."""
        for index in range(len(self.streams)):
            if self.streams.at(index).id == id:
                return index
        return -1

    def is_own(self, id: Int) -> Bool:
        """Tells whether our side opens streams of such a number."""
        return (id % 2 == 0) == self.is_server

    def is_idle(self, id: Int) -> Bool:
        """Tells whether a stream has not begun."""
        if self.is_own(id):
            return id >= self.next_own
        return id > self.last_peer

    def open_count(self) -> Int:
        """Counts the streams that are not over."""
        var count = 0
        for ref stream in self.streams:
            if stream.fate == Fate.NONE:
                count += 1
        return count

    def open(mut self, id: Int):
        """Notes that a stream begins with HEADERS."""
        if self.is_own(id):
            self.next_own = id + 2
        else:
            self.last_peer = id
        var receive = self.limits.stream_window
        if not self.is_acknowledged and not self.is_own(id):
            receive = max(receive, 65_535)
        self.streams.append(
            ModelStream(
                id,
                Fate.NONE if id <= self.goaway
                or self.is_own(id) else Fate.RESET_HERE,
                False,
                False,
                False,
                False,
                receive,
                self.first_send,
                -1,
                False,
            )
        )

    def skip(mut self, id: Int):
        """Notes that a stream was reset which never began: its peer has left it
        out, and PRIORITY on it was at fault."""
        self.streams.append(
            ModelStream(
                id, Fate.RESET_HERE, False, False, False, False, 0, 0, -1, False
            )
        )

    def end(mut self, index: Int, *, is_own: Bool):
        """Notes END_STREAM of one side."""
        ref stream = self.streams.at(index)
        if is_own:
            stream.own_ended = True
        else:
            stream.peer_ended = True
        if stream.own_ended and stream.peer_ended:
            stream.fate = Fate.ENDED

    def take(mut self, frame: Frame) -> Faults:
        """Judges a whole frame, and takes it if nothing is wrong with it."""
        var faults = Faults()
        self.events = String()
        faults.connection(FRAME_SIZE, len(frame.payload) > 16_384)
        if self.block_id != 0:
            var follows = frame.type == 9 and frame.id == self.block_id
            faults.connection(PROTOCOL, not follows)
        elif not self.has_settings:
            var is_first = frame.type == 4 and not frame.has(1)
            faults.connection(PROTOCOL, not is_first)
        if not faults.is_none():
            return faults^
        if frame.type == 0:
            self._take_data(frame, faults)
        elif frame.type == 1:
            self._take_headers(frame, faults)
        elif frame.type == 2:
            self._take_priority(frame, faults)
        elif frame.type == 3:
            self._take_reset(frame, faults)
        elif frame.type == 4:
            self._take_settings(frame, faults)
        elif frame.type == 5:
            faults.connection(PROTOCOL)
        elif frame.type == 6:
            self._take_ping(frame, faults)
        elif frame.type == 7:
            self._take_goaway(frame, faults)
        elif frame.type == 8:
            self._take_window_update(frame, faults)
        elif frame.type == 9:
            self._take_continuation(frame, faults)
        elif frame.type == 16:
            self._take_priority_update(frame, faults)
        return faults^

    def _unpadded(self, frame: Frame, mut faults: Faults) -> Int:
        """Gives the length of the padding with the octet that says so."""
        if not frame.has(8):
            return 0
        if len(frame.payload) == 0:
            faults.connection(FRAME_SIZE)
            return 0
        var padding = Int(frame.payload.at(0))
        faults.connection(PROTOCOL, padding >= len(frame.payload))
        return padding + 1

    def _take_data(mut self, frame: Frame, mut faults: Faults):
        # Section 6.1.
        var length = len(frame.payload) - self._unpadded(frame, faults)
        var id = frame.id
        faults.connection(PROTOCOL, id == 0 or self.is_idle(id))
        self.receive -= len(frame.payload)
        faults.connection(FLOW_CONTROL, self.receive < 0)
        if not faults.is_none():
            return
        var index = self.find(id)
        if index < 0 or self.streams.at(index).fate != Fate.NONE:
            var drops = index >= 0 and (
                self.streams.at(index).fate == Fate.RESET_HERE
            )
            faults.connection(STREAM_CLOSED, not drops)
            var last = self.peer_goaway if self.is_own(id) else self.goaway
            if drops and id <= last:
                # No more is on its way than the stream's window, and the first
                # one of any stream.
                self.streams.at(index).receive -= len(frame.payload)
                var is_more = self.streams.at(index).receive < -65_535
                faults.connection(STREAM_CLOSED, is_more)
            return
        ref stream = self.streams.at(index)
        var ends = frame.has(1)
        faults.stream(STREAM_CLOSED, stream.peer_ended)
        faults.stream(PROTOCOL, not stream.has_head)
        stream.receive -= len(frame.payload)
        faults.stream(FLOW_CONTROL, stream.receive < 0)
        if stream.missing >= 0:
            var is_short = ends and length < stream.missing
            faults.stream(PROTOCOL, length > stream.missing or is_short)
            stream.missing -= length
        faults.stream(PROTOCOL, stream.is_empty and length > 0)
        if not faults.is_none():
            return
        if length > 0 or ends:
            self.events.write("D", id, ":", length, "." if ends else "")
        if ends:
            self.end(index, is_own=False)

    def _take_headers(mut self, frame: Frame, mut faults: Faults):
        # Section 6.2.
        var id = frame.id
        faults.connection(PROTOCOL, id == 0)
        var padding = self._unpadded(frame, faults)
        if not faults.is_none():
            return
        var start = 1 if padding > 0 else 0
        self._depends_on_itself = False
        if frame.has(32):
            var length = len(frame.payload)
            faults.connection(FRAME_SIZE, length < start + 5)
            var is_short = length >= start + 5 and length < padding + 5
            faults.connection(PROTOCOL, is_short)
            if not faults.is_none():
                return
            self._depends_on_itself = frame.number(start) % (1 << 31) == id
            start += 5
        if self.is_idle(id):
            if self.is_own(id) or id % 2 == 0:
                faults.connection(PROTOCOL)
                return
            self.open(id)
        self._block = List[UInt8]()
        var end = len(frame.payload) - max(padding - 1, 0)
        for index in range(start, end):
            self._block.append(frame.payload.at(index))
        self.block_id = id
        self._block_ends = frame.has(1)
        self._block_count = 0
        if frame.has(4):
            self._take_block(faults)

    def _take_continuation(mut self, frame: Frame, mut faults: Faults):
        # Section 6.10, and the limits of the configuration.
        if self.block_id == 0:
            faults.connection(PROTOCOL)
            return
        self._block_count += 1
        var count_max = self.limits.continuation_count_max
        faults.connection(CALM, self._block_count > count_max)
        self._block.extend(Span(frame.payload))
        faults.connection(CALM, len(self._block) > 40_000)
        if faults.is_none() and frame.has(4):
            self._take_block(faults)

    def _take_block(mut self, mut faults: Faults):
        var id = self.block_id
        self.block_id = 0
        try:
            self.section.decode(
                self._decoder, Span(self._block), self.limits.section
            )
        except error:
            faults.connection(Int(error.rule.code.number))
            return
        var index = self.find(id)
        if index < 0:
            # It was left out (section 5.1.1).
            faults.connection(PROTOCOL)
            return
        ref stream = self.streams.at(index)
        if stream.fate == Fate.RESET_HERE:
            return
        if stream.fate != Fate.NONE:
            faults.connection(STREAM_CLOSED)
            # Any error has this code, too (section 5.4).
            faults.connection(PROTOCOL)
            return
        faults.stream(STREAM_CLOSED, stream.peer_ended)
        faults.stream(PROTOCOL, self._depends_on_itself)
        if stream.has_head:
            self._take_trailers(index, faults)
        else:
            self._take_head(index, faults)

    def _take_head(mut self, index: Int, mut faults: Faults):
        var id = self.streams.at(index).id
        try:
            if self.is_server:
                var is_one_more = self.open_count() > (
                    self.limits.stream_count_max
                )
                faults.stream(REFUSED, is_one_more)
                self.section.check_request(self.limits.section, id)
                # Nothing is announced here that RFC 8441 asks for.
                faults.stream(PROTOCOL, self.section.is_extended_connect())
            else:
                self.section.check_response(id)
        except error:
            faults.stream(Int(error.rule.code.number))
            return
        ref stream = self.streams.at(index)
        var is_final = (
            self.is_server or self.section.facts.response_status >= 200
        )
        faults.stream(PROTOCOL, not is_final and self._block_ends)
        if is_final:
            stream.has_head = True
            var status = self.section.facts.response_status
            if not self.is_server and (status == 204 or status == 304):
                stream.is_empty = True
            if not stream.is_empty:
                stream.missing = self.section.facts.content_length
            faults.stream(PROTOCOL, self._block_ends and stream.missing > 0)
        if not faults.is_none():
            return
        self.events.write("H", id, "." if self._block_ends else "")
        if self._block_ends:
            self.end(index, is_own=False)

    def _take_trailers(mut self, index: Int, mut faults: Faults):
        # Section 8.1.
        ref stream = self.streams.at(index)
        faults.stream(PROTOCOL, not self._block_ends)
        faults.stream(PROTOCOL, stream.missing > 0)
        try:
            self.section.check_trailers(stream.id)
        except error:
            faults.stream(Int(error.rule.code.number))
        if not faults.is_none():
            return
        self.events.write("T", stream.id, ".")
        self.end(index, is_own=False)

    def _take_priority(mut self, frame: Frame, mut faults: Faults):
        # Section 6.3; a stream that is idle cannot be reset.
        var code = NO_ERROR
        if len(frame.payload) != 5:
            code = FRAME_SIZE
        elif frame.number(0) % (1 << 31) == frame.id:
            code = PROTOCOL
        faults.connection(PROTOCOL, frame.id == 0)
        if code != NO_ERROR and self.is_idle(frame.id):
            faults.connection(code)
        elif code != NO_ERROR:
            faults.stream(code)

    def _take_reset(mut self, frame: Frame, mut faults: Faults):
        # Section 6.4.
        var id = frame.id
        faults.connection(FRAME_SIZE, len(frame.payload) != 4)
        faults.connection(PROTOCOL, id == 0 or self.is_idle(id))
        var index = self.find(id)
        if faults.is_none() and index >= 0:
            ref stream = self.streams.at(index)
            if stream.fate == Fate.NONE:
                stream.fate = Fate.RESET_THERE
                self.events.write("R", id, ":", frame.number(0))

    def _take_settings(mut self, frame: Frame, mut faults: Faults):
        # Sections 6.5 and 6.9.2; RFC 8441 section 3; RFC 9218 section 2.1.
        var length = len(frame.payload)
        faults.connection(PROTOCOL, frame.id != 0)
        if frame.has(1):
            faults.connection(FRAME_SIZE, length != 0)
            if faults.is_none() and not self.is_acknowledged:
                self._acknowledge()
            return
        faults.connection(FRAME_SIZE, length % 6 != 0)
        faults.connection(CALM, length // 6 > self.limits.setting_count_max)
        if not faults.is_none():
            return
        self.has_settings = True
        var before = self.first_send
        for offset in range(0, length, 6):
            self._take_setting(
                frame.number(offset, 2), frame.number(offset + 2), faults
            )
        for ref stream in self.streams:
            if stream.fate == Fate.NONE:
                stream.send += self.first_send - before
                faults.connection(FLOW_CONTROL, stream.send > WINDOW_MAX)

    def _take_setting(mut self, id: Int, value: Int, mut faults: Faults):
        if id == 2:
            var value_max = 1 if self.is_server else 0
            faults.connection(PROTOCOL, value > value_max)
        elif id == 4:
            faults.connection(FLOW_CONTROL, value > WINDOW_MAX)
            self.first_send = value
        elif id == 5:
            var is_good = value >= 1 << 14 and value < 1 << 24
            faults.connection(PROTOCOL, not is_good)
        elif id == 8:
            var is_back = self._enables_connect and value == 0
            faults.connection(PROTOCOL, value > 1 or is_back)
            self._enables_connect = value == 1
        elif id == 9:
            faults.connection(PROTOCOL, value > 1)

    def _acknowledge(mut self):
        self.is_acknowledged = True
        for ref stream in self.streams:
            if not self.is_own(stream.id) and stream.fate == Fate.NONE:
                stream.receive += min(0, self.limits.stream_window - 65_535)

    def _take_ping(mut self, frame: Frame, mut faults: Faults):
        # Section 6.7.
        faults.connection(PROTOCOL, frame.id != 0)
        faults.connection(FRAME_SIZE, len(frame.payload) != 8)
        if faults.is_none() and frame.has(1):
            self.events.write("P")

    def _take_goaway(mut self, frame: Frame, mut faults: Faults):
        # Section 6.8.
        faults.connection(PROTOCOL, frame.id != 0)
        if len(frame.payload) < 8:
            faults.connection(FRAME_SIZE)
            return
        var last = frame.number(0) % (1 << 31)
        faults.connection(PROTOCOL, last > self.peer_goaway)
        if not faults.is_none():
            return
        self.peer_goaway = last
        for ref stream in self.streams:
            if self.is_own(stream.id) and stream.id > last:
                stream.fate = Fate.RESET_HERE
        self.events.write("G", last, ":", frame.number(4))

    def _take_window_update(mut self, frame: Frame, mut faults: Faults):
        # Section 6.9.
        var id = frame.id
        if len(frame.payload) != 4:
            faults.connection(FRAME_SIZE)
            return
        var increment = frame.number(0) % (1 << 31)
        if id == 0:
            faults.connection(PROTOCOL, increment == 0)
            self.send += increment
            faults.connection(FLOW_CONTROL, self.send > WINDOW_MAX)
            return
        faults.connection(PROTOCOL, self.is_idle(id))
        var index = self.find(id)
        if index < 0 or self.streams.at(index).fate != Fate.NONE:
            return
        ref stream = self.streams.at(index)
        faults.stream(PROTOCOL, increment == 0)
        stream.send += increment
        faults.stream(FLOW_CONTROL, stream.send > WINDOW_MAX)

    def _take_priority_update(mut self, frame: Frame, mut faults: Faults):
        # RFC 9218 section 7.1.
        faults.connection(PROTOCOL, frame.id != 0 or not self.is_server)
        if len(frame.payload) < 4:
            faults.connection(FRAME_SIZE)
            return
        var id = frame.number(0) % (1 << 31)
        faults.connection(PROTOCOL, id % 2 == 0)
        if not faults.is_none() or not self.is_idle(id):
            return
        var early = List[Int]()
        for other in self._early:
            if self.is_idle(other) and other != id:
                early.append(other)
        early.append(id)
        var count = self.open_count() + len(early)
        faults.connection(PROTOCOL, count > self.limits.stream_count_max)
        self._early = early^

"""Streams: their life as a table, and what is kept of each (RFC 9113 section 5).
"""

from flare.bytes.checked import *
from flare.http.h2.priority import Priority
from std.builtin.globals import global_constant
from std.memory import unsafe_memmove
from std.sys.intrinsics import unlikely


@fieldwise_init
struct StreamState(Equatable, TrivialRegisterPassable):
    """Where a stream is in its life (RFC 9113 section 5.1)."""

    var number: UInt8
    """The row of the table."""

    comptime IDLE = StreamState(0)
    """It has not begun."""
    comptime OPEN = StreamState(1)
    """Both sides may send."""
    comptime HALF_CLOSED_LOCAL = StreamState(2)
    """We have ended."""
    comptime HALF_CLOSED_REMOTE = StreamState(3)
    """The peer has ended."""
    comptime CLOSED = StreamState(4)
    """Both have ended, or one has reset it."""

    comptime COUNT = 5


@fieldwise_init
struct StreamEvent(Equatable, TrivialRegisterPassable):

    var number: UInt8
    """The column of the table."""

    comptime HEADERS_SENT = StreamEvent(0)
    """We have sent a field block."""
    comptime HEADERS_RECEIVED = StreamEvent(1)
    """The peer has sent a field block."""
    comptime END_SENT = StreamEvent(2)
    """We have sent END_STREAM."""
    comptime END_RECEIVED = StreamEvent(3)
    """The peer has sent END_STREAM."""
    comptime RESET = StreamEvent(4)
    """One side has sent RST_STREAM."""

    comptime COUNT = 5


# A row a state, a letter an event: o open, l half-closed (local), r half-closed
# (remote), c closed, . does not happen, = no change. Nothing is ever reserved,
# since nobody pushes.
comptime _TABLE = StaticString(
    # headers sent, headers received, end sent, end received, reset
    "oo..."  # idle
    "==lrc"  # open
    ".=.cc"  # half-closed (local)
    "=.c.c"  # half-closed (remote)
    "....="  # closed
)


def _states_after() -> Array[UInt8, _CELL_COUNT]:
    """Reads from the table which state follows, cell by cell."""
    var states = Array[UInt8, _CELL_COUNT](fill=0)
    for index in range(_CELL_COUNT):
        var letter = _TABLE.as_bytes()[index]
        var state = StreamState(UInt8(index // StreamEvent.COUNT))
        if letter == 111:
            state = StreamState.OPEN
        elif letter == 108:
            state = StreamState.HALF_CLOSED_LOCAL
        elif letter == 114:
            state = StreamState.HALF_CLOSED_REMOTE
        elif letter == 99:
            state = StreamState.CLOSED
        states[index] = state.number
    return states^


comptime _CELL_COUNT = _TABLE.byte_length()
comptime _STATES_AFTER = _states_after()


@always_inline
def state_after(state: StreamState, event: StreamEvent) -> StreamState:
    """Tells which state follows; the same if the event changes nothing or does
    not happen, which `happens` tells."""
    # SAFETY: both numbers lie within the table.
    var index = Int(state.number) * StreamEvent.COUNT + Int(event.number)
    return StreamState(global_constant[_STATES_AFTER]().unsafe_at(index))


@always_inline
def happens(state: StreamState, event: StreamEvent) -> Bool:
    # SAFETY: both numbers lie within the table.
    var index = Int(state.number) * StreamEvent.COUNT + Int(event.number)
    return _TABLE.as_bytes().unsafe_at(index) != 46


@fieldwise_init
struct StreamContent(Equatable, TrivialRegisterPassable):
    """What may stand after the head of the peer's message."""

    var number: UInt8

    comptime ANY = StreamContent(0)
    """Content, as long as its content-length says."""
    comptime NONE = StreamContent(1)
    """No content, whatever its content-length says: it answers HEAD, or its
    status has none."""
    comptime TUNNEL = StreamContent(2)
    """Nothing but octets of a tunnel: it is a CONNECT of ours that the peer has
    not refused (section 8.5)."""

    comptime COUNT = 3

    def note_status(mut self, status: Int):
        """Takes note of the status of the final response (RFC 9110 sections
        9.3.6 and 6.4.1)."""
        if self == Self.TUNNEL and status < 300:
            return
        if status == 204 or status == 304:
            self = Self.NONE
        elif self == Self.TUNNEL:
            self = Self.ANY


struct Http2Stream(ImplicitlyCopyable):

    var id: Int
    var state: StreamState
    var has_head: Bool
    """True if the final header section of the peer has come."""
    var expects: StreamContent
    """What may stand after that."""
    var send_window: Int
    """How much we may send, in bytes; may be negative (section 6.9.2)."""
    var receive_window: Int
    """How much the peer may send, in bytes."""
    var receive_window_max: Int
    """How large the peer's window is when nothing waits here, in bytes."""
    var earlier_left: Int
    """How much of its window the peer has left that has not heard of our last
    WINDOW_UPDATE, in bytes; 0 or less if that is known to have come."""
    var was_cut: Bool
    """True if the peer's last DATA was as long as a window or a frame may be:
    it may have more of the same piece."""
    var owed_len: Int
    """What was taken here and not given back to the peer's window, in bytes."""
    var missing_len: Int
    """How much content is still to come, in bytes; -1 if that is not known."""
    var priority: Priority

    def __init__(out self, id: Int, send_window: Int, receive_window: Int):
        """Makes a stream that has not begun, on which each side may send so
        many bytes."""
        self.id = id
        self.state = StreamState.IDLE
        self.has_head = False
        self.expects = StreamContent.ANY
        self.send_window = send_window
        self.receive_window = receive_window
        self.receive_window_max = receive_window
        self.earlier_left = receive_window
        self.was_cut = False
        self.owed_len = 0
        self.missing_len = -1
        self.priority = Priority()

    def note_update(mut self):
        """Notes that its window is about to be opened, of which the peer hears
        later: until then it stops where the window ends now."""
        if self.earlier_left <= 0:
            self.earlier_left = self.receive_window

    @always_inline
    def is_received(self) -> Bool:
        """Tells whether the peer has ended its side of a stream that is open
        here."""
        return self.state == StreamState.HALF_CLOSED_REMOTE

    @always_inline
    def move[event: StreamEvent](mut self):
        """Lets an event happen, which may happen."""
        debug_assert(happens(self.state, event), "not in this state")
        self.state = state_after(self.state, event)


comptime _RESET_COUNT_MAX = 1_024
# As many resets as a peer may provoke at once by default: what is on its way to
# any of them must not end the connection.


struct StreamTable(Movable, Sized):
    """The streams of a connection that are not closed, and those that were reset
    here a short while ago: what was on its way to them is no fault of the peer.
    """

    # Open or half-closed ones, by their numbers, from `_first` on: most streams
    # end in the order in which they began, and nothing moves for those.
    var _streams: List[Http2Stream]
    var _first: Int
    var _resets: List[Int]
    # How much content may still come of each of them, in bytes.
    var _rooms: List[Int]
    var _next_reset: Int

    def __init__(out self):
        self._streams = []
        self._first = 0
        self._resets = []
        self._rooms = []
        self._next_reset = 0

    @always_inline
    def __len__(self) -> Int:
        """Counts the streams that are not closed."""
        return len(self._streams) - self._first

    @always_inline
    def find(self, id: Int) -> Int:
        """Finds the index of a stream, good until one is added or dropped, or
        -1."""
        # Most often it is the last one.
        var last = len(self._streams) - 1
        # SAFETY: from the first on, indices up to the last are the list's.
        if last >= self._first and self._streams.unsafe_at(last).id == id:
            return last - self._first
        return _find(Span(self._streams), self._first, id)

    @always_inline
    def at(ref self, index: Int) -> ref[self._streams[0]] Http2Stream:
        """Lends the stream that `find` gave, or one of the first `len(self)`
        from 0 on."""
        return self._streams.at(self._first + index)

    @always_inline
    def add(mut self, stream: Http2Stream) -> Int:
        """Adds a stream that has just begun. Its number is above those of all
        others, which is so of all that one side begins (RFC 9113 section
        5.1.1)."""
        debug_assert(
            len(self) == 0 or self.at(len(self) - 1).id < stream.id,
            "a stream begins behind one with a higher number",
        )
        if unlikely(2 * self._first > len(self._streams)):
            _drop(self._streams, 0, self._first)
            self._first = 0
        self._streams.append(stream)
        return len(self) - 1

    @always_inline
    def drop(mut self, index: Int):
        """Forgets a closed stream that `find` gave."""
        if index == len(self) - 1:
            self._streams.shrink(len(self._streams) - 1)
        elif index == 0:
            self._first += 1
        else:
            _drop(self._streams, self._first + index, 1)

    def note_reset(mut self, id: Int, room: Int):
        """Remembers a stream that was reset here, and of which so much content
        may be on its way, in bytes; the first time counts."""
        if self.was_reset(id):
            return
        if len(self._resets) < _RESET_COUNT_MAX:
            self._resets.append(id)
            self._rooms.append(room)
            return
        self._resets.at(self._next_reset) = id
        self._rooms.at(self._next_reset) = room
        self._next_reset = (self._next_reset + 1) % _RESET_COUNT_MAX

    def take_late(mut self, id: Int, count: Int) -> Bool:
        """Takes content that was on its way when its stream was reset here.
        Returns False if that is not remembered, or more has come than could
        be."""
        for index in range(len(self._resets)):
            if self._resets.at(index) == id:
                self._rooms.at(index) -= count
                return self._rooms.at(index) >= 0
        return False

    def was_reset(self, id: Int) -> Bool:
        """Tells whether it is remembered that a stream was reset here."""
        for reset in self._resets:
            if reset == id:
                return True
        return False


@no_inline
def _find(streams: Span[Http2Stream, _], first: Int, id: Int) -> Int:
    """Finds the index, counted from the first, of a stream of a table."""
    # SAFETY: indices stay below the number of streams.
    var end = len(streams)
    if end == first:
        return -1
    # Numbers of one side go up by two, and often none is gone between: it is
    # there or before.
    var start = first
    var place = first + ((id - streams.unsafe_at(first).id) >> 1)
    if place < first:
        return -1
    if place < end:
        if streams.unsafe_at(place).id == id:
            return place - first
        end = place
    while start < end:
        var middle = (start + end) // 2
        var found = streams.unsafe_at(middle).id
        if found == id:
            return middle - first
        if found < id:
            start = middle + 1
        else:
            end = middle
    return -1


@no_inline
def _drop(mut streams: List[Http2Stream], index: Int, count: Int):
    # SAFETY: so many from the index on are the list's, and what moves are plain
    # values.
    var length = len(streams) - count
    var place = (
        streams.unsafe_ptr()
        .unsafe_origin_cast[MutUntrackedOrigin]()
        .unsafe_offset(index)
    )
    unsafe_memmove(
        dest=place, src=place.unsafe_offset(count), count=length - index
    )
    streams.shrink(length)

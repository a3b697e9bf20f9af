"""What all parts of a connection share: its limits, settings, streams, windows
and budget, and what can be told of it.
"""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.http.h2.error import ErrorCode, Http2Error, Http2Rule
from flare.http.h2.field_section import SectionLimits
from flare.http.h2.frame import (
    STREAM_ID_MAX,
    write_rst_stream,
    write_window_update,
)
from flare.http.h2.priority import AbuseBudget, AbuseLimits, Priority
from flare.http.h2.settings import DEFAULT_WINDOW_LEN, Settings
from flare.http.h2.stream import (
    Http2Stream,
    StreamEvent,
    StreamState,
    StreamTable,
)
from flare.http.h2.update_allowance import UpdateAllowance
from std.sys.intrinsics import likely


comptime STREAM_WINDOW_LEN = 65_536
"""How much content of a stream may wait here by default, in bytes.

Whole frames fill it. Of 65,535 octets, which a peer may send before it knows
better (RFC 9113 section 6.9.2), the last frame is an octet short, and one that
sends what it has in pieces of a frame's length sends that octet by itself.
"""

comptime TINY_LEN = 15
"""WINDOW_UPDATE of no more makes work, unless it gives back what we have sent."""


@fieldwise_init
struct Http2Limits(TrivialRegisterPassable):
    """What a peer may ask for; `ServerConfig` has the fields of a server."""

    var section: SectionLimits
    """How large field sections may be. Default 8,192 bytes, 100 fields, and
    8,192 bytes of target."""
    var stream_count_max: Int
    """How many streams the peer may have open. Default 100."""
    var stream_window: Int
    """How much content of a stream may wait here, in bytes. Default
    `STREAM_WINDOW_LEN`, 64 KiB."""
    var connection_window: Int
    """The same of all streams together. Default 1 MiB."""
    var continuation_count_max: Int
    """Most CONTINUATION frames of one field block. Default 8."""
    var setting_count_max: Int
    """Most settings in a frame. Default 32."""
    var abuse: AbuseLimits
    """What of no use the peer may send. Default 1,000 frames, and 33 more each
    second."""

    def __init__(out self):
        """Sets the defaults."""
        self.section = SectionLimits(8_192, 100, 8_192)
        self.stream_count_max = 100
        self.stream_window = STREAM_WINDOW_LEN
        self.connection_window = 1 << 20
        self.continuation_count_max = 8
        self.setting_count_max = 32
        self.abuse = AbuseLimits(1_000, 33)


@fieldwise_init
struct Http2Role(Equatable, TrivialRegisterPassable):
    """Which side we are."""

    var is_server: Bool
    """True for a server."""

    comptime SERVER = Http2Role(True)
    """Answers requests."""
    comptime CLIENT = Http2Role(False)
    """Sends them."""


@fieldwise_init
struct EventKind(Equatable, TrivialRegisterPassable):
    """What `Http2Session.next_event` found."""

    var number: UInt8
    """The case."""

    comptime NEEDS_OCTETS = EventKind(0)
    """All input was taken, but for a part of a frame."""
    comptime HEADERS = EventKind(1)
    """A request has begun, or a response (an informational one, too)."""
    comptime DATA = EventKind(2)
    """Content; `consume` gives its room back to the peer."""
    comptime TRAILERS = EventKind(3)
    """Trailers, which end what the peer sends."""
    comptime RESET = EventKind(4)
    """A stream is over before its time; `code` says why."""
    comptime WINDOW = EventKind(5)
    """More may be sent: on a stream, or on all if `stream_id` is 0."""
    comptime GOAWAY = EventKind(6)
    """The peer takes no more streams than up to `stream_id`."""
    comptime PONG = EventKind(7)
    """Our PING was answered."""


@fieldwise_init
struct Http2Event(TrivialRegisterPassable):
    """Something that happened."""

    var kind: EventKind
    """What."""
    var stream_id: Int
    """Where."""
    var ends: Bool
    """After HEADERS and DATA: True if the peer's side of the stream ends."""
    var code: ErrorCode
    """After RESET and GOAWAY: why."""

    @always_inline
    def __init__(
        out self, kind: EventKind, stream_id: Int = 0, ends: Bool = False
    ):
        """Makes an event without an error code."""
        self.kind = kind
        self.stream_id = stream_id
        self.ends = ends
        self.code = ErrorCode.NO_ERROR


struct ConnectionState(Movable):
    """What both ends know of a connection, but for field blocks."""

    var role: Http2Role
    var limits: Http2Limits
    var local: Settings
    var remote: Settings
    """What the peer has."""
    var table: StreamTable
    """The streams that are not closed."""
    var send_window: Int
    """How much we may send on all streams together, in bytes."""
    var receive_window: Int
    """How much the peer may, in bytes."""
    var earlier_left: Int
    """How much of that it has that has not heard of our last WINDOW_UPDATE, in
    bytes; 0 or less if that is known to have come."""
    var owed_len: Int
    """What was taken here and not given back to the peer's window, in bytes."""
    var next_id: Int
    var last_peer_id: Int
    """The peer's last stream that was looked at."""
    var unskipped_id: Int
    """Up to this stream the peer has left out none."""
    var early_priorities: List[Int]
    """Of streams that have not begun, and of some that now have: their numbers,
    and eight bits for each that say what was said last (RFC 9218 section 7)."""
    var goaway_id: Int
    """The peer's last stream that counts."""
    var has_peer_goaway: Bool
    """True if the peer wants no more streams of ours (section 6.8)."""
    var peer_goaway_id: Int
    """Our last stream that counts for the peer."""
    var has_settings: Bool
    var owes_settings_ack: Bool
    """True until the peer has acknowledged ours."""
    var budget: AbuseBudget
    """What of no use the peer may send."""
    var _updates: UpdateAllowance

    def __init__(out self, role: Http2Role, limits: Http2Limits, now_ms: Int):
        self.role = role
        self.limits = limits
        self.local = Settings()
        self.remote = Settings()
        self.table = StreamTable()
        self.send_window = DEFAULT_WINDOW_LEN
        self.receive_window = DEFAULT_WINDOW_LEN
        self.earlier_left = DEFAULT_WINDOW_LEN
        self.owed_len = 0
        self.next_id = 2 if role.is_server else 1
        self.last_peer_id = 0
        self.unskipped_id = -1 if role.is_server else 0
        self.early_priorities = []
        self.goaway_id = STREAM_ID_MAX
        self.has_peer_goaway = False
        self.peer_goaway_id = STREAM_ID_MAX
        self.has_settings = False
        self.owes_settings_ack = True
        self.budget = AbuseBudget(limits.abuse, now_ms)
        self._updates = UpdateAllowance(-1 if role.is_server else 1)

    @no_inline
    def __deinit__(deinit self):
        return

    def has_drained(self) -> Bool:
        """Tells whether the peer knows which of its streams is the last one that
        counts."""
        return self.goaway_id < STREAM_ID_MAX

    def note_data(mut self, index: Int, length: Int):
        """Notes that we have sent content after which its stream goes on.

        The peer may give it back, to the stream and to the connection, and so
        what its windows have cut off next. If they alone have made it short, it
        may not: all content could be had octet by octet (CVE-2019-9511).
        """
        if length > TINY_LEN or (
            self.send_window > 0 and self.table.at(index).send_window > 0
        ):
            self._updates.earn_for_data()

    def spend_update(mut self, now_ms: Int) raises Http2Error:
        """Takes a token for a tiny WINDOW_UPDATE that gives nothing back;
        raises if none is left."""
        # A peer that leaves numbers out has no stream that gives anything back.
        self._updates.earn_for_streams(
            self.unskipped_id if self.role.is_server else self.next_id
        )
        if not self._updates.spend():
            self.spend(now_ms)

    def spend(mut self, now_ms: Int) raises Http2Error:
        """Takes a token for what makes work and has no use; raises if none is
        left."""
        if not self.budget.spend(now_ms):
            raise Http2Error(Http2Rule.CALM, 0)

    @always_inline
    def is_own(self, id: Int) -> Bool:
        """Tells whether we, not the peer, open streams of such a number
        (section 5.1.1)."""
        return (id & 1 == 1) != self.role.is_server

    def is_idle(self, id: Int) -> Bool:
        """Tells whether neither a stream nor a later one of its side has begun."""
        return id >= self.next_id if self.is_own(id) else (
            id > self.last_peer_id
        )

    def find(self, id: Int) raises Http2Error -> Int:
        """Finds the index of a stream on which a frame came; -1 if it is
        closed. Raises if it is idle: not begun, or by us with no HEADERS yet.
        """
        var index = self.table.find(id)
        if index < 0:
            if self.is_idle(id):
                raise Http2Error(Http2Rule.IDLE_STREAM, 0)
        elif self.table.at(index).state == StreamState.IDLE:
            raise Http2Error(Http2Rule.IDLE_STREAM, 0)
        return index

    def add_stream(mut self, id: Int):
        """Adds a stream that begins.

        Before the peer has acknowledged our SETTINGS it may not know of another
        window than that of the RFC (section 6.9.2): it has what is larger, and
        may stop where it believes the end to be.
        """
        var window = self.local.initial_window_size
        var is_unknown = self.owes_settings_ack and not self.is_own(id)
        if is_unknown:
            window = max(window, DEFAULT_WINDOW_LEN)
        var stream = Http2Stream(id, self.remote.initial_window_size, window)
        if is_unknown:
            stream.earlier_left = DEFAULT_WINDOW_LEN
        _ = self.table.add(stream)

    def settings_acknowledged(mut self):
        """Notes that the peer knows our SETTINGS: streams that it opened before
        are narrowed to the window that it was told of."""
        self.owes_settings_ack = False
        var less = self.local.initial_window_size - DEFAULT_WINDOW_LEN
        if less >= 0:
            return
        for index in range(len(self.table)):
            ref stream = self.table.at(index)
            if not self.is_own(stream.id):
                stream.receive_window += less
                stream.receive_window_max += less

    def begin_peer_stream(mut self, id: Int):
        """Notes that the peer has begun a stream; all idle ones below are closed
        by that (section 5.1.1).
        """
        if likely(id == self.unskipped_id + 2):
            self.unskipped_id = id
        self.last_peer_id = id

    def prioritize(mut self, id: Int, priority: Priority) raises Http2Error:
        """Takes a new priority of a stream of the peer (RFC 9218 section 7).
        Raises if that are more streams than it may have."""
        var index = self.table.find(id)
        if index >= 0:
            self.table.at(index).priority = priority
        if not self.is_idle(id):
            return
        var count = 0
        for index in range(len(self.early_priorities)):
            var early = self.early_priorities.at(index)
            if self.is_idle(early >> 8) and early >> 8 != id:
                self.early_priorities.at(count) = early
                count += 1
        self.early_priorities.shrink(count)
        if len(self.table) + count >= self.limits.stream_count_max:
            raise Http2Error(Http2Rule.PRIORITY_UPDATE, 0)
        self.early_priorities.append((id << 8) | priority.packed())

    def priority_of(self, id: Int, default: Priority) -> Priority:
        """Tells what was said last of a stream before it began, or `default`."""
        for early in self.early_priorities:
            if early >> 8 == id:
                return Priority(packed=early & 0xFF)
        return default

    def check_begun(self, id: Int) raises Http2Error:
        """Checks a stream that is not open nor idle, and on which fields came.

        Raises if the peer left it out when it was its turn (section 5.1.1).
        That is not known of every stream after the first one that was left
        out, and an error with this code never wrong (section 5.4).
        """
        if id > self.unskipped_id and not self.is_own(id):
            if id <= self.goaway_id and not self.table.was_reset(id):
                raise Http2Error(Http2Rule.STREAM_ID, 0)

    def check_closed(mut self, id: Int, content_len: Int) raises Http2Error:
        """Checks a stream that is not open, and on which fields came, or content
        of so many bytes. Raises unless it was reset here, or is one of those
        that came too late to count: what was on its way then is no fault. That
        is not more than its window, which nobody opens any more."""
        if self.is_idle(id):
            raise Http2Error(Http2Rule.IDLE_STREAM, 0)
        var last = self.peer_goaway_id if self.is_own(id) else self.goaway_id
        if id > last or self.table.take_late(id, content_len):
            return
        raise Http2Error(Http2Rule.CLOSED_STREAM, 0)

    def owe(mut self, count: Int, mut out: Buffer):
        """Gives room of the connection back to the peer, now or soon: when half
        of the window has come together, or as much as the peer has left. Else
        streams that nobody reads could hold the others up: with 700 of 1,000
        octets in theirs, 150 that are owed are never half, but the peer has 150
        left."""
        self.owed_len += count
        if (
            self.owed_len * 2 >= self.limits.connection_window
            or self.owed_len >= max(self.receive_window, 1)
        ):
            write_window_update(out, 0, self.owed_len)
            if self.earlier_left <= 0:
                self.earlier_left = self.receive_window
            self.receive_window += self.owed_len
            self.owed_len = 0

    def consume(mut self, mut out: Buffer, stream_id: Int, count: Int):
        """Gives the room of content back to the peer (section 6.9), when enough
        has come together; the stream may be over."""
        self.owe(count, out)
        self.release(out, stream_id, count)

    def release(mut self, mut out: Buffer, stream_id: Int, count: Int):
        """Gives the room of content back to its stream alone, when enough has
        come together; the stream may be over."""
        var index = self.table.find(stream_id)
        if index < 0:
            return
        ref stream = self.table.at(index)
        stream.owed_len += count
        if stream.owed_len * 2 < stream.receive_window_max:
            return
        if stream.state == StreamState.HALF_CLOSED_REMOTE:
            return
        write_window_update(out, stream_id, stream.owed_len)
        stream.note_update()
        stream.receive_window += stream.owed_len
        stream.owed_len = 0

    def widen(mut self, mut out: Buffer, stream_id: Int, window: Int):
        """Lets `window` bytes of a stream wait here before any of it is taken."""
        var index = self.table.find(stream_id)
        if index < 0:
            return
        ref stream = self.table.at(index)
        var more = window - stream.receive_window_max
        if more <= 0 or stream.state == StreamState.HALF_CLOSED_REMOTE:
            return
        stream.receive_window_max = window
        stream.note_update()
        stream.receive_window += more
        write_window_update(out, stream_id, more)

    @always_inline
    def end_received(mut self, index: Int):
        """Notes that the peer has ended its side of a stream."""
        ref stream = self.table.at(index)
        stream.move[StreamEvent.END_RECEIVED]()
        if stream.state == StreamState.CLOSED:
            self.table.drop(index)

    @always_inline
    def end_sent(mut self, index: Int):
        """Notes that we have ended our side of a stream."""
        ref stream = self.table.at(index)
        stream.move[StreamEvent.END_SENT]()
        if stream.state == StreamState.CLOSED:
            self.table.drop(index)

    def reset(mut self, mut out: Buffer, stream_id: Int, code: ErrorCode):
        """Ends a stream before its time (section 6.4); it may be over already."""
        var index = self.table.find(stream_id)
        # Who has sent more than its window is not ended for one frame of it.
        var room = DEFAULT_WINDOW_LEN
        if index >= 0:
            var state = self.table.at(index).state
            room += self.table.at(index).receive_window
            self.table.drop(index)
            if state == StreamState.IDLE and self.is_own(stream_id):
                # The peer does not know of it.
                return
        write_rst_stream(out, stream_id, code)
        self.table.note_reset(stream_id, room)

"""Until when a connection of HTTP/2 waits for what is not of one stream."""

from flare.bytes.never import NEVER
from flare.http.server.config import ServerConfig
from flare.http.server.connection.deadlines import (
    TakingClock,
    Wait,
    deadline_of,
    limit_ms,
)


@fieldwise_init
struct LinkWaits(TrivialRegisterPassable):
    """What a connection waits for at the end of a round, beside its streams."""

    var is_blocked: Bool
    """True if the socket does not take what was written."""
    var has_tasks: Bool
    """True if something is under way on some stream."""
    var is_partial: Bool
    """True if a frame or a field block has begun, and is read as it comes."""
    var frame_count: Int
    """How many frames there were before it."""
    var request_count: UInt64
    """How many requests were answered so far."""


struct LinkTimes(Movable):
    """When each wait of a connection is over, `NEVER` if it does not wait for
    that; the earliest is the connection's own deadline."""

    var settings_end_ms: Int
    """When our SETTINGS must be acknowledged."""
    var partial_end_ms: Int
    """When a frame or a field block that has begun must be complete."""
    var idle_end_ms: Int
    """When a connection without streams ends."""
    var window: TakingClock
    """When the client must have opened the connection's window, if content waits
    for that."""
    var window_sent_len: Int
    """What it has let through since that was set, in bytes."""
    var goaway_end_ms: Int
    """When no more streams are taken, once the end was announced."""
    var total: WaitBudget
    """How long content may still wait for the client, whatever stream it is of.
    """
    var _partial_frame: Int
    var _idle_count: UInt64
    # What those times were set for: other frames do not prolong them.

    def __init__(out self, config: ServerConfig):
        self.settings_end_ms = NEVER
        self.partial_end_ms = NEVER
        self.idle_end_ms = NEVER
        self.window = TakingClock()
        self.window_sent_len = 0
        self.goaway_end_ms = NEVER
        self.total = WaitBudget(config)
        self._partial_frame = 0
        self._idle_count = 0

    def begin(mut self, now_ms: Int, config: ServerConfig):
        """Begins to wait for the client's preface, and for it to acknowledge our
        SETTINGS."""
        self.settings_end_ms = deadline_of(Wait.SETTINGS, now_ms, config)
        self.partial_end_ms = deadline_of(Wait.HEAD, now_ms, config)

    def begin_goaway(mut self, now_ms: Int, config: ServerConfig):
        """Begins to wait for the client to have read that the end is near."""
        self.goaway_end_ms = deadline_of(Wait.LAST_REQUEST, now_ms, config)

    def await_next(
        mut self, waits: LinkWaits, now_ms: Int, config: ServerConfig
    ):
        """Sets the times for what is waited for, each but once for the same
        wait."""
        if waits.has_tasks or waits.is_blocked:
            self.idle_end_ms = NEVER
        elif (
            self.idle_end_ms == NEVER or self._idle_count != waits.request_count
        ):
            self._idle_count = waits.request_count
            self.idle_end_ms = deadline_of(Wait.NEXT_REQUEST, now_ms, config)
        if not waits.is_partial:
            self.partial_end_ms = NEVER
        elif (
            self.partial_end_ms == NEVER
            or self._partial_frame != waits.frame_count
        ):
            self._partial_frame = waits.frame_count
            self.partial_end_ms = deadline_of(Wait.HEAD, now_ms, config)

    def await_window(mut self, waits: Bool, now_ms: Int, config: ServerConfig):
        """Sets how long content may wait for the connection's window, if some
        `waits` for it."""
        if not waits:
            self.window.end_ms = NEVER
        elif not self.window.waits():
            self.window = TakingClock(deadline_of(Wait.CLIENT, now_ms, config))
            self.window_sent_len = 0

    def note_sent(mut self, length: Int):
        """Counts content that the client's windows have let through."""
        self.window_sent_len += length
        self.total.sent_len += length

    def earliest(self, owes_settings_ack: Bool) -> Int:
        """Tells when the first of the waits is over; that for SETTINGS counts
        while the client `owes_settings_ack`."""
        var end_ms = min(self.window.end_ms, self.total.clock.end_ms)
        end_ms = min(end_ms, min(self.partial_end_ms, self.goaway_end_ms))
        end_ms = min(end_ms, self.idle_end_ms)
        return min(
            end_ms, self.settings_end_ms
        ) if owes_settings_ack else end_ms


struct WaitBudget(Movable):
    """What a client has left of the time that it may keep content waiting.

    The clock runs while content waits for a window or the socket, whatever
    stream that is on, and stops when it goes out again. The client gets that
    time back once it has taken all that waited, unless a stream was given up
    meanwhile, by whichever side: what was never taken is paid for by octets
    that are, at `min_send_rate`. So requests that replace each other share one
    total.
    """

    var clock: TakingClock
    """When the time is over."""
    var sent_len: Int
    """Content written to the client so far, in bytes."""
    var _left_ms: Int
    """What is left while the clock stands."""
    var _settled_ms: Int
    """What was left when the client had taken all the last time."""
    var _has_dropped: Bool
    """True if something was given up since then."""

    def __init__(out self, config: ServerConfig):
        self.clock = TakingClock()
        self.sent_len = 0
        self._left_ms = limit_ms(Wait.CLIENT_IN_ALL, config)
        self._settled_ms = self._left_ms
        self._has_dropped = False

    def note_drop(mut self):
        """Takes note that content which waited is given up."""
        self._has_dropped = True

    def note_wait(mut self, waits: Bool, has_content: Bool, now_ms: Int):
        """Takes note of whether content waits for the client behind what was
        sent, and whether there is any that is not sent, whatever it waits for.
        """
        if waits:
            if not self.clock.waits():
                self.clock.end_ms = now_ms + self._left_ms
            return
        if self.clock.waits():
            self._left_ms = max(self.clock.end_ms - now_ms, 0)
            self.clock.end_ms = NEVER
        if has_content:
            return
        if not self._has_dropped:
            self._left_ms = max(self._left_ms, self._settled_ms)
        self._has_dropped = False
        self._settled_ms = self._left_ms

    def refill(mut self, config: ServerConfig):
        """Gives all of the time back."""
        self._left_ms = limit_ms(Wait.CLIENT_IN_ALL, config)
        self._settled_ms = self._left_ms
        self._has_dropped = False
        self.clock.end_ms = NEVER

    def prolong(
        mut self, unsent_len: Int, now_ms: Int, config: ServerConfig
    ) -> Bool:
        """Gives the time that the client has earned by what it took, when none
        is left; False if the connection is to end. `unsent_len` was written and
        its system does not have it yet."""
        var taken_len = self.sent_len - unsent_len
        return self.clock.prolong(Wait.CLIENT_IN_ALL, taken_len, now_ms, config)

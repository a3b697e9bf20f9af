"""What a request of a client waits for, around the attempts that it takes.

    STARTING --> QUEUED --woken--> ALONE --> as STARTING, but for QUEUED
        +--> AWAITING --> CONNECTING, EXCHANGING or OPENING
        +--> CONNECTING --> EXCHANGING
        |         +--> OPENING --> STREAMING
        +--> OPENING --no room--> ALONE
        +--> EXCHANGING
    STREAMING or EXCHANGING --final response--> over
    any of them --redirected, or failed and repeated--> STARTING, or PAUSING -->
    STARTING
"""


@fieldwise_init
struct TaskPhase(Equatable, TrivialRegisterPassable):
    """What a request is at."""

    var number: UInt8

    comptime STARTING = TaskPhase(0)
    """Its next attempt begins, which may wait for a connection that another
    request opens."""
    comptime ALONE = TaskPhase(1)
    """The same, but it has waited for others already."""
    comptime PAUSING = TaskPhase(2)
    """Its next attempt begins in a moment."""
    comptime QUEUED = TaskPhase(3)
    """Another request opens a connection that it may share."""
    comptime AWAITING = TaskPhase(4)
    """A pool that threads share has nothing for it yet."""
    comptime CONNECTING = TaskPhase(5)
    """It opens a connection."""
    comptime OPENING = TaskPhase(6)
    """It has a part in a connection of HTTP/2, and no stream."""
    comptime STREAMING = TaskPhase(7)
    """It goes both ways on a stream."""
    comptime EXCHANGING = TaskPhase(8)
    """It goes both ways on a connection of its own, or has done so."""

    comptime COUNT = 9

    def begins(self) -> Bool:
        """Tells whether an attempt begins now."""
        return self == Self.STARTING or self == Self.ALONE

    def has_begun(self) -> Bool:
        """Tells whether something of the attempt may have been sent."""
        return self == Self.STREAMING or self == Self.EXCHANGING


@fieldwise_init
struct TurnEnd(Equatable, TrivialRegisterPassable):
    """What a request could go on with at once when its turn was over."""

    var number: UInt8

    comptime NOTHING = TurnEnd(0)
    """It waits."""
    comptime PIECE = TurnEnd(1)
    """The piece of coded content that is here has more for the sink."""
    comptime GIVES_WAY = TurnEnd(2)
    """It lets others have their turn."""

    comptime COUNT = 3

    def note_piece(mut self, has_more: Bool):
        """Takes note whether a piece has more for the sink."""
        self = Self.PIECE if has_more else Self.NOTHING

    def begin_turn(mut self):
        """Its turn has come; a piece is gone on with first."""
        if self == Self.GIVES_WAY:
            self = Self.NOTHING


@fieldwise_init
struct TaskEvent(Equatable, TrivialRegisterPassable):
    """Why a driver goes on with a task."""

    var number: UInt8

    comptime NONE = TaskEvent(0)
    """For no reason that is known, or to send what is there."""
    comptime READABLE = TaskEvent(1)
    """There may be something to receive."""
    comptime TIMEOUT = TaskEvent(2)
    """`wait_ms` are over, and nothing was ready."""


@fieldwise_init
struct TaskProgress(Equatable, TrivialRegisterPassable):
    """What a driver has to do before it goes on with a task."""

    var number: UInt8

    comptime WAIT = TaskProgress(0)
    """Wait for one of the `watches`, no longer than `wait_ms`."""
    comptime WANTS_CONTENT = TaskProgress(1)
    """Feed it with the next piece of content from the caller's source."""
    comptime HAS_CONTENT = TaskProgress(2)
    """Take the `content` that goes to the caller's sink."""
    comptime DONE = TaskProgress(3)
    """Take the response: `finish`."""
    comptime HAS_HEAD = TaskProgress(4)
    """Look at the `head` of the final response, once, before its content: of a
    request whose content is lent (`ContentUse.LEND`)."""

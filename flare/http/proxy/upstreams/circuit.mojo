"""The circuit of one upstream: too many failures in a row open it, and after some
time one request tries whether it may close; without clock and socket.

    CLOSED --failures--> OPEN --time, a request--> TRYING --success--> CLOSED
                          ^                          |
                          +----failure, given up-----+
"""


@fieldwise_init
struct CircuitState(Equatable, TrivialRegisterPassable):
    """Whether requests pass."""

    var number: UInt8

    comptime CLOSED = CircuitState(0)
    """They do."""
    comptime OPEN = CircuitState(1)
    """None does until its time is over; then one may try."""
    comptime TRYING = CircuitState(2)
    """One tries."""

    comptime COUNT = 3


struct Circuit(Copyable, Movable):
    """Times are in milliseconds of one clock that does not go back."""

    var state: CircuitState
    var until_ms: Int
    """When one may try, of a circuit that is open."""

    def __init__(out self):
        """Makes one that is closed."""
        self.state = CircuitState.CLOSED
        self.until_ms = 0

    def admits(self, now_ms: Int) -> Bool:
        """Tells whether a request may pass."""
        if self.state == CircuitState.OPEN:
            return now_ms >= self.until_ms
        return self.state == CircuitState.CLOSED

    def is_open_at(self, now_ms: Int) -> Bool:
        """Tells whether time alone will let one try, and has not yet."""
        return self.state == CircuitState.OPEN and self.until_ms > now_ms

    def begin(mut self) -> Bool:
        """Notes that a request passes. Returns True if it is the one that tries."""
        if self.state == CircuitState.CLOSED:
            return False
        self.state = CircuitState.TRYING
        return True

    def give_up(mut self):
        """The one that has tried has told nothing: the next may."""
        if self.state == CircuitState.TRYING:
            self.state = CircuitState.OPEN

    def open(mut self, until_ms: Int):
        """Too much has failed, or what has tried: nothing passes until then."""
        self.state = CircuitState.OPEN
        self.until_ms = until_ms

    def close(mut self):
        """What has tried has worked, or a health check says that all does."""
        self.state = CircuitState.CLOSED

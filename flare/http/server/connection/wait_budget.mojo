"""How long a client of HTTP/2 may keep content waiting, over all its streams."""

from flare.bytes.never import NEVER
from flare.http.server.config import ServerConfig
from flare.http.server.connection.deadlines import (
    TakingClock,
    Wait,
    limit_ms,
)


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

"""How long a client of HTTP/2 may keep content waiting, over all its streams."""

from flare.http.server.connection.phase import NEVER_MS
from flare.http.server.earned_time import earned_ms, prolonged_end_ms

comptime WAIT_FACTOR = 4
"""The total is this many times `write_timeout_ms`: a client may let several
streams run into that one after the other, as a browser does whose user pauses
videos, and goes on by taking something else."""


struct WaitBudget(Movable):
    """What a client has left of the time that it may keep content waiting.

    The clock runs while content waits for a window or the socket, whatever
    stream that is on, and stops when it goes out again. The client gets that
    time back once it has taken all that waited, unless a stream was given up
    meanwhile, by whichever side: what was never taken is paid for by octets
    that are, at `min_send_rate`. So requests that replace each other share one
    total.
    """

    var end_ms: Int
    """When the time is over; `NEVER_MS` while the clock stands."""
    var sent_len: Int
    """Content written to the client so far, in bytes."""
    var _left_ms: Int
    """What is left while the clock stands."""
    var _settled_ms: Int
    """What was left when the client had taken all the last time."""
    var _has_dropped: Bool
    """True if something was given up since then."""
    var _counted_len: Int
    """What has earned time already, in bytes."""

    def __init__(out self, write_timeout_ms: Int):
        self.end_ms = NEVER_MS
        self.sent_len = 0
        self._left_ms = WAIT_FACTOR * write_timeout_ms
        self._settled_ms = self._left_ms
        self._has_dropped = False
        self._counted_len = 0

    def note_drop(mut self):
        """Takes note that content which waited is given up."""
        self._has_dropped = True

    def note_wait(mut self, waits: Bool, has_content: Bool, now_ms: Int):
        """Takes note of whether content waits for the client behind what was
        sent, and whether there is any that is not sent, whatever it waits for.
        """
        if waits:
            if self.end_ms == NEVER_MS:
                self.end_ms = now_ms + self._left_ms
            return
        if self.end_ms != NEVER_MS:
            self._left_ms = max(self.end_ms - now_ms, 0)
            self.end_ms = NEVER_MS
        if has_content:
            return
        if not self._has_dropped:
            self._left_ms = max(self._left_ms, self._settled_ms)
        self._has_dropped = False
        self._settled_ms = self._left_ms

    def refill(mut self, write_timeout_ms: Int):
        """Gives all of the time back."""
        self._left_ms = WAIT_FACTOR * write_timeout_ms
        self._settled_ms = self._left_ms
        self._has_dropped = False
        self.end_ms = NEVER_MS

    def prolong(
        mut self, unsent_len: Int, rate: Int, write_timeout_ms: Int, now_ms: Int
    ) -> Bool:
        """Gives the time that the client has earned by what it took, when none
        is left; False if the connection is to end. `unsent_len` was written and
        its system does not have it yet; a rate, in octets a second, of 0 gives
        no time."""
        var taken_len = max(self.sent_len - unsent_len, self._counted_len)
        self.end_ms = prolonged_end_ms(
            self.end_ms,
            earned_ms(taken_len - self._counted_len, rate),
            WAIT_FACTOR * write_timeout_ms,
            now_ms,
        )
        self._counted_len = taken_len
        return self.end_ms > now_ms

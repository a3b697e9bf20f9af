"""Lines of a log that clients bring about: one a second tells as much as all."""

comptime PACE_MS = 1_000
"""How long after a line of a kind no other one is written, in milliseconds."""


struct LinePace(Defaultable, Movable):
    """Lets one line of a kind through in a while, and counts those left out."""

    var _next_ms: Int
    var _left_out: Int

    def may_write(mut self, now_ms: Int) -> Bool:
        """Tells whether a line may be written now; it counts if not."""
        if now_ms < self._next_ms:
            self._left_out += 1
            return False
        self._next_ms = now_ms + PACE_MS
        return True

    def take_left_out(mut self) -> Int:
        """Tells how many lines were left out since the last one, and counts
        anew."""
        var count = self._left_out
        self._left_out = 0
        return count

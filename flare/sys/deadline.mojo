"""Moments at which waiting ends."""

from flare.sys.clock import monotonic_ns

comptime NO_TIMEOUT_MS = -1
"""A timeout that never comes: wait as long as it takes."""

# A month. Longer waits are as good as endless, and nothing overflows.
comptime _TIMEOUT_MS_MAX = 30 * 24 * 3_600 * 1_000
comptime _NEVER = -1


struct Deadline(ImplicitlyCopyable):
    """The moment at which an operation gives up, however often it waits."""

    var timeout_ms: Int
    """How long the operation had from the start; negative for ever."""
    var _end_ns: Int

    def __init__(out self, timeout_ms: Int):
        """Starts the time that an operation has.

        Args:
            timeout_ms: How long from now; 0 to never wait, negative
                (`NO_TIMEOUT_MS`) for no deadline.
        """
        self.timeout_ms = timeout_ms
        self._end_ns = _NEVER
        if timeout_ms >= 0:
            var timeout_ns = min(timeout_ms, _TIMEOUT_MS_MAX) * 1_000_000
            self._end_ns = monotonic_ns() + timeout_ns

    def left_ms(self) -> Int:
        """Tells how much time is left.

        Returns:
            Milliseconds, rounded up so that a wait of so long reaches the
            deadline; 0 once it is over, -1 if there is none.
        """
        if self._end_ns == _NEVER:
            return -1
        return max((self._end_ns - monotonic_ns() + 999_999) // 1_000_000, 0)

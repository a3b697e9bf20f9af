"""When a crashed worker starts again, and when that is given up.

    delay = min(first * 2^(crashes in a row - 1), most), less up to half of it

A crash in a row is one of a process that did not live for `settle_ms`. Over
`restarts_max` crashes of all workers within `window_ms` end the program.
"""


@fieldwise_init
struct RestartPolicy(Copyable, Movable):
    """How patient a supervisor is. Times are in milliseconds."""

    var delay_first_ms: Int
    """Longest wait after the first crash in a row."""
    var delay_max_ms: Int
    """Longest wait of all."""
    var settle_ms: Int
    """A process that lived so long has ended its row of crashes."""
    var restarts_max: Int
    """Most crashes of all workers within the window."""
    var window_ms: Int
    """Length of the sliding window."""

    def delay_ms(self, crash_count: Int, random: UInt64) -> Int:
        """Chooses the wait before a restart.

        Args:
            crash_count: Crashes of the worker in a row, at least 1.
            random: Any number; spreads workers that crash together.

        Returns:
            Between half of the wait and all of it.
        """
        var delay = self.delay_first_ms
        for _ in range(1, crash_count):
            if delay >= self.delay_max_ms:
                break
            delay *= 2
        delay = min(delay, self.delay_max_ms)
        var half = delay // 2
        return delay - Int(random % UInt64(half + 1))


struct RestartBudget(Movable):
    """Counts crashes within the sliding window."""

    var _crashes_ms: List[Int]

    def __init__(out self):
        """Starts without crashes."""
        self._crashes_ms = []

    def note(mut self, policy: RestartPolicy, now_ms: Int) -> Int:
        """Counts a crash.

        Args:
            policy: Has the window.
            now_ms: When it happened; never goes back.

        Returns:
            Crashes within the window, this one included.
        """
        var recent = List[Int]()
        for crash_ms in self._crashes_ms:
            if now_ms - crash_ms < policy.window_ms:
                recent.append(crash_ms)
        recent.append(now_ms)
        self._crashes_ms = recent^
        return len(self._crashes_ms)

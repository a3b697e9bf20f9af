"""Clocks of the system, and deadlines on them."""

from flare.sys.platform import by_platform
from std.ffi import external_call


comptime _REALTIME = by_platform(5, 0)
# Linux has coarse clocks, which cost a few nanoseconds and step by 1 to 4 ms;
# the fine real-time clock serves on macOS.
comptime _MONOTONIC_COARSE = by_platform(6, 5)
comptime MONOTONIC_CLOCK = by_platform(1, 6)
"""The number of the clock of `monotonic_ns`."""
comptime _THREAD_CPU = by_platform(3, 16)


struct _TimeSpec:
    """`struct timespec`."""

    var seconds: Int
    var nanoseconds: Int

    @always_inline
    def __init__(out self):
        self.seconds = 0
        self.nanoseconds = 0


@always_inline
def _read[clock: Int]() -> Int:
    var time = _TimeSpec()
    _ = external_call["clock_gettime", Int32](Int32(clock), Pointer(to=time))
    return time.seconds * 1_000_000_000 + time.nanoseconds


@always_inline
def unix_seconds() -> Int:
    """Reads seconds since 1970-01-01 00:00:00 UTC."""
    return _read[_REALTIME]() // 1_000_000_000


def realtime_ns() -> Int:
    """Reads nanoseconds since 1970-01-01 00:00:00 UTC."""
    return _read[_REALTIME]()


@always_inline
def coarse_monotonic_ms() -> Int:
    """Reads milliseconds on a clock that never goes back, cheaply, and a few of
    them late."""
    return _read[_MONOTONIC_COARSE]() // 1_000_000


def monotonic_ns() -> Int:
    """Reads nanoseconds on a clock that never goes back."""
    return _read[MONOTONIC_CLOCK]()


def monotonic_ms() -> Int:
    """Reads whole milliseconds on a clock that never goes back."""
    return monotonic_ns() // 1_000_000


def thread_cpu_ns() -> Int:
    """Reads the CPU time that the calling thread has used."""
    return _read[_THREAD_CPU]()


comptime NO_TIMEOUT_MS = -1
"""A timeout that never comes: wait as long as it takes."""

# 24 days, what calls of the kernel take (an int). Longer waits are as good as
# endless, and nothing overflows.
comptime _TIMEOUT_MS_MAX = 24 * 24 * 3_600 * 1_000
comptime _NEVER = -1


struct Deadline(ImplicitlyCopyable):
    """The moment at which an operation gives up, however often it waits."""

    var timeout_ms: Int
    """How long the operation had from the start; negative for ever."""
    var _end_ns: Int

    def __init__(out self, timeout_ms: Int):
        """Starts the time that an operation has; 0 to never wait, negative
        (`NO_TIMEOUT_MS`) for no deadline."""
        self.timeout_ms = timeout_ms
        self._end_ns = _NEVER
        if timeout_ms >= 0:
            var timeout_ns = min(timeout_ms, _TIMEOUT_MS_MAX) * 1_000_000
            self._end_ns = monotonic_ns() + timeout_ns

    def start_ns(self) -> Int:
        """Tells when the time has started, as `monotonic_ns`; the time now if
        there is no deadline."""
        if self._end_ns == _NEVER:
            return monotonic_ns()
        return self._end_ns - min(self.timeout_ms, _TIMEOUT_MS_MAX) * 1_000_000

    def left_ms(self) -> Int:
        """Tells how much time is left, rounded up so that a wait of so long
        reaches the deadline; 0 once it is over, -1 if there is none."""
        if self._end_ns == _NEVER:
            return -1
        return max((self._end_ns - monotonic_ns() + 999_999) // 1_000_000, 0)

"""Clocks."""

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
    """Reads the time of day.

    Returns:
        Seconds since 1970-01-01 00:00:00 UTC.
    """
    return _read[_REALTIME]() // 1_000_000_000


def realtime_ns() -> Int:
    """Reads the time of day.

    Returns:
        Nanoseconds since 1970-01-01 00:00:00 UTC.
    """
    return _read[_REALTIME]()


@always_inline
def coarse_monotonic_ms() -> Int:
    """Reads a clock that never goes back, cheaply.

    Returns:
        Milliseconds since some moment in the past, a few of them late.
    """
    return _read[_MONOTONIC_COARSE]() // 1_000_000


def monotonic_ns() -> Int:
    """Reads a clock that never goes back.

    Returns:
        Nanoseconds since some moment in the past.
    """
    return _read[MONOTONIC_CLOCK]()


def monotonic_ms() -> Int:
    """Reads a clock that never goes back.

    Returns:
        Whole milliseconds since some moment in the past.
    """
    return monotonic_ns() // 1_000_000


def thread_cpu_ns() -> Int:
    """Reads the CPU time that the calling thread has used.

    Returns:
        Nanoseconds.
    """
    return _read[_THREAD_CPU]()

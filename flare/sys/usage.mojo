"""What the calling thread has used of the machine."""

from flare.sys.platform import IS_MACOS
from std.ffi import external_call

comptime _RUSAGE_THREAD = 1
# `struct rusage`: two times, and fourteen counts.
comptime _WORD_COUNT = 18
comptime _VOLUNTARY_SWITCHES = 16


def thread_wait_count() -> Int:
    """Counts how often the calling thread has given its CPU away to wait; to be
    interrupted in favour of others is no wait. -1 where the system does not
    count them for a thread (macOS)."""
    comptime if IS_MACOS:
        return -1
    else:
        var words = Array[Int, _WORD_COUNT](fill=0)
        _ = external_call["getrusage", Int32](
            Int32(_RUSAGE_THREAD), words.unsafe_ptr()
        )
        return words[_VOLUNTARY_SWITCHES]

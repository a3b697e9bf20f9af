"""Which CPU the calling thread is on."""

from flare.sys.platform import IS_MACOS
from std.ffi import external_call


@always_inline
def current_cpu() -> Int:
    """Tells where the calling thread runs; a moment later it may be elsewhere.

    Returns:
        The CPU's number; 0 if the system does not tell.
    """
    comptime if IS_MACOS:
        var number = UInt64(0)
        _ = external_call["pthread_cpu_number_np", Int32](Pointer(to=number))
        return Int(number)
    else:
        return max(0, Int(external_call["sched_getcpu", Int32]()))

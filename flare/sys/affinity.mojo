"""Which CPUs threads may run on."""

from flare.bytes.checked import *
from flare.sys.errno import OsError, last_errno
from flare.sys.platform import IS_MACOS
from std.ffi import external_call


comptime _CPU_COUNT_MAX = 1_024
# As many as the kernel's default mask has bits (CPU_SETSIZE).
comptime _WORD_COUNT = _CPU_COUNT_MAX // 64
comptime _MASK_LEN = _CPU_COUNT_MAX // 8
comptime _SC_NPROCESSORS_ONLN_MACOS = 58


def usable_cpus(thread_id: Int = 0) raises OsError -> List[Int]:
    """Lists the CPUs that a thread may run on.

    macOS does not tell; there it is all that are online.

    Args:
        thread_id: The thread; 0 for the calling one. A process id stands for
            the process's first thread.

    Returns:
        CPU numbers in rising order, at least one.

    Raises:
        OsError: If the kernel refuses (EINVAL with over 1,024 CPUs).
    """
    var cpus = List[Int]()
    comptime if IS_MACOS:
        var count = external_call["sysconf", Int](
            Int32(_SC_NPROCESSORS_ONLN_MACOS)
        )
        for cpu in range(max(count, 1)):
            cpus.append(cpu)
    else:
        var mask = Array[UInt64, _WORD_COUNT](fill=0)
        var result = external_call["sched_getaffinity", Int32](
            Int32(thread_id), Int(_MASK_LEN), mask.unsafe_ptr()
        )
        if result != 0:
            raise OsError("sched_getaffinity", last_errno())
        for cpu in range(_CPU_COUNT_MAX):
            if (mask.at(cpu // 64) >> UInt64(cpu % 64)) & 1 == 1:
                cpus.append(cpu)
    return cpus^


def pin_thread(cpu: Int) raises OsError:
    """Keeps the calling thread on one CPU; does nothing on macOS.

    Args:
        cpu: One of `usable_cpus`.

    Raises:
        OsError: If the thread may not run there (EINVAL).
    """
    restrict_thread([cpu])


def restrict_thread(cpus: List[Int]) raises OsError:
    """Keeps the calling thread on some CPUs; does nothing on macOS.

    Args:
        cpus: Numbers of CPUs; the kernel ignores those that the process may
            not use.

    Raises:
        OsError: If none is left (EINVAL).
    """
    comptime if not IS_MACOS:
        var mask = Array[UInt64, _WORD_COUNT](fill=0)
        for cpu in cpus:
            if cpu >= 0 and cpu < _CPU_COUNT_MAX:
                mask.at(cpu // 64) |= UInt64(1) << UInt64(cpu % 64)
        var result = external_call["sched_setaffinity", Int32](
            Int32(0), Int(_MASK_LEN), mask.unsafe_ptr()
        )
        if result != 0:
            raise OsError("sched_setaffinity", last_errno())


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

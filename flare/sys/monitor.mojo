"""A lock with a bell: threads wait under it until another one rings."""

from flare.sys.clock import MONOTONIC_CLOCK, monotonic_ns, realtime_ns
from flare.sys.errno import ETIMEDOUT, OsError
from flare.sys.platform import IS_MACOS
from std.ffi import external_call
from std.memory import Allocation, Layout, alloc, dealloc

comptime _PART_LEN = 128
# Bytes; pthread_mutex_t has 40 on Linux and 64 on macOS, pthread_cond_t 48.


struct Monitor(Movable):
    """A mutex and a condition variable of the C library.

    A waiting thread gives the lock away and has it again when it returns.
    """

    var _memory: Pointer[UInt8, MutUntrackedOrigin]

    def __init__(out self) raises OsError:
        """Makes an open lock.

        Raises:
            OsError: If the system has no more of them.
        """
        self._memory = alloc(Layout[UInt8](count=2 * _PART_LEN)).unsafe_leak()
        for offset in range(2 * _PART_LEN):
            self._memory[unsafe_offset=offset] = 0
        var result = external_call["pthread_mutex_init", Int32](
            self._memory, Int(0)
        )
        if result == 0:
            result = _make_bell(self._bell())
        if result != 0:
            raise OsError("pthread_mutex_init", Int(result))

    def __deinit__(deinit self):
        """Releases the lock, which no thread may hold any more."""
        _ = external_call["pthread_cond_destroy", Int32](self._bell())
        _ = external_call["pthread_mutex_destroy", Int32](self._memory)
        dealloc(
            Allocation(
                unsafe_owned_ptr=self._memory,
                layout=Layout[UInt8](count=2 * _PART_LEN),
            )
        )

    def _bell(self) -> Pointer[UInt8, MutUntrackedOrigin]:
        return self._memory.unsafe_offset(_PART_LEN)

    def lock(self):
        """Waits until no other thread has the lock, and takes it."""
        _ = external_call["pthread_mutex_lock", Int32](self._memory)

    def unlock(self):
        """Gives the lock away."""
        _ = external_call["pthread_mutex_unlock", Int32](self._memory)

    def wait(self):
        """Waits for a ring, with the lock; it may also return without one."""
        _ = external_call["pthread_cond_wait", Int32](
            self._bell(), self._memory
        )

    def wait_for(self, timeout_ms: Int) -> Bool:
        """Waits for a ring, with the lock; it may also return without one.

        Args:
            timeout_ms: Longest wait.

        Returns:
            False if the time is over.
        """
        var now_ns = realtime_ns() if IS_MACOS else monotonic_ns()
        var end_ns = now_ns + timeout_ms * 1_000_000
        var time = Array[Int, 2](fill=end_ns // 1_000_000_000)
        time[1] = end_ns % 1_000_000_000
        var result = external_call["pthread_cond_timedwait", Int32](
            self._bell(), self._memory, time.unsafe_ptr()
        )
        return Int(result) != ETIMEDOUT

    def ring(self):
        """Ends the wait of one thread."""
        _ = external_call["pthread_cond_signal", Int32](self._bell())

    def ring_all(self):
        """Ends the wait of all threads."""
        _ = external_call["pthread_cond_broadcast", Int32](self._bell())


def _make_bell(bell: Pointer[UInt8, MutUntrackedOrigin]) -> Int32:
    """Makes a condition variable whose waits no step of the clock prolongs.
    macOS has only the time of day for them."""
    var attributes = Array[UInt8, _PART_LEN](fill=0)
    var result = external_call["pthread_condattr_init", Int32](
        attributes.unsafe_ptr()
    )
    comptime if not IS_MACOS:
        if result == 0:
            result = external_call["pthread_condattr_setclock", Int32](
                attributes.unsafe_ptr(), Int32(MONOTONIC_CLOCK)
            )
    if result == 0:
        result = external_call["pthread_cond_init", Int32](
            bell, attributes.unsafe_ptr()
        )
    return result

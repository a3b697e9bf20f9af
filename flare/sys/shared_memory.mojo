"""Memory that a process shares with the children of its forks: words, octets,
one lock that survives whoever held it, and waiting for a word to change."""

from flare.bytes.buffer import Buffer
from flare.sys.clock import Deadline
from flare.sys.errno import OsError
from flare.sys.memory_map import (
    MAP_SHARED_ANONYMOUS,
    PAGE_LEN,
    map_memory,
    unmap_memory,
)
from flare.sys.mutex import init_mutex, unlock_mutex
from flare.sys.platform import IS_MACOS
from flare.sys.poll import pause
from std.atomic import Atomic, Ordering, fence
from std.ffi import external_call
from std.memory import unsafe_memcpy
from std.sys import CompilationTarget

comptime _WORD_LEN = 8
comptime _LOCK_LEN = 64
# What pthread_mutex_init is told lies after the lock; nothing reads it later.
comptime LOCK_ROOM_LEN = 2 * _LOCK_LEN
"""What a lock takes, in bytes."""

comptime _PROCESS_SHARED = 1
comptime _ROBUST = 1
comptime _EOWNERDEAD = 130

comptime _SYS_FUTEX = 202 if CompilationTarget.is_x86() else 98
comptime _FUTEX_WAIT = 0
comptime _FUTEX_WAKE = 1
comptime _WAKE_ALL = Int(Int32.MAX)

# A lock is held for a few microseconds: first it is asked for at once.
comptime _SPIN_COUNT = 200

comptime _Mutex = Array[UInt64, 8]


@fieldwise_init
struct LockResult(Equatable, ImplicitlyCopyable):
    """What became of the wish for a lock."""

    var _value: Int

    comptime TAKEN = Self(0)
    """It is held now."""
    comptime TAKEN_FROM_DEAD = Self(1)
    """It is held now; whoever had it has died and left what it guards as it
    was in that moment."""
    comptime BUSY = Self(2)
    """It was not given away in time."""


struct SharedMemory(Movable):
    """Zeroed memory that children of a fork see, too.

    What is at an offset is either a word, which is read and written as a whole,
    or octets, or the lock. Offsets of words are multiples of 8. One beyond the
    end aborts, as an index out of range does.
    """

    var _address: Int
    var _length: Int

    def __init__(out self, length: Int) raises OsError:
        """Maps memory; pages that nobody touches cost nothing."""
        self._length = (length + PAGE_LEN - 1) // PAGE_LEN * PAGE_LEN
        self._address = map_memory(self._length, MAP_SHARED_ANONYMOUS)

    def __deinit__(deinit self):
        """Unmaps the memory, in this process alone."""
        unmap_memory(self._address, self._length)

    def __len__(self) -> Int:
        """Tells its length in bytes, a multiple of the page size."""
        return self._length

    def _at(self, offset: Int, length: Int) -> Int:
        debug_assert[assert_mode="safe"](
            offset >= 0 and length >= 0 and offset <= self._length - length,
            "beyond the shared memory",
        )
        return self._address + offset

    def _word(self, offset: Int) -> Pointer[Int64, MutUntrackedOrigin]:
        debug_assert[assert_mode="safe"](
            offset % _WORD_LEN == 0, "no place of a word"
        )
        return Pointer[Int64, MutUntrackedOrigin](
            unsafe_from_address=self._at(offset, _WORD_LEN)
        )

    def load(self, offset: Int) -> Int:
        """Reads a word; what was written before it is seen, too."""
        return Int(
            Atomic[Int64].load[ordering=Ordering.SEQUENTIAL](self._word(offset))
        )

    def store(self, offset: Int, value: Int):
        """Writes a word, after all that was written before."""
        Atomic[Int64].store[ordering=Ordering.SEQUENTIAL](
            self._word(offset), Int64(value)
        )

    def add(self, offset: Int, amount: Int) -> Int:
        """Adds to a word that others may add to."""
        return Int(
            Atomic[Int64].fetch_add[ordering=Ordering.SEQUENTIAL](
                self._word(offset), Int64(amount)
            )
        )

    def write(self, offset: Int, octets: Span[UInt8, _]):
        """Writes octets; nobody is kept from reading them meanwhile."""
        var address = self._at(offset, len(octets))
        # Not before the words that announce it.
        fence[Ordering.SEQUENTIAL]()
        if len(octets) > 0:
            # SAFETY: so many octets of the mapping begin there.
            unsafe_memcpy(
                dest=Pointer[UInt8, MutUntrackedOrigin](
                    unsafe_from_address=address
                ),
                src=octets.unsafe_ptr(),
                count=len(octets),
            )

    def read(self, offset: Int, length: Int, mut out: Buffer):
        """Copies octets out; a word that is read after it is not older."""
        var address = self._at(offset, length)
        if length > 0:
            # SAFETY: so many octets of the mapping begin there.
            out.append(
                Span[UInt8, MutUntrackedOrigin](
                    unsafe_ptr=Pointer[UInt8, MutUntrackedOrigin](
                        unsafe_from_address=address
                    ),
                    length=length,
                )
            )
        fence[Ordering.SEQUENTIAL]()

    def _mutex(self, offset: Int) -> Pointer[_Mutex, MutUntrackedOrigin]:
        return Pointer[_Mutex, MutUntrackedOrigin](
            unsafe_from_address=self._at(offset, LOCK_ROOM_LEN)
        )

    def make_lock(self, offset: Int) raises OsError:
        """Makes a lock of `LOCK_ROOM_LEN` for all processes; done once, before
        any fork. Raises if the system has no such locks."""
        var attributes = self._at(offset, LOCK_ROOM_LEN) + _LOCK_LEN
        _check(
            "pthread_mutexattr_init",
            external_call["pthread_mutexattr_init", Int32](attributes),
        )
        _check(
            "pthread_mutexattr_setpshared",
            external_call["pthread_mutexattr_setpshared", Int32](
                attributes, Int32(_PROCESS_SHARED)
            ),
        )
        comptime if not IS_MACOS:
            _check(
                "pthread_mutexattr_setrobust",
                external_call["pthread_mutexattr_setrobust", Int32](
                    attributes, Int32(_ROBUST)
                ),
            )
        init_mutex(self._mutex(offset), attributes)

    def lock(self, offset: Int, timeout_ms: Int) -> LockResult:
        """Takes the lock that `make_lock` made, or tells why not; 0 asks once.
        A process that ends with it gives it away, on Linux."""
        var deadline = Deadline(timeout_ms)
        var attempt = 0
        while True:
            var result = Int(
                external_call["pthread_mutex_trylock", Int32](
                    self._mutex(offset)
                )
            )
            if result == 0:
                return LockResult.TAKEN
            comptime if not IS_MACOS:
                if result == _EOWNERDEAD:
                    _ = external_call["pthread_mutex_consistent", Int32](
                        self._mutex(offset)
                    )
                    return LockResult.TAKEN_FROM_DEAD
            attempt += 1
            if attempt > _SPIN_COUNT:
                if deadline.left_ms() == 0:
                    return LockResult.BUSY
                pause(1)

    def unlock(self, offset: Int):
        unlock_mutex(self._mutex(offset))

    def wait_for_change(self, offset: Int, seen: Int, timeout_ms: Int):
        """Waits until a word, of which the lower 32 bits count, has changed
        from what was seen and `wake_all` was called. It may end early. macOS
        looks at the word every two milliseconds."""
        comptime if IS_MACOS:
            var deadline = Deadline(timeout_ms)
            while self.load(offset) == seen and deadline.left_ms() > 0:
                pause(2)
        else:
            var seen_low = Int(UInt32(seen & 0xFFFF_FFFF))
            self._futex(offset, _FUTEX_WAIT, seen_low, timeout_ms)

    def wake_all(self, offset: Int):
        """Wakes all who wait for a word; change it before."""
        comptime if not IS_MACOS:
            self._futex(offset, _FUTEX_WAKE, _WAKE_ALL, 0)

    def _futex(self, offset: Int, operation: Int, number: Int, timeout_ms: Int):
        # Not "private": other processes wait for the same word.
        var time = Array[Int, 2](uninitialized=True)
        time[0] = timeout_ms // 1_000
        time[1] = timeout_ms % 1_000 * 1_000_000
        _ = external_call["syscall", Int, num_fixed_args=1](
            Int(_SYS_FUTEX),
            self._word(offset),
            operation,
            number,
            time.unsafe_ptr(),
            Int(0),
            Int(0),
        )


def _check(call: StaticString, result: Int32) raises OsError:
    if result != 0:
        raise OsError(call, Int(result))

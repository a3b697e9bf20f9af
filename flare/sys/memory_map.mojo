"""Memory from the kernel: guarded, shared, or wiped at a fork."""

from flare.sys.errno import OsError, last_errno
from flare.sys.memory.pages import advise_memory
from flare.sys.platform import IS_MACOS, by_platform
from std.atomic import Atomic, Ordering
from std.ffi import external_call


comptime PAGE_LEN = 16_384
"""A multiple of every page size in use (4 KiB on x86-64, 16 KiB on Apple)."""

comptime _PROT_NONE = 0
comptime _PROT_READ_WRITE = 3
comptime MAP_PRIVATE_ANONYMOUS = by_platform(0x22, 0x1002)
"""Memory of this process alone, copied by a fork."""


struct GuardedMemory(Movable):
    """Writable memory that ends at a forbidden page: one byte too far crashes."""

    var _address: Int
    var _length: Int

    def __init__(out self, length: Int) raises OsError:
        """Maps at least so many bytes before the forbidden page."""
        self._length = (length + PAGE_LEN - 1) // PAGE_LEN * PAGE_LEN
        self._address = map_memory(
            self._length + PAGE_LEN, MAP_PRIVATE_ANONYMOUS
        )
        var result = external_call["mprotect", Int32](
            self._address + self._length, PAGE_LEN, Int32(_PROT_NONE)
        )
        if result != 0:
            raise OsError("mprotect", last_errno())

    def __deinit__(deinit self):
        unmap_memory(self._address, self._length + PAGE_LEN)

    def last(ref self, length: Int) -> Span[UInt8, origin_of(self)]:
        """Lends the bytes right before the forbidden page, at most what was
        asked for."""
        debug_assert[assert_mode="safe"](
            length >= 0 and length <= self._length, "longer than the memory"
        )
        return {
            unsafe_ptr = Pointer[UInt8, MutUntrackedOrigin](
                unsafe_from_address=self._address + self._length - length
            )
            .unsafe_mut_cast[origin_of(self).mut]()
            .unsafe_origin_cast[origin_of(self)](),
            length = length,
        }


def map_memory(length: Int, flags: Int) raises OsError -> Int:
    """Maps zeroed memory that can be read and written; the caller unmaps it."""
    var address = external_call["mmap", Int](
        Int(0),
        length,
        Int32(_PROT_READ_WRITE),
        Int32(flags),
        Int32(-1),
        Int(0),
    )
    if address == -1:
        raise OsError("mmap", last_errno())
    return address


def unmap_memory(address: Int, length: Int):
    """Gives back what `map_memory` answered for the same length."""
    var result = external_call["munmap", Int32](address, length)
    debug_assert(result == 0, "munmap refuses what was mapped")


comptime MAP_SHARED_ANONYMOUS = by_platform(0x21, 0x1001)
"""Memory that children of a fork share."""
comptime _WORD_LEN = 8


struct SharedCounters(Movable):
    """Zeroed 64-bit counters; children of a fork see the same ones.

    Reads and writes are atomic and relaxed: a reader sees each counter whole,
    and soon, but not two of them at one moment.
    """

    var _address: Int
    var _count: Int

    def __init__(out self, count: Int) raises OsError:
        """Maps memory; pages that nobody touches cost nothing."""
        self._count = count
        self._address = map_memory(count * _WORD_LEN, MAP_SHARED_ANONYMOUS)

    def __deinit__(deinit self):
        """Unmaps the memory, in this process alone."""
        unmap_memory(self._address, self._count * _WORD_LEN)

    def _word(self, index: Int) -> Pointer[Int64, MutUntrackedOrigin]:
        debug_assert[assert_mode="safe"](
            index >= 0 and index < self._count, "no such counter"
        )
        return Pointer[Int64, MutUntrackedOrigin](
            unsafe_from_address=self._address + index * _WORD_LEN
        )

    def load(self, index: Int) -> Int:
        return Int(
            Atomic[Int64].load[ordering=Ordering.RELAXED](self._word(index))
        )

    def store(self, index: Int, value: Int):
        Atomic[Int64].store[ordering=Ordering.RELAXED](
            self._word(index), Int64(value)
        )

    def add(self, index: Int, amount: Int):
        """Adds to a counter that others may add to."""
        _ = Atomic[Int64].fetch_add[ordering=Ordering.RELAXED](
            self._word(index), Int64(amount)
        )

    def replace(self, index: Int, expected: Int, value: Int) -> Bool:
        """Writes a counter, if it holds what is expected: nobody else has
        written it meanwhile. Else it stays as it is, and this is False."""
        var held = Int64(expected)
        return Atomic[Int64].compare_exchange(
            self._word(index), held, Int64(value)
        )

    def take(self, index: Int) -> Int:
        """Gives a number that nobody else gets, and counts it: the counter's
        value before it grew by 1."""
        return Int(
            Atomic[Int64].fetch_add[ordering=Ordering.RELAXED](
                self._word(index), 1
            )
        )


comptime _MADV_WIPEONFORK = 18
# Linux 4.14.


struct ProcessWord(Movable):
    """Remembers a number for this process; a fork's child finds 0 there.

    So what belongs to a process, such as a row of a table, need not be looked
    up by its number each time, which costs a call of the kernel. Where the
    system cannot forget for us nothing is remembered.
    """

    var _address: Int
    var _is_kept: Bool

    def __init__(out self) raises OsError:
        """Remembers nothing."""
        self._address = map_memory(PAGE_LEN, MAP_PRIVATE_ANONYMOUS)
        self._is_kept = False
        comptime if not IS_MACOS:
            self._is_kept = (
                advise_memory(self._address, PAGE_LEN, Int32(_MADV_WIPEONFORK))
                == 0
            )

    def __deinit__(deinit self):
        unmap_memory(self._address, PAGE_LEN)

    def _word(self) -> Pointer[Int64, MutUntrackedOrigin]:
        return Pointer[Int64, MutUntrackedOrigin](
            unsafe_from_address=self._address
        )

    @always_inline
    def load(self) -> Int:
        """Reads the number, from any thread: what this process has stored last;
        0 if it has stored nothing, or the system cannot tell processes apart.
        """
        return Int(Atomic[Int64].load[ordering=Ordering.RELAXED](self._word()))

    def store(self, value: Int):
        """Remembers a number, from any thread."""
        if self._is_kept:
            Atomic[Int64].store[ordering=Ordering.RELAXED](
                self._word(), Int64(value)
            )

    def add(self, amount: Int) -> Int:
        """Adds to the number, from any thread, and gives what it was before. Where
        the system cannot forget, a fork's child goes on from what its parent had;
        of such a word only this is asked."""
        return Int(
            Atomic[Int64].fetch_add[ordering=Ordering.RELAXED](
                self._word(), Int64(amount)
            )
        )

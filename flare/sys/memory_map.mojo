"""Memory straight from the kernel."""

from flare.sys.errno import OsError, last_errno
from flare.sys.platform import by_platform
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
        """Maps memory.

        Args:
            length: At least this many bytes before the forbidden page.

        Raises:
            OsError: If the kernel refuses.
        """
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
        """Unmaps the memory."""
        unmap_memory(self._address, self._length + PAGE_LEN)

    def last(ref self, length: Int) -> Span[UInt8, origin_of(self)]:
        """Lends the bytes right before the forbidden page.

        Args:
            length: How many; at most what was asked for.

        Returns:
            Writable bytes.
        """
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
    """Maps zeroed memory that can be read and written.

    Args:
        length: How many bytes.
        flags: `MAP_` constants.

    Returns:
        Its address; the caller unmaps it.

    Raises:
        OsError: If the kernel refuses.
    """
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
    """Gives mapped memory back.

    Args:
        address: What `map_memory` answered.
        length: What it was asked for.
    """
    _ = external_call["munmap", Int32](address, length)

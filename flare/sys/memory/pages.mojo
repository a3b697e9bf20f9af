"""What the kernel is told about pages of memory."""

from std.ffi import external_call
from std.sys import CompilationTarget

comptime _PAGE_LEN = 16_384
# A multiple of every page size in use.

comptime _MADV_NO_LONGER_NEEDED = Int32(
    5 if CompilationTarget.is_macos() else 4
)
# MADV_DONTNEED of Linux, which takes the pages at once; MADV_FREE of macOS.


def advise_memory(address: Int, length: Int, advice: Int32) -> Int32:
    """Tells the kernel what is planned with memory from a page on (madvise(2)),
    by a `MADV_` constant. Returns 0, or -1 if it does not know the advice."""
    return external_call["madvise", Int32](address, length, advice)


@no_inline
def release_pages(address: Int, length: Int):
    """Gives the pages of memory that is about to be freed back to the system.

    The allocator keeps what is freed for the process, resident, for as long as
    it likes. Afterwards the whole pages hold zeroes or what they held.
    """
    var first = (address + _PAGE_LEN - 1) // _PAGE_LEN * _PAGE_LEN
    var end = (address + length) // _PAGE_LEN * _PAGE_LEN
    if end > first:
        _ = advise_memory(first, end - first, _MADV_NO_LONGER_NEEDED)

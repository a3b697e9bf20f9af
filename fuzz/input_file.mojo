"""The current input: in a file that outlives a crash, before a forbidden page.

The file is mapped shared, so that what was written is in the file whatever
kills the process. Its last bytes are the input, its first eight the input's
length. Behind the mapping lies a page that may not be read: a target that
looks one byte too far crashes.
"""

from flare.sys.memory_map import PAGE_LEN
from flare.sys.platform import by_platform
from fuzz.mutator import INPUT_LEN_MAX
from std.ffi import external_call
from std.memory import unsafe_memcpy

comptime FILE_LEN = (INPUT_LEN_MAX // PAGE_LEN + 4) * PAGE_LEN
"""Length of the file, which also tells it from an ordinary input file."""

comptime LENGTH_LEN = 8
"""Bytes that hold the input's length at the file's start."""

comptime _PROT_NONE = 0
comptime PROT_READ_WRITE = 3
comptime _MAP_PRIVATE_ANONYMOUS = by_platform(0x22, 0x1002)
comptime _MAP_SHARED_FIXED = 0x11


def map_memory(
    address: Int, length: Int, protection: Int, flags: Int, file: Int
) raises -> Int:
    var mapped = external_call["mmap", Int](
        address,
        length,
        Int32(protection),
        Int32(flags),
        Int32(file),
        Int(0),
    )
    if mapped == -1:
        raise Error("mmap failed")
    return mapped


struct InputFile(Movable):
    """Holds one input at a time."""

    # SAFETY: the mapping is made once and lives as long as the process.
    var _base: Pointer[UInt8, MutUntrackedOrigin]

    def __init__(out self, path: String) raises:
        """Makes the file.

        Args:
            path: Where; replaced if it exists.

        Raises:
            Error: If the file cannot be made or mapped.
        """
        with open(path, "w") as file:
            file.write_bytes(List[UInt8](length=FILE_LEN, fill=0))
        var file = open(path, "rw")
        var address = map_memory(
            0, FILE_LEN + PAGE_LEN, _PROT_NONE, _MAP_PRIVATE_ANONYMOUS, -1
        )
        _ = map_memory(
            address,
            FILE_LEN,
            PROT_READ_WRITE,
            _MAP_SHARED_FIXED,
            file._get_raw_fd(),
        )
        file.close()
        self._base = Pointer[UInt8, MutUntrackedOrigin](
            unsafe_from_address=address
        )

    def store(mut self, octets: Span[UInt8, _]):
        """Replaces the input.

        Args:
            octets: At most `FILE_LEN - LENGTH_LEN` bytes; the rest is cut off.
        """
        # SAFETY: the mapping holds FILE_LEN bytes.
        var count = min(len(octets), FILE_LEN - LENGTH_LEN)
        self._base.unsafe_bitcast[Int]()[] = count
        unsafe_memcpy(
            dest=self._base.unsafe_offset(FILE_LEN - count),
            src=octets.unsafe_ptr(),
            count=count,
        )

    def span(self) -> Span[UInt8, ImmOrigin(origin_of(self))]:
        """Lends the input, right before the forbidden page.

        Returns:
            Its bytes.
        """
        # SAFETY: `store` put `count` bytes at the mapping's end.
        var count = self._base.unsafe_bitcast[Int]()[]
        return {
            unsafe_ptr = self._base.unsafe_offset(FILE_LEN - count)
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[ImmOrigin(origin_of(self))](),
            length = count,
        }


def read_input(path: String) raises -> List[UInt8]:
    """Reads an input for a replay.

    Args:
        path: An ordinary file, or one that an `InputFile` left behind.

    Returns:
        The input.

    Raises:
        Error: If the file cannot be read.
    """
    var octets: List[UInt8]
    with open(path, "r") as file:
        octets = file.read_bytes()
    if len(octets) != FILE_LEN:
        return octets^
    var count = 0
    for index in range(LENGTH_LEN - 1, -1, -1):
        count = count << 8 | Int(octets[index])
    if count < 0 or count > FILE_LEN - LENGTH_LEN:
        return octets^
    return List[UInt8](Span(octets)[FILE_LEN - count :])

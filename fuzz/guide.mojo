"""What leads the engine to inputs that reach something new.

`tools/cover_traps.c` is loaded into the program, has a trap on each branch, and
counts those that were hit: a trap is gone after that, so that only what is new
costs anything. The compiler takes no part in it.
"""

from fuzz.input_file import PROT_READ_WRITE, map_memory
from std.memory import OptionalPointer, Pointer
from std.os.path import getsize

comptime _MAP_SHARED = 1


struct Guide(Movable):
    """Tells whether inputs have reached something new."""

    var count: Int
    """How many branches were reached so far."""
    # SAFETY: the mapping is made once and lives as long as the process.
    var _at: OptionalPointer[UInt64, MutUntrackedOrigin]

    def __init__(out self, path: String) raises:
        """Begins to look.

        Args:
            path: The file whose last eight octets count; empty for none.

        Raises:
            Error: If the file is not there, or cannot be mapped.
        """
        self.count = 0
        self._at = None
        if path == "":
            return
        var length = getsize(path)
        var file = open(path, "rw")
        var address = map_memory(
            0, length, PROT_READ_WRITE, _MAP_SHARED, file._get_raw_fd()
        )
        file.close()
        self._at = Pointer[UInt64, MutUntrackedOrigin](
            unsafe_from_address=address + length - 8
        )

    def is_there(self) -> Bool:
        """Tells whether anybody counts.

        Returns:
            True if so.
        """
        return Bool(self._at)

    @no_inline
    def has_news(mut self) -> Bool:
        """Looks at the count.

        Returns:
            True if more was reached than when this was asked last.
        """
        if not self._at:
            return False
        var before = self.count
        self.count = Int(self._at.value()[])
        return self.count > before

"""A word that a process does not hand on to its children."""

from flare.sys.errno import OsError
from flare.sys.memory.pages import advise_memory
from flare.sys.memory_map import (
    MAP_PRIVATE_ANONYMOUS,
    PAGE_LEN,
    map_memory,
    unmap_memory,
)
from flare.sys.platform import IS_MACOS
from std.atomic import Atomic, Ordering

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
        """Remembers nothing.

        Raises:
            OsError: If the kernel has no memory.
        """
        self._address = map_memory(PAGE_LEN, MAP_PRIVATE_ANONYMOUS)
        self._is_kept = False
        comptime if not IS_MACOS:
            self._is_kept = (
                advise_memory(self._address, PAGE_LEN, Int32(_MADV_WIPEONFORK))
                == 0
            )

    def __deinit__(deinit self):
        """Unmaps the memory."""
        unmap_memory(self._address, PAGE_LEN)

    def _word(self) -> Pointer[Int64, MutUntrackedOrigin]:
        return Pointer[Int64, MutUntrackedOrigin](
            unsafe_from_address=self._address
        )

    @always_inline
    def load(self) -> Int:
        """Reads the number, from any thread.

        Returns:
            What this process has stored last; 0 if it has stored nothing, or
            the system cannot tell processes apart.
        """
        return Int(Atomic[Int64].load[ordering=Ordering.RELAXED](self._word()))

    def store(self, value: Int):
        """Remembers a number, from any thread.

        Args:
            value: The number.
        """
        if self._is_kept:
            Atomic[Int64].store[ordering=Ordering.RELAXED](
                self._word(), Int64(value)
            )

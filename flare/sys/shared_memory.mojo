"""Counters in memory that threads and forked processes share."""

from flare.sys.errno import OsError
from flare.sys.memory_map import map_memory, unmap_memory
from flare.sys.platform import by_platform
from std.atomic import Atomic, Ordering

comptime _MAP_SHARED_ANONYMOUS = by_platform(0x21, 0x1001)
comptime _WORD_LEN = 8


struct SharedCounters(Movable):
    """Zeroed 64-bit counters; children of a fork see the same ones.

    Reads and writes are atomic and relaxed: a reader sees each counter whole,
    and soon, but not two of them at one moment.
    """

    var _address: Int
    var _count: Int

    def __init__(out self, count: Int) raises OsError:
        """Maps memory; pages that nobody touches cost nothing.

        Args:
            count: How many counters.

        Raises:
            OsError: If the kernel refuses.
        """
        self._count = count
        self._address = map_memory(count * _WORD_LEN, _MAP_SHARED_ANONYMOUS)

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
        """Reads a counter.

        Args:
            index: At least 0 and less than the count.

        Returns:
            Its value.
        """
        return Int(
            Atomic[Int64].load[ordering=Ordering.RELAXED](self._word(index))
        )

    def store(self, index: Int, value: Int):
        """Writes a counter.

        Args:
            index: At least 0 and less than the count.
            value: Its new value.
        """
        Atomic[Int64].store[ordering=Ordering.RELAXED](
            self._word(index), Int64(value)
        )

    def add(self, index: Int, amount: Int):
        """Adds to a counter that others may add to.

        Args:
            index: At least 0 and less than the count.
            amount: What to add.
        """
        _ = Atomic[Int64].fetch_add[ordering=Ordering.RELAXED](
            self._word(index), Int64(amount)
        )

    def replace(self, index: Int, expected: Int, value: Int) -> Bool:
        """Writes a counter, if nobody else has written it meanwhile.

        Args:
            index: At least 0 and less than the count.
            expected: What it is taken to hold.
            value: Its new value.

        Returns:
            False if it held something else, and stays as it is.
        """
        var held = Int64(expected)
        return Atomic[Int64].compare_exchange(
            self._word(index), held, Int64(value)
        )

    def take(self, index: Int) -> Int:
        """Gives a number that nobody else gets, and counts it.

        Args:
            index: At least 0 and less than the count.

        Returns:
            The counter's value before it grew by 1.
        """
        return Int(
            Atomic[Int64].fetch_add[ordering=Ordering.RELAXED](
                self._word(index), 1
            )
        )

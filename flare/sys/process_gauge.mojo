"""A sum over all processes of a server that are alive."""

from flare.bytes.checked import *
from flare.sys.errno import OsError
from flare.sys.memory_map import ProcessWord, SharedCounters
from flare.sys.process import current_cpu
from flare.sys.signal import process_exists, process_id

comptime _PROCESS_COUNT = 1_024
# Of rows: twice the most workers, and those of an upgrade beside them.

comptime _LINE_LEN = 8
# Counters of one cache line.
comptime _FREED = -1
# Stands in place of a process that has ended.


struct ProcessGauge[shard_count: Int](Movable):
    """What processes have at the moment, such as requests in handlers, by
    process and CPU, in memory that all share.

    A process that is killed has no time to count down. So each has a row, found
    by its number, and rows of processes that are no more are not read.

    Parameters:
        shard_count: Of CPUs that do not share a counter; more of them share
            one, which costs time alone.
    """

    comptime _ROW_LEN = Self.shard_count * _LINE_LEN

    # First the owner of each row, a process number, then the rows.
    var _counters: SharedCounters
    # This process's own row, and 1.
    var _own: ProcessWord

    def __init__(out self) raises OsError:
        self._counters = SharedCounters(_PROCESS_COUNT * (1 + Self._ROW_LEN))
        self._own = ProcessWord()

    def add(self, amount: Int) -> Int:
        """Adds to what this process has, and tells where, for `add_at`."""
        var place = Self._row(self._own_row())
        place += (current_cpu() % Self.shard_count) * _LINE_LEN
        self._counters.add(place, amount)
        return place

    def add_at(self, place: Int, amount: Int):
        """Adds where `add` has added before, in the same process."""
        self._counters.add(place, amount)

    def total(self) -> Int:
        """Sums over all processes that live."""
        var sum = 0
        for row in range(_PROCESS_COUNT):
            var owner = self._counters.load(row)
            if owner > 0 and process_exists(owner):
                sum += self._sum(row)
        return sum

    def _sum(self, row: Int) -> Int:
        var sum = 0
        for shard in range(Self.shard_count):
            sum += self._counters.load(Self._row(row) + shard * _LINE_LEN)
        return sum

    @always_inline
    def _own_row(self) -> Int:
        var known = self._own.load()
        if known > 0:
            return known - 1
        var row = self._find(process_id())
        self._own.store(row + 1)
        return row

    def _find(self, owner: Int) -> Int:
        """Gives the row of a process; its own number leads there at once,
        unless another process took that row before."""
        for step in range(_PROCESS_COUNT):
            var row = (owner + step) % _PROCESS_COUNT
            var found = self._counters.load(row)
            if found == owner:
                return row
            if found == 0:
                break
        return self._claim(owner)

    @no_inline
    def _claim(self, owner: Int) -> Int:
        """Takes a row for a process that has none."""
        self._free_dead()
        for step in range(_PROCESS_COUNT):
            var row = (owner + step) % _PROCESS_COUNT
            var found = self._counters.load(row)
            if found <= 0 and self._counters.replace(row, found, owner):
                return row
            # Another thread of this process was quicker.
            if self._counters.load(row) == owner:
                return row
        # More processes than rows: this one shares that of another.
        return owner % _PROCESS_COUNT

    def _free_dead(self):
        """Empties the rows of processes that are no more, before their numbers
        are given to others."""
        for row in range(_PROCESS_COUNT):
            var owner = self._counters.load(row)
            if owner <= 0 or process_exists(owner):
                continue
            var left = Array[Int, Self.shard_count](fill=0)
            for shard in range(Self.shard_count):
                left.at(shard) = self._counters.load(
                    Self._row(row) + shard * _LINE_LEN
                )
            # One of several processes that see the same does it.
            if not self._counters.replace(row, owner, _FREED):
                continue
            for shard in range(Self.shard_count):
                self._counters.add(
                    Self._row(row) + shard * _LINE_LEN, -left.at(shard)
                )

    @staticmethod
    @always_inline
    def _row(index: Int) -> Int:
        return _PROCESS_COUNT + index * Self._ROW_LEN

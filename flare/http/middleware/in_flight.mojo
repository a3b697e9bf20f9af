"""How many requests are in the hands of handlers."""

from flare.sys.affinity import current_cpu
from flare.sys.errno import OsError
from flare.sys.memory_map import ProcessWord, SharedCounters
from flare.sys.signal import process_exists, process_id

comptime _PROCESS_COUNT = 1_024
# Of rows: twice the most workers, and those of an upgrade beside them.
comptime _SHARD_COUNT = 16
# Of CPUs that share a counter.
comptime _LINE_LEN = 8
# Counters of one cache line.
comptime _ROW_LEN = _SHARD_COUNT * _LINE_LEN
comptime _FREED = -1
# Stands in place of a process that has ended.


struct InFlight(Movable):
    """Requests in handlers, by process and CPU, in memory that all share.

    A process that is killed has no time to count its requests out. So each
    has a row, found by its number, and rows of processes that are no more are
    not read.
    """

    # First the owner of each row, a process number, then the rows.
    var _counters: SharedCounters
    # This process's own row, and 1.
    var _own: ProcessWord

    def __init__(out self) raises OsError:
        """Counts from nothing.

        Raises:
            OsError: If the kernel has no memory.
        """
        self._counters = SharedCounters(_PROCESS_COUNT * (1 + _ROW_LEN))
        self._own = ProcessWord()

    def begin(self) -> Int:
        """Counts a request in.

        Returns:
            Where it was counted, for `end`.
        """
        var place = _row(self._own_row())
        place += (current_cpu() % _SHARD_COUNT) * _LINE_LEN
        self._counters.add(place, 1)
        return place

    def end(self, place: Int):
        """Counts a request out, in the process where it was counted in.

        Args:
            place: What `begin` told.
        """
        self._counters.add(place, -1)

    def total(self) -> Int:
        """Sums over all processes that live.

        Returns:
            How many requests are in handlers.
        """
        var sum = 0
        for row in range(_PROCESS_COUNT):
            var owner = self._counters.load(row)
            if owner > 0 and process_exists(owner):
                sum += self._sum(row)
        return sum

    def _sum(self, row: Int) -> Int:
        var sum = 0
        for shard in range(_SHARD_COUNT):
            sum += self._counters.load(_row(row) + shard * _LINE_LEN)
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
            var left = Array[Int, _SHARD_COUNT](fill=0)
            for shard in range(_SHARD_COUNT):
                left[shard] = self._counters.load(_row(row) + shard * _LINE_LEN)
            # One of several processes that see the same does it.
            if not self._counters.replace(row, owner, _FREED):
                continue
            for shard in range(_SHARD_COUNT):
                self._counters.add(_row(row) + shard * _LINE_LEN, -left[shard])


@always_inline
def _row(index: Int) -> Int:
    return _PROCESS_COUNT + index * _ROW_LEN

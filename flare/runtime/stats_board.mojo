"""Figures of workers, kept where every thread and process can read them."""

from flare.runtime.worker_count import WORKER_COUNT_MAX
from flare.sys.errno import OsError
from flare.sys.memory_map import SharedCounters

comptime _ROW_LEN = 16
# Counters of one worker: two cache lines, for processors fetch them in pairs.

comptime BANK_LEN = WORKER_COUNT_MAX
"""How far a worker's second row is from its first. A process that replaces
another one of the same worker writes the other row."""

comptime STAT_REQUESTS = 0
comptime STAT_CONNECTIONS = 1
comptime STAT_OPEN = 2
comptime STAT_RESTARTS = 3
"""How often the worker was replaced after a crash."""
comptime STAT_PROCESS = 4
"""The worker's process id; 0 if it runs in this process or not at all."""
comptime STAT_BASE_REQUESTS = 5
"""Requests that former processes of this worker answered."""
comptime STAT_BASE_CONNECTIONS = 6
"""Connections that former processes of this worker accepted."""


@fieldwise_init
struct WorkerStats(ImplicitlyCopyable, Writable):
    """Figures of one worker, or the sum over several."""

    var requests: Int
    """Requests answered."""
    var connections: Int
    """Connections accepted."""
    var open_connections: Int
    """Connections open now."""
    var restarts: Int
    """How often a crashed worker was replaced."""
    var process_id: Int
    """The worker's process; 0 for threads, sums and workers that are gone."""

    def write_to(self, mut writer: Some[Writer]):
        """Writes the figures in one line."""
        writer.write(self.requests, " requests, ")
        writer.write(self.connections, " connections (")
        writer.write(self.open_connections, " open), ")
        writer.write(self.restarts, " restarts")


struct SharedStats(Movable):
    """Two rows of counters for each worker, each on cache lines of its own.

    A worker writes its own row; anybody may read all rows. Rows outlive
    worker processes.
    """

    var _counters: SharedCounters

    def __init__(out self) raises OsError:
        """Makes a board for `WORKER_COUNT_MAX` workers, all zero.

        Raises:
            OsError: If the kernel has no memory.
        """
        self._counters = SharedCounters(2 * BANK_LEN * _ROW_LEN)

    @always_inline
    def set(self, row: Int, stat: Int, value: Int):
        """Writes a figure.

        Args:
            row: A worker, or that and `BANK_LEN`.
            stat: A `STAT_` constant.
            value: The figure.
        """
        self._counters.store(row * _ROW_LEN + stat, value)

    def get(self, row: Int, stat: Int) -> Int:
        """Reads a figure."""
        return self._counters.load(row * _ROW_LEN + stat)

    def add(self, row: Int, stat: Int, amount: Int):
        """Adds to a figure.

        Args:
            amount: What to add.
        """
        self._counters.add(row * _ROW_LEN + stat, amount)

    def carry_over(self, row: Int):
        """Keeps a row's sums for the next process, which counts from zero.

        Args:
            row: Whose process has ended.
        """
        var requests = self.get(row, STAT_REQUESTS)
        var connections = self.get(row, STAT_CONNECTIONS)
        self.set(row, STAT_REQUESTS, 0)
        self.set(row, STAT_CONNECTIONS, 0)
        self.set(row, STAT_OPEN, 0)
        self.set(row, STAT_PROCESS, 0)
        self.add(row, STAT_BASE_REQUESTS, requests)
        self.add(row, STAT_BASE_CONNECTIONS, connections)

    def worker(self, worker: Int) -> WorkerStats:
        """Reads the figures of one worker, with those of its former processes.

        Args:
            worker: Less than `WORKER_COUNT_MAX`.
        """
        var first = self._row(worker)
        var second = self._row(worker + BANK_LEN)
        first.requests += second.requests
        first.connections += second.connections
        first.open_connections += second.open_connections
        first.restarts += second.restarts
        first.process_id = max(first.process_id, second.process_id)
        return first

    def _row(self, row: Int) -> WorkerStats:
        return WorkerStats(
            requests=self.get(row, STAT_REQUESTS)
            + self.get(row, STAT_BASE_REQUESTS),
            connections=self.get(row, STAT_CONNECTIONS)
            + self.get(row, STAT_BASE_CONNECTIONS),
            open_connections=self.get(row, STAT_OPEN),
            restarts=self.get(row, STAT_RESTARTS),
            process_id=self.get(row, STAT_PROCESS),
        )

    def total(self) -> WorkerStats:
        """Counts over all workers."""
        var sum = WorkerStats(0, 0, 0, 0, 0)
        for index in range(WORKER_COUNT_MAX):
            var row = self.worker(index)
            sum.requests += row.requests
            sum.connections += row.connections
            sum.open_connections += row.open_connections
            sum.restarts += row.restarts
        return sum

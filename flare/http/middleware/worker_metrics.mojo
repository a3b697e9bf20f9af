"""Figures of all worker processes of a server, whichever of them is asked."""

from flare.backplane.worker_control import OrderReceiver, WorkerControl
from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.text import Text
from flare.bytes.utf8 import lossy_text
from flare.http.handler.metric_source import MetricSource
from flare.http.middleware.metric_sums import MetricSums
from flare.runtime.worker_count import WORKER_COUNT_MAX
from flare.sys.errno import OsError
from flare.sys.log import log_line
from flare.sys.mutex import Mutex
from flare.sys.shared_memory import LOCK_ROOM_LEN, LockResult, SharedMemory
from flare.sys.signal import process_exists, process_id
from std.memory import ArcPointer

comptime TEXT_LEN_MAX = 128 << 10
"""Longest text of one process, in bytes."""

comptime _ROW_COUNT = WORKER_COUNT_MAX + 65
# The first one is for processes that have ended; while workers replace others,
# both are there.
comptime _LOCK_TIMEOUT_MS = 1_000

# A row: whose it is, which of two texts is valid and how long it is, the texts.
comptime _OWNER = 0
comptime _VALID = 8
comptime _TEXTS = 16
comptime _ROW_LEN = _TEXTS + 2 * TEXT_LEN_MAX
comptime _ROWS = LOCK_ROOM_LEN
# Stands in place of a process that has ended.
comptime _ENDED = -1


struct WorkerMetrics[M: MetricSource](Copyable, MetricSource):
    """The figures of all worker processes, for a `MetricsEndpoint`.

        var control = WorkerControl()
        var store = CacheStore()
        var figures = WorkerMetrics(control, CacheMetrics(store))
        router.get("/metrics", MetricsEndpoint(figures^))
        server.serve_prefork(router^, PreforkConfig(workers=4), control)

    It is for what each process has figures of its own of, such as
    `UpstreamMetrics` and `CacheMetrics`; `Metrics` and `StatsHandle` are for all
    without it. Each worker tells its own about once a second, by the control's
    thread, so a request costs no more, and whoever is asked waits for nobody: its
    own figures are those of the moment. Counters and histograms are added up, also
    those of workers that have ended, so a restart makes none of them fall; what a
    worker counted in its last second before it was killed is missing. Gauges are
    added up over the workers that live: of one that is 0 or 1 it is how many have
    1. Where threads serve, it is what the one process has.

    Make it before the workers are forked. The text of one process may have 128
    KiB.

    Parameters:
        M: The type of what has figures.
    """

    var _board: ArcPointer[_Board[Self.M]]

    def __init__(
        out self,
        control: WorkerControl,
        var source: Self.M,
        *,
        name: StringSpan = "metrics",
    ) raises:
        """Makes it, and has all workers tell.

        Args:
            control: Of the server, as its hooks.
            source: Has the figures of a process.
            name: Distinct for each of the program.

        Raises:
            Error: If another one has the name, or the kernel has no memory or
                no more locks.
        """
        self._board = ArcPointer(_Board(source^))
        control.add(
            String("figures of workers ", name),
            _Telling[Self.M](self._board.copy()),
        )

    def write_metrics(self, mut text: String):
        """Writes the sums."""
        self._board[].tell()
        self._board[].collect(text)


@fieldwise_init
struct _Telling[M: MetricSource](OrderReceiver):
    """Tells the figures of its process."""

    var board: ArcPointer[_Board[Self.M]]

    def carry_out(mut self, order: String) raises -> String:
        self.board[].tell()
        return String()

    def each_second(mut self):
        self.board[].tell()


struct _Own[M: MetricSource](Movable):
    """What one process has, and one of its threads at a time uses."""

    var source: Self.M
    # Of this process; a fork's child has its parent's.
    var process: Int
    var row: Int
    # So that a line is logged once.
    var is_silent: Bool

    def __init__(out self, var source: Self.M):
        self.source = source^
        self.process = 0
        self.row = -1
        self.is_silent = False


struct _Board[M: MetricSource](Movable):
    """The texts of all processes."""

    var memory: SharedMemory
    var own: Mutex[_Own[Self.M]]

    def __init__(out self, var source: Self.M) raises OsError:
        self.memory = SharedMemory(_ROWS + _ROW_COUNT * _ROW_LEN)
        self.memory.make_lock(0)
        self.own = Mutex(_Own(source^))

    def tell(self):
        """Writes down what this process has."""
        var own = self.own.lock()
        var text = String(capacity_bytes=4_096)
        own[].source.write_metrics(text)
        if not self._lock():
            # Whoever holds it does not go on; there is another second.
            return
        if own[].process != process_id() or own[].row <= 0:
            own[].process = process_id()
            own[].row = self._claim(own[].process)
        var is_told = own[].row > 0 and self._write(own[].row, text)
        self.memory.unlock(0)
        if not is_told and not own[].is_silent:
            own[].is_silent = True
            log_line(
                Text()
                .add("the figures of a worker are missing among those of all: ")
                .add(text.byte_length())
                .add(" bytes, or too many workers")
                .end()
            )
        deinit(own^)

    def collect(self, mut out: String):
        """Adds up what all have told."""
        if not self._lock():
            return
        var ended = MetricSums()
        var living = MetricSums()
        ended.add(self._read(0))
        var gone = List[Int]()
        for row in range(1, _ROW_COUNT):
            var owner = self.memory.load(_place(row) + _OWNER)
            if owner == 0:
                continue
            if owner > 0 and process_exists(owner):
                living.add(self._read(row))
            else:
                ended.add(self._read(row), has_ended=True)
                gone.append(row)
        if len(gone) > 0:
            self._keep(ended, living)
            # Not before: what is read twice is better than what is lost.
            for row in gone:
                self.memory.store(_place(row) + _VALID, 0)
                self.memory.store(_place(row) + _OWNER, 0)
        self.memory.unlock(0)
        var text = String()
        ended.write_to(text)
        living.add(text)
        living.write_to(out)

    def _keep(self, mut ended: MetricSums, living: MetricSums):
        """Keeps what processes have counted that are no more."""
        var text = String()
        ended.write_to(text)
        if self._write(0, text):
            return
        # Too many names that nobody has any more.
        ended.keep(living)
        text = String()
        ended.write_to(text)
        _ = self._write(0, text)

    def _lock(self) -> Bool:
        return self.memory.lock(0, _LOCK_TIMEOUT_MS) != LockResult.BUSY

    def _claim(self, process: Int) -> Int:
        """Takes a row for a process that has none; 0 if there is none."""
        var found = 0
        for row in range(1, _ROW_COUNT):
            var place = _place(row) + _OWNER
            var owner = self.memory.load(place)
            if owner == process:
                # Of another one, which has ended and had the same number.
                self.memory.store(place, _ENDED)
            elif owner == 0 and found == 0:
                found = row
        if found > 0:
            self.memory.store(_place(found) + _VALID, 0)
            self.memory.store(_place(found) + _OWNER, process)
        return found

    def _write(self, row: Int, text: String) -> Bool:
        """Writes a text beside the valid one, and makes it the valid one."""
        var length = text.byte_length()
        if length > TEXT_LEN_MAX:
            return False
        var place = _place(row)
        var other = 1 - (self.memory.load(place + _VALID) & 1)
        self.memory.write(
            place + _TEXTS + other * TEXT_LEN_MAX, text.as_bytes()
        )
        self.memory.store(place + _VALID, 2 * length + other)
        return True

    def _read(self, row: Int) -> String:
        var place = _place(row)
        var valid = self.memory.load(place + _VALID)
        var octets = Buffer()
        self.memory.read(
            place + _TEXTS + (valid & 1) * TEXT_LEN_MAX,
            min(max(valid >> 1, 0), TEXT_LEN_MAX),
            octets,
        )
        return lossy_text(octets.span())


def _place(row: Int) -> Int:
    return _ROWS + row * _ROW_LEN

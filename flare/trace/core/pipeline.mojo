"""From spans that are over to an exporter: a bounded queue and its thread.

Whoever ends a span puts it into the queue and goes on; one thread of the
process takes batches out and exports them. It is started by the first span, so
each worker process has its own.
"""

from flare.bytes.checked import *
from flare.bytes.erased import ErasedBox
from flare.bytes.text import Text
from flare.sys.backoff import Backoff
from flare.sys.clock import Deadline, monotonic_ms
from flare.sys.errno import OsError
from flare.sys.log import log_line
from flare.sys.memory_map import ProcessWord
from flare.sys.mutex import Condvar, Mutex
from flare.sys.random import random_word
from flare.sys.signal import process_id
from flare.sys.thread import Task, Thread
from flare.trace.core.ids import IdSource
from flare.trace.core.span_data import SpanData
from std.memory import ArcPointer

comptime TELL_INTERVAL_MS = 60_000
"""Least time between two lines of the log about dropped spans."""

comptime _DOUBLING_COUNT_MAX = 4
# Of pauses between attempts of an export.


struct BatchConfig(ImplicitlyCopyable):
    """How spans wait for their export.

    The numbers are those of OpenTelemetry's batch processor, where it has some.
    """

    var queue_max: Int
    """Most spans that wait or are being exported; what comes beyond is dropped
    and counted. Default 2,048."""
    var batch_max: Int
    """Most spans in one export, which begins as soon as there are so many.
    Default 512."""
    var interval_ms: Int
    """How long the first span waits for others. Default 5 s."""
    var retry_ms: Int
    """How long a batch is tried, its first attempt included. Default 60 s."""
    var backoff_ms: Int
    """Pause before the second attempt; it doubles up to 16 times as much, and
    is varied. A collector that names a longer time is obeyed. Default 1 s."""
    var flush_ms: Int
    """How long a server waits at its end for what is left to be exported, on
    top of `ServerConfig.shutdown_timeout_ms`. Keep `PreforkConfig.grace_ms`,
    and the time that a service manager gives the program, above both. Default 5
    s."""

    def __init__(
        out self,
        *,
        queue_max: Int = 2_048,
        batch_max: Int = 512,
        interval_ms: Int = 5_000,
        retry_ms: Int = 60_000,
        backoff_ms: Int = 1_000,
        flush_ms: Int = 5_000,
    ):
        """Makes a configuration."""
        self.queue_max = queue_max
        self.batch_max = batch_max
        self.interval_ms = interval_ms
        self.retry_ms = retry_ms
        self.backoff_ms = backoff_ms
        self.flush_ms = flush_ms

    def check(self) raises:
        """Refuses what cannot work.

        Raises:
            Error: Which number, and what is allowed.
        """
        if self.batch_max < 1 or self.queue_max < self.batch_max:
            raise Error(
                "BatchConfig: batch_max is ",
                self.batch_max,
                " and queue_max ",
                self.queue_max,
                "; allowed are 1 or more, and not less than batch_max",
            )
        if min(self.interval_ms, min(self.retry_ms, self.flush_ms)) < 0 or (
            self.backoff_ms < 1
        ):
            raise Error(
                "BatchConfig: interval_ms, retry_ms and flush_ms are 0 or more,"
                " backoff_ms is 1 or more"
            )


struct ExportResult(Movable):
    """What became of a batch."""

    var is_done: Bool
    """True if it must not be sent again."""
    var retry_after_ms: Int
    """How long to wait before it is."""
    var lost_count: Int
    """How many of its spans were lost, if it is done."""
    var reason: String
    """Why; empty if all went well."""

    def __init__(
        out self,
        *,
        is_done: Bool,
        retry_after_ms: Int = 0,
        lost_count: Int = 0,
        var reason: String = String(),
    ):
        """Makes a result."""
        self.is_done = is_done
        self.retry_after_ms = retry_after_ms
        self.lost_count = lost_count
        self.reason = reason^


trait SpanExporter(Deinitable, Movable):
    """Sends spans somewhere, on the thread of a pipeline."""

    def export(
        mut self, spans: List[SpanData], timeout_ms: Int
    ) -> ExportResult:
        """Makes one attempt, and gives what became of it.

        Args:
            spans: A batch, at least one.
            timeout_ms: How long the attempt may take, at least 1.
        """
        ...


struct _Queue(Movable):
    var spans: List[SpanData]
    var in_flight_count: Int
    # Of those who wait for everything to be exported; the last one's time.
    var flush: Deadline
    var flusher_count: Int
    var is_closed: Bool
    # Which process the thread runs in.
    var process: Int
    var exported_count: Int
    var dropped_count: Int
    var told_count: Int
    var told_ms: Int
    var reason: String

    def __init__(out self):
        self.spans = []
        self.in_flight_count = 0
        self.flush = Deadline(0)
        self.flusher_count = 0
        self.is_closed = False
        self.process = 0
        self.exported_count = 0
        self.dropped_count = 0
        self.told_count = 0
        self.told_ms = -TELL_INTERVAL_MS
        self.reason = String()

    def is_flushing(self) -> Bool:
        return self.flusher_count > 0

    def is_idle(self) -> Bool:
        return len(self.spans) + self.in_flight_count == 0

    def drop(mut self, count: Int, var reason: String):
        self.dropped_count += count
        self.reason = reason^

    def tell(mut self, *, at_once: Bool = False):
        """Logs what was dropped, now and then."""
        var count = self.dropped_count - self.told_count
        var now_ms = monotonic_ms()
        if count == 0 or (
            not at_once and now_ms - self.told_ms < TELL_INTERVAL_MS
        ):
            return
        self.told_count = self.dropped_count
        self.told_ms = now_ms
        log_line(
            Text()
            .add("trace: spans dropped: ")
            .add(count)
            .add(", the last because ")
            .add(self.reason)
            .end()
        )


struct _Shared(Movable):
    """What the thread and those who end spans have in common."""

    var config: BatchConfig
    var queue: Mutex[_Queue]
    # Rung for the thread, and for those who wait in `flush`.
    var changed: Condvar
    var emptied: Condvar
    # Only the thread uses it.
    var exporter: ErasedBox

    def __init__[
        E: SpanExporter
    ](out self, var exporter: E, config: BatchConfig) raises OsError:
        self.queue = Mutex(_Queue())
        self.changed = Condvar()
        self.emptied = Condvar()
        self.config = config
        self.exporter = ErasedBox(exporter^)

    def take_batch(self) -> List[SpanData]:
        """Waits for spans; none once nobody can end any more."""
        var queue = self.queue.lock()
        queue[].in_flight_count = 0
        while len(queue[].spans) == 0:
            self.emptied.notify_all()
            if queue[].is_closed:
                return []
            self.changed.wait(queue)
        var pause = Deadline(self.config.interval_ms)
        while (
            len(queue[].spans) < self.config.batch_max
            and not queue[].is_flushing()
            and not queue[].is_closed
            and pause.left_ms() > 0
        ):
            _ = self.changed.wait_for(queue, pause.left_ms())
        var batch = List[SpanData]()
        swap(batch, queue[].spans)
        while len(batch) > self.config.batch_max:
            queue[].spans.append(batch.pop())
        queue[].spans.reverse()
        queue[].in_flight_count = len(batch)
        return batch^

    def left_ms(self, deadline: Deadline) -> Int:
        """Tells how long a batch may still be tried."""
        var queue = self.queue.lock()
        if queue[].is_flushing():
            return min(deadline.left_ms(), queue[].flush.left_ms())
        if queue[].is_closed:
            return min(deadline.left_ms(), self.config.flush_ms)
        return deadline.left_ms()

    def pause(self, pause_ms: Int):
        """Waits before the next attempt; a flush that begins ends it."""
        var deadline = Deadline(pause_ms)
        var queue = self.queue.lock()
        queue[].tell()
        var was_flushing = queue[].is_flushing()
        while deadline.left_ms() > 0:
            if queue[].is_flushing() and not was_flushing:
                return
            _ = self.changed.wait_for(queue, deadline.left_ms())

    def note(self, result: ExportResult, count: Int):
        """Counts a batch that is over."""
        var queue = self.queue.lock()
        # A flush has given the batch up already.
        if queue[].in_flight_count == 0:
            return
        queue[].exported_count += count - result.lost_count
        if result.lost_count > 0:
            queue[].drop(result.lost_count, result.reason.copy())
        queue[].tell()


@fieldwise_init
struct _ExportLoop[E: SpanExporter](Task):

    var shared: ArcPointer[_Shared]

    def run(mut self) raises:
        ref shared = self.shared[]
        while True:
            var batch = shared.take_batch()
            if len(batch) == 0:
                return
            shared.note(self._deliver(batch), len(batch))

    def _deliver(self, batch: List[SpanData]) -> ExportResult:
        """Tries until the batch is taken or refused, or its time is over."""
        ref shared = self.shared[]
        # SAFETY: `SpanPipeline` made the exporter of this type, and only this
        # thread uses it.
        var exporter = shared.exporter.at.unsafe_bitcast[Self.E]()
        var deadline = Deadline(shared.config.retry_ms)
        var failure_count = 0
        var reason = String("its time was over before the first attempt")
        while True:
            var left_ms = shared.left_ms(deadline)
            if left_ms > 0:
                var result = exporter[].export(batch, left_ms)
                if result.is_done:
                    return result^
                reason = result.reason.copy()
                failure_count += 1
                var pause_ms = max(
                    result.retry_after_ms,
                    _pause_ms(shared.config.backoff_ms, failure_count),
                )
                if pause_ms < shared.left_ms(deadline):
                    shared.pause(pause_ms)
                    continue
            return ExportResult(
                is_done=True, lost_count=len(batch), reason=reason^
            )


def _pause_ms(first_ms: Int, failure_count: Int) -> Int:
    var backoff = Backoff(first_ms, first_ms << _DOUBLING_COUNT_MAX)
    return backoff.wait_ms(failure_count, random_word())


def _start[E: SpanExporter](shared: ArcPointer[_Shared]) raises:
    _ = Thread(_ExportLoop[E](shared.copy()))


struct _Owner(Movable):
    """Ends with the last who could end a span, and with it the thread."""

    var shared: ArcPointer[_Shared]
    var start: def(ArcPointer[_Shared]) raises thin -> None
    var ids: IdSource
    var is_running: ProcessWord

    def __init__[
        E: SpanExporter
    ](out self, var exporter: E, config: BatchConfig) raises:
        config.check()
        self.shared = ArcPointer(_Shared(exporter^, config))
        self.start = _start[E]
        self.ids = IdSource()
        self.is_running = ProcessWord()

    def __deinit__(deinit self):
        # What is shared outlives its lock, which it would not here.
        self._close()

    def _close(self):
        var queue = self.shared[].queue.lock()
        queue[].is_closed = True
        self.shared[].changed.notify_all()


struct SpanPipeline(ImplicitlyCopyable):
    """Where spans go that are over; copies are the same pipeline."""

    var _owner: ArcPointer[_Owner]

    def __init__[
        E: SpanExporter
    ](out self, var exporter: E, config: BatchConfig) raises:
        """Makes a pipeline, whose thread is not running yet. Raises if the
        configuration cannot work, or the system has no locks or random octets.
        """
        self._owner = ArcPointer(_Owner(exporter^, config))

    @always_inline
    def ids(self) -> Pointer[IdSource, origin_of(self._owner[].ids)]:
        """Lends what makes ids, the same for all copies."""
        return Pointer(to=self._owner[].ids)

    def submit(self, var span: SpanData):
        """Takes a span that is over, and does not wait: it is dropped and
        counted if the queue is full."""
        if self._owner[].is_running.load() == 0:
            self._begin()
        ref shared = self._owner[].shared[]
        var queue = shared.queue.lock()
        var count = len(queue[].spans)
        if count + queue[].in_flight_count >= shared.config.queue_max:
            queue[].drop(1, "the queue (BatchConfig.queue_max) was full")
            return
        queue[].spans.append(span^)
        if count == 0 or count + 1 == shared.config.batch_max:
            shared.changed.notify_one()

    @no_inline
    def _begin(self):
        """Starts the thread of this process, unless another thread just did."""
        ref shared = self._owner[].shared[]
        var queue = shared.queue.lock()
        if queue[].process == process_id():
            return
        # A fork has brought along what its parent had; the parent exports it.
        queue[].spans.clear()
        queue[].in_flight_count = 0
        try:
            self._owner[].start(self._owner[].shared)
            queue[].process = process_id()
            self._owner[].is_running.store(1)
        except error:
            log_line(
                Text().add("trace: no thread to export: ").add(error).end()
            )

    def flush(self, timeout_ms: Int) -> Bool:
        """Waits until all spans that are over are exported, or for a time; what
        is left then is dropped, and this is False."""
        ref shared = self._owner[].shared[]
        var deadline = Deadline(timeout_ms)
        var queue = shared.queue.lock()
        if queue[].process != process_id():
            return True
        queue[].flush = deadline
        queue[].flusher_count += 1
        shared.changed.notify_all()
        while not queue[].is_idle() and deadline.left_ms() > 0:
            _ = shared.emptied.wait_for(queue, deadline.left_ms())
        var is_done = queue[].is_idle()
        queue[].flusher_count -= 1
        if not is_done:
            var count = len(queue[].spans) + queue[].in_flight_count
            queue[].spans.clear()
            queue[].in_flight_count = 0
            queue[].drop(count, "the collector did not take them in time")
        queue[].tell(at_once=True)
        return is_done

    def flush_ms(self) -> Int:
        """Tells how long a server waits at its end."""
        return self._owner[].shared[].config.flush_ms

    def dropped_count(self) -> Int:
        """Counts the spans of this process that were dropped or refused."""
        return self._owner[].shared[].queue.lock()[].dropped_count

    def exported_count(self) -> Int:
        return self._owner[].shared[].queue.lock()[].exported_count

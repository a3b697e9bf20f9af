"""Threads of a worker that run handlers which may block.

    worker: submit -> queue -> thread: handler -> done -> waker -> worker: take

A request stays in its parser, which nobody else touches meanwhile: the
worker holds only its flag, to say that the answer is no longer wanted.

A handler that reads content while it arrives waits for its client, so only a
share of the threads takes requests whose content is not complete (`late` ones),
and there is always a thread for others if there are two. One whose content
becomes complete while it waits for a thread waits like any other from then on.
"""

from flare.bytes.checked import *
from flare.bytes.erased import Erased
from flare.bytes.text import Text
from flare.http.handler.any_handler import AnyHandler, SharedHandler
from flare.http.handler.failure import refusal
from flare.http.message.early_hints import EARLY_HINTS
from flare.http.message.header_map import HeaderMap
from flare.http.server.config import AUTOMATIC_THREADS, ServerConfig
from flare.http.server.connection.body_pipe import ClientPace
from flare.http.server.connection.request_call import Refusal
from flare.http.server.job import Job, SpareJobs
from flare.runtime.event import Waker
from flare.sys.clock import coarse_monotonic_ms, monotonic_ns
from flare.sys.errno import OsError
from flare.sys.log import log_line
from flare.sys.mutex import Condvar, Mutex
from flare.sys.process import restrict_thread, usable_cpus
from flare.sys.signal import process_id
from flare.sys.thread import Task, Thread
from std.atomic import Atomic
from std.memory import ArcPointer, OwnedPointer

comptime _AUTOMATIC_MAX = 256
# Most threads of an automatic pool.


comptime _WINDOW_MS = 10_000
# Threads that were not needed for one to two of them end.


comptime _LEAVE_MS = 1_000
# How long a worker that ends waits for handlers which were told that nobody
# waits for them.


struct _Jobs(Movable):
    """What worker and threads share."""

    # Each in the order of submission.
    var waiting: List[OwnedPointer[Job]]
    var late: List[OwnedPointer[Job]]
    var done: List[OwnedPointer[Job]]
    var is_closed: Bool
    var thread_count: Int
    var running_count: Int
    var late_running_count: Int
    # Most threads that take late jobs.
    var late_max: Int
    var job_count: UInt64
    # Most threads that there may be, and whether so many need not be.
    var thread_max: Int
    var is_automatic: Bool
    # Most that had a job at once, in this window of time and in the last one.
    var peak_count: Int
    var last_peak_count: Int
    var window_start_ms: Int

    def __init__(out self, thread_max: Int, is_automatic: Bool):
        self.thread_max = thread_max
        self.is_automatic = is_automatic
        self.peak_count = 0
        self.last_peak_count = 0
        self.window_start_ms = coarse_monotonic_ms()
        self.waiting = []
        self.late = []
        self.done = []
        self.is_closed = False
        self.thread_count = 0
        self.running_count = 0
        self.late_running_count = 0
        self.late_max = late_share(thread_max)
        self.job_count = 0

    def pick(mut self) -> Optional[OwnedPointer[Job]]:
        """Takes the job that has waited longest of those that may run."""
        var has_waiting = len(self.waiting) > 0
        if len(self.late) > 0 and self.late_running_count < self.late_max:
            if (
                not has_waiting
                or self.late.at(0)[].number < self.waiting.at(0)[].number
            ):
                self.late_running_count += 1
                return self.late.pop(0)
        if has_waiting:
            return self.waiting.pop(0)
        return None

    def put(mut self, var job: OwnedPointer[Job]):
        self.job_count += 1
        job[].number = self.job_count
        var busy_count = self.running_count + len(self.waiting)
        job[].had_to_wait = busy_count >= self.thread_max
        if job[].is_late:
            var late_count = self.late_running_count + len(self.late)
            job[].had_to_wait |= late_count >= self.late_max
            self.late.append(job^)
        else:
            self.waiting.append(job^)

    def missing_count(self) -> Int:
        """Tells how many more threads could begin with a job at once."""
        var late_room = self.late_max - self.late_running_count
        var ready_count = len(self.waiting) + min(len(self.late), late_room)
        var idle_count = self.thread_count - self.running_count
        return min(
            ready_count - idle_count, self.thread_max - self.thread_count
        )

    def begin_job(mut self):
        """Counts a thread that has taken a job."""
        self.running_count += 1
        self.peak_count = max(self.peak_count, self.running_count)

    def has_too_many_threads(mut self) -> Bool:
        """Tells whether an idle thread of an automatic pool may end: there are
        more than had a job at once lately."""
        var now_ms = coarse_monotonic_ms()
        if now_ms - self.window_start_ms >= _WINDOW_MS:
            self.window_start_ms = now_ms
            self.last_peak_count = self.peak_count
            self.peak_count = self.running_count
        return self.thread_count > max(self.peak_count, self.last_peak_count)

    def put_done(mut self, var job: OwnedPointer[Job]) -> Bool:
        """Hands a job back; True if the worker has to be woken."""
        debug_assert(self.running_count > 0, "a job that nobody runs")
        if job[].is_late:
            self.late_running_count -= 1
        self.done.append(job^)
        self.running_count -= 1
        return len(self.done) == 1

    def tell(mut self, var note: OwnedPointer[Job]) -> Bool:
        """Hands over what a handler says before it answers; True if the worker
        has to be woken."""
        self.done.append(note^)
        return len(self.done) == 1

    def drop_gone(mut self) -> Bool:
        """Answers jobs that had to wait in place of their handlers, if their
        clients have hung up; True if the worker has to be woken."""
        var before = len(self.done)
        _move_gone(self.waiting, self.done)
        _move_gone(self.late, self.done)
        return before == 0 and len(self.done) > 0

    def note_complete(mut self, token: UInt64, stream_id: Int) -> Bool:
        """Lets a job whose content is complete wait like any other; True if
        there is one."""
        for index in range(len(self.late)):
            ref late = self.late.at(index)[]
            if late.token != token or late.stream_id != stream_id:
                continue
            var job = self.late.pop(index)
            job[].is_late = False
            var place = 0
            while (
                place < len(self.waiting)
                and self.waiting.at(place)[].number < job[].number
            ):
                place += 1
            self.waiting.insert(place, job^)
            return True
        return False


def _move_gone(
    mut waiting: List[OwnedPointer[Job]], mut done: List[OwnedPointer[Job]]
):
    var index = 0
    while index < len(waiting):
        ref job = waiting.at(index)[]
        if not job.had_to_wait or not job.cancel[].is_set():
            index += 1
            continue
        job.response = refusal(503, String(Refusal.BUSY.reason, "\n"))
        done.append(waiting.pop(index))


struct _Queue(Copyable):
    """The jobs, and how worker and threads tell each other of them."""

    var jobs: Mutex[_Jobs]
    # There is a job to take, the queue is closed, or a thread has ended.
    var changed: Condvar
    # How many jobs wait; read by handlers without the lock.
    var demand: ArcPointer[Atomic[Int64]]

    def __init__(out self, thread_max: Int, is_automatic: Bool) raises OsError:
        self.jobs = Mutex(_Jobs(thread_max, is_automatic))
        self.changed = Condvar()
        self.demand = ArcPointer(Atomic[Int64](0))

    def note_demand(self, jobs: _Jobs):
        """Tells handlers how many jobs wait."""
        self.demand[].store(Int64(len(jobs.waiting) + len(jobs.late)))

    def next(self) -> Optional[OwnedPointer[Job]]:
        """Waits for a job; nothing when the queue is closed, or the thread is
        one too many."""
        var jobs = self.jobs.lock()
        while not jobs[].is_closed:
            var job = jobs[].pick()
            if job:
                jobs[].begin_job()
                self.note_demand(jobs[])
                return job^
            if not jobs[].is_automatic:
                self.changed.wait(jobs)
            elif jobs[].has_too_many_threads():
                break
            else:
                _ = self.changed.wait_for(jobs, _WINDOW_MS)
        jobs[].thread_count -= 1
        self.changed.notify_all()
        deinit(jobs^)
        return None

    def put(self, var job: OwnedPointer[Job]) -> Bool:
        """Lets a job wait for a thread; True if a further one could take it."""
        var jobs = self.jobs.lock()
        jobs[].put(job^)
        self.note_demand(jobs[])
        var wants_thread = jobs[].missing_count() > 0
        self.changed.notify_one()
        deinit(jobs^)
        return wants_thread

    def close(self):
        """Lets the threads end, each when its handler has."""
        var jobs = self.jobs.lock()
        jobs[].is_closed = True
        self.changed.notify_all()
        deinit(jobs^)

    def wait_until_left(self, timeout_ms: Int) -> Int:
        """Waits for the ends of the threads; tells how many have not ended in
        time."""
        var deadline_ns = monotonic_ns() + timeout_ms * 1_000_000
        var jobs = self.jobs.lock()
        while jobs[].thread_count > 0 and monotonic_ns() < deadline_ns:
            _ = self.changed.wait_for(jobs, timeout_ms)
        return jobs[].thread_count


@fieldwise_init
struct _Lane(Movable):
    """The way from a thread to its worker."""

    var queue: _Queue
    var waker: Waker

    def tell(self, var note: OwnedPointer[Job]):
        if self.queue.jobs.lock()[].tell(note^):
            self.waker.wake()


@fieldwise_init
struct _Speaker:
    """A job whose handler may say something before it answers."""

    # SAFETY: both outlive the handler's call, and do not move meanwhile.
    var job: Pointer[Job, MutUntrackedOrigin]
    var lane: Pointer[_Lane, ImmUntrackedOrigin]


def run_job(mut job: Job, handler: AnyHandler, lane: _Lane):
    """Lets a handler answer on this thread; the job has its response
    afterwards."""
    # SAFETY: job and lane are the caller's for the length of this call.
    var speaker = _Speaker(
        Pointer(to=job).unsafe_origin_cast[MutUntrackedOrigin](),
        Pointer(to=lane).unsafe_origin_cast[ImmUntrackedOrigin](),
    )
    job.params.early_hints.unsafe_set_sender(
        # SAFETY: the speaker stays until the handler has answered.
        Pointer(to=speaker)
        .unsafe_origin_cast[MutUntrackedOrigin]()
        .unsafe_bitcast[NoneType](),
        _send_early_hints,
    )
    job.run(handler)
    _ = speaker^


def _send_early_hints(speaker: Erased, var fields: HeaderMap):
    """Lets the worker send hints of a handler that still runs."""
    # SAFETY: the job calls this while its handler runs, see `run_job`.
    ref sender = speaker.unsafe_bitcast[_Speaker]()[]
    sender.lane[].tell(sender.job[].note(EARLY_HINTS, fields^))


@fieldwise_init
struct _HandlerThread(Task):

    var handler: SharedHandler
    var lane: _Lane

    def run(mut self) raises:
        self._unpin()
        while True:
            var job = self.lane.queue.next()
            if not job:
                return
            var owned = job.take()
            run_job(owned[], self.handler[], self.lane)
            if self.lane.queue.jobs.lock()[].put_done(owned^):
                self.lane.waker.wake()

    def _unpin(self):
        """A worker may be pinned; its handlers need not share its CPU."""
        try:
            restrict_thread(usable_cpus(process_id()))
        except:
            # Where threads may not be moved, the worker was not pinned either.
            return


def late_share(thread_count: Int) -> Int:
    """Tells how many threads take requests whose content is still to arrive:
    three quarters of them; of one thread, this one."""
    return max(1, thread_count - max(1, thread_count // 4))


struct HandlerPool(Movable):
    """The threads of one worker and the requests they have.

    There are none before `grow`.
    """

    var _queue: _Queue
    var _waker: Waker
    # Those of an automatic pool end by themselves, and nobody joins them.
    var _threads: List[Thread]
    var _thread_max: Int
    var _is_automatic: Bool
    var _missing_count: Int
    var _waiting_max: Int
    var _min_body_rate: Int
    var _logs_errors: Bool

    def __init__(out self, config: ServerConfig) raises OsError:
        """Makes a pool without threads. Raises if the process has no more
        descriptors."""
        var is_automatic = config.handler_threads == AUTOMATIC_THREADS
        self._thread_max = config.handler_threads
        if is_automatic:
            self._thread_max = _AUTOMATIC_MAX
        self._is_automatic = is_automatic
        self._missing_count = 0 if is_automatic else self._thread_max
        self._queue = _Queue(self._thread_max, is_automatic)
        self._waker = Waker()
        self._threads = []
        self._waiting_max = config.handler_queue
        self._min_body_rate = config.min_body_rate
        self._logs_errors = config.logs_errors

    @always_inline
    def wants_thread(self) -> Bool:
        """Tells whether `grow` is to be called: at first, and when a job waits
        that a further thread could take."""
        return self._missing_count > 0

    def grow(mut self, handler: SharedHandler) raises OsError:
        """Starts the threads that are wanted. If the system has no more, an
        automatic pool goes on with those that it has."""
        while self._missing_count > 0:
            # It counts before it runs, so that nobody starts one in its place.
            self._queue.jobs.lock()[].thread_count += 1
            try:
                var thread = Thread(
                    _HandlerThread(
                        handler.copy(),
                        _Lane(self._queue.copy(), self._waker.copy()),
                    )
                )
                if not self._is_automatic:
                    self._threads.append(thread^)
            except error:
                self._missing_count = 0
                self._queue.jobs.lock()[].thread_count -= 1
                if not self._is_automatic:
                    # Those that run already would wait for ever.
                    self._queue.close()
                    self._threads.clear()
                raise error^
            self._missing_count -= 1

    def __deinit__(deinit self):
        """Ends the threads that `close` has not ended."""
        self._queue.close()

    def fd(self) -> Int32:
        """Lends the descriptor that is readable when answers are there, good
        while this value lives."""
        return self._waker.fd()

    def is_full(self, is_late: Bool) -> Bool:
        """Tells whether no more requests may wait, and a further one is to be
        refused. Those whose content is still to arrive, if `is_late`, take no
        place from others."""
        # A request that a thread is about to take does not wait for one, so
        # all are counted, and as many as there are threads are free.
        var jobs = self._queue.jobs.lock()
        var count = len(jobs[].waiting) + jobs[].running_count
        var free_count = self._thread_max
        if is_late:
            count = len(jobs[].late) + jobs[].late_running_count
            free_count = jobs[].late_max
        return count >= free_count + self._waiting_max

    def submit(mut self, var job: OwnedPointer[Job]):
        """Hands a request over."""
        if self._queue.put(job^) and self._is_automatic:
            self._missing_count += 1

    def note_complete(self, token: UInt64, stream_id: Int = 0):
        """Says that the content of a connection's request is complete; the
        stream is 0 but for HTTP/2."""
        var jobs = self._queue.jobs.lock()
        if jobs[].note_complete(token, stream_id):
            self._queue.changed.notify_one()
        deinit(jobs^)

    def drop_gone(mut self):
        """Answers requests that wait for a thread, and whose clients have hung
        up, without their handlers."""
        var jobs = self._queue.jobs.lock()
        var is_first = jobs[].drop_gone()
        self._queue.note_demand(jobs[])
        deinit(jobs^)
        if is_first:
            self._waker.wake()

    def pace(self) -> ClientPace:
        """Makes what tells a handler that its client, for whom nobody has
        waited, is too slow while others wait for a thread."""
        return ClientPace(self._queue.demand, self._min_body_rate)

    def take_done(mut self, mut spare: SpareJobs) -> List[OwnedPointer[Job]]:
        """Takes the requests that have been answered; `spare` has the room for
        a list."""
        _ = self._waker.drain()
        var done = spare.take_list()
        swap(done, self._queue.jobs.lock()[].done)
        return done^

    def close(mut self):
        """Ends the threads. One whose handler does not end in time is left
        behind with a line in the log: it ends with its handler."""
        self._queue.close()
        var left_count = self._queue.wait_until_left(_LEAVE_MS)
        if left_count > 0:
            if self._logs_errors:
                log_line(
                    Text()
                    .add(left_count)
                    .add(" handlers have not ended and are left")
                    .end()
                )
            self._threads.clear()
            return
        while len(self._threads) > 0:
            self._threads.pop().join()

"""Threads that fetch newer responses while stale ones are given."""

from flare.bytes.checked import *
from flare.bytes.buffer import Buffer
from flare.bytes.erased import Erased
from flare.http.cache.fetches import FetchClaim
from flare.http.message.body import Poll, StreamWaker, WakeTarget
from flare.http.message.owned_request import OwnedRequest
from flare.http.message.response import Response
from flare.sys.clock import Deadline
from flare.sys.errno import OsError
from flare.sys.mutex import Condvar, Mutex
from flare.sys.signal import process_id
from flare.sys.thread import Task, Thread
from std.memory import ArcPointer

comptime THREAD_COUNT_MAX = 4
"""Most threads of one cache; an origin that is slow holds one each."""
comptime QUEUE_MAX = 1_024
"""Most requests that wait for a thread; beyond it a stale response is given
without a newer one being fetched."""
comptime _IDLE_MS = 10_000
# How long a thread waits for more to do before it ends.

comptime _CONTENT_MS = 60_000
# How long the content of one response may take.

comptime Refresh = def(Erased, var OwnedRequest) thin -> None
"""Fetches a response on behalf of the cache that is named."""


@fieldwise_init
struct Job(Movable):
    """A request that is to be fetched once more."""

    var request: OwnedRequest
    var claim: FetchClaim
    """Holds back others that would fetch the same; goes with the job."""
    # SAFETY: the cache waits in `Background.quiesce` before it moves or ends.
    var target: Erased
    var refresh: Refresh

    def run(deinit self):
        self.refresh(self.target, self.request^)
        self.claim^.end()


struct _Queue(Defaultable, Movable):
    var jobs: List[Job]
    var busy_count: Int
    var thread_count: Int
    var is_closed: Bool
    # Which process the threads run in.
    var process: Int


@fieldwise_init
struct _Shared(Movable):
    var queue: Mutex[_Queue]
    var changed: Condvar
    var idle: Condvar


@fieldwise_init
struct _Loop(Task):

    var shared: ArcPointer[_Shared]

    def run(mut self) raises:
        while True:
            var job = self._take()
            if not job:
                return
            job.take().run()
            var queue = self.shared[].queue.lock()
            queue[].busy_count -= 1
            if queue[].busy_count == 0:
                self.shared[].idle.notify_all()

    def _take(self) -> Optional[Job]:
        """Waits for a job; nothing if there is none for long."""
        var pause = Deadline(_IDLE_MS)
        var queue = self.shared[].queue.lock()
        while len(queue[].jobs) == 0:
            var left_ms = pause.left_ms()
            if queue[].is_closed or left_ms <= 0:
                queue[].thread_count -= 1
                return None
            _ = self.shared[].changed.wait_for(queue, left_ms)
        queue[].busy_count += 1
        return queue[].jobs.pop(0)


struct Background(Movable):
    """Some threads for one cache, started when there is something to do."""

    var _shared: ArcPointer[_Shared]

    def __init__(out self) raises OsError:
        self._shared = ArcPointer(
            _Shared(Mutex(_Queue()), Condvar(), Condvar())
        )

    def add(self, var job: Job) raises OsError -> Bool:
        """Has a job done soon. Drops it if too many wait, and returns False.
        Raises, without the job, if there is no thread for it, and the system
        has no more."""
        ref shared = self._shared[]
        var queue = shared.queue.lock()
        if queue[].process != process_id():
            # Threads stay behind where a process forks.
            queue[].process = process_id()
            queue[].thread_count = 0
            queue[].busy_count = 0
        if queue[].is_closed or len(queue[].jobs) >= QUEUE_MAX:
            return False
        var wanted = queue[].busy_count + len(queue[].jobs) + 1
        if queue[].thread_count < min(wanted, THREAD_COUNT_MAX):
            # Before the job is among those that wait: with no thread it would
            # hold its claim until another one comes.
            try:
                _ = Thread(_Loop(self._shared.copy()))
                queue[].thread_count += 1
            except error:
                if queue[].thread_count == 0:
                    raise error^
        queue[].jobs.append(job^)
        shared.changed.notify_one()
        return True

    def quiesce(self, timeout_ms: Int = 0):
        """Drops what waits, and waits for what is being done; 0 for as long as
        it takes."""
        ref shared = self._shared[]
        var dropped = List[Job]()
        var queue = shared.queue.lock()
        swap(dropped, queue[].jobs)
        if queue[].process != process_id():
            return
        var deadline = Deadline(timeout_ms)
        while queue[].busy_count > 0:
            if timeout_ms == 0:
                shared.idle.wait(queue)
            elif deadline.left_ms() > 0:
                _ = shared.idle.wait_for(queue, deadline.left_ms())
            else:
                return

    def close(self):
        """Takes no more jobs, and ends the threads when they are done."""
        var queue = self._shared[].queue.lock()
        queue[].is_closed = True
        self._shared[].changed.notify_all()
        _ = queue^
        self.quiesce()


@fieldwise_init
struct _Call(Copyable, WakeTarget):
    """A source's call, for which `run_to_end` waits."""

    var has_come: Mutex[Bool]
    var changed: Condvar

    def wake(self, token: UInt64):
        var has_come = self.has_come.lock()
        has_come[] = True
        self.changed.notify_one()

    def wait(self, timeout_ms: Int):
        var deadline = Deadline(timeout_ms)
        var has_come = self.has_come.lock()
        while not has_come[] and deadline.left_ms() > 0:
            _ = self.changed.wait_for(has_come, deadline.left_ms())
        has_come[] = False


def run_to_end(response: Response) raises:
    """Has the source of a response, if it has one, make all its content, for
    nobody."""
    if not response.body.is_stream() or response.body.stream()[].is_endless():
        return
    var deadline = Deadline(_CONTENT_MS)
    var stream = response.body.stream()
    var call = _Call(Mutex(False), Condvar())
    stream[].begin(StreamWaker(call.copy(), 0))
    var piece = Buffer()
    while deadline.left_ms() > 0:
        piece.clear()
        var poll = stream[].fill(piece)
        if poll == Poll.DONE:
            return
        if poll == Poll.PENDING:
            call.wait(min(deadline.left_ms(), stream[].poll_interval_ms()))

"""Threads that start, fail and stop together.

    start each -> (stop) -> wait

A worker that fails stops all others, and `wait` raises its reason: a server
with half of its workers is worse than one that says why it ended.
"""

from flare.bytes.checked import *
from flare.bytes.text import Text
from flare.runtime.event import Waker
from flare.sys.process import restrict_thread
from flare.sys.errno import OsError
from flare.sys.mutex import Mutex
from flare.sys.thread import Task, Thread


struct _Outcome(Defaultable, Movable):

    var wakers: List[Waker]
    var running_count: Int
    var failure: String

    def wake_all(self):
        """Rings for each worker once."""
        for index in range(len(self.wakers)):
            self.wakers.at(index).wake()


@fieldwise_init
struct _Shared(Copyable):
    """What the threads and their scheduler share."""

    var outcome: Mutex[_Outcome]
    var ended: Waker

    def note_end(self, var failure: String):
        """Counts a thread out; the first failure stops all others."""
        var outcome = self.outcome.lock()
        debug_assert(outcome[].running_count > 0, "more ends than workers")
        outcome[].running_count -= 1
        if failure.byte_length() > 0 and outcome[].failure.byte_length() == 0:
            outcome[].failure = failure^
            outcome[].wake_all()
        deinit(outcome^)
        self.ended.wake()


@fieldwise_init
struct _Supervised[T: Task](Task):
    """A worker's task, and what happens around it."""

    var task: Self.T
    var index: Int
    var cpus: List[Int]
    var shared: _Shared

    def run(mut self) raises:
        var failure = String()
        try:
            self._begin()
            self.task.run()
        except error:
            failure = (
                Text().add("worker ").add(self.index).add(": ").add(error).end()
            )
        self.shared.note_end(failure^)

    def _begin(self) raises:
        if len(self.cpus) > 0:
            restrict_thread(self.cpus)


struct Scheduler(Movable):
    """Runs workers, each on a thread of its own."""

    var _threads: List[Thread]
    var _shared: _Shared

    def __init__(out self) raises OsError:
        """Makes a scheduler without workers.

        Raises:
            OsError: If the process has no more descriptors.
        """
        self._threads = []
        self._shared = _Shared(Mutex(_Outcome()), Waker())

    def __deinit__(deinit self):
        """Stops the workers that still run, and waits for them."""
        self.stop()
        while len(self._threads) > 0:
            self._threads.pop().join()

    def start[
        T: Task
    ](
        mut self,
        var task: T,
        var waker: Waker,
        cpus: List[Int] = List[Int](),
    ) raises OsError:
        """Starts a worker.

        Parameters:
            T: What it does.

        Args:
            task: Moved to the thread; ends soon after `waker` is rung.
            waker: Stops the worker.
            cpus: The CPUs it may run on; none for all that the caller may use.

        Raises:
            OsError: If the system has no more threads. The workers that run
                have been told to stop; `wait` waits for them.
        """
        var index = len(self._threads)
        var outcome = self._shared.outcome.lock()
        if outcome[].failure.byte_length() > 0:
            # Who failed has rung for the workers that were there; this one
            # would run for ever, and `wait` with it.
            waker.wake()
        outcome[].wakers.append(waker^)
        outcome[].running_count += 1
        deinit(outcome^)
        try:
            self._threads.append(
                Thread(
                    _Supervised(task^, index, cpus.copy(), self._shared.copy())
                )
            )
        except error:
            self._shared.note_end(
                Text().add("worker ").add(index).add(": ").add(error).end()
            )
            raise error^

    def stop(self):
        """Rings every worker's waker once."""
        self._shared.outcome.lock()[].wake_all()

    def ended_fd(self) -> Int32:
        """Lends a descriptor that becomes readable when a worker ends; good
        while the scheduler lives."""
        return self._shared.ended.fd()

    def running_count(self) -> Int:
        """Counts the workers that have not ended."""
        _ = self._shared.ended.drain()
        return self._shared.outcome.lock()[].running_count

    def wait(mut self) raises:
        """Waits until all workers have ended.

        Raises:
            Error: If one failed: which, and why.
        """
        while len(self._threads) > 0:
            self._threads.pop().join()
        var outcome = self._shared.outcome.lock()
        if outcome[].failure.byte_length() > 0:
            raise Error(outcome[].failure)

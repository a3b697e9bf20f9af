"""Threads that start, fail and stop together.

    start each -> (stop) -> wait

A worker that fails stops all others, and `wait` raises its reason: a server
with half of its workers is worse than one that says why it ended.
"""

from flare.runtime.event import Waker
from flare.sys.affinity import restrict_thread
from flare.sys.errno import OsError
from flare.sys.monitor import Monitor
from flare.sys.thread import Task, Thread
from std.memory import ArcPointer


struct _Outcome(Movable):
    """What the threads and their scheduler share."""

    var monitor: Monitor
    var wakers: List[Waker]
    var running_count: Int
    var failure: String
    var ended: Waker

    def __init__(out self) raises OsError:
        self.monitor = Monitor()
        self.wakers = []
        self.running_count = 0
        self.failure = String()
        self.ended = Waker()


# These take the shared value by its counted pointer. In a method, the compiler
# takes it for granted that nothing changes `mut self` while a lock is awaited.


def _wake_all(outcome: ArcPointer[_Outcome]):
    """Rings for each worker once; with the lock."""
    for index in range(len(outcome[].wakers)):
        outcome[].wakers[index].wake()


def _note_end(outcome: ArcPointer[_Outcome], var failure: String):
    """Counts a thread out; the first failure stops all others."""
    outcome[].monitor.lock()
    outcome[].running_count -= 1
    if failure.byte_length() > 0 and outcome[].failure.byte_length() == 0:
        outcome[].failure = failure^
        _wake_all(outcome)
    outcome[].monitor.unlock()
    outcome[].ended.wake()


@fieldwise_init
struct _Supervised[T: Task](Task):
    """A worker's task, and what happens around it."""

    var task: Self.T
    var index: Int
    var cpus: List[Int]
    var outcome: ArcPointer[_Outcome]

    def run(mut self) raises:
        var failure = String()
        try:
            self._begin()
            self.task.run()
        except error:
            failure = String("worker ", self.index, ": ", error)
        _note_end(self.outcome, failure^)

    def _begin(self) raises:
        if len(self.cpus) > 0:
            restrict_thread(self.cpus)


struct Scheduler(Movable):
    """Runs workers, each on a thread of its own."""

    var _threads: List[Thread]
    var _outcome: ArcPointer[_Outcome]

    def __init__(out self) raises OsError:
        """Makes a scheduler without workers.

        Raises:
            OsError: If the process has no more descriptors.
        """
        self._threads = []
        self._outcome = ArcPointer(_Outcome())

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
        self._outcome[].monitor.lock()
        if self._outcome[].failure.byte_length() > 0:
            # Who failed has rung for the workers that were there; this one
            # would run for ever, and `wait` with it.
            waker.wake()
        self._outcome[].wakers.append(waker^)
        self._outcome[].running_count += 1
        self._outcome[].monitor.unlock()
        try:
            self._threads.append(
                Thread(
                    _Supervised(task^, index, cpus.copy(), self._outcome.copy())
                )
            )
        except error:
            _note_end(self._outcome, String("worker ", index, ": ", error))
            raise error^

    def stop(self):
        """Rings every worker's waker once."""
        self._outcome[].monitor.lock()
        _wake_all(self._outcome)
        self._outcome[].monitor.unlock()

    def ended_fd(self) -> Int32:
        """Lends a descriptor that becomes readable when a worker ends.

        Returns:
            A descriptor, good while the scheduler lives.
        """
        return self._outcome[].ended.fd()

    def running_count(self) -> Int:
        """Counts the workers that have not ended.

        Returns:
            How many.
        """
        _ = self._outcome[].ended.drain()
        self._outcome[].monitor.lock()
        var count = self._outcome[].running_count
        self._outcome[].monitor.unlock()
        return count

    def wait(mut self) raises:
        """Waits until all workers have ended.

        Raises:
            Error: If one failed: which, and why.
        """
        while len(self._threads) > 0:
            self._threads.pop().join()
        if self._outcome[].failure.byte_length() > 0:
            raise Error(self._outcome[].failure)

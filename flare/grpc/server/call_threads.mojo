"""Threads for streams with blocking code: begun when they are needed, ended when
they are not."""

from flare.bytes.checked import *
from flare.bytes.erased import Erased, ErasedBox
from flare.bytes.text import Text
from flare.sys.errno import OsError
from flare.sys.log import log_line
from flare.sys.mutex import Condvar, Mutex
from flare.sys.thread import Task, Thread

comptime _IDLE_MS = 10_000
# A thread that has nothing to do for so long ends.

comptime _WAITING_COUNT_MAX = 1_024
# Calls that wait for a thread; more are refused.


def _run[T: Task](work: Erased):
    # SAFETY: `_AnyWork` made the pointer from a T of its own.
    try:
        work.unsafe_bitcast[T]()[].run()
    except error:
        log_line(Text().add("grpc: ").add(error).end())


struct _AnyWork(Movable):

    # SAFETY: the functions were made for its type.
    var _work: ErasedBox
    var _run: def(Erased) thin -> None

    def __init__[T: Task](out self, var work: T):
        self._work = ErasedBox(work^)
        self._run = _run[T]

    def run(self):
        self._run(self._work.at)


struct _Pool(Movable):
    var waiting: List[_AnyWork]
    var thread_count: Int
    var idle_count: Int
    var thread_max: Int

    def __init__(out self, thread_max: Int):
        self.waiting = []
        self.thread_count = 0
        self.idle_count = 0
        self.thread_max = thread_max


@fieldwise_init
struct CallThreads(Copyable, Movable):
    """Threads that calls share; copies mean the same ones."""

    var _pool: Mutex[_Pool]
    var _changed: Condvar

    def __init__(out self, thread_max: Int) raises OsError:
        """Makes a pool of at most so many threads, none of them begun."""
        self._pool = Mutex(_Pool(thread_max))
        self._changed = Condvar()

    def submit[T: Task](self, var work: T) -> Bool:
        """Runs something on a thread, when one is free; False if it is not run
        at all, as so many wait already, or there may be no thread. What is taken
        and cannot be run, since no thread can be begun, is dropped."""
        return self._submit(_AnyWork(work^))

    def _submit(self, var work: _AnyWork) -> Bool:
        var pool = self._pool.lock()
        if pool[].thread_max < 1 or len(pool[].waiting) >= _WAITING_COUNT_MAX:
            return False
        pool[].waiting.append(work^)
        if pool[].idle_count >= len(pool[].waiting):
            self._changed.notify_one()
        elif pool[].thread_count < pool[].thread_max:
            pool[].thread_count += 1
            deinit(pool^)
            self._begin()
        return True

    def _begin(self):
        try:
            Thread(_Loop(self.copy())).forget()
        except error:
            log_line(Text().add("grpc threads: ").add(error).end())
            var lost = List[_AnyWork]()
            var pool = self._pool.lock()
            pool[].thread_count -= 1
            if pool[].thread_count == 0:
                # Else the others go on with what waits.
                swap(lost, pool[].waiting)
            deinit(pool^)
            # Its end, without the lock, tells calls that there is no thread.
            _ = lost^

    def _next(self) -> Optional[_AnyWork]:
        """Waits for something to run; nothing if the thread may end."""
        var pool = self._pool.lock()
        if len(pool[].waiting) == 0:
            pool[].idle_count += 1
            _ = self._changed.wait_for(pool, _IDLE_MS)
            pool[].idle_count -= 1
        if len(pool[].waiting) == 0:
            pool[].thread_count -= 1
            return None
        return pool[].waiting.pop(0)


@fieldwise_init
struct _Loop(Task):
    var threads: CallThreads

    def run(mut self) raises:
        while True:
            var work = self.threads._next()
            if not work:
                return
            work.held().run()

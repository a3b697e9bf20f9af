"""What the loop of a worker drives beside its connections: sockets that tasks
have opened, and times.

A task is known by a token, as a connection is. It stays with its worker: none
of this may be called from another thread.
"""

from flare.bytes.checked import *
from flare.bytes.erased import (
    Erased,
    counted,
    drop_counted,
    erase_counted,
    notify_counted,
    tell_counted,
)
from flare.bytes.never import NEVER
from flare.bytes.padding import Padding
from flare.runtime.event import Event, Interest
from flare.runtime.selector import Selector
from flare.runtime.timer_wheel import TimerId, TimerWheel
from flare.sys.errno import EBADF, OsError
from std.memory import ArcPointer

comptime TASK_TOKEN: UInt64 = 0xFFFFFFF8
"""The low half of every task's token; no connection has such a slot."""

comptime _LOW_HALF: UInt64 = 0xFFFFFFFF
comptime _INDEX_BITS: UInt64 = 20
comptime _INDEX_MASK: UInt64 = (1 << 20) - 1
comptime _GENERATION_MASK: UInt64 = (1 << 12) - 1


trait LoopTask(Deinitable, Movable):
    """Something that waits for sockets or for a time, on the loop of a worker.

    Its methods get the counted pointer: what they call may reach the task by
    another copy of it.
    """

    @staticmethod
    def on_event(task: ArcPointer[Self], event: Event):
        """Goes on, since a socket is ready that is watched with its token. By
        default there is none.

        Args:
            task: The task.
            event: What is ready.
        """
        return

    @staticmethod
    def on_deadline(task: ArcPointer[Self]):
        """Goes on, since its time is over; there is none until it sets another,
        and by default it sets none."""
        return


@fieldwise_init
struct _Task(TrivialRegisterPassable):

    # SAFETY: the loop owns the counted pointer; the functions were made for its type.
    var task: Erased
    var on_event: def(Erased, Event) thin -> None
    var on_deadline: def(Erased) thin -> None
    var drop: def(Erased) thin -> None


struct _Slot(Movable):
    var task: Optional[_Task]
    var generation: UInt64
    var deadline_ms: Int
    var armed_ms: Int
    var timer: TimerId

    def __init__(out self):
        self.task = None
        self.generation = 0
        self.deadline_ms = NEVER
        self.armed_ms = NEVER
        self.timer = TimerId.NONE


@fieldwise_init
struct _Local(Movable):
    """What a worker keeps for somebody, who knows its type."""

    var key: Int
    # SAFETY: owned, a counted pointer; `drop` was made for its type.
    var value: Erased
    var drop: def(Erased) thin -> None

    def __deinit__(deinit self):
        self.drop(self.value)


@fieldwise_init
struct Woken(TrivialRegisterPassable):
    """Whose content has news."""

    var token: UInt64
    var stream_id: Int
    """The stream's over HTTP/2, else 0."""

    @implicit
    def __init__(out self, place: Tuple[UInt64, Int]):
        """Takes what a source's waker tells: the connection's token, and the
        stream's number."""
        self.token = place[0]
        self.stream_id = place[1]


struct WorkerLoop(Movable):
    """The tasks of one worker."""

    var _padding: Padding[200]
    var now_ms: Int
    """The time of this round of the loop."""
    var woken: List[Woken]
    """Whose content has news; the worker takes them."""
    var _slots: List[_Slot]
    var _free: List[Int]
    var _wheel: TimerWheel
    # SAFETY: the worker's own, between `attach` and `detach`. Its methods that
    # are called here change nothing in it.
    var _selector: OptionalPointer[Selector, MutUntrackedOrigin]
    var _locals: List[_Local]

    def __init__(out self):
        """Makes a loop without tasks."""
        self._padding = {}
        self.now_ms = 0
        self.woken = []
        self._slots = []
        self._free = []
        self._wheel = TimerWheel(0)
        self._selector = None
        self._locals = []

    @no_inline
    def __deinit__(deinit self):
        return

    def unsafe_attach(
        mut self, selector: Pointer[Selector, MutUntrackedOrigin], now_ms: Int
    ):
        """Begins to watch sockets.

        Args:
            selector: The worker's, which does not move until `detach`.
            now_ms: What time it is.
        """
        self._selector = selector
        self.now_ms = now_ms
        self._wheel = TimerWheel(now_ms)

    def detach(mut self):
        """Ends: nothing is watched any more, and all tasks are dropped."""
        self._selector = None
        for index in range(len(self._slots)):
            if self._slots.at(index).task:
                var task = self._slots.at(index).task.held()
                self._slots.at(index).task = None
                task.drop(task.task)
        self._locals.clear()

    def add[T: LoopTask](mut self, task: ArcPointer[T]) -> UInt64:
        """Takes a task, and gives the token that it is known by.

        Parameters:
            T: Its type.

        Args:
            task: The task; held until `remove`.
        """
        if len(self._free) == 0:
            self._free.append(len(self._slots))
            self._slots.append(_Slot())
        var index = self._free.pop()
        ref slot = self._slots.at(index)
        slot.task = _Task(
            erase_counted(task.copy()),
            tell_counted[Event, T, T.on_event],
            notify_counted[T, T.on_deadline],
            drop_counted[T],
        )
        return (
            TASK_TOKEN
            | (UInt64(index) << 32)
            | (slot.generation << (32 + _INDEX_BITS))
        )

    def remove(mut self, token: UInt64):
        """Drops a task, and its time. What it has watched it must close.

        Args:
            token: The task's; nothing happens if it is gone.
        """
        var index = self._find(token)
        if index < 0:
            return
        ref slot = self._slots.at(index)
        _ = self._wheel.cancel(slot.timer)
        var task = slot.task.held()
        slot.task = None
        slot.generation = (slot.generation + 1) & _GENERATION_MASK
        slot.deadline_ms = NEVER
        slot.armed_ms = NEVER
        slot.timer = TimerId.NONE
        self._free.append(index)
        task.drop(task.task)

    def _find(self, token: UInt64) -> Int:
        var index = Int((token >> 32) & _INDEX_MASK)
        if token & _LOW_HALF != TASK_TOKEN or index >= len(self._slots):
            return -1
        ref slot = self._slots.at(index)
        if slot.generation != token >> (32 + _INDEX_BITS) or not slot.task:
            return -1
        return index

    def watch(
        mut self, number: Int32, token: UInt64, interest: Interest
    ) raises OsError:
        """Watches a descriptor.

        Args:
            number: The descriptor; closing it ends the watch.
            token: The task's.
            interest: What to watch for.

        Raises:
            OsError: If the kernel refuses, or the worker has ended.
        """
        if not self._selector:
            raise OsError("watch", EBADF)
        self._selector.held()[].register(number, token, interest)

    def rewatch(
        mut self, number: Int32, token: UInt64, interest: Interest
    ) raises OsError:
        """Watches a descriptor for something else than before; the rest is as
        for `watch`.

        Args:
            number: The descriptor, which is watched.
            interest: What to watch for from now on.
        """
        if not self._selector:
            raise OsError("watch", EBADF)
        self._selector.held()[].modify(number, token, interest)

    def unwatch(mut self, number: Int32):
        """Watches a descriptor no more.

        Args:
            number: The descriptor; it need not be watched.
        """
        if not self._selector:
            return
        try:
            self._selector.held()[].deregister(number)
        except:
            # It is closed already, which has ended the watch.
            pass

    def set_deadline(mut self, token: UInt64, deadline_ms: Int):
        """Sets a task's time, in place of the one before.

        Args:
            token: The task's.
            deadline_ms: When it is over; `flare.bytes.never.NEVER` for no time.
        """
        var index = self._find(token)
        if index < 0:
            return
        ref slot = self._slots.at(index)
        slot.deadline_ms = deadline_ms
        if deadline_ms < slot.armed_ms:
            _ = self._wheel.cancel(slot.timer)
            slot.armed_ms = deadline_ms
            slot.timer = self._wheel.insert(deadline_ms, token)

    def has_deadline(self, token: UInt64) -> Bool:
        """Tells whether a task has a time, and was not removed.

        Args:
            token: The task's.
        """
        var index = self._find(token)
        return index >= 0 and self._slots.at(index).deadline_ms != NEVER

    def was_used(self) -> Bool:
        """Tells whether there has been any task."""
        return len(self._slots) > 0

    def next_deadline_ms(self) -> Int:
        """Tells when `run_expired` has something to do, at or before that;
        `NEVER` if no task has a time."""
        var next = self._wheel.next_deadline_ms()
        return next.held() if next else NEVER

    def timer_count(self) -> Int:
        """Counts the tasks that have a time, at least."""
        return len(self._wheel)

    def _begin_round(mut self):
        self._wheel.begin_round()

    def _take_expired(mut self) -> Optional[_Task]:
        """Takes a task whose time is over."""
        while True:
            var token = self._wheel.next_of_round(self.now_ms)
            if not token:
                return None
            var index = self._find(token.held())
            if index < 0:
                continue
            ref slot = self._slots.at(index)
            slot.timer = TimerId.NONE
            slot.armed_ms = NEVER
            if slot.deadline_ms > self.now_ms:
                if slot.deadline_ms < NEVER:
                    self.set_deadline(token.held(), slot.deadline_ms)
                continue
            slot.deadline_ms = NEVER
            return slot.task.held()

    def _task_of(self, token: UInt64) -> Optional[_Task]:
        var index = self._find(token)
        if index < 0:
            return None
        return self._slots.at(index).task

    def unsafe_local[
        T: Movable & Deinitable
    ](self, key: Int) -> Optional[ArcPointer[T]]:
        """Finds what `keep_local` has kept; nothing if nothing is.

        Parameters:
            T: Its type: the one that it was kept with.

        Args:
            key: Whose it is.
        """
        for index in range(len(self._locals)):
            if self._locals.at(index).key == key:
                # The caller promises that it is the same type.
                return counted[T](self._locals.at(index).value)
        return None

    def keep_local[
        T: Movable & Deinitable
    ](mut self, key: Int, value: ArcPointer[T]):
        """Keeps something for this worker alone, such as connections.

        Args:
            key: Whose it is, such as the address of what all workers share.
            value: What to keep, until the worker ends.
        """
        self._locals.append(
            _Local(key, erase_counted(value.copy()), drop_counted[T])
        )


def run_event(loop: ArcPointer[WorkerLoop], event: Event):
    """Lets the task go on that an event belongs to; it may be gone."""
    var task = loop[]._task_of(event.token)
    if task:
        task.held().on_event(task.held().task, event)


def run_expired(loop: ArcPointer[WorkerLoop]):
    """Lets the tasks go on whose time is over, each once: one that wants to go on
    at once does so in the next round."""
    loop[]._begin_round()
    while True:
        var task = loop[]._take_expired()
        if not task:
            return
        task.held().on_deadline(task.held().task)

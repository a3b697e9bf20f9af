"""How threads have a call on a worker's loop go on: one bell for each worker."""

from flare.bytes.checked import *
from flare.http.message.body import StreamWaker, WakeTarget
from flare.runtime.event import Event, Interest, Waker
from flare.runtime.worker_loop import LoopTask, WorkerLoop, run_event
from flare.sys.errno import OsError
from flare.sys.log import log_line
from flare.sys.mutex import Mutex
from std.memory import ArcPointer

comptime _KEY = 2
# Of what the loop keeps; no address is so low.


@fieldwise_init
struct _Rope(WakeTarget):
    """The end of a bell that anybody reaches."""

    var rung: Mutex[List[UInt64]]
    var waker: Waker

    def wake(self, token: UInt64):
        var rung = self.rung.lock()
        rung[].append(token)
        var is_first = len(rung[]) == 1
        deinit(rung^)
        if is_first:
            self.waker.wake()


struct _Bell(LoopTask):
    """Lets the tasks go on that were rung for."""

    var loop: ArcPointer[WorkerLoop]
    var rung: Mutex[List[UInt64]]
    var waker: Waker

    def __init__(out self, loop: ArcPointer[WorkerLoop]) raises OsError:
        self.loop = loop.copy()
        self.rung = Mutex(List[UInt64]())
        self.waker = Waker()

    @staticmethod
    def on_event(task: ArcPointer[Self], event: Event):
        _ = task[].waker.drain()
        var tokens = List[UInt64]()
        swap(tokens, task[].rung.lock()[])
        for token in tokens:
            run_event(task[].loop, Event.writable(token))

    @staticmethod
    def on_deadline(task: ArcPointer[Self]):
        return


def bell_for(
    loop: ArcPointer[WorkerLoop], token: UInt64
) -> Optional[StreamWaker]:
    """Makes what rings for a task of a worker's loop, from any thread, even when
    the task is gone; nothing if the process has no more descriptors."""
    var bell = loop[].unsafe_local[_Bell](_KEY)
    if not bell:
        try:
            bell = _hang(loop)
        except error:
            log_line(String("grpc: threads cannot wake their calls: ", error))
            return None
    ref hung = bell.held()[]
    return StreamWaker(_Rope(hung.rung, hung.waker.copy()), token)


def _hang(loop: ArcPointer[WorkerLoop]) raises OsError -> ArcPointer[_Bell]:
    var bell = ArcPointer(_Bell(loop))
    var token = loop[].add(bell)
    try:
        loop[].watch(bell[].waker.fd(), token, Interest.READ)
    except error:
        loop[].remove(token)
        raise error^
    loop[].keep_local(_KEY, bell)
    return bell^

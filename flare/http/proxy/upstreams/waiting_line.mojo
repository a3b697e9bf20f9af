"""The requests of one worker that wait until an upstream has room: the worker is
woken, by whichever worker has a request end, and lets them go on. Where time alone
makes room, one of the workers has the time, for all."""

from flare.bytes.checked import *
from flare.bytes.never import NEVER
from flare.http.proxy.upstreams.outcome import Outcome
from flare.http.proxy.upstreams.upstreams import Pick, Upstreams
from flare.runtime.event import Event, Interest, Waker
from flare.runtime.worker_loop import LoopTask, WorkerLoop, run_event
from flare.sys.errno import OsError
from flare.sys.log import log_line
from std.memory import ArcPointer


struct WaitingLine(LoopTask):
    """Wakes requests that wait for an upstream no longer."""

    var number: Int
    """The worker's, for `Upstreams.wait`."""
    var handed: Optional[Pick]
    """What the request gets whose `on_event` is being called; it takes it."""
    var _loop: ArcPointer[WorkerLoop]
    var _upstreams: Upstreams
    var _waker: Waker
    var _token: UInt64

    def __init__(
        out self, loop: ArcPointer[WorkerLoop], upstreams: Upstreams
    ) raises OsError:
        """Makes a line that is not watched; see `open_line`. Raises if the
        process has no more descriptors."""
        self.handed = None
        self._loop = loop.copy()
        self._upstreams = upstreams
        self._waker = Waker()
        self._token = 0
        self.number = upstreams.open_line(self._waker)

    def __deinit__(deinit self):
        """Ends it, with the worker."""
        self._upstreams.close_line(self.number)

    @staticmethod
    def on_event(task: ArcPointer[Self], event: Event):
        """Lets those go on that have got an upstream, or will get none."""
        _ = task[]._waker.drain()
        var alarm_ms = task[]._upstreams.alarm_ms(task[].number)
        if alarm_ms != NEVER:
            task[]._loop[].set_deadline(task[]._token, alarm_ms)
        var arrived = task[]._upstreams.take_arrived(task[].number)
        while len(arrived) > 0:
            var one = arrived.pop(0)
            task[].handed = one.pick.copy()
            run_event(task[]._loop, Event.readable(one.token))
            if task[].handed:
                # It has left since it was called.
                var choice = task[].handed.held().choice
                task[].handed = None
                if choice.is_member():
                    task[]._upstreams.finish(
                        choice.member, Outcome.CANCELLED, 0
                    )

    @staticmethod
    def on_deadline(task: ArcPointer[Self]):
        """Places what waits, on any worker: an ejection has ended, or a circuit
        lets a request try.
        """
        task[]._upstreams.place_waiting()


def open_line(
    loop: ArcPointer[WorkerLoop], upstreams: Upstreams
) -> Optional[ArcPointer[WaitingLine]]:
    """Opens the line of a worker; nothing if the process has no more
    descriptors, so that no request waits."""
    try:
        var line = ArcPointer(WaitingLine(loop, upstreams))
        line[]._token = loop[].add(line)
        loop[].watch(line[]._waker.fd(), line[]._token, Interest.READ)
        return line^
    except error:
        log_line(String("proxy: no request waits for an upstream: ", error))
        return None

"""The `CancelToken`s that calls of one worker have, each watched once."""

from flare.bytes.checked import *
from flare.http.client.cancel import CancelToken
from flare.runtime.event import Event, Interest
from flare.runtime.worker_loop import LoopTask, WorkerLoop, run_event
from flare.sys.errno import OsError
from std.memory import ArcPointer

comptime _KEY = 1
# Of what the loop keeps; no address is so low.


struct _WatchedCancel(LoopTask):
    """A token, and the calls that it ends."""

    var loop: ArcPointer[WorkerLoop]
    var cancel: CancelToken
    var token: UInt64
    var calls: List[UInt64]

    def __init__(out self, loop: ArcPointer[WorkerLoop], cancel: CancelToken):
        self.loop = loop.copy()
        self.cancel = cancel
        self.token = 0
        self.calls = []

    @staticmethod
    def on_event(task: ArcPointer[Self], event: Event):
        # It can be read from now on, and each call looks for itself.
        task[].loop[].unwatch(task[].cancel.fd())
        for token in task[].calls.copy():
            run_event(task[].loop, Event(token, False, False, False))

    @staticmethod
    def on_deadline(task: ArcPointer[Self]):
        return


struct _Cancels(Defaultable, Movable):
    var watched: List[ArcPointer[_WatchedCancel]]


def watch_cancel(
    loop: ArcPointer[WorkerLoop], cancel: CancelToken, call: UInt64
) raises OsError:
    var kept = loop[].unsafe_local[_Cancels](_KEY)
    if not kept:
        kept = ArcPointer(_Cancels())
        loop[].keep_local(_KEY, kept.held())
    ref all = kept.held()[].watched
    for index in range(len(all)):
        if all.at(index)[].cancel.fd() == cancel.fd():
            all.at(index)[].calls.append(call)
            return
    var made = ArcPointer(_WatchedCancel(loop, cancel))
    made[].token = loop[].add(made)
    made[].calls.append(call)
    try:
        loop[].watch(cancel.fd(), made[].token, Interest.READ)
    except error:
        loop[].remove(made[].token)
        raise error^
    all.append(made^)


def unwatch_cancel(loop: ArcPointer[WorkerLoop], call: UInt64):
    """Forgets a call that is over; it need not be watched."""
    var kept = loop[].unsafe_local[_Cancels](_KEY)
    if not kept:
        return
    ref all = kept.held()[].watched
    for index in range(len(all) - 1, -1, -1):
        ref calls = all.at(index)[].calls
        for place in range(len(calls)):
            if calls.at(place) == call:
                _ = calls.pop(place)
                break
        if len(calls) == 0:
            var over = all.pop(index)
            loop[].unwatch(over[].cancel.fd())
            loop[].remove(over[].token)

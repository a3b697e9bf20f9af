"""Who waits for many requests at once: a loop of their own."""

from flare.bytes.checked import *
from flare.http.client.exchange.prepared_request import (
    ClientBase,
    prepare_request,
    PreparedRequest,
    Upload,
)
from flare.http.client.connect.error import ClientError, Phase, bad_request
from flare.http.client.exchange.loop_calls import (
    CallUser,
    LoopCalls,
    settle,
    start_call,
)
from flare.http.client.message.request import ClientRequest
from flare.http.client.message.response import SendResult
from flare.http.client.exchange.state import ClientState
from flare.net.error import NetworkError
from flare.runtime.selector import Selector
from flare.runtime.worker_loop import WorkerLoop, run_event, run_expired
from flare.sys.clock import coarse_monotonic_ms
from flare.sys.errno import OsError
from std.memory import ArcPointer, OwnedPointer

comptime _EVENT_COUNT_MAX = 512
# Most events of one wait; the rest come with the next.

comptime _WAIT_MAX_MS = 3_600_000
# The kernel takes 32 bits; an hour is far below and costs nothing.


@fieldwise_init
struct _WaitingRequest(Movable):
    var index: Int
    var request: PreparedRequest

    def start(
        deinit self, calls: ArcPointer[LoopCalls], batch: ArcPointer[_Batch]
    ):
        # It may have waited for others until now.
        self.request.timeouts.begin()
        batch[].busy_count += 1
        _ = start_call(calls, self.request^, batch, self.index)


@fieldwise_init
struct _Batch(CallUser):
    """What has become of the requests, each in its place."""

    var results: List[SendResult]
    var busy_count: Int

    @staticmethod
    def on_result(user: ArcPointer[Self], index: Int, var result: SendResult):
        user[].results.at(index) = result^
        user[].busy_count -= 1


def run_tasks(
    state: ArcPointer[ClientState],
    requests: List[ClientRequest],
    base: ClientBase,
    max_parallel: Int,
) raises ClientError -> List[SendResult]:
    """Sends requests, at most `max_parallel` at a time; `base` is the client's.
    Returns what became of them, each in its place; raises if there is no
    selector to be had."""
    var results = List[SendResult](capacity=len(requests))
    var waiting = List[_WaitingRequest]()
    for index in range(len(requests)):
        # Replaced by what becomes of the request.
        var failure = bad_request("")
        try:
            var request = requests.at(index).copy()
            var prepared = prepare_request(
                request^, Upload(), base, Pointer(to=state[].config)
            )
            waiting.append(_WaitingRequest(index, prepared^))
        except error:
            failure = error^
        results.append(SendResult(failure^))
    waiting.reverse()
    var batch = ArcPointer(_Batch(results^, 0))
    try:
        if len(waiting) > 0:
            _run(state, waiting, max_parallel, batch)
    except error:
        var failure = ClientError(Phase.CONNECT, NetworkError(error))
        state[].give_up_links(failure)
        raise failure^
    var all = List[SendResult]()
    swap(all, batch[].results)
    return all^


def _run(
    state: ArcPointer[ClientState],
    mut waiting: List[_WaitingRequest],
    max_parallel: Int,
    batch: ArcPointer[_Batch],
) raises OsError:
    var selector = OwnedPointer(Selector(_EVENT_COUNT_MAX))
    var loop = ArcPointer(WorkerLoop())
    # SAFETY: the selector stays where it is, and is there until `detach`.
    loop[].unsafe_attach(
        Pointer(to=selector[]).unsafe_origin_cast[MutUntrackedOrigin](),
        coarse_monotonic_ms(),
    )
    var calls = ArcPointer(LoopCalls(loop, state))
    var failure = Optional[OsError](None)
    try:
        _serve(loop, selector, calls, waiting, max_parallel, batch)
    except error:
        failure = error^
    calls[].end()
    loop[].detach()
    _ = selector^
    if failure:
        raise failure.take()


def _serve(
    loop: ArcPointer[WorkerLoop],
    mut selector: OwnedPointer[Selector],
    calls: ArcPointer[LoopCalls],
    mut waiting: List[_WaitingRequest],
    max_parallel: Int,
    batch: ArcPointer[_Batch],
) raises OsError:
    """Goes on until all is over. Each round costs what is ready or due, however
    many others are silent."""
    while True:
        var has_begun = False
        while len(waiting) > 0 and batch[].busy_count < max_parallel:
            waiting.pop().start(calls, batch)
            has_begun = True
        if has_begun:
            # What is over at once makes room for others.
            settle(calls)
            continue
        if batch[].busy_count == 0:
            return
        loop[].now_ms = coarse_monotonic_ms()
        var left_ms = loop[].next_deadline_ms() - loop[].now_ms
        var count = selector[].wait(min(max(left_ms, 0), _WAIT_MAX_MS))
        loop[].now_ms = coarse_monotonic_ms()
        for index in range(count):
            run_event(loop, selector[].event(index))
        run_expired(loop)

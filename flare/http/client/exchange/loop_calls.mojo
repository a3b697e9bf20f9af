"""The requests of one client on one loop, where they wait, and no thread does.

    start_call --> RequestTask --watches, wait_ms--> WorkerLoop
                       ^                                 |
                       +-- on_event, on_deadline --------+--> CallUser.on_result

The loop is a worker's, or that of a batch. Calls of one loop share connections
that speak HTTP/2, which are watched by themselves.
"""

from flare.bytes.checked import *
from flare.bytes.never import NEVER
from flare.bytes.padding import Padding
from flare.http.client.exchange.driver import check_cancelled
from flare.http.client.connect.error import Cancelled, ClientError, Phase
from flare.http.client.exchange.http2_link import Http2Link
from flare.http.client.exchange.prepared_request import PreparedRequest
from flare.http.client.message.response import SendResult
from flare.http.client.exchange.shared_connections import SharedConnections
from flare.http.client.exchange.state import ClientState
from flare.http.client.exchange.task import RequestTask
from flare.http.client.exchange.task_phase import TaskEvent, TaskProgress
from flare.net.error import NetworkError
from flare.runtime.event import Event, Interest
from flare.runtime.worker_loop import LoopTask, run_event, WorkerLoop
from flare.sys.clock import Deadline, coarse_monotonic_ms
from flare.sys.errno import OsError
from flare.sys.poll import POLL_WRITE, PollEntry
from flare.http.client.connect.cancel import CancelToken
from std.memory import ArcPointer

comptime NO_CALL = UInt64(0)


trait CallUser(Deinitable, Movable):
    """Who waits for responses."""

    @staticmethod
    def on_result(user: ArcPointer[Self], index: Int, var result: SendResult):
        ...


struct LoopCalls(Movable):
    """What the requests of one client have in common on one loop."""

    var loop: ArcPointer[WorkerLoop]
    var state: ArcPointer[ClientState]
    """The client's connections and buffers."""
    # Tokens of calls by number; `NO_CALL` where there is none.
    var _calls: List[UInt64]
    var _free: List[Int]
    var _links: List[ArcPointer[_WatchedLink]]
    var _is_settling: Bool
    # The call that `drop_call` ends.
    var _dropped: UInt64
    # Closes what is idle for too long, once there was something.
    var _sweep: Optional[ArcPointer[_IdleSweep]]

    def __init__(
        out self,
        loop: ArcPointer[WorkerLoop],
        var state: ArcPointer[ClientState],
    ):
        self.loop = loop.copy()
        self.state = state^
        self._calls = []
        self._free = []
        self._links = []
        self._is_settling = False
        self._dropped = NO_CALL
        self._sweep = None

    def is_idle(self) -> Bool:
        return len(self._free) == len(self._calls)

    def end(mut self):
        """Watches nothing any more; the loop has no more calls."""
        if self._sweep:
            self.loop[].remove(self._sweep.held()[].token)
        self._sweep = None
        # They hold this.
        self._links.clear()

    def _take_number(mut self) -> Int:
        if len(self._free) == 0:
            self._free.append(len(self._calls))
            self._calls.append(NO_CALL)
        return self._free.pop()

    def _end(mut self, number: Int):
        self.loop[].remove(self._calls.at(number))
        self._calls.at(number) = NO_CALL
        self._free.append(number)

    def _wake(self, number: Int):
        """Lets a call go on, if there is such."""
        if number < len(self._calls) and self._calls.at(number) != NO_CALL:
            run_event(self.loop, Event.nothing(self._calls.at(number)))


def start_call[
    U: CallUser
](
    calls: ArcPointer[LoopCalls],
    var request: PreparedRequest,
    user: ArcPointer[U],
    index: Int,
) -> UInt64:
    """Sends a request; `settle` must follow. The user is told what becomes of
    it by `index`, perhaps at once. Returns the token for `drop_call`."""
    var cancel = request.cancel.copy()
    var number = calls[]._take_number()
    var task = RequestTask(request^, calls[].state[], number)
    var call = ArcPointer(_Call(calls, task^, user, index, number))
    var token = calls[].loop[].add(call)
    call[].token = token
    calls[]._calls.at(number) = token
    try:
        if cancel:
            watch_cancel(calls[].loop, cancel.held(), token)
    except error:
        _fail(call, error)
        return token
    _turn(call, TaskEvent.NONE)
    return token


def drop_call(calls: ArcPointer[LoopCalls], token: UInt64):
    """Ends a call whose result nobody wants, or that is over; `settle` must
    follow."""
    if token == NO_CALL:
        return
    calls[]._dropped = token
    run_event(calls[].loop, Event.nothing(token))
    calls[]._dropped = NO_CALL


def settle(calls: ArcPointer[LoopCalls]):
    """Watches what calls share, and lets those go on that waited for others."""
    ref self = calls[]
    if self._is_settling:
        return
    self._is_settling = True
    while True:
        _settle_links(calls)
        if len(self.state[].woken) == 0:
            break
        var woken = List[Int]()
        swap(woken, self.state[].woken)
        for number in woken:
            self._wake(number)
    self._is_settling = False
    if self.state[].shared:
        _begin_sweep(calls)


struct _IdleSweep(LoopTask):
    """Closes connections of a client that were idle for too long: no other
    request may come to do so."""

    var loop: ArcPointer[WorkerLoop]
    var connections: SharedConnections
    var token: UInt64

    def __init__(
        out self, loop: ArcPointer[WorkerLoop], connections: SharedConnections
    ):
        self.loop = loop.copy()
        self.connections = connections
        self.token = 0

    @staticmethod
    def on_deadline(task: ArcPointer[Self]):
        task[].loop[].set_deadline(task[].token, task[].connections.expire())


def _begin_sweep(calls: ArcPointer[LoopCalls]):
    """Looks what is idle by now, and when that has waited too long."""
    ref self = calls[]
    if not self._sweep:
        var connections = self.state[].shared.value().connections
        self._sweep = ArcPointer(_IdleSweep(self.loop, connections))
        self._sweep.held()[].token = self.loop[].add(self._sweep.held())
    if not self.loop[].has_deadline(self._sweep.held()[].token):
        _IdleSweep.on_deadline(self._sweep.held())


struct _Call[U: CallUser](LoopTask):

    var _padding: Padding[200]
    var calls: ArcPointer[LoopCalls]
    var task: Optional[RequestTask]
    var user: ArcPointer[Self.U]
    var index: Int
    var number: Int
    var token: UInt64
    var watched: List[PollEntry]
    # In which attempt that is watched; negative if it is no connection.
    var watched_attempt: Int
    var due: Deadline

    def __init__(
        out self,
        calls: ArcPointer[LoopCalls],
        var task: RequestTask,
        user: ArcPointer[Self.U],
        index: Int,
        number: Int,
    ):
        self._padding = {}
        self.calls = calls.copy()
        self.task = task^
        self.user = user.copy()
        self.index = index
        self.number = number
        self.token = NO_CALL
        self.watched = []
        self.watched_attempt = -1
        self.due = Deadline(-1)

    @staticmethod
    def on_event(task: ArcPointer[Self], event: Event):
        var calls = task[].calls.copy()
        if calls[]._dropped == task[].token:
            return _drop(task)
        _turn(
            task,
            TaskEvent.READABLE if event.is_readable
            or event.is_closed else TaskEvent.NONE,
        )
        settle(calls)

    @staticmethod
    def on_deadline(task: ArcPointer[Self]):
        var left_ms = task[].due.left_ms()
        if left_ms != 0:
            return _arm(task, left_ms)
        var calls = task[].calls.copy()
        _turn(task, TaskEvent.TIMEOUT)
        settle(calls)


def _turn[U: CallUser](call: ArcPointer[_Call[U]], event: TaskEvent):
    ref self = call[]
    if not self.task:
        return
    var state = self.calls[].state.copy()
    try:
        if _is_done(self.task.held(), state[], event):
            return _end(call, SendResult(self.task.take().finish(state[])))
    except error:
        return _end(call, SendResult(error^))
    try:
        _watch(call)
    except error:
        return _fail(call, error)
    var wait_ms = self.task.held().wait_ms()
    self.due = Deadline(wait_ms)
    _arm(call, wait_ms)


def _is_done(
    mut task: RequestTask, mut state: ClientState, event: TaskEvent
) raises ClientError -> Bool:
    """Goes on with a task, and tells whether its response is complete; what is
    always ready may still be overdue. Raises if it fails for good, or was
    cancelled."""
    check_cancelled(task, state)
    var progress = task.advance(state, event)
    while progress != TaskProgress.DONE:
        if task.gives_way() or task.wait_ms() != 0:
            return False
        progress = task.advance(state, TaskEvent.TIMEOUT)
    return True


def _arm[U: CallUser](call: ArcPointer[_Call[U]], wait_ms: Int):
    var deadline_ms = NEVER
    if wait_ms >= 0:
        deadline_ms = coarse_monotonic_ms() + wait_ms
    call[].calls[].loop[].set_deadline(call[].token, deadline_ms)


def _watch[U: CallUser](call: ArcPointer[_Call[U]]) raises OsError:
    """Watches what it waits for from now on.

    Descriptors are closed without notice, which ends their watch. Until then
    nobody else on this loop can have their number: what is closed and opened
    for a call is so within one turn.
    """
    ref self = call[]
    ref loop = self.calls[].loop[]
    ref task = self.task.held()
    var attempt = task.attempt_number if task.is_exchanging() else -1
    var entries = task.watches()
    if attempt >= 0 and attempt == self.watched_attempt:
        # The same connection; but it may be watched for something else.
        var entry = entries[0]
        if entry.wanted != self.watched[0].wanted:
            loop.rewatch(entry.number, self.token, interest_of(entry))
        self.watched = entries^
        return
    _unwatch(call)
    for entry in entries:
        if entry.number >= 0:
            loop.watch(entry.number, self.token, interest_of(entry))
    self.watched = entries^
    self.watched_attempt = attempt


def interest_of(entry: PollEntry) -> Interest:
    """Tells for what a selector watches a descriptor that `poll` would watch
    so."""
    if entry.wanted == POLL_WRITE:
        return Interest.WRITE
    if (entry.wanted & POLL_WRITE) != 0:
        return Interest.READ | Interest.WRITE
    return Interest.READ


def _unwatch[U: CallUser](call: ArcPointer[_Call[U]]):
    ref self = call[]
    for entry in self.watched:
        if entry.number >= 0:
            self.calls[].loop[].unwatch(entry.number)
    self.watched = []
    self.watched_attempt = -1


def _end[U: CallUser](call: ArcPointer[_Call[U]], var result: SendResult):
    var user = call[].user.copy()
    var index = call[].index
    _forget(call)
    U.on_result(user, index, result^)


def _forget[U: CallUser](call: ArcPointer[_Call[U]]):
    ref self = call[]
    self.task = None
    _unwatch(call)
    unwatch_cancel(self.calls[].loop, self.token)
    self.calls[]._end(self.number)


def _fail[U: CallUser](call: ArcPointer[_Call[U]], error: OsError):
    """Ends what cannot be watched."""
    var named = (
        call[].task.held().named(call[].calls[].state[], _unwatchable(error))
    )
    _end(call, SendResult(named^))


def _drop[U: CallUser](call: ArcPointer[_Call[U]]):
    """Ends what nobody waits for."""
    ref self = call[]
    if not self.task:
        return
    _ = self.task.held().named(
        self.calls[].state[],
        ClientError(
            Phase.READ_HEAD, Cancelled, "nobody waits for the response"
        ),
    )
    _forget(call)


struct _WatchedLink(LoopTask):
    """A connection that calls share.

    It is kept open until it is watched no more, so nobody else gets its
    descriptor.
    """

    var calls: ArcPointer[LoopCalls]
    var link: ArcPointer[Http2Link]
    var token: UInt64
    var wants_write: Bool

    def __init__(
        out self, calls: ArcPointer[LoopCalls], link: ArcPointer[Http2Link]
    ):
        self.calls = calls.copy()
        self.link = link
        self.token = 0
        self.wants_write = False

    @staticmethod
    def on_event(task: ArcPointer[Self], event: Event):
        var calls = task[].calls.copy()
        if not calls[].state[].has_left(task[].link):
            task[].link[].pump()
        settle(calls)

    def watch(mut self):
        """Watches for what it waits for now."""
        var wants_write = self.link[].wants_write()
        if wants_write == self.wants_write:
            return
        self.wants_write = wants_write
        var interest = Interest.READ
        if wants_write:
            interest = Interest.READ | Interest.WRITE
        try:
            self.calls[].loop[].rewatch(self.link[].fd(), self.token, interest)
        except error:
            self.link[].fail(_unwatchable(error))


def _unwatchable(error: OsError) -> ClientError:
    return ClientError(Phase.CONNECT, NetworkError(error))


def _settle_links(calls: ArcPointer[LoopCalls]):
    """Sends what waits on shared connections, and watches for what comes next."""
    ref self = calls[]
    ref links = self.state[].links
    for index in range(len(links)):
        _begin_link(calls, links[index])
    for index in range(len(self._links) - 1, -1, -1):
        var watched = self._links.at(index).copy()
        if self.state[].serve_link(watched[].link):
            watched[].watch()
        else:
            self.loop[].unwatch(watched[].link[].fd())
            self.loop[].remove(watched[].token)
            _ = self._links.pop(index)


def _begin_link(calls: ArcPointer[LoopCalls], link: ArcPointer[Http2Link]):
    ref self = calls[]
    for index in range(len(self._links)):
        if self._links.at(index)[].link is link:
            return
    var watched = ArcPointer(_WatchedLink(calls, link))
    watched[].token = self.loop[].add(watched)
    self._links.append(watched)
    try:
        self.loop[].watch(link[].fd(), watched[].token, Interest.READ)
    except error:
        link[].fail(_unwatchable(error))


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
            run_event(task[].loop, Event.nothing(token))


comptime _Cancels = List[ArcPointer[_WatchedCancel]]


def watch_cancel(
    loop: ArcPointer[WorkerLoop], cancel: CancelToken, call: UInt64
) raises OsError:
    var kept = loop[].unsafe_local[_Cancels](_KEY)
    if not kept:
        kept = ArcPointer(_Cancels())
        loop[].keep_local(_KEY, kept.held())
    ref all = kept.held()[]
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
    ref all = kept.held()[]
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

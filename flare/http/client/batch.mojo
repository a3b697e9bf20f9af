"""Who waits for many requests at once: one reactor."""

from flare.bytes.checked import *
from flare.http.client.client_base import ClientBase
from flare.http.client.cancel import CANCEL_TOKEN, WatchedTokens
from flare.http.client.driver import check_cancelled
from flare.http.client.error import BadRequest, ClientError, Phase
from flare.http.client.http2_link import Http2Link
from flare.http.client.prepared_request import (
    PreparedRequest,
    Upload,
    prepare_request,
)
from flare.http.client.request import ClientRequest
from flare.http.client.response import SendResult
from flare.http.client.state import ClientState
from flare.http.client.task import RequestTask
from flare.http.client.task_event import TaskEvent, TaskProgress
from flare.net.error import NetworkError
from flare.runtime.event import Interest
from flare.runtime.reactor import Reactor
from flare.runtime.timer_wheel import TimerId
from flare.sys.clock import Deadline
from flare.sys.errno import OsError
from flare.sys.poll import POLL_WRITE, PollEntry
from std.memory import ArcPointer


@fieldwise_init
struct _WaitingRequest(Movable):
    """A request that has not begun."""

    var index: Int
    var request: PreparedRequest

    def start(deinit self, mut state: ClientState, owner: Int) -> RequestTask:
        # It may have waited for others until now.
        self.request.timeouts.begin()
        return RequestTask(self.request^, state, owner)


def run_tasks(
    mut state: ClientState,
    requests: List[ClientRequest],
    base: ClientBase,
    max_parallel: Int,
) raises ClientError -> List[SendResult]:
    """Sends requests, at most `max_parallel` at a time; `base` is the client's.
    Returns what became of them, each in its place; raises if there is no
    reactor to be had."""
    var results = List[SendResult](capacity=len(requests))
    var waiting = List[_WaitingRequest]()
    for index in range(len(requests)):
        # Replaced by what becomes of the request.
        var failure = ClientError(
            materialize[Phase.REQUEST](), materialize[BadRequest](), ""
        )
        try:
            var request = requests.at(index).copy()
            var prepared = prepare_request(
                request^, Upload(), base, Pointer(to=state.config)
            )
            waiting.append(_WaitingRequest(index, prepared^))
        except error:
            failure = error^
        results.append(SendResult(failure^))
    waiting.reverse()
    try:
        _run(state, waiting, max_parallel, results)
        return results^
    except error:
        var failure = ClientError(
            materialize[Phase.CONNECT](), NetworkError(error)
        )
        state.give_up_links(failure)
        raise failure^


def _run(
    mut state: ClientState,
    mut waiting: List[_WaitingRequest],
    max_parallel: Int,
    mut results: List[SendResult],
) raises OsError:
    if len(waiting) == 0:
        return
    var lanes = List[_Lane]()
    var reactor = Reactor()
    var busy_count = min(max_parallel, len(waiting))
    for _ in range(busy_count):
        lanes.append(_Lane())
    var tokens = WatchedTokens()
    for index in range(len(waiting)):
        tokens.watch(waiting.at(index).request.cancel, reactor)
    for index in range(len(lanes)):
        var is_idle = lanes.at(index).turn(
            UInt64(index), state, reactor, waiting, results, TaskEvent.NONE
        )
        busy_count -= Int(is_idle)
    var shared = _SharedLinks()
    # Each round costs what is ready or due, however many others are silent.
    while True:
        var woken = shared.settle(state, reactor)
        for owner in woken:
            if owner >= len(lanes) or not lanes.at(owner).task:
                # It was over before its turn came.
                continue
            var is_idle = lanes.at(owner).turn(
                UInt64(owner), state, reactor, waiting, results, TaskEvent.NONE
            )
            busy_count -= Int(is_idle)
        if len(woken) > 0:
            continue
        if busy_count == 0:
            return
        for index in range(reactor.poll()):
            var token = reactor.event(index).token
            if token >= CANCEL_TOKEN:
                tokens.end(token, reactor)
                busy_count -= _turn_cancelled(
                    lanes, state, reactor, waiting, results
                )
                continue
            if token >= LINK_TOKEN:
                shared.pump(state, Int32(token - LINK_TOKEN))
                continue
            if not lanes.at(Int(token)).task:
                # It had two descriptors ready, and was over with the first.
                continue
            var is_idle = lanes.at(Int(token)).turn(
                token, state, reactor, waiting, results, TaskEvent.READABLE
            )
            busy_count -= Int(is_idle)
        while True:
            var expired = reactor.next_expired()
            if not expired:
                break
            var token = expired.value()
            var is_idle = lanes.at(Int(token)).turn_if_due(
                token, state, reactor, waiting, results
            )
            busy_count -= Int(is_idle)


def _turn_cancelled(
    mut lanes: List[_Lane],
    mut state: ClientState,
    mut reactor: Reactor,
    mut waiting: List[_WaitingRequest],
    mut results: List[SendResult],
) raises OsError -> Int:
    """Ends the requests whose token says so; counts the lanes left idle."""
    var count = 0
    for index in range(len(lanes)):
        if lanes.at(index).task and (
            lanes.at(index).task.value().request.is_cancelled()
        ):
            count += Int(
                lanes.at(index).turn(
                    UInt64(index),
                    state,
                    reactor,
                    waiting,
                    results,
                    TaskEvent.NONE,
                )
            )
    return count


comptime LINK_TOKEN = UInt64(1) << 32
"""Tokens of connections that requests share: this and the descriptor. Those of
lanes are less."""


struct _WatchedLink(Movable):
    """A connection that the reactor watches, and for what.

    It is kept open until it is watched no more, so nobody else gets its
    descriptor.
    """

    var link: ArcPointer[Http2Link]
    var wants_write: Bool

    def __init__(out self, link: ArcPointer[Http2Link]):
        self.link = link
        self.wants_write = False


struct _SharedLinks(Defaultable, Movable):
    """The connections that requests share: each is received from once, and what
    all its requests have to send is sent at once."""

    var _watched: List[_WatchedLink]

    def pump(mut self, state: ClientState, number: Int32):
        """Takes what has arrived on a connection."""
        for index in range(len(self._watched)):
            if state.has_left(self._watched.at(index).link):
                continue
            ref link = self._watched.at(index).link[]
            if link.fd() == number:
                link.pump()
                return

    def settle(
        mut self, mut state: ClientState, mut reactor: Reactor
    ) raises OsError -> List[Int]:
        """Sends what waits, and watches for what comes next. Returns the lanes
        that can go on."""
        for index in range(len(state.links)):
            self._begin(state.links.at(index), reactor)
        for index in range(len(self._watched) - 1, -1, -1):
            var link = self._watched.at(index).link
            if state.serve_link(link):
                self._watch(index, reactor)
            else:
                reactor.deregister(link[].fd())
                _ = self._watched.pop(index)
        var woken = List[Int]()
        swap(woken, state.woken)
        return woken^

    def _begin(
        mut self, link: ArcPointer[Http2Link], mut reactor: Reactor
    ) raises OsError:
        var number = link[].fd()
        for index in range(len(self._watched)):
            if self._watched.at(index).link[].fd() == number:
                return
        reactor.register(number, LINK_TOKEN + UInt64(number), Interest.READ)
        self._watched.append(_WatchedLink(link))

    def _watch(mut self, index: Int, mut reactor: Reactor) raises OsError:
        ref watched = self._watched.at(index)
        var wants_write = watched.link[].wants_write()
        if wants_write == watched.wants_write:
            return
        watched.wants_write = wants_write
        var number = watched.link[].fd()
        var interest = Interest.READ
        if wants_write:
            interest = Interest.READ | Interest.WRITE
        reactor.modify(number, LINK_TOKEN + UInt64(number), interest)


struct _Lane(Movable):
    """Requests one after the other."""

    var task: Optional[RequestTask]
    # The place of its request among the caller's.
    var _index: Int
    # What the reactor watches for it, and in which attempt.
    var _watched: List[PollEntry]
    var _watched_number: Int
    # When to go on although nothing is ready.
    var _due: Deadline
    # Expires when the task is due, or before.
    var _timer: TimerId

    def __init__(out self):
        self.task = None
        self._index = -1
        self._watched = []
        self._watched_number = -1
        self._due = Deadline(-1)
        self._timer = TimerId.NONE

    def turn_if_due(
        mut self,
        token: UInt64,
        mut state: ClientState,
        mut reactor: Reactor,
        mut waiting: List[_WaitingRequest],
        mut results: List[SendResult],
    ) raises OsError -> Bool:
        """Goes on if the time for that has come; the timer has expired."""
        self._timer = TimerId.NONE
        if not self.task:
            return False
        var left_ms = self._due.left_ms()
        if left_ms != 0:
            self._arm(reactor, token, left_ms)
            return False
        return self.turn(
            token, state, reactor, waiting, results, TaskEvent.TIMEOUT
        )

    def _arm(mut self, mut reactor: Reactor, token: UInt64, wait_ms: Int):
        _ = reactor.cancel_timer(self._timer)
        self._timer = TimerId.NONE
        if wait_ms >= 0:
            self._timer = reactor.insert_timer(wait_ms, token)

    def turn(
        mut self,
        token: UInt64,
        mut state: ClientState,
        mut reactor: Reactor,
        mut waiting: List[_WaitingRequest],
        mut results: List[SendResult],
        event: TaskEvent,
    ) raises OsError -> Bool:
        """Goes on with a request, and with the next ones if it is over. Returns
        whether there is none left."""
        var cause = event
        while True:
            if not self.task:
                if len(waiting) == 0:
                    break
                self._watch(reactor, token, [], -1)
                self._index = waiting.at(len(waiting) - 1).index
                self.task = waiting.pop().start(state, Int(token))
                cause = TaskEvent.NONE
            if not self._advance(state, results, cause):
                break
        if not self.task:
            self._watch(reactor, token, [], -1)
            _ = reactor.cancel_timer(self._timer)
            return True
        ref task = self.task.value()
        var number = -1
        if task.is_exchanging():
            number = task.attempt_number
        self._watch(reactor, token, task.watches(), number)
        var wait_ms = task.wait_ms()
        self._due = Deadline(wait_ms)
        self._arm(reactor, token, wait_ms)
        return False

    def _advance(
        mut self,
        mut state: ClientState,
        mut results: List[SendResult],
        event: TaskEvent,
    ) -> Bool:
        """Stores what becomes of the request; True if it is over."""
        try:
            if not is_done(self.task.value(), state, event):
                return False
            results.at(self._index) = SendResult(self.task.take().finish(state))
        except error:
            results.at(self._index) = SendResult(error^)
            self.task = None
        return True

    def _watch(
        mut self,
        mut reactor: Reactor,
        token: UInt64,
        var entries: List[PollEntry],
        number: Int,
    ) raises OsError:
        """Watches other descriptors from now on.

        Descriptors are closed without notice, which ends their watch. Until
        then nobody else can have registered their number, for all that a lane
        closes and opens, it does within one turn.
        """
        if number >= 0 and number == self._watched_number:
            # The same connection; but it may be watched for something else.
            if entries[0].wanted != self._watched[0].wanted:
                reactor.modify(
                    entries[0].number, token, interest_of(entries[0])
                )
            self._watched = entries^
            return
        for entry in self._watched:
            try:
                reactor.deregister(entry.number)
            except:
                # It is closed already.
                pass
        for entry in entries:
            if entry.number >= 0:
                reactor.register(entry.number, token, interest_of(entry))
        self._watched = entries^
        self._watched_number = number


def is_done(
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


def interest_of(entry: PollEntry) -> Interest:
    """Tells for what a selector watches a descriptor that `poll` would watch
    so."""
    if entry.wanted == POLL_WRITE:
        return Interest.WRITE
    if (entry.wanted & POLL_WRITE) != 0:
        return Interest.READ | Interest.WRITE
    return Interest.READ

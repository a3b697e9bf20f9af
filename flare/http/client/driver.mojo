"""Who waits for requests: a blocking call for one, a reactor for many."""

from flare.http.client.attempt import PIECE_LEN
from flare.http.client.auth import Credentials
from flare.http.client.cancel import CANCEL_TOKEN, WatchedTokens
from flare.http.client.error import (
    BadRequest,
    ClientError,
    Phase,
    SinkFailed,
    SourceFailed,
)
from flare.http.client.http2_link import Http2Link
from flare.http.client.prepared_request import (
    PreparedRequest,
    Upload,
    prepare_request,
)
from flare.http.client.progress import (
    NoProgress,
    Transfer,
    TransferProgress,
)
from flare.http.client.request import ClientRequest
from flare.http.client.response import ClientResponse, SendResult
from flare.http.client.state import ClientState
from flare.http.client.task import RequestTask
from flare.http.client.task_event import TaskEvent, TaskProgress
from flare.url.url import Url
from flare.io.stream import Readable, Writable
from flare.net.error import NetworkError
from flare.runtime.event import Interest
from flare.runtime.reactor import Reactor
from flare.runtime.timer_wheel import TimerId
from flare.sys.clock import Deadline
from flare.sys.errno import EINTR, OsError
from flare.sys.poll import POLL_READ, POLL_WRITE, PollEntry, poll_descriptors
from std.memory import ArcPointer


def run_task[
    R: Readable, W: Writable, P: TransferProgress
](
    mut state: ClientState,
    var request: PreparedRequest,
    mut source: R,
    mut sink: W,
    mut progress: P,
) raises ClientError -> ClientResponse:
    """Sends one request, and waits until its final response is there.

    Parameters:
        R: The source's type.
        W: The sink's type.
        P: The type of who is told how far it is.

    Args:
        state: The client.
        request: The request.
        source: Where streamed content comes from.
        sink: Where streamed content of the response goes.
        progress: Is told how far it is.

    Returns:
        The response behind all redirections.

    Raises:
        ClientError: If it fails for good.
    """
    var task = RequestTask(request^, state)
    var meter = TransferMeter()
    while True:
        var found = go_on(task, state, source, progress, meter)
        if found == TaskProgress.DONE:
            return task^.finish(state)
        try:
            _pass_on(task, sink)
        except error:
            raise task.named(state, error^)


struct TransferMeter(TrivialRegisterPassable):
    """What was told of a transfer."""

    var sent_len: Int
    """How much of the request's content has gone, in bytes."""
    var received_len: Int
    """How much of the response's content has come, in bytes."""

    def __init__(out self):
        """Begins with nothing."""
        self.sent_len = 0
        self.received_len = 0


def _tell[
    P: TransferProgress
](
    task: RequestTask, mut progress: P, mut meter: TransferMeter
) raises ClientError:
    """Says how far it is, if that has changed."""
    var sent_len = task.sent_len()
    var received_len = task.received_len()
    try:
        if sent_len != meter.sent_len:
            meter.sent_len = sent_len
            progress.on_progress(Transfer(True, sent_len, task.upload_len()))
    except error:
        raise ClientError(
            task.phase(), materialize[SourceFailed](), String(error)
        )
    try:
        if received_len != meter.received_len:
            meter.received_len = received_len
            progress.on_progress(
                Transfer(False, received_len, task.content_len())
            )
    except error:
        raise ClientError(
            task.phase(), materialize[SinkFailed](), String(error)
        )


def go_on[
    R: Readable, P: TransferProgress
](
    mut task: RequestTask,
    mut state: ClientState,
    mut source: R,
    mut progress: P,
    mut meter: TransferMeter,
) raises ClientError -> TaskProgress:
    """Goes on with a task, and waits, until there is something for the caller.

    Parameters:
        R: The source's type.
        P: The type of who is told how far it is.

    Args:
        task: The request under way.
        state: The client.
        source: Where streamed content comes from.
        progress: Is told how far it is.
        meter: What it was told.

    Returns:
        HAS_HEAD, HAS_CONTENT or DONE.

    Raises:
        ClientError: If the request fails for good.
    """
    var event = TaskEvent.NONE
    while True:
        check_cancelled(task, state)
        var found = task.advance(state, event)
        comptime if not P == NoProgress:
            try:
                _tell(task, progress, meter)
            except error:
                raise task.named(state, error^)
        if found != TaskProgress.WAIT:
            # The caller's source and sink may take their time.
            _ = task.flush()
            if found != TaskProgress.WANTS_CONTENT:
                return found
        try:
            if found == TaskProgress.WAIT:
                event = _wait(task)
                continue
            _feed(task, source)
            # A response may be on its way while content still goes out.
            event = TaskEvent.NONE
            if task.request.content_use.is_lent():
                event = TaskEvent.READABLE
        except error:
            raise task.named(state, error^)


def check_cancelled(
    mut task: RequestTask, mut state: ClientState
) raises ClientError:
    """Ends a request that its caller wants no more."""
    if not task.request.is_cancelled():
        return
    var phase = materialize[Phase.CONNECT]()
    if task.is_exchanging() or task.is_streaming():
        phase = task.phase()
    raise task.named(state, task.request.cancel.value().error(phase))


def _wait_or_end(
    mut task: RequestTask, wait_ms: Int
) raises ClientError -> TaskEvent:
    """Waits for a task and for its token."""
    var entries: List[PollEntry]
    if task.is_streaming():
        entries = [task.watch()]
    else:
        entries = task.watches()
    entries.append(PollEntry(task.request.cancel.value().fd(), POLL_READ, 0))
    var result = poll_descriptors(Span(entries), wait_ms)
    if not task.is_exchanging() and not task.is_streaming():
        return TaskEvent.NONE
    if result == 0:
        return TaskEvent.TIMEOUT
    if result < 0 and result != -EINTR:
        raise ClientError(task.phase(), NetworkError(OsError("poll", -result)))
    if result < 0 or entries[0].found == 0 or entries[0].found == POLL_WRITE:
        return TaskEvent.NONE
    return TaskEvent.READABLE


def _wait(mut task: RequestTask) raises ClientError -> TaskEvent:
    """Waits until a task is worth another step."""
    if task.flush():
        return TaskEvent.NONE
    var wait_ms = task.wait_ms()
    if wait_ms == 0:
        return TaskEvent.TIMEOUT
    if task.request.cancel:
        return _wait_or_end(task, wait_ms)
    if not task.is_exchanging() and not task.is_streaming():
        var several = task.watches()
        # Whatever comes of it, the task looks for itself.
        _ = poll_descriptors(several, wait_ms)
        return TaskEvent.NONE
    var entries = Array[PollEntry, 1](fill=task.watch())
    var result = poll_descriptors(Span(entries), wait_ms)
    if result == 0:
        return TaskEvent.TIMEOUT
    if result == -EINTR:
        return TaskEvent.NONE
    if result < 0:
        raise ClientError(task.phase(), NetworkError(OsError("poll", -result)))
    # Errors and the end of the stream are met by reading.
    if entries[0].found == POLL_WRITE:
        return TaskEvent.NONE
    return TaskEvent.READABLE


def _feed[R: Readable](mut task: RequestTask, mut source: R) raises ClientError:
    """Takes the next piece of streamed content."""
    var piece = List[UInt8](length=PIECE_LEN, fill=0)
    var count: Int
    try:
        count = source.read(Span(piece))
    except error:
        raise ClientError(
            task.phase(), materialize[SourceFailed](), String(error)
        )
    if count < 0 or count > PIECE_LEN:
        raise ClientError(
            task.phase(),
            materialize[SourceFailed](),
            String("the source claims to have read ", count, " bytes"),
        )
    task.feed(piece[0:count])


def _pass_on[
    W: Writable
](mut task: RequestTask, mut sink: W) raises ClientError:
    """Writes decoded content to the caller's sink."""
    ref content = task.content()
    var start = 0
    var length = len(content)
    while start < length:
        var count: Int
        try:
            count = sink.write(content[start:])
        except error:
            raise ClientError(
                materialize[Phase.READ_BODY](),
                materialize[SinkFailed](),
                String(error),
            )
        if count < 1 or count > length - start:
            raise ClientError(
                materialize[Phase.READ_BODY](),
                materialize[SinkFailed](),
                String("the sink claims to have taken ", count, " bytes"),
            )
        start += count
    content.clear()


struct NoStream(Readable, Writable):
    """The source and the sink of a request that has its content in memory."""

    def __init__(out self):
        """Makes one."""
        pass

    def read(mut self, room: MutSpan[UInt8, _]) raises -> Int:
        """Has nothing to read.

        Args:
            room: Where to.

        Returns:
            0, for the end.

        Raises:
            Error: Never.
        """
        return 0

    def write(mut self, octets: Span[UInt8, _]) raises -> Int:
        """Lets octets vanish.

        Args:
            octets: The octets.

        Returns:
            How many there are.

        Raises:
            Error: Never.
        """
        return len(octets)


struct _WaitingRequest(Movable):
    """A request that has not begun."""

    var index: Int
    var request: PreparedRequest

    def __init__(out self, index: Int, var request: PreparedRequest):
        self.index = index
        self.request = request^

    def start(deinit self, mut state: ClientState, owner: Int) -> RequestTask:
        # It may have waited for others until now.
        self.request.timeouts.restart()
        return RequestTask(self.request^, state, owner)


def run_tasks(
    mut state: ClientState,
    requests: List[ClientRequest],
    base: Optional[Url],
    auth: Credentials,
    max_parallel: Int,
) raises ClientError -> List[SendResult]:
    """Sends requests, so many at a time.

    Args:
        state: The client.
        requests: The requests.
        base: The client's base URL.
        auth: The client's credentials.
        max_parallel: Most requests under way at once.

    Returns:
        What became of them, each in its place.

    Raises:
        ClientError: If there is no reactor to be had.
    """
    var results = List[SendResult](capacity=len(requests))
    var waiting = List[_WaitingRequest]()
    for index in range(len(requests)):
        # Replaced by what becomes of the request.
        var failure = ClientError(
            materialize[Phase.REQUEST](), materialize[BadRequest](), ""
        )
        try:
            var request = requests[index].copy()
            var prepared = prepare_request(
                request^, Upload(), base, auth, Pointer(to=state.config)
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
        tokens.watch(waiting[index].request.cancel, reactor)
    for index in range(len(lanes)):
        var is_idle = lanes[index].turn(
            UInt64(index), state, reactor, waiting, results, TaskEvent.NONE
        )
        busy_count -= Int(is_idle)
    var shared = _SharedLinks()
    # Each round costs what is ready or due, however many others are silent.
    while True:
        var woken = shared.settle(state, reactor)
        for owner in woken:
            if owner >= len(lanes) or not lanes[owner].task:
                # It was over before its turn came.
                continue
            var is_idle = lanes[owner].turn(
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
            if not lanes[Int(token)].task:
                # It had two descriptors ready, and was over with the first.
                continue
            var is_idle = lanes[Int(token)].turn(
                token, state, reactor, waiting, results, TaskEvent.READABLE
            )
            busy_count -= Int(is_idle)
        while True:
            var expired = reactor.next_expired()
            if not expired:
                break
            var token = expired.value()
            var is_idle = lanes[Int(token)].turn_if_due(
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
        if lanes[index].task and (
            lanes[index].task.value().request.is_cancelled()
        ):
            count += Int(
                lanes[index].turn(
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


struct _SharedLinks(Movable):
    """The connections that requests share: each is received from once, and what
    all its requests have to send is sent at once."""

    var _watched: List[_WatchedLink]

    def __init__(out self):
        self._watched = []

    def pump(mut self, state: ClientState, number: Int32):
        """Takes what has arrived on a connection."""
        for index in range(len(self._watched)):
            if state.has_left(self._watched[index].link):
                continue
            ref link = self._watched[index].link[]
            if link.fd() == number:
                link.pump()
                return

    def settle(
        mut self, mut state: ClientState, mut reactor: Reactor
    ) raises OsError -> List[Int]:
        """Sends what waits, and watches for what comes next.

        Returns:
            The lanes that can go on.
        """
        for index in range(len(state.links)):
            self._begin(state.links[index], reactor)
        for index in range(len(self._watched) - 1, -1, -1):
            ref link = self._watched[index].link[]
            if state.has_left(self._watched[index].link):
                reactor.deregister(link.fd())
                _ = self._watched.pop(index)
                continue
            if link.wants_write():
                link.flush()
            state.woken.extend(link.woken.copy())
            link.woken.clear()
            if link.failure or (link.is_closing and not link.is_in_use()):
                reactor.deregister(link.fd())
                _ = self._watched.pop(index)
            else:
                self._watch(index, reactor)
        var woken = List[Int]()
        swap(woken, state.woken)
        return woken^

    def _begin(
        mut self, link: ArcPointer[Http2Link], mut reactor: Reactor
    ) raises OsError:
        var number = link[].fd()
        for index in range(len(self._watched)):
            if self._watched[index].link[].fd() == number:
                return
        reactor.register(number, LINK_TOKEN + UInt64(number), Interest.READ)
        self._watched.append(_WatchedLink(link))

    def _watch(mut self, index: Int, mut reactor: Reactor) raises OsError:
        ref watched = self._watched[index]
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
        """Goes on with a request, and with the next ones if it is over.

        Returns:
            True if there is none left.
        """
        var cause = event
        while True:
            if not self.task:
                if len(waiting) == 0:
                    break
                self._watch(reactor, token, [], -1)
                self._index = waiting[len(waiting) - 1].index
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
            if not _is_done(self.task.value(), state, event):
                return False
            results[self._index] = SendResult(self.task.take().finish(state))
        except error:
            results[self._index] = SendResult(error^)
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
                reactor.modify(entries[0].number, token, _interest(entries[0]))
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
                reactor.register(entry.number, token, _interest(entry))
        self._watched = entries^
        self._watched_number = number


def _is_done(
    mut task: RequestTask, mut state: ClientState, event: TaskEvent
) raises ClientError -> Bool:
    """Goes on with a task; what is always ready may still be overdue."""
    check_cancelled(task, state)
    var progress = task.advance(state, event)
    while progress != TaskProgress.DONE:
        if task.gives_way() or task.wait_ms() != 0:
            return False
        progress = task.advance(state, TaskEvent.TIMEOUT)
    return True


def _interest(entry: PollEntry) -> Interest:
    if entry.wanted == POLL_WRITE:
        return Interest.WRITE
    if (entry.wanted & POLL_WRITE) != 0:
        return Interest.READ | Interest.WRITE
    return Interest.READ

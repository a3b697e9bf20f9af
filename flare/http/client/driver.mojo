"""Who waits for requests: a blocking call for one, a reactor for many."""

from flare.http.client.attempt import Attempt, PIECE_LEN, Patience, Step
from flare.http.client.auth import Credentials
from flare.http.client.client_state import ClientState
from flare.http.client.connector import Opening
from flare.http.client.error import (
    BadRequest,
    ClientError,
    Phase,
    SinkFailed,
    SourceFailed,
)
from flare.http.client.pool import ClientConnection
from flare.http.client.prepared_request import Call, Upload, prepare_call
from flare.http.client.request import ClientRequest
from flare.http.client.response import (
    ClientResponse,
    ContentUse,
    ResponseBuilder,
    SendResult,
)
from flare.http.client.retry import is_stale, may_retry
from flare.http.client.task import (
    Flight,
    append_content,
    apply_step,
    begin_attempt,
)
from flare.url.url import Url
from flare.io.stream import Readable, Writable
from flare.net.error import NetworkError
from flare.runtime.event import Interest
from flare.runtime.reactor import Reactor
from flare.runtime.timer_wheel import TimerId
from flare.sys.errno import EINTR, OsError
from flare.sys.poll import POLL_READ, POLL_WRITE, PollEntry, poll_descriptors


def run_call[
    R: Readable, W: Writable
](
    mut state: ClientState, mut call: Call, mut source: R, mut sink: W
) raises ClientError -> ClientResponse:
    """Sends a request until its final response is there.

    Parameters:
        R: The source's type.
        W: The sink's type.

    Args:
        state: The client.
        call: The request.
        source: Where streamed content comes from.
        sink: Where streamed content of the response goes.

    Returns:
        The response behind all redirections.

    Raises:
        ClientError: If it fails for good.
    """
    while True:
        var builder = ResponseBuilder(call.url.copy(), call.redirect_count)
        state.add_cookies(call)
        _exchange_safely(state, call, builder, source, sink)
        state.keep_cookies(builder.response)
        if call.will_stop_expecting(
            builder.response, state.attempt.content_len
        ):
            call.expects_continue = False
            continue
        if not call.will_follow(builder.response):
            return builder^.take_response()
        call.follow(builder.response, state.config)


def _exchange_safely[
    R: Readable, W: Writable
](
    mut state: ClientState,
    mut call: Call,
    mut builder: ResponseBuilder,
    mut source: R,
    mut sink: W,
) raises ClientError:
    """Repeats an exchange as long as that is safe and allowed."""
    var may_reuse = True
    while True:
        var was_reused = False
        try:
            _exchange(state, call, builder, source, sink, may_reuse, was_reused)
            return
        except error:
            var failed = call.describe_failure(state.attempt)
            if was_reused and is_stale(failed, error):
                may_reuse = False
                continue
            if not may_retry(failed, error):
                raise error^
            var pause_ms = call.plan_retry(state.config)
            if pause_ms < 0:
                raise error^
            var nothing = Array[PollEntry, 1](fill=PollEntry(-1, 0, 0))
            _ = poll_descriptors(Span(nothing), pause_ms)


def _exchange[
    R: Readable, W: Writable
](
    mut state: ClientState,
    mut call: Call,
    mut builder: ResponseBuilder,
    mut source: R,
    mut sink: W,
    may_reuse: Bool,
    mut was_reused: Bool,
) raises ClientError:
    """Runs one exchange, on an idle connection if there is one."""
    call.patience.begin_attempt()
    begin_attempt(state.attempt, call, state.config)
    var idle = Optional[ClientConnection]()
    if may_reuse:
        idle = state.take_idle(call.endpoint)
    was_reused = idle.__bool__()
    var connection = idle.take() if was_reused else open_connection(state, call)
    drive(state, connection, call, builder, source, sink)
    var is_reusable = state.attempt.exchange.is_reusable()
    state.end_exchange(connection^, is_reusable, builder.response)


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


def drive[
    R: Readable, W: Writable
](
    mut state: ClientState,
    mut connection: ClientConnection,
    mut call: Call,
    mut builder: ResponseBuilder,
    mut source: R,
    mut sink: W,
) raises ClientError:
    """Sends a request and receives its response.

    Parameters:
        R: The source's type.
        W: The sink's type.

    Args:
        state: The client, with the request's head in its attempt.
        connection: The connection.
        call: The request.
        builder: Gets the response.
        source: Where streamed content comes from.
        sink: Where streamed content of the response goes.

    Raises:
        ClientError: If it fails.
    """
    ref attempt = state.attempt
    while True:
        var step = attempt.step(connection, state.config.head_limits)
        if step == Step.WAIT:
            wait_for_attempt(attempt, connection, call.patience)
            continue
        if step == Step.NEEDS_CONTENT and call.upload.is_streamed:
            _feed(attempt, call, source)
            continue
        var is_over = apply_step(step, attempt, call, builder, state.config)
        if builder.use == ContentUse.PASS_ON:
            _pass_on(builder, sink)
            while step == Step.CONTENT and builder.has_more(attempt.exchange):
                builder.take_more(attempt.exchange)
                _pass_on(builder, sink)
        if is_over:
            return


def _feed[
    R: Readable
](mut attempt: Attempt, call: Call, mut source: R) raises ClientError:
    """Takes the next piece of streamed content."""
    var piece = List[UInt8](length=PIECE_LEN, fill=0)
    var count: Int
    try:
        count = source.read(Span(piece))
    except error:
        raise ClientError(
            attempt.phase(), materialize[SourceFailed](), String(error)
        )
    if count < 0 or count > PIECE_LEN:
        raise ClientError(
            attempt.phase(),
            materialize[SourceFailed](),
            String("the source claims to have read ", count, " bytes"),
        )
    append_content(attempt, call, piece[0:count])


def _pass_on[
    W: Writable
](mut builder: ResponseBuilder, mut sink: W) raises ClientError:
    """Writes decoded content to the caller's sink."""
    var start = 0
    var length = len(builder.content)
    while start < length:
        var count: Int
        try:
            count = sink.write(builder.content[start:])
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
    builder.content.clear()


def wait_for_attempt(
    mut attempt: Attempt,
    mut connection: ClientConnection,
    mut patience: Patience,
) raises ClientError:
    """Waits until a connection is worth another step, and reads from it.

    Args:
        attempt: The attempt whose step was `WAIT`.
        connection: The connection.
        patience: How long to wait.

    Raises:
        ClientError: If the time is over, or the connection fails.
    """
    var wait_ms = patience.wait_ms(attempt)
    if wait_ms == 0:
        return patience.check(attempt, connection)
    if connection.transport.has_buffered():
        _ = attempt.receive(connection)
        return
    var wanted = POLL_READ
    if attempt.wants_write() or connection.transport.wants_write():
        wanted |= POLL_WRITE
    var entries = Array[PollEntry, 1](
        fill=PollEntry(connection.transport.fd(), wanted, 0)
    )
    var result = poll_descriptors(Span(entries), wait_ms)
    if result == 0:
        return patience.check(attempt, connection)
    if result < 0:
        if result == -EINTR:
            return
        raise ClientError(
            attempt.phase(), NetworkError(OsError("poll", -result))
        )
    # Errors and the end of the stream are met by reading.
    if entries[0].found != POLL_WRITE:
        _ = attempt.receive(connection)


def open_connection(
    mut state: ClientState, call: Call
) raises ClientError -> ClientConnection:
    """Opens a connection for a request.

    Args:
        state: The client.
        call: The request.

    Returns:
        The connection, ready for the request.

    Raises:
        ClientError: If it cannot be opened in time.
    """
    var opening = Opening(call, state.config.connect_timeout_ms)
    while not opening.advance(state):
        var entries = opening.watches()
        # Whatever comes of it, `advance` looks for itself.
        _ = poll_descriptors(entries, opening.wait_ms())
    return opening^.take()


struct WaitingCall(Movable):
    """A request that has not begun."""

    var index: Int
    """Its place among the caller's requests."""
    var call: Call
    """The request."""

    def __init__(out self, index: Int, var call: Call):
        """Joins the two.

        Args:
            index: Its place among the caller's requests.
            call: The request.
        """
        self.index = index
        self.call = call^

    def start(deinit self) -> Flight:
        """Begins it.

        Returns:
            The request under way.
        """
        return Flight(self.index, self.call^)


def run_parallel(
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
    var waiting = List[WaitingCall]()
    for index in range(len(requests)):
        # Replaced by what becomes of the request.
        var failure = ClientError(
            materialize[Phase.REQUEST](), materialize[BadRequest](), ""
        )
        try:
            var request = requests[index].copy()
            var call = prepare_call(
                request^, Upload(), base, auth, state.config
            )
            waiting.append(WaitingCall(index, call^))
        except error:
            failure = error^
        results.append(SendResult(failure^))
    waiting.reverse()
    try:
        _run(state, waiting, max_parallel, results)
        return results^
    except error:
        raise ClientError(materialize[Phase.CONNECT](), NetworkError(error))


def _run(
    mut state: ClientState,
    mut waiting: List[WaitingCall],
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
    for index in range(len(lanes)):
        var is_idle = lanes[index].turn(
            UInt64(index), state, reactor, waiting, results, False
        )
        busy_count -= Int(is_idle)
    # Each round costs what is ready or due, however many others are silent.
    while busy_count > 0:
        for index in range(reactor.poll()):
            var token = reactor.event(index).token
            if not lanes[Int(token)].flight:
                # It had two descriptors ready, and was over with the first.
                continue
            var is_idle = lanes[Int(token)].turn(
                token, state, reactor, waiting, results, True
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


struct _Lane(Movable):
    """Requests one after the other."""

    var flight: Optional[Flight]
    # What the reactor watches for it, and in which attempt.
    var _watched: List[PollEntry]
    var _watched_number: Int
    # Expires when the flight is due, or before.
    var _timer: TimerId

    def __init__(out self):
        self.flight = None
        self._watched = []
        self._watched_number = -1
        self._timer = TimerId.NONE

    def turn_if_due(
        mut self,
        token: UInt64,
        mut state: ClientState,
        mut reactor: Reactor,
        mut waiting: List[WaitingCall],
        mut results: List[SendResult],
    ) raises OsError -> Bool:
        """Goes on if the time for that has come; the timer has expired."""
        self._timer = TimerId.NONE
        if not self.flight:
            return False
        if not self.flight.value().is_due():
            self._set_timer(reactor, token)
            return False
        return self.turn(token, state, reactor, waiting, results, False)

    def _set_timer(mut self, mut reactor: Reactor, token: UInt64):
        _ = reactor.cancel_timer(self._timer)
        self._timer = TimerId.NONE
        var wait_ms = self.flight.value().wait_ms()
        if wait_ms >= 0:
            self._timer = reactor.insert_timer(wait_ms, token)

    def turn(
        mut self,
        token: UInt64,
        mut state: ClientState,
        mut reactor: Reactor,
        mut waiting: List[WaitingCall],
        mut results: List[SendResult],
        is_ready: Bool,
    ) raises OsError -> Bool:
        """Goes on with a request, and with the next ones if it is over.

        Returns:
            True if there is none left.
        """
        var may_read = is_ready
        while True:
            if not self.flight:
                if len(waiting) == 0:
                    break
                self._watch(reactor, token, [], -1)
                self.flight = waiting.pop().start()
                may_read = False
            if not self._advance(state, results, may_read):
                break
        if not self.flight:
            self._watch(reactor, token, [], -1)
            _ = reactor.cancel_timer(self._timer)
            return True
        ref flight = self.flight.value()
        var number = -1
        if flight.is_exchanging():
            number = flight.attempt_number
        self._watch(reactor, token, flight.watches(), number)
        self._set_timer(reactor, token)
        return False

    def _advance(
        mut self,
        mut state: ClientState,
        mut results: List[SendResult],
        is_ready: Bool,
    ) -> Bool:
        """Stores what becomes of the request; True if it is over."""
        var index = self.flight.value().index
        try:
            if not self.flight.value().advance(state, is_ready):
                return False
            results[index] = SendResult(self.flight.take().take_response())
        except error:
            results[index] = SendResult(error^)
            self.flight = None
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


def _interest(entry: PollEntry) -> Interest:
    if entry.wanted == POLL_WRITE:
        return Interest.WRITE
    if (entry.wanted & POLL_WRITE) != 0:
        return Interest.READ | Interest.WRITE
    return Interest.READ

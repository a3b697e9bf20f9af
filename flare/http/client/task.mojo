"""One request of many, from its first attempt to its final response, without
ever waiting.

    begin --> OPENING --> EXCHANGING --final response--> over
               |   ^       |  |  ^
               v   |       |  +--+ redirection, on a connection of the pool
              PAUSING <----+ failure that may be repeated
"""

from flare.http.client.attempt import Attempt, PIECE_LEN, Step
from flare.http.client.client_state import ClientState
from flare.http.client.config import ClientConfig
from flare.http.client.connector import Opening
from flare.http.client.error import ClientError, Phase, SourceFailed
from flare.http.client.pool import ClientConnection
from flare.http.client.prepared_request import Call, UNKNOWN_LEN
from flare.http.client.redirect import is_redirect
from flare.http.client.response import (
    ClientResponse,
    ContentUse,
    ResponseBuilder,
    url_without_credentials,
)
from flare.http.client.retry import is_stale, may_retry
from flare.http.h1.chunked import LAST_CHUNK, append_chunk
from flare.sys.clock import Deadline
from flare.sys.poll import POLL_READ, POLL_WRITE, PollEntry

comptime TURN_COUNT_MAX = 16
"""Most steps of one request before others have their turn: a fast server must
not keep them waiting."""

comptime _PAUSING = UInt8(0)
comptime _OPENING = UInt8(1)
comptime _EXCHANGING = UInt8(2)


struct Flight(Movable):
    """A request that is under way."""

    var index: Int
    """Its place among the caller's requests."""
    var attempt_number: Int
    """Counts the attempts, each of which may have another connection."""
    var _call: Call
    var _builder: ResponseBuilder
    var _attempt: Attempt
    var _opening: Optional[Opening]
    var _connection: Optional[ClientConnection]
    var _stage: UInt8
    var _pause: Deadline
    var _due: Deadline
    var _gives_way: Bool
    var _may_reuse: Bool
    var _was_reused: Bool

    def __init__(out self, index: Int, var call: Call):
        """Makes ready to send a request; its total time starts.

        Args:
            index: Its place among the caller's requests.
            call: The request.
        """
        self.index = index
        self.attempt_number = 0
        # It may have waited for others until now.
        call.patience.restart()
        self._builder = ResponseBuilder(call.url.copy(), 0)
        self._call = call^
        self._attempt = Attempt()
        self._opening = None
        self._connection = None
        self._stage = _PAUSING
        self._pause = Deadline(0)
        self._due = Deadline(0)
        self._gives_way = False
        self._may_reuse = True
        self._was_reused = False

    def advance(
        mut self, mut state: ClientState, is_ready: Bool
    ) raises ClientError -> Bool:
        """Goes on with what is there.

        Args:
            state: The client.
            is_ready: True if a watched descriptor is ready; False if the time
                is over, or nothing is known.

        Returns:
            True if the response is complete; else call again when one of the
            `watches` is ready, or the flight `is_due`.

        Raises:
            ClientError: If the request fails for good.
        """
        var may_read = is_ready
        while True:
            try:
                var is_over = self._advance(state, may_read)
                self._due = Deadline(self._wait_ms())
                return is_over
            except error:
                self._opening = None
                self._connection = None
                var is_again = self._plan_again(state, error)
                if not is_again:
                    error.url = url_without_credentials(self._call.url)
                    raise error^
            may_read = False

    def _advance(
        mut self, mut state: ClientState, is_ready: Bool
    ) raises ClientError -> Bool:
        self._check_time(is_ready)
        self._gives_way = False
        var may_read = is_ready
        while True:
            if self._stage == _PAUSING:
                if self._pause.left_ms() > 0:
                    return False
                self._begin(state)
            if self._stage == _OPENING:
                if not self._opening.value().advance(state):
                    return False
                self._connection = self._opening.take().take()
                self._stage = _EXCHANGING
            if not self._exchange(state, may_read):
                return False
            may_read = False
            self._end_exchange(state)
            if self._call.will_stop_expecting(
                self._builder.response, self._attempt.content_len
            ):
                self._call.expects_continue = False
            elif not self._call.will_follow(self._builder.response):
                return True
            else:
                self._call.follow(self._builder.response, state.config)
            self._builder = ResponseBuilder(
                self._call.url.copy(), self._call.redirect_count
            )
            self._may_reuse = True
            self._stage = _PAUSING

    def _check_time(mut self, is_ready: Bool) raises ClientError:
        if self._stage != _EXCHANGING:
            return
        var is_late = self.is_due() and not is_ready and not self._gives_way
        if is_late or self._call.patience.total.left_ms() == 0:
            self._call.patience.check(self._attempt, self._connection.value())

    def _begin(mut self, mut state: ClientState) raises ClientError:
        """Begins an attempt, on an idle connection if there is one."""
        self.attempt_number += 1
        state.add_cookies(self._call)
        self._call.patience.begin_attempt()
        begin_attempt(self._attempt, self._call, state.config)
        self._connection = None
        if self._may_reuse:
            self._connection = state.take_idle(self._call.endpoint)
        self._was_reused = Bool(self._connection)
        self._stage = _EXCHANGING
        if not self._was_reused:
            self._opening = Opening(self._call, state.config.connect_timeout_ms)
            self._stage = _OPENING

    def _exchange(
        mut self, mut state: ClientState, may_read: Bool
    ) raises ClientError -> Bool:
        """Sends and receives; True if the exchange is over."""
        ref connection = self._connection.value()
        if may_read:
            _ = self._attempt.receive(connection)
        for _ in range(TURN_COUNT_MAX):
            var step = self._attempt.step(connection, state.config.head_limits)
            if step != Step.WAIT:
                if apply_step(
                    step, self._attempt, self._call, self._builder, state.config
                ):
                    return True
            elif connection.transport.has_buffered():
                _ = self._attempt.receive(connection)
            else:
                return False
        self._gives_way = True
        return False

    def _end_exchange(mut self, mut state: ClientState):
        var connection = self._connection.take()
        var is_reusable = self._attempt.exchange.is_reusable()
        state.end_exchange(connection^, is_reusable, self._builder.response)
        state.keep_cookies(self._builder.response)

    def _plan_again(
        mut self, mut state: ClientState, error: ClientError
    ) -> Bool:
        """Decides whether the request is sent once more."""
        var failed = self._call.describe_failure(self._attempt)
        self._stage = _PAUSING
        self._pause = Deadline(0)
        if self._was_reused and is_stale(failed, error):
            self._was_reused = False
            self._may_reuse = False
            return True
        if not may_retry(failed, error):
            return False
        var pause_ms = self._call.plan_retry(state.config)
        self._pause = Deadline(max(pause_ms, 0))
        return pause_ms >= 0

    def _wait_ms(self) -> Int:
        if self._stage == _PAUSING:
            return self._pause.left_ms()
        if self._stage == _OPENING:
            return self._opening.value().wait_ms()
        if self._gives_way:
            return 0
        return self._call.patience.wait_ms(self._attempt)

    def wait_ms(self) -> Int:
        """Tells how long it may be left alone.

        Returns:
            Milliseconds; negative for ever.
        """
        return self._due.left_ms()

    def is_due(self) -> Bool:
        """Tells whether to call `advance` although no descriptor is ready.

        Returns:
            True if so.
        """
        return self._due.left_ms() == 0

    def is_exchanging(self) -> Bool:
        """Tells whether it has one connection, and keeps it until it is over.

        Returns:
            True while the `watches` of one attempt differ in what is wanted
            alone.
        """
        return self._stage == _EXCHANGING

    def watches(self) -> List[PollEntry]:
        """Tells which descriptors to wait for.

        Returns:
            The descriptors; good until the next `advance`.
        """
        if self._stage == _OPENING:
            return self._opening.value().watches()
        if self._stage == _PAUSING or not self._connection:
            return []
        ref transport = self._connection.value().transport
        var wanted = POLL_READ
        if self._attempt.wants_write() or transport.wants_write():
            wanted |= POLL_WRITE
        return [PollEntry(transport.fd(), wanted, 0)]

    def take_response(deinit self) -> ClientResponse:
        """Gives the response.

        Returns:
            The response; `advance` must have answered True.
        """
        return self._builder^.take_response()


def begin_attempt(
    mut attempt: Attempt, call: Call, config: ClientConfig
) raises ClientError:
    """Writes a request's head, and its content if that is small.

    Args:
        attempt: The attempt.
        call: The request.
        config: The client's configuration.

    Raises:
        ClientError: If a part of the request must not be sent.
    """
    var asks = call.expects_continue and call.has_content()
    attempt.begin(call.method, asks, config.strict)
    call.write_head(attempt.output, config)
    if call.upload.is_streamed:
        return
    if not asks:
        _append_from_memory(attempt, call)


def apply_step(
    step: Step,
    mut attempt: Attempt,
    call: Call,
    mut builder: ResponseBuilder,
    config: ClientConfig,
) raises ClientError -> Bool:
    """Does what a step other than `WAIT` asks for.

    Args:
        step: The step; `NEEDS_CONTENT` only for content in memory.
        attempt: The attempt.
        call: The request.
        builder: Gets the response.
        config: The client's configuration.

    Returns:
        True if the exchange is over.

    Raises:
        ClientError: If the content cannot be decoded.
    """
    if step == Step.NEEDS_CONTENT:
        _append_from_memory(attempt, call)
    elif step == Step.HEAD:
        builder.take_head(attempt.exchange)
        var use = _use(attempt, call, builder)
        builder.choose_use(attempt.exchange, use, config)
        if use == ContentUse.PASS_ON:
            attempt.size_setting = "max_download_size"
        else:
            attempt.size_setting = "max_response_size"
    elif step == Step.CONTENT:
        builder.take_content(attempt.exchange)
        # A sink takes its pieces one by one.
        while builder.use == ContentUse.KEEP and builder.has_more(
            attempt.exchange
        ):
            builder.take_more(attempt.exchange)
        return not builder.is_worth_reading(attempt.exchange)
    else:
        builder.take_end(attempt.exchange)
        return True
    return False


def _use(attempt: Attempt, call: Call, builder: ResponseBuilder) -> ContentUse:
    var status = builder.response.status
    if call.will_follow(builder.response):
        return ContentUse.DISCARD
    if call.will_stop_expecting(builder.response, attempt.content_len):
        return ContentUse.DISCARD
    if call.wants_stream and status >= 200 and status < 300:
        return ContentUse.PASS_ON
    return ContentUse.KEEP


def _append_from_memory(mut attempt: Attempt, call: Call):
    ref content = call.body.content
    var start = attempt.content_len
    var end = min(start + PIECE_LEN, len(content))
    attempt.output.append(content.as_bytes()[start:end])
    attempt.content_len = end
    if end == len(content):
        attempt.end_content()


def append_content(
    mut attempt: Attempt, call: Call, octets: Span[UInt8, _]
) raises ClientError:
    """Frames the next piece of streamed content.

    Args:
        attempt: The attempt.
        call: The request.
        octets: The piece; empty at the end of the source.

    Raises:
        ClientError: If the content is not as long as it was said to be.
    """
    var wanted = call.upload.content_len
    attempt.content_len += len(octets)
    if wanted == UNKNOWN_LEN:
        append_chunk(attempt.output, octets)
        if len(octets) == 0:
            attempt.output.append(LAST_CHUNK.as_bytes())
            attempt.end_content()
        return
    var is_short = len(octets) == 0 and attempt.content_len < wanted
    if is_short or attempt.content_len > wanted:
        raise ClientError(
            attempt.phase(),
            materialize[SourceFailed](),
            String(
                "the source has given ",
                attempt.content_len,
                " bytes of content announced with ",
                wanted,
            ),
        )
    attempt.output.append(octets)
    if attempt.content_len == wanted:
        attempt.end_content()

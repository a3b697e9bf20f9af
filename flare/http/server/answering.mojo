"""From a complete request to its response in the output."""

from flare.http.h1.exchange import Exchange
from flare.http.h1.protocol_error import RemoteProtocolError
from flare.http.h1.serialiser import (
    ResponseFraming,
    SWITCHING_PROTOCOLS,
    asks_for_close,
    ends_with_close,
    is_chunked,
    sends_content,
    write_response_head,
)
from flare.http.message.method import Method
from flare.http.message.request import Request
from flare.http.message.response import Response, internal_error
from flare.http.message.request_notes import NoteLoan
from flare.http.routing.bad_input import bad_input_of
from flare.http.routing.handler import Handler, HeadOnly
from flare.http.server.connection import Connection
from flare.http.server.error_log import log_handler_error
from flare.http.server.sending import COPIED_BODY_LEN_MAX, flush_with_body
from flare.http.server.streaming import hear, start_stream
from flare.http.server.worker_state import WorkerState
from flare.sys.log import log_line
from std.sys.intrinsics import likely, unlikely


@fieldwise_init
struct Answer(TrivialRegisterPassable):
    """What became of a request."""

    var keeps_alive: Bool
    """False if the connection ends with this response."""
    var is_broken: Bool
    """True if the connection failed while sending."""


@no_inline
def answer[
    H: Handler
](
    mut exchange: Exchange,
    mut connection: Connection,
    mut state: WorkerState,
    handler: H,
) -> Answer:
    """Lets the handler answer the complete request that is first.

    Parameters:
        H: The handler's type.

    Args:
        exchange: Has the request; it is dropped.
        connection: Where it came from.
        state: The worker's state; the response goes to its output.
        handler: Answers.

    Returns:
        What became of it.
    """
    var response = _call(exchange, connection, state, handler)
    return conclude(exchange, connection, state, response^)


comptime SKIPPED_LEN_MAX = 64 * 1024
"""Most content that is skipped behind an answer that did not need it, so that
the connection may go on, in bytes. A form of a page fits, an upload does not."""


@no_inline
def answer_by_head[
    H: Handler
](
    mut exchange: Exchange,
    mut connection: Connection,
    mut state: WorkerState,
    handler: H,
    owes_continue: Bool,
) -> Answer:
    """Lets the handler answer a request whose content it does not need, and of
    which a part is still to come.

    Little content is skipped when it comes. With much, or chunks, or a client
    that may send it or not (RFC 9110 section 10.1.1), the connection ends.

    Parameters:
        H: The handler's type.

    Args:
        exchange: Has the request's head; it is dropped.
        connection: Where it came from.
        state: The worker's state; the response goes to its output.
        handler: Answers.
        owes_continue: True if the client waits for 100 (Continue).

    Returns:
        What became of it.
    """
    var rest_len = exchange.leave_content()
    if rest_len < 0 or rest_len > SKIPPED_LEN_MAX or owes_continue:
        exchange.end_connection()
    state.params[].clear()
    # SAFETY: as in `_call`.
    var request = exchange.request[ImmUntrackedOrigin](
        connection.peer, state.params_pointer(), tls=connection.tls_peer
    )
    var note = HeadOnly()
    var loan = NoteLoan(request.notes(), note)
    var response = call_handler(handler, request, state.config.logs_errors)
    loan^.end()
    var result = conclude(exchange, connection, state, response^)
    if result.keeps_alive:
        exchange.skip(rest_len)
    else:
        connection.lingers = True
    return result


@no_inline
def conclude(
    mut exchange: Exchange,
    mut connection: Connection,
    mut state: WorkerState,
    var response: Response,
) -> Answer:
    """Puts the response to the complete request that is first into the output.

    Args:
        exchange: Has the request; it is dropped.
        connection: Where it came from.
        state: The worker's state.
        response: What the handler answered.

    Returns:
        What became of it.
    """
    var is_head = exchange.head.method == Method.HEAD
    var minor_version = exchange.head.minor_version
    var keeps_alive = (
        exchange.head.framing.keeps_alive(minor_version)
        and not state.is_draining
        and state.now_ms < connection.retire_ms
    )
    connection.request_count += 1
    state.request_count += 1
    var request_max = state.config.max_keepalive_requests
    if unlikely(
        request_max > 0 and connection.request_count >= UInt64(request_max)
    ):
        keeps_alive = False
    if unlikely(len(response.headers.lines_octets()) > 0):
        keeps_alive = keeps_alive and not asks_for_close(response.headers)
    if unlikely(ends_with_close(response, minor_version)):
        keeps_alive = False
    # A client that was not told of the end before may have sent more.
    connection.lingers = not keeps_alive and exchange.head.framing.keeps_alive(
        minor_version
    )
    exchange.finish()
    var framing = ResponseFraming(is_head, keeps_alive, minor_version)
    if unlikely(response.status == SWITCHING_PROTOCOLS):
        connection.lingers = True
        write_response_head(state.out, response, framing, state.date)
        var is_sound = start_stream(
            connection, state, response.body.stream(), False
        )
        # What came behind the request is the conversation's.
        if is_sound and len(exchange.input) > 0:
            is_sound = hear(connection, state, exchange.input)
        return Answer(False, not is_sound)
    var is_sound = append_response(connection, state, response^, framing)
    return Answer(keeps_alive, not is_sound)


@no_inline
def _call[
    H: Handler
](
    exchange: Exchange,
    connection: Connection,
    mut state: WorkerState,
    handler: H,
) -> Response:
    state.params[].clear()
    # SAFETY: the request ends before the exchange changes; the handler's own
    # signature keeps it from holding on to a part of it.
    var request = exchange.request[ImmUntrackedOrigin](
        connection.peer, state.params_pointer(), tls=connection.tls_peer
    )
    return call_handler(handler, request, state.config.logs_errors)


@no_inline
def call_handler[
    H: Handler, o: ImmOrigin
](handler: H, request: Request[o], logs_errors: Bool) -> Response:
    """Lets a handler answer, whatever it does.

    Parameters:
        H: The handler's type.
        o: Where the request's octets live.

    Args:
        handler: Answers.
        request: The request.
        logs_errors: True to log what the handler raises.

    Returns:
        Its response; 500 if it raises or gives what is no final response, 400
        if it raises what the request has told it of bad input.
    """
    try:
        var response = handler.serve(request)
        var code = response.status.code
        if unlikely(code < 200 or code > 599):
            # 1xx is no final response, and others are none at all.
            if not response.body.listens() or code != SWITCHING_PROTOCOLS:
                raise Error("a handler answered with status ", code)
        elif unlikely(response.body.listens()):
            raise Error("a conversation needs status 101, not ", code)
        return response^
    except error:
        var bad_input = bad_input_of(request, error)
        if bad_input:
            return bad_input.value().response()
        if logs_errors:
            log_handler_error(request, error)
        return internal_error()


@no_inline
def append_response(
    mut connection: Connection,
    mut state: WorkerState,
    var response: Response,
    framing: ResponseFraming,
) -> Bool:
    """Puts a response into the output; large content is sent at once.

    Args:
        connection: Where it goes.
        state: The worker's state.
        response: The response.
        framing: How it is framed.

    Returns:
        False if the connection is broken.
    """
    write_response_head(state.out, response, framing, state.date)
    if unlikely(not sends_content(response, framing)):
        return True
    if unlikely(response.body.is_stream()):
        return start_stream(
            connection,
            state,
            response.body.stream(),
            is_chunked(response, framing),
        )
    if likely(len(response.body) <= COPIED_BODY_LEN_MAX):
        state.out.append(response.body.as_bytes())
        return True
    return flush_with_body(connection, state, response.body.copy())


@no_inline
def answer_error(
    mut connection: Connection,
    mut state: WorkerState,
    error: RemoteProtocolError,
    is_head: Bool,
):
    """Puts the answer to a broken rule into the output; it is the last one.

    Args:
        connection: Where it goes.
        state: The worker's state.
        error: The rule that was broken.
        is_head: True if the method of the request is known, and is HEAD.
    """
    _append_closing(
        connection, state, error.status(), String(error.rule.text()), is_head
    )


@no_inline
def answer_timeout(
    mut connection: Connection, mut state: WorkerState, is_head: Bool
):
    """Puts the answer to a request that came too slowly into the output.

    Args:
        connection: Where it goes.
        state: The worker's state.
        is_head: True if the method of the request is known, and is HEAD.
    """
    _append_closing(
        connection, state, 408, "the request did not arrive in time", is_head
    )


@no_inline
def answer_overload(mut connection: Connection, mut state: WorkerState):
    """Puts the refusal of a connection into the output.

    Args:
        connection: Where it goes.
        state: The worker's state.
    """
    _append_closing(
        connection, state, 503, "the server has too many connections", False
    )


@no_inline
def answer_full(
    mut connection: Connection, mut state: WorkerState, is_head: Bool
):
    """Puts the refusal of content that there is no memory for into the output;
    it is the last answer.

    Args:
        connection: Where it goes.
        state: The worker's state.
        is_head: True for a HEAD request.
    """
    _append_closing(
        connection,
        state,
        503,
        "the server holds too much unfinished content",
        is_head,
    )


@no_inline
def answer_plain_http(
    mut connection: Connection, mut state: WorkerState, is_head: Bool
):
    """Puts the answer to HTTP without TLS into the output.

    Args:
        connection: Where it goes, without TLS.
        state: The worker's state.
        is_head: True if the request is HEAD.
    """
    _append_closing(
        connection,
        state,
        400,
        "a plain HTTP request was sent to an HTTPS port; use https://",
        is_head,
    )


@no_inline
def answer_late(mut connection: Connection, mut state: WorkerState):
    """Puts the answer in place of a handler that takes too long into the
    output; it is the last one.

    Args:
        connection: Where it goes.
        state: The worker's state.
    """
    _append_closing(
        connection,
        state,
        503,
        "the answer could not be made in time",
        connection.is_head,
    )


def busy() -> Response:
    """Makes the answer for when all handler threads and their queue are full.

    Returns:
        A 503 with Retry-After (RFC 9110 section 10.2.3).
    """
    return refusal(503, "the server is busy\n")


def _append_closing(
    mut connection: Connection,
    mut state: WorkerState,
    status: Int,
    var reason: String,
    is_head: Bool,
):
    reason += "\n"
    _ = append_response(
        connection,
        state,
        refusal(status, reason^),
        ResponseFraming(is_head, False, 1),
    )


def refusal(status: Int, var reason: String) -> Response:
    """Makes an answer that says what is wrong.

    Args:
        status: The status; with 503 goes Retry-After.
        reason: What the content says, fit for strangers.

    Returns:
        The response.
    """
    var response = Response(
        status, reason^, content_type="text/plain; charset=utf-8"
    )
    if status == 503:
        try:
            response.headers.set("Retry-After", "1")
        except error:
            # Never, for both are well-formed.
            log_line(String(error))
    return response^

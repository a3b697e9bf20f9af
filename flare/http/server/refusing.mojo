"""What the server answers before, or in place of, the handler.

The handler's middleware sees such answers by `Handler.refuse`: it logs and
counts them, adds its fields, and may give them another shape. How they are
framed, and that the connection ends, is not its business.
"""

from flare.bytes.lend import lend_text
from flare.http.h1.exchange import Exchange
from flare.http.h1.protocol_error import RemoteProtocolError
from flare.http.h1.serialiser import ResponseFraming
from flare.http.message.fields import FieldLine, Fields
from flare.http.message.method import Method
from flare.http.message.request import Request, RequestLine
from flare.http.message.response import Response
from flare.http.message.version import Version
from flare.http.routing.failure_line import log_failure
from flare.http.server.answering import append_response, refusal
from flare.http.server.connection import Connection
from flare.http.server.worker_state import WorkerState


@no_inline
def answer_error(
    mut exchange: Exchange,
    mut connection: Connection,
    mut state: WorkerState,
    error: RemoteProtocolError,
):
    """Puts the answer to a broken rule into the output; it is the last one.

    Args:
        exchange: Has what was read of the request.
        connection: Where it goes.
        state: The worker's state.
        error: The rule that was broken.
    """
    # It is known even where the rest of the line is not.
    var is_head = exchange.head.method == Method.HEAD
    _answer_last(
        connection,
        state,
        _known(exchange, connection, state),
        error.status(),
        String(error.rule.text()),
        is_head,
    )


@no_inline
def answer_content_error(
    mut connection: Connection,
    mut state: WorkerState,
    error: RemoteProtocolError,
):
    """Puts the answer to broken content into the output, whose request a
    handler has already; it is the last one.

    Args:
        connection: Where it goes.
        state: The worker's state.
        error: The rule that was broken.
    """
    _answer_last(
        connection,
        state,
        _unknown(connection, state),
        error.status(),
        String(error.rule.text()),
        connection.is_head,
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
    comptime REASON = "the request did not arrive in time"
    if not connection.exchange:
        var request = _unknown(connection, state)
        _answer_last(connection, state, request, 408, REASON, is_head)
        return
    var box = connection.take_exchange()
    var request = _known(box[], connection, state)
    _answer_last(connection, state, request, 408, REASON, is_head)
    connection.exchange = box^


@no_inline
def answer_overload(mut connection: Connection, mut state: WorkerState):
    """Puts the refusal of a connection into the output.

    Args:
        connection: Where it goes.
        state: The worker's state.
    """
    var request = _unknown(connection, state)
    _answer_last(
        connection,
        state,
        request,
        503,
        "the server has too many connections",
        False,
    )


comptime _FULL = "the server holds too much unfinished content"


@no_inline
def answer_full(
    mut exchange: Exchange, mut connection: Connection, mut state: WorkerState
):
    """Puts the refusal of content that there is no memory for into the output;
    it is the last answer.

    Args:
        exchange: Has what was read of the request.
        connection: Where it goes.
        state: The worker's state.
    """
    var is_head = exchange.head.method == Method.HEAD
    var request = _known(exchange, connection, state)
    _answer_last(connection, state, request, 503, _FULL, is_head)


@no_inline
def answer_content_full(mut connection: Connection, mut state: WorkerState):
    """Puts the same into the output for a request that a handler has already.

    Args:
        connection: Where it goes.
        state: The worker's state.
    """
    var request = _unknown(connection, state)
    _answer_last(connection, state, request, 503, _FULL, connection.is_head)


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
    var request = _unknown(connection, state)
    _answer_last(
        connection,
        state,
        request,
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
    var request = _unknown(connection, state)
    _answer_last(
        connection,
        state,
        request,
        503,
        "the answer could not be made in time",
        connection.is_head,
    )


@no_inline
def busy(
    mut exchange: Exchange, connection: Connection, mut state: WorkerState
) -> Response:
    """Makes the answer for when all handler threads and their queue are full.

    Args:
        exchange: Has the request.
        connection: Where it came from.
        state: The worker's state.

    Returns:
        A 503 with Retry-After (RFC 9110 section 10.2.3).
    """
    var request = _known(exchange, connection, state)
    return _refusal(state, request, 503, "the server is busy")


def _answer_last(
    mut connection: Connection,
    mut state: WorkerState,
    request: Request,
    status: Int,
    reason: String,
    is_head: Bool,
):
    var response = _refusal(state, request, status, reason)
    _ = append_response(
        connection, state, response^, ResponseFraming(is_head, False, 1)
    )


def _refusal(
    mut state: WorkerState, request: Request, status: Int, reason: String
) -> Response:
    """Lets the handler's middleware finish an answer; what it must not make of
    it, such as a success or a stream, is not taken."""
    if not state.refuser:
        return refusal(status, String(reason, "\n"))
    try:
        var response = state.refuser.value().refuse(
            request, refusal(status, String(reason, "\n"))
        )
        var code = response.status.code
        if code < 400 or code > 599 or response.body.is_stream():
            raise Error("a refusal was made a stream or a ", code)
        return response^
    except error:
        log_failure(request, error)
    return refusal(status, String(reason, "\n"))


def _known(
    mut exchange: Exchange, connection: Connection, mut state: WorkerState
) -> Request[ImmUntrackedOrigin]:
    """Lends what was read of a request, until the exchange changes."""
    state.params[].clear()
    exchange.forget_what_was_not_read()
    # SAFETY: the loan ends with the answer, before the exchange changes.
    return exchange.request[ImmUntrackedOrigin](
        connection.peer, state.params_pointer(), tls=connection.tls_peer
    )


def _unknown(
    connection: Connection, mut state: WorkerState
) -> Request[ImmUntrackedOrigin]:
    """Lends a request of which only the client is known."""
    state.params[].clear()
    # SAFETY: of no octets, nothing is read.
    comptime NOTHING = StaticString("")
    var text = lend_text[ImmUntrackedOrigin](NOTHING.unsafe_ptr(), 0)
    var octets = text.as_bytes()
    var fields = Fields(octets, Span[FieldLine, ImmUntrackedOrigin](), True)
    return Request(
        RequestLine(
            method=Method.OTHER,
            method_name=text,
            url=text,
            path=text,
            query=text,
            authority=text,
            version=Version.HTTP_1_1,
        ),
        fields,
        octets,
        fields,
        peer=connection.peer,
        params=state.params_pointer(),
        tls=connection.tls_peer,
    )

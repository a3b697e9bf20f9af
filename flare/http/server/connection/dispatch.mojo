"""From a request to its response in the output: what the handler is asked and
answers, and what the server answers before, or in place of, it.

The handler's middleware sees answers of the server's own by `Handler.refuse`:
it logs and counts them, adds its fields, and may give them another shape. How
they are framed, and that the connection ends, is not its business.
"""

from flare.bytes.buffer import unsafe_lend_text
from flare.bytes.checked import *
from flare.bytes.text import Text
from flare.http.h1.framing import SWITCHING_PROTOCOLS
from flare.http.h1.request_parser import RequestParser
from flare.http.h1.serialiser import (
    ResponseFraming,
    asks_for_close,
    ends_with_close,
    is_chunked,
    sends_content,
    write_interim,
    write_response_head,
)
from flare.http.message.body import Body
from flare.http.message.early_hints import EARLY_HINTS
from flare.http.message.extensions import ExtensionScope
from flare.http.message.fields import FieldLine, Fields
from flare.http.message.method import Method
from flare.http.message.outcome import ResponseOutcome
from flare.http.message.request import Request, RequestLine, Version
from flare.http.message.response import Response
from flare.http.handler.failure import (
    answer_failure,
    finished_refusal,
    log_failure,
    refusal,
)
from flare.http.handler.any_handler import AnyHandler, problem_of_all
from flare.http.handler.handler import HeadOnly, RequestPolicy
from flare.http.handler.later import DeferredCall
from flare.http.server.config import ConfigError, ServerConfig
from flare.http.server.connection.body_pipe import BodyOutlet
from flare.http.server.connection.call_plan import CallPlan
from flare.http.server.connection.connection import Connection
from flare.http.server.connection.phase import NextAction
from flare.http.server.connection.request_call import Refusal
from flare.http.server.connection.sides import Ending
from flare.http.server.connection.transport import (
    COPIED_BODY_LEN_MAX,
    deliver,
    flush_with_body,
)
from flare.http.server.connection.write import feed_upgraded, start_stream
from flare.http.server.worker_state import WorkerState
from std.sys.intrinsics import likely, unlikely


@no_inline
def plan_request(
    parser: RequestParser,
    mut connection: Connection,
    mut state: WorkerState,
):
    """Asks the handler about the request whose head is first; the connection
    keeps what follows from it."""
    state.params[].clear()
    state.begin_memo_of(connection.request.call.memo)
    # SAFETY: the request ends before the parser changes; the handler's own
    # signature keeps it from holding on to a part of it.
    var request = _lend(parser, connection, state)
    var policy = state.handler[].policy_for(request)
    connection.request.call.plan = plan_of(policy, state)


def plan_of(policy: RequestPolicy, state: WorkerState) -> CallPlan:
    """Decides about a request, of which its handler was asked just now."""
    # What answers later takes no thread, slow or not.
    var is_moved = (
        policy.blocks
        and not policy.defers
        and state.slow.is_moved(state.params[].record.route)
    )
    return CallPlan(policy, state.config, is_moved)


def check_handler(handler: AnyHandler, config: ServerConfig) raises:
    """Refuses a handler that cannot be served so: if some request can never be
    answered as it is put together (`Handler.problem`), or if it reads content
    while it arrives, and there are no threads that could wait for it."""
    var problem = problem_of_all(handler)
    if problem.byte_length() > 0:
        raise Error(problem)
    if config.handler_threads == 0 and handler.claims().streams:
        raise ConfigError(
            "handler_threads is 0, but a handler reads content while it arrives"
            " (Streamed, or an endpoint with Multipart); it waits for clients,"
            " which a worker's own thread must not: set handler_threads, to 16"
            " for example"
        )


@always_inline
def answer(
    mut parser: RequestParser,
    mut connection: Connection,
    mut state: WorkerState,
) -> NextAction:
    """Lets the handler answer the complete request that is first, which is
    dropped; the response goes to the worker's output. Returns WAIT to go on,
    SHUTDOWN if the connection ends with this response, CLOSE if it is broken.
    """
    state.params[].clear()
    if unlikely(connection.request.call.memo.__bool__()):
        state.lend_memo_of(connection.request.call.memo)
    # SAFETY: the request ends before the parser changes; the handler's own
    # signature keeps it from holding on to a part of it.
    var request = parser.unsafe_request[ImmUntrackedOrigin](
        connection.peer, state.params_pointer(), tls=connection.tls_peer
    )
    var response = call_here(request, state)
    var action = queue_response(parser, connection, state, response)
    response^.drop()
    return action


comptime SKIPPED_LEN_MAX = 64 * 1024
"""Most content that is skipped after an answer that did not need it, so that
the connection may go on, in bytes. A form of a page fits, an upload does not."""


@no_inline
def answer_by_head(
    mut parser: RequestParser,
    mut connection: Connection,
    mut state: WorkerState,
    owes_continue: Bool,
) -> NextAction:
    """Lets the handler answer a request whose content it does not need, and of
    which a part is still to come, as `answer` does.

    Little content is skipped when it comes. With much, or a client that may
    send it or not (RFC 9110 section 10.1.1) and waits for 100 (Continue) if
    `owes_continue`, the connection ends.
    """
    if parser.missing_len() > SKIPPED_LEN_MAX or owes_continue:
        parser.end_connection()
    var body = parser.detach_body()
    state.params[].clear()
    if connection.request.call.memo:
        state.lend_memo_of(connection.request.call.memo)
    # SAFETY: the request ends before the parser changes; the handler's own
    # signature keeps it from holding on to a part of it.
    var request = _lend(parser, connection, state)
    var note = HeadOnly()
    var scope = ExtensionScope(request.extensions(), note)
    var response = call_here[is_rare=True](request, state)
    scope^.end()
    var result = queue_rare_response(parser, connection, state, response)
    if result == NextAction.WAIT:
        parser.skip_rest(body, SKIPPED_LEN_MAX)
    else:
        connection.ending.end(is_unread=True)
    return result


@always_inline
def queue_response[
    is_rare: Bool = False
](
    mut parser: RequestParser,
    mut connection: Connection,
    mut state: WorkerState,
    response: Response,
) -> NextAction:
    """Puts the response to the complete request that is first into the output,
    and drops the request. Returns what `answer` returns. What writes the head
    is called, in place of inlined, if `is_rare`."""
    var is_head = parser.head.method == Method.HEAD
    var minor_version = parser.head.minor_version
    var keeps_alive = (
        parser.head.framing.keeps_alive(minor_version)
        and not state.is_draining
        and state.now_ms < connection.retire_ms
    )
    connection.request_count += 1
    state.request_count += 1
    if unlikely(connection.request.call.memo.__bool__()):
        state.give_memo(connection.request.call.memo)
    var request_max = state.config.max_keepalive_requests
    if unlikely(
        request_max > 0 and connection.request_count >= UInt64(request_max)
    ):
        keeps_alive = False
    if unlikely(len(response.headers.lines_octets()) > 0):
        keeps_alive = keeps_alive and not asks_for_close(response.headers)
    if unlikely(ends_with_close(response, minor_version)):
        keeps_alive = False
    if unlikely(
        not keeps_alive and parser.head.framing.keeps_alive(minor_version)
    ):
        # A client that was not told of the end before may have sent more.
        connection.ending.end(is_unread=True)
    parser.finish()
    var framing = ResponseFraming(is_head, keeps_alive, minor_version)
    if unlikely(state.params[].early_hints.fields.__bool__()):
        _write_early_hints(state)
    comptime if is_rare:
        _write_rare_head(state, response, framing)
    else:
        write_response_head(state.out, response, framing, state.date)
    if unlikely(response.body.listens()):
        return _switch_protocols(parser, connection, state, response.body)
    if likely(sends_content(response, framing)):
        var is_sound = True
        if unlikely(response.body.is_stream()):
            is_sound = start_stream(
                connection,
                state,
                response.body.stream(),
                is_chunked(response, framing),
            )
            # It may have broken off by now.
            keeps_alive = keeps_alive and connection.ending == Ending.OPEN
        elif likely(len(response.body) <= COPIED_BODY_LEN_MAX):
            state.out.append(response.body.as_bytes())
        else:
            is_sound = flush_with_body(connection, state, response.body.copy())
        if unlikely(not is_sound):
            return NextAction.CLOSE
    return NextAction.WAIT if likely(keeps_alive) else NextAction.SHUTDOWN


@no_inline
def _write_early_hints(mut state: WorkerState):
    var fields = state.params[].early_hints.fields.take()
    write_interim(state.out, EARLY_HINTS, fields[])


@no_inline
def _switch_protocols(
    mut parser: RequestParser,
    mut connection: Connection,
    mut state: WorkerState,
    body: Body,
) -> NextAction:
    """Gives the connection to the protocol that follows 101."""
    connection.ending.end(is_unread=True)
    var is_sound = start_stream(connection, state, body.stream(), False)
    # What came after the request is the conversation's.
    if is_sound and len(parser.input) > 0:
        is_sound = feed_upgraded(connection, state, parser.input)
    return NextAction.SHUTDOWN if is_sound else NextAction.CLOSE


@no_inline
def queue_rare_response(
    mut parser: RequestParser,
    mut connection: Connection,
    mut state: WorkerState,
    response: Response,
) -> NextAction:
    """Does what `queue_response` does, once for all that few requests need:
    inlined, it would stand in the program for each."""
    return queue_response[is_rare=True](parser, connection, state, response)


@no_inline
def _write_rare_head(
    mut state: WorkerState, response: Response, framing: ResponseFraming
):
    write_response_head(state.out, response, framing, state.date)


@always_inline
def call_here[
    is_rare: Bool = False
](
    request: Request[ImmUntrackedOrigin],
    mut state: WorkerState,
    out response: Response,
):
    """Lets the handler answer on the worker's own thread. What calls it is called,
    in place of inlined, if `is_rare`."""
    if unlikely(state.slow.is_timing):
        response = _call_timed(request, state)
        return
    comptime if is_rare:
        response = call_rarely(state.handler[], request)
    else:
        response = call_handler(state.handler[], request)


@no_inline
def _call_timed(
    request: Request[ImmUntrackedOrigin], mut state: WorkerState
) -> Response:
    state.slow.begin_handler()
    var response = call_rarely(state.handler[], request)
    state.end_handler(response)
    return response^


@always_inline
def call_handler(handler: AnyHandler, request: Request) -> Response:
    """Lets a handler answer, whatever it does; a crash in it will name the
    request. Its response is 500 if it raises or gives what is no final
    response, 400 if it raises what the request has told it of bad input."""
    try:
        return _serve(handler, request)
    except error:
        return answer_failure(request, error)


@no_inline
def call_rarely(
    handler: AnyHandler, request: Request[ImmUntrackedOrigin]
) -> Response:
    """Does what `call_handler` does, once for all that few requests need."""
    return call_handler(handler, request)


@no_inline
def call_while_arriving(
    handler: AnyHandler,
    request: Request[ImmUntrackedOrigin],
    outlet: BodyOutlet,
) -> Response:
    """Does what `call_handler` does for a handler that reads content while it
    arrives, and that may fail because its client did: then it is a refusal of
    that content."""
    try:
        return _serve(handler, request)
    except error:
        # A client that goes away is no error of ours, and not logged.
        var failure = outlet.failure()
        if failure:
            return refusal(failure.held().status, failure.held().reason)
        return answer_failure(request, error)


@always_inline
def _serve(
    handler: AnyHandler, request: Request, out response: Response
) raises:
    """Calls a handler, and holds what it answers to what a response may be. The
    response is made where it is wanted, and not moved there."""
    ref record = request.route_params()[].record
    # SAFETY: the request outlives the call, after which it is forgotten.
    record.request = (
        Pointer(to=request)
        .unsafe_mut_cast[True]()
        .unsafe_origin_cast[MutUntrackedOrigin]()
        .unsafe_bitcast[NoneType]()
    )
    try:
        response = handler.serve(request)
        record.request = None
        var code = response.status.code
        if unlikely(
            code < 200
            or code > 599
            or response.outcome() != ResponseOutcome.NOW
        ):
            _check_outcome(code, response.outcome(), request)
    except error:
        record.request = None
        raise error^


@no_inline
def _check_outcome(
    code: Int, outcome: ResponseOutcome, request: Request
) raises:
    """Lets a conversation with status 101 pass, and what stands for a response
    that is made later, and nothing else."""
    if outcome == ResponseOutcome.LATER:
        var call = request.extension[DeferredCall]()
        if call and call.held()[].errand:
            return
        raise Error("a handler answered with what `later` gave another request")
    if outcome == ResponseOutcome.UPGRADE and code == SWITCHING_PROTOCOLS:
        if request.version.major < 2 or "upgrade" in request.headers:
            return
        raise Error("a conversation over HTTP/2 needs an extended CONNECT")
    raise Error(status_problem(code, outcome))


def status_problem(code: Int, outcome: ResponseOutcome) -> String:
    """Says why a response cannot be sent, by its outcome, not LATER; empty if
    it can."""
    var is_final = code >= 200 and code <= 599
    var problem = Text()
    if outcome == ResponseOutcome.UPGRADE:
        if code == SWITCHING_PROTOCOLS:
            return String()
        if is_final:
            problem = problem^.add("a conversation needs status 101, not ")
            return problem^.add(code).end()
    elif is_final:
        return String()
    # 1xx is no final response, and others are none at all.
    return problem^.add("a handler answered with status ").add(code).end()


@no_inline
def refuse_unread(
    mut parser: RequestParser,
    mut connection: Connection,
    mut state: WorkerState,
    why: Refusal,
) -> NextAction:
    """Answers in place of the handler, with what was read of the request, and
    ends the connection: SHUTDOWN, or CLOSE if it is broken."""
    # It is known even where the rest of the line is not.
    var is_head = parser.head.method == Method.HEAD
    var request = _request_so_far(parser, connection, state)
    return _refuse(connection, state, request, why, is_head)


@no_inline
def refuse_peer(
    mut connection: Connection,
    mut state: WorkerState,
    why: Refusal,
    is_head: Bool,
) -> NextAction:
    """Does the same for a request of which nothing was read, or which a handler
    has already; `is_head` if it is known to be a HEAD."""
    var request = _request_of_peer(connection, state)
    return _refuse(connection, state, request, why, is_head)


@no_inline
def busy_response(
    mut parser: RequestParser, connection: Connection, mut state: WorkerState
) -> Response:
    """Makes the answer for when all handler threads and their queue are full: a
    503 with Retry-After (RFC 9110 section 10.2.3)."""
    var request = _request_so_far(parser, connection, state)
    return refusal_of_request(state, request, Refusal.BUSY)


def refusal_of_peer(
    connection: Connection, mut state: WorkerState, why: Refusal
) -> Response:
    """Makes an answer in place of the handler, to a request of which only the
    client counts."""
    return refusal_of_request(state, _request_of_peer(connection, state), why)


def _refuse(
    mut connection: Connection,
    mut state: WorkerState,
    request: Request,
    why: Refusal,
    is_head: Bool,
) -> NextAction:
    var response = refusal_of_request(state, request, why)
    var framing = ResponseFraming(is_head, False, 1)
    _write_rare_head(state, response, framing)
    if sends_content(response, framing):
        state.out.append(response.body.as_bytes())
    # Its client may not have been read to the end.
    connection.ending.end(is_unread=True)
    if deliver(connection, state):
        return NextAction.SHUTDOWN
    return NextAction.CLOSE


def refusal_of_request(
    mut state: WorkerState, request: Request, why: Refusal
) -> Response:
    """Makes an answer in place of the handler, which its middleware finishes.
    What that must not make of it, such as a success or a stream, is not taken.
    """
    var text = Text().add(why.reason).add("\n").end()
    try:
        return finished_refusal(
            state.handler[].refuse(request, refusal(why.status, text.copy()))
        )
    except error:
        log_failure(request, error)
    return refusal(why.status, text^)


def _request_so_far(
    mut parser: RequestParser, connection: Connection, mut state: WorkerState
) -> Request[ImmUntrackedOrigin]:
    """Lends what was read of a request, until the parser changes."""
    state.params[].clear()
    parser.forget_what_was_not_read()
    return _lend(parser, connection, state)


@no_inline
def _lend(
    parser: RequestParser, connection: Connection, mut state: WorkerState
) -> Request[ImmUntrackedOrigin]:
    """Lends a request for one call, until the parser changes."""
    # SAFETY: the callers end the loan before the parser changes.
    return parser.unsafe_request[ImmUntrackedOrigin](
        connection.peer, state.params_pointer(), tls=connection.tls_peer
    )


def _request_of_peer(
    connection: Connection, mut state: WorkerState
) -> Request[ImmUntrackedOrigin]:
    """Lends a request of which only the client is known."""
    state.params[].clear()
    # SAFETY: of no octets, nothing is read.
    comptime NOTHING = StaticString("")
    var text = unsafe_lend_text[ImmUntrackedOrigin](NOTHING.unsafe_ptr(), 0)
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

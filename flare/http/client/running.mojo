"""A request from its first attempt to its final response."""

from flare.http.client.call import Call
from flare.http.client.client_state import ClientState
from flare.http.client.connection import ClientConnection
from flare.http.client.driving import drive
from flare.http.client.error import ClientError
from flare.http.client.client_response import ClientResponse
from flare.http.client.response_builder import ResponseBuilder
from flare.http.client.retry import is_stale, may_retry
from flare.http.client.stepping import begin_attempt
from flare.http.client.waiting import open_connection
from flare.io.stream import Readable, Writable
from flare.sys.poll import PollEntry, poll_descriptors


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

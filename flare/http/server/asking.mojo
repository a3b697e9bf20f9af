"""What a worker asks a handler about a request before it is answered."""

from flare.http.h1.exchange import Exchange
from flare.http.routing.handler import (
    DEFAULT_BODY_LIMIT,
    DEFAULT_TIMEOUT_MS,
    Handler,
)
from flare.http.server.connection import Connection
from flare.http.server.worker_state import WorkerState


def body_limit[
    H: Handler
](
    exchange: Exchange,
    connection: Connection,
    mut state: WorkerState,
    handler: H,
) -> Int:
    """Asks the handler how much content a request may have.

    Parameters:
        H: The handler's type.

    Args:
        exchange: Has the request's head.
        connection: Where it came from.
        state: The worker's state.
        handler: May choose a limit.

    Returns:
        Bytes.
    """
    state.params[].clear()
    # SAFETY: the request ends before the exchange changes; the handler's own
    # signature keeps it from holding on to a part of it.
    var request = exchange.request[ImmUntrackedOrigin](
        connection.peer, state.params_pointer(), tls=connection.tls_peer
    )
    var limit = handler.max_body_size(request)
    if limit == DEFAULT_BODY_LIMIT:
        return state.config.max_body_size
    return limit


def may_block[
    H: Handler
](
    exchange: Exchange,
    connection: Connection,
    mut state: WorkerState,
    handler: H,
) -> Bool:
    """Asks the handler whether it may take long for the complete request.

    Parameters:
        H: The handler's type.

    Args:
        exchange: Has the request.
        connection: Where it came from.
        state: The worker's state.
        handler: Knows.

    Returns:
        Its answer.
    """
    state.params[].clear()
    # SAFETY: as in `body_limit`.
    return handler.may_block(
        exchange.request[ImmUntrackedOrigin](
            connection.peer, state.params_pointer(), tls=connection.tls_peer
        )
    )


def streams_body[
    H: Handler
](
    exchange: Exchange,
    connection: Connection,
    mut state: WorkerState,
    handler: H,
) -> Bool:
    """Asks the handler whether it reads content while it arrives.

    Parameters:
        H: The handler's type.

    Args:
        exchange: Has the request's head.
        connection: Where it came from.
        state: The worker's state.
        handler: Knows.

    Returns:
        Its answer.
    """
    state.params[].clear()
    # SAFETY: as in `body_limit`.
    return handler.streams_body(
        exchange.request[ImmUntrackedOrigin](
            connection.peer, state.params_pointer(), tls=connection.tls_peer
        )
    )


def handler_timeout_ms[
    H: Handler
](
    exchange: Exchange,
    connection: Connection,
    mut state: WorkerState,
    handler: H,
) -> Int:
    """Asks the handler how long it may take for a request.

    Parameters:
        H: The handler's type.

    Args:
        exchange: Has the request.
        connection: Where it came from.
        state: The worker's state.
        handler: May choose a time.

    Returns:
        Milliseconds, at least 1.
    """
    state.params[].clear()
    # SAFETY: as in `body_limit`.
    var timeout_ms = handler.timeout_ms(
        exchange.request[ImmUntrackedOrigin](
            connection.peer, state.params_pointer(), tls=connection.tls_peer
        )
    )
    if timeout_ms == DEFAULT_TIMEOUT_MS:
        return state.config.handler_timeout_ms
    return max(timeout_ms, 1)

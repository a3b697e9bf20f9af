"""What a server asks a handler, before it serves and about each request."""

from flare.http.h1.exchange import Exchange
from flare.http.routing.handler import (
    DEFAULT_BODY_LIMIT,
    DEFAULT_TIMEOUT_MS,
    Handler,
)
from flare.http.server.config import ConfigError, ServerConfig
from flare.http.server.connection import Connection
from flare.http.server.worker_state import WorkerState


@no_inline
def ask_policy[
    H: Handler
](
    exchange: Exchange,
    mut connection: Connection,
    mut state: WorkerState,
    handler: H,
):
    """Asks the handler how the request that is first is to be treated.

    Parameters:
        H: The handler's type.

    Args:
        exchange: Has the request's head.
        connection: Where it came from; keeps the answer, with the server's own
            limits in place of defaults.
        state: The worker's state.
        handler: Knows.
    """
    state.params[].clear()
    # SAFETY: the request ends before the exchange changes; the handler's own
    # signature keeps it from holding on to a part of it.
    var policy = handler.policy_for(
        exchange.request[ImmUntrackedOrigin](
            connection.peer, state.params_pointer(), tls=connection.tls_peer
        )
    )
    if policy.max_body_size == DEFAULT_BODY_LIMIT:
        policy.max_body_size = state.config.max_body_size
    if policy.timeout_ms == DEFAULT_TIMEOUT_MS:
        policy.timeout_ms = state.config.handler_timeout_ms
    policy.timeout_ms = max(policy.timeout_ms, 1)
    # Reading waits for the client, which the worker's own thread must not.
    policy.streams = policy.streams and state.config.handler_threads > 0
    connection.request[].policy = policy


def check_handler[
    H: Handler
](handler: H, config: ServerConfig) raises ConfigError:
    """Refuses a handler that cannot be served so.

    Parameters:
        H: The handler's type.

    Args:
        handler: Is about to be served.
        config: How.

    Raises:
        ConfigError: If it reads content while it arrives, and there are no
            threads that could wait for it.
    """
    if config.handler_threads == 0 and handler.may_stream():
        raise ConfigError(
            "handler_threads is 0, but a handler reads content while it arrives"
            " (Streamed, or an endpoint with Multipart); it waits for clients,"
            " which a worker's own thread must not: set handler_threads, to 16"
            " for example"
        )

"""Waiting for one connection."""

from flare.http.client.attempt import Attempt
from flare.http.client.call import Call
from flare.http.client.client_state import ClientState
from flare.http.client.connection import ClientConnection
from flare.http.client.error import ClientError
from flare.http.client.opening import Opening
from flare.http.client.patience import Patience
from flare.net.error import NetworkError
from flare.sys.errno import EINTR, OsError
from flare.sys.poll import (
    POLL_READ,
    POLL_WRITE,
    PollEntry,
    poll_descriptors,
)


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
        fill=PollEntry(connection.transport.number(), wanted, 0)
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

"""Waiting for one connection."""

from flare.http.client.attempt import Attempt
from flare.http.client.connection import ClientConnection
from flare.http.client.error import ClientError, Phase
from flare.http.client.patience import Patience
from flare.net.error import NetworkError
from flare.sys.deadline import Deadline
from flare.sys.errno import EAGAIN, EINTR, OsError
from flare.sys.poll import (
    POLL_READ,
    POLL_WRITE,
    PollEntry,
    poll_descriptors,
    wait_for,
)


def wait_for_attempt(
    mut attempt: Attempt, mut connection: ClientConnection, patience: Patience
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
        return patience.check(attempt)
    if connection.transport.has_buffered():
        return attempt.receive(connection)
    var wanted = POLL_READ
    if attempt.wants_write() or connection.transport.wants_write():
        wanted |= POLL_WRITE
    var entries = Array[PollEntry, 1](
        fill=PollEntry(connection.transport.number(), wanted, 0)
    )
    var result = poll_descriptors(Span(entries), wait_ms)
    if result == 0:
        return patience.check(attempt)
    if result < 0:
        if result == -EINTR:
            return
        raise ClientError(
            attempt.phase(), NetworkError(OsError("poll", -result))
        )
    # Errors and the end of the stream are met by reading.
    if entries[0].found != POLL_WRITE:
        attempt.receive(connection)


def wait_for_handshake(
    mut connection: ClientConnection, deadline: Deadline
) raises ClientError:
    """Goes through a TLS handshake.

    Args:
        connection: The connection, whose transport has a session.
        deadline: When to give up.

    Raises:
        ClientError: In the phase `TLS`.
    """
    while True:
        var result = connection.transport.shake_hands()
        if result == 0:
            return
        if result != -EAGAIN:
            raise connection.transport.failure(
                materialize[Phase.TLS](),
                result,
                "TLS handshake",
                connection.endpoint.host,
            )
        var wanted = POLL_READ
        if connection.transport.wants_write():
            wanted = POLL_WRITE
        var ready = wait_for(connection.transport.number(), wanted, deadline)
        if ready == 0:
            raise ClientError.timeout(
                materialize[Phase.TLS](), deadline.timeout_ms
            )

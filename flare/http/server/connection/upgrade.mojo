"""Reading for a protocol that goes on where HTTP ended."""

from flare.http.h1.request_parser import RequestParser
from flare.http.server.connection.connection import Connection, receive
from flare.http.server.connection.phase import NextAction
from flare.http.server.connection.write import (
    await_pending,
    feed_upgraded,
    is_taken,
)
from flare.http.server.worker_state import WorkerState
from flare.sys.clock import coarse_monotonic_ms
from flare.sys.errno import EAGAIN, EINTR

comptime _READ_COUNT_MAX = 16
# Reads of one round, so that others have their turn.

comptime _ROUND_MS = 5
# How old a round may be when a client is read once more.


@no_inline
def read_upgraded(
    mut connection: Connection,
    mut scratch: RequestParser,
    mut state: WorkerState,
    is_closed: Bool,
) -> NextAction:
    """Drives a connection with a tail that is readable.

    Only a conversation reads on while it has something to say, and only when
    the client has taken what it was sent, and all that came before is answered.
    Anything else is read when the tail has gone.

    Args:
        connection: Has a tail.
        scratch: The worker's own exchange, idle; idle again afterwards.
        state: The worker's state.
        is_closed: True if the end of the stream may stand behind the octets.

    Returns:
        What is to happen to it.
    """
    connection.has_unread = True
    if not connection.tail.value()[].listens():
        return await_pending(connection, state)
    var may_have_more = is_closed or connection.tls.__bool__()
    for _ in range(_READ_COUNT_MAX):
        if connection.tail.value()[].has_more_to_say():
            return await_pending(connection, state)
        if not is_taken(connection):
            return await_pending(connection, state)
        var room = scratch.input.spare()
        var room_len = len(room)
        var count = receive(connection, state, room, may_have_more)
        if count == -EINTR:
            continue
        if count == -EAGAIN:
            connection.has_unread = False
            return await_pending(connection, state)
        if count <= 0:
            return NextAction.CLOSE
        scratch.input.commit(count)
        if not feed_upgraded(connection, state, scratch.input):
            return NextAction.CLOSE
        if not connection.tail:
            return NextAction.SHUTDOWN
        if not connection.tail.value()[].listens():
            return await_pending(connection, state)
        if count < room_len and not may_have_more and is_taken(connection):
            connection.has_unread = False
            return await_pending(connection, state)
        if coarse_monotonic_ms() - state.now_ms >= _ROUND_MS:
            break
    return NextAction.YIELD

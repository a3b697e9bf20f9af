"""Reading for a protocol that goes on where HTTP ended."""

from flare.bytes.checked import *
from flare.http.exchange.outgoing_body import BodyState
from flare.http.h1.request_parser import RequestParser
from flare.http.server.connection.connection import Connection
from flare.http.server.connection.phase import NextAction
from flare.http.server.connection.transport import receive
from flare.http.server.connection.write import (
    await_pending,
    await_source,
    feed,
    is_taken,
    write_pending,
)
from flare.http.server.worker_state import READ_COUNT_MAX, WorkerState
from flare.sys.errno import EAGAIN, EINTR
from std.sys.intrinsics import likely, unlikely


@no_inline
def read_upgraded(
    connection_at: MutPointer[Connection, _],
    scratch_at: MutPointer[RequestParser, _],
    state_at: MutPointer[WorkerState, _],
    is_closed: Bool,
) -> NextAction:
    """Drives a connection with a pending write that is readable.

    Only a conversation reads on while it has something to say, and only when
    the client has taken what it was sent, and all that came before is answered.
    Anything else is read when the pending write has gone. The arguments are
    addresses, since a struct is passed by its fields, which costs more than all
    of a short message. `scratch_at` is the worker's own parser, idle before and
    after; the end of the stream may stand after the octets if `is_closed`.
    """
    ref connection = connection_at[]
    ref state = state_at[]
    ref input = scratch_at[].input
    connection.backlog.note_unread()
    if unlikely(not connection.request.pending.held()[].body.listens()):
        return await_pending(connection, state)
    var may_have_more = is_closed or connection.tls.__bool__()
    for _ in range(READ_COUNT_MAX):
        ref waiting = connection.request.pending.held()[].body
        if (
            waiting.state != BodyState.WAITING
            or waiting.source.held()[].is_full()
        ):
            return await_pending(connection, state)
        if not is_taken(connection):
            return await_pending(connection, state)
        var room = input.spare()
        var room_len = len(room)
        var count = receive(connection, state, room, may_have_more)
        if unlikely(count <= 0):
            if count == -EINTR:
                continue
            if count == -EAGAIN:
                connection.backlog.note_read()
                return await_pending(connection, state)
            if count < 0 or not _hears_end(connection):
                return NextAction.CLOSE
            if not write_pending(connection, state):
                return NextAction.CLOSE
            if not connection.request.pending:
                return NextAction.SHUTDOWN
            return await_pending(connection, state)
        input.commit(count)
        if unlikely(not feed(connection, state, input)):
            return NextAction.CLOSE
        if unlikely(not connection.request.pending):
            return NextAction.SHUTDOWN
        ref body = connection.request.pending.held()[].body
        if unlikely(not body.listens()):
            return await_pending(connection, state)
        if count < room_len and not may_have_more and is_taken(connection):
            connection.backlog.note_read()
            if likely(body.state == BodyState.WAITING):
                return await_source(connection, state)
            return await_pending(connection, state)
        if state.is_turn_over():
            break
    return NextAction.YIELD


@no_inline
def _hears_end(mut connection: Connection) -> Bool:
    """Tells a conversation that its client has ended its side; False if it ends,
    too."""
    connection.backlog.note_read()
    ref body = connection.request.pending.held()[].body
    if body.end_input() != BodyState.READY:
        return False
    connection.request.row.outlast_end()
    return True

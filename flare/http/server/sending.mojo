"""Sending: at once what the client takes, the rest parked as a tail.

All that goes to a client goes through here, whatever it travels in.
"""

from flare.http.message.body import Body
from flare.http.server.connection import Connection, Tail
from flare.http.server.sealing import flush_sealed
from flare.http.server.worker_state import WorkerState
from flare.sys.errno import EAGAIN, EINTR
from std.memory import OwnedPointer
from std.sys.intrinsics import likely, unlikely

comptime COPIED_BODY_LEN_MAX = 16_384
"""Longest content that is copied behind its head, in bytes.

Longer content is sent from where it is: a second piece for the kernel costs
less than the copy.
"""


@always_inline
def flush(mut connection: Connection, mut state: WorkerState) -> Bool:
    """Sends the worker's output; what is not taken becomes the tail.

    Args:
        connection: Where to; has no tail.
        state: The worker's state; its output is empty afterwards.

    Returns:
        False if the connection is broken.
    """
    var length = len(state.out)
    if length == 0:
        return True
    if unlikely(connection.tls.__bool__()):
        return flush_sealed(connection, state, Body())
    var count = connection.socket.send(state.out.span())
    if likely(count == length):
        state.out.clear()
        return True
    return _park(connection, state, Body(), count)


@always_inline
def deliver(mut connection: Connection, mut state: WorkerState) -> Bool:
    """Sends the worker's output, behind the tail if there is one.

    Args:
        connection: Where to.
        state: The worker's state; its output is empty afterwards.

    Returns:
        False if the connection is broken.
    """
    if likely(not connection.tail.__bool__()):
        return flush(connection, state)
    if len(state.out) > 0:
        ref tail = connection.tail.value()[]
        tail.octets.append(state.out.span())
        state.out.clear()
    return True


def flush_with_body(
    mut connection: Connection, mut state: WorkerState, var body: Body
) -> Bool:
    """Sends the worker's output and content behind it, without copying it.

    Args:
        connection: Where to.
        state: The worker's state; its output is empty afterwards.
        body: The content.

    Returns:
        False if the connection is broken.
    """
    if unlikely(connection.tail.__bool__()):
        state.out.append(body.as_bytes())
        return deliver(connection, state)
    if unlikely(connection.tls.__bool__()):
        return flush_sealed(connection, state, body^)
    var count = connection.socket.send_two(state.out.span(), body.as_bytes())
    if likely(count == len(state.out) + len(body)):
        state.out.clear()
        return True
    return _park(connection, state, body^, count)


@no_inline
def _park(
    mut connection: Connection,
    mut state: WorkerState,
    var body: Body,
    count: Int,
) -> Bool:
    if count < 0 and count != -EAGAIN and count != -EINTR:
        state.out.clear()
        return False
    connection.tail = OwnedPointer(Tail(body^, state.out.span(), max(count, 0)))
    state.out.clear()
    return True

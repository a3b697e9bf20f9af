"""Sending: at once what the client takes, the rest parked as a tail."""

from flare.bytes.buffer import Buffer
from flare.http.message.body import Body
from flare.http.server.connection import Connection, Tail
from flare.sys.errno import EAGAIN, EINTR
from std.memory import OwnedPointer
from std.sys.intrinsics import likely

comptime COPIED_BODY_LEN_MAX = 16_384
"""Longest content that is copied behind its head, in bytes.

Longer content is sent from where it is: a second piece for the kernel costs
less than the copy.
"""


@always_inline
def flush(mut connection: Connection, mut out: Buffer) -> Bool:
    """Sends the octets at hand; what is not taken becomes the tail.

    Args:
        connection: Where to; has no tail.
        out: The octets; empty afterwards.

    Returns:
        False if the connection is broken.
    """
    var length = len(out)
    if length == 0:
        return True
    var count = connection.socket.send(out.span())
    if likely(count == length):
        out.clear()
        return True
    return _park(connection, out, Body(), count)


@always_inline
def deliver(mut connection: Connection, mut out: Buffer) -> Bool:
    """Sends the octets at hand, behind the tail if there is one.

    Args:
        connection: Where to.
        out: The octets; empty afterwards.

    Returns:
        False if the connection is broken.
    """
    if likely(not connection.tail.__bool__()):
        return flush(connection, out)
    if len(out) > 0:
        ref tail = connection.tail.value()[]
        tail.octets.append(out.span())
        out.clear()
    return True


def flush_with_body(
    mut connection: Connection, mut out: Buffer, var body: Body
) -> Bool:
    """Sends the octets at hand and content behind them, without copying it.

    Args:
        connection: Where to; has no tail.
        out: The octets; empty afterwards.
        body: The content.

    Returns:
        False if the connection is broken.
    """
    var count = connection.socket.send_two(out.span(), body.as_bytes())
    if likely(count == len(out) + len(body)):
        out.clear()
        return True
    return _park(connection, out, body^, count)


@no_inline
def _park(
    mut connection: Connection, mut out: Buffer, var body: Body, count: Int
) -> Bool:
    var taken = count
    if count < 0:
        if count != -EAGAIN and count != -EINTR:
            out.clear()
            return False
        taken = 0
    var tail = Tail()
    var first = min(taken, len(out))
    out.consume(first)
    tail.octets.append(out.span())
    tail.body_offset = taken - first
    tail.body = body^
    out.clear()
    connection.tail = OwnedPointer(tail^)
    return True

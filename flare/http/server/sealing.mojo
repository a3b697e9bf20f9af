"""Sending over TLS: encrypt a portion, send it, and stop where the client does.
"""

from flare.bytes.buffer import Buffer
from flare.http.message.body import Body
from flare.http.server.connection import Connection, Tail
from flare.http.server.worker_state import WorkerState
from flare.sys.errno import EAGAIN, EINTR, EPIPE
from std.memory import OwnedPointer

comptime SEALED_LEN_MAX = 65_536
"""Most plaintext that is encrypted before some of it is sent, in bytes.

That much waits in memory for a client which does not read; what is behind it
stays where it is.
"""


@no_inline
def flush_sealed(
    mut connection: Connection, mut state: WorkerState, var body: Body
) -> Bool:
    """Encrypts and sends the worker's output and content behind it.

    Args:
        connection: Speaks TLS; has no tail.
        state: The worker's state; its output is empty afterwards.
        body: The content.

    Returns:
        False if the connection is broken.
    """
    var sent_len = 0
    var count = _send(
        connection,
        state.sealed_out,
        state.out.span(),
        body.as_bytes(),
        sent_len,
    )
    if count < 0:
        state.out.clear()
        return False
    if count < len(state.out) + len(body) or (
        len(connection.tls.value()[].unsent) > 0
    ):
        connection.tail = OwnedPointer(Tail(body^, state.out.span(), count))
    state.out.clear()
    return True


def send_sealed_tail(
    mut connection: Connection, mut state: WorkerState
) -> Bool:
    """Sends what was parked, as far as the client takes it.

    Args:
        connection: Speaks TLS and has a tail, which may be empty afterwards.
        state: The worker's state.

    Returns:
        False if the connection is broken.
    """
    while len(connection.tls.value()[].unsent) > 0:
        ref unsent = connection.tls.value()[].unsent
        var count = connection.socket.send(unsent.span())
        if count == -EAGAIN:
            return True
        if count < 0 and count != -EINTR:
            return False
        unsent.consume(max(count, 0))
        connection.tail.value()[].pace.sent_len += max(count, 0)
    var box = connection.tail.take()
    var is_sound = True
    if not box[].is_empty():
        var sent_len = 0
        var count = _send(
            connection,
            state.sealed_out,
            box[].octets.span(),
            box[].content(),
            sent_len,
        )
        is_sound = count >= 0
        box[].drop(max(count, 0))
        box[].pace.sent_len += sent_len
    connection.tail = box^
    return is_sound


def _send(
    mut connection: Connection,
    mut sealed: Buffer,
    first: Span[UInt8, _],
    second: Span[UInt8, _],
    mut sent_len: Int,
) -> Int:
    """Encrypts and sends two pieces, as far as the client takes them.

    Args:
        connection: Speaks TLS; what is encrypted and was not taken becomes its
            `unsent`, which is empty before.
        sealed: The worker's buffer, empty; empty again afterwards.
        first: What goes first.
        second: What follows.
        sent_len: Raised by the encrypted octets that the client took.

    Returns:
        How many octets of both are encrypted, or a negative errno.
    """
    var total = len(first) + len(second)
    var done = 0
    while done < total:
        var end = min(total, done + SEALED_LEN_MAX)
        if not _seal(connection, sealed, first, second, done, end):
            sealed.clear()
            return -EPIPE
        done = end
        var count = connection.socket.send(sealed.span())
        sent_len += max(count, 0)
        if count < len(sealed):
            if count < 0 and count != -EAGAIN and count != -EINTR:
                sealed.clear()
                return count
            sealed.consume(max(count, 0))
            connection.tls.value()[].unsent.append(sealed.span())
            sealed.clear()
            return done
        sealed.clear()
    return done


def _seal(
    mut connection: Connection,
    mut sealed: Buffer,
    first: Span[UInt8, _],
    second: Span[UInt8, _],
    start: Int,
    end: Int,
) -> Bool:
    """Encrypts a part of two pieces, from offset to offset of both."""
    ref link = connection.tls.value()[]
    var split = len(first)
    if start < split:
        if not link.seal(first[start : min(end, split)], sealed):
            return False
    if end > split:
        return link.seal(
            second[max(start, split) - split : end - split], sealed
        )
    return True

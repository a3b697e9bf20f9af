"""Receiving: octets of a client's requests, whatever they travel in."""

from flare.http.server.connection import (
    Connection,
    PHASE_HANDSHAKE,
    PHASE_HEAD,
    Tail,
)
from flare.http.server.worker_state import WorkerState
from flare.sys.errno import EAGAIN, EINTR
from std.memory import OwnedPointer
from std.sys.intrinsics import likely

comptime TLS_BROKEN = -1_000_000
"""What `receive` gives when a client breaks TLS or says that we did (a fatal
alert), or does not speak it; no errno is so large."""

comptime _ROUND_COUNT_MAX = 8
# Reads at one call that bring no plaintext, or too little to fill the room.

comptime _RECORD_EXTRA_LEN = 256
# More than what encryption adds to a record (RFC 8446 section 5.2).


@always_inline
def receive(
    mut connection: Connection,
    mut state: WorkerState,
    room: MutSpan[UInt8, _],
    mut may_have_more: Bool,
) -> Int:
    """Reads octets of requests, decrypted if the connection speaks TLS.

    As with a socket, nothing announces what is left behind a filled room, and
    fewer octets than there is room for mean that all was read.

    Args:
        connection: Where from; has no tail. It has one afterwards if TLS has
            something to say that the client does not take.
        state: The worker's state.
        room: Where to; not empty.
        may_have_more: True if fewer octets do not mean that all was read; set
            where that turns out here.

    Returns:
        How many, 0 at the end of the stream, or a negative errno; `-EINTR` to
        try again; or `TLS_BROKEN`.
    """
    if likely(not connection.tls.__bool__()):
        return connection.socket.receive(room)
    return _receive_sealed(connection, state, room, may_have_more)


@no_inline
def _receive_sealed(
    mut connection: Connection,
    mut state: WorkerState,
    room: MutSpan[UInt8, _],
    mut may_have_more: Bool,
) -> Int:
    var count = 0
    var is_drained = False
    if connection.tls.value()[].is_over():
        return _end_of_stream(connection)
    _take_rest(connection, state)
    for _ in range(_ROUND_COUNT_MAX):
        if not connection.tls.value()[].holds_plaintext:
            if is_drained:
                return count if count > 0 else -EAGAIN
            var space = state.sealed_in.room()
            var wanted = min(len(room) - count + _RECORD_EXTRA_LEN, len(space))
            var got = connection.socket.receive(space[0:wanted])
            if got <= 0:
                if count == 0:
                    return got
                may_have_more = may_have_more or got != -EAGAIN
                return count
            state.sealed_in.commit(got)
            is_drained = got < wanted and not may_have_more
        count += _open(connection, state, room[count:])
        ref link = connection.tls.value()[]
        if link.is_broken():
            # The connection is closed at once (RFC 8446 section 6.2). What
            # stood before is dropped: nobody could be answered.
            state.sealed_in.clear()
            return TLS_BROKEN
        if link.is_over():
            state.sealed_in.clear()
            may_have_more = True
            return count if count > 0 else _end_of_stream(connection)
        if count == len(room):
            link.rest.append(state.sealed_in.span())
            state.sealed_in.clear()
            return count
        if len(link.unsent) > 0:
            return count if count > 0 else -EAGAIN
    may_have_more = True
    return count if count > 0 else -EINTR


def _end_of_stream(connection: Connection) -> Int:
    return TLS_BROKEN if connection.tls.value()[].is_broken() else 0


def _take_rest(mut connection: Connection, mut state: WorkerState):
    """Puts what was left over into the worker's buffer."""
    ref link = connection.tls.value()[]
    if len(link.rest) > 0:
        state.sealed_in.append(link.rest.span())
        link.rest.clear()


def _open(
    mut connection: Connection,
    mut state: WorkerState,
    room: MutSpan[UInt8, _],
) -> Int:
    """Decrypts what is in the worker's buffer, and sends what TLS answers."""
    ref link = connection.tls.value()[]
    var count = link.open(state.sealed_in, state.sealed_out, room)
    if len(state.sealed_out) > 0:
        _send_answer(connection, state)
    if (
        connection.phase == PHASE_HANDSHAKE
        and connection.tls.value()[].is_established()
    ):
        _leave_handshake(connection, state)
    return count


def _send_answer(mut connection: Connection, mut state: WorkerState):
    """Sends handshakes and alerts; what is not taken waits with a tail."""
    var count = connection.socket.send(state.sealed_out.span())
    if count == -EAGAIN or count == -EINTR:
        count = 0
    if count >= 0 and count < len(state.sealed_out):
        state.sealed_out.consume(count)
        connection.tls.value()[].unsent.append(state.sealed_out.span())
        if not connection.tail:
            connection.tail = OwnedPointer(Tail())
        connection.has_unread = True
    # If the connection is broken, the next read says so.
    state.sealed_out.clear()


def _leave_handshake(mut connection: Connection, mut state: WorkerState):
    """Begins to wait for a request when the handshake is complete."""
    ref link = connection.tls.value()[]
    # SAFETY: the facts live with the connection, and are behind a counted
    # pointer, so they stay where they are.
    connection.tls_peer = (
        Pointer(to=link.peer[])
        .unsafe_mut_cast[False]()
        .unsafe_origin_cast[ImmUntrackedOrigin]()
    )
    connection.begin_phase(
        PHASE_HEAD, state.now_ms, state.first_head_timeout_ms()
    )

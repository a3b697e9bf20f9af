"""Octets from and to a client: received, and sent as far as it takes them;
decrypted and encrypted, a portion at a time, if it speaks TLS.

All that comes from clients and goes to them goes through here. What a client
does not take becomes the connection's `PendingWrite`, which `write.mojo` sends.
"""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.http.message.body import Body
from flare.http.server.connection.connection import Connection, PendingWrite
from flare.http.server.connection.http2_link import Http2Link
from flare.http.server.connection.phase import Event, Phase
from flare.http.server.connection.sides import SpokenProtocol
from flare.http.server.worker_state import WorkerState
from flare.sys.errno import EAGAIN, EINTR, EPIPE
from flare.tls.pump import PLAINTEXT_LEN_MAX, TlsStatus
from std.memory import OwnedPointer
from std.sys.intrinsics import likely, unlikely

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
    """Reads octets of requests, decrypted if the connection speaks TLS, into
    room that is not empty. The connection has a pending write afterwards if TLS
    has something to say that the client does not take.

    As with a socket, nothing announces what is left after a filled room, and
    fewer octets than there is room for mean that all was read, unless
    `may_have_more`, which is set where that turns out here. Returns how many, 0
    at the end of the stream, or a negative errno; `-EINTR` to try again; or
    `TLS_BROKEN`.
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
    if connection.tls.held()[].pump.is_over():
        return _end_of_stream(connection)
    _take_rest(connection, state)
    for _ in range(_ROUND_COUNT_MAX):
        if not connection.tls.held()[].holds_plaintext:
            if is_drained:
                return count if count > 0 else -EAGAIN
            var space = state.tls_input.spare()
            var wanted = min(len(room) - count + _RECORD_EXTRA_LEN, len(space))
            var got = connection.socket.receive(space.before(wanted))
            if got <= 0:
                if count == 0:
                    return got
                may_have_more = may_have_more or got != -EAGAIN
                return count
            state.tls_input.commit(got)
            is_drained = got < wanted and not may_have_more
        count += _open(connection, state, room.after(count))
        ref link = connection.tls.held()[]
        if link.pump.is_broken():
            # The connection is closed at once (RFC 8446 section 6.2). What
            # stood before is dropped: nobody could be answered.
            state.tls_input.clear()
            return TLS_BROKEN
        if link.pump.is_over():
            state.tls_input.clear()
            may_have_more = True
            return count if count > 0 else _end_of_stream(connection)
        if count == len(room):
            link.rest.append(state.tls_input.span())
            state.tls_input.clear()
            return count
        if len(link.unsent) > 0:
            return count if count > 0 else -EAGAIN
    may_have_more = True
    return count if count > 0 else -EINTR


def _end_of_stream(connection: Connection) -> Int:
    return TLS_BROKEN if connection.tls.held()[].pump.is_broken() else 0


def _take_rest(mut connection: Connection, mut state: WorkerState):
    """Puts what was left over into the worker's buffer."""
    ref link = connection.tls.held()[]
    if len(link.rest) > 0:
        state.tls_input.append(link.rest.span())
        link.rest.clear()


def _open(
    mut connection: Connection,
    mut state: WorkerState,
    room: MutSpan[UInt8, _],
) -> Int:
    """Decrypts what is in the worker's buffer, and sends what TLS answers."""
    ref link = connection.tls.held()[]
    var count = state.tls.held().read(
        link, state.tls_input, state.tls_output, room
    )
    if len(state.tls_output) > 0:
        _send_answer(connection, state)
    if (
        connection.phase == Phase.HANDSHAKE
        and connection.tls.held()[].pump.session.is_established()
    ):
        _leave_handshake(connection, state)
    return count


def _send_answer(mut connection: Connection, mut state: WorkerState):
    """Sends handshakes and alerts; what is not taken waits with a pending
    write."""
    var count = 0
    # After records that wait already, if some do: their order is theirs.
    if len(connection.tls.held()[].unsent) == 0:
        count = connection.socket.send(state.tls_output.span())
    if count == -EAGAIN:
        count = 0
    if count >= 0 and count < len(state.tls_output):
        state.tls_output.consume(count)
        connection.tls.held()[].unsent.append(state.tls_output.span())
        if not connection.request.pending:
            connection.request.pending = OwnedPointer(PendingWrite())
        connection.backlog.note_unread()
    # If the connection is broken, the next read says so.
    state.tls_output.clear()


def _leave_handshake(mut connection: Connection, mut state: WorkerState):
    """Begins to wait for a request when the handshake is complete."""
    ref link = connection.tls.held()[]
    # SAFETY: the facts live with the connection, and are behind a counted
    # pointer, so they stay where they are.
    connection.tls_peer = (
        Pointer(to=link.peer[])
        .unsafe_mut_cast[False]()
        .unsafe_origin_cast[ImmUntrackedOrigin]()
    )
    connection.begin[Event.HANDSHAKE_DONE](state.now_ms, state.config)
    if state.is_draining:
        connection.hasten(state.now_ms, state.config)
    if connection.tls.held()[].protocol == SpokenProtocol.HTTP_2:
        begin_http2(connection, state)


def begin_http2(mut connection: Connection, mut state: WorkerState):
    """Begins to speak HTTP/2 (RFC 9113 section 3.4) with a client that does, or
    has agreed to; the worker's output is empty."""
    connection.http2 = Http2Link.begin(state)
    connection.enter[Event.HTTP2_BEGUN]()
    # The worker's output is for one connection at a time. If this one is broken,
    # the next read says so.
    _ = deliver(connection, state)


comptime COPIED_BODY_LEN_MAX = 16_384
"""Longest content that is copied after its head, in bytes.

Longer content is sent from where it is: a second piece for the kernel costs
less than the copy.
"""


@always_inline
def deliver(mut connection: Connection, mut state: WorkerState) -> Bool:
    """Sends the worker's output, after what waits already if anything does;
    what the client does not take now waits, too. False if the connection is
    broken."""
    var length = len(state.out)
    if length == 0:
        return True
    if unlikely(connection.request.pending.__bool__()):
        ref pending = connection.request.pending.held()[]
        pending.octets.append(state.out.span())
        state.out.clear()
        return True
    if unlikely(connection.tls.__bool__()):
        return tls_write(connection, state, Body())
    var count = connection.socket.send(state.out.span())
    if likely(count == length):
        state.out.clear()
        return True
    return _keep_rest(connection, state, Body(), count)


def flush_with_body(
    mut connection: Connection, mut state: WorkerState, var body: Body
) -> Bool:
    """Sends the worker's output and content after it, without copying it.
    False if the connection is broken."""
    if unlikely(connection.request.pending.__bool__()):
        state.out.append(body.as_bytes())
        return deliver(connection, state)
    if unlikely(connection.tls.__bool__()):
        return tls_write(connection, state, body^)
    var count = connection.socket.send_two(state.out.span(), body.as_bytes())
    if likely(count == len(state.out) + len(body)):
        state.out.clear()
        return True
    return _keep_rest(connection, state, body^, count)


@no_inline
def _keep_rest(
    mut connection: Connection,
    mut state: WorkerState,
    var body: Body,
    count: Int,
) -> Bool:
    if count < 0 and count != -EAGAIN:
        state.out.clear()
        return False
    connection.request.pending = OwnedPointer(
        PendingWrite(body^, state.out.span(), max(count, 0))
    )
    state.out.clear()
    return True


@no_inline
def tls_write(
    mut connection: Connection, mut state: WorkerState, var body: Body
) -> Bool:
    """Encrypts and sends the worker's output and content after it; there is no
    pending write. False if the connection is broken."""
    var sent_len = 0
    var count = _send(
        connection,
        state.tls_output,
        state.out.span(),
        body.as_bytes(),
        sent_len,
    )
    if count < 0:
        state.out.clear()
        return False
    if count < len(state.out) + len(body) or (
        len(connection.tls.held()[].unsent) > 0
    ):
        connection.request.pending = OwnedPointer(
            PendingWrite(body^, state.out.span(), count)
        )
    state.out.clear()
    return True


def tls_write_pending(
    mut connection: Connection, mut state: WorkerState
) -> Bool:
    """Sends what was parked, as far as the client takes it; the pending write
    may be empty afterwards. False if the connection is broken."""
    while len(connection.tls.held()[].unsent) > 0:
        ref unsent = connection.tls.held()[].unsent
        var count = connection.socket.send(unsent.span())
        if count == -EAGAIN:
            return True
        if count < 0:
            return False
        unsent.consume(count)
        connection.request.pending.held()[].pace.sent_len += count
    var box = connection.request.pending.take()
    var is_sound = True
    if not box[].is_empty():
        var sent_len = 0
        var count = _send(
            connection,
            state.tls_output,
            box[].octets.span(),
            box[].body.rest(),
            sent_len,
        )
        is_sound = count >= 0
        box[].drop(max(count, 0))
        box[].pace.sent_len += sent_len
    connection.request.pending = box^
    return is_sound


def _send(
    mut connection: Connection,
    mut sealed: Buffer,
    first: Span[UInt8, _],
    second: Span[UInt8, _],
    mut sent_len: Int,
) -> Int:
    """Encrypts and sends two pieces, as far as the client takes them. What is
    encrypted and was not taken becomes the connection's `unsent`, which is
    empty before, as `sealed`, the worker's buffer, is before and after. Returns
    how many octets of both are encrypted, or a negative errno; `sent_len` is
    raised by the encrypted ones that were taken."""
    var total = len(first) + len(second)
    var done = 0
    while done < total:
        var end = min(total, done + PLAINTEXT_LEN_MAX)
        if not _seal(connection, sealed, first, second, done, end):
            sealed.clear()
            return -EPIPE
        done = end
        var count = connection.socket.send(sealed.span())
        sent_len += max(count, 0)
        if count < len(sealed):
            if count < 0 and count != -EAGAIN:
                sealed.clear()
                return count
            sealed.consume(max(count, 0))
            connection.tls.held()[].unsent.append(sealed.span())
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
    ref pump = connection.tls.held()[].pump
    var split = len(first)
    if start < split:
        var piece = first.between(start, min(end, split))
        if pump.write(piece, sealed).status == TlsStatus.FAILED:
            return False
    if end > split:
        var piece = second.between(max(start, split) - split, end - split)
        return pump.write(piece, sealed).status != TlsStatus.FAILED
    return True

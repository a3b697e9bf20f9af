"""What waits to be sent: the rest of responses, and content that a source makes
as fast as the client takes it.
"""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.never import NEVER
from flare.bytes.text import Text
from flare.http.exchange.outgoing_body import BodyState, OutgoingBody
from flare.http.h1.chunked import append_chunk, append_last_chunk
from flare.http.message.body import BodyStream
from flare.http.server.connection.connection import (
    Connection,
    PendingWrite,
)
from flare.http.server.connection.deadlines import Wait, deadline_of
from flare.http.server.connection.phase import Event, NextAction, Phase
from flare.http.server.connection.sides import Backlog, ClientSide, Presence
from flare.http.server.connection.transport import tls_write_pending
from flare.http.server.worker_state import WorkerState
from flare.net.socket_addr import SocketAddr
from flare.sys.errno import EAGAIN, EINTR
from std.memory import ArcPointer, OwnedPointer
from std.sys.intrinsics import likely, unlikely

comptime _PIECE_COUNT_MAX = 16
# Pieces that one connection sends before the others have their turn.


comptime _PIECE_KEEP_LEN_MAX = 1 << 20
# Room for pieces that a worker keeps, in bytes.


def start_stream(
    mut connection: Connection,
    mut state: WorkerState,
    stream: ArcPointer[BodyStream],
    is_chunked: Bool,
) -> Bool:
    """Begins to send content that a source makes, in chunks if `is_chunked`,
    after the worker's output with the head; there is no pending write. False
    if the connection is broken."""
    var pending = PendingWrite(
        OutgoingBody(
            stream, sends_regions=not connection.tls and not is_chunked
        )
    )
    pending.octets.append(state.out.span())
    state.out.clear()
    pending.is_chunked = is_chunked
    note_origin(pending.body, state)
    stream[].begin(state.wake_queue.waker_for(connection.token))
    connection.request.pending = OwnedPointer(pending^)
    # A file is there at once, so it goes with its head.
    if stream[].region().length > 0:
        if not _fill(connection, state):
            return False
    return write_pending(connection, state)


def write_pending(
    mut connection: Connection, mut state: WorkerState, made_count: Int = 0
) -> Bool:
    """Sends what was parked, if anything is, and what a stream makes, of which
    it has made `made_count` pieces in this round already. There is no pending
    write afterwards if all is sent. False if the connection is broken."""
    if not connection.request.pending:
        return True
    connection.request.pending.held()[].gives_way = False
    for count in range(made_count, _PIECE_COUNT_MAX):
        if not _send_what_is_here(connection, state):
            return False
        if not is_taken(connection):
            return True
        ref pending = connection.request.pending.held()[]
        if pending.body.state == BodyState.MADE:
            connection.request.pending = None
            return True
        var waits = pending.body.state == BodyState.WAITING
        if waits and pending.octets.capacity() > 0:
            pending.octets = Buffer(0)
        if waits or state.config.min_send_rate == 0:
            # The client keeps nobody waiting: what comes has its own time.
            connection.enter[Event.SOURCE_EMPTY]()
        if waits:
            return True
        if not _fill(connection, state):
            return False
        if count > 0 and (
            # What a conversation does takes longer than to make a piece.
            connection.request.pending.held()[].has_more_to_say()
            or state.is_turn_over()
        ):
            break
    connection.request.pending.held()[].gives_way = True
    return True


def await_pending(
    mut connection: Connection, mut state: WorkerState
) -> NextAction:
    """Sets phase and deadline of a connection with a pending write.

    A client that hangs up while its stream has nothing ends the stream; a
    client is not known to be there as long as nothing is sent.
    """
    if connection.phase == Phase.HANDSHAKE:
        # A part of it; its deadline holds.
        return NextAction.WAIT
    ref pending = connection.request.pending.held()[]
    if pending.body.state == BodyState.WAITING and is_taken(connection):
        return await_source(connection, state)
    var action = NextAction.YIELD if pending.gives_way else NextAction.WAIT
    if connection.begins[Event.WRITE_BLOCKED]() or (
        not pending.pace.clock.waits()
    ):
        pending.pace.begin(
            connection.socket.undelivered_len(),
            state.now_ms,
            state.config,
        )
        pending.taken_len = -1
    connection.begin[Event.WRITE_BLOCKED](state.now_ms, state.config)
    _watch_for_stall(connection, state)
    return action


@always_inline
def await_source(mut connection: Connection, state: WorkerState) -> NextAction:
    """Sets phase and deadline of a connection whose client has taken all, and
    whose source has nothing more yet."""
    ref body = connection.request.pending.held()[].body
    ref source = body.source.held()[]
    if (
        connection.backlog != Backlog.NONE
        and source.listens()
        and not source.is_full()
    ):
        return NextAction.YIELD
    connection.deadline_ms = body.next_ask_ms(state.now_ms)
    if unlikely(connection.client != ClientSide.OPEN) and not _outlasts_pause(
        connection, state
    ):
        return NextAction.CLOSE
    connection.enter[Event.SOURCE_EMPTY]()
    return NextAction.WAIT


@no_inline
def _outlasts_pause(mut connection: Connection, state: WorkerState) -> Bool:
    """Tells whether a client that has ended its side is to wait until its source
    has something, and sets until when, beside the time to ask the source."""
    var presence = presence_of(connection)
    if presence != Presence.DOUBTFUL:
        return presence == Presence.THERE
    ref pending = connection.request.pending.held()[]
    if pending.body.listens():
        # It says goodbye before the end, if it means to hear an answer.
        return False
    if pending.ended_len != pending.pace.sent_len:
        pending.ended_len = pending.pace.sent_len
        pending.ended_ms = state.now_ms
    var end_ms = deadline_of(Wait.HALF_CLOSED, pending.ended_ms, state.config)
    connection.deadline_ms = min(connection.deadline_ms, end_ms)
    return state.now_ms < end_ms


@no_inline
def note_end(mut connection: Connection, state: WorkerState):
    """Takes note that a client has ended its side after all of its request, for
    which a handler elsewhere is under way."""
    ref request = connection.request
    if not request.call.plan.defers():
        return request.call.job.held()[].set()
    var presence = presence_of(connection)
    if presence == Presence.GONE:
        request.call.job.held()[].set()
    elif presence == Presence.DOUBTFUL:
        var end_ms = deadline_of(Wait.HALF_CLOSED, state.now_ms, state.config)
        connection.deadline_ms = min(connection.deadline_ms, end_ms)


def presence_of(mut connection: Connection) -> Presence:
    """Judges whether a client that has ended its side waits for what it has asked
    for (RFC 9112 section 9.6): it counts whether other requests stand before the
    end, or did so, as `RequestRow` says."""
    if connection.client == ClientSide.FAILED:
        return Presence.GONE
    if not connection.request.has_all_content():
        # What reads the content finds the end.
        return Presence.THERE
    var octet = List[UInt8](length=1, fill=0)
    var count = connection.socket.peek(Span(octet))
    if count < 0 and count != -EAGAIN:
        return Presence.GONE
    if connection.request.row.outlasts_end() or _has_to_hear(connection):
        return Presence.THERE
    # Over TLS it may be no more than a goodbye.
    var is_all = count <= 0 or connection.tls.__bool__()
    return Presence.DOUBTFUL if is_all else Presence.THERE


def _has_to_hear(connection: Connection) -> Bool:
    """Tells whether a conversation has not got rid of what it has received: the
    end is read after that."""
    if not connection.request.pending:
        return False
    ref body = connection.request.pending.held()[].body
    return body.listens() and body.source.held()[].is_full()


def _watch_for_stall(mut connection: Connection, state: WorkerState):
    """Sets the deadline of a client that has to take something at least, if
    what a conversation sends is not to wait for it as long as all else."""
    ref pending = connection.request.pending.held()[]
    connection.deadline_ms = pending.pace.clock.end_ms
    if not pending.body.listens():
        return
    var stall_ms = pending.body.source.held()[].stall_timeout_ms()
    if stall_ms == NEVER:
        return
    var taken_len = pending.pace.taken_len(connection.socket.undelivered_len())
    if taken_len != pending.taken_len:
        pending.taken_len = taken_len
        pending.taken_ms = state.now_ms
    connection.deadline_ms = min(
        connection.deadline_ms, pending.taken_ms + stall_ms
    )


def prolong_sending(mut connection: Connection, mut state: WorkerState) -> Bool:
    """Gives a client, whose time to write is over, the time that it has earned
    by taking octets. False if there is none; that is logged."""
    ref pace = connection.request.pending.held()[].pace
    if state.now_ms >= pace.clock.end_ms:
        if not prolong_write(connection, state):
            return False
    _watch_for_stall(connection, state)
    if connection.deadline_ms > state.now_ms:
        return True
    state.log(
        String(
            connection.peer,
            " is cut off: it took nothing for ",
            state.now_ms - connection.request.pending.held()[].taken_ms,
            " ms, and has more to be answered (stall_timeout_ms)",
        )
    )
    return False


def prolong_write(mut connection: Connection, mut state: WorkerState) -> Bool:
    """Gives a client, which does not take what the socket has, the time that it
    has earned by taking octets, over either version. False if there is none; that
    is logged."""
    ref pace = connection.request.pending.held()[].pace
    var queued_len = connection.socket.undelivered_len()
    if pace.prolong(queued_len, state.now_ms, state.config):
        return True
    state.log(
        Text()
        .add(connection.peer)
        .add(" is cut off: of what it was sent it took ")
        .add(pace.taken_len(queued_len))
        .add(" bytes in ")
        .add(state.now_ms - pace.start_ms)
        .add(" ms (write_timeout_ms, min_send_rate)")
        .end()
    )
    return False


def has_to_write(connection: Connection) -> Bool:
    """Tells whether a connection is to go on when its client takes octets: it
    has a pending write, and not only a source that has nothing."""
    if not connection.request.pending:
        return False
    ref body = connection.request.pending.held()[].body
    return body.state != BodyState.WAITING or not is_taken(connection)


def on_wake(mut connection: Connection, stream_id: Int) -> NextAction:
    """Takes note that a source has rung, or a handler that reads content.
    Returns CLOSE if the source gives the client up, YIELD otherwise."""
    if connection.http2:
        connection.http2.held()[].note_woken(stream_id)
        return NextAction.YIELD
    ask_again(connection)
    if connection.request.pending:
        if connection.request.pending.held()[].body.has_given_up():
            return NextAction.CLOSE
    return NextAction.YIELD


def ask_again(mut connection: Connection):
    """Lets a source be asked that had nothing."""
    if connection.request.pending:
        connection.request.pending.held()[].body.wake()


@no_inline
def feed_upgraded(
    mut connection: Connection, mut state: WorkerState, mut input: Buffer
) -> Bool:
    """As `feed`; for what came after the request."""
    return feed(connection, state, input)


@always_inline
def feed(
    mut connection: Connection, mut state: WorkerState, mut input: Buffer
) -> Bool:
    """Hands octets from the client to a conversation in the pending write, or
    one that has ended, and sends its answer; the input is empty afterwards.
    False if the connection is broken."""
    if unlikely(
        not connection.request.pending
        or not connection.request.pending.held()[].body.source
    ):
        # The worker's own buffer: what is left must not reach the next client.
        input.clear()
        return True
    state.piece.clear()
    ref body = connection.request.pending.held()[].body
    var next = body.hear(input, state.piece)
    if unlikely(body.failure.byte_length() > 0):
        log_failure(body, connection.peer, state)
    if unlikely(next == BodyState.FAILED):
        _shrink_piece(state)
        return False
    if unlikely(not _send_piece(connection, state)):
        return False
    if likely(next == BodyState.WAITING and is_taken(connection)):
        connection.enter[Event.SOURCE_EMPTY]()
        ref rest = connection.request.pending.held()[]
        rest.gives_way = False
        if unlikely(rest.octets.capacity() > 0):
            rest.octets = Buffer(0)
        return True
    return write_pending(connection, state, 1)


@always_inline
def is_taken(connection: Connection) -> Bool:
    """Tells whether the client has taken all that is here of the pending write,
    but for what a source will make."""
    if connection.tls and len(connection.tls.held()[].unsent) > 0:
        return False
    return connection.request.pending.held()[].is_empty()


def note_origin(mut body: OutgoingBody, state: WorkerState):
    """Notes whose content it is, for the log."""
    ref record = state.params[].record
    body.route = record.route
    if record.has_id():
        body.request_id = String(record.id())


@no_inline
def log_failure(mut body: OutgoingBody, peer: SocketAddr, state: WorkerState):
    """Tells what went wrong with content, and whose it is; it has no `failure`
    afterwards."""
    var line = Text().add(body.take_failure()).add(" [route ")
    line = line^.add_escaped(body.route.as_bytes())
    line = line^.add(", from ").add(peer)
    if body.request_id.byte_length() > 0:
        line = line^.add(", id ").add(body.request_id)
    state.log(line^.add("]").end())


def _send_what_is_here(
    mut connection: Connection, mut state: WorkerState
) -> Bool:
    """Sends until all is sent or the client takes no more; False if broken."""
    if connection.tls:
        return tls_write_pending(connection, state)
    while True:
        ref pending = connection.request.pending.held()[]
        if pending.is_empty():
            return True
        var count = pending.send_to(connection.socket)
        if count == -EAGAIN:
            return True
        if pending.body.state == BodyState.FAILED:
            log_failure(pending.body, connection.peer, state)
            return _break_off(connection)
        if count < 0 and count != -EINTR:
            return False


@always_inline
def _send_piece(mut connection: Connection, mut state: WorkerState) -> Bool:
    """Sends what is in the worker's own piece; False if broken.

    What the client does not take now is kept in the pending write.
    """
    ref pending = connection.request.pending.held()[]
    if pending.is_empty() and not connection.tls:
        while len(state.piece) > 0:
            var count = connection.socket.send(state.piece.span())
            if count == -EAGAIN:
                break
            if count < 0:
                _shrink_piece(state)
                return False
            state.piece.consume(count)
            pending.pace.sent_len += count
    if unlikely(len(state.piece) > 0):
        pending.octets.append(state.piece.span())
    _shrink_piece(state)
    return not connection.tls or _send_what_is_here(connection, state)


@always_inline
def _shrink_piece(mut state: WorkerState):
    """Gives the memory of a long piece back."""
    if state.piece.capacity() > _PIECE_KEEP_LEN_MAX:
        state.piece = Buffer(0)


@no_inline
def _break_off(mut connection: Connection) -> Bool:
    """Ends a connection after what was made of content that breaks off: its
    framing shows what is missing, and answers before it arrive whole. False if
    it is broken at once: where the end of the connection is that of the content
    (RFC 9112 section 6.3), only a reset tells."""
    ref pending = connection.request.pending.held()[]
    ref source = pending.body.source.held()[]
    if source.listens():
        return False
    if not pending.is_chunked and not source.length:
        try:
            connection.socket.reset_on_close()
        except:
            # Then it ends as it would have.
            pass
        return False
    pending.body = OutgoingBody()
    if connection.tls:
        connection.tls.held()[].breaks_off = True
    connection.ending.end(is_unread=True)
    return True


def _fill(mut connection: Connection, mut state: WorkerState) -> Bool:
    """Has the source make a piece, and sends it; False if the connection is
    broken."""
    ref pending = connection.request.pending.held()[]
    state.piece.clear()
    var next = pending.body.fill(state.piece, state.is_draining)
    if next == BodyState.FILE:
        return True
    if unlikely(next == BodyState.FAILED):
        log_failure(pending.body, connection.peer, state)
        _shrink_piece(state)
        return _break_off(connection)
    if not pending.is_chunked:
        return _send_piece(connection, state)
    append_chunk(pending.octets, state.piece.span())
    if next == BodyState.MADE:
        append_last_chunk(pending.octets, pending.body.trailers)
    return True

"""Driving a connection: read, parse, answer, send, until it has to wait.

Octets that are here are always driven: a connection waits only for its client,
and one that could go on gives way to the others through the ready list.
"""

from flare.http.h1.request_parser import RequestParser, Progress
from flare.http.h1.error import RemoteProtocolError
from flare.http.h1.serialiser import CONTINUE_RESPONSE
from flare.http.routing.handler import Handler
from flare.http.server.connection.connection import (
    Connection,
    TLS_BROKEN,
    receive,
)
from flare.http.server.connection.dispatch import (
    Answer,
    answer,
    answer_by_head,
    answer_error,
    answer_full,
    answer_plain_http,
    ask_policy,
)
from flare.http.server.connection.phase import (
    Fate,
    PHASE_BODY,
    PHASE_HANDSHAKE,
    PHASE_HEAD,
    PHASE_IDLE,
    PHASE_SOURCE,
    PHASE_WRITE,
)
from flare.http.server.connection.request_body import (
    owes_continue,
    take_content,
)
from flare.http.server.connection.upgrade import converse
from flare.http.server.connection.write import (
    await_tail,
    deliver,
    flush,
    send_tail,
)
from flare.http.server.worker_state import FLUSH_LEN, WorkerState
from flare.sys.errno import EAGAIN, EINTR
from std.memory import OwnedPointer
from std.sys.intrinsics import likely, unlikely

comptime _READ_COUNT_MAX = 16
# Reads of one round when the end of the stream is looked for; a client that
# sends faster than we read would else have the worker for itself.


@no_inline
def drive[
    H: Handler
](
    mut connection: Connection,
    mut scratch: RequestParser,
    mut state: WorkerState,
    handler: H,
    is_closed: Bool,
) -> Fate:
    """Drives a connection that is readable.

    Parameters:
        H: The handler's type.

    Args:
        connection: The connection; not lingering.
        scratch: The worker's own exchange, idle; idle again afterwards.
        state: The worker's state.
        handler: Answers.
        is_closed: True if the end of the stream may stand behind the octets,
            so that a short read does not mean that all was read.

    Returns:
        What is to happen to it.
    """
    if unlikely(connection.tail.__bool__()):
        return converse(connection, scratch, state, is_closed)
    connection.has_unread = False
    if unlikely(connection.exchange.__bool__()):
        return _drive_partial(connection, state, handler, is_closed)
    var fate = _read(connection, scratch, state, handler, is_closed)
    if likely(scratch.is_idle()):
        return fate
    if fate == Fate.CLOSES or fate == Fate.ENDS:
        scratch.reset()
        return fate
    var box = state.take_exchange()
    box[].take_over(scratch)
    if unlikely(not _charge(connection, box[], state)):
        return _refuse_content(connection, box^, state)
    connection.exchange = box^
    return fate


@no_inline
def _drive_partial[
    H: Handler
](
    mut connection: Connection,
    mut state: WorkerState,
    handler: H,
    is_closed: Bool,
) -> Fate:
    """Drives a connection with a part of a request in its own exchange."""
    var box = connection.take_exchange()
    var missing = box[].missing_len() if box[].is_in_body() else 0
    # Room grows with what has arrived, not with what is announced.
    var arrived = max(len(box[].input), 4_096)
    box[].input.reserve(min(max(missing, 4_096), arrived))
    if unlikely(not _charge(connection, box[], state)):
        return _refuse_content(connection, box^, state)
    var fate = _read(connection, box[], state, handler, is_closed)
    put_back(connection, box^, state, fate)
    return fate


def _charge(
    mut connection: Connection, exchange: RequestParser, mut state: WorkerState
) -> Bool:
    """Counts the memory of content that is arriving; False if there is none
    left for it."""
    if not exchange.is_in_body():
        return True
    return state.charge(connection.request[].charge, exchange.input.capacity())


@no_inline
def _refuse_content(
    mut connection: Connection,
    var box: OwnedPointer[RequestParser],
    mut state: WorkerState,
) -> Fate:
    """Ends a connection whose content there is no memory for."""
    connection.request[].charge = None
    if connection.tail:
        # It was told something before that it has not taken.
        state.give_exchange(box^)
        return Fate.CLOSES
    answer_full(box[], connection, state)
    state.give_exchange(box^)
    connection.lingers = True
    return Fate.ENDS if deliver(connection, state) else Fate.CLOSES


def put_back(
    mut connection: Connection,
    var box: OwnedPointer[RequestParser],
    mut state: WorkerState,
    fate: Fate,
):
    """Keeps an exchange with the connection while it has a part of a request.

    Args:
        connection: The connection.
        box: Its exchange.
        state: The worker's state, which takes the exchange back otherwise.
        fate: What is to happen to the connection.
    """
    if box[].is_idle() or fate == Fate.CLOSES or fate == Fate.ENDS:
        state.give_exchange(box^)
        connection.request[].charge = None
    else:
        connection.exchange = box^


@no_inline
def _read[
    H: Handler
](
    mut connection: Connection,
    mut exchange: RequestParser,
    mut state: WorkerState,
    handler: H,
    is_closed: Bool,
) -> Fate:
    var may_have_more = is_closed
    for _ in range(_READ_COUNT_MAX):
        var room = exchange.input.room()
        var room_len = len(room)
        var count = receive(connection, state, room, may_have_more)
        if unlikely(count <= 0):
            if count == -EINTR:
                continue
            return _stop_reading(connection, exchange, state, count)
        exchange.input.commit(count)
        var fate = process(connection, exchange, state, handler)
        if unlikely(fate != Fate.WAITS):
            connection.has_unread = True
            return fate
        if unlikely(connection.tail.__bool__()):
            connection.has_unread = True
            return Fate.WAITS
        if likely(count < room_len and not may_have_more):
            return Fate.WAITS
        if count == room_len:
            # More may wait than one round should take.
            return Fate.GIVES_WAY
    return Fate.GIVES_WAY


@no_inline
def _stop_reading(
    mut connection: Connection,
    exchange: RequestParser,
    mut state: WorkerState,
    count: Int,
) -> Fate:
    """Tells what follows when nothing more can be read now."""
    if count == -EAGAIN:
        if connection.phase == PHASE_HANDSHAKE:
            return Fate.WAITS
        if connection.phase == PHASE_IDLE and exchange.is_idle():
            # At most a part of a record has come. Its deadline stays.
            return Fate.CLOSES if state.is_draining else Fate.WAITS
        return _settle(connection, exchange, state)
    if count != TLS_BROKEN:
        return Fate.CLOSES
    ref link = connection.tls.value()[]
    # An alert of the client ends all at once; one of ours has to arrive.
    connection.lingers = link.is_plain_http or link.tells_why()
    if link.is_plain_http:
        var is_head = link.is_plain_head
        connection.drop_tls()
        answer_plain_http(connection, state, is_head)
        if not deliver(connection, state):
            return Fate.CLOSES
    return Fate.ENDS


@no_inline
def process[
    H: Handler
](
    mut connection: Connection,
    mut exchange: RequestParser,
    mut state: WorkerState,
    handler: H,
) -> Fate:
    """Answers all complete requests of an exchange, and sends.

    Parameters:
        H: The handler's type.

    Args:
        connection: Where they came from; has no tail.
        exchange: Has octets.
        state: The worker's state.
        handler: Answers.

    Returns:
        What is to happen to the connection.
    """
    var keeps_alive = True
    while keeps_alive:
        var progress: Progress
        try:
            progress = exchange.advance(state.limits)
            if unlikely(progress == Progress.HEAD_READY):
                progress = _begin_content(connection, exchange, state, handler)
        except error:
            answer_error(exchange, connection, state, error)
            connection.lingers = True
            keeps_alive = False
            break
        var result: Answer
        if unlikely(progress != Progress.READY):
            if progress == Progress.SKIPPED:
                # The next request has its own time, also if it is here already.
                connection.phase = PHASE_IDLE
                continue
            if not exchange.is_in_body():
                break
            if exchange.is_streamed:
                return _park(connection, exchange, state)
            if connection.request[].policy.needs_content:
                break
            result = answer_by_head(
                exchange, connection, state, handler, owes_continue(exchange)
            )
        else:
            if unlikely(state.config.handler_threads > 0):
                # One with content was asked about when its head was there.
                if not exchange.head.framing.has_content():
                    ask_policy(exchange, connection, state, handler)
                if (
                    connection.request[].policy.streams
                    or connection.request[].policy.blocks
                ):
                    return _park(connection, exchange, state)
            result = answer(exchange, connection, state, handler)
        if unlikely(result.is_broken):
            return Fate.CLOSES
        keeps_alive = result.keeps_alive
        if unlikely(len(state.out) > FLUSH_LEN):
            if not flush(connection, state):
                return Fate.CLOSES
        if unlikely(connection.tail.__bool__()):
            break
    if unlikely(not deliver(connection, state)):
        return Fate.CLOSES
    if unlikely(not keeps_alive):
        connection.lingers = connection.lingers or len(exchange.input) > 0
        return Fate.ENDS
    return _settle(connection, exchange, state)


@no_inline
def _begin_content[
    H: Handler
](
    mut connection: Connection,
    mut exchange: RequestParser,
    mut state: WorkerState,
    handler: H,
) raises RemoteProtocolError -> Progress:
    """Decides how content is taken whose request's head is there."""
    ask_policy(exchange, connection, state, handler)
    ref policy = connection.request[].policy
    exchange.max_body_size = policy.max_body_size
    if not policy.streams:
        # More could never be had.
        exchange.max_body_size = min(
            policy.max_body_size, state.config.max_buffered_bodies_size
        )
    var progress = exchange.advance(state.limits)
    if progress == Progress.NEEDS_OCTETS:
        var needs_content = connection.request[].policy.needs_content
        exchange.is_streamed = (
            connection.request[].policy.streams and needs_content
        )
        var is_taken = needs_content and not exchange.is_streamed
        if is_taken and owes_continue(exchange):
            state.out.append_literal[CONTINUE_RESPONSE]()
    return progress


@no_inline
def _park(
    mut connection: Connection, exchange: RequestParser, mut state: WorkerState
) -> Fate:
    """Sends what came before a request that is handed to another thread; the
    request waits here until the client has taken it."""
    if not deliver(connection, state):
        return Fate.CLOSES
    if connection.tail:
        return _settle_unfinished(connection, exchange, state)
    return Fate.PARKS


@always_inline
def _settle(
    mut connection: Connection, exchange: RequestParser, mut state: WorkerState
) -> Fate:
    """Sets the phase and the deadline of a connection that waits."""
    if likely(exchange.is_idle() and not connection.tail.__bool__()):
        if connection.request_count > 0:
            if unlikely(state.is_draining):
                return Fate.CLOSES
            connection.begin_idling(state.now_ms, state.config.idle_timeout_ms)
        return Fate.WAITS
    return _settle_unfinished(connection, exchange, state)


@no_inline
def _settle_unfinished(
    mut connection: Connection, exchange: RequestParser, mut state: WorkerState
) -> Fate:
    ref config = state.config
    if connection.tail:
        return await_tail(connection, state)
    elif exchange.is_in_body():
        connection.begin_phase(PHASE_BODY, state.now_ms, config.body_timeout_ms)
        if config.min_body_rate > 0:
            var earned_ms = (
                exchange.body_received_len() * 1_000 // config.min_body_rate
            )
            connection.deadline_ms = (
                connection.phase_start_ms + config.body_timeout_ms + earned_ms
            )
    elif exchange.is_skipping():
        connection.begin_phase(PHASE_BODY, state.now_ms, config.body_timeout_ms)
    else:
        connection.begin_phase(
            PHASE_HEAD, state.now_ms, config.header_timeout_ms
        )
    return Fate.WAITS


def resume[
    H: Handler
](mut connection: Connection, mut state: WorkerState, handler: H) -> Fate:
    """Goes on with a connection whose client takes octets again.

    Parameters:
        H: The handler's type.

    Args:
        connection: The connection.
        state: The worker's state.
        handler: Answers.

    Returns:
        What is to happen to it; GIVES_WAY if it should be read again.
    """
    if connection.content:
        return take_content(connection, state)
    if not connection.tail:
        return Fate.WAITS
    if not send_tail(connection, state):
        return Fate.CLOSES
    if connection.tail:
        return await_tail(connection, state)
    if connection.closes:
        return Fate.ENDS
    if connection.exchange:
        var box = connection.take_exchange()
        var fate = process(connection, box[], state, handler)
        put_back(connection, box^, state, fate)
        if fate != Fate.WAITS or connection.tail:
            return fate
    if connection.has_unread:
        return Fate.GIVES_WAY
    var was_sending = (
        connection.phase == PHASE_WRITE or connection.phase == PHASE_SOURCE
    )
    if was_sending and not connection.exchange:
        if state.is_draining:
            return Fate.CLOSES
        connection.begin_idling(state.now_ms, state.config.idle_timeout_ms)
    return Fate.WAITS

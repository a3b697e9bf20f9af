"""The last things of a connection: its end, and deadlines that pass."""

from flare.http.h1.exchange import Exchange
from flare.http.message.method import Method
from flare.http.server.connection import (
    Connection,
    FRESH_GRACE_MS,
    NEVER_MS,
    PHASE_BODY,
    PHASE_HANDSHAKE,
    PHASE_HEAD,
    PHASE_IDLE,
    PHASE_LINGER,
    PHASE_PROXY,
    PHASE_SOURCE,
    PHASE_WRITE,
)
from flare.http.server.fate import Fate
from flare.http.server.refusing import (
    answer_late,
    answer_overload,
    answer_timeout,
)
from flare.http.server.sending import deliver, flush
from flare.http.server.streaming import (
    ask_again,
    await_tail,
    prolong_sending,
)
from flare.http.server.worker_state import WorkerState
from flare.sys.errno import EAGAIN, EINTR

comptime LINGER_LEN_MAX = 1 << 20
"""Most octets dropped at one event behind the last response, in bytes.

A client that sends more in one go is cut off; what comes in all is bounded by
`linger_timeout_ms`.
"""


def end(mut connection: Connection, mut state: WorkerState) -> Fate:
    """Ends a connection whose last response is in the output, sent or parked.

    A client that has not been read to the end would be sent a reset by close,
    which can destroy the response on its way (RFC 9112 section 9.6). So the
    own direction ends first, and what still comes is read for a while.

    Args:
        connection: The connection.
        state: The worker's state.

    Returns:
        What is to happen to it.
    """
    connection.closes = True
    if connection.tail:
        return await_tail(connection, state)
    if not connection.lingers:
        return Fate.CLOSES
    connection.finish_writing()
    connection.begin_phase(
        PHASE_LINGER, state.now_ms, state.config.linger_timeout_ms
    )
    return Fate.GIVES_WAY


def discard(mut connection: Connection, mut scratch: Exchange) -> Fate:
    """Reads and drops what a client sends behind its last response.

    Args:
        connection: A lingering connection.
        scratch: The worker's own exchange, idle; idle again afterwards.

    Returns:
        CLOSES at the end of the stream, or if the client sends too much.
    """
    var total = 0
    while total < LINGER_LEN_MAX:
        var count = connection.socket.receive(scratch.input.room())
        if count == -EAGAIN:
            return Fate.WAITS
        if count <= 0 and count != -EINTR:
            return Fate.CLOSES
        total += max(count, 0)
    return Fate.CLOSES


def expire(mut connection: Connection, mut state: WorkerState) -> Fate:
    """Does what follows when a phase has taken too long.

    A client that waits for an answer gets one; one that sends nothing, or does
    not read, does not.

    Args:
        connection: Its deadline is over.
        state: The worker's state.

    Returns:
        ENDS if an answer was sent, GIVES_WAY to ask a source, WAITS if the
        client has earned more time, CLOSES otherwise.
    """
    if connection.phase == PHASE_SOURCE:
        # Nobody is late; the source wants to be asked, and that sets the next.
        connection.deadline_ms = NEVER_MS
        ask_again(connection)
        return Fate.GIVES_WAY
    if connection.job:
        connection.cancel_job()
        if connection.phase == PHASE_BODY:
            answer_timeout(connection, state, connection.is_head)
        else:
            answer_late(connection, state)
    elif connection.exchange and (
        connection.phase == PHASE_HEAD or connection.phase == PHASE_BODY
    ):
        if connection.exchange.value()[].is_skipping():
            # Its request was answered.
            return Fate.CLOSES
        ref head = connection.exchange.value()[].head
        answer_timeout(connection, state, head.method == Method.HEAD)
        connection.exchange = None
        connection.request[].charge = None
    elif connection.phase == PHASE_WRITE and connection.tail:
        if prolong_sending(connection, state):
            return Fate.WAITS
        return Fate.CLOSES
    else:
        return Fate.CLOSES
    connection.lingers = True
    return Fate.ENDS if deliver(connection, state) else Fate.CLOSES


def refuse(mut connection: Connection, mut state: WorkerState) -> Fate:
    """Answers a connection that is one too many.

    Args:
        connection: Has just begun.
        state: The worker's state.

    Returns:
        ENDS, or CLOSES if the connection is broken, or speaks TLS: a handshake
        would cost more than a request.
    """
    if connection.tls:
        return Fate.CLOSES
    answer_overload(connection, state)
    connection.lingers = True
    return Fate.ENDS if flush(connection, state) else Fate.CLOSES


def leave(mut connection: Connection, state: WorkerState) -> Fate:
    """Lets a connection go when the server is to stop, as soon as it can.

    Args:
        connection: An open one.
        state: The worker's state.

    Returns:
        GIVES_WAY after a long pause, since a request may be here nevertheless,
        and to end a stream that has no end; else WAITS. A client that was
        answered a moment ago may have its next request on the way: it is
        waited for shortly, and answered with `Connection: close`.
    """
    if connection.phase == PHASE_SOURCE or (
        connection.tail and connection.tail.value()[].stream
    ):
        # One whose client is behind is asked when the client has caught up.
        ask_again(connection)
        return Fate.GIVES_WAY
    if connection.exchange:
        return Fate.WAITS
    var idle_timeout_ms = state.config.idle_timeout_ms
    var idle_ms = state.now_ms - (connection.deadline_ms - idle_timeout_ms)
    # The deadline of one that has grown old tells nothing of its pause.
    var is_known = connection.deadline_ms < connection.retire_ms
    if connection.phase == PHASE_IDLE and (
        is_known and idle_ms >= FRESH_GRACE_MS
    ):
        return Fate.GIVES_WAY
    if (
        connection.phase == PHASE_HEAD
        or connection.phase == PHASE_HANDSHAKE
        or connection.phase == PHASE_PROXY
        or connection.phase == PHASE_IDLE
    ):
        # A request may be on its way.
        connection.deadline_ms = min(
            connection.deadline_ms, state.now_ms + FRESH_GRACE_MS
        )
    return Fate.WAITS

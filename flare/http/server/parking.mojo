"""Connections whose request is with a handler on another thread."""

from flare.http.h1.exchange import Exchange
from flare.http.message.cancel import CancelFlag
from flare.http.message.method import Method
from flare.http.message.response import Response
from flare.http.routing.handler import Handler
from flare.http.server.answering import busy, conclude
from flare.http.server.connection import (
    Connection,
    PHASE_HANDLER,
)
from flare.http.server.driving import process, put_back
from flare.http.server.fate import Fate
from flare.http.server.handler_pool import HandlerPool, Job
from flare.http.server.sending import deliver
from flare.http.server.streaming import await_tail
from flare.http.server.worker_state import WorkerState
from std.memory import ArcPointer, OwnedPointer


def hand_over[
    H: Handler
](
    mut connection: Connection,
    token: UInt64,
    mut pool: HandlerPool,
    mut state: WorkerState,
    handler: H,
) -> Fate:
    """Gives a complete request to the handler threads, or refuses it.

    Parameters:
        H: The handler's type.

    Args:
        connection: Has the request in its exchange.
        token: The connection's.
        pool: The threads.
        state: The worker's state.
        handler: Answers what was pipelined behind a refused request.

    Returns:
        WAITS, or what follows a refusal.
    """
    var box = connection.take_exchange()
    # What the socket still has is read when the answer is there.
    connection.has_unread = True
    if pool.is_full():
        return unpark(connection, box^, busy(), state, handler)
    var flag = ArcPointer(CancelFlag())
    if connection.peer_has_ended:
        flag[].set()
    connection.begin_phase(
        PHASE_HANDLER, state.now_ms, state.config.handler_timeout_ms
    )
    connection.is_head = box[].head.method == Method.HEAD
    var job = Job(token, box^, connection.peer, flag)
    if connection.tls:
        job.tls = connection.tls.value()[].peer
    pool.submit(OwnedPointer(job^))
    connection.job = flag^
    return Fate.WAITS


def note_event(mut connection: Connection):
    """Tells a handler on another thread when its client has gone.

    Args:
        connection: Has a job.
    """
    if connection.peer_has_ended:
        connection.job.value()[].set()


def finish_job[
    H: Handler
](
    mut connection: Connection,
    mut job: Job,
    mut state: WorkerState,
    handler: H,
) -> Fate:
    """Sends what a handler on another thread has answered.

    Parameters:
        H: The handler's type.

    Args:
        connection: Waits for this job.
        job: Is done; its exchange and its response are taken.
        state: The worker's state.
        handler: Answers what was pipelined behind.

    Returns:
        What is to happen to the connection.
    """
    connection.job = None
    var response = Response(500)
    swap(response, job.response)
    var box = state.take_exchange()
    swap(box, job.box)
    return unpark(connection, box^, response^, state, handler)


def unpark[
    H: Handler
](
    mut connection: Connection,
    var box: OwnedPointer[Exchange],
    var response: Response,
    mut state: WorkerState,
    handler: H,
) -> Fate:
    """Goes on with a connection whose handler on another thread has answered.

    Parameters:
        H: The handler's type.

    Args:
        connection: The connection.
        box: The request, complete and still first.
        response: The answer.
        state: The worker's state.
        handler: Answers what was pipelined behind.

    Returns:
        What is to happen to the connection.
    """
    var result = conclude(box[], connection, state, response^)
    if result.is_broken:
        state.give_exchange(box^)
        return Fate.CLOSES
    if not result.keeps_alive:
        connection.lingers = connection.lingers or len(box[].input) > 0
        state.give_exchange(box^)
        return Fate.ENDS if deliver(connection, state) else Fate.CLOSES
    if connection.tail:
        # The rest waits until the client has read this.
        var is_sound = deliver(connection, state)
        connection.exchange = box^
        connection.has_unread = True
        return await_tail(connection, state) if is_sound else Fate.CLOSES
    var fate = process(connection, box[], state, handler)
    put_back(connection, box^, state, fate)
    if fate == Fate.WAITS and connection.has_unread:
        return Fate.GIVES_WAY
    return fate


def waits_for(connection: Connection, job: Job) -> Bool:
    """Tells whether a connection still waits for a job.

    Args:
        connection: The connection that the job's token leads to.
        job: A job that is done.

    Returns:
        False if the connection gave the job up.
    """
    if not connection.job:
        return False
    return connection.job.value() is job.cancel

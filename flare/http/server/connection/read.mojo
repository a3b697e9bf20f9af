"""Driving a connection: read, parse, answer, send, until it has to wait.

Octets that are here are always driven: a connection waits only for its client,
and one that could go on gives way to the others through the ready list.
"""

from flare.bytes.checked import *
from flare.http.h1.error import RemoteProtocolError
from flare.http.h1.request_parser import Progress, RequestParser
from flare.http.h1.serialiser import CONTINUE_RESPONSE
from flare.http.server.connection.connection import Connection
from flare.http.server.connection.deadlines import wait_of
from flare.http.server.connection.dispatch import (
    answer,
    answer_by_head,
    plan_request,
    refuse_peer,
    refuse_unread,
)
from flare.http.server.connection.http2 import (
    begins_http2,
    on_writable_http2,
)
from flare.http.server.connection.phase import Event, NextAction, Phase
from flare.http.server.connection.request_call import Refusal, TurnClock
from flare.http.server.connection.request_body import (
    drive_both_ways,
    owes_continue,
    take_content,
)
from flare.http.server.connection.sides import (
    Backlog,
    Ending,
    SpokenProtocol,
)
from flare.http.server.connection.transport import (
    TLS_BROKEN,
    deliver,
    receive,
)
from flare.http.server.connection.write import await_pending, write_pending
from flare.http.server.worker_state import (
    READ_COUNT_MAX,
    FLUSH_LEN,
    PARTIAL_BUFFER_LEN,
    WorkerState,
)
from flare.sys.errno import EAGAIN, EINTR
from std.memory import OwnedPointer
from std.sys.intrinsics import likely, unlikely


@no_inline
def on_readable(
    mut connection: Connection,
    mut scratch: RequestParser,
    mut state: WorkerState,
    is_closed: Bool,
) -> NextAction:
    """Drives a connection that is readable, not lingering, and without a
    pending write.

    `scratch` is the worker's own parser, idle before and after. If `is_closed`,
    the end of the stream may stand after the octets, so that a short read does
    not mean that all was read.
    """
    debug_assert(
        not connection.request.pending.__bool__(),
        "read while something waits to be sent",
    )
    if unlikely(connection.request.parser.__bool__()):
        return _read_partial(connection, state, is_closed)
    connection.backlog = Backlog.NONE
    var action = _read(connection, scratch, state, is_closed)
    if likely(scratch.is_idle()):
        return action
    if action == NextAction.CLOSE or action == NextAction.SHUTDOWN:
        scratch.reset()
        return action
    var box = state.take_parser()
    box[].take_over(scratch)
    if unlikely(not _charge(connection, box[], state)):
        return _refuse_unread(connection, box^, state)
    connection.request.parser = box^
    return action


@no_inline
def _read_partial(
    mut connection: Connection,
    mut state: WorkerState,
    is_closed: Bool,
) -> NextAction:
    """Drives a connection with a part of a request in its own parser."""
    var box = connection.request.parser.take()
    if unlikely(connection.backlog == Backlog.UNANSWERED):
        var action = read_requests(connection, box[], state)
        if action != NextAction.WAIT or connection.request.pending:
            connection.backlog.note_unread()
            put_back(connection, box^, state, action)
            return action
    connection.backlog = Backlog.NONE
    var missing = box[].missing_len() if box[].is_in_body() else 0
    # Room grows with what has arrived, not with what is announced.
    var arrived = max(len(box[].input), PARTIAL_BUFFER_LEN)
    box[].input.reserve(min(max(missing, PARTIAL_BUFFER_LEN), arrived))
    if unlikely(not _charge(connection, box[], state)):
        return _refuse_unread(connection, box^, state)
    var action = _read(connection, box[], state, is_closed)
    put_back(connection, box^, state, action)
    return action


def _charge(
    mut connection: Connection, parser: RequestParser, mut state: WorkerState
) -> Bool:
    """Counts the memory of content that is arriving; False if there is none
    left for it."""
    if not parser.is_in_body():
        return True
    return state.charge(connection.request.call.charge, parser.input.capacity())


@no_inline
def _refuse_unread(
    mut connection: Connection,
    var box: OwnedPointer[RequestParser],
    mut state: WorkerState,
) -> NextAction:
    """Ends a connection whose content there is no memory for."""
    connection.request.call.charge = None
    if connection.request.pending:
        # It was told something before that it has not taken.
        state.give_parser(box^)
        return NextAction.CLOSE
    var action = refuse_unread(box[], connection, state, Refusal.CONTENT_FULL)
    state.give_parser(box^)
    return action


def put_back(
    mut connection: Connection,
    var box: OwnedPointer[RequestParser],
    mut state: WorkerState,
    action: NextAction,
):
    """Keeps a parser with the connection while it has a part of a request; the
    worker takes it back otherwise."""
    if (
        box[].is_idle()
        or action == NextAction.CLOSE
        or action == NextAction.SHUTDOWN
    ):
        state.give_parser(box^)
        connection.request.call.charge = None
    else:
        connection.request.parser = box^


@no_inline
def _read(
    mut connection: Connection,
    mut parser: RequestParser,
    mut state: WorkerState,
    is_closed: Bool,
) -> NextAction:
    var may_have_more = is_closed
    for _ in range(READ_COUNT_MAX):
        var room = parser.input.spare()
        var room_len = len(room)
        var count = receive(connection, state, room, may_have_more)
        if unlikely(count <= 0):
            if count == -EINTR and connection.phase != Phase.STREAMS:
                continue
            return _stop_reading(connection, parser, state, count)
        parser.input.commit(count)
        if unlikely(connection.phase == Phase.STREAMS):
            # HTTP/2 was agreed on just now.
            connection.http2.held()[].input.append(parser.input.span())
            parser.reset()
            connection.backlog.note_unread()
            return NextAction.YIELD
        # A short read has emptied the socket, if its end is not after that.
        var is_emptied = count < room_len and not may_have_more
        var action = read_requests(connection, parser, state)
        if unlikely(action != NextAction.WAIT):
            # Of a request that is answered later the end is known here alone.
            if action == NextAction.OFFLOAD and is_emptied:
                connection.backlog.note_read()
            else:
                connection.backlog.note_unread()
            return action
        if unlikely(connection.request.pending.__bool__()):
            connection.backlog.note_unread()
            return NextAction.WAIT
        if likely(is_emptied):
            return NextAction.WAIT
        if count == room_len:
            # More may wait than one round should take.
            return NextAction.YIELD
    return NextAction.YIELD


@no_inline
def _stop_reading(
    mut connection: Connection,
    parser: RequestParser,
    mut state: WorkerState,
    count: Int,
) -> NextAction:
    """Tells what follows when nothing more can be read now."""
    if connection.phase == Phase.STREAMS and (
        count == -EAGAIN or count == -EINTR
    ):
        connection.backlog.note_unread()
        return NextAction.YIELD
    if count == -EAGAIN:
        if connection.phase == Phase.HANDSHAKE:
            return NextAction.WAIT
        if connection.phase == Phase.IDLE and parser.is_idle():
            # At most a part of a record has come. Its deadline stays.
            return NextAction.CLOSE if state.is_draining else NextAction.WAIT
        return _await_next(connection, parser, state)
    if count != TLS_BROKEN:
        return NextAction.CLOSE
    ref link = connection.tls.held()[]
    if link.protocol.is_without_tls():
        var is_head = link.protocol == SpokenProtocol.HEAD_WITHOUT_TLS
        connection.drop_tls()
        var why = Refusal(
            400, "a plain HTTP request was sent to an HTTPS port; use https://"
        )
        return refuse_peer(connection, state, why, is_head)
    # An alert of the client ends all at once; one of ours has to arrive.
    connection.ending.end(is_unread=link.tells_why())
    return NextAction.SHUTDOWN


@no_inline
def read_requests(
    mut connection: Connection,
    mut parser: RequestParser,
    mut state: WorkerState,
) -> NextAction:
    """Answers all complete requests of a parser, and sends; the connection has
    no pending write."""
    var keeps_alive = True
    var count_before = connection.request_count
    connection.backlog.begin_answering()
    while keeps_alive:
        var progress: Progress
        try:
            progress = parser.advance(state.limits)
            if unlikely(progress == Progress.HEAD_READY):
                progress = _begin_content(connection, parser, state)
        except error:
            if parser.is_skipping():
                # Its request is answered.
                connection.ending.end(is_unread=True)
                return NextAction.SHUTDOWN if deliver(
                    connection, state
                ) else NextAction.CLOSE
            if begins_http2(connection, parser, state):
                return NextAction.YIELD
            var why = Refusal(error.status(), error.rule.text())
            return refuse_unread(parser, connection, state, why)
        var result: NextAction
        if unlikely(progress != Progress.READY):
            if progress == Progress.SKIPPED:
                # The next request has its own time, also if it is here already.
                connection.enter[Event.ALL_ANSWERED]()
                continue
            if not parser.is_in_body():
                break
            ref plan = connection.request.call.plan
            if plan.needs_content:
                if plan.starts_at_head:
                    return _begin_offload(connection, parser, state)
                break
            result = answer_by_head(
                parser, connection, state, owes_continue(parser)
            )
        else:
            if unlikely(state.asks_policies):
                # One with content was asked about when its head was there.
                if not parser.head.framing.has_content():
                    plan_request(parser, connection, state)
                if connection.request.call.plan.runs_elsewhere():
                    return _begin_offload(connection, parser, state)
            result = answer(parser, connection, state)
        if unlikely(result == NextAction.CLOSE):
            return result
        keeps_alive = result == NextAction.WAIT
        if unlikely(len(state.out) > FLUSH_LEN):
            if not deliver(connection, state):
                return NextAction.CLOSE
        if unlikely(connection.request.pending.__bool__()):
            connection.request.row.advance(
                has_followers=not parser.is_idle(),
                has_leaders=connection.request_count - count_before > 1,
            )
            break
        # A look at the clock takes a fiftieth of a short request: not after each.
        if unlikely(
            connection.request_count & 1 == 0
            and len(parser.input) > 0
            and state.is_turn_over()
        ):
            if keeps_alive:
                connection.backlog.leave_unanswered()
            break
    if unlikely(not deliver(connection, state)):
        return NextAction.CLOSE
    if unlikely(not keeps_alive):
        connection.ending.end(is_unread=len(parser.input) > 0)
        return NextAction.SHUTDOWN
    var next = _await_next(connection, parser, state)
    if (
        connection.backlog == Backlog.UNANSWERED
        and next == NextAction.WAIT
        and not connection.request.pending
    ):
        return NextAction.YIELD
    return next


@no_inline
def _begin_content(
    mut connection: Connection,
    mut parser: RequestParser,
    mut state: WorkerState,
) raises RemoteProtocolError -> Progress:
    """Decides how content is taken whose request's head is there."""
    plan_request(parser, connection, state)
    ref plan = connection.request.call.plan
    parser.body.max_body_size = plan.max_body_size
    if not plan.starts_at_head:
        # More could never be had.
        parser.body.max_body_size = min(
            plan.max_body_size, state.config.max_buffered_bodies_size
        )
    var progress = parser.advance_body(state.limits)
    if progress == Progress.NEEDS_OCTETS:
        var is_taken = plan.needs_content and not plan.starts_at_head
        if is_taken and owes_continue(parser):
            state.out.append_literal[CONTINUE_RESPONSE]()
    return progress


@no_inline
def _begin_offload(
    mut connection: Connection, parser: RequestParser, mut state: WorkerState
) -> NextAction:
    """Sends what came before a request that is handed to a handler elsewhere; it
    waits here until the client has taken it."""
    if not deliver(connection, state):
        return NextAction.CLOSE
    if connection.request.pending:
        return _await_rest(connection, parser, state)
    return NextAction.OFFLOAD


@always_inline
def _await_next(
    mut connection: Connection, parser: RequestParser, mut state: WorkerState
) -> NextAction:
    """Sets the phase and the deadline of a connection that waits."""
    if likely(parser.is_idle() and not connection.request.pending.__bool__()):
        if connection.request_count > 0:
            if unlikely(state.is_draining):
                return NextAction.CLOSE
            connection.begin_idling(state.now_ms, state.config)
        return NextAction.WAIT
    return _await_rest(connection, parser, state)


@no_inline
def _await_rest(
    mut connection: Connection, parser: RequestParser, mut state: WorkerState
) -> NextAction:
    ref config = state.config
    if connection.request.pending:
        return await_pending(connection, state)
    elif parser.is_in_body():
        ref call = connection.request.call
        if connection.begins[Event.BODY_AWAITED]():
            call.turns = TurnClock()
        connection.begin[Event.BODY_AWAITED](state.now_ms, config)
        connection.deadline_ms = call.await_turn(
            wait_of(connection.phase),
            parser.body_received_len(),
            state.now_ms,
            config,
        )
    elif parser.is_skipping():
        connection.begin[Event.BODY_AWAITED](state.now_ms, config)
    else:
        connection.begin[Event.HEAD_STARTED](state.now_ms, config)
    return NextAction.WAIT


def on_writable(
    mut connection: Connection, mut state: WorkerState
) -> NextAction:
    """Goes on with a connection whose client takes octets again; YIELD if it
    should be read again."""
    if connection.http2 and connection.ending == Ending.OPEN:
        return on_writable_http2(connection, state)
    if connection.request.content:
        if not connection.request.goes_both_ways():
            return take_content(connection, state)
        var action = drive_both_ways(connection, state)
        if action == NextAction.CLOSE or connection.request.content:
            return action
    elif not connection.request.pending:
        return NextAction.WAIT
    elif not write_pending(connection, state):
        return NextAction.CLOSE
    if connection.request.pending:
        return await_pending(connection, state)
    if connection.ending != Ending.OPEN:
        return NextAction.SHUTDOWN
    if connection.request.parser:
        var box = connection.request.parser.take()
        var action = read_requests(connection, box[], state)
        put_back(connection, box^, state, action)
        if action != NextAction.WAIT or connection.request.pending:
            return action
    if connection.backlog != Backlog.NONE:
        return NextAction.YIELD
    var was_sending = (
        connection.phase == Phase.WRITE or connection.phase == Phase.SOURCE
    )
    if was_sending and not connection.request.parser:
        if state.is_draining:
            return NextAction.CLOSE
        connection.begin_idling(state.now_ms, state.config)
    return NextAction.WAIT

"""Content that a handler elsewhere reads while it arrives.

The worker alone touches the connection: it takes the framing off and puts the
content into a window (`BodyPipe`). A full window is not read into, so the
client's own window closes. Time counts for the side that is waited for:

    client's turn   `body_timeout_ms` and what `min_body_rate` adds, in all
    handler's turn  `handler_timeout_ms`, or its `Timeout`, each time: before the first read of
                    content that the client keeps until it is asked for, while
                    the window is full, and from the end of the content on

If the handler goes on reading when its response has begun, both directions are
open at the same time. What is waited for is then the client that takes, or the
source of the response: that has a time, and a client that sends has none.
"""

from flare.bytes.checked import *
from flare.bytes.text import Text
from flare.http.h1.body_decoder import BodyProgress, DetachedBody
from flare.http.h1.error import RemoteProtocolError
from flare.http.h1.field_section import HeadLimits
from flare.http.h1.framing import EXPECTS_CONTINUE
from flare.http.h1.request_parser import RequestParser
from flare.http.h1.serialiser import CONTINUE_RESPONSE
from flare.http.message.body import Body
from flare.http.message.body_reader import owned_fields
from flare.http.server.connection.connection import (
    Connection,
    StreamedContent,
)
from flare.http.server.connection.dispatch import refuse_peer
from flare.http.server.connection.deadlines import Wait, wait_of
from flare.http.server.connection.phase import Event, NextAction
from flare.http.server.connection.request_call import (
    Intake,
    Refusal,
    RequestCall,
)
from flare.http.server.connection.sides import Backlog, ClientSide, Ending
from flare.http.server.connection.transport import deliver, receive
from flare.http.server.connection.write import (
    await_pending,
    note_end,
    write_pending,
)
from flare.http.server.worker_state import (
    PARTIAL_BUFFER_LEN,
    READ_COUNT_MAX,
    WorkerState,
)
from flare.sys.errno import EAGAIN, EINTR
from std.memory import OwnedPointer

comptime DRAINED_LEN_MAX = 256 * 1024
"""Most content that is read and dropped after a handler that did not read it
to the end, so that the connection may go on, in bytes."""

comptime _READ_LEN = 65_536


def owes_continue(parser: RequestParser) -> Bool:
    """Tells whether the client waits for 100 (Continue) (RFC 9110 10.1.1) with
    the content that is arriving."""
    return (
        parser.head.framing.has(EXPECTS_CONTINUE)
        and parser.head.minor_version > 0
        and parser.body_received_len() == 0
    )


def start_content(
    mut connection: Connection,
    mut parser: RequestParser,
):
    """Begins to take content while a handler, whose turn it is first, reads it.
    The connection is about to be parked; the parser has only the head then."""
    ref request = connection.request
    var is_held_back = request.call.intake == Intake.HELD_BACK
    request.content = OwnedPointer(
        StreamedContent(parser.detach_body(), is_held_back)
    )


@no_inline
def take_content(
    mut connection: Connection, mut state: WorkerState
) -> NextAction:
    """Receives what there is room for in the window of the handler that reads
    content."""
    var box = connection.request.content.take()
    var action = _take(connection, box[], state)
    if action == NextAction.WAIT or action == NextAction.YIELD:
        if not _charge(connection, box[], state):
            action = _refuse_streamed(connection, state)
    if action == NextAction.CLOSE or action == NextAction.SHUTDOWN:
        connection.request.call.cancel(Refusal.BROKEN_OFF)
        connection.request.end_content()
        return action
    _share_time(connection, box[], state)
    connection.request.content = box^
    if (
        connection.client != ClientSide.OPEN
        and connection.request.has_all_content()
    ):
        note_end(connection, state)
    return action


def _charge(
    mut connection: Connection, content: StreamedContent, mut state: WorkerState
) -> Bool:
    """Counts the memory of what is on its way; False if there is none left for
    it."""
    ref call = connection.request.call
    var length = content.body.input.capacity() + call.pipe.held().held_len()
    return state.charge(call.charge, length)


def _refuse_streamed(
    mut connection: Connection, mut state: WorkerState
) -> NextAction:
    """Ends a connection whose content there is no memory for."""
    connection.request.call.end_content(Refusal.CONTENT_FULL)
    if connection.request.pending:
        return NextAction.CLOSE
    var is_head = connection.request.call.is_head
    return refuse_peer(connection, state, Refusal.CONTENT_FULL, is_head)


def _take(
    mut connection: Connection,
    mut content: StreamedContent,
    mut state: WorkerState,
) -> NextAction:
    ref call = connection.request.call
    if call.intake == Intake.WHOLE:
        return NextAction.WAIT
    if connection.client == ClientSide.FAILED:
        # A handler that does not read now would not find the end.
        return NextAction.CLOSE
    if content.is_paused:
        if not call.pipe.held().has_room():
            return NextAction.WAIT
        content.is_paused = False
        # The handler has moved, so its next turn is a new one.
        call.turns.give(Wait.CONTENT, state.now_ms)
    if call.intake == Intake.HELD_BACK:
        call.intake = Intake.ARRIVING
        state.out.append_literal[CONTINUE_RESPONSE]()
        if not deliver(connection, state):
            return NextAction.CLOSE
    if connection.request.pending and not write_pending(connection, state):
        return NextAction.CLOSE
    if connection.request.pending:
        return NextAction.WAIT
    try:
        return _receive(connection, content, state)
    except error:
        var why = Refusal(error.status(), error.rule.text())
        call.end_content(why)
        return refuse_peer(connection, state, why, call.is_head)


def _receive(
    mut connection: Connection,
    mut content: StreamedContent,
    mut state: WorkerState,
) raises RemoteProtocolError -> NextAction:
    """Receives what there is room for in the window. Returns CLOSE if the client
    has gone, YIELD if there is more; raises if the content is broken."""
    var may_have_more = connection.client != ClientSide.OPEN
    for _ in range(READ_COUNT_MAX):
        _hand_on(connection.request.call, content, state.limits)
        if content.is_paused or connection.request.has_all_content():
            # What has come after the content is read with the next request.
            return NextAction.WAIT
        content.body.input.reserve(_READ_LEN)
        var room = content.body.input.spare()
        var count = receive(connection, state, room, may_have_more)
        if count == -EINTR:
            continue
        if count == -EAGAIN:
            connection.backlog.note_read()
            return NextAction.WAIT
        if count <= 0:
            return NextAction.CLOSE
        content.body.input.commit(count)
    return NextAction.YIELD


def _hand_on(
    mut call: RequestCall, mut content: StreamedContent, limits: HeadLimits
) raises RemoteProtocolError:
    """Puts what is here into the window, up to the window's end."""
    while not content.is_paused:
        var progress = content.body.advance(limits)
        if progress == BodyProgress.CONTENT:
            content.is_paused = not call.pipe.held().put(content.body.content())
            continue
        if progress == BodyProgress.END and call.intake != Intake.WHOLE:
            call.intake = Intake.WHOLE
            call.pipe.held().end(owned_fields(content.body.trailers()))
        return


def _share_time(
    mut connection: Connection, mut content: StreamedContent, state: WorkerState
):
    """Sets the deadline of the side that is waited for."""
    ref call = connection.request.call
    if not content.is_paused and call.intake != Intake.WHOLE:
        connection.enter[Event.BODY_AWAITED]()
    else:
        connection.enter[Event.OFFLOADED]()
    connection.deadline_ms = call.await_turn(
        wait_of(connection.phase),
        content.body.decoder.taken_len,
        state.now_ms,
        state.config,
    )


def end_content(
    mut connection: Connection,
    mut parser: RequestParser,
    mut state: WorkerState,
) -> Bool:
    """Stops taking content, since the handler has answered. What it did not
    read is dropped as far as it has arrived; what stands after the content
    goes to the parser. Returns False if the content goes on, so that the
    connection has to end."""
    var box = connection.request.content.take()
    connection.request.call.end_content(Refusal.ANSWERED)
    var is_held_back = connection.request.call.intake == Intake.HELD_BACK
    connection.request.end_content()
    if not is_held_back and _drain(connection, box[].body, state):
        parser.input.append(box[].body.leftover())
        return True
    parser.end_connection()
    return False


def _drain(
    mut connection: Connection,
    mut body: DetachedBody,
    mut state: WorkerState,
) -> Bool:
    """Drops content up to its end; False if that has not arrived."""
    var length_max = body.decoder.taken_len + DRAINED_LEN_MAX
    var may_have_more = True
    while (
        body.decoder.taken_len < length_max and not connection.request.pending
    ):
        try:
            while body.advance(state.limits) == BodyProgress.CONTENT:
                pass
        except error:
            return False
        if body.is_complete():
            return True
        body.input.reserve(PARTIAL_BUFFER_LEN)
        var room = body.input.spare()
        var count = receive(connection, state, room, may_have_more)
        if count <= 0 and count != -EINTR:
            return False
        body.input.commit(max(count, 0))
    return False


def skip_content(mut connection: Connection, mut parser: RequestParser):
    """Drops content that has gone on behind the head of a response of which all
    is sent, up to its end, before the next request: the head did not tell of a
    close (RFC 9112 section 9.6). With more than `DRAINED_LEN_MAX` octets the
    connection ends."""
    var box = connection.request.content.take()
    connection.request.call.end_content(Refusal.ANSWERED)
    connection.request.end_content()
    parser.skip_rest(box[].body, DRAINED_LEN_MAX)


def begins_both_ways(mut connection: Connection, body: Body) -> Bool:
    """Tells whether content goes on arriving for somebody after the head of a
    response, and takes note of that."""
    if not connection.request.call.goes_on_behind(body):
        return False
    connection.request.content.held()[].has_response = True
    return True


@no_inline
def go_on_receiving(
    mut connection: Connection, action: NextAction
) -> NextAction:
    """Has content received on after the head of a response, if it goes
    on, in place of an action but CLOSE."""
    if not connection.request.goes_both_ways() or action == NextAction.CLOSE:
        return action
    if not connection.request.pending:
        # All of the response has left.
        connection.request.cancel()
        return action
    if action == NextAction.SHUTDOWN:
        connection.ending.end(is_unread=False)
    return NextAction.YIELD


@no_inline
def drive_both_ways(
    mut connection: Connection, mut state: WorkerState
) -> NextAction:
    """Sends what there is of a response, and receives what there is of the
    content that goes on after its head. When all of the response is sent, the
    content is dropped: then `request.content` is empty, and `ending`
    says whether the connection has to end with it."""
    if not write_pending(connection, state):
        return NextAction.CLOSE
    if not connection.request.pending:
        _end_both_ways(connection, state)
        return NextAction.WAIT
    var box = connection.request.content.take()
    var is_sound = _receive_on(connection, box[], state)
    if is_sound and not _charge(connection, box[], state):
        _log_cut_off(connection, state, Refusal.CONTENT_FULL.reason)
        is_sound = False
    if not is_sound:
        connection.request.call.end_content(Refusal.BROKEN_OFF)
        connection.request.end_content()
        return NextAction.CLOSE
    var has_more = (
        connection.backlog != Backlog.NONE
        and not box[].is_paused
        and not connection.request.has_all_content()
    )
    connection.request.content = box^
    var action = await_pending(connection, state)
    if action == NextAction.WAIT and has_more:
        return NextAction.YIELD
    return action


def _receive_on(
    mut connection: Connection,
    mut content: StreamedContent,
    mut state: WorkerState,
) -> Bool:
    """Receives what there is room for in the window; False if the content is
    broken, or the client has gone. `backlog` says if there is more."""
    if content.is_paused:
        content.is_paused = not connection.request.call.pipe.held().has_room()
    if connection.client == ClientSide.FAILED:
        return False
    connection.backlog.note_unread()
    try:
        return _receive(connection, content, state) != NextAction.CLOSE
    except error:
        _log_cut_off(connection, state, error.rule.text())
        return False


def _log_cut_off(
    connection: Connection, mut state: WorkerState, reason: StaticString
):
    state.log(
        Text()
        .add(connection.peer)
        .add(" is cut off within a response: ")
        .add(reason)
        .end()
    )


def _end_both_ways(mut connection: Connection, mut state: WorkerState):
    """Ends content that has gone on until all of the response was sent."""
    if connection.ending != Ending.OPEN or not connection.request.parser:
        connection.ending.end(is_unread=True)
        connection.request.cancel()
        return
    var box = connection.request.parser.take()
    skip_content(connection, box[])
    connection.request.parser = box^

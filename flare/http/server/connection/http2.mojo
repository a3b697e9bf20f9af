"""HTTP/2 on a connection: frames are read, requests answered, and what they are
answered is sent as the client's windows allow.

A connection that speaks HTTP/2 is in the phase STREAMS from its preface to its
end; how long it may stay there is the earliest deadline of its streams and its
own. Frames of all streams are written to the worker's output and sent together.
"""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.never import NEVER
from flare.bytes.text import Text
from flare.http.h1.request_parser import RequestParser
from flare.http.h2.connection_state import EventKind
from flare.http.h2.error import ErrorCode, Http2Error, Http2Rule
from flare.http.h2.frame import CLIENT_PREFACE, write_ping
from flare.http.server.connection.connection import Connection
from flare.http.server.connection.deadlines import Wait, limit_ms
from flare.http.server.connection.http2_link import Http2Link
from flare.http.server.connection.http2_request import (
    answer_parked,
    answer_request,
    end_late_tasks,
    may_answer_parked,
    on_content,
    on_request_end,
    on_reset,
    take_back_window,
)
from flare.http.server.connection.http2_response import send_content
from flare.http.server.connection.link_times import LinkWaits
from flare.http.server.connection.phase import NextAction, StreamPhase
from flare.http.server.connection.send_wait import set_send_deadlines
from flare.http.server.connection.sides import Backlog, Shutdown
from flare.http.server.connection.transport import (
    begin_http2,
    deliver,
    receive,
)
from flare.http.server.connection.write import prolong_write, write_pending
from flare.http.server.worker_state import (
    FLUSH_LEN,
    READ_COUNT_MAX,
    WorkerState,
)
from flare.sys.errno import EAGAIN, EINTR
from std.sys.intrinsics import likely, unlikely

comptime _SEND_COUNT_MAX = 4
# Portions of `FLUSH_LEN` of content that are sent in one round.
comptime _KEPT_INPUT_LEN = 2_048
# Room for parts of frames that a connection keeps while it has none, in bytes.


def begins_http2(
    mut connection: Connection,
    mut parser: RequestParser,
    mut state: WorkerState,
) -> Bool:
    """Tells whether what the parser has refused, being no request of HTTP/1.1,
    is the preface of HTTP/2, and begins to speak it then (RFC 9113 section
    3.4).

    That is for a client that knows without asking (section 3.3); over TLS it is
    agreed on in the handshake.
    """
    # Up to the version, which is what is refused; the end of the line may come
    # later.
    comptime VERSION_END = 14
    comptime FIRST_LINE_LEN = 16
    var octets = parser.input.span()
    var count = min(len(octets), FIRST_LINE_LEN)
    if (
        connection.request_count > 0
        or not state.config.http2
        or count < VERSION_END
        or octets.before(count) != CLIENT_PREFACE.as_bytes().before(count)
        or connection.tls
    ):
        return False
    begin_http2(connection, state)
    connection.http2.held()[].input.append(octets)
    parser.reset()
    return True


@no_inline
def on_readable_http2(
    mut connection: Connection,
    mut scratch: RequestParser,
    mut state: WorkerState,
    is_closed: Bool,
) -> NextAction:
    """Drives a connection that is readable, or whose time has come. `scratch`
    is the worker's own parser, idle before and after; the end of the stream may
    stand after the octets if `is_closed`."""
    debug_assert(len(state.out) == 0, "this is for another connection")
    var link = connection.http2.take()
    var action = _read(connection, link[], scratch.input, state, is_closed)
    if action == NextAction.CLOSE or action == NextAction.SHUTDOWN:
        scratch.input.clear()
    connection.http2 = link^
    return action


def on_writable_http2(
    mut connection: Connection, mut state: WorkerState
) -> NextAction:
    """Goes on with a connection whose client takes octets again, or whose
    sources or handlers have something. YIELD if it should be read again."""
    if not write_pending(connection, state):
        return NextAction.CLOSE
    var link = connection.http2.take()
    while len(link[].woken) > 0:
        var index = link[].find(link[].woken.pop())
        if index >= 0:
            if link[].tasks.at(index)[].call.pipe:
                take_back_window(link[], index, state)
            _ask_source(link[], index, state)
    var action = continue_http2(connection, link[], state)
    connection.http2 = link^
    return action


def _ask_source(mut link: Http2Link, index: Int, mut state: WorkerState):
    """Lets a source be asked that had nothing, or ends the stream if it gives
    up."""
    ref task = link.tasks.at(index)[]
    task.body.wake()
    if task.body.has_given_up():
        link.session.state.reset(state.out, task.id, ErrorCode.CANCEL)
        _ = link.drop(index, state.out)


def _ask_all(mut link: Http2Link, mut state: WorkerState):
    """Lets all sources be asked that had nothing."""
    for index in range(len(link.tasks) - 1, -1, -1):
        _ask_source(link, index, state)


def continue_http2(
    mut connection: Connection, mut link: Http2Link, mut state: WorkerState
) -> NextAction:
    """Sends what there is, and decides what is waited for. The connection does
    not have its link meanwhile."""
    var action = _send(connection, link, state)
    if action == NextAction.CLOSE:
        return action
    var next = _await(connection, link, state)
    if next == NextAction.WAIT:
        next = action
    if (
        next == NextAction.WAIT
        and connection.backlog != Backlog.NONE
        and not _is_blocked(connection, state)
    ):
        next = NextAction.YIELD
    return next


def _is_blocked(connection: Connection, state: WorkerState) -> Bool:
    """Tells whether so much waits for the client that nothing more is read."""
    if not connection.request.pending:
        return False
    return (
        len(connection.request.pending.held()[].octets)
        >= state.config.http2_limits.max_queued_size
    )


def _read(
    mut connection: Connection,
    mut link: Http2Link,
    mut input: Buffer,
    mut state: WorkerState,
    is_closed: Bool,
) -> NextAction:
    connection.backlog.note_read()
    var action = NextAction.WAIT
    if state.now_ms >= link.deadline_ms:
        action = _on_deadline(connection, link, state)
        if action != NextAction.WAIT:
            return _end_round(connection, link, input, state, action)
    if unlikely(state.is_draining):
        # Those without an end have one now.
        _ask_all(link, state)
    if unlikely(
        link.shutdown == Shutdown.NONE
        and (state.is_draining or state.now_ms >= connection.retire_ms)
    ):
        _begin_end(link, state)
    var may_have_more = is_closed
    if len(link.input) > 0:
        input.append(link.input.span())
        link.input.clear()
        action = _take_events(connection, link, input, state)
    for _ in range(READ_COUNT_MAX):
        if action != NextAction.WAIT:
            break
        if _is_blocked(connection, state):
            connection.backlog.note_unread()
            break
        input.reserve(1)
        var room = input.spare()
        var room_len = len(room)
        var count = receive(connection, state, room, may_have_more)
        if unlikely(count <= 0):
            if count == -EINTR:
                continue
            if count == -EAGAIN:
                break
            action = NextAction.CLOSE
            if count == 0:
                # What was answered is still sent.
                link.drop_all()
                action = NextAction.SHUTDOWN
            break
        input.commit(count)
        action = _take_events(connection, link, input, state)
        if action == NextAction.WAIT and count == room_len:
            action = NextAction.YIELD
        if count < room_len and not may_have_more:
            break
    return _end_round(connection, link, input, state, action)


def _end_round(
    mut connection: Connection,
    mut link: Http2Link,
    mut input: Buffer,
    mut state: WorkerState,
    action: NextAction,
) -> NextAction:
    """Keeps what is left, sends, and decides what is waited for."""
    if action == NextAction.CLOSE:
        # The output is for one connection at a time.
        state.out.clear()
        return action
    if action == NextAction.SHUTDOWN:
        connection.ending.end(is_unread=True)
        return action if deliver(connection, state) else NextAction.CLOSE
    if len(input) > 0:
        link.input.append(input.span())
        input.clear()
    elif unlikely(link.input.capacity() > _KEPT_INPUT_LEN):
        link.input = Buffer(0)
    if action == NextAction.YIELD:
        # Also if threads get requests before.
        connection.backlog.note_unread()
    return continue_http2(connection, link, state)


def _take_events(
    mut connection: Connection,
    mut link: Http2Link,
    mut input: Buffer,
    mut state: WorkerState,
) -> NextAction:
    """Takes all whole frames; SHUTDOWN if the connection is over, YIELD if its
    turn is."""
    while True:
        try:
            var event = link.session.next_event(input, state.out, state.now_ms)
            var kind = event.kind
            if kind == EventKind.NEEDS_OCTETS:
                return NextAction.WAIT
            if likely(kind == EventKind.HEADERS):
                answer_request(connection, link, event, input, state)
            elif kind == EventKind.DATA:
                on_content(connection, link, event, input, state)
            elif kind == EventKind.TRAILERS:
                on_request_end(connection, link, event.stream_id, True, state)
            elif kind == EventKind.RESET:
                on_reset(link, event.stream_id, state)
            elif kind == EventKind.GOAWAY:
                # The client opens no more; what is under way goes on.
                link.shutdown.end()
            elif kind == EventKind.PONG and link.times.goaway_end_ms != NEVER:
                _end_taking(link, state)
        except error:
            return _fail(connection, link, state, error)
        if unlikely(len(state.out) > FLUSH_LEN):
            if not deliver(connection, state):
                return NextAction.CLOSE
            if _is_blocked(connection, state):
                link.session.let_go(input)
                connection.backlog.note_unread()
                return NextAction.WAIT
        if unlikely(len(input) > 0 and state.is_turn_over()):
            link.session.let_go(input)
            return NextAction.YIELD


@no_inline
def _fail(
    connection: Connection,
    mut link: Http2Link,
    mut state: WorkerState,
    error: Http2Error,
) -> NextAction:
    """Ends a connection whose client broke a rule."""
    link.session.fail(state.out, error)
    link.drop_all()
    if error.rule.code == ErrorCode.ENHANCE_YOUR_CALM:
        _tell_of_abuse(connection, state, error)
    return NextAction.SHUTDOWN


def _tell_of_abuse(
    connection: Connection, mut state: WorkerState, error: Http2Error
):
    """Logs whom it cuts off; of many in a second, one."""
    if not state.abuse_lines.may_write(state.now_ms):
        return
    var line = Text().add(connection.peer).add(" is cut off: ").add(error)
    line = line^.add(" (http2_limits)")
    var count = state.abuse_lines.take_left_out()
    if count > 0:
        line = line^.add("; so were ").add(count).add(" before")
    state.log(line^.end())


def _begin_end(mut link: Http2Link, mut state: WorkerState):
    """Announces the end; what the client has sent until it knows still counts."""
    link.shutdown.announce()
    link.session.begin_drain(state.out)
    # Answered when the client has read the announcement.
    comptime ASKED = StaticString("goodbye?")
    write_ping(state.out, 0, ASKED.as_bytes())
    link.times.begin_goaway(state.now_ms, state.config)


def _end_taking(mut link: Http2Link, mut state: WorkerState):
    """Takes no more streams."""
    link.times.goaway_end_ms = NEVER
    link.shutdown.end()
    link.session.end_drain(state.out)


def _on_deadline(
    mut connection: Connection, mut link: Http2Link, mut state: WorkerState
) -> NextAction:
    """Does what follows when something has taken too long; WAIT if that does not
    end the connection."""
    var now_ms = state.now_ms
    if now_ms >= link.times.goaway_end_ms:
        _end_taking(link, state)
    if now_ms >= _write_end_ms(connection) and not prolong_write(
        connection, state
    ):
        return NextAction.CLOSE
    if now_ms >= link.times.window.end_ms and not _prolong_window(
        connection, link, state
    ):
        return NextAction.CLOSE
    if now_ms >= link.times.total.clock.end_ms and not _prolong_all(
        connection, link, state
    ):
        return NextAction.CLOSE
    if (
        link.session.state.owes_settings_ack
        and now_ms >= link.times.settings_end_ms
    ):
        var error = Http2Error(Http2Rule.SETTINGS_LATE, 0)
        return _fail(connection, link, state, error)
    if now_ms >= link.times.partial_end_ms or now_ms >= link.times.idle_end_ms:
        # The client learns that no later request was looked at.
        _end_taking(link, state)
        link.drop_all()
        return NextAction.SHUTDOWN
    end_late_tasks(connection, link, state)
    return NextAction.WAIT


def _prolong_window(
    connection: Connection, mut link: Http2Link, mut state: WorkerState
) -> Bool:
    """Gives a client that keeps the connection's window shut the time that it
    has earned by what it took; False if there is none."""
    if link.times.window.prolong(
        Wait.CLIENT, link.times.window_sent_len, state.now_ms, state.config
    ):
        return True
    state.log(
        Text()
        .add(connection.peer)
        .add(" is cut off: it kept the window of the connection shut")
        .add(" (write_timeout_ms, min_send_rate)")
        .end()
    )
    return False


def _prolong_all(
    connection: Connection, mut link: Http2Link, mut state: WorkerState
) -> Bool:
    """Gives a client that keeps one response after the other waiting the time
    that it has earned by what it took; False if there is none."""
    ref config = state.config
    var unsent_len = connection.socket.undelivered_len()
    if connection.request.pending:
        unsent_len += len(connection.request.pending.held()[].octets)
    if link.times.total.prolong(unsent_len, state.now_ms, config):
        return True
    state.log(
        Text()
        .add(connection.peer)
        .add(" is cut off: it kept responses waiting for ")
        .add(limit_ms(Wait.CLIENT_IN_ALL, config))
        .add(" ms in all (write_timeout_ms, min_send_rate)")
        .end()
    )
    return False


@always_inline
def _write_end_ms(connection: Connection) -> Int:
    """Tells when the client must have taken what waits in the socket's way."""
    if not connection.request.pending:
        return NEVER
    return connection.request.pending.held()[].pace.clock.end_ms


def _send(
    mut connection: Connection, mut link: Http2Link, mut state: WorkerState
) -> NextAction:
    """Sends what there is, as far as windows and socket go; YIELD if there is
    more than others should wait for, CLOSE if the connection is broken."""
    for _ in range(_SEND_COUNT_MAX):
        if unlikely(link.has_parked and not connection.request.pending):
            answer_parked(connection, link, state)
        # After what the client does not take, nothing is put but control frames.
        var has_more = not connection.request.pending and (
            send_content(connection, link, state)
        )
        if not deliver(connection, state):
            return NextAction.CLOSE
        if connection.request.pending:
            return NextAction.WAIT
        if not has_more and not may_answer_parked(link, state):
            return NextAction.WAIT
        if state.is_turn_over():
            break
    return NextAction.YIELD


def _await(
    mut connection: Connection, mut link: Http2Link, mut state: WorkerState
) -> NextAction:
    """Sets the deadline of a connection that waits."""
    ref config = state.config
    var is_blocked = connection.request.pending.__bool__()
    if (
        len(link.tasks) == 0
        and link.shutdown == Shutdown.OVER
        and not is_blocked
    ):
        connection.ending.end(is_unread=True)
        # The client learns which of its streams were looked at (RFC 9113 section
        # 6.8), also if it was the first to end.
        if not link.session.state.has_drained():
            _end_taking(link, state)
            if not deliver(connection, state):
                return NextAction.CLOSE
        return NextAction.SHUTDOWN
    # What is not read is not late.
    var is_partial = (
        len(link.input) > 0 or link.session.is_in_block()
    ) and not _is_blocked(connection, state)
    link.times.await_next(
        LinkWaits(
            is_blocked=is_blocked,
            has_tasks=len(link.tasks) > 0,
            is_partial=is_partial,
            frame_count=link.session.frame_count,
            request_count=connection.request_count,
        ),
        state.now_ms,
        config,
    )
    if (
        is_blocked
        and not connection.request.pending.held()[].pace.clock.waits()
    ):
        # Who has taken all that waited before has a time of its own for this.
        connection.request.pending.held()[].pace.begin(
            connection.socket.undelivered_len(),
            state.now_ms,
            config,
        )
    set_send_deadlines(link, is_blocked, state)
    var deadline = min(
        link.times.earliest(link.session.state.owes_settings_ack),
        _write_end_ms(connection),
    )
    var wants_thread = False
    for index in range(len(link.tasks)):
        ref task = link.tasks.at(index)
        deadline = min(deadline, task[].pace.clock.end_ms)
        wants_thread = wants_thread or task[].phase == StreamPhase.QUEUED
    if link.shutdown == Shutdown.NONE:
        deadline = min(deadline, connection.retire_ms)
    link.deadline_ms = deadline
    connection.deadline_ms = deadline
    return NextAction.OFFLOAD if wants_thread else NextAction.WAIT

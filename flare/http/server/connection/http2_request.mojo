"""Requests of HTTP/2 on their way to the handler: at once, with their content, by
their head alone, or on another thread.
"""

from flare.bytes.buffer import Buffer, unsafe_lend
from flare.bytes.checked import *
from flare.bytes.never import NEVER
from flare.bytes.text import Text
from flare.http.h1.error import Rule
from flare.http.h2.connection_state import Http2Event
from flare.http.h2.error import ErrorCode, Http2Error
from flare.http.h2.field_section import WANTS_UPGRADE, Http2FieldSection
from flare.http.h2.session import Http2Session
from flare.http.message.body_reader import owned_fields
from flare.http.message.fields import FieldLine, Fields
from flare.http.message.extensions import ExtensionScope
from flare.http.message.header_map import HeaderMap
from flare.http.message.method import Method
from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.handler.handler import (
    ContentToCome,
    HeadOnly,
)
from flare.http.server.connection.call_plan import CallPlan
from flare.http.server.connection.connection import Connection
from flare.http.server.connection.deadlines import (
    Wait,
    deadline_of,
    wait_of,
)
from flare.http.server.connection.dispatch import (
    call_here,
    plan_of,
    refusal_of_peer,
    refusal_of_request,
)
from flare.http.server.connection.http2_link import Http2Link
from flare.http.server.connection.http2_response import (
    begin_response,
    has_to_wait,
)
from flare.http.server.connection.phase import StreamPhase
from flare.http.server.connection.request_call import Intake, Refusal
from flare.http.server.connection.stream_task import (
    ReceivedRequest,
    StreamTask,
)
from flare.http.server.response_lengths import UNKNOWN_LEN
from flare.http.server.worker_state import FLUSH_LEN, WorkerState
from std.memory import OwnedPointer
from std.sys.intrinsics import unlikely


comptime _o = ImmUntrackedOrigin


def answer_request(
    mut connection: Connection,
    mut link: Http2Link,
    event: Http2Event,
    mut input: Buffer,
    mut state: WorkerState,
) raises Http2Error:
    """Takes a request whose header section has come, and its content if all of
    that stands next in the input. Raises as `Http2Session.next_event` does."""
    var id = event.stream_id
    var status = link.session.section[].facts.status
    if unlikely(status != 0 and status != WANTS_UPGRADE):
        var is_head = link.session.section[].facts.method == Method.HEAD
        var why = Refusal(status, _reason_of(status))
        _refuse(connection, link, id, why, is_head, state)
        return
    if unlikely(
        not event.ends
        or status == WANTS_UPGRADE
        or state.asks_policies
        or (len(link.tasks) > 0 and has_to_wait(link, id, state))
    ):
        _answer_by_policy(connection, link, event, input, state)
        return
    state.params[].clear()
    _answer_now(connection, link, id, _lend(connection, link, state), state)


@always_inline
def _answer_now(
    mut connection: Connection,
    mut link: Http2Link,
    id: Int,
    request: Request[ImmUntrackedOrigin],
    mut state: WorkerState,
):
    """Lets the handler answer the request of the session's section."""
    var response = call_here[is_rare=True](request, state)
    var is_head = link.session.section[].facts.method == Method.HEAD
    begin_response(connection, link, id, response^, is_head, state)


@always_inline
def _lend(
    connection: Connection, link: Http2Link, mut state: WorkerState
) -> Request[ImmUntrackedOrigin]:
    """Lends the request of the session's section, without content."""
    ref asked = link.session.section[]
    # SAFETY: the loan ends with the call of the handler, and nothing is decoded
    # meanwhile.
    return Request[_o](
        asked.unsafe_request_line[_o](),
        asked.unsafe_fields[_o](),
        asked.unsafe_nothing[_o](),
        Fields(asked.unsafe_nothing[_o](), Span[FieldLine, _o](), True),
        peer=connection.peer,
        params=state.params_pointer(),
        tls=connection.tls_peer,
    )


def _refuse(
    mut connection: Connection,
    mut link: Http2Link,
    id: Int,
    why: Refusal,
    is_head: Bool,
    mut state: WorkerState,
):
    """Answers in place of the handler a request that is more than is allowed."""
    var response = refusal_of_peer(connection, state, why)
    begin_response(connection, link, id, response^, is_head, state)


def _reason_of(status: Int) -> StaticString:
    """Says why, in the words of HTTP/1.1."""
    if status == 431:
        return Rule.HEADER_LEN.text()
    if status == 414:
        return Rule.TARGET_LEN.text()
    if status == 417:
        return Rule.EXPECTATION.text()
    if status == 421:
        return "this server has resources of http and https alone"
    return "the method, or the protocol that it asks for, is not known here"


@no_inline
def _answer_by_policy(
    mut connection: Connection,
    mut link: Http2Link,
    event: Http2Event,
    mut input: Buffer,
    mut state: WorkerState,
) raises Http2Error:
    """Asks the handler how a request with content, or with handler threads each,
    is to be treated, and does that: it is answered at once, by its head or with
    all its content if that is here; it is refused; or it waits for content, a
    thread or an errand."""
    var id = event.stream_id
    var is_tunnel = link.session.section[].facts.status == WANTS_UPGRADE
    var is_whole = event.ends or is_tunnel
    state.params[].clear()
    state.begin_memo()
    var request = _lend(connection, link, state)
    var plan = _plan_request(request, is_whole, state)
    var fits = link.session.section[].facts.content_length <= plan.max_body_size
    var is_by_head = fits and not is_whole and not plan.needs_content
    var content_len = 0
    if not is_whole and not is_by_head:
        content_len = link.session.next_content_len(input, id)
    var is_at_once = is_by_head or (
        fits
        and content_len >= 0
        and content_len <= plan.max_body_size
        and not is_tunnel
        and not plan.runs_elsewhere()
        and (len(link.tasks) == 0 or not has_to_wait(link, id, state))
    )
    if not is_at_once:
        _begin_task(connection, link, event, plan, state)
        return
    state.params[].clear()
    if not is_whole and not is_by_head:
        if not link.session.take_content(
            content_len, id, input, state.out, state.now_ms
        ):
            return
        request.body = _lent_content(link, input)
        link.session.state.owe(len(request.body), state.out)
    state.lend_memo()
    if is_by_head:
        var note = HeadOnly()
        var scope = ExtensionScope(request.extensions(), note)
        var response = call_here[is_rare=True](request, state)
        scope^.end()
        var is_head = request.method == Method.HEAD
        begin_response(connection, link, id, response^, is_head, state)
    else:
        _answer_now(connection, link, id, request, state)


@always_inline
def _plan_request(
    request: Request[ImmUntrackedOrigin],
    is_whole: Bool,
    mut state: WorkerState,
) -> CallPlan:
    """Asks the handler about a request without its content, and decides."""
    if is_whole or (
        request.method != Method.GET and request.method != Method.HEAD
    ):
        return plan_of(state.handler[].policy_for(request), state)
    var note = ContentToCome()
    var scope = ExtensionScope(request.extensions(), note)
    var policy = state.handler[].policy_for(request)
    scope^.end()
    return plan_of(policy, state)


def _lent_content(
    link: Http2Link, input: Buffer
) -> Span[UInt8, ImmUntrackedOrigin]:
    """Lends the content that DATA has told of."""
    # SAFETY: the loan ends with the call of the handler, and the input does not
    # change meanwhile.
    var content = link.session.data(input)
    return unsafe_lend[_o](content.unsafe_ptr(), len(content))


@no_inline
def _begin_task(
    mut connection: Connection,
    mut link: Http2Link,
    event: Http2Event,
    plan: CallPlan,
    mut state: WorkerState,
):
    """Has a request wait that is not answered at once, or refuses it."""
    var task = state.streams.take(event.stream_id)
    if not task[].request:
        task[].request = OwnedPointer(ReceivedRequest())
    ref request = task[].request.held()[]
    link.session.take_section(request.section)
    task[].call.memo = state.take_memo()
    ref head = request.section[].facts
    task[].call.is_head = head.method == Method.HEAD
    task[].call.plan = plan
    var is_tunnel = head.status == WANTS_UPGRADE
    var is_whole = event.ends or is_tunnel
    task[].is_tunnel = is_tunnel
    if not event.ends:
        task[].call.intake = (
            Intake.HELD_BACK if head.expects_continue
            and not is_tunnel else Intake.ARRIVING
        )
    var length = head.content_length
    var index = link.add(task^)
    ref added = link.tasks.at(index)[]
    if length > plan.max_body_size:
        var why = Refusal(413, Rule.BODY_LEN.text())
        refuse_task(connection, link, index, why, state)
        return
    if plan.runs_elsewhere():
        added.expected_len = _expected_len(plan, state)
        if is_whole or plan.starts_at_head:
            added.enter[StreamPhase.QUEUED]()
            return
    if is_whole:
        _answer_or_park(connection, link, index, state)
        return
    _await_turn(added, state)
    if added.call.intake == Intake.HELD_BACK:
        _send_continue(link.session, added, state)


comptime _UNKNOWN_SHARE = 16
# So many calls of routes that have not answered yet are begun at once.


def _expected_len(plan: CallPlan, state: WorkerState) -> Int:
    """Tells how much memory the answer to a request may take, in bytes."""
    var route = state.params[].record.route
    var length = state.lengths.expected(route, state.now_ms)
    if length != UNKNOWN_LEN:
        return length
    # What answers later takes no thread, and mostly hands a stream on.
    if plan.defers():
        return 0
    var limit = state.config.http2_limits.max_pending_response_size
    return limit // _UNKNOWN_SHARE


def _await_turn(mut task: StreamTask, state: WorkerState, begins: Bool = False):
    """Sets the deadline of the side that is waited for in the task's phase, by
    what has come; its turn is a new one if it `begins`."""
    task.pace.clock.end_ms = task.call.await_turn(
        wait_of(task.phase),
        task.received_len,
        state.now_ms,
        state.config,
        begins=begins,
    )


def _send_continue(
    mut session: Http2Session, mut task: StreamTask, mut state: WorkerState
):
    """Asks for content that is held back (RFC 9110 section 10.1.1)."""
    task.call.intake = Intake.ARRIVING
    session.begin_block()
    session.encoder.add_status(session.fields, 100)
    session.end_block(state.out, task.id, False)


def refuse_task(
    mut connection: Connection,
    mut link: Http2Link,
    index: Int,
    why: Refusal,
    mut state: WorkerState,
):
    """Answers a request in place of its handler, which does not get it, or not
    all of it, or has it for too long."""
    var task = link.drop(index, state.out)
    task[].call.cancel(why)
    state.give_memo(task[].call.memo)
    var response = _refusal_of(task[], connection, state, why)
    begin_response(
        connection, link, task[].id, response^, task[].call.is_head, state
    )


def _refusal_of(
    task: StreamTask,
    connection: Connection,
    mut state: WorkerState,
    why: Refusal,
) -> Response:
    """Makes an answer in place of the handler, with what has come of the
    request if it is not elsewhere."""
    if not task.request:
        return refusal_of_peer(connection, state, why)
    state.params[].clear()
    # SAFETY: the loan ends with the call.
    var lent = task.request.held()[].unsafe_request[ImmUntrackedOrigin](
        connection.peer, state.params_pointer(), tls=connection.tls_peer
    )
    return refusal_of_request(state, lent, why)


comptime _SHUT_LEN = 16_384
# With less room than a frame needs, many clients send nothing.


def end_late_tasks(
    mut connection: Connection, mut link: Http2Link, mut state: WorkerState
):
    """Ends what has taken too long, and asks sources whose time has come."""
    var index = 0
    while index < len(link.tasks):
        ref task = link.tasks.at(index)[]
        if state.now_ms >= task.pace.clock.end_ms:
            if not _is_let_go_on(task, link.session, state):
                _end_late(connection, link, index, state)
                continue
        index += 1


def _is_let_go_on(
    mut task: StreamTask, session: Http2Session, state: WorkerState
) -> Bool:
    """Tells whether a task whose time is over is not late, and when it will be."""
    var wait = wait_of(task.phase)
    if task.phase == StreamPhase.SENDS and task.body.source:
        task.body.wake()
        task.pace.clock.end_ms = NEVER
        return True
    if wait == Wait.CLIENT:
        # What it has let through earns it time.
        return task.pace.clock.prolong(
            wait, task.pace.sent_len, state.now_ms, state.config
        )
    if wait == Wait.CONTENT and session.state.receive_window < _SHUT_LEN:
        # Content of others takes up the connection's window: what may not be
        # sent is not late.
        task.call.turns.start_ms = state.now_ms
        task.pace.clock.end_ms = deadline_of(wait, state.now_ms, state.config)
        return True
    return False


def _end_late(
    mut connection: Connection,
    mut link: Http2Link,
    index: Int,
    mut state: WorkerState,
):
    ref task = link.tasks.at(index)[]
    if not task.has_response():
        var why = task.call.late_refusal()
        # Whosever fault it is: its handler hears that nobody waits for it.
        task.call.end_content(Refusal.NOT_WANTED)
        refuse_task(connection, link, index, why, state)
        return
    var id = task.id
    state.log(
        Text()
        .add(connection.peer)
        .add(" is not sent the rest on stream ")
        .add(id)
        .add(": it kept its window shut (write_timeout_ms, min_send_rate)")
        .end()
    )
    link.session.state.reset(state.out, id, ErrorCode.CANCEL)
    var late = link.drop(index, state.out)
    late[].call.cancel(Refusal.LATE_ANSWER)


def _answer_task(
    mut connection: Connection,
    mut link: Http2Link,
    index: Int,
    mut state: WorkerState,
    *,
    content: Optional[Span[UInt8, ImmUntrackedOrigin]] = None,
):
    """Lets the handler answer a request that is complete, with the content that
    was kept, or what is lent."""
    var task = link.tasks.pop(index)
    state.params[].clear()
    state.lend_memo_of(task[].call.memo)
    # SAFETY: the request belongs to the task, which outlives the call.
    var request = (
        task[]
        .request.held()[]
        .unsafe_request[ImmUntrackedOrigin](
            connection.peer, state.params_pointer(), tls=connection.tls_peer
        )
    )
    if content:
        request.body = content.held()
    var response = call_here[is_rare=True](request, state)
    state.give_memo(task[].call.memo)
    begin_task_response(connection, link, task[], response^, state)
    state.streams.give(task^)


def begin_task_response(
    mut connection: Connection,
    mut link: Http2Link,
    mut task: StreamTask,
    var response: Response,
    mut state: WorkerState,
):
    """Sends the response to a request that had to wait, and whose task the link
    does not have any more."""
    if unlikely(task.is_tunnel):
        _open_tunnel(connection, link, task, response^, state)
        return
    begin_response(
        connection, link, task.id, response^, task.call.is_head, state
    )


@no_inline
def _open_tunnel(
    mut connection: Connection,
    mut link: Http2Link,
    mut task: StreamTask,
    var response: Response,
    mut state: WorkerState,
):
    """Answers an extended CONNECT: where HTTP/1.1 has 101, 200 opens the stream
    for the conversation (RFC 8441 section 5). Any other success would, too."""
    if response.status < 300 and not response.body.listens():
        var why = Refusal(501, _reason_of(501))
        _refuse(connection, link, task.id, why, False, state)
    else:
        if response.body.listens():
            response.status = 200
            # An upstream of HTTP/1.1 may have said so (RFC 8441 section 5).
            _ = response.headers.remove("Sec-WebSocket-Accept")
        begin_response(connection, link, task.id, response^, False, state)
    var index = link.find(task.id)
    if index < 0 or not link.tasks.at(index)[].is_tunnel:
        link.session.state.owe(task.piped_len, state.out)
        return
    # It may last as long as the connection: others have their turns.
    var slot = link.session.state.table.find(task.id)
    link.session.state.table.at(slot).priority.is_incremental = True
    # What came before the answer is the conversation's.
    ref opened = link.tasks.at(index)[]
    swap(opened.unheard, task.unheard)
    opened.piped_len = task.piped_len
    opened.call.intake = task.call.intake


def on_content(
    mut connection: Connection,
    mut link: Http2Link,
    event: Http2Event,
    mut input: Buffer,
    mut state: WorkerState,
):
    """Takes content of a request, at the front of the input."""
    var content = link.session.data(input)
    var index = link.find(event.stream_id)
    if unlikely(index >= 0 and link.tasks.at(index)[].is_tunnel):
        ref tunnel = link.tasks.at(index)[]
        # Its room comes back when the conversation has heard it.
        tunnel.unheard.append(content)
        tunnel.piped_len += len(content)
        if event.ends:
            tunnel.call.intake = Intake.WHOLE
        return
    if index < 0 or link.tasks.at(index)[].has_dropped_content():
        # It was answered already; the room comes back all the same.
        link.session.state.consume(state.out, event.stream_id, len(content))
        return
    ref task = link.tasks.at(index)[]
    task.received_len += len(content)
    if task.received_len > task.call.plan.max_body_size:
        link.session.state.owe(len(content), state.out)
        var why = Refusal(413, Rule.BODY_LEN.text())
        _refuse_content(connection, link, index, why, state)
        return
    var is_only_piece = event.ends and task.received_len == len(content)
    if (
        is_only_piece
        and task.phase == StreamPhase.CLIENT
        and not task.call.plan.runs_elsewhere()
        and not _has_to_park(link, index, state)
    ):
        # Its handler is called now: nothing is kept.
        link.session.state.owe(len(content), state.out)
        var lent = _lent_content(link, input)
        _answer_task(connection, link, index, state, content=lent)
        return
    _keep_content(connection, link, event, index, content, state)


def _keep_content(
    mut connection: Connection,
    mut link: Http2Link,
    event: Http2Event,
    index: Int,
    content: Span[UInt8, _],
    mut state: WorkerState,
):
    """Keeps content for a handler that is called later, or hands it to one that
    reads it.

    The stream's window gets its room back once: as the content is read, if a handler
    reads it or will (`piped_len` has what is still owed), at once if it is kept, and
    never if it is dropped with its stream, of which the connection's window alone is
    owed (`owe`).
    """
    ref task = link.tasks.at(index)[]
    var held_len: Int
    if task.call.pipe:
        _ = task.call.pipe.held().put(content, rings=True)
        held_len = task.call.pipe.held().held_len()
    else:
        ref kept = task.request.held()[].content
        kept.append(content)
        held_len = kept.capacity()
    if not state.charge(task.call.charge, held_len):
        link.session.state.owe(len(content), state.out)
        _refuse_content(connection, link, index, Refusal.CONTENT_FULL, state)
        return
    var is_queued = task.phase == StreamPhase.QUEUED
    if task.call.pipe or (is_queued and task.call.plan.starts_at_head):
        task.piped_len += len(content)
    else:
        link.session.state.consume(state.out, event.stream_id, len(content))
    if task.call.pipe:
        share_time(task, state, False)
        if task.has_response() and task.call.pipe.held().is_left():
            # Its handler has answered, and nobody reads it any more.
            take_back_window(link, index, state)
    if event.ends:
        on_request_end(connection, link, event.stream_id, False, state)
    elif link.tasks.at(index)[].phase == StreamPhase.CLIENT:
        _await_turn(link.tasks.at(index)[], state)


def _refuse_content(
    mut connection: Connection,
    mut link: Http2Link,
    index: Int,
    why: Refusal,
    mut state: WorkerState,
):
    """Takes no more of a request, of which there is too much."""
    ref task = link.tasks.at(index)[]
    if not task.has_response():
        refuse_task(connection, link, index, why, state)
        return
    # It is too late for a status.
    var id = task.id
    link.session.state.reset(state.out, id, ErrorCode.CANCEL)
    on_reset(link, id, state)


def on_request_end(
    mut connection: Connection,
    mut link: Http2Link,
    id: Int,
    has_trailers: Bool,
    mut state: WorkerState,
):
    """Takes note that all of a request has come, with trailers in the session
    if it has them."""
    var index = link.find(id)
    if unlikely(index >= 0 and link.tasks.at(index)[].is_tunnel):
        # Nothing but DATA belongs there (RFC 9113 section 8.5).
        link.session.state.reset(state.out, id, ErrorCode.PROTOCOL_ERROR)
        on_reset(link, id, state)
        return
    if index < 0 or link.tasks.at(index)[].has_dropped_content():
        return
    ref task = link.tasks.at(index)[]
    task.call.intake = Intake.WHOLE
    if task.call.pipe:
        var trailers = HeaderMap()
        if has_trailers:
            trailers = owned_fields(
                link.session.section[].unsafe_fields[ImmUntrackedOrigin]()
            )
        task.call.pipe.held().end(trailers^)
        if task.has_response():
            return
        link.completed.append(id)
        share_time(task, state, True)
        return
    if has_trailers and task.request:
        var box = OwnedPointer(Http2FieldSection())
        link.session.take_section(box)
        task.request.held()[].trailers = box^
    if task.phase != StreamPhase.CLIENT:
        return
    if task.call.plan.runs_elsewhere():
        task.enter[StreamPhase.QUEUED]()
        return
    _answer_or_park(connection, link, index, state)


def _answer_or_park(
    mut connection: Connection,
    mut link: Http2Link,
    index: Int,
    mut state: WorkerState,
):
    """Lets the handler answer a complete request, or that wait."""
    if _has_to_park(link, index, state):
        _park(link, index)
    else:
        _answer_task(connection, link, index, state)


def _has_to_park(mut link: Http2Link, index: Int, state: WorkerState) -> Bool:
    """Tells whether a complete request has to wait for other responses; what has
    no content to be sent does not, unless a handler elsewhere makes it all the
    same."""
    ref task = link.tasks.at(index)[]
    if task.is_tunnel or (task.call.is_head and task.expected_len == 0):
        return False
    return has_to_wait(link, task.id, state)


def _park(mut link: Http2Link, index: Int):
    """Lets a complete request wait for other responses."""
    ref task = link.tasks.at(index)[]
    task.enter[StreamPhase.PARKED]()
    # All of it has come.
    task.pace.clock.end_ms = NEVER
    link.has_parked = True


def offload_task(mut link: Http2Link, index: Int, state: WorkerState) -> Bool:
    """Tells whether a request may be given to a handler elsewhere now; one that
    has to wait for other responses is parked."""
    if link.tasks.at(index)[].call.intake != Intake.WHOLE:
        return True
    if not _has_to_park(link, index, state):
        return True
    _park(link, index)
    return False


def may_answer_parked(mut link: Http2Link, state: WorkerState) -> Bool:
    """Tells whether a request that waits for responses to leave may go on."""
    if not link.has_parked:
        return False
    var index = _most_urgent_parked(link)
    return index >= 0 and not has_to_wait(
        link, link.tasks.at(index)[].id, state
    )


def _most_urgent_parked(link: Http2Link) -> Int:
    """Finds the index of the most urgent request that waits for responses to
    leave; -1 if there is none."""
    var best = -1
    var best_urgency = UInt8(255)
    for index in range(len(link.tasks)):
        ref task = link.tasks.at(index)[]
        if task.phase != StreamPhase.PARKED:
            continue
        var slot = link.session.state.table.find(task.id)
        if slot < 0:
            continue
        var urgency = link.session.state.table.at(slot).priority.urgency
        if urgency < best_urgency:
            best = index
            best_urgency = urgency
    return best


@no_inline
def answer_parked(
    mut connection: Connection, mut link: Http2Link, mut state: WorkerState
):
    """Lets requests be answered for whose responses there is room again."""
    while len(state.out) < FLUSH_LEN and not state.is_turn_over():
        var index = _most_urgent_parked(link)
        if index < 0:
            link.has_parked = False
            return
        if has_to_wait(link, link.tasks.at(index)[].id, state):
            return
        ref task = link.tasks.at(index)[]
        if task.call.plan.runs_elsewhere():
            task.enter[StreamPhase.QUEUED]()
        else:
            _answer_task(connection, link, index, state)


def on_reset(mut link: Http2Link, id: Int, mut state: WorkerState):
    """Drops what is under way on a stream that is over before its time."""
    var index = link.find(id)
    if index >= 0:
        var task = link.drop(index, state.out)
        task[].call.cancel(Refusal.BROKEN_OFF)


def share_time(mut task: StreamTask, state: WorkerState, begins: Bool):
    """Tells whose turn it is while a handler elsewhere has the request, a new one
    of the same side if it `begins`, and sets its deadline."""
    if task.has_response():
        # It has the times of the response.
        return
    var to_client = False
    if task.call.pipe and task.call.intake == Intake.ARRIVING:
        to_client = task.call.pipe.held().waiting_len() == 0
    if to_client:
        task.enter[StreamPhase.READER]()
    else:
        task.enter[StreamPhase.HANDLER]()
    _await_turn(task, state, begins)


def take_back_window(mut link: Http2Link, index: Int, mut state: WorkerState):
    """Gives the room of content that a handler has read through the task's pipe
    back to the client."""
    ref task = link.tasks.at(index)[]
    if (
        task.call.intake == Intake.HELD_BACK
        and task.call.pipe.held().is_asked_for()
    ):
        _send_continue(link.session, task, state)
        share_time(task, state, True)
    # It grows by no more than what the handler had before it took the rest.
    _ = state.charge(task.call.charge, task.call.pipe.held().held_len())
    var waiting = task.call.pipe.held().waiting_len()
    var taken = task.piped_len - waiting
    if taken > 0:
        task.piped_len = waiting
        link.session.state.consume(state.out, task.id, taken)
        share_time(task, state, False)

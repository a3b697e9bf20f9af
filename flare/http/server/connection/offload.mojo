"""Connections whose request is with a handler elsewhere, or is answered
later."""

from flare.bytes.checked import *
from flare.http.h1.request_parser import RequestParser
from flare.http.h1.serialiser import write_interim
from flare.http.message.method import Method
from flare.http.message.response import Response
from flare.http.server.connection.connection import Connection
from flare.http.server.connection.dispatch import (
    busy_response,
    queue_rare_response,
)
from flare.http.server.connection.http2_offload import (
    offload_streams,
    on_stream_done,
)
from flare.http.server.connection.phase import Event, NextAction
from flare.http.server.connection.read import put_back, read_requests
from flare.http.server.connection.request_body import (
    begins_both_ways,
    end_content,
    go_on_receiving,
    owes_continue,
    skip_content,
    start_content,
    take_content,
)
from flare.http.server.connection.request_call import Intake
from flare.http.server.connection.sides import Backlog, ClientSide, Ending
from flare.http.server.connection.transport import deliver
from flare.http.server.connection.write import (
    await_pending,
    note_end,
    write_pending,
)
from flare.http.server.handler_pool import HandlerPool
from flare.http.server.job import Job
from flare.http.server.request_jobs import RequestJobs
from flare.http.server.worker_state import WorkerState
from std.memory import OwnedPointer
from std.sys.intrinsics import unlikely


def offload(
    mut connection: Connection,
    mut jobs: RequestJobs,
    mut state: WorkerState,
) -> NextAction:
    """Gives the request in a connection's parser to the handler threads, or to
    what answers later, or refuses it. Its content may still be arriving; then
    the handler reads it meanwhile. Returns WAIT, or what follows a refusal."""
    if connection.http2:
        return offload_streams(connection, jobs, state)
    var box = connection.request.parser.take()
    ref call = connection.request.call
    call.is_head = box[].head.method == Method.HEAD
    var is_late = box[].is_in_body()
    if is_late:
        # What the socket still has is read when the answer is there.
        connection.backlog.note_unread()
        call.intake = Intake.HELD_BACK if owes_continue(
            box[]
        ) else Intake.ARRIVING
    var has_content = box[].head.framing.has_content()
    if (
        has_content and not state.charge(call.charge, box[].input.capacity())
    ) or not jobs.admits(Pointer(to=call), is_late, state):
        return _answer_busy(connection, box^, is_late, state)
    var timeout_ms = call.plan.timeout_ms
    connection.begin[Event.OFFLOADED](state.now_ms, state.config, timeout_ms)
    if is_late:
        start_content(connection, box[])
    return _submit(connection, box^, jobs, state)


@no_inline
def _answer_busy(
    mut connection: Connection,
    var box: OwnedPointer[RequestParser],
    is_late: Bool,
    mut state: WorkerState,
) -> NextAction:
    """Answers 503; the connection goes on unless content is still to come."""
    if is_late:
        connection.request.call.intake = Intake.WHOLE
        _ = box[].detach_body()
        box[].end_connection()
    var refusal = busy_response(box[], connection, state)
    var action = finish_request(connection, box^, refusal, state)
    if is_late:
        connection.ending.end(is_unread=True)
    return action


def _submit(
    mut connection: Connection,
    var box: OwnedPointer[RequestParser],
    mut jobs: RequestJobs,
    mut state: WorkerState,
) -> NextAction:
    """Parks a connection while a handler has its request."""
    var defers = connection.request.call.plan.defers()
    var job = jobs.take_job(connection)
    ref request = connection.request
    request.call.begin(job[].cancel)
    request.row.advance(has_followers=box[].has_more())
    if connection.client != ClientSide.OPEN and (
        not defers or request.has_all_content()
    ):
        note_end(connection, state)
    job[].box = box^
    jobs.submit(job^, Pointer(to=request.call), state)
    var action = NextAction.WAIT
    if connection.request.content:
        action = take_content(connection, state)
    if not defers:
        note_job(connection, jobs.threads)
    return action


def note_job(connection: Connection, mut pool: HandlerPool):
    """Tells the pool what has become of a connection whose request it has."""
    if connection.client != ClientSide.OPEN or not connection.request.call.job:
        pool.drop_gone()
    elif connection.request.has_all_content():
        pool.note_complete(connection.token)


def on_event_while_offloaded(
    mut connection: Connection, mut state: WorkerState
) -> NextAction:
    """Receives for a handler elsewhere that reads content, or tells it when its
    client has gone."""
    # What is not read now, no other event will announce; reading to the end of
    # what is here takes it back.
    connection.backlog.note_unread()
    if not connection.request.has_all_content():
        return take_content(connection, state)
    if connection.client != ClientSide.OPEN:
        note_end(connection, state)
    return NextAction.WAIT


def on_job_done(
    mut connection: Connection,
    mut job: Job,
    mut state: WorkerState,
) -> NextAction:
    """Sends what a handler elsewhere has answered to the connection that waits
    for it; the job's parser and its response are taken."""
    if job.stream_id > 0:
        return on_stream_done(connection, job, state)
    if unlikely(job.is_interim()):
        return _send_interim(connection, job.response, state)
    job.end(Pointer(to=connection.request.call), state)
    if unlikely(connection.request.pending.__bool__()):
        # What it was told before the answer, as far as it had room for it.
        if not write_pending(connection, state) or connection.request.pending:
            return NextAction.CLOSE
    var box = job.box.take()
    var is_cut = connection.request.content.__bool__() and not (
        begins_both_ways(connection, job.response.body)
        or end_content(connection, box[], state)
    )
    var action = finish_request(connection, box^, job.response, state)
    if is_cut:
        connection.ending.end(is_unread=True)
    if unlikely(connection.request.content.__bool__()):
        return go_on_receiving(connection, action)
    return action


comptime _UNTAKEN_LEN_MAX = 16_384
# Of what a client was sent before, in bytes; the least that a system sends
# without waiting is as much.


@no_inline
def _send_interim(
    mut connection: Connection, response: Response, mut state: WorkerState
) -> NextAction:
    """Sends what a handler says before it answers, unless that would have to
    wait for the client: it is of use at once, or not at all."""
    if (
        connection.request.pending
        or connection.socket.undelivered_len() > _UNTAKEN_LEN_MAX
    ):
        return NextAction.WAIT
    write_interim(state.out, response.status, response.headers)
    return NextAction.WAIT if deliver(connection, state) else NextAction.CLOSE


def finish_request(
    mut connection: Connection,
    var box: OwnedPointer[RequestParser],
    response: Response,
    mut state: WorkerState,
) -> NextAction:
    """Goes on with a connection whose handler elsewhere has answered the
    request in `box`, complete and still first."""
    var result = queue_rare_response(box[], connection, state, response)
    if result == NextAction.CLOSE:
        state.give_parser(box^)
        return result
    if result == NextAction.SHUTDOWN:
        connection.ending.end(is_unread=len(box[].input) > 0)
        state.give_parser(box^)
        connection.request.call.charge = None
        return result if deliver(connection, state) else NextAction.CLOSE
    if connection.request.pending:
        # The rest waits until the client has read this.
        var is_sound = deliver(connection, state)
        connection.request.parser = box^
        connection.backlog.note_unread()
        return await_pending(
            connection, state
        ) if is_sound else NextAction.CLOSE
    if unlikely(connection.request.content.__bool__()):
        # It went on until now, and all of the response has left.
        skip_content(connection, box[])
    var action = read_requests(connection, box[], state)
    put_back(connection, box^, state, action)
    if action == NextAction.WAIT and connection.backlog != Backlog.NONE:
        return NextAction.YIELD
    return action


def waits_for(connection: Connection, job: Job) -> Bool:
    """Tells whether the connection that a job's token leads to still waits for
    it, and did not give it up."""
    if job.stream_id > 0:
        # It looks for the stream itself.
        return connection.http2.__bool__() and connection.ending == Ending.OPEN
    return connection.request.call.waits_for(job.cancel)

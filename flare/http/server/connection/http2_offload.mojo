"""Requests of HTTP/2 that handlers on other threads have, or that are answered
later."""

from flare.bytes.checked import *
from flare.http.message.response import Response
from flare.http.server.connection.connection import Connection
from flare.http.server.connection.http2 import continue_http2
from flare.http.server.connection.http2_link import Http2Link
from flare.http.server.connection.http2_request import (
    begin_task_response,
    offload_task,
    refuse_task,
    share_time,
)
from flare.http.server.connection.http2_response import send_interim
from flare.http.server.connection.phase import NextAction, StreamPhase
from flare.http.server.connection.request_call import Intake, Refusal
from flare.http.server.connection.stream_task import StreamTask
from flare.http.server.handler_pool import HandlerPool
from flare.http.server.job import Job
from flare.http.server.request_jobs import RequestJobs
from flare.http.server.worker_state import WorkerState
from std.sys.intrinsics import unlikely


def offload_streams(
    mut connection: Connection, mut jobs: RequestJobs, mut state: WorkerState
) -> NextAction:
    """Gives requests of an HTTP/2 connection to the handler threads, or to what
    answers later, or refuses them."""
    var link = connection.http2.take()
    var index = 0
    while index < len(link[].tasks):
        if link[].tasks.at(index)[].phase != StreamPhase.QUEUED:
            index += 1
            continue
        if not offload_task(link[], index, state):
            index += 1
            continue
        if _submit(connection, link[], index, jobs, state):
            index += 1
        else:
            refuse_task(connection, link[], index, Refusal.BUSY, state)
    var action = continue_http2(connection, link[], state)
    connection.http2 = link^
    return action


def _submit(
    mut connection: Connection,
    mut link: Http2Link,
    index: Int,
    mut jobs: RequestJobs,
    mut state: WorkerState,
) -> Bool:
    """Hands a request over; False if there is no room for it."""
    ref task = link.tasks.at(index)[]
    var is_late = task.call.intake != Intake.WHOLE and not task.is_tunnel
    if not jobs.admits(Pointer(to=task.call), is_late, state):
        return False
    ref content = task.request.held()[].content
    if is_late:
        var window = state.config.http2_limits.upload_window_size
        link.session.state.widen(state.out, task.id, window)
        if len(content) > 0:
            _ = task.call.pipe.held().put(content.span(), rings=True)
            content.clear()
    else:
        # Nothing more comes: the room of what is here is the connection's.
        if not task.is_tunnel:
            link.session.state.consume(state.out, task.id, task.piped_len)
            task.piped_len = 0
        if not state.charge(task.call.charge, content.capacity()):
            return False
    var job = jobs.take_job(connection)
    job[].stream_id = task.id
    job[].http2 = task.request.take()
    task.call.begin(job[].cancel)
    link.is_quiet = False
    jobs.submit(job^, Pointer(to=task.call), state)
    share_time(task, state, True)
    return True


def on_stream_done(
    mut connection: Connection, mut job: Job, mut state: WorkerState
) -> NextAction:
    """Sends what a handler elsewhere has answered, and takes the response of
    its job."""
    var link = connection.http2.take()
    var index = link[].find(job.stream_id)
    var is_its = index >= 0 and (
        link[].tasks.at(index)[].call.waits_for(job.cancel)
    )
    if unlikely(job.is_interim()):
        if is_its:
            var id = job.stream_id
            ref response = job.response
            send_interim(link[], id, response.status, response.headers, state)
    elif is_its:
        _answer(connection, link[], index, job, state)
    else:
        # The stream is over; only now it counts no more.
        link[].end_lost_call(job.stream_id)
        state.give_memo(job.memo)
    var action = continue_http2(connection, link[], state)
    connection.http2 = link^
    return action


def _answer(
    mut connection: Connection,
    mut link: Http2Link,
    index: Int,
    mut job: Job,
    mut state: WorkerState,
):
    """Sends what a handler elsewhere has answered with. The response is a task of
    its own: it takes over the pipe of a request whose content goes on arriving, and
    what else was not read is dropped. Content that is whole lives on in the pipe's
    other side, for as long as the handler reads there.
    """
    var task = link.tasks.pop(index)
    job.end(Pointer(to=task[].call), state)
    var goes_on = task[].call.goes_on_behind(job.response.body)
    if not goes_on:
        task[].call.cancel(Refusal.ANSWERED)
    if not task[].is_tunnel and not goes_on:
        # What it did not read is dropped, and its room comes back.
        link.session.state.consume(state.out, task[].id, task[].piped_len)
    var response = Response(500)
    swap(response, job.response)
    begin_task_response(connection, link, task[], response^, state)
    if goes_on:
        _go_on_receiving(link, task[], state)
    task[].request = job.http2.take()
    state.streams.give(task^)


def _go_on_receiving(
    mut link: Http2Link, mut task: StreamTask, mut state: WorkerState
):
    """Has content received on after the head of a response."""
    var index = link.find(task.id)
    if index >= 0:
        link.tasks.at(index)[].take_content_of(task)
        return
    # The stream is over.
    link.session.state.owe(task.piped_len, state.out)
    task.call.cancel(Refusal.ANSWERED)


def settle_jobs(mut connection: Connection, mut pool: HandlerPool):
    """Tells the pool what has become of requests that it has."""
    if not connection.http2:
        return
    ref link = connection.http2.held()[]
    if link.has_cancelled:
        link.has_cancelled = False
        pool.drop_gone()
    while len(link.completed) > 0:
        pool.note_complete(connection.token, link.completed.pop())

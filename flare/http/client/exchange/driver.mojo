"""Who waits for one request: a blocking call."""

from flare.bytes.checked import *
from flare.http.client.connect.error import (
    ClientError,
    Phase,
    SinkFailed,
    SourceFailed,
)
from flare.http.client.exchange.attempt import PIECE_LEN
from flare.http.client.exchange.prepared_request import PreparedRequest
from flare.http.client.exchange.state import ClientState
from flare.http.client.exchange.task import RequestTask
from flare.http.client.exchange.task_phase import TaskEvent, TaskProgress
from flare.http.client.message.request import (
    NoProgress,
    Transfer,
    TransferProgress,
)
from flare.http.client.message.response import ClientResponse
from flare.io.stream import Readable, Writable
from flare.net.error import NetworkError
from flare.sys.errno import EINTR, OsError
from flare.sys.poll import POLL_READ, POLL_WRITE, PollEntry, poll_descriptors


def run_task[
    R: Readable, W: Writable, P: TransferProgress
](
    mut state: ClientState,
    var request: PreparedRequest,
    mut source: R,
    mut sink: W,
    mut progress: P,
) raises ClientError -> ClientResponse:
    """Sends one request, and waits until its final response is there, after all
    redirections, as `end_task` does."""
    var task = RequestTask(request^, state)
    end_task(task, state, source, sink, progress)
    return task^.finish(state)


def end_task[
    R: Readable, W: Writable, P: TransferProgress
](
    mut task: RequestTask,
    mut state: ClientState,
    mut source: R,
    mut sink: W,
    mut progress: P,
) raises ClientError:
    """Waits until the final response to a request is there, for the caller to
    finish the task. Streamed content comes from `source`, that of the response
    goes to `sink`. Raises if the request fails for good."""
    var meter = TransferMeter()
    var event = TaskEvent.NONE
    while True:
        check_cancelled(task, state)
        var found = task.advance(state, event)
        event = TaskEvent.NONE
        try:
            comptime if not P == NoProgress:
                _tell(task, progress, meter)
            if found == TaskProgress.WAIT:
                event = wait_for(task)
                continue
            # The caller's source and sink may take their time.
            _ = task.flush()
            if found == TaskProgress.DONE:
                return
            if found == TaskProgress.WANTS_CONTENT:
                feed_from(task, source)
            else:
                _pass_on(task, sink)
        except error:
            raise task.named(state, error^)


struct TransferMeter(Defaultable, TrivialRegisterPassable):

    var sent_len: Int
    """How much of the request's content has gone, in bytes."""
    var received_len: Int
    """How much of the response's content has come, in bytes."""


def _tell[
    P: TransferProgress
](
    task: RequestTask, mut progress: P, mut meter: TransferMeter
) raises ClientError:
    """Says how far it is, if that has changed."""
    var sent_len = task.sent_len()
    var received_len = task.received_len()
    try:
        if sent_len != meter.sent_len:
            meter.sent_len = sent_len
            var total_len = task.request.upload.content_len
            if not task.request.upload.is_streamed:
                total_len = task.request.body.content_len()
            progress.on_progress(Transfer(True, sent_len, total_len))
    except error:
        raise ClientError(task.phase(), SourceFailed, String(error))
    try:
        if received_len != meter.received_len:
            meter.received_len = received_len
            progress.on_progress(
                Transfer(False, received_len, task.content_len())
            )
    except error:
        raise ClientError(task.phase(), SinkFailed, String(error))


def check_cancelled(
    mut task: RequestTask, mut state: ClientState
) raises ClientError:
    """Ends a request that its caller wants no more."""
    ref token = task.request.cancel
    if token and token.value().is_cancelled():
        raise task.named(state, token.value().error(task.phase()))


def wait_for(mut task: RequestTask) raises ClientError -> TaskEvent:
    """Waits until a task is worth another step. Returns why it may go on; raises
    if the system cannot wait."""
    if task.is_streaming():
        if task.is_shared():
            return task.wait_with_others()
        if task.flush():
            return TaskEvent.NONE
    var wait_ms = task.wait_ms()
    if wait_ms == 0:
        return TaskEvent.TIMEOUT
    var has_one = task.is_exchanging() or task.is_streaming()
    if not has_one or task.request.cancel:
        return _wait_for_several(task, wait_ms, has_one)
    var entries = Array[PollEntry, 1](fill=task.watch())
    var result = poll_descriptors(Span(entries), wait_ms)
    return _event_of(task, result, entries[0].found)


def _wait_for_several(
    mut task: RequestTask, wait_ms: Int, has_one: Bool
) raises ClientError -> TaskEvent:
    """Waits with the request's token, or for more descriptors than the one that
    a task has once it exchanges."""
    var entries = [task.watch()] if has_one else task.watches()
    if task.request.cancel:
        var number = task.request.cancel.value().fd()
        entries.append(PollEntry(number, POLL_READ, 0))
    var result = poll_descriptors(Span(entries), wait_ms)
    if has_one:
        return _event_of(task, result, entries.at(0).found)
    # Whatever comes of it, the task looks for itself.
    return TaskEvent.NONE


def _event_of(
    task: RequestTask, result: Int, found: Int16
) raises ClientError -> TaskEvent:
    """Tells what a wait says of the one descriptor that a task has."""
    if result == 0:
        return TaskEvent.TIMEOUT
    if result < 0 and result != -EINTR:
        raise ClientError(task.phase(), NetworkError(OsError("poll", -result)))
    # Errors and the end of the stream are met by reading.
    if result < 0 or found == 0 or found == POLL_WRITE:
        return TaskEvent.NONE
    return TaskEvent.READABLE


def feed_from[
    R: Readable
](mut task: RequestTask, mut source: R) raises ClientError:
    """Gives a task the next piece of content of a source. Raises if that fails,
    or is not as long as it was said to be."""
    var piece = List[UInt8](length=PIECE_LEN, fill=0)
    var count: Int
    try:
        count = source.read(Span(piece))
    except error:
        raise ClientError(task.phase(), SourceFailed, String(error))
    if count < 0 or count > PIECE_LEN:
        raise ClientError(
            task.phase(),
            SourceFailed,
            String("the source claims to have read ", count, " bytes"),
        )
    task.feed(piece[0:count])


def _pass_on[
    W: Writable
](mut task: RequestTask, mut sink: W) raises ClientError:
    ref content = task.content()
    var start = 0
    var length = len(content)
    while start < length:
        var count: Int
        try:
            count = sink.write(content[start:])
        except error:
            raise ClientError(Phase.READ_BODY, SinkFailed, String(error))
        if count < 1 or count > length - start:
            raise ClientError(
                Phase.READ_BODY,
                SinkFailed,
                String("the sink claims to have taken ", count, " bytes"),
            )
        start += count
    content.clear()


struct NoStream(Readable, Writable):
    """The source and the sink of a request that has its content in memory."""

    def __init__(out self):
        pass

    def read(mut self, room: MutSpan[UInt8, _]) raises -> Int:
        return 0

    def write(mut self, octets: Span[UInt8, _]) raises -> Int:
        return len(octets)

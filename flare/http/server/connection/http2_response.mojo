"""Responses of HTTP/2 on their way to the client: the header section at once, the
content as the windows allow, the most urgent first.
"""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.never import NEVER
from flare.http.exchange.outgoing_body import BodyState, OutgoingBody
from flare.http.h2.error import ErrorCode
from flare.http.h2.message_fields import (
    LENGTH_UNKNOWN,
    add_fields,
    add_response_fields,
    add_trailers,
)
from flare.http.h2.settings import FRAME_LEN_MIN
from flare.http.h1.serialiser import (
    ResponseFraming,
    asks_for_close,
    sends_content,
)
from flare.http.message.body import Body
from flare.http.message.content_length import announced_len
from flare.http.message.early_hints import EARLY_HINTS
from flare.http.message.header_map import HeaderMap
from flare.http.message.response import Response
from flare.http.message.status import Status
from flare.http.server.connection.connection import Connection
from flare.http.server.connection.http2_link import Http2Link
from flare.http.server.connection.phase import StreamPhase
from flare.http.server.connection.send_order import send_rank
from flare.http.server.connection.request_call import Intake, Refusal
from flare.http.server.connection.stream_task import StreamTask
from flare.http.server.connection.write import log_failure, note_origin
from flare.http.server.worker_state import FLUSH_LEN, WorkerState
from std.sys.intrinsics import likely, unlikely

comptime _QUICK_LEN_MAX = 16_384
# Content that goes with its header section if the windows allow it.

comptime _FRAME_COUNT_MAX = 1_024
# Frames of one portion: sources may make small pieces, or none.


def begin_response(
    mut connection: Connection,
    mut link: Http2Link,
    id: Int,
    var response: Response,
    is_head: Bool,
    mut state: WorkerState,
):
    """Writes the header section of a response, and short content with it; more
    becomes the stream's task, of which it has none yet."""
    _begin(connection, link, id, response, is_head, state)
    # This is on the path of every request.
    response^.drop()


@always_inline
def _begin(
    mut connection: Connection,
    mut link: Http2Link,
    id: Int,
    response: Response,
    is_head: Bool,
    mut state: WorkerState,
):
    ref session = link.session
    var index = session.state.table.find(id)
    if unlikely(index < 0):
        # It was reset meanwhile: fields that are encoded and not sent put the
        # client's table out of step.
        return
    if unlikely(state.params[].early_hints.fields.__bool__()):
        var fields = state.params[].early_hints.fields.take()
        send_interim(link, id, EARLY_HINTS, fields[], state)
    connection.request_count += 1
    state.request_count += 1
    var framing = ResponseFraming(is_head, True, 1)
    var content_len = len(response.body)
    var has_content = sends_content(response, framing)
    var whole_len = 0
    if unlikely(response.body.is_stream()):
        ref stream = response.body.lend_stream()
        var known = stream.length
        content_len = known.held() if known else LENGTH_UNKNOWN
        whole_len = len(stream.whole())
        # One that has announced another length fails as any other.
        if known.or_else(whole_len) != whole_len:
            whole_len = 0
        # Some clients take the last octet of content for the end.
        if (
            len(response.headers.lines_octets()) > 0
            and "trailer" in response.headers
        ):
            content_len = LENGTH_UNKNOWN
    elif content_len == 0:
        has_content = False
        if unlikely(is_head):
            content_len = announced_len(response.headers)
    session.begin_block()
    add_response_fields(
        session, response, content_len, state.date.text(), link.name
    )
    var is_unread = not session.state.table.at(index).is_received()
    session.end_block_at(state.out, index, not has_content)
    if unlikely(len(response.headers.lines_octets()) > 0):
        if asks_for_close(response.headers):
            connection.retire_ms = state.now_ms
    var request_max = state.config.max_keepalive_requests
    if request_max > 0 and connection.request_count >= UInt64(request_max):
        connection.retire_ms = state.now_ms
    if has_content:
        var room = min(session.sendable_len_at(index), _QUICK_LEN_MAX)
        if connection.request.pending:
            room = -1
        if not response.body.is_stream() and content_len <= room:
            session.write_data_at(
                state.out, index, response.body.as_bytes(), True
            )
            link.times.total.sent_len += content_len
        elif whole_len > 0 and whole_len <= room:
            _send_whole(connection, link, index, response.body, state)
        else:
            _begin_content(connection, link, id, response, state)
            return
    if unlikely(is_unread):
        _end_unread(link, id, state)


@no_inline
def _send_whole(
    connection: Connection,
    mut link: Http2Link,
    index: Int,
    content: Body,
    mut state: WorkerState,
):
    """Writes content that its source has in memory, and its trailers, on the
    stream of an index."""
    ref stream = content.lend_stream()
    ref session = link.session
    try:
        var trailers = stream.trailers()
        var octets = stream.whole()
        session.write_data_at(state.out, index, octets, not trailers)
        link.times.total.sent_len += len(octets)
        if trailers:
            session.begin_block()
            add_trailers(session, trailers, link.name)
            session.end_block_at(state.out, index, True)
    except error:
        var body = OutgoingBody(content.stream(), sends_regions=False)
        note_origin(body, state)
        _ = body.note_raised(error)
        log_failure(body, connection.peer, state)
        var id = session.state.table.at(index).id
        session.state.reset(state.out, id, ErrorCode.INTERNAL_ERROR)


@no_inline
def send_interim(
    mut link: Http2Link,
    id: Int,
    status: Status,
    fields: HeaderMap,
    mut state: WorkerState,
):
    """Writes an interim response (RFC 9110 section 15.2), 100 to 199, but 101,
    on a stream on which nothing final is sent yet."""
    link.session.begin_block()
    link.session.encoder.add_status(link.session.fields, status.code)
    add_fields(link.session, fields, link.name)
    link.session.end_block(state.out, id, False)


def _begin_content(
    mut connection: Connection,
    mut link: Http2Link,
    id: Int,
    response: Response,
    mut state: WorkerState,
):
    """Makes the task of content that is sent as the windows allow."""
    var task = state.streams.take(id)
    task[].enter[StreamPhase.SENDS]()
    if response.body.is_stream():
        var stream = response.body.stream()
        stream[].begin(state.wake_queue.waker_for(connection.token, id))
        task[].is_tunnel = stream[].listens()
        task[].body = OutgoingBody(stream, sends_regions=False)
        note_origin(task[].body, state)
    else:
        task[].body = OutgoingBody(response.body.copy())
    task[].pace.turn = link.next_turn()
    _ = link.add(task^)


def _end_unread(mut link: Http2Link, id: Int, mut state: WorkerState):
    """Lets a stream end whose request was answered before it had come: the
    client need not send the rest (RFC 9113 section 8.1)."""
    if link.session.state.table.find(id) >= 0:
        link.session.state.reset(state.out, id, ErrorCode.NO_ERROR)


def send_content(
    connection: Connection, mut link: Http2Link, mut state: WorkerState
) -> Bool:
    """Writes content of responses, up to `FLUSH_LEN` of output, and tells
    whether there may be more. It goes by the order of RFC 9218 section 10: the
    most urgent first, those of the same urgency one after the other, or by
    turns if they are incremental."""
    if len(link.tasks) == 0:
        return False
    for index in range(len(link.tasks)):
        var rank = _rank(link, index)
        if rank != _WAITS:
            state.send_order.add(rank, index)
    var frame_count = 0
    while (
        len(state.send_order) > 0
        and frame_count < _FRAME_COUNT_MAX
        and len(state.out) < FLUSH_LEN
        and (frame_count == 0 or not state.is_turn_over())
    ):
        var index = state.send_order.first()
        if _rank(link, index) == _WAITS:
            # Others have shut the connection's window meanwhile.
            state.send_order.drop_first()
            continue
        _send_frame(connection, link, index, state)
        frame_count += 1
        ref task = link.tasks.at(index)[]
        # Those that share have their turns.
        if task.phase != StreamPhase.OVER and _is_incremental(link, task.id):
            task.pace.turn = link.next_turn()
        var rank = _rank(link, index)
        if rank == _WAITS:
            state.send_order.drop_first()
        else:
            state.send_order.move_first(rank)
    var has_more = len(state.send_order) > 0
    state.send_order.clear()
    link.sweep(state.streams)
    return has_more


comptime _WAITS = -1
# The rank of a task that may send nothing now.


def _rank(link: Http2Link, index: Int) -> Int:
    """Gives the place of a task in the order of sending; `_WAITS` if it may send
    nothing now."""
    ref task = link.tasks.at(index)[]
    if task.phase == StreamPhase.OVER:
        return _WAITS
    var owes_end = _owes_end(task)
    if not task.has_content() and not owes_end:
        return _WAITS
    var slot = link.session.state.table.find(task.id)
    if slot < 0:
        return _WAITS
    ref stream = link.session.state.table.at(slot)
    var window = min(stream.send_window, link.session.state.send_window)
    if window <= 0 and not owes_end and not task.may_turn():
        return _WAITS
    return send_rank(stream.priority, task.pace.turn)


def _is_incremental(link: Http2Link, id: Int) -> Bool:
    """Tells whether a stream shares with others of its urgency."""
    var slot = link.session.state.table.find(id)
    return slot >= 0 and (
        link.session.state.table.at(slot).priority.is_incremental
    )


comptime _CREDIT_FACTOR = 4
comptime _CREDIT_MAX = 15
# Who takes much may have much made ahead, as with TCP's slow start: what an
# attacker wants held it has to take before, a quarter of it at least.


@no_inline
def has_to_wait(mut link: Http2Link, id: Int, state: WorkerState) -> Bool:
    """Tells whether a request is better answered when some has left: much
    content that was made for this client waits, or handlers elsewhere are about
    to make it, and some of it is as urgent."""
    var limit = state.config.http2_limits.max_pending_response_size
    # Many streams whose content arrives are not looked at for each of them.
    if link.is_quiet and link.lost_len <= limit:
        return False
    var most = limit + min(_CREDIT_FACTOR * link.sent_len, _CREDIT_MAX * limit)
    var called_len = link.lost_len
    var pending_len = 0
    link.is_quiet = True
    for index in range(len(link.tasks)):
        ref task = link.tasks.at(index)[]
        if task.has_response() or task.call.job:
            link.is_quiet = False
        called_len += task.called_len()
        pending_len += task.unsent_len()
    if (
        likely(called_len + pending_len <= most)
        or called_len + _distinct_len(link) <= most
    ):
        return False
    if link.lost_len > most:
        return True
    ref table = link.session.state.table
    var slot = table.find(id)
    if slot < 0:
        return False
    var urgency = table.at(slot).priority.urgency
    for index in range(len(link.tasks)):
        ref task = link.tasks.at(index)[]
        slot = table.find(task.id)
        if (
            slot >= 0
            and task.unsent_len() + task.called_len() > 0
            and table.at(slot).priority.urgency <= urgency
        ):
            return True
    return False


def _distinct_len(link: Http2Link) -> Int:
    """Counts content that was made and is not sent; what several responses share
    counts once."""
    var length = 0
    for index in range(len(link.tasks)):
        ref task = link.tasks.at(index)[]
        var content = task.body.content.as_bytes()
        var is_shared = False
        for other in range(index):
            ref earlier = link.tasks.at(other)[].body.content
            # SAFETY: addresses are compared, and nothing is read there.
            is_shared |= (
                len(content) > 0
                and earlier.as_bytes().unsafe_ptr() == content.unsafe_ptr()
            )
        if not is_shared:
            length += task.unsent_len()
    return length


def _owes_end(task: StreamTask) -> Bool:
    """Tells whether nothing but the end of a stream is to be sent."""
    return (
        task.has_response()
        and task.body.state == BodyState.MADE
        and len(task.piece) == 0
        and task.body.is_sent()
    )


def _send_frame(
    connection: Connection,
    mut link: Http2Link,
    index: Int,
    mut state: WorkerState,
):
    """Writes a frame of content, and ends the stream if it is the last."""
    ref sending = link.tasks.at(index)[]
    if sending.body.source and len(sending.piece) == 0:
        if not _take_piece(connection, link, index, state):
            return
    var before_len = link.session.state.send_window
    var ends = _write_frame(link, index, state)
    ref task = link.tasks.at(index)[]
    if unlikely(ends and task.body.trailers):
        link.session.begin_block()
        add_trailers(link.session, task.body.trailers, link.name)
        link.session.end_block(state.out, task.id, True)
    var sent_len = before_len - link.session.state.send_window
    task.pace.sent_len += sent_len
    link.times.note_sent(sent_len)
    link.sent_len += sent_len
    if unlikely(state.config.min_send_rate == 0):
        if ends or (task.body.source and len(task.piece) == 0):
            # Each response, and each piece, has a time of its own.
            link.times.total.refill(state.config)
    if ends:
        _end_content(link, index, state)
    elif unlikely(task.is_tunnel and task.body.state == BodyState.WAITING):
        if len(task.piece) == 0:
            task.piece = Buffer(0)


@always_inline
def _take_piece(
    connection: Connection,
    mut link: Http2Link,
    index: Int,
    mut state: WorkerState,
) -> Bool:
    """Has the source make the next piece, which may drop it, and gives that a
    time of its own. False if the source has failed, with which the stream ends.
    """
    ref task = link.tasks.at(index)[]
    if not _fill(connection, task, state):
        var code = ErrorCode.INTERNAL_ERROR
        if task.is_tunnel:
            # RFC 8441 section 5.
            code = ErrorCode.CANCEL
        link.session.state.owe(task.piped_len, state.out)
        link.session.state.reset(state.out, task.id, code)
        task.enter[StreamPhase.OVER]()
        return False
    if unlikely(task.is_tunnel and len(task.unheard) == 0):
        # What was heard is the client's room again.
        link.session.state.consume(state.out, task.id, task.piped_len)
        task.piped_len = 0
    if task.phase != StreamPhase.SHUT or state.config.min_send_rate == 0:
        # Each piece has a time of its own, and so has each wait for one.
        task.enter[StreamPhase.SENDS]()
        task.pace.clock.end_ms = NEVER
    return True


@always_inline
def _write_frame(
    mut link: Http2Link, index: Int, mut state: WorkerState
) -> Bool:
    """Writes what the windows allow of the piece, or of content in memory, as one
    frame. True if that is the end of the content: the frame says so, unless
    trailers follow."""
    ref task = link.tasks.at(index)[]
    var room = min(link.session.sendable_len(task.id), FRAME_LEN_MIN)
    if len(task.piece) > 0 or task.body.source:
        var count = min(len(task.piece), max(room, 0))
        var ends = not task.body.source and count == len(task.piece)
        var closes = ends and not task.body.trailers
        if count > 0 or closes:
            link.session.write_data(
                state.out, task.id, task.piece.span().before(count), closes
            )
            task.piece.consume(count)
        return ends
    if unlikely(task.body.trailers.__bool__()):
        return True
    var rest = task.body.rest()
    var count = min(len(rest), max(room, 0))
    var ends = count == len(rest)
    link.session.write_data(state.out, task.id, rest.before(count), ends)
    task.body.offset += count
    return ends


@always_inline
def _end_content(mut link: Http2Link, index: Int, mut state: WorkerState):
    """Ends the side of a stream whose content is sent."""
    ref task = link.tasks.at(index)[]
    task.enter[StreamPhase.OVER]()
    if unlikely(task.call.pipe.__bool__()):
        link.session.state.owe(task.piped_len, state.out)
        task.call.cancel(Refusal(503, "the response is complete"))
    if unlikely(task.is_tunnel):
        # The other direction is the client's to end.
        link.session.state.owe(task.piped_len, state.out)
    else:
        _end_unread(link, task.id, state)


def _fill(
    connection: Connection, mut task: StreamTask, mut state: WorkerState
) -> Bool:
    """Has the source of a response make a piece; False if it cannot."""
    var next: BodyState
    if unlikely(task.hears()):
        if len(task.unheard) > 0:
            next = task.body.hear(task.unheard, task.piece)
            task.unheard = Buffer(0)
        else:
            # The client has ended, and is not said to have once more.
            task.call.intake = Intake.ARRIVING
            next = task.body.end_input()
    else:
        next = task.body.fill(task.piece, state.is_draining)
    if unlikely(task.body.failure.byte_length() > 0):
        log_failure(task.body, connection.peer, state)
    return next != BodyState.FAILED

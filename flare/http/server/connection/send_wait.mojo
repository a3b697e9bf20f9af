"""What responses of HTTP/2 wait for at the end of a round, and how long they may."""

from flare.bytes.checked import *
from flare.bytes.never import NEVER
from flare.http.h2.stream import StreamTable
from flare.http.server.connection.deadlines import deadline_of, wait_of
from flare.http.server.connection.http2_link import Http2Link
from flare.http.server.connection.phase import StreamPhase
from flare.http.server.connection.stream_task import StreamTask
from flare.http.server.worker_state import WorkerState
from std.sys.intrinsics import unlikely


@fieldwise_init
struct SendWait(Equatable, TrivialRegisterPassable):
    """What a stream waits for to send more of its response."""

    var number: UInt8

    comptime NOTHING = SendWait(0)
    """There is no response yet."""
    comptime SOURCE = SendWait(1)
    """For its source: all that was made is sent."""
    comptime OTHERS = SendWait(2)
    """For the connection's window, the socket, or its turn: its own window is
    open."""
    comptime WINDOW = SendWait(3)
    """For the client to open its own window."""

    @staticmethod
    def of(has_response: Bool, has_content: Bool, is_shut: Bool) -> Self:
        """Tells what a stream waits for: with a response or none, with content
        of it that was made and is not sent, with its own window shut or open.
        """
        if not has_response:
            return Self.NOTHING
        if not has_content:
            return Self.SOURCE
        return Self.WINDOW if is_shut else Self.OTHERS


def set_send_deadlines(
    mut link: Http2Link, has_pending: Bool, state: WorkerState
):
    """Sets how long streams may wait for their windows or their sources, and
    all of them together for the client, if `has_pending`: the socket does not
    take what was written."""
    var waits_for_others = False
    var waits_for_own = False
    for index in range(len(link.tasks)):
        ref box = link.tasks.at(index)
        ref task = box[]
        var has_content = task.has_content()
        var wait = SendWait.of(
            task.has_response(),
            has_content,
            has_content and _is_shut(link.session.state.table, task.id),
        )
        if wait == SendWait.SOURCE:
            _await_source(task, state)
        elif wait == SendWait.OTHERS:
            waits_for_others = True
            _await_others(task, state)
        elif wait == SendWait.WINDOW:
            waits_for_own = True
            _await_window(task, state)
    var waits_for_all = waits_for_others and link.session.state.send_window <= 0
    link.times.await_window(waits_for_all, state.now_ms, state.config)
    link.times.total.note_wait(
        has_pending or waits_for_own or waits_for_all,
        has_pending or waits_for_own or waits_for_others,
        state.now_ms,
    )


def _is_shut(table: StreamTable, id: Int) -> Bool:
    """Tells whether a stream's window has no room; a closed one has no window."""
    var slot = table.find(id)
    return slot >= 0 and table.at(slot).send_window <= 0


def _await_source(mut task: StreamTask, state: WorkerState):
    """Has the source asked when it wants to be, once for each wait."""
    var begins = task.phase == StreamPhase.SHUT or not task.pace.clock.waits()
    task.enter[StreamPhase.SENDS]()
    if begins and task.body.source:
        task.pace.clock.end_ms = task.body.next_ask_ms(state.now_ms)


def _await_others(mut task: StreamTask, state: WorkerState):
    """Stops the stream's own clock: it is not this stream that is waited for."""
    if task.phase == StreamPhase.SHUT:
        task.pace.pause(state.now_ms)
    task.pace.clock.end_ms = NEVER


def _await_window(mut task: StreamTask, state: WorkerState):
    """Begins the stream's own clock, or lets it go on."""
    if task.phase == StreamPhase.SHUT:
        task.pace.go_on(state.now_ms)
        return
    task.enter[StreamPhase.SHUT]()
    var end_ms = deadline_of(wait_of(task.phase), state.now_ms, state.config)
    if unlikely(task.is_tunnel and task.body.source):
        var stall_ms = task.body.source.held()[].stall_timeout_ms()
        if stall_ms != NEVER:
            end_ms = min(end_ms, state.now_ms + stall_ms)
    task.pace.await_window(end_ms)

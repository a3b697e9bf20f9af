"""The one loop of a worker."""

from flare.bytes.checked import *
from flare.bytes.never import NEVER
from flare.bytes.text import Text
from flare.http.h1.request_parser import RequestParser
from flare.http.handler.any_handler import SharedHandler
from flare.http.server.config import ServerContext
from flare.http.server.connection.http2 import on_readable_http2
from flare.http.server.connection.http2_offload import settle_jobs
from flare.http.server.connection.lifetime import (
    begin_drain,
    begin_shutdown,
    discard_input,
    on_accept,
    on_timeout,
    read_proxy_header,
)
from flare.http.server.connection.offload import (
    note_job,
    offload,
    on_event_while_offloaded,
    on_job_done,
    waits_for,
)
from flare.http.server.connection.phase import NextAction, Phase
from flare.http.server.connection.read import on_readable, on_writable
from flare.http.server.connection.upgrade import read_upgraded
from flare.http.server.connection.write import has_to_write, on_wake
from flare.http.server.connection_table import (
    ConnectionTable,
    DONE_TOKEN,
    LIFELINE_TOKEN,
    LISTENER_TOKEN,
    ORDER_TOKEN,
    ReadyList,
    SIGNAL_TOKEN,
    SLOT_MASK,
    STOP_TOKEN,
    WAKE_TOKEN,
)
from flare.http.server.job import Job
from flare.http.server.listen import Listeners
from flare.http.server.request_jobs import RequestJobs
from flare.http.server.shutdown import ShutdownSignal
from flare.http.server.worker_state import (
    READ_BUFFER_LEN,
    StatsRow,
    WorkerState,
)
from flare.runtime.event import Event, Interest
from flare.runtime.prefork.orders import MasterLine, NEWS_LEAVING
from flare.runtime.selector import Selector
from flare.runtime.timer_wheel import TimerId, TimerWheel
from flare.runtime.worker_loop import TASK_TOKEN, Woken
from flare.sys.clock import coarse_monotonic_ms
from flare.sys.crash import set_crash_note
from flare.sys.errno import EAGAIN, ECONNABORTED, OsError, errno_text
from std.memory import OwnedPointer
from std.sys.intrinsics import likely, unlikely

comptime _EVENT_COUNT_MAX = 512
comptime _REFUSED_COUNT_MAX = 64
comptime _ACCEPT_PAUSE_MS = 100

comptime _ORPHAN_DRAIN_MS = 600
# Well within the time that a process has when its master has ended.


struct Worker(Movable):
    """One listener, one selector, one timer wheel, many connections."""

    var _listeners: Listeners
    var _selector: Selector
    var _wheel: TimerWheel
    var _table: ConnectionTable
    var _scratch: RequestParser
    var _state: WorkerState
    var _stop: ShutdownSignal
    var _jobs: RequestJobs
    var _stats: StatsRow
    var _ready: ReadyList
    var _drain_end_ms: Int
    var _master: Optional[MasterLine]

    def __init__(
        out self,
        var handler: SharedHandler,
        var listeners: Listeners,
        context: ServerContext,
        var stop: ShutdownSignal,
        var stats: StatsRow,
    ) raises OsError:
        """Makes a worker; others may use its handler, too. Raises if the
        process has no more descriptors."""
        self._listeners = listeners^
        self._selector = Selector(_EVENT_COUNT_MAX)
        self._wheel = TimerWheel(coarse_monotonic_ms())
        self._table = ConnectionTable()
        self._scratch = RequestParser(READ_BUFFER_LEN)
        self._state = WorkerState(context, handler^)
        self._stop = stop^
        self._jobs = RequestJobs(context.config)
        self._stats = stats^
        self._ready = ReadyList()
        self._drain_end_ms = NEVER
        self._master = None

    # Not inlined where a call may raise: it ends some fifty fields.
    @no_inline
    def __deinit__(deinit self):
        """Closes what is open."""
        pass

    def begin(mut self) raises OsError:
        """Starts to accept connections; they are served by `run`. Raises if the
        selector fails, or the system has no more threads."""
        self._selector.register(
            self._jobs.threads.fd(), DONE_TOKEN, Interest.READ
        )
        self._state.ask_claims()
        self._jobs.threads.grow(self._state.handler)
        self._selector.register(
            self._stop.waker_fd(), STOP_TOKEN, Interest.READ
        )
        if self._stop.signal_fd() >= 0:
            self._selector.register(
                self._stop.signal_fd(), SIGNAL_TOKEN, Interest.READ
            )
        if self._stop.lifeline_fd >= 0:
            self._selector.register(
                self._stop.lifeline_fd, LIFELINE_TOKEN, Interest.READ
            )
        self._selector.register(
            self._state.wake_queue.fd(), WAKE_TOKEN, Interest.READ
        )
        self._state.begin_round()
        self._listeners.start(self._selector, LISTENER_TOKEN)

    def obey(mut self, var master: Optional[MasterLine]) raises OsError:
        """Does what a master, if there is one, says from now on, and tells it
        when it leaves."""
        self._master = master^
        if self._master:
            self._selector.register(
                self._master.held().fd(), ORDER_TOKEN, Interest.READ
            )

    def run(mut self) raises OsError:
        """Serves until it is told to stop and all connections have ended."""
        self._state.note_for_crashes()
        # SAFETY: the worker does not move while it runs.
        self._jobs.deferred.unsafe_begin(self._selector)
        try:
            self._serve()
        finally:
            set_crash_note(None)
            self._jobs.deferred.end()
        self._state.tell_lost_lines()
        self._stats.publish(self._state.request_count, 0)
        self._end_pool()

    def _serve(mut self) raises OsError:
        while not self._is_over():
            var count = self._selector.wait(self._wait_ms())
            self._state.begin_round()
            self._ready.begin_round()
            for index in range(count):
                # One look at the clock serves two turns, of which most are short.
                if index & 1 == 1:
                    self._state.begin_turn()
                var event = self._selector.event(index)
                var slot = self._table.find(event.token)
                if unlikely(slot < 0):
                    self._on_other(event)
                    continue
                if unlikely(event.is_closed):
                    ref ended = self._table.at(slot)
                    ended.client.ends(event.has_failed)
                self._on_connection(slot, event)
            self._on_ready_list()
            self._on_timers()
            if unlikely(self._jobs.deferred.is_unsettled()):
                self._settle()
            self._stats.publish(self._state.request_count, len(self._table))
            if unlikely(self._state.slow.is_late()):
                self._state.end_late_round()

    def _end_pool(mut self):
        """Tells handlers on other threads that nobody waits any more."""
        for slot in range(self._table.slot_count()):
            self._table.at(slot).request.cancel()
        self._jobs.threads.close()

    def _wait_ms(self) -> Int:
        if len(self._ready) > 0:
            return 0
        var deadline = self._wheel.next_deadline_ms()
        if not deadline:
            return -1
        var left_ms = deadline.held() - self._state.now_ms
        if left_ms <= 0:
            return 0
        # The coarse clock may be a few milliseconds late.
        return min(left_ms, 60_000)

    def _is_over(self) -> Bool:
        if not self._state.is_draining:
            return False
        return len(self._table) == 0 or self._state.now_ms >= self._drain_end_ms

    @no_inline
    def _on_other(mut self, event: Event):
        """Does what an event asks for that is of no connection; it may be of
        one that has gone."""
        var token = event.token
        if token & SLOT_MASK == TASK_TOKEN:
            self._jobs.deferred.on_event(event, self._state.now_ms)
            self._settle()
        elif token == LISTENER_TOKEN:
            self._accept(self._listeners.batch_len())
        elif token == DONE_TOKEN:
            self._send_done(self._jobs.threads.take_done(self._jobs.spare))
        elif token == WAKE_TOKEN:
            self._wake(self._state.wake_queue.take())
        elif token == LIFELINE_TOKEN:
            self._on_orphaned()
        elif token == ORDER_TOKEN:
            self._on_order()
        elif token == STOP_TOKEN or token == SIGNAL_TOKEN:
            self._on_stop_request()

    @always_inline
    def _on_connection(mut self, slot: Int, event: Event):
        ref connection = self._table.at(slot)
        var action = NextAction.WAIT
        if unlikely(connection.request.is_elsewhere()):
            self._on_offloaded(slot)
            return
        if unlikely(event.is_writable and has_to_write(connection)):
            # It counts before the end of the stream does.
            if event.is_readable:
                connection.backlog.note_unread()
            action = on_writable(connection, self._state)
        if likely(
            event.is_readable
            and (action == NextAction.WAIT or action == NextAction.YIELD)
        ):
            if unlikely(not connection.phase.is_driven_as_http1()):
                if connection.phase == Phase.STREAMS:
                    action = on_readable_http2(
                        connection,
                        self._scratch,
                        self._state,
                        event.is_closed,
                    )
                    settle_jobs(connection, self._jobs.threads)
                    if unlikely(self._jobs.deferred.has_news()):
                        self._carry_out(slot, action)
                        self._settle()
                        return
                elif connection.phase == Phase.LINGER:
                    action = discard_input(connection, self._scratch)
                else:
                    action = read_proxy_header(
                        connection, self._scratch, self._state
                    )
            elif unlikely(connection.request.pending.__bool__()):
                action = read_upgraded(
                    Pointer(to=connection),
                    Pointer(to=self._scratch),
                    Pointer(to=self._state),
                    event.is_closed,
                )
            else:
                action = on_readable(
                    connection,
                    self._scratch,
                    self._state,
                    event.is_closed,
                )
        self._carry_out(slot, action)

    @no_inline
    def _on_offloaded(mut self, slot: Int):
        """Takes note of what comes while a handler has a request."""
        ref connection = self._table.at(slot)
        if connection.request.goes_both_ways():
            return self._resume(slot)
        var action = on_event_while_offloaded(connection, self._state)
        note_job(connection, self._jobs.threads)
        self._carry_out(slot, action)
        self._settle()

    @no_inline
    def _settle(mut self):
        """Goes on with requests that are answered later: begins them, ends them
        if their clients have gone, and sends what they are answered with.

        In this order, on which errands count: who has gone is not told of content,
        and content that has come is told before an answer is sent.
        """
        if not self._jobs.deferred.begin_settling(self._state.now_ms):
            return
        while self._jobs.deferred.has_news():
            self._send_done(
                self._jobs.deferred.take_done(
                    self._jobs.spare, self._state.handler[]
                )
            )
            self._wake(self._jobs.deferred.take_woken())
        self._jobs.deferred.end_settling(self._wheel)

    @always_inline
    def _carry_out(mut self, slot: Int, action: NextAction):
        """Does what is to happen to a connection, and keeps its timer right."""
        if unlikely(action == NextAction.OFFLOAD):
            self._offload(slot)
            return
        var next = action
        if unlikely(next == NextAction.SHUTDOWN):
            next = begin_shutdown(self._table.at(slot), self._state)
        if unlikely(next == NextAction.CLOSE):
            self._close(slot)
            return
        ref connection = self._table.at(slot)
        if unlikely(next == NextAction.YIELD and not connection.is_ready):
            connection.is_ready = True
            self._ready.add(self._table.token(slot))
        if unlikely(connection.deadline_ms < connection.armed_ms):
            self._arm(slot)

    @no_inline
    def _offload(mut self, slot: Int):
        """Gives requests away that are not answered here and now."""
        var next = NextAction.OFFLOAD
        while next == NextAction.OFFLOAD:
            next = offload(self._table.at(slot), self._jobs, self._state)
            if self._jobs.threads.wants_thread():
                self._add_threads()
        self._carry_out(slot, next)
        self._settle()

    @no_inline
    def _add_threads(mut self):
        """Lets the pool have what its queue needs, as far as the system has it."""
        try:
            self._jobs.threads.grow(self._state.handler)
        except error:
            # Those that run take one after the other; without any, requests
            # are answered 503 when their time is over.
            self._state.log(Text().add("handler threads: ").add(error).end())

    def _send_done(mut self, var done: List[OwnedPointer[Job]]):
        """Sends what handlers elsewhere have answered."""
        for index in range(len(done)):
            ref job = done.at(index)[]
            self._state.note_elsewhere(
                job.params.record.route, job.elapsed_ns, job.response
            )
            var slot = self._table.find(job.token)
            if slot < 0 or not waits_for(self._table.at(slot), job):
                continue
            self._state.begin_turn()
            var action = on_job_done(self._table.at(slot), job, self._state)
            self._carry_out(slot, action)
        self._jobs.spare.give(done^)

    def _wake(mut self, woken: List[Woken]):
        """Takes note of all that has rung, and then goes on with each connection
        once."""
        var tokens = List[UInt64]()
        for one in woken:
            var slot = self._table.find(one.token)
            if slot < 0:
                continue
            ref connection = self._table.at(slot)
            if on_wake(connection, one.stream_id) == NextAction.CLOSE:
                self._close(slot)
            elif not connection.is_woken:
                connection.is_woken = True
                tokens.append(one.token)
        for token in tokens:
            var slot = self._table.find(token)
            if slot >= 0:
                self._table.at(slot).is_woken = False
                self._state.begin_turn()
                self._resume(slot)

    def _resume(mut self, slot: Int):
        ref connection = self._table.at(slot)
        self._carry_out(slot, on_writable(connection, self._state))
        self._settle()

    def _arm(mut self, slot: Int):
        var token = self._table.token(slot)
        ref connection = self._table.at(slot)
        _ = self._wheel.cancel(connection.timer)
        connection.armed_ms = connection.deadline_ms
        connection.timer = self._wheel.insert(connection.deadline_ms, token)

    def _close(mut self, slot: Int):
        ref connection = self._table.at(slot)
        _ = self._wheel.cancel(connection.timer)
        var had_job = connection.may_have_job()
        self._table.close(slot)
        if unlikely(had_job):
            self._jobs.threads.drop_gone()
            self._settle()

    def _on_ready_list(mut self):
        """Drives those that gave way before this round, each once."""
        if len(self._ready) == 0:
            return
        for token in self._ready.take():
            var slot = self._table.find(token)
            if slot >= 0:
                self._table.at(slot).is_ready = False
                self._state.begin_turn()
                # It may be one of those whose turns are long.
                self._state.slow.time_next()
                self._on_connection(slot, Event.everything(token))

    def _on_timers(mut self):
        self._wheel.begin_round()
        while True:
            var token = self._wheel.next_of_round(self._state.now_ms)
            if not token:
                return
            var slot = self._table.find(token.held())
            if slot >= 0:
                self._on_timer(slot)
            elif token.held() == LISTENER_TOKEN:
                self._resume_accepting()
            elif token.held() == TASK_TOKEN:
                self._jobs.deferred.on_timer(self._state.now_ms)
                self._settle()

    def _on_timer(mut self, slot: Int):
        """Ends a connection whose time is over, or looks again later."""
        ref connection = self._table.at(slot)
        connection.timer = TimerId.NONE
        connection.armed_ms = NEVER
        if self._state.now_ms < connection.deadline_ms:
            self._arm(slot)
            return
        var had_job = connection.request.call.job.__bool__()
        self._carry_out(slot, on_timeout(connection, self._state))
        if had_job:
            self._jobs.threads.drop_gone()
            self._settle()

    def _accept(mut self, count_max: Int):
        for _ in range(count_max):
            if not self._listeners.is_watched():
                return
            var accepted = self._listeners.accept()
            if accepted.error_number != 0:
                if accepted.error_number == EAGAIN:
                    return
                if accepted.error_number != ECONNABORTED:
                    self._pause_accepting(accepted.error_number)
                continue
            var count = len(self._table)
            var connection_max = self._state.config.max_connections
            var number = Int(accepted.socket.fd())
            if (
                count >= connection_max + _REFUSED_COUNT_MAX
                or number >= self._state.descriptors.dropped_from
            ):
                continue
            self._stats.connection_count += 1
            # A listener of both versions names IPv4 clients by mapped addresses.
            var peer = accepted.peer.without_mapping()
            var slot = self._table.open(accepted^.take_socket(), peer)
            var action = on_accept(
                self._table.at(slot),
                self._table.token(slot),
                self._selector,
                self._state,
                count >= connection_max
                or number >= self._state.descriptors.refused_from,
            )
            self._carry_out(slot, action)

    def _pause_accepting(mut self, error_number: Int):
        """Lets connections wait in the kernel until descriptors are free."""
        self._state.log(
            Text()
            .add("accept: ")
            .add(errno_text(error_number))
            .add("; trying again")
            .end()
        )
        self._stop_watching()
        _ = self._wheel.insert(
            self._state.now_ms + _ACCEPT_PAUSE_MS, LISTENER_TOKEN
        )

    def _resume_accepting(mut self):
        if self._state.is_draining:
            return
        try:
            self._listeners.watch(self._selector, LISTENER_TOKEN)
        except error:
            self._state.log(
                Text().add(error).add("; the server cannot accept").end()
            )

    def _stop_watching(mut self):
        try:
            self._listeners.unwatch(self._selector)
        except error:
            self._state.log(String(error))

    def _on_stop_request(mut self):
        """Drains at the first request to stop, ends at the second."""
        var count = self._stop.take()
        for _ in range(count):
            if self._state.is_draining:
                self._drain_end_ms = self._state.now_ms
            else:
                self._begin_drain()

    def _on_order(mut self):
        """Serves the sockets of workers that are down, or no longer."""
        while self._master:
            var order = self._master.held().take()
            if not order:
                return
            var index = order.held().index
            var socket = order.take().take_socket()
            # Who leaves closes what it gets.
            if self._state.is_draining:
                continue
            try:
                if socket.is_open():
                    self._listeners.adopt(
                        index, socket^, self._selector, LISTENER_TOKEN
                    )
                else:
                    self._listeners.give_back(index, self._selector)
            except error:
                self._state.log(
                    Text().add(error).add("; others serve that socket").end()
                )

    def _on_orphaned(mut self):
        """Finishes what it can in the little time that is left."""
        try:
            self._selector.deregister(self._stop.lifeline_fd)
            if self._master:
                self._selector.deregister(self._master.held().fd())
        except error:
            self._state.log(String(error))
        if not self._state.is_draining:
            self._begin_drain()
        self._drain_end_ms = min(
            self._drain_end_ms, self._state.now_ms + _ORPHAN_DRAIN_MS
        )
        _ = self._wheel.insert(self._drain_end_ms, LISTENER_TOKEN)

    def _begin_drain(mut self):
        # What waits in the kernel came before the request to stop.
        self._accept(self._state.config.max_connections)
        self._state.begin_drain()
        if self._master:
            self._master.held().tell(NEWS_LEAVING)
        self._drain_end_ms = (
            self._state.now_ms + self._state.config.shutdown_timeout_ms
        )
        self._stop_watching()
        self._listeners.close()
        _ = self._wheel.insert(self._drain_end_ms, LISTENER_TOKEN)
        for slot in range(self._table.slot_count()):
            if self._table.at(slot).socket.is_open():
                self._carry_out(
                    slot, begin_drain(self._table.at(slot), self._state)
                )

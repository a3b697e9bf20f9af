"""The worker processes of a master: made, replaced, stopped, reaped."""

from flare.bytes.checked import *
from flare.bytes.never import NEVER
from flare.net.raw_socket import RawSocket
from flare.runtime.prefork.config import Jitter, PreforkConfig, RestartBudget
from flare.runtime.prefork.orders import NEWS_READY, OrderSender
from flare.runtime.prefork.program import AnyPreforkHooks, AnyPreforkProgram
from flare.runtime.prefork.roster import (
    ListenerShare,
    WorkerProcess,
    WorkerRoster,
    WorkerSlot,
)
from flare.runtime.prefork.spawner import SpawnRequest, Spawner
from flare.runtime.stats_board import (
    BANK_LEN,
    STAT_PROCESS,
    STAT_REQUESTS,
    STAT_RESTARTS,
    SharedStats,
)
from flare.runtime.worker_count import WORKER_COUNT_MAX
from flare.sys.clock import monotonic_ns
from flare.sys.descriptor import Descriptor
from flare.sys.log import log_line
from flare.sys.process import ExitStatus, resident_len
from flare.sys.signal import process_id
from std.memory import ArcPointer

comptime _SPAWN_RETRY_MS = 200
# After a fork that failed, and while both rows of a worker are in use.


struct WorkerPool(Movable):
    """All workers, by number, and the processes that are leaving."""

    var spawner: Spawner
    var listeners: ListenerShare
    var roster: WorkerRoster
    var now_ms: Int
    """The time of this round of the master's loop."""
    var is_stopping: Bool
    """True if all are to end."""
    var failure: String
    """Why all are to end, if not by request."""
    var _config: PreforkConfig
    var _board: ArcPointer[SharedStats]
    var _to_replace: List[Int]
    var _budget: RestartBudget
    var _jitter: Jitter

    def __init__(
        out self,
        config: PreforkConfig,
        var listeners: List[RawSocket],
        board: ArcPointer[SharedStats],
        var program: AnyPreforkProgram,
        var hooks: AnyPreforkHooks,
    ) raises:
        """Makes a pool without processes. Raises if the process has no more
        descriptors."""
        self.spawner = Spawner(program^, hooks^)
        self.listeners = ListenerShare(listeners^, config.reuseport)
        self.listeners.provide(config.workers)
        self.now_ms = 0
        self.is_stopping = False
        self.failure = String()
        self._config = config.copy()
        self._board = board.copy()
        self.roster = WorkerRoster(config.workers)
        self._to_replace = []
        self._budget = RestartBudget()
        self._jitter = Jitter(
            UInt64(monotonic_ns()) ^ UInt64(process_id() << 32)
        )

    def is_over(self) -> Bool:
        """Tells whether all have ended as they should, and nothing is left to
        watch."""
        return self.is_stopping and len(self.roster.process_ids()) == 0

    def are_all_ready(self) -> Bool:
        """Tells whether every worker works: none is starting or waits to be
        restarted."""
        return not self.is_stopping and self.roster.are_all_ready()

    def announce(mut self):
        """Tells the hooks that all workers are ready."""
        self.spawner.hooks.on_master_ready(self.roster.worker_count)

    def fill(mut self):
        """Makes the processes that are due."""
        if self.is_stopping:
            return
        for index in range(self.roster.worker_count):
            if self.roster.slots.at(index).process or self.now_ms < (
                self.roster.slots.at(index).restart_ms
            ):
                continue
            var process = self._spawn(index)
            if process:
                process.held().is_successor = (
                    self.roster.slots.at(index).crash_count > 0
                )
                self.roster.slots.at(index).process = process^
            else:
                self.roster.slots.at(index).restart_ms = (
                    self.now_ms + _SPAWN_RETRY_MS
                )

    def _spawn(mut self, index: Int) -> Optional[WorkerProcess]:
        """Makes a process for a worker; nothing if that is not possible now."""
        var row = index
        if self.roster.is_row_used(row):
            row += BANK_LEN
        if self.roster.is_row_used(row):
            return None
        var process_id: Int
        var line: Descriptor
        try:
            var spawned = self.spawner.spawn(
                SpawnRequest(index, row),
                self.listeners,
                self.listeners.of(index, self.roster.worker_count),
                self.roster.line_numbers(),
            )
            process_id = spawned.process_id
            line = spawned.take_line()
        except error:
            log_line(String("worker ", index, " cannot be started: ", error))
            return None
        var kill_ms = self.now_ms + self._config.start_timeout_ms
        var process = WorkerProcess(
            process_id, row, self.now_ms, kill_ms, OrderSender(line^)
        )
        var percent = self._config.recycle_jitter_percent
        process.requests_max = self._jitter.raised(
            self._config.requests_max, percent
        )
        process.memory_max = self._jitter.raised(
            self._config.memory_max, percent
        )
        self._board[].set(row, STAT_PROCESS, process_id)
        self.spawner.hooks.on_child_spawned(index, process_id)
        return process^

    def note_news(mut self):
        """Does what follows when workers become ready, or leave."""
        for news in self.spawner.take_news():
            for index in range(len(self.roster.slots)):
                if news.kind == NEWS_READY:
                    self._note_ready(index, news.process_id)
                else:
                    self._note_leaving(index, news.process_id)

    def lend_sockets(mut self):
        """Has others serve the sockets of workers that are down."""
        if self.is_stopping or self.listeners.is_shared:
            return
        var lent = List[Int]()
        var count = self.roster.worker_count
        for index in range(count):
            if self.roster.is_down(index):
                lent.extend(self.listeners.of(index, count))
        for index in range(count):
            ref slot = self.roster.slots.at(index)
            if slot.process and slot.process.held().is_ready:
                slot.process.held().orders.lend(lent, self.listeners.sockets)

    def _note_leaving(mut self, index: Int, process_id: Int):
        """Replaces a worker that somebody else has told to go."""
        ref slot = self.roster.slots.at(index)
        if self.is_stopping or not slot.process:
            return
        if slot.process.held().process_id != process_id:
            return
        log_line(
            String(
                "worker ",
                index,
                " (pid ",
                process_id,
                ") was told to stop by a stranger; it is replaced",
            )
        )
        self.roster.let_go(index, self.now_ms + self._config.grace_ms)
        self.roster.slots.at(index).restart_ms = self.now_ms

    def _note_ready(mut self, index: Int, process_id: Int):
        ref slot = self.roster.slots.at(index)
        if slot.next and slot.next.held().process_id == process_id:
            # The new one accepts: now the old one may go.
            var next = slot.next.take()
            self._leave(index)
            self.roster.slots.at(index).process = next^
        if self.roster.slots.at(index).process:
            ref process = self.roster.slots.at(index).process.held()
            if process.process_id == process_id:
                process.is_ready = True
                self._budget.note_start(is_ready=True)
                self.roster.slots[index].has_worked = True
                process.kill_ms = NEVER
                if process.is_successor:
                    process.is_successor = False
                    self.spawner.hooks.on_child_recovered(index, process_id)

    def _leave(mut self, index: Int):
        self.roster.leave(index, self.now_ms + self._config.grace_ms)

    def replace_all(mut self):
        """Replaces all processes, one after the other."""
        self._to_replace.clear()
        for index in range(self.roster.worker_count):
            self._to_replace.append(index)

    def recycle(mut self):
        """Has those replaced that have done or grown enough."""
        for index in range(self.roster.worker_count):
            if (
                not self.roster.slots.at(index).process
                or index in self._to_replace
            ):
                continue
            ref process = self.roster.slots.at(index).process.held()
            if not process.is_ready:
                continue
            var requests = self._board[].get(process.row, STAT_REQUESTS)
            var is_due = (
                process.requests_max > 0 and requests >= process.requests_max
            )
            if not is_due and process.memory_max > 0:
                is_due = resident_len(process.process_id) > process.memory_max
            if is_due:
                self._to_replace.append(index)

    def go_on(mut self):
        """Makes processes that are due and goes on with replacements."""
        self.fill()
        if self.is_stopping:
            return
        for index in range(len(self.roster.slots)):
            if self.roster.slots.at(index).next:
                return
        while len(self._to_replace) > 0:
            var index = self._to_replace.pop(0)
            # A worker that waits for its restart gets a new process anyway.
            if (
                index >= self.roster.worker_count
                or not self.roster.slots.at(index).process
            ):
                continue
            var next = self._spawn(index)
            if next:
                self.roster.slots.at(index).next = next^
            else:
                self._to_replace.append(index)
            return
        for index in range(self.roster.worker_count, len(self.roster.slots)):
            self._leave(index)

    def grow(mut self):
        if self.roster.worker_count == WORKER_COUNT_MAX:
            log_line(String("there are ", WORKER_COUNT_MAX, " workers already"))
            return
        try:
            self.listeners.provide(self.roster.worker_count + 1)
        except error:
            log_line(String("no worker is added: ", error))
            return
        self.roster.worker_count += 1
        if len(self.roster.slots) < self.roster.worker_count:
            self.roster.slots.append(WorkerSlot())

    def shrink(mut self):
        """Takes the last worker away, when others have its connections."""
        if self.roster.worker_count == 1:
            log_line("the last worker stays")
            return
        self.roster.worker_count -= 1
        for heir in self.listeners.heirs(self.roster.worker_count):
            if heir not in self._to_replace:
                self._to_replace.append(heir)

    def stop(mut self):
        """Lets all finish and go."""
        self.is_stopping = True
        # Workers close theirs when they have accepted what waits there; a
        # queue that nobody looks at must not take more.
        self.listeners.sockets.clear()
        self.roster.leave_all(self.now_ms + self._config.grace_ms)

    def end_at_once(mut self):
        """Ends all that have been told to go, whatever they do."""
        self.roster.kill_all()

    def note_end(mut self, status: ExitStatus) -> Bool:
        """Does what follows when a process has ended; False if it was none of
        the workers."""
        for index in range(len(self.roster.leaving)):
            if self.roster.leaving.at(index).process_id == status.process_id:
                var gone = self.roster.leaving.pop(index)
                self._board[].carry_over(gone.row)
                if not status.is_clean() and not self.is_stopping:
                    log_line(String(gone.process_id, ", told to go, ", status))
                return True
        for index in range(len(self.roster.slots)):
            ref slot = self.roster.slots.at(index)
            if slot.next and slot.next.held().process_id == status.process_id:
                var gone = slot.next.take()
                self._board[].carry_over(gone.row)
                self._give_up_replacing()
                log_line(
                    String(
                        gone.exit_summary(index, status, self._age_ms(gone)),
                        " before it was ready; the old process goes on",
                    )
                )
                return True
            if (
                slot.process
                and slot.process.held().process_id == status.process_id
            ):
                self._note_crash(index, status)
                return True
        return False

    def _give_up_replacing(mut self):
        """Leaves all as it is: whoever was to go stays, for nobody has taken
        its listening socket over."""
        self._to_replace.clear()
        for index in range(len(self.roster.slots)):
            if self.roster.slots.at(index).process:
                self.roster.worker_count = max(
                    self.roster.worker_count, index + 1
                )

    def _note_crash(mut self, index: Int, status: ExitStatus):
        """Plans the restart of a worker, or gives up."""
        var process = self.roster.slots.at(index).process.take()
        self._board[].carry_over(process.row)
        if index >= self.roster.worker_count:
            return
        var lived_ms = self._age_ms(process)
        if not process.is_ready:
            self._budget.note_start(is_ready=False)
        ref slot = self.roster.slots.at(index)
        if lived_ms >= self._config.restart.settle_ms:
            slot.crash_count = 0
        slot.crash_count += 1
        self._board[].add(index, STAT_RESTARTS, 1)
        var line = process.exit_summary(index, status, lived_ms)
        var policy = self._config.restart.copy()
        var count = self._budget.note(policy, self.now_ms)
        var is_alone = not self.roster.has_process()
        var is_over_budget = count > policy.restarts_max
        if is_over_budget or (is_alone and self._budget.is_hopeless(policy)):
            line.write("; that is ")
            if is_over_budget:
                line.write("crash ", count, " within ", policy.window_ms, " ms")
            else:
                line.write("one more start in a row that came to nothing")
            line.write(" and ", policy.restarts_max, " are allowed: giving up")
            log_line(line)
            self.failure = line^
            self.stop()
            return
        line.write("; crash ", count, " of ", policy.restarts_max)
        line.write(" within ", policy.window_ms, " ms; starting again")
        if self.roster.slots.at(index).next:
            var next = self.roster.slots.at(index).next.take()
            next.is_successor = True
            line.write(" already as pid ", next.process_id)
            self.roster.slots.at(index).process = next^
        else:
            var crash_count = self.roster.slots.at(index).crash_count
            var delay_ms = self._budget.delay_ms(
                policy,
                crash_count,
                self._jitter.next(),
                is_alone=is_alone,
            )
            self.roster.slots.at(index).restart_ms = self.now_ms + delay_ms
            line.write(" in ", delay_ms, " ms")
        log_line(line)

    def _age_ms(self, process: WorkerProcess) -> Int:
        return self.now_ms - process.started_ms

    def next_deadline_ms(self) -> Int:
        """Tells when something is due first, or `NEVER`."""
        var deadline = self.roster.next_deadline_ms(not self.is_stopping)
        if len(self._to_replace) > 0:
            deadline = min(deadline, self.now_ms + _SPAWN_RETRY_MS)
        return deadline

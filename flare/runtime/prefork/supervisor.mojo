"""The master's loop: what it does with signals, ends and deadlines."""

from flare.net.raw_socket import RawSocket
from flare.runtime.prefork.config import PreforkConfig
from flare.runtime.prefork.pool import WorkerPool
from flare.runtime.prefork.program import PreforkHooks, PreforkProgram
from flare.runtime.prefork.roster import NEVER_MS, signal_process
from flare.runtime.prefork.upgrade import (
    Upgrade,
    program_path,
    start_upgrade,
    tell_old_program,
)
from flare.runtime.service_manager import ServiceManager
from flare.runtime.stats_board import SharedStats
from flare.runtime.event import Waker
from flare.sys.clock import monotonic_ms
from flare.sys.log import log_line
from flare.sys.poll import POLL_READ, PollEntry, poll_descriptors
from flare.sys.process import ANY_CHILD, ExitStatus, reap
from flare.sys.signal import (
    MASTER_SIGNALS,
    SIGHUP,
    SIGINT,
    SIGKILL,
    SIGTERM,
    SIGTTIN,
    SIGTTOU,
    SIGUSR2,
    SignalPipe,
    process_id,
)
from std.memory import ArcPointer

comptime _TICK_MS = 1_000
# How often requests and memory of workers are looked at.

comptime _WAIT_MAX_MS = 60_000


struct Supervisor[P: PreforkProgram, K: PreforkHooks](Movable):
    """The master of a program with worker processes.

    Parameters:
        P: The program's type.
        K: The hooks' type.
    """

    var _config: PreforkConfig
    var _pool: WorkerPool[Self.P, Self.K]
    var _manager: ServiceManager
    var _waker: Waker
    var _upgrade: Optional[Upgrade]
    var _program_path: String
    var _is_announced: Bool
    var _is_told_to_stop: Bool
    var _tick_ms: Int
    var _watchdog_ms: Int

    def __init__(
        out self,
        config: PreforkConfig,
        var listeners: List[RawSocket],
        board: ArcPointer[SharedStats],
        var waker: Waker,
        var program: Self.P,
        var hooks: Self.K,
    ) raises:
        """Makes a master without workers.

        Args:
            config: How many workers, and how they are treated.
            listeners: For the workers.
            board: The figures.
            waker: Stops all, as SIGTERM does.
            program: What workers do.
            hooks: Told of what happens.

        Raises:
            Error: If the process has no more descriptors.
        """
        self._config = config.copy()
        self._pool = WorkerPool(
            config, listeners^, board.copy(), program^, hooks^
        )
        self._manager = ServiceManager()
        if config.notifies_manager:
            self._manager = ServiceManager.from_environment()
        self._waker = waker^
        self._upgrade = None
        self._program_path = program_path()
        self._is_announced = False
        self._is_told_to_stop = False
        self._tick_ms = NEVER_MS
        self._watchdog_ms = NEVER_MS

    def run(mut self) raises:
        """Makes the workers and watches them until all have ended.

        Raises:
            Error: If workers crash too often.
        """
        var signals = List[Int]()
        for signal in materialize[MASTER_SIGNALS]():
            signals.append(signal)
        var bell = SignalPipe(signals)
        self._pool.nursery.masters_own = bell.descriptors()
        self._pool.now_ms = monotonic_ms()
        if self._config.requests_max > 0 or self._config.memory_max > 0:
            self._tick_ms = self._pool.now_ms
        if self._manager.watchdog_ms > 0:
            self._watchdog_ms = self._pool.now_ms
        self._pool.fill()
        while not self._pool.is_over() or self._upgrade:
            self._wait(bell.fd())
            self._pool.now_ms = monotonic_ms()
            for signal in bell.take():
                self._on_signal(signal)
            for _ in range(self._waker.drain()):
                self._on_signal(SIGTERM)
            self._pool.note_news()
            self._on_upgrade()
            self._reap()
            self._pool.roster.kill_late(self._pool.now_ms)
            self._pool.go_on()
            self._pool.lend_sockets()
            self._announce()
            self._on_clock()
        if self._pool.failure.byte_length() > 0:
            raise Error(self._pool.failure)

    def _wait(self, bell_number: Int32):
        var deadline = min(self._pool.next_deadline_ms(), self._tick_ms)
        deadline = min(deadline, self._watchdog_ms)
        var upgrade_number = Int32(-1)
        if self._upgrade:
            deadline = min(deadline, self._upgrade.value().deadline_ms)
            upgrade_number = self._upgrade.value().pipe.reading_fd()
        var entries = Array[PollEntry, 4](
            fill=PollEntry(bell_number, POLL_READ, 0)
        )
        entries[1].number = self._pool.nursery.status_fd()
        entries[2].number = upgrade_number
        entries[3].number = self._waker.fd()
        var wait_ms = max(0, min(deadline - monotonic_ms(), _WAIT_MAX_MS))
        _ = poll_descriptors(Span(entries), wait_ms)

    def _on_signal(mut self, signal: Int):
        if signal == SIGTERM or signal == SIGINT:
            self._on_order_to_stop()
        elif signal == SIGHUP:
            self._renew()
            self._pool.replace_all()
        elif signal == SIGUSR2:
            self._begin_upgrade()
        elif signal == SIGTTIN:
            self._pool.grow()
        elif signal == SIGTTOU:
            self._pool.shrink()

    def _on_order_to_stop(mut self):
        """Stops all in good order; the second such order ends all at once.

        Only orders count: a program that stops because its successor is ready
        finishes what is under way when it is told to stop, too.
        """
        if self._is_told_to_stop:
            self._pool.end_at_once()
            if self._upgrade:
                signal_process(self._upgrade.value().process_id, SIGKILL)
            return
        self._is_told_to_stop = True
        self._manager.tell("STOPPING=1")
        self._pool.stop()
        if self._upgrade:
            ref upgrade = self._upgrade.value()
            upgrade.deadline_ms = min(
                upgrade.deadline_ms, self._pool.now_ms + self._config.grace_ms
            )

    def _renew(mut self):
        try:
            self._pool.nursery.renew_program()
        except error:
            log_line(
                String("SIGHUP: ", error, "; the program goes on as it was")
            )

    def _reap(mut self):
        """Takes the statuses of processes that have ended."""
        if process_id() == 1:
            # The first process of a system or a container inherits orphans,
            # and nobody else will reap them.
            while True:
                var status = _reap_one(ANY_CHILD)
                if not status:
                    return
                self._note_end(status.value())
        var ids = self._pool.roster.process_ids()
        if self._upgrade:
            ids.append(self._upgrade.value().process_id)
        for id in ids:
            var status = _reap_one(id)
            if status:
                self._note_end(status.value())

    def _note_end(mut self, status: ExitStatus):
        if self._upgrade and (
            self._upgrade.value().process_id == status.process_id
        ):
            self._upgrade = None
            if not self._pool.is_stopping:
                log_line(
                    String(
                        "the new program (pid ",
                        status.process_id,
                        ") ",
                        status,
                        " before it was ready; the old one goes on",
                    )
                )
            return
        _ = self._pool.note_end(status)

    def _begin_upgrade(mut self):
        """Executes the program's file in a new process."""
        if not self._config.inherits_listeners:
            log_line(
                "SIGUSR2: this program does not hand its listeners over;"
                " see ServerConfig.inherits_listeners"
            )
            return
        if process_id() == 1:
            log_line(
                "SIGUSR2: the first process of a container cannot be replaced,"
                " for all others end with it; start a new container"
            )
            return
        if self._upgrade or self._pool.is_stopping:
            log_line("SIGUSR2: an upgrade or a stop is under way")
            return
        try:
            self._upgrade = start_upgrade(
                self._program_path,
                self._pool.listeners.fds(),
                self._pool.now_ms + self._config.upgrade_timeout_ms,
            )
        except error:
            log_line(String("SIGUSR2: ", error))

    def _on_upgrade(mut self):
        """Stops when the new program is ready; kills it when it is late."""
        if not self._upgrade:
            return
        ref upgrade = self._upgrade.value()
        var new_id = upgrade.process_id
        if upgrade.pipe.drain() > 0:
            log_line(String("the new program (pid ", new_id, ") is ready"))
            if self._is_told_to_stop:
                # What was stopped must not come back by itself. It is told no
                # sooner: with a signal to the whole group that would be its
                # second order.
                signal_process(new_id, SIGTERM)
                return
            self._upgrade = None
            # A manager believes the process that it knows, until that ends.
            self._manager.tell(String("MAINPID=", new_id))
            self._pool.stop()
        elif self._pool.now_ms >= upgrade.deadline_ms:
            upgrade.deadline_ms = NEVER_MS
            signal_process(upgrade.process_id, SIGKILL)

    def _announce(mut self):
        """Says once that all workers are ready."""
        if self._is_announced or not self._pool.are_all_ready():
            return
        self._is_announced = True
        self._pool.announce()
        self._manager.tell(String("READY=1\nMAINPID=", process_id()))
        if self._config.inherits_listeners:
            try:
                tell_old_program()
            except error:
                log_line(String(error))

    def _on_clock(mut self):
        if self._pool.now_ms >= self._tick_ms:
            self._tick_ms = self._pool.now_ms + _TICK_MS
            self._pool.recycle()
            self._pool.go_on()
        if self._pool.now_ms >= self._watchdog_ms:
            self._watchdog_ms = self._pool.now_ms + self._manager.watchdog_ms
            self._manager.tell("WATCHDOG=1")


def _reap_one(id: Int) -> Optional[ExitStatus]:
    try:
        return reap(id)
    except error:
        if id == ANY_CHILD:
            return None
        # Somebody else has taken its status: it has ended all the same.
        return ExitStatus(id, 0, 0)

"""The master process: signals, orders, upgrades of the program."""

from flare.bytes.checked import *
from flare.bytes.never import NEVER
from flare.net.raw_socket import RawSocket
from flare.runtime.event import Waker
from flare.runtime.prefork.config import PreforkConfig
from flare.runtime.prefork.pool import WorkerPool
from flare.runtime.prefork.program import AnyPreforkHooks, AnyPreforkProgram
from flare.runtime.prefork.roster import signal_process
from flare.runtime.service_manager import FIRST_INHERITED, ServiceManager
from flare.runtime.stats_board import SharedStats
from flare.sys.clock import monotonic_ms
from flare.sys.descriptor import (
    Descriptor,
    Pipe,
    duplicate_from,
    duplicate_to,
    notify_pipe,
)
from flare.sys.environment import environment_texts, environment_value
from flare.sys.errno import OsError
from flare.sys.log import log_line
from flare.sys.poll import POLL_READ, PollEntry, poll_descriptors
from flare.sys.process import (
    ANY_CHILD,
    CStrings,
    ExitStatus,
    end_process,
    executable_path,
    flush_output,
    fork_process,
    reap,
)
from flare.sys.signal import (
    MASTER_SIGNALS,
    SIGHUP,
    SIGINT,
    SIGKILL,
    SIGTERM,
    SIGTTIN,
    SIGTTOU,
    SIGUSR2,
    SignalPause,
    SignalPipe,
    process_id,
    restore_default,
)
from std.memory import ArcPointer
from std.sys import argv

comptime _TICK_MS = 1_000
# How often requests and memory of workers are looked at.

comptime _WAIT_MAX_MS = 60_000


struct Supervisor(Movable):
    """The master of a program with worker processes."""

    var _config: PreforkConfig
    var _pool: WorkerPool
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
        var program: AnyPreforkProgram,
        var hooks: AnyPreforkHooks,
    ) raises:
        """Makes a master without workers; the waker stops all, as SIGTERM does.
        Raises if the process has no more descriptors."""
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
        self._tick_ms = NEVER
        self._watchdog_ms = NEVER

    def run(mut self) raises:
        """Makes the workers and watches them until all have ended. Raises if
        workers crash too often."""
        var signals = List[Int]()
        for signal in materialize[MASTER_SIGNALS]():
            signals.append(signal)
        var bell = SignalPipe(signals)
        self._pool.spawner.masters_own = bell.descriptors()
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
            deadline = min(deadline, self._upgrade.held().deadline_ms)
            upgrade_number = self._upgrade.held().pipe.reading_fd()
        var entries = Array[PollEntry, 4](
            fill=PollEntry(bell_number, POLL_READ, 0)
        )
        entries[1].number = self._pool.spawner.status_fd()
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
                signal_process(self._upgrade.held().process_id, SIGKILL)
            return
        self._is_told_to_stop = True
        self._manager.tell("STOPPING=1")
        self._pool.stop()
        if self._upgrade:
            ref upgrade = self._upgrade.held()
            upgrade.deadline_ms = min(
                upgrade.deadline_ms, self._pool.now_ms + self._config.grace_ms
            )

    def _renew(mut self):
        try:
            self._pool.spawner.renew_program()
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
                self._note_end(status.held())
        var ids = self._pool.roster.process_ids()
        if self._upgrade:
            ids.append(self._upgrade.held().process_id)
        for id in ids:
            var status = _reap_one(id)
            if status:
                self._note_end(status.held())

    def _note_end(mut self, status: ExitStatus):
        if self._upgrade and (
            self._upgrade.held().process_id == status.process_id
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
        ref upgrade = self._upgrade.held()
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
            upgrade.deadline_ms = NEVER
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


comptime READY_VARIABLE = "FLARE_UPGRADE_FD"
"""Names the descriptor of the pipe in the new program's environment."""

comptime _EXEC_FAILED = 127
# What shells exit with when a program cannot be executed.


@fieldwise_init
struct Upgrade(Movable):
    """A new program that is not ready yet, seen from the old one."""

    var process_id: Int
    var deadline_ms: Int
    """When it must be ready."""
    var pipe: Pipe
    """Rings when it is."""


def program_path() -> String:
    """Finds the file of the running program, before it is replaced, or how it
    was called if the system does not tell."""
    var path = executable_path()
    return path if path.byte_length() > 0 else String(argv().at(0))


def start_upgrade(
    path: String, listeners: List[Int32], deadline_ms: Int
) raises OsError -> Upgrade:
    """Executes a program, with the arguments of this one, in a new process that
    takes listeners over, and must be ready by a deadline. Raises if the system
    has no more processes or descriptors."""
    var pipe = Pipe()
    flush_output()
    var pause = SignalPause()
    var child_id = fork_process()
    if child_id == 0:
        try:
            _become_program(path, listeners, pipe.writing_fd(), pause^)
        except error:
            log_line(String(path, ": ", error))
        end_process(_EXEC_FAILED)
    else:
        pause^.end()
    return Upgrade(child_id, deadline_ms, pipe^)


def _become_program(
    path: String,
    listeners: List[Int32],
    ready_number: Int32,
    var pause: SignalPause,
) raises OsError:
    # The mask outlives exec, so it ends here; handlers would ring the old
    # program's bell.
    for signal in materialize[MASTER_SIGNALS]():
        restore_default(signal)
    pause^.end()
    # The copies lie above all numbers that are filled from them.
    var lowest = Int32(FIRST_INHERITED + len(listeners) + 1)
    var kept = List[Descriptor]()
    for number in listeners:
        kept.append(duplicate_from(number, lowest))
    kept.append(duplicate_from(ready_number, lowest))
    for index in range(len(kept)):
        duplicate_to(kept.at(index).fd(), Int32(FIRST_INHERITED + index))
    var arguments = List[String]()
    for index in range(len(argv())):
        arguments.append(String(argv().at(index)))
    arguments.at(0) = path
    CStrings(arguments).execute(CStrings(_environment(len(listeners))))


def _environment(listener_count: Int) -> List[String]:
    """Copies the environment, with our variables in place of old ones."""
    var texts = List[String]()
    for text in environment_texts():
        if not (
            text.startswith("LISTEN_FDS=")
            or text.startswith("LISTEN_PID=")
            or text.startswith("LISTEN_FDNAMES=")
            or text.startswith(READY_VARIABLE + "=")
        ):
            texts.append(text)
    texts.append(String("LISTEN_FDS=", listener_count))
    texts.append(String("LISTEN_PID=", process_id()))
    texts.append(String(READY_VARIABLE, "=", FIRST_INHERITED + listener_count))
    return texts^


def tell_old_program() raises:
    """Tells the program that started this one by `become_program`, if any, that
    this one is ready. Raises if the environment makes no sense."""
    var text = environment_value(READY_VARIABLE)
    if environment_value("LISTEN_PID") != String(process_id()):
        return
    if text.byte_length() == 0:
        return
    var ready = Descriptor(owned=Int32(atol(text)))
    notify_pipe(ready.fd())
    ready.close()

"""The worker processes there are, and which socket goes to whom."""

from flare.bytes.checked import *
from flare.bytes.never import NEVER
from flare.net.error import AddressInUse
from flare.net.raw_socket import RawSocket, share_port
from flare.runtime.prefork.orders import OrderSender
from flare.runtime.stats_board import BANK_LEN
from flare.sys.log import log_line
from flare.sys.platform import IS_MACOS
from flare.sys.process import ExitStatus
from flare.sys.signal import SIGKILL, SIGTERM, send_signal


def signal_process(process_id: Int, signal: Int):
    """Sends a signal to a child that has not been reaped, and may have ended."""
    try:
        send_signal(process_id, signal)
    except error:
        log_line(String("process ", process_id, ": ", error))


struct WorkerProcess(Movable):
    """One process of a worker, seen from the master."""

    var process_id: Int
    var row: Int
    """Its row on the board."""
    var started_ms: Int
    var is_ready: Bool
    var is_successor: Bool
    """True if it follows one that crashed."""
    var kill_ms: Int
    """When it is killed unless it has become ready, or has ended."""
    var requests_max: Int
    """Requests after which it is replaced; 0 for never."""
    var memory_max: Int
    """Bytes of memory beyond which it is replaced; 0 for never."""
    var orders: OrderSender
    """What it is told through."""

    def __init__(
        out self,
        process_id: Int,
        row: Int,
        started_ms: Int,
        kill_ms: Int,
        var orders: OrderSender,
    ):
        """Notes a new process with a row on the board, which is killed at
        `kill_ms` unless it is ready."""
        self.process_id = process_id
        self.row = row
        self.started_ms = started_ms
        self.is_ready = False
        self.is_successor = False
        self.kill_ms = kill_ms
        self.requests_max = 0
        self.memory_max = 0
        self.orders = orders^

    def exit_summary(
        self, worker: Int, status: ExitStatus, lived_ms: Int
    ) -> String:
        """Says how the process ended, as in `worker 2 (pid 77) was killed by
        signal 9 (SIGKILL) after 3.2 s`."""
        var line = String("worker ", worker, " (pid ", self.process_id, ") ")
        line.write(status, " after ", lived_ms // 1_000, ".")
        line.write((lived_ms % 1_000) // 100, " s")
        return line^


struct WorkerSlot(Movable):
    """One worker: its process, and the one that is to follow."""

    var process: Optional[WorkerProcess]
    var next: Optional[WorkerProcess]
    """The process that replaces it when it is ready."""
    var crash_count: Int
    """Crashes in a row."""
    var restart_ms: Int
    """When a new process is made; only counts without one."""
    var has_worked: Bool
    """True if a process of it was ready once."""

    def __init__(out self):
        """Makes a worker without a process, to be started at once."""
        self.process = None
        self.next = None
        self.crash_count = 0
        self.restart_ms = 0
        self.has_worked = False

    def uses_row(self, row: Int) -> Bool:
        if self.process and self.process.held().row == row:
            return True
        return Bool(self.next) and self.next.held().row == row


struct WorkerRoster(Movable):
    """All workers by number, and the processes that have been told to go."""

    var slots: List[WorkerSlot]
    """The workers; those from `worker_count` on are to go."""
    var worker_count: Int
    var leaving: List[WorkerProcess]
    """Processes that finish what they do."""

    def __init__(out self, worker_count: Int):
        self.slots = []
        for _ in range(worker_count):
            self.slots.append(WorkerSlot())
        self.worker_count = worker_count
        self.leaving = []

    def are_all_ready(self) -> Bool:
        """Tells whether every worker works: none is starting or waits to be
        restarted."""
        for index in range(self.worker_count):
            ref slot = self.slots.at(index)
            if not slot.process or not slot.process.held().is_ready:
                return False
        return True

    def has_process(self) -> Bool:
        """Tells whether any worker has a process that works or starts, and does
        not only finish what it does."""
        for index in range(len(self.slots)):
            ref slot = self.slots.at(index)
            if Bool(slot.process) or Bool(slot.next):
                return True
        return False

    def process_ids(self) -> List[Int]:
        """Lists the worker processes that have not been reaped."""
        var ids = List[Int]()
        for index in range(len(self.slots)):
            ref slot = self.slots.at(index)
            if slot.process:
                ids.append(slot.process.held().process_id)
            if slot.next:
                ids.append(slot.next.held().process_id)
        for index in range(len(self.leaving)):
            ids.append(self.leaving.at(index).process_id)
        return ids^

    def line_numbers(self) -> List[Int32]:
        """Lends the master's ends of the lines to worker processes, good until
        one of the processes is forgotten."""
        var numbers = List[Int32]()
        for index in range(len(self.slots)):
            ref slot = self.slots.at(index)
            if slot.process:
                numbers.append(slot.process.held().orders.fd())
            if slot.next:
                numbers.append(slot.next.held().orders.fd())
        for index in range(len(self.leaving)):
            numbers.append(self.leaving.at(index).orders.fd())
        return numbers^

    def is_down(self, index: Int) -> Bool:
        """Tells whether a worker that has worked does not at the moment."""
        ref slot = self.slots.at(index)
        if not slot.has_worked:
            return False
        return not slot.process or not slot.process.held().is_ready

    def let_go(mut self, index: Int, kill_ms: Int):
        """Notes that a worker's process, which it has, finishes and goes by
        itself, or is killed at `kill_ms`."""
        var process = self.slots.at(index).process.take()
        process.kill_ms = kill_ms
        self.leaving.append(process^)
        if self.slots.at(index).next:
            self.slots.at(index).process = self.slots.at(index).next.take()

    def is_row_used(self, row: Int) -> Bool:
        for index in range(len(self.leaving)):
            if self.leaving.at(index).row == row:
                return True
        return self.slots.at(row % BANK_LEN).uses_row(row)

    def leave(mut self, index: Int, kill_ms: Int):
        """Tells a worker's process to finish and go, if there is one."""
        if self.slots.at(index).process:
            self._send_off(self.slots.at(index).process.take(), kill_ms)

    def leave_all(mut self, kill_ms: Int):
        """Tells all processes to finish and go."""
        for index in range(len(self.slots)):
            if self.slots.at(index).next:
                self._send_off(self.slots.at(index).next.take(), kill_ms)
            self.leave(index, kill_ms)

    def _send_off(mut self, var process: WorkerProcess, kill_ms: Int):
        signal_process(process.process_id, SIGTERM)
        process.kill_ms = kill_ms
        self.leaving.append(process^)

    def kill_all(mut self):
        """Ends those that have been told to go at once."""
        for index in range(len(self.leaving)):
            signal_process(self.leaving.at(index).process_id, SIGKILL)

    def kill_late(mut self, now_ms: Int):
        """Kills processes that take too long."""
        for index in range(len(self.slots)):
            if self.slots.at(index).process:
                _check(self.slots.at(index).process.held(), now_ms, "to start")
            if self.slots.at(index).next:
                _check(self.slots.at(index).next.held(), now_ms, "to start")
        for index in range(len(self.leaving)):
            _check(self.leaving.at(index), now_ms, "to finish")

    def next_deadline_ms(self, restarts: Bool) -> Int:
        """Tells when a process is to be made, if it `restarts`, or killed; or
        `NEVER`."""
        var deadline = NEVER
        for index in range(len(self.slots)):
            ref slot = self.slots.at(index)
            if slot.process:
                deadline = min(deadline, slot.process.held().kill_ms)
            elif index < self.worker_count and restarts:
                deadline = min(deadline, slot.restart_ms)
            if slot.next:
                deadline = min(deadline, slot.next.held().kill_ms)
        for index in range(len(self.leaving)):
            deadline = min(deadline, self.leaving.at(index).kill_ms)
        return deadline


def _check(mut process: WorkerProcess, now_ms: Int, what: StringSpan):
    if now_ms < process.kill_ms:
        return
    process.kill_ms = NEVER
    log_line(
        String(
            "process ",
            process.process_id,
            " took too long ",
            what,
            " and is killed",
        )
    )
    signal_process(process.process_id, SIGKILL)


struct ListenerShare(Movable):
    """The listening sockets of a master, kept open over its workers' lives.

    Each socket belongs to the worker whose number is the socket's modulo the
    number of workers, so that none is left alone when there are fewer. As the
    master holds them too, connections that wait in a dead worker's socket
    wait for its successor, or for the others, to whom the pool lends it
    meanwhile. Without `reuseport`, and if it is a Unix socket or another
    user's, all belong to all.
    """

    var sockets: List[RawSocket]
    var is_shared: Bool
    """True if all workers accept from all of them."""

    def __init__(out self, var sockets: List[RawSocket], reuseport: Bool):
        """Takes listening sockets for one address, or none if workers do not
        want any; each worker is to have its own if `reuseport`."""
        self.sockets = sockets^
        self.is_shared = IS_MACOS or not reuseport

    def provide(mut self, worker_count: Int) raises:
        """Makes sure that there is a socket for each worker."""
        if self.is_shared or len(self.sockets) == 0:
            return
        if self.sockets.at(0).local_addr().port == 0:
            # No other socket can join a Unix socket.
            self.is_shared = True
            return
        while len(self.sockets) < worker_count:
            try:
                var socket = share_port(self.sockets.at(0))
                self.sockets.append(socket^)
            except error:
                if error.kind != AddressInUse:
                    raise Error(error)
                # Only sockets of one user share a port, and the first is
                # another's: a service manager's, or from before the program
                # gave up root.
                self.is_shared = True
                return

    def of(self, worker: Int, worker_count: Int) -> List[Int]:
        """Lists the indices of the sockets of a worker."""
        var own = List[Int]()
        for index in range(len(self.sockets)):
            if self.is_shared or index % worker_count == worker:
                own.append(index)
        return own^

    def heirs(self, worker_count: Int) -> List[Int]:
        """Lists the workers, each once, that have to take sockets over when
        there are fewer than sockets; they need new processes for it."""
        var heirs = List[Int]()
        if self.is_shared:
            return heirs^
        for index in range(worker_count, len(self.sockets)):
            if index % worker_count not in heirs:
                heirs.append(index % worker_count)
        return heirs^

    def fds(self) -> List[Int32]:
        """Lends the descriptors, good while this value lives."""
        var numbers = List[Int32]()
        for index in range(len(self.sockets)):
            numbers.append(self.sockets.at(index).fd())
        return numbers^

"""What a supervisor keeps of its workers and their processes."""

from flare.runtime.worker_orders import OrderSender
from flare.sys.process import ExitStatus
from flare.sys.log import log_line
from flare.sys.signal import send_signal

comptime NEVER_MS = Int.MAX
"""A time that never comes."""


def signal_process(process_id: Int, signal: Int):
    """Sends a signal to a process that may have ended.

    Args:
        process_id: A child that has not been reaped.
        signal: The signal.
    """
    try:
        send_signal(process_id, signal)
    except error:
        log_line(String("process ", process_id, ": ", error))


struct WorkerProcess(Movable):
    """One process of a worker, seen from the master."""

    var process_id: Int
    """The process."""
    var row: Int
    """Its row on the board."""
    var started_ms: Int
    """When it was made."""
    var is_ready: Bool
    """True when it has begun to work."""
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
        """Notes a new process.

        Args:
            process_id: The process.
            row: Its row on the board.
            started_ms: The time now.
            kill_ms: When it must be ready.
            orders: What it is told through.
        """
        self.process_id = process_id
        self.row = row
        self.started_ms = started_ms
        self.is_ready = False
        self.is_successor = False
        self.kill_ms = kill_ms
        self.requests_max = 0
        self.memory_max = 0
        self.orders = orders^

    def epitaph(self, worker: Int, status: ExitStatus, lived_ms: Int) -> String:
        """Says how the process ended.

        Args:
            worker: Whose process it was.
            status: How it ended.
            lived_ms: How long it lived.

        Returns:
            As in `worker 2 (pid 77) was killed by signal 9 (SIGKILL) after
            3.2 s`.
        """
        var line = String("worker ", worker, " (pid ", self.process_id, ") ")
        line.write(status, " after ", lived_ms // 1_000, ".")
        line.write((lived_ms % 1_000) // 100, " s")
        return line^


struct WorkerSlot(Movable):
    """One worker: its process, and the one that is to follow."""

    var process: Optional[WorkerProcess]
    """The process that works."""
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
        """Tells whether a process of this worker has a row.

        Args:
            row: A row of the board.

        Returns:
            True if so.
        """
        if self.process and self.process.value().row == row:
            return True
        return Bool(self.next) and self.next.value().row == row

"""What runs in worker processes, and who is told of their lives."""

from flare.bytes.checked import *
from flare.bytes.erased import Erased, ErasedBox
from flare.net.raw_socket import RawSocket
from flare.runtime.prefork.orders import MasterLine, NEWS_READY
from flare.sys.descriptor import Descriptor, read_into
from flare.sys.errno import EAGAIN


trait PreforkProgram(Deinitable, Movable):
    """The work of a worker process."""

    def work(mut self, mut child: ChildProcess) raises:
        """Works until the process is told to stop; it ends with the call.

        SIGTERM asks for an orderly stop, once however often it comes: one to
        the whole process group comes beside the supervisor's. SIGINT, SIGHUP,
        SIGUSR2, SIGTTIN and SIGTTOU are the supervisor's and ignored here, and so
        is SIGPIPE: a write that nobody reads fails with EPIPE. So is SIGXFSZ: one
        beyond RLIMIT_FSIZE fails with EFBIG. A program that has a loop watches
        `child.lifeline_fd()` and ends when it is readable.

        Args:
            child: The process; call its `ready` when the work has begun.

        Raises:
            Error: Printed; the supervisor counts it as a crash.
        """
        ...

    def renew(mut self) raises:
        """Called in the master at SIGHUP, before workers are replaced.

        What it reads anew here all new workers have in common. It does nothing
        unless replaced.

        Raises:
            Error: Printed; the workers are replaced all the same.
        """
        return


trait PreforkHooks(Deinitable, Movable):
    """Is told of what happens. Each method does nothing unless replaced."""

    def on_child_spawned(mut self, worker: Int, process_id: Int):
        """Called in the master when a worker process was made.

        Args:
            worker: Counted from 0.
            process_id: The process.
        """
        return

    def on_worker_started(mut self, worker: Int) raises:
        """Called in a worker process before it serves, for what each process
        needs of its own, such as a thread or a connection.

        It counts to the worker's `start_timeout_ms`.

        Raises:
            Error: The worker ends, as by a crash.
        """
        return

    def on_master_ready(mut self, worker_count: Int):
        """Called in the master when all workers are ready for the first time.

        Args:
            worker_count: How many there are.
        """
        return

    def on_child_recovered(mut self, worker: Int, process_id: Int):
        """Called in the master when the successor of a crashed worker is ready.

        Args:
            process_id: The new process.
        """
        return

    def on_master_death(mut self):
        """Called in a worker whose master has ended, when its work is over.

        The process has about `ORPHAN_LIFE_S` from the master's end in all.
        """
        return


struct NoHooks(PreforkHooks):
    """Wants to be told of nothing."""

    def __init__(out self):
        """Makes it."""
        pass


struct ChildProcess(Movable):
    """A worker process, as its program sees it."""

    var worker: Int
    """Which worker, counted from 0."""
    var row: Int
    """Its row on the `SharedStats`."""
    var shares_listeners: Bool
    """True if other workers accept from its sockets, too."""
    var _listeners: List[RawSocket]
    var _lifeline: Descriptor
    var _line: Optional[MasterLine]

    def __init__(
        out self,
        worker: Int,
        row: Int,
        var listeners: List[RawSocket],
        shares_listeners: Bool,
        var lifeline: Descriptor,
        var line: MasterLine,
    ):
        """Makes it in the new process.

        Args:
            listeners: Its listening sockets.
            lifeline: A pipe that ends with the master.
            line: The line to the master.
        """
        self.worker = worker
        self.row = row
        self.shares_listeners = shares_listeners
        self._listeners = listeners^
        self._lifeline = lifeline^
        self._line = line^

    def take_listeners(mut self) -> List[RawSocket]:
        """Takes the listening sockets of this worker; none at a second call."""
        var listeners = List[RawSocket]()
        swap(listeners, self._listeners)
        return listeners^

    def ready(mut self):
        """Tells the master that the work has begun.

        A former process of this worker may be told to stop from now on.
        """
        if self._line:
            self._line.held().tell(NEWS_READY)

    def take_line(mut self) -> Optional[MasterLine]:
        """Takes the line to the master, for a program that serves the sockets
        of workers which are down; call `ready` before. Nothing at a second
        call."""
        var line = Optional[MasterLine](None)
        swap(line, self._line)
        return line^

    def lifeline_fd(self) -> Int32:
        """Lends a descriptor that becomes readable when the master has ended;
        good while this value lives."""
        return self._lifeline.fd()

    def is_orphan(self) -> Bool:
        """Tells whether the master has ended."""
        var octet = Array[UInt8, 1](fill=0)
        return read_into(self._lifeline.fd(), Span(octet)) != -EAGAIN


def _work[P: PreforkProgram](program: Erased, mut child: ChildProcess) raises:
    # SAFETY: `AnyPreforkProgram` made the pointer from a P of its own.
    program.unsafe_bitcast[P]()[].work(child)


def _renew[P: PreforkProgram](program: Erased) raises:
    # SAFETY: as for `_work`.
    program.unsafe_bitcast[P]()[].renew()


struct AnyPreforkProgram(Movable):
    """A program of any type, so that the supervisor is the same for all."""

    # SAFETY: the functions were made for its type.
    var _program: ErasedBox
    var _work: def(Erased, mut ChildProcess) raises thin -> None
    var _renew: def(Erased) raises thin -> None

    @implicit
    def __init__[P: PreforkProgram](out self, var program: P):
        self._program = ErasedBox(program^)
        self._work = _work[P]
        self._renew = _renew[P]

    def work(self, mut child: ChildProcess) raises:
        self._work(self._program.at, child)

    def renew(self) raises:
        self._renew(self._program.at)


def _child_spawned[
    K: PreforkHooks
](hooks: Erased, worker: Int, process_id: Int):
    # SAFETY: `AnyPreforkHooks` made the pointer from a K of its own.
    hooks.unsafe_bitcast[K]()[].on_child_spawned(worker, process_id)


def _child_recovered[
    K: PreforkHooks
](hooks: Erased, worker: Int, process_id: Int):
    # SAFETY: as above.
    hooks.unsafe_bitcast[K]()[].on_child_recovered(worker, process_id)


def _worker_started[K: PreforkHooks](hooks: Erased, worker: Int) raises:
    # SAFETY: as above.
    hooks.unsafe_bitcast[K]()[].on_worker_started(worker)


def _master_ready[K: PreforkHooks](hooks: Erased, worker_count: Int):
    # SAFETY: as above.
    hooks.unsafe_bitcast[K]()[].on_master_ready(worker_count)


def _master_death[K: PreforkHooks](hooks: Erased):
    # SAFETY: as above.
    hooks.unsafe_bitcast[K]()[].on_master_death()


struct AnyPreforkHooks(Movable):
    """Hooks of any type, so that the supervisor is the same for all."""

    # SAFETY: the functions were made for its type.
    var _hooks: ErasedBox
    var _child_spawned: def(Erased, Int, Int) thin -> None
    var _child_recovered: def(Erased, Int, Int) thin -> None
    var _worker_started: def(Erased, Int) raises thin -> None
    var _master_ready: def(Erased, Int) thin -> None
    var _master_death: def(Erased) thin -> None

    @implicit
    def __init__[K: PreforkHooks](out self, var hooks: K):
        self._hooks = ErasedBox(hooks^)
        self._child_spawned = _child_spawned[K]
        self._child_recovered = _child_recovered[K]
        self._worker_started = _worker_started[K]
        self._master_ready = _master_ready[K]
        self._master_death = _master_death[K]

    def on_child_spawned(self, worker: Int, process_id: Int):
        self._child_spawned(self._hooks.at, worker, process_id)

    def on_worker_started(self, worker: Int) raises:
        self._worker_started(self._hooks.at, worker)

    def on_master_ready(self, worker_count: Int):
        self._master_ready(self._hooks.at, worker_count)

    def on_child_recovered(self, worker: Int, process_id: Int):
        self._child_recovered(self._hooks.at, worker, process_id)

    def on_master_death(self):
        self._master_death(self._hooks.at)

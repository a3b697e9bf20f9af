"""Making worker processes: fork, and what the new process does first."""

from flare.bytes.checked import *
from flare.net.raw_socket import RawSocket
from flare.runtime.prefork.orders import MasterLine, News, read_news
from flare.runtime.prefork.program import (
    AnyPreforkHooks,
    AnyPreforkProgram,
    ChildProcess,
)
from flare.runtime.prefork.roster import ListenerShare
from flare.sys.descriptor import Descriptor, Pipe, close_descriptor
from flare.sys.sockets.descriptor_passing import SocketPair
from flare.sys.errno import OsError
from flare.sys.log import log_line, share_lost_lines
from flare.sys.process import (
    end_process,
    flush_output,
    fork_process,
    parent_id,
    signal_when_parent_ends,
)
from flare.sys.signal import (
    SIGCHLD,
    SIGHUP,
    SIGINT,
    SIGORPHAN,
    SIGTERM,
    SIGTTIN,
    SIGTTOU,
    SIGUSR2,
    SignalPause,
    end_soon_when_orphaned,
    ignore_signal,
    process_id,
    restore_default,
)


@fieldwise_init
struct SpawnRequest(ImplicitlyCopyable):
    """Which worker a new process is to be."""

    var worker: Int
    """Counted from 0."""
    var row: Int
    """Its row on the board."""


@fieldwise_init
struct SpawnedProcess(Movable):
    """A worker process that was just made, seen from the master."""

    var process_id: Int
    var line: Descriptor
    """The master's end of the line to it."""

    def take_line(mut self) -> Descriptor:
        """Takes the line out; not open at a second call."""
        return Descriptor(owned=self.line.release())


struct Spawner(Movable):
    """What the master needs to make workers."""

    var hooks: AnyPreforkHooks
    """Told of what happens."""
    var masters_own: List[Int32]
    """Descriptors that workers close at once."""
    var _program: AnyPreforkProgram
    var _lifeline: Pipe
    var _status: Pipe

    def __init__(
        out self, var program: AnyPreforkProgram, var hooks: AnyPreforkHooks
    ) raises OsError:
        """Makes the pipes between master and workers. Raises if the process has
        no more descriptors."""
        share_lost_lines()
        self.hooks = hooks^
        self.masters_own = []
        self._program = program^
        self._lifeline = Pipe()
        self._status = Pipe()

    def renew_program(mut self) raises:
        """Lets the program read anew what its workers have in common."""
        self._program.renew()

    def status_fd(self) -> Int32:
        """Lends the descriptor that is readable when workers tell something,
        good while this value lives."""
        return self._status.reading_fd()

    def take_news(mut self) -> List[News]:
        """Takes what workers have told, in order."""
        return read_news(Span(self._status.take()))

    def spawn(
        mut self,
        request: SpawnRequest,
        mut share: ListenerShare,
        own: List[Int],
        lines: List[Int32],
    ) raises OsError -> SpawnedProcess:
        """Makes a worker process, which accepts from the sockets `own` of the
        share; in that process the call does not return. `lines` are the
        master's ends of those to other workers. Raises if the system has no
        more processes."""
        var master_id = process_id()
        var pair = SocketPair()
        flush_output()
        # A signal that reached the child before its handlers are its own
        # would ring the master's bell.
        var pause = SignalPause()
        var child_id = fork_process()
        if child_id == 0:
            var masters_end = pair.take_first()
            masters_end.close()
            for number in lines:
                close_descriptor(number)
            self._live(
                request, share, own, master_id, pair.take_second(), pause^
            )
        else:
            pause^.end()
        return SpawnedProcess(child_id, pair.take_first())

    def _live(
        mut self,
        request: SpawnRequest,
        mut share: ListenerShare,
        own: List[Int],
        master_id: Int,
        var orders: Descriptor,
        var pause: SignalPause,
    ):
        """Is the whole life of a worker process."""
        var code = 0
        try:
            self._work(request, share, own, master_id, orders^, pause^)
        except error:
            log_line(String("worker ", request.worker, ": ", error))
            code = 1
        end_process(code)

    def _work(
        mut self,
        request: SpawnRequest,
        mut share: ListenerShare,
        own: List[Int],
        master_id: Int,
        var orders: Descriptor,
        var pause: SignalPause,
    ) raises:
        self._leave_master(master_id)
        var kept = List[RawSocket]()
        for index in range(len(share.sockets)):
            ref socket = share.sockets.at(index)
            if index in own:
                kept.append(RawSocket(owned=socket.release()))
            else:
                socket.close()
        _ = self._lifeline.take_writing()
        _ = self._status.take_reading()
        var child = ChildProcess(
            request.worker,
            request.row,
            kept^,
            share.is_shared,
            self._lifeline.take_reading(),
            MasterLine(orders^, self._status.take_writing(), process_id()),
        )
        pause^.end()
        self.hooks.on_worker_started(request.worker)
        self._program.work(child)
        if child.is_orphan():
            self.hooks.on_master_death()

    def _leave_master(mut self, master_id: Int) raises OsError:
        """Cuts what the fork has in common with the master."""
        for signal in [SIGTERM, SIGCHLD]:
            restore_default(signal)
        # The terminal sends some of these to the whole group; the master
        # turns them into what its workers are to do.
        for signal in [SIGINT, SIGHUP, SIGUSR2, SIGTTIN, SIGTTOU]:
            ignore_signal(signal)
        for number in self.masters_own:
            close_descriptor(number)
        end_soon_when_orphaned()
        signal_when_parent_ends(SIGORPHAN)
        if parent_id() != master_id:
            end_process(1)

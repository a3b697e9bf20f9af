"""Making worker processes: fork, and what the new process does first."""

from flare.net.raw_socket import RawSocket
from flare.runtime.listener_share import ListenerShare
from flare.runtime.prefork_program import (
    ChildProcess,
    PreforkHooks,
    PreforkProgram,
)
from flare.sys.descriptor import close_descriptor
from flare.sys.errno import OsError
from flare.sys.log import log_line
from flare.sys.pipe import Pipe
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
struct Birth(ImplicitlyCopyable):
    """Which worker a new process is to be."""

    var worker: Int
    """Counted from 0."""
    var row: Int
    """Its row on the board."""


struct Nursery[P: PreforkProgram, K: PreforkHooks](Movable):
    """What the master needs to make workers.

    Parameters:
        P: The program's type.
        K: The hooks' type.
    """

    var hooks: Self.K
    """Told of what happens."""
    var masters_own: List[Int32]
    """Descriptors that workers close at once."""
    var _program: Self.P
    var _lifeline: Pipe
    var _status: Pipe

    def __init__(
        out self, var program: Self.P, var hooks: Self.K
    ) raises OsError:
        """Makes the pipes between master and workers.

        Args:
            program: What workers do.
            hooks: Told of what happens.

        Raises:
            OsError: If the process has no more descriptors.
        """
        self.hooks = hooks^
        self.masters_own = []
        self._program = program^
        self._lifeline = Pipe()
        self._status = Pipe()

    def renew_program(mut self) raises:
        """Lets the program read anew what its workers have in common.

        Raises:
            Error: What the program raises.
        """
        self._program.renew()

    def status_number(self) -> Int32:
        """Lends the descriptor that is readable when workers become ready.

        Returns:
            A descriptor, good while this value lives.
        """
        return self._status.reading_number()

    def take_ready(mut self) -> List[Int]:
        """Takes the news of workers that have become ready.

        Returns:
            Their process ids.
        """
        var ids = List[Int]()
        var octets = self._status.take()
        for start in range(0, len(octets) - 3, 4):
            var id = 0
            for index in range(4):
                id |= Int(octets[start + index]) << (8 * index)
            ids.append(id)
        return ids^

    def spawn(
        mut self, birth: Birth, mut share: ListenerShare, own: List[Int]
    ) raises OsError -> Int:
        """Makes a worker process; in that process the call does not return.

        Args:
            birth: Which worker it is to be.
            share: All listening sockets of the master.
            own: Which of these the worker accepts from.

        Returns:
            The new process.

        Raises:
            OsError: If the system has no more processes.
        """
        var master_id = process_id()
        flush_output()
        # A signal that reached the child before its handlers are its own
        # would ring the master's bell.
        var pause = SignalPause()
        var child_id = fork_process()
        if child_id == 0:
            self._live(birth, share, own, master_id, pause^)
        else:
            pause^.end()
        return child_id

    def _live(
        mut self,
        birth: Birth,
        mut share: ListenerShare,
        own: List[Int],
        master_id: Int,
        var pause: SignalPause,
    ):
        """Is the whole life of a worker process."""
        var code = 0
        try:
            self._work(birth, share, own, master_id, pause^)
        except error:
            log_line(String("worker ", birth.worker, ": ", error))
            code = 1
        end_process(code)

    def _work(
        mut self,
        birth: Birth,
        mut share: ListenerShare,
        own: List[Int],
        master_id: Int,
        var pause: SignalPause,
    ) raises:
        self._leave_master(master_id)
        var kept = List[RawSocket]()
        for index in range(len(share.sockets)):
            ref socket = share.sockets[index]
            if index in own:
                kept.append(RawSocket(owned=socket.release()))
            else:
                socket.close()
        _ = self._lifeline.take_writing()
        _ = self._status.take_reading()
        var child = ChildProcess(
            birth.worker,
            birth.row,
            process_id(),
            kept^,
            share.is_shared,
            self._lifeline.take_reading(),
            self._status.take_writing(),
        )
        pause^.end()
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

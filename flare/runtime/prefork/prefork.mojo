"""A supervisor of worker processes, for any program.

    spawn all -> all ready -> watch: restart, roll, grow, shrink, upgrade
              -> stop all  -> all gone

Workers are made by `fork`, so the supervisor is run before threads are.
"""

from flare.net.raw_socket import RawSocket
from flare.runtime.prefork.config import PreforkConfig
from flare.runtime.prefork.program import (
    AnyPreforkHooks,
    AnyPreforkProgram,
    NoHooks,
)
from flare.runtime.prefork.supervisor import Supervisor
from flare.runtime.stats_board import SharedStats, WorkerStats
from flare.runtime.event import Waker
from flare.sys.signal import let_writes_fail, process_id
from std.memory import ArcPointer


struct Prefork(Movable):
    """Runs a program in several processes and keeps them running.

    The signals of the process belong to it while it runs:

    - SIGTERM, SIGINT: stop in good order; a second one stops at once
    - SIGHUP: replace all worker processes, one after the other
    - SIGUSR2: execute the program's file anew, hand the listeners over and
      stop when it is ready (`PreforkConfig.inherits_listeners`)
    - SIGTTIN, SIGTTOU: one worker more, one less
    """

    var _config: PreforkConfig
    var _listeners: List[RawSocket]
    var _board: ArcPointer[SharedStats]
    var _waker: Waker
    var _master_id: Int

    def __init__(
        out self,
        var config: PreforkConfig,
        var listeners: List[RawSocket],
        board: ArcPointer[SharedStats],
        waker: Waker,
    ) raises:
        """Makes a supervisor that does not run yet.

        Args:
            config: How many workers, and how they are treated.
            listeners: Listening sockets for the workers, if they want any.
            board: Where workers write their figures.
            waker: Stops all, as SIGTERM does.

        Raises:
            Error: If the configuration makes no sense.
        """
        config.check()
        self._config = config^
        self._listeners = listeners^
        self._board = board.copy()
        self._waker = waker.copy()
        self._master_id = process_id()

    def __init__(out self, var config: PreforkConfig) raises:
        """Makes a supervisor of workers without listening sockets."""
        self = Self(
            config^, List[RawSocket](), ArcPointer(SharedStats()), Waker()
        )

    def is_child(self) -> Bool:
        """Tells whether this is a worker, not the master."""
        return process_id() != self._master_id

    def stop(self):
        """Stops all in good order, from a hook; a second call stops at once."""
        self._waker.wake()

    def stats(self) -> WorkerStats:
        """Gives the figures summed over all workers; the program's work decides
        what it counts."""
        return self._board[].total()

    def run(
        mut self,
        var program: AnyPreforkProgram,
        var hooks: AnyPreforkHooks = NoHooks(),
    ) raises:
        """Runs the program's work in worker processes until it is stopped.

        In a worker the call does not return: the process ends with its work.

        Args:
            program: Any `PreforkProgram`; copied into each worker, as it is
                now.
            hooks: Any `PreforkHooks`; told of what happens.

        Raises:
            Error: If workers crash too often: which one, and of what.
        """
        # Who reads the log may be gone; that ends neither master nor workers.
        let_writes_fail()
        var listeners = List[RawSocket]()
        swap(listeners, self._listeners)
        var supervisor = Supervisor(
            self._config,
            listeners^,
            self._board,
            self._waker.copy(),
            program^,
            hooks^,
        )
        supervisor.run()

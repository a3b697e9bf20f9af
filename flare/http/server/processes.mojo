"""One server in several processes, under a supervisor."""

from flare.http.routing.handler import Handler
from flare.http.server.figures import Figures
from flare.http.server.listeners import Listeners
from flare.http.server.stopping import StopRequests
from flare.http.server.terms import ServerTerms
from flare.http.server.worker import Worker
from flare.runtime.prefork_program import ChildProcess, PreforkProgram
from flare.runtime.stats_board import StatsBoard
from flare.runtime.waker import Waker
from flare.sys.signal import SIGTERM
from std.memory import ArcPointer


@fieldwise_init
struct ServerProgram[H: Handler](PreforkProgram):
    """What each worker process of a server does.

    Parameters:
        H: The handler's type.
    """

    var handler: ArcPointer[Self.H]
    """Answers requests."""
    var terms: ServerTerms
    """Limits and times, and TLS if it is spoken."""
    var board: ArcPointer[StatsBoard]
    """The figures of all processes."""

    def work(mut self, mut child: ChildProcess) raises:
        """Answers requests until the process is told to stop.

        Args:
            child: The process.

        Raises:
            Error: If the system refuses what it needs.
        """
        var worker = Worker(
            self.handler.copy(),
            Listeners(child.take_listeners(), child.shares_listeners),
            self.terms,
            StopRequests(
                Waker(),
                True,
                [SIGTERM],
                child.lifeline_number(),
                has_master=True,
            ),
            Figures(self.board.copy(), child.row),
        )
        worker.begin()
        child.ready()
        worker.obey(child.take_line())
        worker.run()

    def renew(mut self) raises:
        """Reads certificates anew: new workers show them, and share the keys
        of their tickets.

        Raises:
            Error: If a file does not work; the old ones are still shown then.
        """
        if self.terms.tls:
            self.terms.tls.value().reload()

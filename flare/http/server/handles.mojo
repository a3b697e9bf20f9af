"""What reaches a server from other threads, from handlers and workers."""

from flare.runtime.stats_board import StatsBoard, WorkerStats
from flare.runtime.waker import Waker
from flare.runtime.worker_count import WORKER_COUNT_MAX
from flare.tls.server_context import TlsServerContext
from std.memory import ArcPointer


@fieldwise_init
struct ShutdownHandle(Copyable, Movable):
    """Stops a server from another thread, or from a handler."""

    var _waker: Waker

    def shutdown(self):
        """Stops the server in good order; a second call stops it at once."""
        self._waker.wake()


@fieldwise_init
struct ReloadHandle(Copyable, Movable):
    """Reads a server's certificates anew, from another thread or a handler."""

    var _tls: Optional[TlsServerContext]

    def reload_tls(self) raises:
        """Reads certificates, keys and lists anew, for new connections.

        Connections that exist go on undisturbed.

        Raises:
            Error: If a file does not work; all stays as it was then. Or if
                the server speaks plain HTTP.
        """
        if not self._tls:
            raise Error(
                "this server speaks plain HTTP, so there is no certificate to"
                " read anew; make it with HttpServer.bind_tls"
            )
        self._tls.value().reload()


@fieldwise_init
struct StatsHandle(Copyable, Movable):
    """Reads a server's figures, from any thread and any worker process."""

    var _board: ArcPointer[StatsBoard]

    def total(self) -> WorkerStats:
        """Sums over all workers.

        Returns:
            The sums.
        """
        return self._board[].total()

    def worker(self, index: Int) raises -> WorkerStats:
        """Reads the figures of one worker.

        Args:
            index: Counted from 0.

        Returns:
            Its figures; all 0 if there is no such worker.

        Raises:
            Error: If the index is not 0 to 255.
        """
        if index < 0 or index >= WORKER_COUNT_MAX:
            raise Error("there is no worker ", index, "; workers are 0 to 255")
        return self._board[].worker(index)

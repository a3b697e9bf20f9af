"""What reaches a server from other threads, from handlers and workers."""

from flare.http.message.metric_source import MetricSource
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
struct StatsHandle(Copyable, MetricSource):
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

    def write_metrics(self, mut text: String):
        """Writes the sums for Prometheus.

        Args:
            text: Where to.
        """
        var total = self.total()
        text.write("# HELP http_connections_total Connections accepted.\n")
        text.write("# TYPE http_connections_total counter\n")
        text.write("http_connections_total ", total.connections, "\n")
        text.write("# HELP http_connections_open Connections open now.\n")
        text.write("# TYPE http_connections_open gauge\n")
        text.write("http_connections_open ", total.open_connections, "\n")
        text.write("# HELP worker_restarts_total Crashed workers replaced.\n")
        text.write("# TYPE worker_restarts_total counter\n")
        text.write("worker_restarts_total ", total.restarts, "\n")

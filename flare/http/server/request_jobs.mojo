"""The requests of a worker that are not answered here and now: those on threads,
and those that are answered later."""

from flare.http.server.config import ServerConfig
from flare.http.server.deferred_jobs import DeferredJobs
from flare.http.server.handler_pool import HandlerPool
from flare.http.server.job import Job, SpareJobs
from flare.net.socket_addr import SocketAddr
from flare.sys.errno import OsError
from std.memory import OwnedPointer


struct RequestJobs(Movable):
    """Where a worker's requests are while their connections wait."""

    var threads: HandlerPool
    """Those whose handlers may block."""
    var deferred: DeferredJobs
    """Those whose handlers answer later."""
    var spare: SpareJobs
    var _logs_errors: Bool

    def __init__(out self, config: ServerConfig) raises OsError:
        """Makes one without requests. Raises if the process has no more
        descriptors."""
        self.threads = HandlerPool(config)
        self.deferred = DeferredJobs()
        self.spare = SpareJobs()
        self._logs_errors = config.logs_errors

    @no_inline
    def __deinit__(deinit self):
        """Drops all of it, out of line."""
        return

    def take_job(
        mut self, token: UInt64, peer: SocketAddr
    ) -> OwnedPointer[Job]:
        """Makes the job of a request, whose flag is not set."""
        var job = self.spare.take(token, peer)
        job[].params.record.logs_errors = self._logs_errors
        return job^

    def submit(mut self, var job: OwnedPointer[Job], *, defers: Bool):
        """Hands a request over; if it `defers`, its handler answers later, and
        so needs no thread."""
        if defers:
            self.deferred.put(job^)
        else:
            self.threads.submit(job^)

    def has_news(self) -> Bool:
        """Tells whether there is something to settle of what is answered later."""
        return self.deferred.has_news()

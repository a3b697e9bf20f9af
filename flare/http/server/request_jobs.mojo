"""The requests of a worker that are not answered here and now: those on threads,
and those that are answered later."""

from flare.bytes.checked import *
from flare.bytes.text import Text
from flare.http.server.config import ServerConfig
from flare.http.server.connection.body_pipe import BodyPipe
from flare.http.server.connection.connection import Connection
from flare.http.server.connection.request_call import Intake, RequestCall
from flare.http.server.deferred_jobs import DeferredJobs
from flare.http.server.handler_pool import HandlerPool
from flare.http.server.job import Job, SpareJobs
from flare.http.server.worker_state import WorkerState
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
        return

    def admits(
        self,
        at: MutPointer[RequestCall, _],
        is_late: Bool,
        state: WorkerState,
    ) -> Bool:
        """Tells whether there is room for a request, and makes the window of its
        content if that is still to come (`is_late`). Its call comes by its
        address: `mut` would load and store all of it."""
        ref call = at[]
        # Its own handler needs no thread if it answers later.
        if not call.plan.defers() and self.threads.is_full(is_late):
            return False
        try:
            if is_late:
                call.pipe = BodyPipe(
                    waits_to_be_asked=call.intake == Intake.HELD_BACK
                )
        except error:
            state.log(Text().add("handler threads: ").add(error).end())
            return False
        return True

    def take_job(mut self, connection: Connection) -> OwnedPointer[Job]:
        """Makes the job of a request, whose flag is not set."""
        var job = self.spare.take(connection.token, connection.peer)
        job[].params.record.logs_errors = self._logs_errors
        if connection.tls:
            job[].tls = connection.tls.held()[].peer
        return job^

    def submit(
        mut self,
        var job: OwnedPointer[Job],
        at: MutPointer[RequestCall, _],
        state: WorkerState,
    ):
        """Hands a request over, which was admitted, with what the call has for
        its handler."""
        ref call = at[]
        if call.pipe:
            job[].outlet = call.pipe.held().outlet(
                state.wake_queue.waker_for(job[].token, job[].stream_id),
                self.threads.pace(),
            )
            job[].is_late = True
        else:
            swap(job[].charge, call.charge)
        swap(job[].memo, call.memo)
        if call.plan.defers():
            self.deferred.put(job^)
        else:
            self.threads.submit(job^)

"""Threads of a worker that run handlers which may block.

    worker: submit -> queue -> thread: handler -> done -> waker -> worker: take

A request stays in its exchange, which nobody else touches meanwhile: the
worker holds only its flag, to say that the answer is no longer wanted.
"""

from flare.http.h1.exchange import Exchange
from flare.http.message.body_reader import LentFeed
from flare.http.message.cancel import CancelFlag
from flare.http.message.path_params import PathParams
from flare.http.message.request import Request
from flare.http.message.request_notes import NoteLoan
from flare.http.message.response import Response, internal_error
from flare.http.message.tls_peer import TlsPeer
from flare.http.routing.handler import Handler
from flare.http.server.answering import call_handler
from flare.http.server.body_pipe import BodyOutlet, BodyPipe
from flare.http.server.config import ServerConfig
from flare.net.socket_addr import SocketAddr
from flare.runtime.waker import Waker
from flare.sys.affinity import restrict_thread, usable_cpus
from flare.sys.clock import monotonic_ns
from flare.sys.errno import OsError
from flare.sys.log import log_line
from flare.sys.monitor import Monitor
from flare.sys.signal import process_id
from flare.sys.thread import Task, Thread
from std.memory import ArcPointer, OwnedPointer

comptime _LEAVE_MS = 1_000
# How long a worker that ends waits for handlers which were told that nobody
# waits for them.


struct Job(Movable):
    """A request on its way to a handler and back."""

    var token: UInt64
    """Of the connection."""
    var box: OwnedPointer[Exchange]
    """Has the request, first; complete, but for content that is a stream."""
    var peer: SocketAddr
    """Where it came from."""
    var tls: Optional[ArcPointer[TlsPeer]]
    """What TLS tells about the client; nothing without TLS."""
    var cancel: ArcPointer[CancelFlag]
    """Set when the answer is no longer wanted."""
    var outlet: Optional[BodyOutlet]
    """Where its content is read from while it arrives."""
    var params: PathParams
    """Storage for path parameters."""
    var response: Response
    """The answer, when there is one."""

    def __init__(
        out self,
        token: UInt64,
        var box: OwnedPointer[Exchange],
        peer: SocketAddr,
        cancel: ArcPointer[CancelFlag],
    ):
        """Makes a job that waits.

        Args:
            token: Of the connection.
            box: Has the request.
            peer: Where it came from.
            cancel: The connection's flag.
        """
        self.token = token
        self.box = box^
        self.peer = peer
        self.tls = None
        self.cancel = cancel.copy()
        self.outlet = None
        self.params = PathParams()
        self.response = Response(500)

    def run[H: Handler](mut self, handler: H, logs_errors: Bool):
        """Lets the handler answer.

        Parameters:
            H: The handler's type.

        Args:
            handler: Answers.
            logs_errors: True to log what it raises.
        """
        # SAFETY: exchange, storage and flag belong to this job, which does not
        # move and outlives the call; the handler's own signature keeps it from
        # holding on to a part of the request.
        var request = self.box[].request[ImmUntrackedOrigin](
            self.peer,
            Pointer(to=self.params).unsafe_origin_cast[MutUntrackedOrigin](),
            Pointer(to=self.cancel[])
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[ImmUntrackedOrigin](),
            self._tls_pointer(),
        )
        if self.outlet:
            self._run_streamed(handler, request, logs_errors)
        else:
            self.response = call_handler(handler, request, logs_errors)

    def _run_streamed[
        H: Handler
    ](mut self, handler: H, request: Request, logs_errors: Bool):
        # SAFETY: the outlet belongs to this job; the loan ends with the call.
        ref outlet = self.outlet.value()
        var feed = LentFeed(outlet)
        var loan = NoteLoan(request.notes(), feed)
        var reading = _Reading(Pointer(to=handler), Pointer(to=outlet))
        self.response = call_handler(reading, request, logs_errors)
        loan^.end()

    def _tls_pointer(self) -> OptionalPointer[TlsPeer, ImmUntrackedOrigin]:
        # SAFETY: as in `run`.
        if not self.tls:
            return None
        return (
            Pointer(to=self.tls.value()[])
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[ImmUntrackedOrigin]()
        )

    def take_box(deinit self) -> OwnedPointer[Exchange]:
        """Takes the request out.

        Returns:
            Its exchange.
        """
        return self.box^


@fieldwise_init
struct _Reading[H: Handler, h: ImmOrigin, o: ImmOrigin](Handler):
    """A handler that may fail because its client did."""

    # SAFETY: both outlive the call that this is made for; their origins say so.
    var handler: Pointer[Self.H, Self.h]
    var outlet: Pointer[BodyOutlet, Self.o]

    def serve(self, req: Request) raises -> Response:
        try:
            return self.handler[].serve(req)
        except error:
            # A client that goes away is no error of ours, and not logged.
            if self.outlet[].has_failed():
                return internal_error()
            raise error^


struct _Queue(Movable):
    """What worker and threads share, under the monitor's lock."""

    var monitor: Monitor
    var waiting: List[OwnedPointer[Job]]
    var done: List[OwnedPointer[Job]]
    var is_closed: Bool
    var thread_count: Int
    var running_count: Int

    def __init__(out self) raises OsError:
        self.monitor = Monitor()
        self.waiting = []
        self.done = []
        self.is_closed = False
        self.thread_count = 0
        self.running_count = 0


# These take the shared value by its counted pointer. In a method, the compiler
# takes it for granted that nothing changes `mut self` while a lock is awaited.


def _next(queue: ArcPointer[_Queue]) -> Optional[OwnedPointer[Job]]:
    """Waits for a job; nothing when the queue is closed."""
    queue[].monitor.lock()
    while len(queue[].waiting) == 0 and not queue[].is_closed:
        queue[].monitor.wait()
    var job = Optional[OwnedPointer[Job]](None)
    if queue[].is_closed:
        queue[].thread_count -= 1
        queue[].monitor.ring_all()
    else:
        job = queue[].waiting.pop(0)
        queue[].running_count += 1
    queue[].monitor.unlock()
    return job^


def _put_done(queue: ArcPointer[_Queue], var job: OwnedPointer[Job]) -> Bool:
    """Hands a job back; True if the worker has to be woken."""
    queue[].monitor.lock()
    queue[].done.append(job^)
    queue[].running_count -= 1
    var is_first = len(queue[].done) == 1
    queue[].monitor.unlock()
    return is_first


def _close(queue: ArcPointer[_Queue]):
    """Lets the threads end, each when its handler has."""
    queue[].monitor.lock()
    queue[].is_closed = True
    queue[].monitor.ring_all()
    queue[].monitor.unlock()


@fieldwise_init
struct _Hand[H: Handler](Task):
    """One thread of a pool."""

    var handler: ArcPointer[Self.H]
    var queue: ArcPointer[_Queue]
    var waker: Waker
    var logs_errors: Bool

    def run(mut self) raises:
        self._unpin()
        while True:
            var job = _next(self.queue)
            if not job:
                return
            var owned = job.take()
            owned[].run(self.handler[], self.logs_errors)
            if _put_done(self.queue, owned^):
                self.waker.wake()

    def _unpin(self):
        """A worker may be pinned; its handlers need not share its CPU."""
        try:
            restrict_thread(usable_cpus(process_id()))
        except:
            # Where threads may not be moved, the worker was not pinned either.
            return


struct HandlerPool(Movable):
    """The threads of one worker and the requests they have.

    There are none before `start`.
    """

    var _queue: ArcPointer[_Queue]
    var _waker: Waker
    var _threads: List[Thread]
    var _waiting_max: Int
    var _logs_errors: Bool

    def __init__(out self, config: ServerConfig) raises OsError:
        """Makes a pool without threads.

        Args:
            config: How many requests may wait.

        Raises:
            OsError: If the process has no more descriptors.
        """
        self._queue = ArcPointer(_Queue())
        self._waker = Waker()
        self._threads = []
        self._waiting_max = config.handler_queue
        self._logs_errors = config.logs_errors

    def start[
        H: Handler
    ](mut self, handler: ArcPointer[H], config: ServerConfig) raises OsError:
        """Starts the threads.

        Parameters:
            H: The handler's type.

        Args:
            handler: Answers requests.
            config: How many threads.

        Raises:
            OsError: If the system has no more threads.
        """
        for _ in range(config.handler_threads):
            try:
                self._threads.append(
                    Thread(
                        _Hand(
                            handler.copy(),
                            self._queue.copy(),
                            self._waker.copy(),
                            config.logs_errors,
                        )
                    )
                )
            except error:
                # Those that run already would wait for ever; the next call
                # starts over.
                _close(self._queue)
                self._threads.clear()
                self._queue = ArcPointer(_Queue())
                raise error^
            self._queue[].monitor.lock()
            self._queue[].thread_count += 1
            self._queue[].monitor.unlock()

    def __deinit__(deinit self):
        """Ends the threads that `close` has not ended."""
        _close(self._queue)

    def number(self) -> Int32:
        """Lends the descriptor that is readable when answers are there.

        Returns:
            A descriptor, good while this value lives.
        """
        return self._waker.number()

    def is_full(self) -> Bool:
        """Tells whether no more requests may wait.

        Returns:
            True if a further one is to be refused.
        """
        # A request that a thread is about to take does not wait for one, so
        # all are counted, and as many as there are threads are free.
        self._queue[].monitor.lock()
        var count = len(self._queue[].waiting) + self._queue[].running_count
        self._queue[].monitor.unlock()
        return count >= len(self._threads) + self._waiting_max

    def submit(mut self, var job: OwnedPointer[Job]):
        """Hands a request over.

        Args:
            job: The request.
        """
        self._queue[].monitor.lock()
        self._queue[].waiting.append(job^)
        self._queue[].monitor.ring()
        self._queue[].monitor.unlock()

    def take_done(mut self) -> List[OwnedPointer[Job]]:
        """Takes the requests that have been answered.

        Returns:
            The jobs, with their responses.
        """
        _ = self._waker.drain()
        var done = List[OwnedPointer[Job]]()
        self._queue[].monitor.lock()
        swap(done, self._queue[].done)
        self._queue[].monitor.unlock()
        return done^

    def close(mut self):
        """Ends the threads. One whose handler does not end in time is left
        behind with a line in the log: it ends with its handler."""
        var deadline_ns = monotonic_ns() + _LEAVE_MS * 1_000_000
        _close(self._queue)
        ref queue = self._queue[]
        queue.monitor.lock()
        while queue.thread_count > 0 and monotonic_ns() < deadline_ns:
            _ = queue.monitor.wait_for(_LEAVE_MS)
        var left_count = queue.thread_count
        queue.monitor.unlock()
        if left_count > 0:
            if self._logs_errors:
                log_line(
                    String(left_count, " handlers have not ended and are left")
                )
            self._threads.clear()
            return
        while len(self._threads) > 0:
            self._threads.pop().join()

"""One connection of a server, driven step by step, with its client's socket."""

from flare.http.h1.request_parser import RequestParser
from flare.http.message.request import Request
from flare.http.message.response import Response, ok
from flare.http.handler.any_handler import AnyHandler, SharedHandler
from flare.http.server.config import ServerConfig, ServerContext
from flare.http.server.connection.connection import Connection
from flare.http.server.connection.http2 import on_readable_http2
from flare.http.server.connection.http2_offload import settle_jobs
from flare.http.server.connection.lifetime import (
    begin_shutdown,
    discard_input,
    on_timeout,
)
from flare.http.server.connection.offload import (
    offload,
    on_job_done,
    waits_for,
)
from flare.http.server.connection.phase import (
    Event,
    NextAction,
    Phase,
)
from flare.http.server.connection.read import on_readable, on_writable
from flare.http.server.connection.sides import Ending
from flare.http.server.connection.tls import ServerTls, TlsLink
from flare.http.server.connection.upgrade import read_upgraded
from flare.http.server.connection.write import has_to_write, on_wake
from flare.http.server.handler_pool import _Lane, run_job
from flare.http.server.request_jobs import RequestJobs
from flare.http.server.worker_state import (
    READ_BUFFER_LEN,
    WorkerState,
)
from flare.net.raw_socket import RawSocket
from flare.net.socket_addr import SocketAddr
from flare.sys.clock import coarse_monotonic_ms
from flare.sys.sockets.descriptor_passing import SocketPair
from flare.sys.sockets.socket_option import SocketOption
from flare.tls.context import TlsServerContext
from std.memory import OwnedPointer

comptime _TURN_COUNT_MAX = 10_000
# No connection gives way so often without somebody who sends or reads.

comptime _TOKEN = UInt64(7)


def answer(req: Request) raises -> Response:
    """Sends content back, or as many octets as the path says."""
    if req.method == "POST":
        var body = List[UInt8]()
        body.extend(req.body)
        return ok(body^)
    return ok(x_text(Int(req.path.removeprefix("/"))))


def x_text(length: Int) raises -> String:
    """Makes a text of so many `x`, at once: `*` appends them one by one."""
    if length < 0:
        raise Error("a text has no negative length")
    return String(unsafe_from_utf8=List[UInt8](length=length, fill=120))


struct Ends(Movable):
    """Two sockets that are connected."""

    var client: RawSocket
    """One end."""
    var server: RawSocket
    """The other end."""

    def __init__(out self, *, var client: RawSocket, var server: RawSocket):
        """Takes ends that are connected.

        Args:
            client: One end.
            server: The other end.
        """
        self.client = client^
        self.server = server^

    def __init__(out self, buffer_len: Int) raises:
        """Makes a pair without a network: what one end sends is at the other one
        at once, and it costs a fifth of what TCP does.

        Args:
            buffer_len: About how much the kernel keeps of what is sent; 0 for
                its own choice.
        """
        var pair = SocketPair()
        var first = pair.take_first()
        var second = pair.take_second()
        self.client = RawSocket(owned=first.release())
        self.server = RawSocket(owned=second.release())
        if buffer_len > 0:
            self.client.set_option(SocketOption.SEND_BUFFER, buffer_len)
            self.server.set_option(SocketOption.SEND_BUFFER, buffer_len)

    def __init__(out self, mut listener: RawSocket, buffer_len: Int) raises:
        """Connects by TCP.

        Args:
            listener: Where.
            buffer_len: As above.
        """
        self.client = RawSocket.tcp()
        if buffer_len > 0:
            self.client.set_option(SocketOption.RECEIVE_BUFFER, buffer_len)
        _ = self.client.connect(listener.local_addr())
        # No connection that ends here waits for late segments.
        self.client.reset_on_close()
        self.client.set_option(SocketOption.NO_DELAY, 1)
        var accepted = listener.accept()
        if accepted.error_number != 0:
            raise Error("accept: ", accepted.error_number)
        self.server = accepted^.take_socket()
        self.server.set_option(SocketOption.NO_DELAY, 1)
        if buffer_len > 0:
            self.server.set_option(SocketOption.SEND_BUFFER, buffer_len)

    def take_client(mut self) -> RawSocket:
        """Takes one end out."""
        return RawSocket(owned=self.client.release())

    def take_server(mut self) -> RawSocket:
        """Takes the other end out."""
        return RawSocket(owned=self.server.release())


struct ServedConnection(Movable):
    """What a worker does with one connection, without the worker.

    Handlers that may block run where `run_job` is called: so a test says when a
    request is answered.
    """

    var client: RawSocket
    """The other end."""
    var is_open: Bool
    """False once the server has closed."""
    var _connection: Connection
    var _scratch: RequestParser
    var _state: WorkerState
    var _jobs: RequestJobs

    def __init__(
        out self,
        var ends: Ends,
        var handler: AnyHandler,
        tls: Optional[TlsServerContext],
        var config: ServerConfig = ServerConfig(),
    ) raises:
        """Begins to serve.

        Args:
            ends: The sockets.
            handler: Answers.
            tls: What TLS is spoken with.
            config: The server's.
        """
        self.client = ends.take_client()
        var connection = Connection()
        connection.open(ends.take_server(), SocketAddr.localhost(7))
        connection.token = _TOKEN
        if tls:
            connection.tls = OwnedPointer(TlsLink(tls.value().session()))
        self._connection = connection^
        self._scratch = RequestParser(READ_BUFFER_LEN)
        self._jobs = RequestJobs(config)
        var context = ServerContext(config^)
        if tls:
            context.tls = ServerTls(tls.value().copy())
        self._state = WorkerState(context, SharedHandler(handler^))
        self._state.now_ms = coarse_monotonic_ms()
        self.is_open = True
        # The time of the first head begins with the connection.
        ref served = self._state.config
        self._connection.deadline_ms = (
            self._state.now_ms + served.header_timeout_ms
        )
        if tls:
            self._connection.begin[Event.TLS_BEGUN](
                self._state.now_ms,
                self._state.config,
                tls.value().config.handshake_timeout_ms,
            )

    def step(mut self) raises:
        """Does what one event of the selector leads to."""
        for _ in range(_TURN_COUNT_MAX):
            if not self.is_open:
                return
            self._state.begin_turn()
            var action = self._carry_out(self._drive())
            self._check()
            if action != NextAction.YIELD and not self._ask_sources():
                return
        raise Error("the connection gives way for ever")

    def _drive(mut self) -> NextAction:
        """Does what `Worker._on_connection` does."""
        var action = NextAction.WAIT
        if has_to_write(self._connection):
            action = on_writable(self._connection, self._state)
        if action != NextAction.WAIT and action != NextAction.YIELD:
            return action
        if self._connection.phase == Phase.STREAMS:
            action = on_readable_http2(
                self._connection, self._scratch, self._state, False
            )
            settle_jobs(self._connection, self._jobs.threads)
            return action
        if self._connection.phase == Phase.LINGER:
            return discard_input(self._connection, self._scratch)
        if self._connection.request.pending:
            return read_upgraded(
                Pointer(to=self._connection),
                Pointer(to=self._scratch),
                Pointer(to=self._state),
                False,
            )
        return on_readable(
            self._connection,
            self._scratch,
            self._state,
            False,
        )

    def _carry_out(mut self, action: NextAction) raises -> NextAction:
        """Does what `Worker._carry_out` does."""
        var next = action
        while next == NextAction.OFFLOAD:
            next = offload(self._connection, self._jobs, self._state)
        if next == NextAction.SHUTDOWN:
            next = begin_shutdown(self._connection, self._state)
        if next == NextAction.CLOSE:
            self._connection.close()
            self.is_open = False
            self._jobs.threads.drop_gone()
        return next

    def _ask_sources(mut self) raises -> Bool:
        """Lets sources be asked that have rung; False if there are none."""
        var woken = self._state.wake_queue.take()
        if len(woken) == 0 or not self.is_open:
            return False
        var action = NextAction.YIELD
        for one in woken:
            if action != NextAction.CLOSE:
                action = on_wake(self._connection, one.stream_id)
        if action != NextAction.CLOSE:
            action = on_writable(self._connection, self._state)
        _ = self._carry_out(action)
        self._check()
        return True

    def run_job(mut self) raises -> Bool:
        """Lets a handler answer that may block; False if none has a request."""
        var job = self._jobs.threads._queue.jobs.lock()[].pick()
        if job:
            self._jobs.threads._queue.jobs.lock()[].begin_job()
            var owned = job.take()
            var lane = _Lane(
                self._jobs.threads._queue.copy(),
                self._jobs.threads._waker.copy(),
            )
            run_job(owned[], self._state.handler[], lane)
            _ = self._jobs.threads._queue.jobs.lock()[].put_done(owned^)
        var done = self._jobs.threads.take_done(self._jobs.spare)
        for index in range(len(done)):
            ref answered = done[index][]
            if self.is_open and waits_for(self._connection, answered):
                _ = self._carry_out(
                    on_job_done(
                        self._connection,
                        answered,
                        self._state,
                    )
                )
                self._check()
        return len(done) > 0

    def pass_time(mut self, elapsed_ms: Int) raises:
        """Does what follows when time has passed."""
        self._state.now_ms += elapsed_ms
        if self.is_open and self._state.now_ms >= self._connection.deadline_ms:
            _ = self._carry_out(on_timeout(self._connection, self._state))
            self._check()
        self.step()

    def kept(self) -> String:
        """Says what the connection has not given back although all is answered:
        streams, windows, memory.

        Returns:
            A sentence; empty if that is nothing.
        """
        if self._state._body_sum[].load() != 0:
            return "memory of content is still counted"
        if not self.is_open or not self._connection.http2:
            return ""
        if self._connection.ending != Ending.OPEN:
            # What still comes is dropped as it is.
            return ""
        ref link = self._connection.http2.value()[]
        ref session = link.session
        if len(link.tasks) + len(session.state.table) > 0:
            return String(
                len(link.tasks),
                " tasks and ",
                len(session.state.table),
                " streams are left",
            )
        if session.foreign_count != 0:
            return String("requests are counted: ", session.foreign_count)
        var room = session.state.receive_window + session.state.owed_len
        if room != session.state.limits.connection_window:
            return String("of the connection's window is left ", room)
        return ""

    def _check(self) raises:
        """Holds the worker's buffers to what they promise."""
        if len(self._state.out) > 0 or not self._scratch.is_idle():
            raise Error("the worker's buffers hold octets of a connection")
        if len(self._state.tls_input) + len(self._state.tls_output) > 0:
            raise Error("the worker's buffers hold octets of a session")

"""One connection of a server, driven step by step, with its client's socket."""

from flare.http.h1.request_parser import RequestParser
from flare.http.message.request import Request
from flare.http.message.response import Response, ok
from flare.http.routing.handler import FnHandler
from flare.http.server.config import ServerConfig, ServerContext
from flare.http.server.connection.connection import Connection
from flare.http.server.connection.lifetime import begin_shutdown, discard_input
from flare.http.server.connection.phase import (
    Event,
    NextAction,
    Phase,
)
from flare.http.server.connection.read import on_readable, on_writable
from flare.http.server.connection.tls import ServerTls, TlsLink
from flare.http.server.connection.upgrade import read_upgraded
from flare.http.server.worker_state import READ_BUFFER_LEN, WorkerState
from flare.net.raw_socket import RawSocket
from flare.net.socket_addr import SocketAddr
from flare.sys.socket_option import SocketOption
from flare.tls.context import TlsServerContext
from std.memory import OwnedPointer

comptime _TURN_COUNT_MAX = 10_000
# No connection gives way so often without somebody who sends or reads.


def answer(req: Request) raises -> Response:
    """Sends content back, or as many octets as the path says."""
    if req.method == "POST":
        var body = List[UInt8]()
        body.extend(req.body)
        return ok(body^)
    return ok(String("x") * Int(req.path.removeprefix("/")))


struct ServedConnection(Movable):
    """What a worker does with one connection, without the worker."""

    var client: RawSocket
    """The other end."""
    var is_open: Bool
    """False once the server has closed."""
    var _connection: Connection
    var _scratch: RequestParser
    var _state: WorkerState

    def __init__(
        out self,
        mut listener: RawSocket,
        tls: Optional[TlsServerContext],
        buffer_len: Int,
    ) raises:
        """Connects.

        Args:
            listener: Where.
            tls: What TLS is spoken with.
            buffer_len: About how much the kernel keeps of what is sent; 0 for
                its own choice.
        """
        var address = listener.local_addr()
        self.client = RawSocket.tcp()
        if buffer_len > 0:
            self.client.set_option(SocketOption.RECEIVE_BUFFER, buffer_len)
        _ = self.client.connect(address)
        # No connection that ends here waits for late segments.
        self.client.reset_on_close()
        self.client.set_option(SocketOption.NO_DELAY, 1)
        var accepted = listener.accept()
        if accepted.error_number != 0:
            raise Error("accept: ", accepted.error_number)
        var socket = accepted^.take_socket()
        socket.set_option(SocketOption.NO_DELAY, 1)
        if buffer_len > 0:
            socket.set_option(SocketOption.SEND_BUFFER, buffer_len)
        var connection = Connection()
        connection.open(socket^, address)
        if tls:
            connection.tls = OwnedPointer(TlsLink(tls.value().session()))
            connection.enter[Event.TLS_BEGUN]()
        self._connection = connection^
        self._scratch = RequestParser(READ_BUFFER_LEN)
        var context = ServerContext(ServerConfig())
        if tls:
            context.tls = ServerTls(tls.value().copy())
        self._state = WorkerState(context)
        self.is_open = True

    def step(mut self) raises:
        """Does what one event of the selector leads to."""
        var handler = FnHandler(answer)
        for _ in range(_TURN_COUNT_MAX):
            if not self.is_open:
                return
            var action = NextAction.WAIT
            if self._connection.request.pending:
                action = on_writable(self._connection, self._state, handler)
            if action == NextAction.WAIT:
                if self._connection.phase == Phase.LINGER:
                    action = discard_input(self._connection, self._scratch)
                elif self._connection.request.pending:
                    action = read_upgraded(
                        Pointer(to=self._connection),
                        Pointer(to=self._scratch),
                        Pointer(to=self._state),
                        False,
                    )
                else:
                    action = on_readable(
                        self._connection,
                        self._scratch,
                        self._state,
                        handler,
                        False,
                    )
            if action == NextAction.SHUTDOWN:
                action = begin_shutdown(self._connection, self._state)
            if action == NextAction.CLOSE:
                self._connection.close()
                self.is_open = False
            self._check()
            if action != NextAction.YIELD:
                return
        raise Error("the connection gives way for ever")

    def _check(self) raises:
        """Holds the worker's buffers to what they promise."""
        if len(self._state.out) > 0 or not self._scratch.is_idle():
            raise Error("the worker's buffers hold octets of a connection")
        if len(self._state.tls_input) + len(self._state.tls_output) > 0:
            raise Error("the worker's buffers hold octets of a session")

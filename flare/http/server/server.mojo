"""The HTTP server that programs use."""

from flare.http.routing.handler import FnHandler, Handler, HandlerFunction
from flare.http.server.config import ServerConfig
from flare.http.server.stopping import StopRequests
from flare.http.server.worker import Worker
from flare.net.raw_socket import RawSocket
from flare.net.socket_addr import SocketAddr
from flare.runtime.waker import Waker
from flare.sys.signal import ignore_sigpipe


@fieldwise_init
struct ShutdownHandle(Copyable, Movable):
    """Stops a server from another thread, or from a handler."""

    var _waker: Waker

    def shutdown(self):
        """Stops the server in good order; a second call stops it at once."""
        self._waker.wake()


struct HttpServer(Movable):
    """Listens at an address and answers HTTP/1.1 requests.

    var server = HttpServer.bind(SocketAddr.localhost(8080))
    server.serve(router^)
    """

    var _listener: RawSocket
    var _address: SocketAddr
    var _config: ServerConfig
    var _waker: Waker

    def __init__(
        out self, var listener: RawSocket, var config: ServerConfig
    ) raises:
        """Makes a server of a socket that listens already.

        Args:
            listener: A listening TCP socket.
            config: Limits and times.

        Raises:
            Error: If the configuration contradicts itself.
        """
        config.check()
        self._address = listener.local_addr()
        self._listener = listener^
        self._config = config^
        self._waker = Waker()

    @staticmethod
    def bind(
        address: SocketAddr, var config: ServerConfig = ServerConfig()
    ) raises -> Self:
        """Makes a server that listens at an address.

        Args:
            address: Where; port 0 lets the kernel choose one.
            config: Limits and times.

        Returns:
            The server; clients can connect from now on, and are answered when
            `serve` is called.

        Raises:
            Error: If the address cannot be had, or the configuration
                contradicts itself; the text says which and why.
        """
        config.check()
        return Self(RawSocket.listen_tcp(address), config^)

    def local_addr(self) -> SocketAddr:
        """Tells where the server listens.

        Returns:
            The address, with the port that the kernel chose.
        """
        return self._address

    def shutdown(self):
        """Stops the server in good order, from any thread.

        It accepts no more connections, closes idle ones, finishes requests
        under way, and gives up after `shutdown_timeout_ms`. A second call stops
        it at once.
        """
        self._waker.wake()

    def shutdown_handle(self) -> ShutdownHandle:
        """Makes a handle that can be given to other threads and to handlers.

        Returns:
            The handle.
        """
        return ShutdownHandle(self._waker.copy())

    def serve[H: Handler](mut self, var handler: H) raises:
        """Answers requests on the calling thread until the server is stopped.

        Parameters:
            H: The handler's type.

        Args:
            handler: Answers requests: a `Router` or any other `Handler`.

        Raises:
            Error: If the server was served before, or the system refuses what
                it needs.
        """
        if not self._listener.is_open():
            raise Error(
                "HttpServer.serve: this server has been served and stopped;",
                " bind a new one",
            )
        ignore_sigpipe()
        var stop = StopRequests(
            self._waker.copy(), self._config.handles_signals
        )
        var listener = RawSocket(owned=-1)
        swap(listener, self._listener)
        var worker = Worker(handler^, listener^, self._config, stop^)
        worker.run()

    def serve(mut self, function: HandlerFunction) raises:
        """Answers requests with a plain function.

        Args:
            function: `def f(req: Request) raises -> Response`.

        Raises:
            Error: As the other form does.
        """
        self.serve(FnHandler(function))

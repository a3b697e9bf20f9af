"""A WebSocket server on a port of its own."""

from flare.http.routing.ws_route import WsRoute
from flare.http.server.config import ServerConfig
from flare.http.server.server import HttpServer, ShutdownHandle
from flare.http.websocket.handler import WsConfig, WsHandler
from flare.net.socket_addr import SocketAddr


struct WsServer(Movable):
    """Serves WebSocket connections at any path; otherwise an `HttpServer`.

    ```mojo
    var server = WsServer.bind(SocketAddr.localhost(8080))
    server.serve(chat^)
    ```

    A route beside others is `Router.ws`.
    """

    var http: HttpServer
    """The server underneath; stop it, or serve it in other ways, here."""
    var _config: WsConfig

    def __init__(out self, var http: HttpServer, var config: WsConfig):
        """Makes a server of an HTTP server, which may speak TLS.

        Args:
            config: What connections are allowed.
        """
        self.http = http^
        self._config = config^

    @staticmethod
    def bind(
        address: SocketAddr,
        var config: WsConfig = WsConfig(),
        var server_config: ServerConfig = ServerConfig(),
    ) raises -> Self:
        """Makes a server that listens at an address, and gives it.

        Args:
            address: Where; port 0 lets the kernel choose one.
            server_config: Limits and times of the server underneath.

        Raises:
            Error: If the address cannot be had, or a configuration makes no
                sense.
        """
        config.check()
        return Self(HttpServer.bind(address, server_config^), config^)

    def local_addr(self) -> SocketAddr:
        """Tells the address where the server listens, with the port that the
        kernel chose."""
        return self.http.local_addr()

    def shutdown_handle(self) -> ShutdownHandle:
        """Gives a handle that can be given to other threads."""
        return self.http.shutdown_handle()

    def serve[
        H: WsHandler
    ](mut self, var handler: H, *, num_workers: Int = 1) raises:
        """Serves until the server is stopped; clients then get code 1001.

        Parameters:
            H: The handler's type.

        Args:
            handler: Answers messages, of all workers' connections.
            num_workers: As for `HttpServer.serve`.

        Raises:
            Error: As `HttpServer.serve` does.
        """
        self.http.serve(
            WsRoute(handler^, self._config.copy()), num_workers=num_workers
        )

"""Sockets of this machine that tests connect, refuse or keep waiting."""

from flare.net.raw_socket import RawSocket
from flare.net.socket_addr import SocketAddr
from flare.tcp.stream import TcpListener, TcpStream

comptime PATIENCE_MS = 10_000
"""How long a test waits for what must come, in milliseconds."""


struct TcpPair(Movable):
    """Two connected streams."""

    var client: TcpStream
    var server: TcpStream

    def __init__(out self) raises:
        """Connects over loopback."""
        var listener = TcpListener.bind(SocketAddr.localhost(0))
        self.client = TcpStream.connect(listener.local_addr(), PATIENCE_MS)
        self.server = listener.accept(PATIENCE_MS)
        self.client.set_read_timeout(PATIENCE_MS)
        self.server.set_read_timeout(PATIENCE_MS)

    def take_client(deinit self) -> RawSocket:
        """Takes the client's socket out; the server's is closed."""
        return self.client^.take_socket()


struct RefusingPort(Movable):
    """A port that is bound, so that no other program gets it, and refuses."""

    var _socket: RawSocket

    def __init__(out self) raises:
        """Binds the port."""
        self._socket = RawSocket.tcp()
        self._socket.bind(SocketAddr.localhost(0))

    def address(self) raises -> SocketAddr:
        """Gives the address; keep this value until it has been used."""
        return self._socket.local_addr()


struct SilentPort(Movable):
    """A port that answers no further connection: its queue is full."""

    var _listener: RawSocket
    var _waiting: List[RawSocket]

    def __init__(out self) raises:
        """Fills the queue of a listener that accepts nobody."""
        self._listener = RawSocket.tcp()
        self._listener.bind(SocketAddr.localhost(0))
        self._listener.listen(0)
        self._waiting = []
        for _ in range(4):
            var socket = RawSocket.tcp()
            _ = socket.connect(self._listener.local_addr())
            self._waiting.append(socket^)

    def address(self) raises -> SocketAddr:
        """Gives the address; keep this value until it has been used."""
        return self._listener.local_addr()

"""A socket that TCP connections come in at."""

from flare.net.blocking_socket import BlockingSocket
from flare.net.error import NetworkError
from flare.net.raw_socket import RawSocket
from flare.net.socket_addr import SocketAddr
from flare.sys.clock import NO_TIMEOUT_MS, Deadline
from flare.sys.errno import ECONNABORTED
from flare.sys.poll import POLL_READ
from flare.tcp.stream import TcpStream


struct TcpListener(Movable):
    """Waits for connections; it is closed when its owner goes."""

    var _socket: BlockingSocket

    def __init__(out self, var socket: RawSocket) raises NetworkError:
        """Takes over a listening socket.

        Args:
            socket: The socket.

        Raises:
            NetworkError: If the socket has no address.
        """
        var name = String(socket.local_addr())
        self._socket = BlockingSocket(socket^, name^)

    @staticmethod
    def bind(address: SocketAddr) raises NetworkError -> Self:
        """Listens at an address.

        Connections of a former run in TIME_WAIT do not stand in the way.

        Args:
            address: Where; port 0 lets the kernel choose one.

        Returns:
            The listener.

        Raises:
            NetworkError: If the address cannot be had, such as `AddressInUse`.
        """
        return Self(RawSocket.listen_tcp(address))

    def accept(
        mut self, timeout_ms: Int = NO_TIMEOUT_MS
    ) raises NetworkError -> TcpStream:
        """Takes the next connection, waiting for it.

        Args:
            timeout_ms: How long to wait; for ever by default, since no client
                has to come.

        Returns:
            The connection.

        Raises:
            NetworkError: If the time is over (`Timeout`), the process has no
                more descriptors (`TooManyOpenFiles`; the connection waits on),
                or the listener is closed.
        """
        var deadline = Deadline(timeout_ms)
        while True:
            var accepted = self._socket.raw.accept()
            var number = accepted.error_number
            if number == 0:
                var peer = accepted.peer
                return TcpStream(accepted^.take_socket(), peer)
            # A client that left the queue again is nobody's error.
            if number != ECONNABORTED:
                self._socket.wait_after(-number, "accept", POLL_READ, deadline)

    def local_addr(self) raises NetworkError -> SocketAddr:
        """Reads the address.

        Returns:
            The address, with the port that the kernel chose.

        Raises:
            NetworkError: If the listener is closed.
        """
        return self._socket.raw.local_addr()

    def close(mut self):
        """Closes the listener now; a second call does nothing."""
        self._socket.raw.close()

    def fd(self) -> Int32:
        """Lends the descriptor, which is non-blocking, for a reactor.

        Returns:
            The number, good while this listener lives; -1 if closed.
        """
        return self._socket.raw.fd()

    @deprecated("use fd")
    def number(self) -> Int32:
        """Lends the descriptor under its name until 0.2.

        Returns:
            What `fd` returns.
        """
        return self.fd()

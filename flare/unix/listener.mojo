"""A socket that Unix stream connections come in at."""

from flare.net.blocking_socket import BlockingSocket
from flare.net.error import NetworkError
from flare.sys.clock import NO_TIMEOUT_MS, Deadline
from flare.sys.errno import ECONNABORTED
from flare.sys.poll import POLL_READ
from flare.sys.socket_file import SocketFile
from flare.unix.binding import UNIX_BACKLOG, listen_unix
from flare.unix.stream import UnixStream
from flare.unix.unix_addr import UnixAddr


struct UnixListener(Movable):
    """Waits for connections; when its owner goes, its file goes too.

    The file is removed only if it is still the one that `bind` made. A program
    that is killed cannot remove it: see `bind` for what to do then.
    """

    var _socket: BlockingSocket
    var _file: SocketFile
    var _address: UnixAddr

    @staticmethod
    def bind(
        address: UnixAddr,
        replace_stale: Bool = False,
        backlog: Int = UNIX_BACKLOG,
    ) raises NetworkError -> Self:
        """Listens at an address.

        A program that was killed leaves its socket file behind, and the next
        one finds the address in use. With `replace_stale` such a file is
        removed, if it is a socket and connecting to it is refused; never that
        of a program which is still listening.

        Args:
            address: A path, or `@` and an abstract name. Who may connect is
                decided by the rights of the file and its folder.
            replace_stale: True to take over the path of a program that died.
            backlog: Most connections that wait to be accepted.

        Returns:
            The listener.

        Raises:
            NetworkError: If the address cannot be had, such as `AddressInUse`
                or `PathNotFound`.
        """
        return Self(address, replace_stale, backlog)

    def __init__(
        out self, address: UnixAddr, replace_stale: Bool, backlog: Int
    ) raises NetworkError:
        """Listens at an address, as `bind` says.

        Args:
            address: The address.
            replace_stale: True to take over the path of a program that died.
            backlog: Most connections that wait to be accepted.

        Raises:
            NetworkError: If the address cannot be had.
        """
        var bound = listen_unix(address, replace_stale, backlog)
        self._file = bound.take_file()
        self._socket = BlockingSocket(bound.take_socket(), String(address))
        self._address = address.copy()

    def accept(
        mut self, timeout_ms: Int = NO_TIMEOUT_MS
    ) raises NetworkError -> UnixStream:
        """Takes the next connection, waiting for it.

        Args:
            timeout_ms: How long to wait; for ever by default, since no client
                has to come.

        Returns:
            The connection; its errors name this listener's address, because
            most clients have none.

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
                return UnixStream(accepted^.take_socket(), self._address)
            # A client that left the queue again is nobody's error.
            if number != ECONNABORTED:
                self._socket.wait_after(-number, "accept", POLL_READ, deadline)

    def local_addr(self) -> UnixAddr:
        """Gives the address.

        Returns:
            The address that was bound.
        """
        return self._address.copy()

    def close(mut self):
        """Closes the listener and removes its file; once."""
        self._file.remove()
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

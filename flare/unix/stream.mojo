"""Unix streams and their listeners."""

from flare.io.stream import Readable, Writable
from flare.net.blocking_socket import BlockingSocket, SocketStream
from flare.net.error import ConnectionTimeout, NetworkError
from flare.net.raw_socket import RawSocket
from flare.sys.clock import Deadline, NO_TIMEOUT_MS
from flare.sys.errno import EAGAIN, EINTR, OsError
from flare.sys.sockets.socket import (
    SOCK_STREAM,
    connect_patiently,
    connect_socket,
    local_address,
    peer_address,
)
from flare.sys.socket_file import SocketFile
from flare.unix.unix_addr import UNIX_BACKLOG, UnixAddr, listen_unix, open_unix

comptime CONNECT_TIMEOUT_MS = 30_000
"""How long connecting may take unless told otherwise, in milliseconds: only a
full queue of the listener lets it wait at all."""


struct UnixStream(Readable, SocketStream, Writable):
    """A connection to a program on this machine; closed when its owner goes.

    Each call has a deadline: 30 s for a read or a write unless the timeouts
    are set otherwise.

    Errors name the address and have these kinds, among others:
    `PathNotFound`, `ConnectionRefused` (a socket file that nobody listens at),
    `ConnectionTimeout`, `PermissionDenied`, `Timeout`, `BrokenPipe`.
    """

    comptime ReadError = NetworkError
    """What a failed read raises."""
    comptime WriteError = NetworkError
    """What a failed write raises."""

    var _socket: BlockingSocket

    def __init__(out self, var socket: RawSocket, name: UnixAddr):
        """Takes over a connection.

        Args:
            socket: A connected Unix stream socket.
            name: What errors call the other side.
        """
        self._socket = BlockingSocket(socket^, String(name))

    @staticmethod
    def connect(
        address: UnixAddr, timeout_ms: Int = CONNECT_TIMEOUT_MS
    ) raises NetworkError -> Self:
        """Connects to a listener, and gives the connection.

        Args:
            address: A path, or `@` and an abstract name.
            timeout_ms: How long to wait while the listener's queue is full;
                negative (`NO_TIMEOUT_MS`) for as long as it takes.

        Raises:
            NetworkError: If nobody listens there in time.
        """
        var deadline = Deadline(timeout_ms)
        var socket = open_unix(SOCK_STREAM)
        var there = address.to_kernel()
        var result = connect_socket(socket.fd(), there)
        while result == -EAGAIN or result == -EINTR:
            if deadline.left_ms() == 0:
                raise _connect_timeout(address, deadline)
            result = connect_patiently(socket.fd(), there, deadline)
        if result < 0:
            raise NetworkError(OsError("connect", -result), String(address))
        return Self(socket^, address)

    def _blocking(ref self) -> ref[self] BlockingSocket:
        # SAFETY: the field lives as long as what it is a field of.
        ref socket = self._socket
        return Pointer(to=socket).unsafe_origin_cast[origin_of(self)]()[]

    def peer_addr(self) raises NetworkError -> UnixAddr:
        """Reads the address of the other side; most clients have none.

        Raises:
            NetworkError: If the connection is closed.
        """
        return UnixAddr.from_kernel(peer_address(self._socket.raw.fd()))

    def local_addr(self) raises NetworkError -> UnixAddr:
        """Reads the address of the own side; a client has none; the rest is as
        for `peer_addr`."""
        return UnixAddr.from_kernel(local_address(self._socket.raw.fd()))

    def take_socket(deinit self) -> RawSocket:
        """Takes the socket out, for a reactor."""
        return self._socket^.take_raw()


def _connect_timeout(address: UnixAddr, deadline: Deadline) -> NetworkError:
    return NetworkError(
        materialize[ConnectionTimeout](),
        "connect",
        String(address),
        String(
            "the listener's queue was full for ",
            deadline.timeout_ms,
            " ms; is the program still accepting?",
        ),
    )


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
        """Listens at an address, and gives the listener.

        A program that was killed leaves its socket file behind, and the next
        one finds the address in use. With `replace_stale` such a file is
        removed, if it is a socket and connecting to it is refused; never that
        of a program which is still listening.

        Args:
            address: A path, or `@` and an abstract name. Who may connect is
                decided by the rights of the file and its folder.

        Raises:
            NetworkError: If the address cannot be had, such as `AddressInUse`
                or `PathNotFound`.
        """
        return Self(address, replace_stale, backlog)

    def __init__(
        out self, address: UnixAddr, replace_stale: Bool, backlog: Int
    ) raises NetworkError:
        """Listens at an address; the rest is as for `bind`.

        Args:
            address: The address.
            replace_stale: True to take over the path of a program that died.
            backlog: Most connections that wait to be accepted.
        """
        var bound = listen_unix(address, replace_stale, backlog)
        self._file = bound.take_file()
        self._socket = BlockingSocket(bound.take_socket(), String(address))
        self._address = address.copy()

    def accept(
        mut self, timeout_ms: Int = NO_TIMEOUT_MS
    ) raises NetworkError -> UnixStream:
        """Takes the next connection, waiting for it; its errors name this
        listener's address, because most clients have none; the rest is as for
        `TcpListener.accept`."""
        var accepted = self._socket.accept(timeout_ms)
        return UnixStream(accepted^.take_socket(), self._address)

    def local_addr(self) -> UnixAddr:
        """Gives the address that was bound."""
        return self._address.copy()

    def close(mut self):
        """Closes the listener and removes its file; once."""
        self._file.remove()
        self._socket.raw.close()

    def fd(self) -> Int32:
        """Lends the descriptor, which is non-blocking, for a reactor; good
        while this listener lives; -1 if closed."""
        return self._socket.raw.fd()

"""Binding Unix sockets, and what becomes of their files.

A bound path stays in the file system until somebody removes it. A program that
is killed leaves a stale file behind: nobody listens there, yet the next bind
finds the address in use. Removing whatever is in the way would take a running
server's address, so a file is replaced only when the caller asks for it, only
if it is a socket, and only if connecting to it is refused. Two programs that
replace the same stale file at the same moment can still get in each other's
way: who starts servers should start one at a time.
"""

from flare.net.error import AddressInUse, NetworkError
from flare.net.raw_socket import RawSocket
from flare.sys.errno import ECONNREFUSED, EADDRINUSE, OsError
from flare.sys.sock_addr import AF_UNIX
from flare.sys.socket import (
    SOCK_STREAM,
    bind_socket,
    connect_socket,
    listen_socket,
    open_socket,
)
from flare.sys.socket_file import SocketFile
from flare.unix.unix_addr import UnixAddr

comptime UNIX_BACKLOG = 4_096
"""Most connections that wait to be accepted; the system may allow fewer."""


struct BoundSocket(Movable):
    """A socket with its file."""

    var socket: RawSocket
    """The socket."""
    var file: SocketFile
    """The file, removed when this goes; none for an abstract name."""

    def __init__(out self, var socket: RawSocket):
        """Takes a socket that has no file.

        Args:
            socket: The socket.
        """
        self.socket = socket^
        self.file = SocketFile()

    def take_socket(mut self) -> RawSocket:
        """Takes the socket out.

        Returns:
            The socket.
        """
        var socket = RawSocket(owned=-1)
        swap(socket, self.socket)
        return socket^

    def take_file(mut self) -> SocketFile:
        """Takes the file out.

        Returns:
            The file.
        """
        var file = SocketFile()
        swap(file, self.file)
        return file^


def open_unix(kind: Int) raises NetworkError -> RawSocket:
    """Makes a Unix socket.

    Args:
        kind: A `SOCK_` constant.

    Returns:
        The socket.

    Raises:
        NetworkError: If the kernel refuses.
    """
    var socket = open_socket(AF_UNIX, kind)
    return RawSocket(owned=socket.release())


def bind_unix(
    kind: Int, address: UnixAddr, replace_stale: Bool
) raises NetworkError -> BoundSocket:
    """Makes a Unix socket with an address.

    Args:
        kind: A `SOCK_` constant.
        address: The address.
        replace_stale: True to remove a socket file that nobody listens at.

    Returns:
        The socket with its file.

    Raises:
        NetworkError: If the address cannot be had; it names the address.
    """
    var bound = BoundSocket(open_unix(kind))
    var result = _bind(bound.socket, address)
    if result == EADDRINUSE and replace_stale and _is_stale(kind, address):
        var stale = SocketFile.at(_path_text(address))
        stale.remove()
        result = _bind(bound.socket, address)
    if result != 0:
        raise _error(result, address, replace_stale)
    if address.is_path():
        bound.file = SocketFile.at(_path_text(address))
    return bound^


def listen_unix(
    address: UnixAddr, replace_stale: Bool, backlog: Int
) raises NetworkError -> BoundSocket:
    """Makes a Unix socket that waits for stream connections.

    Args:
        address: The address.
        replace_stale: True to remove a socket file that nobody listens at.
        backlog: Most connections that wait to be accepted.

    Returns:
        The socket with its file.

    Raises:
        NetworkError: If the address cannot be had; it names the address.
    """
    var bound = bind_unix(SOCK_STREAM, address, replace_stale)
    listen_socket(bound.socket.fd(), backlog)
    return bound^


def _bind(socket: RawSocket, address: UnixAddr) -> Int:
    try:
        bind_socket(socket.fd(), address.to_kernel())
        return 0
    except error:
        return error.number


def _is_stale(kind: Int, address: UnixAddr) raises NetworkError -> Bool:
    """Tells whether a socket file is there that nobody listens at."""
    if not address.is_path() or not SocketFile.exists(_path_text(address)):
        return False
    var probe = open_unix(kind)
    var result = connect_socket(probe.fd(), address.to_kernel())
    probe.close()
    return result == -ECONNREFUSED


def _path_text(address: UnixAddr) -> String:
    return String(unsafe_from_utf8=address.octets())


def _error(number: Int, address: UnixAddr, replace_stale: Bool) -> NetworkError:
    # Not "bind": the advice for that speaks of ports.
    var error = NetworkError(OsError("bind socket", number), String(address))
    if error.kind != AddressInUse:
        return error^
    if address.is_path() and not replace_stale:
        error.reason += (
            "; if no program listens there any more, remove the file or pass"
            " replace_stale=True"
        )
    else:
        error.reason += "; stop the other program or choose another name"
    return error^

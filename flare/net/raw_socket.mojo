"""A non-blocking socket, the ground that listeners and streams stand on."""

from flare.net.error import NetworkError
from flare.net.ip import IpAddr
from flare.net.socket_addr import SocketAddr
from flare.sys.descriptor import Descriptor, duplicate_from
from flare.sys.errno import EINPROGRESS, EMFILE, OsError
from flare.sys.file import send_file
from flare.sys.sockets.sock_addr import AF_INET, AF_INET6, SockAddr
from flare.sys.sockets.socket import (
    SHUT_BOTH,
    SHUT_READ,
    SHUT_WRITE,
    SOCK_DGRAM,
    SOCK_STREAM,
    accept_socket,
    bind_socket,
    connect_socket,
    listen_socket,
    local_address,
    open_socket,
    peek,
    peer_address,
    receive,
    send,
    send_two,
    shutdown_socket,
)
from flare.sys.sockets.socket_option import (
    SocketOption,
    get_option,
    set_option,
    set_reset_on_close,
    undelivered_len,
)


comptime LISTEN_BACKLOG = 4_096
"""Most connections that wait to be accepted; the kernel may allow fewer."""


@fieldwise_init
struct Accepted(Movable):
    """What `RawSocket.accept` took."""

    var socket: RawSocket
    """The connection; not open if there was none."""
    var peer: SocketAddr
    var error_number: Int
    """0, or the errno: `EAGAIN` when no connection waits."""

    def take_socket(deinit self) -> RawSocket:
        return self.socket^


struct RawSocket(Movable):
    """An owned, non-blocking socket; it is closed when its owner goes. Each
    raises `NetworkError` if the kernel refuses."""

    var _descriptor: Descriptor

    def __init__(out self, *, owned: Int32):
        """Takes over a socket.

        Args:
            owned: A non-blocking socket that nothing else closes, or -1.
        """
        self._descriptor = Descriptor(owned=owned)

    @staticmethod
    def tcp(is_v6: Bool = False) raises NetworkError -> Self:
        """Gives a TCP socket.

        Args:
            is_v6: True for IPv6.
        """
        var family = AF_INET6 if is_v6 else AF_INET
        var socket = open_socket(family, SOCK_STREAM)
        return Self(owned=socket.release())

    @staticmethod
    def udp(is_v6: Bool = False) raises NetworkError -> Self:
        """Gives a UDP socket."""
        var family = AF_INET6 if is_v6 else AF_INET
        var socket = open_socket(family, SOCK_DGRAM)
        return Self(owned=socket.release())

    @staticmethod
    def listen_tcp(
        address: SocketAddr, backlog: Int = LISTEN_BACKLOG
    ) raises NetworkError -> Self:
        """Gives a socket that waits for TCP connections.

        Accepted sockets inherit `TCP_NODELAY`. Connections of a former run in
        TIME_WAIT do not stand in the way.

        Args:
            address: Where to listen; port 0 lets the kernel choose one.
            backlog: Most connections that wait to be accepted.

        Raises:
            NetworkError: If the address cannot be had; it names the address.
        """
        var socket = Self.tcp(address.ip.is_v6())
        socket.set_option(SocketOption.REUSE_ADDR, 1)
        socket.set_option(SocketOption.NO_DELAY, 1)
        socket.bind(address)
        socket.listen(backlog)
        return socket^

    def duplicate(self) raises NetworkError -> Self:
        """Gives a second owner of the same socket, under another descriptor.

        Raises:
            NetworkError: If the process has no more descriptors.
        """
        var copy = duplicate_from(self._descriptor.fd(), 3)
        if not copy.is_open():
            raise NetworkError(OsError("fcntl", EMFILE))
        return Self(owned=copy.release())

    @always_inline
    def fd(self) -> Int32:
        """Lends the descriptor, for a reactor; good while this socket lives; -1
        if closed."""
        return self._descriptor.fd()

    def release(mut self) -> Int32:
        """Gives the descriptor away, which the caller must close."""
        return self._descriptor.release()

    def is_open(self) -> Bool:
        """Tells whether there is a socket."""
        return self._descriptor.is_open()

    def set_option(
        mut self, option: SocketOption, value: Int
    ) raises NetworkError:
        """Sets a socket option.

        Args:
            option: The option.
            value: Its value; 1 and 0 for switches.
        """
        set_option(self._descriptor.fd(), option, value)

    def option(self, option: SocketOption) raises NetworkError -> Int:
        """Reads a socket option."""
        return get_option(self._descriptor.fd(), option)

    def reset_on_close(mut self) raises NetworkError:
        """Makes close send a reset instead of an orderly end."""
        set_reset_on_close(self._descriptor.fd())

    def bind(mut self, address: SocketAddr) raises NetworkError:
        """Gives the socket its address.

        Args:
            address: The address.

        Raises:
            NetworkError: If it cannot be had; it names the address.
        """
        try:
            bind_socket(self._descriptor.fd(), to_kernel(address))
        except error:
            raise NetworkError(error, String(address))

    def listen(mut self, backlog: Int) raises NetworkError:
        """Lets a bound socket wait for connections.

        Raises:
            NetworkError: If another socket listens there; it names the address.
        """
        try:
            listen_socket(self._descriptor.fd(), backlog)
        except error:
            raise NetworkError(error, String(self.local_addr()))

    def accept(mut self) -> Accepted:
        """Takes a waiting connection, or the errno that says why there is none."""
        var peer = SockAddr()
        var number = accept_socket(self._descriptor.fd(), peer)
        if number < 0:
            return Accepted(
                RawSocket(owned=-1), SocketAddr.any(0), Int(-number)
            )
        return Accepted(RawSocket(owned=number), from_kernel(peer), 0)

    def connect(mut self, address: SocketAddr) raises NetworkError -> Bool:
        """Starts a connection, and gives True if it is there at once; False if
        it is under way: when the socket is writable, `connect_error` tells how
        it went.

        Args:
            address: The other side.

        Raises:
            NetworkError: If it fails at once; it names the address.
        """
        var result = connect_socket(self._descriptor.fd(), to_kernel(address))
        if result == -EINPROGRESS:
            return False
        if result < 0:
            raise NetworkError(OsError("connect", -result), String(address))
        return True

    def check_connected(self, address: SocketAddr) raises NetworkError:
        """Tells how a connection that was under way has ended.

        Args:
            address: The other side, for the error.

        Raises:
            NetworkError: If it failed; it names the address.
        """
        var number = self.option(SocketOption.ERROR)
        if number != 0:
            raise NetworkError(OsError("connect", number), String(address))

    @always_inline
    def receive(mut self, room: MutSpan[UInt8, _]) -> Int:
        """Reads octets, and gives how many, 0 at the end of the stream, or a
        negative errno.

        Args:
            room: Where to; its owner must outlive the call.
        """
        return receive(self._descriptor.fd(), room)

    def peek(mut self, room: MutSpan[UInt8, _]) -> Int:
        """Reads octets as `receive` does, and leaves them where they are."""
        return peek(self._descriptor.fd(), room)

    @always_inline
    def send(mut self, octets: Span[UInt8, _]) -> Int:
        """Writes octets, and gives how many were taken, or a negative errno.

        Args:
            octets: What to send.
        """
        return send(self._descriptor.fd(), octets)

    def undelivered_len(self) -> Int:
        """Counts the octets that were sent and that the peer's system has not
        acknowledged; 0 if the system does not tell."""
        return undelivered_len(self._descriptor.fd())

    def send_ahead(mut self, octets: Span[UInt8, _]) -> Int:
        """Writes octets that a part of a file follows at once, and gives what
        `send` does."""
        return send[more_follows=True](self._descriptor.fd(), octets)

    def send_file(mut self, file: Int32, offset: Int, length: Int) -> Int:
        """Writes octets of a file, as they lie there, and gives how many were
        taken, 0 at the end of the file, or a negative errno; see
        `flare/sys/file.mojo`.

        Args:
            file: The file's descriptor.
            offset: Where they begin, in bytes from the file's start.
            length: How many they are; more than 0.
        """
        return send_file(self._descriptor.fd(), file, offset, length)

    def send_two(
        mut self, first: Span[UInt8, _], second: Span[UInt8, _]
    ) -> Int:
        """Writes two pieces with one call, without joining them, and gives how
        many octets of both were taken, or a negative errno.

        Args:
            first: What goes first.
            second: What follows.
        """
        return send_two(self._descriptor.fd(), first, second)

    def finish_writing(mut self):
        """Ends the own direction; the peer sees the end of the stream.

        A peer that is gone already is no error.
        """
        _ = shutdown_socket(self._descriptor.fd(), SHUT_WRITE)

    def local_addr(self) raises NetworkError -> SocketAddr:
        """Reads the address of the own side, with the port that the kernel
        chose."""
        return from_kernel(local_address(self._descriptor.fd()))

    def peer_addr(self) raises NetworkError -> SocketAddr:
        """Reads the address of the other side.

        Raises:
            NetworkError: If the socket is not connected.
        """
        return from_kernel(peer_address(self._descriptor.fd()))

    def close(mut self):
        """Closes the socket now; a second call does nothing."""
        self._descriptor.close()


@fieldwise_init
struct Shutdown(Equatable, TrivialRegisterPassable):
    """What `shutdown` ends."""

    var number: Int
    """The system's number."""

    comptime READ = Shutdown(SHUT_READ)
    """Reads see the end of the stream."""
    comptime WRITE = Shutdown(SHUT_WRITE)
    """The peer sees the end of the stream; it may still answer."""
    comptime BOTH = Shutdown(SHUT_BOTH)
    """Both of them."""


def to_kernel(address: SocketAddr) -> SockAddr:
    if address.ip.is_v4():
        return SockAddr.inet(address.ip.v4_octets(), address.port)
    return SockAddr.inet6(address.ip.v6_octets(), address.port)


def from_kernel(address: SockAddr) -> SocketAddr:
    """Translates an address of the kernel; 0.0.0.0:0 for a family that is not
    IP."""
    if address.family() == AF_INET:
        return SocketAddr(
            IpAddr.from_v4_octets(address.inet_octets()), address.port()
        )
    if address.family() == AF_INET6:
        return SocketAddr(
            IpAddr.from_v6_octets(address.inet6_octets()), address.port()
        )
    return SocketAddr.any(0)


def share_port(mut socket: RawSocket) raises NetworkError -> RawSocket:
    """Makes another socket that listens where a first one does. Linux alone.

    The kernel spreads connections over all that were made so (`SO_REUSEPORT`).
    Until the first call the port is closed to other sockets, so a server that
    runs twice by mistake is told; afterwards programs of the same user that ask
    for the option may join.
    """
    # The option may be set late: the kernel looks at both sockets when the
    # second one is bound.
    socket.set_option(SocketOption.REUSE_PORT, 1)
    var address = socket.local_addr()
    var other = RawSocket.tcp(address.ip.is_v6())
    other.set_option(SocketOption.REUSE_ADDR, 1)
    other.set_option(SocketOption.REUSE_PORT, 1)
    other.set_option(SocketOption.NO_DELAY, 1)
    other.bind(address)
    other.listen(LISTEN_BACKLOG)
    return other^

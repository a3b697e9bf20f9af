"""TCP streams and their listeners."""

from flare.bytes.checked import *
from flare.dns.resolve import resolve_until
from flare.io.stream import Readable, Writable
from flare.net.blocking_socket import BlockingSocket, SocketStream
from flare.net.error import NetworkError
from flare.net.raw_socket import RawSocket
from flare.net.socket_addr import SocketAddr, host_and_port
from flare.sys.clock import Deadline, NO_TIMEOUT_MS
from flare.sys.sockets.socket_option import SocketOption
from flare.tcp.connecting import connect_first

comptime CONNECT_TIMEOUT_MS = 30_000
"""How long connecting may take unless told otherwise, in milliseconds; the
lookup of the name is part of it."""


struct TcpStream(Readable, SocketStream, Writable):
    """A connection; it is closed when its owner goes.

    Each call has a deadline: 30 s for a read or a write unless the timeouts
    are set otherwise. `TCP_NODELAY` is on, so small writes leave at once. Each
    raises `NetworkError` if the connection is closed.

    Errors name the peer and have these kinds, among others:
    `ConnectionRefused`, `ConnectionReset`, `ConnectionTimeout` (connecting),
    `Timeout` (reading, writing), `Unreachable`, `BrokenPipe`, `DnsError`.
    """

    comptime ReadError = NetworkError
    """What a failed read raises."""
    comptime WriteError = NetworkError
    """What a failed write raises."""

    var _socket: BlockingSocket
    var _peer: SocketAddr

    def __init__(
        out self,
        var socket: RawSocket,
        peer: SocketAddr,
        var name: String = String(),
    ):
        """Takes over a connection.

        Args:
            socket: A connected socket.
            peer: Its other side.
            name: What errors call the peer; its address if empty.
        """
        if name.byte_length() == 0:
            name = String(peer)
        self._socket = BlockingSocket(socket^, name^)
        self._peer = peer

    @staticmethod
    def connect(
        host: StringSpan, port: UInt16, timeout_ms: Int = CONNECT_TIMEOUT_MS
    ) raises NetworkError -> Self:
        """Connects to a host, over whichever of its addresses answers first,
        and gives the connection.

        Source: RFC 8305 (Happy Eyeballs): attempts start 250 ms apart, IPv6
        and IPv4 in turn, and the first success ends the others. The system's
        resolver gives both families at once, so section 3 is not needed.

        Args:
            host: A host name, or an address without brackets.
            port: The port.
            timeout_ms: How long all of it may take together, the lookup
                included; negative (`NO_TIMEOUT_MS`) for as long as it takes.

        Raises:
            NetworkError: If the name has no address, or none answers.
        """
        var deadline = Deadline(timeout_ms)
        var ips = resolve_until(host, 0, deadline)
        var addresses = List[SocketAddr](capacity=len(ips))
        for index in range(len(ips)):
            addresses.append(SocketAddr(ips.at(index), port))
        var name = host_and_port(host, port)
        if len(ips) == 1:
            # A host given by address needs no second name.
            var is_numeric = String(ips.at(0)) == host
            if is_numeric:
                name = String(addresses.at(0))
        return Self._connect(addresses, name^, deadline)

    @staticmethod
    def connect(
        address: SocketAddr, timeout_ms: Int = CONNECT_TIMEOUT_MS
    ) raises NetworkError -> Self:
        """Connects to an address, and gives the connection.

        Args:
            address: The other side.
            timeout_ms: How long it may take; negative for as long as it takes.

        Raises:
            NetworkError: If it does not answer; it names the address.
        """
        return Self._connect([address], String(address), Deadline(timeout_ms))

    @staticmethod
    def _connect(
        addresses: List[SocketAddr], var name: String, deadline: Deadline
    ) raises NetworkError -> Self:
        var connected = connect_first(addresses, name, deadline)
        var peer = connected.peer
        var stream = Self(connected^.take_socket(), peer, name^)
        stream.set_nodelay(True)
        return stream^

    def _blocking(ref self) -> ref[self] BlockingSocket:
        # SAFETY: the field lives as long as what it is a field of.
        ref socket = self._socket
        return Pointer(to=socket).unsafe_origin_cast[origin_of(self)]()[]

    def read(
        mut self, start: MutPointer[UInt8, _], count: Int
    ) raises NetworkError -> Int:
        """Reads as the other `read` does, to a place in memory.

        Args:
            start: Where to.
            count: Room in bytes; a count below 1 reads nothing.

        Raises:
            NetworkError: If the connection fails or the time is over.
        """
        if count < 1:
            return 0
        # SAFETY: The caller vouches for `count` bytes after the pointer, as
        # in C; the pointer's origin keeps their owner alive during the call.
        return self._socket.read(Span(unsafe_ptr=start, length=count))

    def set_nodelay(mut self, is_on: Bool) raises NetworkError:
        """Sends small writes at once (on, the default) or gathers them.

        Args:
            is_on: Which.
        """
        self._socket.raw.set_option(SocketOption.NO_DELAY, 1 if is_on else 0)

    def nodelay(self) raises NetworkError -> Bool:
        """Tells whether small writes are sent at once."""
        return self._socket.raw.option(SocketOption.NO_DELAY) != 0

    def set_keepalive(mut self, keepalive: KeepAlive) raises NetworkError:
        """Probes the peer while nothing is sent, to notice that it is gone.

        Args:
            keepalive: When to probe; `KeepAlive.OFF` for never, the default.

        Raises:
            NetworkError: If a value is not one that the system takes.
        """
        set_keepalive(self._socket.raw, keepalive)

    def keepalive(self) raises NetworkError -> Bool:
        """Tells whether a silent peer is probed."""
        return self._socket.raw.option(SocketOption.KEEP_ALIVE) != 0

    def peer_addr(self) -> SocketAddr:
        """Gives the address of the other side, the one that answered."""
        return self._peer

    def local_addr(self) raises NetworkError -> SocketAddr:
        """Reads the address of the own side."""
        return self._socket.raw.local_addr()

    def take_socket(deinit self) -> RawSocket:
        """Takes the socket out, for a reactor."""
        return self._socket^.take_raw()


@fieldwise_init
struct KeepAlive(ImplicitlyCopyable):
    """When a silent connection is probed (RFC 9293 section 3.8.4).

    The peer counts as gone after `idle_s + interval_s * probe_count` seconds.
    """

    var idle_s: Int
    """Silence before the first probe, in seconds; 0 for no probes."""
    var interval_s: Int
    """Time between probes, in seconds."""
    var probe_count: Int
    """Probes without an answer that end the connection."""

    comptime OFF = KeepAlive(0, 0, 0)
    """No probes."""
    comptime ON = KeepAlive(60, 10, 6)
    """Two minutes: sooner than most middle boxes forget a connection."""


def set_keepalive(
    mut socket: RawSocket, keepalive: KeepAlive
) raises NetworkError:
    """Sets the options of a socket. Raises if a value is not one that the
    system takes."""
    if keepalive.idle_s == 0:
        socket.set_option(SocketOption.KEEP_ALIVE, 0)
        return
    socket.set_option(SocketOption.KEEP_IDLE_S, keepalive.idle_s)
    socket.set_option(SocketOption.KEEP_INTERVAL_S, keepalive.interval_s)
    socket.set_option(SocketOption.KEEP_COUNT, keepalive.probe_count)
    socket.set_option(SocketOption.KEEP_ALIVE, 1)


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
        """Listens at an address, and gives the listener.

        Connections of a former run in TIME_WAIT do not stand in the way.

        Args:
            address: Where; port 0 lets the kernel choose one.

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

        Raises:
            NetworkError: If the time is over (`Timeout`), the process has no
                more descriptors (`TooManyOpenFiles`; the connection waits on),
                or the listener is closed.
        """
        var accepted = self._socket.accept(timeout_ms)
        var peer = accepted.peer
        return TcpStream(accepted^.take_socket(), peer)

    def local_addr(self) raises NetworkError -> SocketAddr:
        """Reads the address, with the port that the kernel chose.

        Raises:
            NetworkError: If the listener is closed.
        """
        return self._socket.raw.local_addr()

    def close(mut self):
        """Closes the listener now; a second call does nothing."""
        self._socket.raw.close()

    def fd(self) -> Int32:
        """Lends the descriptor, which is non-blocking, for a reactor; good
        while this listener lives; -1 if closed."""
        return self._socket.raw.fd()

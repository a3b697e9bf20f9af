"""Opens the connections of a load, all at once."""

from flare.net import RawSocket, SocketAddr
from flare.runtime import Interest, Reactor
from flare.sys.clock import monotonic_ns
from flare.sys.sockets.socket_option import SocketOption

comptime CONNECT_MAX_NS = 5_000_000_000
"""Longest wait for the connections."""


def open_sockets(
    mut reactor: Reactor, address: SocketAddr, count: Int
) raises -> List[RawSocket]:
    """Connects and registers sockets; a socket's token is its index.

    Args:
        reactor: Watches them from here on.
        address: The server.
        count: How many.

    Returns:
        The sockets, all connected.

    Raises:
        Error: If one is refused, or not all are there in five seconds.
    """
    var sockets = List[RawSocket](capacity=count)
    for index in range(count):
        var socket = RawSocket.tcp(address.ip.is_v6())
        _ = socket.connect(address)
        socket.set_option(SocketOption.NO_DELAY, 1)
        reactor.register(socket.fd(), UInt64(index), Interest.STREAM)
        sockets.append(socket^)
    var is_open = List[Bool](length=count, fill=False)
    var open_count = 0
    var until_ns = monotonic_ns() + CONNECT_MAX_NS
    while open_count < count:
        if monotonic_ns() > until_ns:
            raise Error(open_count, " of ", count, " connected in 5 s")
        for at in range(reactor.poll(100)):
            var event = reactor.event(at)
            var index = Int(event.token)
            if event.is_writable and not is_open[index]:
                sockets[index].check_connected(address)
                is_open[index] = True
                open_count += 1
    return sockets^

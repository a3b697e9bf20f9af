"""Several listening sockets at one address."""

from flare.net.error import NetworkError
from flare.net.raw_socket import LISTEN_BACKLOG, RawSocket
from flare.sys.socket_option import SocketOption


def share_port(mut socket: RawSocket) raises NetworkError -> RawSocket:
    """Makes another socket that listens where a first one does. Linux alone.

    The kernel spreads connections over all that were made so (`SO_REUSEPORT`).
    Until the first call the port is closed to other sockets, so a server that
    runs twice by mistake is told; afterwards programs of the same user that
    ask for the option may join.

    Args:
        socket: A listening socket.

    Returns:
        The other socket.

    Raises:
        NetworkError: If the kernel refuses.
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

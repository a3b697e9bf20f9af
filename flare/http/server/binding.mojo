"""Where a server listens: at a TCP port, or at a Unix socket."""

from flare.http.server.config import ConfigError, ServerConfig
from flare.net.raw_socket import RawSocket
from flare.net.socket_addr import SocketAddr
from flare.runtime.service_manager import inherited_listeners
from flare.unix.binding import UNIX_BACKLOG, BoundSocket, listen_unix
from flare.unix.unix_addr import UnixAddr


def listen_ip(
    address: SocketAddr, config: ServerConfig
) raises -> List[RawSocket]:
    """Makes a TCP socket that listens, or takes over what was handed over.

    Args:
        address: Where; port 0 lets the kernel choose one.
        config: Says whether to look for what was handed over.

    Returns:
        At least one socket.

    Raises:
        Error: If the address cannot be had, or the configuration contradicts
            itself; the text says which and why.
    """
    config.check()
    var sockets = List[RawSocket]()
    if config.inherits_listeners:
        sockets = inherited_listeners(address)
    if len(sockets) == 0:
        sockets.append(RawSocket.listen_tcp(address))
    return sockets^


def listen_path(
    address: UnixAddr, config: ServerConfig, replace_stale: Bool
) raises -> BoundSocket:
    """Makes a Unix socket that listens.

    Args:
        address: A path or an abstract name.
        config: The server's.
        replace_stale: True to take over the path of a program that died.

    Returns:
        The socket with its file.

    Raises:
        Error: If the address cannot be had, the configuration contradicts
            itself, or it wants to inherit listeners.
    """
    config.check()
    if config.inherits_listeners:
        raise ConfigError(
            "inherits_listeners is on, and only TCP listeners are inherited;"
            " turn it off for bind_unix"
        )
    return listen_unix(address, replace_stale, UNIX_BACKLOG)


def check_inherited(bound: ServerConfig, wants_to: Bool) raises:
    """Refuses a configuration that comes too late to inherit listeners.

    Args:
        bound: What the server was bound with.
        wants_to: Whether the later one wants listeners that were handed over.

    Raises:
        Error: If only the later one does.
    """
    if wants_to and not bound.inherits_listeners:
        raise Error(
            "serve_comptime: bind makes listeners; give it a ServerConfig"
            " with inherits_listeners, too"
        )

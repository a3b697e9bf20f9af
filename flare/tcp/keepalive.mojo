"""Probes that notice a peer which is gone without a word."""

from flare.net.error import NetworkError
from flare.net.raw_socket import RawSocket
from flare.sys.socket_option import SocketOption


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
    """Sets the options of a socket.

    Args:
        socket: A TCP socket.
        keepalive: When to probe.

    Raises:
        NetworkError: If a value is not one that the system takes.
    """
    if keepalive.idle_s == 0:
        socket.set_option(SocketOption.KEEP_ALIVE, 0)
        return
    socket.set_option(SocketOption.KEEP_IDLE_S, keepalive.idle_s)
    socket.set_option(SocketOption.KEEP_INTERVAL_S, keepalive.interval_s)
    socket.set_option(SocketOption.KEEP_COUNT, keepalive.probe_count)
    socket.set_option(SocketOption.KEEP_ALIVE, 1)

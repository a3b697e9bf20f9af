"""Addresses as the kernel has them, to and fro."""

from flare.net.ip import IpAddr
from flare.net.socket_addr import SocketAddr
from flare.sys.sock_addr import AF_INET, AF_INET6, SockAddr


def to_kernel(address: SocketAddr) -> SockAddr:
    """Translates an address for the kernel.

    Args:
        address: An IPv4 or IPv6 socket address.

    Returns:
        The structure.
    """
    if address.ip.is_v4():
        return SockAddr.inet(address.ip.v4_octets(), address.port)
    return SockAddr.inet6(address.ip.v6_octets(), address.port)


def from_kernel(address: SockAddr) -> SocketAddr:
    """Translates an address of the kernel.

    Args:
        address: A structure of any family.

    Returns:
        The address; 0.0.0.0:0 for a family that is not IP.
    """
    if address.family() == AF_INET:
        return SocketAddr(
            IpAddr.from_v4_octets(address.inet_octets()), address.port()
        )
    if address.family() == AF_INET6:
        return SocketAddr(
            IpAddr.from_v6_octets(address.inet6_octets()), address.port()
        )
    return SocketAddr.any(0)

"""Addresses, network errors and raw sockets."""

from flare.net.blocking_socket import SocketOwner, SocketStream
from flare.net.error import (
    AddressInUse,
    AddressNotAvailable,
    AddressParseError,
    BadAddress,
    BrokenPipe,
    ConnectionRefused,
    ConnectionReset,
    ConnectionTimeout,
    DatagramTooLarge,
    DnsError,
    NameLookupFailed,
    NameNotFound,
    NameRefused,
    NetworkError,
    NetworkErrorKind,
    NotConnected,
    OtherError,
    PathNotFound,
    PermissionDenied,
    Timeout,
    TooManyOpenFiles,
    Unreachable,
    WouldBlock,
)
from flare.net.ip import IpAddr
from flare.net.ip import IpNetwork
from flare.net.raw_socket import RawSocket, Shutdown
from flare.net.socket_addr import SocketAddr
from flare.net.ip import ZonedIpAddr

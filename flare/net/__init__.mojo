"""Addresses, network errors and raw sockets."""

from flare.net.address_parse_error import AddressParseError
from flare.net.ip import IpAddr
from flare.net.ip_network import IpNetwork
from flare.net.socket_addr import SocketAddr

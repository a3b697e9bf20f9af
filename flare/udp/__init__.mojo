"""UDP sockets with calls that wait."""

from flare.net.error import DatagramTooLarge
from flare.sys.deadline import NO_TIMEOUT_MS
from flare.udp.multicast_interface import MulticastInterface
from flare.udp.socket import Datagram, UdpSocket

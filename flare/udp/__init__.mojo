"""UDP sockets with calls that wait."""

from flare.net.error import DatagramTooLarge
from flare.sys.clock import NO_TIMEOUT_MS
from flare.udp.socket import Datagram, MulticastInterface, UdpSocket

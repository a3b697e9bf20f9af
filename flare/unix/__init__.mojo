"""Sockets between the programs of one machine, with calls that wait."""

from flare.net.error import DatagramTooLarge
from flare.net.raw_socket import Shutdown
from flare.sys.clock import NO_TIMEOUT_MS
from flare.unix.datagram import UnixDatagram, UnixMessage
from flare.unix.stream import UnixListener
from flare.unix.stream import UnixStream
from flare.unix.unix_addr import UnixAddr

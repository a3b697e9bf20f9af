"""TCP streams and listeners with calls that wait."""

from flare.net.raw_socket import Shutdown
from flare.sys.clock import NO_TIMEOUT_MS
from flare.tcp.stream import TcpListener
from flare.tcp.stream import KeepAlive, TcpStream

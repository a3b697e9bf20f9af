"""TCP streams and listeners with calls that wait."""

from flare.net.shutdown import Shutdown
from flare.sys.deadline import NO_TIMEOUT_MS
from flare.tcp.keepalive import KeepAlive
from flare.tcp.listener import TcpListener
from flare.tcp.stream import TcpStream

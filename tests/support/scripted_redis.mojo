"""What a scripted server of Redis has: clients that ask, one read after the other."""

from flare.net.socket_addr import SocketAddr
from flare.redis.config import RedisConfig
from flare.tcp.stream import TcpListener, TcpStream
from tests.support.loopback import PATIENCE_MS

comptime UNKNOWN_COMMAND = StaticString("-ERR unknown command\r\n")
"""The answer of servers to what they do not know, such as HELLO."""


def listen() raises -> TcpListener:
    """Binds a free port of this machine."""
    return TcpListener.bind(SocketAddr.localhost(0))


def config_of(
    listener: TcpListener, *, protocol: Int = 2
) raises -> RedisConfig:
    """Makes the settings of a client of it, which asks for RESP2 unless another
    protocol is given: then nothing is sent before the first command."""
    var config = RedisConfig()
    config.port = listener.local_addr().port
    config.protocol = protocol
    return config^


struct Asking(Movable):
    """A client, as its server sees it.

    var client = Asking(listener)
    while client.asks():
        client.say("+OK\\r\\n")
    """

    var stream: TcpStream
    var asked: String
    """What came with the last read: commands that were sent together."""
    var _room: List[UInt8]

    def __init__(out self, mut listener: TcpListener) raises:
        """Waits for a client."""
        self.stream = listener.accept(PATIENCE_MS)
        self.stream.set_read_timeout(PATIENCE_MS)
        self.asked = String()
        self._room = List[UInt8](length=4_096, fill=0)

    def asks(mut self) raises -> Bool:
        """Waits for what it asks; False when it has ended the connection."""
        var count = self.stream.read(self._room)
        self.asked = String(from_utf8_lossy=Span(self._room)[:count])
        return count > 0

    def say(mut self, answer: StringSpan) raises:
        """Answers it."""
        self.stream.write_all(answer.as_bytes())

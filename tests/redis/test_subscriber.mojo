"""What a subscriber gives out of what a server says."""

from flare.net.socket_addr import SocketAddr
from flare.redis.config import RedisConfig
from flare.redis.subscriber import RedisSubscriber
from flare.sys.thread import Task, Thread
from flare.tcp.stream import TcpListener
from tests.support.assertions import assert_equal
from tests.support.loopback import PATIENCE_MS


@fieldwise_init
struct _Pushing(Task):
    """Says the same behind whatever it is asked first."""

    var _listener: TcpListener
    var _said: String

    def run(mut self) raises:
        var stream = self._listener.accept(PATIENCE_MS)
        stream.set_read_timeout(PATIENCE_MS)
        var room = List[UInt8](length=4_096, fill=0)
        _ = stream.read(room)
        stream.write_all(self._said.as_bytes())
        while stream.read(room) > 0:
            pass


def test_messages_of_channels_and_patterns_are_given_alone() raises:
    """Redis, Pub/Sub: `message` has channel and payload, `pmessage` pattern,
    channel and payload; `smessage` is of a sharded channel, which nobody can
    ask this subscriber for, and has the form of a `message`."""
    var said = String(
        "*3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n",
        "*3\r\n$8\r\nsmessage\r\n$4\r\nnews\r\n$1\r\nx\r\n",
        "*3\r\n$7\r\nmissing\r\n$4\r\nnews\r\n$1\r\nx\r\n",
        "*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$1\r\na\r\n",
        "*4\r\n$8\r\npmessage\r\n$2\r\nn*\r\n$4\r\nnews\r\n$1\r\nb\r\n",
    )
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var config = RedisConfig()
    config.port = listener.local_addr().port
    config.protocol = 2
    var server = Thread(_Pushing(listener^, said^))
    var subscriber = RedisSubscriber(config^)
    subscriber.subscribe("news")
    var found = String()
    for _ in range(2):
        var message = subscriber.receive(timeout_ms=PATIENCE_MS).value()
        found.write(message.pattern(), " ", message.channel(), " ")
        found.write(message.text(), "; ")
    assert_equal(found, "news news a; n* news b; ")
    subscriber.close()
    server^.join()

"""What a subscriber gives out of what a server says."""

from flare.redis.subscriber import RedisSubscriber
from flare.sys.thread import Task, Thread
from flare.tcp.stream import TcpListener
from tests.support.assertions import assert_equal
from tests.support.loopback import PATIENCE_MS
from tests.support.scripted_redis import Asking, config_of, listen


@fieldwise_init
struct _Pushing(Task):
    """Says the same behind whatever it is asked first."""

    var _listener: TcpListener
    var _said: String

    def run(mut self) raises:
        var client = Asking(self._listener)
        _ = client.asks()
        client.say(self._said)
        while client.asks():
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
    var listener = listen()
    var subscriber = RedisSubscriber(config_of(listener))
    var server = Thread(_Pushing(listener^, said^))
    subscriber.subscribe("news")
    var found = String()
    for _ in range(2):
        var message = subscriber.receive(timeout_ms=PATIENCE_MS).value()
        found.write(message.pattern(), " ", message.channel(), " ")
        found.write(message.text(), "; ")
    assert_equal(found, "news news a; n* news b; ")
    subscriber.close()
    server^.join()

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


@fieldwise_init
struct _Living(Task):
    """Confirms subscriptions as it is told, answers each PING as it is told, and
    has a message behind it."""

    var _listener: TcpListener
    var _confirmation: String
    var _pong: String

    def run(mut self) raises:
        var client = Asking(self._listener)
        while client.asks():
            var said = String()
            if "SUBSCRIBE" in client.asked:
                said += self._confirmation
            if "PING" in client.asked:
                said += self._pong
                said += "*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$1\r\na\r\n"
            client.say(said)


comptime _CONFIRMED = StaticString(
    "*3\r\n$9\r\nsubscribe\r\n$4\r\nnews\r\n:1\r\n"
)


def _heard(confirmation: StringSpan, pong: StringSpan) raises -> String:
    """Asks for a sign of life behind a subscription, and twice for a message;
    gives them, or the kind of the error."""
    var listener = listen()
    var subscriber = RedisSubscriber(config_of(listener))
    var server = Thread(_Living(listener^, String(confirmation), String(pong)))
    subscriber.subscribe("news")
    subscriber.check_connection()
    var found = String()
    for _ in range(2):
        try:
            var message = subscriber.receive(timeout_ms=PATIENCE_MS)
            found += message.value().text()
        except error:
            found += String(error.kind, " ")
        if found.endswith("a"):
            break
    subscriber.close()
    server^.join()
    return found


def test_any_answer_to_a_ping_is_a_sign_of_life() raises:
    """Redis, PING is refused while data is loaded (LOADING), a script holds the
    server (BUSY), snapshots cannot be written (MISCONF), and a replica has lost
    its master (MASTERDOWN): subscriptions go on all the while."""
    for pong in [
        "+PONG\r\n",
        "*2\r\n$4\r\npong\r\n$0\r\n\r\n",
        "-LOADING Redis is loading the dataset in memory\r\n",
        "-BUSY Redis is busy running a script.\r\n",
        "-MISCONF Redis is configured to save RDB snapshots\r\n",
        "-MASTERDOWN Link with MASTER is down\r\n",
        "-NOPERM this user has no permissions to run the 'ping' command\r\n",
    ]:
        assert_equal(_heard(_CONFIRMED, pong), "a", String(pong))


def test_a_subscription_that_is_refused_is_told_of() raises:
    """Redis, ACL: channels are granted one by one. The refusal is that of the
    subscription, though a PING is on its way, too."""
    for pong in ["+PONG\r\n", "-BUSY Redis is busy running a script.\r\n"]:
        assert_equal(
            _heard("-NOPERM No permissions to access a channel\r\n", pong),
            "NoPermission a",
            String(pong),
        )

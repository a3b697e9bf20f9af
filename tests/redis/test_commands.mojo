"""What typed commands make of answers that servers seldom give."""

from flare.redis.client import RedisClient
from flare.redis.core.error import RedisErrorKind
from flare.sys.mutex import Mutex
from flare.sys.thread import Task, Thread
from flare.tcp.stream import TcpListener
from tests.support.assertions import assert_equal, assert_true
from tests.support.scripted_redis import Asking, config_of, listen


@fieldwise_init
struct _Scanned(Task):
    """Answers each command with the same page of keys, and keeps what it was
    asked."""

    var _listener: TcpListener
    var _cursor: String
    var _asked: Mutex[String]

    def run(mut self) raises:
        var client = Asking(self._listener)
        while client.asks():
            self._asked.lock()[] = client.asked
            client.say(
                String(
                    "*2\r\n$",
                    self._cursor.byte_length(),
                    "\r\n",
                    self._cursor,
                    "\r\n*1\r\n$1\r\nk\r\n",
                )
            )


def test_cursors_have_64_bits_without_a_sign() raises:
    """Redis, SCAN: a cursor is an unsigned number of 64 bits, and goes back as it
    came."""
    for cursor in [
        "0",
        "17",
        "9223372036854775807",
        "9223372036854775808",
        "18446744073709551615",
    ]:
        var listener = listen()
        var asked = Mutex(String())
        var config = config_of(listener)
        var server = Thread(_Scanned(listener^, String(cursor), asked))
        var client = RedisClient(config^)
        var page = client.scan()
        assert_equal(len(page.keys), 1)
        _ = client.scan(page.cursor)
        assert_true(
            String("SCAN\r\n$", cursor.byte_length(), "\r\n", cursor, "\r\n")
            in asked.lock()[],
            asked.lock()[],
        )
        client.close()
        server^.join()


def test_what_is_no_cursor_is_told_of() raises:
    for cursor in ["", "-1", "x", "18446744073709551616", "1" * 40]:
        var listener = listen()
        var config = config_of(listener)
        var server = Thread(
            _Scanned(listener^, String(cursor), Mutex(String()))
        )
        var client = RedisClient(config^)
        var kind = RedisErrorKind.REFUSED
        try:
            _ = client.scan()
        except error:
            kind = error.kind
        assert_true(kind == RedisErrorKind.UNEXPECTED_REPLY, String(cursor))
        client.close()
        server^.join()

"""What a pool lends again, with a server that says yes to all, and what becomes
of its connections behind a fork."""

from flare.redis.client import RedisClient
from flare.redis.config import RedisConfig
from flare.redis.pipeline import Pipeline
from flare.redis.pool import RedisPool
from flare.sys.thread import Task, Thread
from flare.tcp.stream import TcpListener
from flare.tls.config import TlsConfig
from tests.support.assertions import (
    assert_equal,
    assert_raises,
    assert_true,
)
from tests.support.scripted_redis import Asking, config_of, listen


@fieldwise_init
struct _Yes(Task):
    """Says OK to each command of one connection, until that ends."""

    var _listener: TcpListener

    def run(mut self) raises:
        var client = Asking(self._listener)
        while client.asks():
            client.say("+OK\r\n")


def _kept_behind(name: StringSpan, *, piped: Bool) raises -> Int:
    """Counts the connections that a pool keeps behind a command."""
    var listener = listen()
    var pool = RedisPool(config_of(listener))
    var server = Thread(_Yes(listener^))
    var redis = pool.acquire()
    if piped:
        var pipe = Pipeline()
        pipe.command(name, "a")
        _ = redis[].execute(pipe)
    else:
        redis[].command(name, "a").check()
    _ = redis^
    var count = pool.idle_count()
    pool.close()
    server^.join()
    return count


def test_a_connection_that_was_altered_is_not_lent_again() raises:
    """Redis, Commands: these are about the connection, so the next one who has
    it would be in a transaction, or in another database."""
    for name in [
        "WATCH",
        "MULTI",
        "multi",
        "SELECT",
        "AUTH",
        "HELLO",
        "CLIENT",
        "READONLY",
    ]:
        for piped in [False, True]:
            assert_equal(_kept_behind(name, piped=piped), 0, String(name))


def test_other_connections_are_lent_again() raises:
    for name in ["SET", "PUBLISH", "GET", "EVAL"]:
        for piped in [False, True]:
            assert_equal(_kept_behind(name, piped=piped), 1, String(name))


@fieldwise_init
struct _Twice(Task):
    """Says OK to what comes on two connections, the second one first."""

    var _listener: TcpListener

    def run(mut self) raises:
        var first = Asking(self._listener)
        _ = first.asks()
        first.say("+OK\r\n")
        var second = Asking(self._listener)
        while second.asks():
            second.say("+OK\r\n")


def _served_twice(mut config: RedisConfig) raises -> Thread:
    var listener = listen()
    config = config_of(listener)
    config.timeout_ms = 2_000
    return Thread(_Twice(listener^))


def test_a_process_sends_nothing_for_another_one() raises:
    """RESP: answers come in the order of commands, and nothing else says which
    belongs to what."""
    var config = RedisConfig()
    var server = _served_twice(config)
    var client = RedisClient(config^)
    client.set("a", "b")
    # As a process sees it that was forked from one with that number.
    client._link.connection._process = 1
    client.set("a", "b")
    assert_equal(client.connect_count(), 2)
    client.close()
    server^.join()


def test_a_state_of_before_a_fork_is_missed() raises:
    """In another database a command must not be carried out unasked."""
    var config = RedisConfig()
    var server = _served_twice(config)
    var client = RedisClient(config^)
    client.command("SELECT", 3).check()
    client._link.connection._process = 1
    with assert_raises(contains="forked"):
        client.set("a", "b")
    client.set("a", "b")
    assert_equal(client.connect_count(), 2)
    client.close()
    server^.join()


def test_a_pool_lends_nothing_of_another_process() raises:
    var config = RedisConfig()
    var server = _served_twice(config)
    var pool = RedisPool(config^)
    var redis = pool.acquire()
    redis[].set("a", "b")
    _ = redis^
    var held = pool.acquire()
    assert_equal(pool.lent_count(), 1)
    pool._shelf.lock()[].process = 1
    held._process = 1
    var own = pool.acquire()
    own[].set("a", "b")
    assert_equal(own[].connect_count(), 1)
    assert_equal(pool.lent_count(), 1)
    # Nor does it count what comes back.
    _ = held^
    assert_equal(pool.lent_count(), 1)
    _ = own^
    assert_equal(pool.lent_count(), 0)
    assert_equal(pool.idle_count(), 1)
    pool.close()
    server^.join()


def test_connections_of_a_pool_trust_by_one_context() raises:
    """RFC 8446 section 2.2: a ticket serves the next connection; what is trusted
    is read once, and what cannot be read is refused at once."""
    var pool = RedisPool(RedisConfig.from_url("rediss://127.0.0.1:1"))
    var first = pool.acquire()
    var second = pool.acquire()
    for count in [
        first[]._link._context.value()._shared.count(),
        second[]._link._context.value()._shared.count(),
    ]:
        assert_true(Int(count) >= 3, String(count))
    _ = first^
    _ = second^
    var config = RedisConfig.from_url("rediss://127.0.0.1:1")
    config.tls = TlsConfig(ca_file="/no/such/file.pem")
    with assert_raises(contains="/no/such/file.pem"):
        _ = RedisPool(config^)

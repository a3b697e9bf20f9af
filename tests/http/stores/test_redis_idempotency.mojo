"""What becomes of a key whose taking was not answered."""

from flare.http.middleware.idempotency_store import KeyClaim
from flare.http.stores.redis_idempotency import RedisIdempotency
from flare.redis.pool import RedisPool, RedisPoolConfig
from flare.sys.mutex import Mutex
from flare.sys.thread import Task, Thread
from flare.tcp.stream import TcpListener
from tests.support.assertions import assert_equal, assert_raises, assert_true
from tests.support.scripted_redis import Asking, config_of, listen


@fieldwise_init
struct _Cut(Task):
    """Ends its first connection with the first command, in place of an answer
    if there is none; keeps what comes on the second one."""

    var _listener: TcpListener
    var _answer: String
    var _asked: Mutex[String]

    def run(mut self) raises:
        var first = Asking(self._listener)
        _ = first.asks()
        if self._answer.byte_length() > 0:
            first.say(self._answer)
            while first.asks():
                self._asked.lock()[] += first.asked
                first.say(self._answer)
            return
        first.stream.close()
        var second = Asking(self._listener)
        while second.asks():
            self._asked.lock()[] += second.asked
            second.say(":1\r\n")


def _asked_behind(answer: StringSpan) raises -> String:
    """Takes a key, with the pool's only connection; gives what is asked behind
    that."""
    var listener = listen()
    var bounds = RedisPoolConfig()
    bounds.connections_max = 1
    bounds.wait_ms = 0
    var pool = RedisPool(config_of(listener), bounds^)
    var store = RedisIdempotency(pool.copy())
    var asked = Mutex(String())
    var server = Thread(_Cut(listener^, String(answer), asked))
    with assert_raises(contains="redis"):
        _ = store.begin(KeyClaim("key", "print", "owner-1"), 60_000)
    pool.close()
    server^.join()
    return asked.lock()[].copy()


def test_a_key_whose_taking_was_not_answered_is_let_go() raises:
    """draft-ietf-httpapi-idempotency-key-header section 2.6: a request that was
    not carried out may be retried. The script that took the key may have run,
    though its answer is lost, and nobody else would let the key go."""
    var asked = _asked_behind("")
    assert_true("EVALSHA" in asked, asked)
    assert_true("idempotency:key" in asked, asked)
    assert_true(asked.endswith("owner-1\r\n"), asked)


def test_a_key_that_was_refused_is_not_let_go() raises:
    """A server that says no has taken nothing."""
    for answer in ["-OOM used memory > 'maxmemory'\r\n", "-BUSY script\r\n"]:
        assert_equal(_asked_behind(answer), "", String(answer))

"""Idle connections, without any connection."""

from flare.http.client.pool import Endpoint, Pool, PoolLimits, keep_alive_ms
from flare.http.client.config import ClientConfig
from flare.http.message.header_map import HeaderMap
from tests.support.assertions import assert_equal, assert_false, assert_true


def _pool(max_idle: Int = 3, per_host: Int = 2) -> Pool[Int]:
    return Pool[Int](PoolLimits(max_idle, per_host, 1_000))


def _to(host: String, port: UInt16 = 80, is_tls: Bool = False) -> Endpoint:
    var endpoint = Endpoint(host, port)
    endpoint.is_tls = is_tls
    return endpoint^


def _take(mut pool: Pool[Int], endpoint: Endpoint, now_ms: Int = 0) -> Int:
    var found = pool.take(endpoint, now_ms)
    return found.take() if found else -1


def test_the_last_to_come_is_the_first_to_go() raises:
    var pool = _pool()
    pool.put(_to("a"), 1, 0)
    pool.put(_to("a"), 2, 1)
    assert_equal(_take(pool, _to("a"), 2), 2)
    assert_equal(_take(pool, _to("a"), 2), 1)
    assert_equal(_take(pool, _to("a"), 2), -1)


def test_only_what_leads_to_the_same_place_is_shared() raises:
    var pool = _pool()
    pool.put(_to("a"), 1, 0)
    assert_equal(_take(pool, _to("b")), -1)
    assert_equal(_take(pool, _to("a", 81)), -1)
    assert_equal(_take(pool, _to("a", 80, is_tls=True)), -1)
    var other = _to("a")
    other.proxy = "p:3128"
    assert_equal(_take(pool, other), -1)
    other = _to("a")
    other.is_unix = True
    assert_equal(_take(pool, other), -1)
    assert_equal(_take(pool, _to("a")), 1)


def test_a_host_keeps_so_many() raises:
    var pool = _pool()
    for number in range(4):
        pool.put(_to("a"), number, number)
    assert_equal(len(pool), 2)
    assert_equal(_take(pool, _to("a"), 4), 3)
    assert_equal(_take(pool, _to("a"), 4), 2)


def test_all_together_keep_so_many() raises:
    var pool = _pool()
    for number in range(5):
        pool.put(_to(String("h", number)), number, number)
    assert_equal(len(pool), 3)
    assert_equal(_take(pool, _to("h1"), 5), -1)
    assert_equal(_take(pool, _to("h2"), 5), 2)
    assert_equal(_take(pool, _to("h4"), 5), 4)


def test_waiting_ends() raises:
    var pool = _pool()
    pool.put(_to("a"), 1, 0)
    pool.put(_to("a"), 2, 500)
    assert_equal(_take(pool, _to("a"), 1_499), 2)
    pool.put(_to("a"), 3, 1_499)
    pool.expire(2_498)
    assert_equal(len(pool), 1)
    pool.expire(2_499)
    assert_equal(len(pool), 0)


def test_servers_say_how_long_they_wait() raises:
    """RFC 2068 section 19.7.1.1."""
    var pool = _pool(5, 5)
    pool.put(_to("a"), 1, 0, 2_000)
    pool.put(_to("a"), 2, 0, 100)
    pool.put(_to("a"), 3, 0, 0)
    assert_equal(len(pool), 2)
    pool.expire(99)
    assert_equal(len(pool), 2)
    # The one that came last ends first.
    pool.expire(100)
    assert_equal(_take(pool, _to("a"), 100), 1)
    # Nobody waits longer than the client wants to.
    pool.put(_to("a"), 1, 0, 2_000)
    pool.expire(1_000)
    assert_equal(len(pool), 0)
    pool = Pool[Int](PoolLimits(5, 5, -1))
    pool.put(_to("a"), 1, 0)
    pool.put(_to("a"), 2, 0, 50)
    pool.expire(1 << 40)
    assert_equal(_take(pool, _to("a"), 1 << 40), 1)


@fieldwise_init
struct _KeepAlive(Copyable, Movable):
    var value: StaticString
    var timeout_ms: Int


def test_keep_alive() raises:
    var rows: List[_KeepAlive] = [
        _KeepAlive("timeout=5, max=100", 4_000),
        _KeepAlive("max=100,Timeout=75", 74_000),
        _KeepAlive("timeout=1", 500),
        _KeepAlive("timeout=0", 0),
        _KeepAlive("timeout=99999999999999999999", 999_999_998_000),
        _KeepAlive("timeout=", -1),
        _KeepAlive("timeout=-1", -1),
        _KeepAlive("timeout=5x", -1),
        _KeepAlive("max=5", -1),
        _KeepAlive("", -1),
    ]
    for row in rows:
        var headers = HeaderMap()
        headers.set("Connection", "keep-alive")
        assert_equal(keep_alive_ms(headers), -1)
        headers.set("Keep-Alive", row.value)
        assert_equal(keep_alive_ms(headers), row.timeout_ms, row.value)


def test_a_wide_batch_fits_the_default() raises:
    """What `send_all(max_parallel=100)` has opened waits for the next batch."""
    var pool = Pool[Int](ClientConfig().pool)
    for number in range(100):
        pool.put(_to("a"), number, 0)
    assert_equal(len(pool), 100)


def test_none_may_wait() raises:
    var pool = _pool(0, 2)
    pool.put(_to("a"), 1, 0)
    assert_equal(len(pool), 0)
    pool = _pool(2, 0)
    pool.put(_to("a"), 1, 0)
    assert_equal(len(pool), 0)
    pool = _pool()
    pool.put(_to("a"), 1, 0)
    pool.clear()
    assert_equal(len(pool), 0)

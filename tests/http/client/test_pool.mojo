"""Idle connections, without any connection."""

from flare.http.client.endpoint import Endpoint
from flare.http.client.pool import Pool, PoolLimits
from std.testing import assert_equal, assert_false, assert_true


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

"""Where connections of a client lead."""

from flare.http.client.message.config import ClientConfig
from flare.http.client.connect.connection import (
    Endpoint,
    HTTP1_COUNT_MAX,
    Http1Endpoints,
)
from flare.http.exchange.idle_pool import IdlePool, PoolLimits
from tests.support.assertions import assert_equal, assert_false, assert_true

comptime _Pool = IdlePool[Endpoint, Int]


def _to(host: String, port: UInt16 = 80, is_tls: Bool = False) -> Endpoint:
    var endpoint = Endpoint(host, port)
    endpoint.is_tls = is_tls
    return endpoint^


def _take(mut pool: _Pool, endpoint: Endpoint) -> Int:
    var found = pool.take(endpoint, 0)
    return found.take() if found else -1


def test_only_what_leads_to_the_same_place_is_shared() raises:
    var pool = _Pool(PoolLimits(3, 2, 1_000))
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


def test_an_address_is_named_in_brackets() raises:
    """RFC 3986 section 3.2.2: without them, who reads an error cannot tell the
    port from the last part of the address."""
    assert_equal(_to("::1").name(), "[::1]:80")
    assert_equal(_to("::1", is_tls=True).origin(), "https://[::1]:80")
    assert_equal(_to("127.0.0.1").name(), "127.0.0.1:80")
    assert_equal(_to("a.test", 81).name(), "a.test:81")


def test_a_wide_batch_fits_the_default() raises:
    """What `send_all(max_parallel=100)` has opened waits for the next batch."""
    var pool = _Pool(ClientConfig().pool)
    for number in range(100):
        pool.put(_to("a"), number, 0)
    assert_equal(len(pool), 100)


def _numbered(number: Int) -> Endpoint:
    return Endpoint(String("a", number, ".test"), 443)


def test_the_last_choice_counts() raises:
    var known = Http1Endpoints()
    assert_false(_numbered(1) in known)
    known.add(_numbered(1))
    known.add(_numbered(1))
    assert_true(_numbered(1) in known)
    var other = _numbered(1)
    other.proxy = "proxy:3128"
    assert_false(other in known)
    # RFC 7301 section 3.2: the server chooses for each connection.
    known.remove(_numbered(1))
    assert_false(_numbered(1) in known)
    known.remove(_numbered(1))


def test_only_so_many_are_remembered() raises:
    var known = Http1Endpoints()
    for number in range(HTTP1_COUNT_MAX + 1):
        known.add(_numbered(number))
    assert_false(_numbered(0) in known)
    for number in range(1, HTTP1_COUNT_MAX + 1):
        assert_true(_numbered(number) in known, String(number))

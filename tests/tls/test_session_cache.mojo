"""Tests of the tickets that clients keep."""

from flare.tls.session_cache import TICKET_COUNT_MAX, TlsSessionCache
from std.testing import assert_equal


def test_cache_gives_each_ticket_once() raises:
    var cache = TlsSessionCache()
    var other = cache
    cache.put("a:1", [UInt8(1)])
    cache.put("a:1", [UInt8(2), 3])
    cache.put("b:1", [UInt8(9)])
    cache.put("c:1", List[UInt8]())
    assert_equal(len(other.take("a:1")), 2)
    assert_equal(len(other.take("a:1")), 0)
    assert_equal(len(other.take("c:1")), 0)
    assert_equal(len(cache.take("b:1")), 1)


def test_cache_is_bounded() raises:
    var cache = TlsSessionCache()
    for number in range(TICKET_COUNT_MAX + 2):
        cache.put(String(number), [UInt8(1)])
        cache.put("0", [UInt8(1)])
    assert_equal(len(cache.take("0")), 1)
    assert_equal(len(cache.take("1")), 0)
    assert_equal(len(cache.take("4")), 1)
    assert_equal(len(cache.take(String(TICKET_COUNT_MAX + 1))), 1)

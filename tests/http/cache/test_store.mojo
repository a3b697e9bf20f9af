"""The store: which responses are found, which go, and who fetches."""

from flare.http.cache.core.cache_control import CacheControl
from flare.http.cache.core.freshness import ExchangeTimes
from flare.http.cache.core.policy import CachePolicy
from flare.http.cache.core.stored_response import Reuse, StoredResponse
from flare.http.cache.fetches import FetchState
from flare.http.cache.shard import CacheShard, VARIANT_COUNT_MAX
from flare.http.cache.store import CacheStore, CopyRoom
from flare.http.message.body import Body
from flare.http.message.header_map import HeaderMap
from flare.http.message.owned_request import OwnedRequest
from std.memory import ArcPointer
from tests.support.assertions import (
    assert_equal,
    assert_false,
    assert_raises,
    assert_true,
)

comptime NOW_S = 1_000_000_000
comptime TIMES = ExchangeTimes(NOW_S, NOW_S)


def _stored(
    text: StringSpan, language: StringSpan = ""
) raises -> StoredResponse:
    var owned = _asking(language)
    var headers = HeaderMap()
    headers.append("Cache-Control", "max-age=60")
    if language.byte_length() > 0:
        headers.append("Vary", "Accept-Language")
    var stored = StoredResponse(
        200,
        headers,
        Body(String(text)),
        owned.view().headers,
        policy=CachePolicy(),
        times=TIMES,
    )
    _ = owned^
    return stored^


def _asking(language: StringSpan) raises -> OwnedRequest:
    var owned = OwnedRequest("GET", "/")
    if language.byte_length() > 0:
        owned.add_header("Accept-Language", language)
    return owned^


def _found(
    store: CacheStore, key: StringSpan, language: StringSpan = ""
) raises -> String:
    var owned = _asking(language)
    var found = store.look_up(
        key, owned.view().headers, CacheControl(), CachePolicy(), NOW_S
    )
    _ = owned^
    if not found.response:
        return "-"
    return found.response.value()[].body.text()


def test_put_and_find() raises:
    var store = CacheStore()
    assert_equal(_found(store, "http://a/"), "-")
    assert_true(store.put("http://a/", _stored("one")))
    assert_true(store.put("http://b/", _stored("two")))
    assert_equal(_found(store, "http://a/"), "one")
    assert_true(store.put("http://a/", _stored("three")))
    assert_equal(_found(store, "http://a/"), "three")
    assert_equal(_found(store, "http://b/"), "two")
    var stats = store.stats()
    assert_equal(stats.entry_count, 2)
    assert_equal(stats.hit_count, 3)
    assert_equal(stats.miss_count, 1)
    assert_equal(stats.stored_count, 3)


def test_content_is_shared() raises:
    """A hit copies no content: all have the same octets."""
    var store = CacheStore()
    _ = store.put("k", _stored(String("x") * 1_000))
    var owned = _asking("")
    var found = store.look_up(
        "k", owned.view().headers, CacheControl(), CachePolicy(), NOW_S
    )
    _ = owned^
    var first = found.response.value()[].body.copy()
    var second = found.response.value()[].body.copy()
    assert_true(first.as_bytes().unsafe_ptr() == second.as_bytes().unsafe_ptr())


def test_variants() raises:
    """9111-4.1."""
    var store = CacheStore()
    _ = store.put("k", _stored("guten Tag", "de"))
    _ = store.put("k", _stored("hello", "en"))
    assert_equal(_found(store, "k", "de"), "guten Tag")
    assert_equal(_found(store, "k", "en"), "hello")
    assert_equal(_found(store, "k", "fr"), "-")
    _ = store.put("k", _stored("moin", "DE"))
    assert_equal(_found(store, "k", "de"), "moin")
    assert_equal(store.stats().entry_count, 2)
    assert_equal(store.purge("k"), 0, "a key is a URL")


def test_variants_are_bounded() raises:
    var store = CacheStore()
    for number in range(3 * VARIANT_COUNT_MAX):
        _ = store.put("k", _stored("x", String("l", number)))
    assert_true(store.stats().entry_count <= VARIANT_COUNT_MAX)
    assert_equal(_found(store, "k", "l0"), "-")
    assert_equal(
        _found(store, "k", String("l", 3 * VARIANT_COUNT_MAX - 1)), "x"
    )


def test_bounds() raises:
    var store = CacheStore(octet_max=100_000)
    for number in range(500):
        _ = store.put(String("http://a/", number), _stored(String("x") * 1_000))
        assert_true(store.stats().octet_count <= 100_000)
    assert_true(store.stats().entry_count > 30)
    assert_equal(store.stats().evicted_count + store.stats().entry_count, 500)
    assert_false(store.put("http://a/long", _stored(String("x") * 100_001)))
    var few = CacheStore(entry_max=3)
    for number in range(10):
        _ = few.put(String("http://a/", number), _stored("x"))
    assert_equal(few.stats().entry_count, 3)


def test_what_is_used_stays() raises:
    """SIEVE: a mark spares a response once."""
    var shard = CacheShard()
    var owned = _asking("")
    for number in range(4):
        _ = shard.put(
            String(number), UInt64(number), ArcPointer(_stored("x")), 10
        )
    _ = shard.select("0", 0, owned.view().headers)
    _ = shard.select("2", 2, owned.view().headers)
    _ = owned^
    assert_equal(shard.evict().entries, 1)
    assert_true(shard.has_key("0", 0))
    assert_false(shard.has_key("1", 1))
    # The hand goes on where it was: 2 is spared, 3 goes.
    assert_equal(shard.evict().entries, 1)
    assert_true(shard.has_key("2", 2))
    assert_false(shard.has_key("3", 3))
    # Marks are gone: from the oldest again.
    assert_equal(shard.evict().octets, 10)
    assert_false(shard.has_key("0", 0))
    assert_equal(shard.evict().entries, 1)
    assert_equal(shard.evict().entries, 0)
    assert_equal(len(shard), 0)


def test_colliding_hashes() raises:
    """Two keys of one hash never get each other's responses."""
    var shard = CacheShard()
    var owned = _asking("")
    _ = shard.put("a", 7, ArcPointer(_stored("x")), 10)
    assert_false(Bool(shard.select("b", 7, owned.view().headers)))
    var freed = shard.put("b", 7, ArcPointer(_stored("y")), 20)
    assert_equal(freed.octets, 10)
    assert_false(Bool(shard.select("a", 7, owned.view().headers)))
    assert_true(Bool(shard.select("b", 7, owned.view().headers)))
    assert_equal(len(shard), 1)
    _ = owned^


def test_purge() raises:
    var store = CacheStore()
    for path in ["a", "a/b", "a/c", "d"]:
        _ = store.put(String("http://h/", path), _stored(path))
    assert_equal(store.purge("http://H:80/a#x"), 1)
    assert_equal(store.purge("http://h/a"), 0)
    assert_equal(store.purge_prefix("http://h/a/"), 2)
    assert_equal(_found(store, "http://h/d"), "d")
    # A host is whole, and so is what stands for it.
    for part in ["http://", "http://H:80", "http://hh", "http:", "htt"]:
        var count = Int(part == "http://H:80")
        assert_equal(store.purge_prefix(part), count, part)
        if count > 0:
            _ = store.put("http://h/d", _stored("d"))
    assert_equal(store.purge_prefix(""), 1)
    assert_equal(store.stats().entry_count, 0)
    assert_equal(store.stats().octet_count, 0)
    assert_equal(store.stats().purged_count, 5)


def test_invalidate() raises:
    var store = CacheStore()
    _ = store.put("http://h/a", _stored("x"))
    assert_equal(store.invalidate("http://h/a"), 1)
    var owned = _asking("")
    var found = store.look_up(
        "http://h/a", owned.view().headers, CacheControl(), CachePolicy(), NOW_S
    )
    _ = owned^
    assert_true(found.reuse == Reuse.VALIDATE)
    assert_true(Bool(found.response))


def test_one_fetches() raises:
    var store = CacheStore()
    var first = store.begin_fetch("k", NOW_S)
    assert_true(Bool(first.claim))
    var second = store.begin_fetch("k", NOW_S)
    assert_false(Bool(second.claim))
    assert_true(second.joined.value().wait(1) == FetchState.RUNNING)
    var response = ArcPointer(_stored("x"))
    first.claim.value().share(response)
    first.claim.take().end()
    assert_true(second.joined.value().wait(60_000) == FetchState.ANSWERED)
    assert_true(second.joined.value().response().value() is response)
    assert_true(Bool(store.begin_fetch("k", NOW_S).claim))


def test_who_waits_sees_how_its_own_fetch_ends() raises:
    """Whatever others have begun meanwhile."""
    var store = CacheStore()
    var first = store.begin_fetch("k", NOW_S)
    var second = store.begin_fetch("k", NOW_S)
    var joined = second.joined.take()
    _ = first^
    var next = store.begin_fetch("k", NOW_S)
    assert_true(Bool(next.claim), "one of those who wait takes it over")
    assert_true(joined.state() == FetchState.ABANDONED)
    assert_false(Bool(joined.response()))
    _ = next^


def test_who_cannot_share_does_not_claim() raises:
    var store = CacheStore()
    var alone = store.begin_fetch("k", NOW_S, may_claim=False)
    assert_false(Bool(alone.claim) or Bool(alone.joined))
    var first = store.begin_fetch("k", NOW_S)
    var joined = store.begin_fetch("k", NOW_S, may_claim=False)
    assert_true(Bool(joined.joined))
    _ = first^


def test_nobody_waits_for_what_was_of_no_use() raises:
    var store = CacheStore()
    var first = store.begin_fetch("k", NOW_S)
    store.note_useless("k", NOW_S)
    var second = store.begin_fetch("k", NOW_S + 119)
    assert_false(Bool(second.claim) or Bool(second.joined))
    assert_true(store.is_useless("k", NOW_S))
    assert_true(Bool(store.begin_fetch("k", NOW_S + 120).joined))
    _ = store.put("k", _stored("x"))
    assert_false(store.is_useless("k", NOW_S))
    assert_true(Bool(store.begin_fetch("k", NOW_S).joined))
    _ = first^


def test_what_is_removed_is_not_joined() raises:
    """Who asks behind a removal gets nothing that was asked for before it."""
    var store = CacheStore()
    for round in range(3):
        var before = store.begin_fetch("http://h/a", NOW_S)
        if round == 0:
            _ = store.purge("http://h/a")
        elif round == 1:
            _ = store.purge_prefix("http://h/")
        else:
            _ = store.invalidate("http://h/a")
        var behind = store.begin_fetch("http://h/a", NOW_S)
        assert_true(Bool(behind.claim))
        _ = before^
        assert_true(Bool(store.begin_fetch("http://h/a", NOW_S).joined))
        _ = behind^


def test_copies_under_way_count() raises:
    """They take half of the memory at most, and give it back."""
    var store = CacheStore(octet_max=100_000)
    for number in range(40):
        _ = store.put(String("http://a/", number), _stored(String("x") * 1_000))
    var kept = store.stats().entry_count
    var first = CopyRoom(store)
    var second = CopyRoom(store)
    assert_true(first.grow(30_000))
    assert_true(first.grow(40_000))
    assert_false(second.grow(20_000))
    assert_true(second.grow(10_000))
    assert_true(store.stats().octet_count <= 100_000)
    assert_true(store.stats().entry_count < kept, "others have made room")
    var with_copies = store.stats().octet_count
    _ = first^
    assert_true(second.grow(50_000))
    _ = second^
    assert_true(store.stats().octet_count <= with_copies - 50_000)


def test_stores_that_cannot_be() raises:
    with assert_raises(contains="octet_max is 1; allowed is 4096"):
        _ = CacheStore(octet_max=1)
    with assert_raises(contains="entry_max is 0"):
        _ = CacheStore(entry_max=0)

"""A store that two memories share, in place of two processes: what one keeps the
other finds, and what one removes is gone in both, whenever it was asked for."""

from flare.http.cache.asked import request_key
from flare.http.cache.core.cache_control import CacheControl
from flare.http.cache.core.freshness import ExchangeTimes
from flare.http.cache.core.policy import CachePolicy
from flare.http.cache.core.stored_response import StoredResponse
from flare.http.cache.removals import (
    REMOVAL_LEN_MAX,
    Removal,
    RemovalKind,
    RemovalLog,
)
from flare.http.cache.shared_responses import (
    RemovalNews,
    ResponseStore,
    SharedEntry,
    SharedFind,
    SharedStats,
)
from flare.http.cache.store import CacheStore
from flare.http.client.cached_client import CachedClient
from flare.http.client.client import HttpClient
from flare.http.message.body import Body
from flare.http.message.header_map import HeaderMap
from flare.http.message.owned_request import OwnedRequest
from flare.http.message.request import Request
from flare.http.message.response import Response, ok
from flare.http.middleware.cache import Cache
from flare.http.handler.handler import Handler
from flare.sys.clock import Deadline, unix_seconds
from flare.sys.mutex import Mutex
from std.time import sleep
from tests.support.assertions import (
    assert_equal,
    assert_false,
    assert_raises,
    assert_true,
)

comptime WAIT_MS = 20_000


struct _Shelf(Movable):
    var entries: Dict[String, List[UInt8]]
    var count: Int
    var removals: List[Removal]
    var senders: List[String]
    var is_broken: Bool
    var refuses_removals: Bool
    var asked: Int

    def __init__(out self):
        self.entries = {}
        self.count = 7
        self.removals = []
        self.senders = []
        self.is_broken = False
        self.refuses_removals = False
        self.asked = 0


@fieldwise_init
struct Shelf(ResponseStore):
    """Keeps responses without Vary in this process."""

    var shelf: Mutex[_Shelf]

    def timeout_ms(self) -> Int:
        return 1_000

    def octet_max(self) -> Int:
        return 10_000

    def renewed(self) raises -> Self:
        return self.copy()

    def find(self, key: String, variant: List[UInt8]) raises -> SharedFind:
        var shelf = self.shelf.lock()
        shelf[].asked += 1
        if shelf[].is_broken:
            raise Error("broken")
        var octets = shelf[].entries.get(key)
        if not octets:
            return SharedFind(None, None)
        return SharedFind(String(), octets^)

    def put(self, entry: SharedEntry) raises -> Bool:
        var shelf = self.shelf.lock()
        if shelf[].is_broken:
            raise Error("broken")
        if entry.since != shelf[].count:
            return False
        shelf[].entries[entry.key] = entry.octets.copy()
        return True

    def remove(self, removal: Removal, sender: String) raises:
        var shelf = self.shelf.lock()
        if shelf[].is_broken or shelf[].refuses_removals:
            raise Error("broken")
        shelf[].count += 1
        shelf[].removals.append(removal.copy())
        shelf[].senders.append(sender)
        shelf[].entries.clear()

    def news(self, since: Int) raises -> RemovalNews:
        var shelf = self.shelf.lock()
        if shelf[].is_broken:
            raise Error("broken")
        var news = RemovalNews(shelf[].count, since >= 0, [], [])
        var first = len(shelf[].removals) - (shelf[].count - since)
        if since < 0 or first < 0:
            news.is_complete = since == shelf[].count
            return news^
        for index in range(first, len(shelf[].removals)):
            news.removals.append(shelf[].removals[index].copy())
            news.senders.append(shelf[].senders[index])
        return news^


def _shelf() raises -> Shelf:
    return Shelf(Mutex(_Shelf()))


def _response(text: StringSpan, age_s: Int = 0) raises -> StoredResponse:
    var owned = OwnedRequest("GET", "/")
    var headers = HeaderMap()
    headers.append("Cache-Control", "max-age=600")
    var now_s = unix_seconds() - age_s
    var stored = StoredResponse(
        200,
        headers,
        Body(String(text)),
        owned.view().headers,
        policy=CachePolicy(),
        times=ExchangeTimes(now_s, now_s),
    )
    _ = owned^
    return stored^


def _in_memory(store: CacheStore, key: StringSpan) -> String:
    var owned = OwnedRequest("GET", "/")
    var found = store.look_up(
        key,
        owned.view().headers,
        CacheControl(),
        CachePolicy(),
        unix_seconds(),
    )
    _ = owned^
    if not found.response:
        return "-"
    return String(found.response.value()[].body)


def _in_store(store: CacheStore, key: String) -> String:
    var owned = OwnedRequest("GET", "/")
    var found = store.find_shared(key, owned.view().headers, CachePolicy())
    _ = owned^
    return String(found.value().body) if found else "-"


def _stats(store: CacheStore) -> SharedStats:
    return store.shared_stats().value().copy()


def _wait[condition: def(SharedStats) thin -> Bool](store: CacheStore) raises:
    var deadline = Deadline(WAIT_MS)
    while not condition(_stats(store)):
        assert_true(deadline.left_ms() > 0, "it does not come to that")
        sleep(0.002)


def _one_written(stats: SharedStats) -> Bool:
    return stats.written_count == 1


def _one_refused(stats: SharedStats) -> Bool:
    # By the store, or by the memory, which has heard of the removal before.
    return stats.outdated_count == 1 or stats.heard_count == 1


def _one_removed(stats: SharedStats) -> Bool:
    return stats.removed_count == 1


def _one_heard(stats: SharedStats) -> Bool:
    return stats.heard_count == 1


def _one_reset(stats: SharedStats) -> Bool:
    return stats.reset_count == 1


def _is_away(stats: SharedStats) -> Bool:
    return stats.is_away


def _is_back(stats: SharedStats) -> Bool:
    return not stats.is_away


def test_what_one_keeps_the_other_finds() raises:
    var shelf = _shelf()
    var first = CacheStore(shared=shelf.copy())
    var second = CacheStore(shared=shelf.copy())
    assert_equal(_in_store(second, "k"), "-")
    assert_true(first.put("k", _response("one"), since=first.mark()))
    _wait[_one_written](first)
    assert_equal(_in_memory(second, "k"), "-")
    assert_equal(_in_store(second, "k"), "one")
    assert_equal(_stats(second).found_count, 1)
    assert_equal(_stats(second).missed_count, 1)


def test_what_one_removes_the_other_hears_of() raises:
    comptime URL = "http://a/x"
    for how in range(3):
        var shelf = _shelf()
        var first = CacheStore(shared=shelf.copy())
        var second = CacheStore(shared=shelf.copy())
        # Both have made themselves known.
        _ = (first.mark(), second.mark())
        assert_true(second.put(URL, _response("old")))
        assert_true(second.put("http://b/x", _response("other")))
        if how == 0:
            _ = first.purge(URL)
        elif how == 1:
            _ = first.purge_prefix("http://a/")
        else:
            _ = first.invalidate(URL)
        _wait[_one_heard](second)
        var stats = second.stats()
        assert_equal(stats.entry_count, 2 if how == 2 else 1)
        assert_equal(_in_memory(second, "http://b/x"), "other")
        # The sender does not hear of itself: what it keeps now is newer.
        assert_true(first.put(URL, _response("new"), since=first.mark()))
        _wait[_one_removed](first)
        assert_equal(_in_memory(first, URL), "new")


def test_what_was_asked_for_before_a_removal_is_not_kept() raises:
    var shelf = _shelf()
    var store = CacheStore(shared=shelf.copy())
    var since = store.mark()
    _ = store.purge("http://a/x")
    assert_false(store.put("http://a/x", _response("old"), since=since))
    assert_equal(_in_memory(store, "http://a/x"), "-")
    # In memory something else is not concerned.
    assert_true(store.put("http://a/y", _response("y"), since=since))
    _wait[_one_removed](store)
    # The other process's removal, which this one may not have heard of yet.
    var other = CacheStore(shared=shelf.copy())
    since = other.mark()
    shelf.remove(Removal(RemovalKind.KEY, "http://a/z"), "somebody")
    _ = other.put("http://a/z", _response("old"), since=since)
    _wait[_one_refused](other)
    assert_equal(_in_store(store, "http://a/z"), "-")
    _wait[_one_heard](other)
    assert_equal(_in_memory(other, "http://a/z"), "-")


def test_what_is_removed_does_not_come_back_from_the_store() raises:
    """A removal is on its way to the store, which may even refuse it for now:
    until it is there, what it concerns is not looked for."""
    comptime URL = "http://a/x"
    for how in range(3):
        var shelf = _shelf()
        var store = CacheStore(shared=shelf.copy())
        assert_true(store.put(URL, _response("old"), since=store.mark()))
        _wait[_one_written](store)
        assert_equal(_in_store(store, URL), "old")
        shelf.shelf.lock()[].refuses_removals = True
        if how == 0:
            _ = store.purge(URL)
        elif how == 1:
            _ = store.purge_prefix("http://a/")
        else:
            _ = store.invalidate(URL)
        assert_equal(_in_store(store, URL), "-")
        var later = store.find_shared_later(
            URL, OwnedRequest("GET", "/x"), CachePolicy()
        )
        assert_false(Bool(later))
        assert_equal(_stats(store).skipped_count, 2)
        # All else is.
        var asked = shelf.shelf.lock()[].asked
        assert_equal(_in_store(store, "http://b/x"), "-")
        assert_equal(shelf.shelf.lock()[].asked, asked + 1)
        shelf.shelf.lock()[].refuses_removals = False
        _wait[_one_removed](store)
        assert_equal(_in_store(store, URL), "-")
        assert_equal(_stats(store).skipped_count, 2)


def test_without_a_shared_store() raises:
    """The same gap is closed in memory alone."""
    var store = CacheStore()
    var since = store.mark()
    _ = store.purge_prefix("http://a/")
    assert_false(store.put("http://a/x", _response("old"), since=since))
    assert_true(store.put("http://b/x", _response("b"), since=since))
    assert_equal(_in_memory(store, "http://a/x"), "-")
    assert_false(store.has_shared())
    assert_false(Bool(store.shared_stats()))


def test_a_store_that_fails_is_left_alone() raises:
    var shelf = _shelf()
    var store = CacheStore(shared=shelf.copy())
    assert_equal(_in_store(store, "k"), "-")
    shelf.shelf.lock()[].is_broken = True
    _wait[_is_away](store)
    var asked = shelf.shelf.lock()[].asked
    for _ in range(5):
        assert_equal(_in_store(store, "k"), "-")
    assert_equal(shelf.shelf.lock()[].asked, asked)
    assert_equal(_stats(store).skipped_count, 5)
    _ = store.put("k", _response("lost"), since=store.mark())
    assert_equal(_stats(store).dropped_count, 1)
    # A removal waits until it can be passed on.
    _ = store.purge("http://a/x")
    shelf.shelf.lock()[].is_broken = False
    _wait[_is_back](store)
    _wait[_one_removed](store)
    assert_equal(len(shelf.shelf.lock()[].removals), 1)


def test_removals_that_were_missed_cost_the_memory() raises:
    var shelf = _shelf()
    var store = CacheStore(shared=shelf.copy())
    _ = store.mark()
    assert_true(store.put("k", _response("one")))
    # As after the loss of all keys.
    shelf.shelf.lock()[].count += 1_000
    _wait[_one_reset](store)
    assert_equal(_in_memory(store, "k"), "-")


@fieldwise_init
struct _Origin(Handler):
    var count: Mutex[Int]

    def serve(self, req: Request) raises -> Response:
        self.count.lock()[] += 1
        return ok("origin").with_header("Cache-Control", "max-age=600")


def test_a_refresh_looks_in_the_store_first() raises:
    """Another process may have fetched it (RFC 5861 section 3)."""
    var shelf = _shelf()
    var store = CacheStore(shared=shelf.copy())
    var other = CacheStore(shared=shelf.copy())
    var owned = OwnedRequest("GET", "/x")
    owned.add_header("Host", "a")
    var key = request_key(owned.view())
    assert_true(store.put(key, _response("old", age_s=700)))
    assert_true(other.put(key, _response("new"), since=other.mark()))
    _wait[_one_written](other)
    var count = Mutex(0)
    var cache = Cache(
        _Origin(count), store, CachePolicy(stale_while_revalidate_s=10_000)
    )
    assert_equal(String(cache.serve(owned.view()).body), "old")
    var deadline = Deadline(WAIT_MS)
    while _in_memory(store, key) != "new":
        assert_true(deadline.left_ms() > 0, "it is not refreshed")
        sleep(0.002)
    assert_equal(String(cache.serve(owned.view()).body), "new")
    assert_equal(count.lock()[], 0)


def test_a_private_cache_is_refused() raises:
    """What is for one user is for no other process."""
    var store = CacheStore(shared=_shelf())
    var count = Mutex(0)
    with assert_raises(contains="private cache"):
        _ = Cache(_Origin(count), store, CachePolicy(is_shared=False))
    var client = HttpClient()
    with assert_raises(contains="for one user"):
        _ = CachedClient(client^, store)


def test_what_is_too_long_stays_in_memory() raises:
    var shelf = _shelf()
    var store = CacheStore(shared=shelf.copy())
    var long = String("x") * 20_000
    assert_true(store.put("k", _response(long), since=store.mark()))
    assert_equal(_stats(store).dropped_count, 1)
    assert_equal(_in_memory(store, "k"), long)


def test_garbage_is_a_miss() raises:
    var shelf = _shelf()
    var store = CacheStore(shared=shelf.copy())
    shelf.shelf.lock()[].entries["k"] = [UInt8(1), 2, 3]
    assert_equal(_in_store(store, "k"), "-")
    assert_equal(_stats(store).malformed_count, 1)


def test_long_keys_are_removed_by_their_beginning() raises:
    var key = String("http://a/") + "x" * 2_000
    var removal = Removal(RemovalKind.INVALID, key)
    assert_true(removal.kind == RemovalKind.PREFIX)
    assert_equal(removal.text.byte_length(), REMOVAL_LEN_MAX)
    assert_true(removal.concerns(key))
    assert_false(removal.concerns("http://a/x"))
    var exact = Removal(RemovalKind.KEY, "http://a/x")
    assert_true(exact.concerns("http://a/x"))
    assert_false(exact.concerns("http://a/xy"))


def test_a_log_that_is_too_short_says_yes() raises:
    var log = RemovalLog()
    log.add(Removal(RemovalKind.KEY, "a"))
    assert_true(log.was_removed("a", 0))
    assert_false(log.was_removed("a", 1))
    assert_false(log.was_removed("b", 0))
    for _ in range(255):
        log.add(Removal(RemovalKind.KEY, "c"))
    assert_true(log.was_removed("a", 0))
    assert_false(log.was_removed("b", 0))
    assert_false(log.was_removed("a", 1))
    log.add(Removal(RemovalKind.KEY, "c"))
    # What is not remembered may have been.
    assert_true(log.was_removed("b", 0))
    assert_false(log.was_removed("b", 1))

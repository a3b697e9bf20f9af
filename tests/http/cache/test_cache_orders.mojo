"""Removals from the caches of all workers, where there is one process."""

from flare.backplane.worker_control import WorkerControl
from flare.http.cache.cache_orders import CacheOrders
from flare.http.cache.store import CacheStore
from flare.http.handler.handler import FnHandler
from flare.http.message.request import Request
from flare.http.message.response import Response, ok
from flare.http.middleware.cache import Cache
from flare.testing.test_client import TestClient
from tests.support.assertions import assert_equal, assert_raises, assert_true


def _answer(req: Request) raises -> Response:
    return ok("x").with_header("Cache-Control", "max-age=60")


def test_what_is_removed() raises:
    for begins in [False, True]:
        var control = WorkerControl()
        var store = CacheStore()
        var orders = CacheOrders(control, store)
        if begins:
            control.begin()
        var client = TestClient(Cache(FnHandler(_answer), store))
        for path in ["/a/1", "/a/2", "/b/1", "/c"]:
            _ = client.get(path)
        assert_equal(store.stats().entry_count, 4)
        var base = String("http://testserver")
        assert_equal(orders.invalidate(base + "/c").total(), 1)
        assert_equal(orders.purge(base + "/none").total(), 0)
        assert_equal(orders.purge(base + "/b/1").total(), 1)
        assert_equal(orders.purge_prefix(base + "/a/").total(), 2)
        assert_equal(store.stats().entry_count, 1)
        assert_true(orders.purge_prefix("").is_complete())
        assert_equal(store.stats().entry_count, 0)


def test_two_stores_have_names() raises:
    var control = WorkerControl()
    _ = CacheOrders(control, CacheStore(), name="a")
    _ = CacheOrders(control, CacheStore(), name="b")
    with assert_raises(contains="cache of responses a"):
        _ = CacheOrders(control, CacheStore(), name="a")

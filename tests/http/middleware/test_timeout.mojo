"""A route's own time: which one holds, and which are allowed."""

from flare.http.message.owned_request import OwnedRequest
from flare.http.message.request import Request
from flare.http.message.response import Response, ok
from flare.http.middleware.timeout import Timeout
from flare.http.middleware.timing import Timing
from flare.http.routing.handler import (
    DEFAULT_TIMEOUT_MS,
    FnHandler,
    Handler,
)
from flare.http.routing.router import Router
from std.testing import assert_equal, assert_raises


def _answer(req: Request) raises -> Response:
    return ok("answered")


def _time[H: Handler](handler: H, target: StringSpan) -> Int:
    var owned = OwnedRequest("GET", target)
    return handler.policy_for(owned.view()).timeout_ms


def test_the_innermost_time_holds() raises:
    var router = Router()
    router.get("/plain", _answer)
    router.get("/short", Timeout(FnHandler(_answer), timeout_ms=10))
    router.get("/timed", Timing(Timeout(FnHandler(_answer), timeout_ms=20)))
    assert_equal(_time(router, "/plain"), DEFAULT_TIMEOUT_MS)
    assert_equal(_time(router, "/none"), DEFAULT_TIMEOUT_MS)
    assert_equal(_time(router, "/short"), 10)
    assert_equal(_time(router, "/timed"), 20)
    var all = Timeout(router^, timeout_ms=30)
    assert_equal(_time(all, "/plain"), 30)
    assert_equal(_time(all, "/none"), 30)
    assert_equal(_time(all, "/short"), 10)
    var owned = OwnedRequest("GET", "/short")
    assert_equal(
        StringSpan(from_utf8=all.serve(owned.view()).body.as_bytes()),
        "answered",
    )


def test_fallback_has_its_time() raises:
    var router = Router()
    router.fallback(Timeout(FnHandler(_answer), timeout_ms=10))
    assert_equal(_time(router, "/none"), 10)


def test_times_out_of_range() raises:
    for timeout_ms in [-1, 0, 86_400_001]:
        with assert_raises(contains="allowed are 1 to 86400000"):
            _ = Timeout(FnHandler(_answer), timeout_ms=timeout_ms)

"""Server-Timing: form and size."""

from flare.http.message.owned_request import OwnedRequest
from flare.http.message.request import Request
from flare.http.message.response import Response, ok
from flare.http.middleware.timing import Timeout, Timing
from flare.http.handler.handler import DEFAULT_TIMEOUT_MS, FnHandler, Handler
from flare.http.routing.router import Router
from flare.sys.clock import monotonic_ns
from flare.testing.test_client import TestClient
from tests.support.assertions import assert_equal, assert_raises, assert_true


def _slow(req: Request) raises -> Response:
    var end_ns = monotonic_ns() + 12_000_000
    while monotonic_ns() < end_ns:
        pass
    return ok("slow")


def _quick(req: Request) raises -> Response:
    return ok("quick")


def _ms(value: StringSpan) raises -> Float64:
    assert_true(value.startswith("total;dur="), String(value))
    var number = String(value[byte=10:])
    var point = number.find(".")
    assert_equal(number.byte_length() - point, 4, number)
    return atof(number)


def test_milliseconds_with_three_decimals() raises:
    var client = TestClient(Timing(FnHandler(_slow)))
    var slow = client.get("/")
    var time_ms = _ms(slow.headers["server-timing"])
    assert_true(time_ms >= 12 and time_ms < 5_000, String(time_ms))
    client = TestClient(Timing(FnHandler(_quick)))
    var quick = client.get("/")
    assert_true(_ms(quick.headers["server-timing"]) < 5_000)
    assert_true(quick.headers["server-timing"].startswith("total;dur=0."))


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

"""Server-Timing: form and size."""

from flare.http.message.request import Request
from flare.http.message.response import Response, ok
from flare.http.middleware.timing import Timing
from flare.http.routing.handler import FnHandler
from flare.sys.clock import monotonic_ns
from flare.testing.test_client import TestClient
from std.testing import assert_equal, assert_true


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

"""Measures what middleware adds to a router; prints one JSON object a line."""

from flare.http.message.owned_request import OwnedRequest
from flare.http.message.request import Request
from flare.http.message.response import Response, ok
from flare.http.middleware.cors import Cors
from flare.http.middleware.measured import Measured
from flare.http.middleware.metrics import Metrics
from flare.http.middleware.request_id import RequestId
from flare.http.middleware.timing import Timing
from flare.http.routing.app import App
from flare.http.routing.handler import Handler
from flare.http.routing.router import Router
from flare.http.routing.state import State
from flare.sys.clock import thread_cpu_ns
from std.benchmark import keep

comptime ROUND_COUNT = 9
comptime REPEAT_COUNT = 40_000


@fieldwise_init
struct Counters(Copyable, Movable):
    """What a handler counts."""

    var hits: Int


def hello(req: Request) -> Response:
    return ok("Hello, World!")


def count(req: Request, state: State[Counters]) raises -> Response:
    state.lock()[].hits += 1
    return ok("Hello, World!")


def router() raises -> Router:
    """Makes a router of two routes.

    Returns:
        The router.
    """
    var router = Router()
    router.get("/", hello)
    router.get("/count", count)
    return router^


def measure[
    H: Handler
](name: StringSpan, handler: H, mut owned: OwnedRequest) raises:
    """Prints the time of a handler's call.

    Args:
        name: What is measured.
        handler: The handler.
        owned: The request.
    """
    var times = List[Float64]()
    for _ in range(ROUND_COUNT):
        var began = thread_cpu_ns()
        for _ in range(REPEAT_COUNT):
            owned.view().route_params()[].clear()
            var response = handler.serve(owned.view())
            keep(response.status.code)
        times.append(Float64(thread_cpu_ns() - began) / REPEAT_COUNT)
    sort(times)
    var ns = Float64(Int(times[len(times) // 2] * 10)) / 10
    print(String('{"name": "', name, '", "ns": ', ns, "}"))


def main() raises:
    """Runs all measurements."""
    var plain = OwnedRequest("GET", "/")
    plain.add_header("Host", "example.com")
    plain.add_header("Origin", "https://app.example.com")
    measure("router", router(), plain)
    measure("request id", RequestId(router()), plain)
    measure("timing", Timing(router()), plain)
    measure("cors", Cors(router()), plain)
    measure("metrics", Measured(router(), Metrics()), plain)
    measure("id, timing, cors", RequestId(Timing(Cors(router()))), plain)
    var counted = OwnedRequest("GET", "/count")
    measure(
        "app with a state", App(state=Counters(0), handler=router()), counted
    )

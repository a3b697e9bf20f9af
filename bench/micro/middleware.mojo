"""Measures what middleware adds to a router; prints one JSON object a line."""

from flare.http.message.owned_request import OwnedRequest
from flare.http.message.request import Request
from flare.http.message.response import Response, ok
from flare.http.middleware.cors import Cors
from flare.http.middleware.metrics import Metrics, RequestMetrics
from flare.http.middleware.request_id import RequestId
from flare.http.middleware.timing import Timing
from flare.http.routing.app import App
from flare.http.handler.state import State
from flare.http.handler.handler import Handler
from flare.http.routing.router import Router
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


def plain_request() raises -> OwnedRequest:
    """Makes a request of a page of another origin.

    Returns:
        The request.
    """
    var owned = OwnedRequest("GET", "/")
    owned.add_header("Host", "example.com")
    owned.add_header("Origin", "https://app.example.com")
    return owned^


def once[H: Handler](handler: H, mut owned: OwnedRequest) raises -> Float64:
    """Measures a round.

    Args:
        handler: The handler.
        owned: The request.

    Returns:
        Nanoseconds of CPU time a request.
    """
    var began = thread_cpu_ns()
    for _ in range(REPEAT_COUNT):
        owned.view().route_params()[].clear()
        var response = handler.serve(owned.view())
        keep(response.status.code)
    return Float64(thread_cpu_ns() - began) / REPEAT_COUNT


def rounded(ns: Float64) -> Float64:
    """Rounds to a tenth.

    Args:
        ns: A figure.

    Returns:
        The figure.
    """
    return Float64(Int(ns * 10)) / 10


def measure[
    H: Handler
](name: StringSpan, handler: H, mut owned: OwnedRequest) raises:
    """Prints the time of a handler's call, and what it has over a bare router.

    The handler, and a router that is asked for its first route, are called in
    turn, round by round.

    Args:
        name: What is measured.
        handler: The handler.
        owned: The request.
    """
    var bare = router()
    var bare_owned = plain_request()
    var bare_times = List[Float64]()
    var times = List[Float64]()
    for _ in range(ROUND_COUNT):
        bare_times.append(once(bare, bare_owned))
        times.append(once(handler, owned))
    sort(bare_times)
    sort(times)
    var ns = times[len(times) // 2]
    var over = ns - bare_times[len(bare_times) // 2]
    var text = String('{"name": "', name, '", "ns": ', rounded(ns))
    print(String(text, ', "ns_over_router": ', rounded(over), "}"))


def main() raises:
    """Runs all measurements."""
    var plain = plain_request()
    measure("router", router(), plain)
    measure("request id", RequestId(router()), plain)
    measure("timing", Timing(router()), plain)
    measure("cors", Cors(router()), plain)
    measure("metrics", RequestMetrics(router(), Metrics()), plain)
    measure("id, timing, cors", RequestId(Timing(Cors(router()))), plain)
    var counted = OwnedRequest("GET", "/count")
    measure(
        "app with a state", App(state=Counters(0), handler=router()), counted
    )

"""Measures `Router` beside `ComptimeRouter`; prints one JSON object a line.

Both have the same routes and are asked in turn, round by round.
"""

from flare.http.message.method import Method
from flare.http.message.owned_request import OwnedRequest
from flare.http.message.request import Request
from flare.http.message.response import Response, ok
from flare.http.routing.comptime_router import ComptimeRoute, ComptimeRouter
from flare.http.handler.handler import Handler
from flare.http.routing.router import Router
from flare.sys.clock import thread_cpu_ns
from std.benchmark import keep

comptime ROUND_COUNT = 15
comptime REPEAT_COUNT = 20_000
comptime REQUEST_COUNT = 4


def hello(req: Request) -> Response:
    return ok("Hello, World!")


def patterns(count: Int) -> List[String]:
    """Makes patterns of three kinds in turn.

    Args:
        count: How many.

    Returns:
        Texts, such with a parameter, and such with a rest.
    """
    var made = List[String]()
    for number in range(count):
        if number % 3 == 0:
            made.append(String("/text/t", number, "/end"))
        elif number % 3 == 1:
            made.append(String("/param/p", number, "/:id"))
        else:
            made.append(String("/rest/r", number, "/*path"))
    return made^


def compiled_routes(count: Int) -> List[ComptimeRoute]:
    """Makes routes for the compiler.

    Args:
        count: How many.

    Returns:
        A route for each of the patterns.
    """
    var routes = List[ComptimeRoute]()
    for pattern in patterns(count):
        routes.append(ComptimeRoute(Method.GET, pattern, hello))
    return routes^


def filled_router(count: Int) raises -> Router:
    """Makes a router.

    Args:
        count: How many routes it has.

    Returns:
        The router.
    """
    var router = Router()
    for pattern in patterns(count):
        router.get(pattern, hello)
    return router^


def requests(kind: Int, count: Int) -> List[OwnedRequest]:
    """Makes requests that differ, so that nothing can be hoisted out of a loop.

    Args:
        kind: 0 for texts, 1 for a parameter, 2 for a rest, 3 for no route.
        count: How many routes there are.

    Returns:
        Some requests for different routes of the kind.
    """
    var made = List[OwnedRequest]()
    for index in range(REQUEST_COUNT):
        var number = (index * count // REQUEST_COUNT) // 3 * 3 + kind
        var path = String("/text/t", number, "/end")
        if kind == 1:
            path = String("/param/p", number, "/4", index)
        elif kind == 2:
            path = String("/rest/r", number, "/a/b", index)
        elif kind == 3:
            path = String("/none/", index)
        made.append(OwnedRequest("GET", path))
    return made^


def once[
    H: Handler
](handler: H, mut requests: List[OwnedRequest]) raises -> Float64:
    """Measures a round.

    Args:
        handler: The router.
        requests: What it is asked.

    Returns:
        Nanoseconds of CPU time a request.
    """
    var began = thread_cpu_ns()
    for index in range(REPEAT_COUNT):
        ref request = requests[index & (REQUEST_COUNT - 1)]
        request.view().route_params()[].clear()
        var response = handler.serve(request.view())
        keep(response.status.code)
    return Float64(thread_cpu_ns() - began) / REPEAT_COUNT


def show(name: StringSpan, kind: StringSpan, count: Int, times: List[Float64]):
    """Prints the median.

    Args:
        name: Which router.
        kind: What it was asked.
        count: How many routes it has.
        times: Nanoseconds, one a round.
    """
    var sorted_times = times.copy()
    sort(sorted_times)
    var ns = Float64(Int(sorted_times[len(sorted_times) // 2] * 10)) / 10
    var text = String('{"name": "', name, ", ", kind, ", ", count)
    print(String(text, ' routes", "ns": ', ns, "}"))


def measure[COUNT: Int]() raises:
    """Measures both routers with a number of routes.

    Parameters:
        COUNT: How many.
    """
    comptime ROUTES = compiled_routes(COUNT)
    var compiled = ComptimeRouter[ROUTES]()
    var filled = filled_router(COUNT)
    var kinds: List[StaticString] = ["text", "parameter", "rest", "no route"]
    for kind in range(len(kinds)):
        var asked = requests(kind, COUNT)
        var filled_times = List[Float64]()
        var compiled_times = List[Float64]()
        for _ in range(ROUND_COUNT):
            filled_times.append(once(filled, asked))
            compiled_times.append(once(compiled, asked))
        show("Router", kinds[kind], COUNT, filled_times)
        show("ComptimeRouter", kinds[kind], COUNT, compiled_times)


def main() raises:
    """Runs all measurements."""
    measure[3]()
    measure[30]()
    measure[99]()

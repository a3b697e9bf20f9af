"""Measures the HTTP path from memory; prints one JSON object a line."""

from flare.bytes.buffer import Buffer
from flare.http.h1.chunked import ChunkedDecoder
from flare.http.h1.field_section import HeadLimits
from flare.http.h1.request_head import RequestHead
from flare.http.h1.request_parser import RequestParser
from flare.http.h1.serialiser import (
    DateLine,
    ResponseFraming,
    write_response_head,
)
from flare.http.message.method import Method
from flare.http.message.request import PathParams, Request
from flare.http.message.response import Response, ok
from flare.http.routing.route_tree import RouteTree
from flare.http.handler.route_memo import RouteMatch
from flare.http.routing.router import Router
from flare.net.socket_addr import SocketAddr
from flare.sys.clock import thread_cpu_ns
from std.benchmark import keep
from std.memory import OwnedPointer

comptime ROUND_COUNT = 9
comptime REPEAT_COUNT = 40_000
comptime VARIANT_COUNT = 4
comptime LIMITS = HeadLimits(8192, 8192, 100)

comptime BROWSER = StaticString(
    "Connection: keep-alive\r\nCache-Control: max-age=0\r\n"
    'sec-ch-ua-platform: "Linux"\r\nUpgrade-Insecure-Requests: 1\r\n'
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36"
    " (KHTML, like Gecko) Chrome/129.0.0.0 Safari/537.36\r\n"
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,"
    "image/avif,image/webp,*/*;q=0.8\r\n"
    "Accept-Encoding: gzip, deflate, br, zstd\r\n"
    "Accept-Language: en-US,en;q=0.9\r\n"
)


def variants(kind: Int) raises -> List[Buffer]:
    """Makes requests of one kind that differ in a digit, so that nothing can be
    hoisted out of a loop.

    Args:
        kind: 0 for 50 bytes, 1 for 564, 2 for 1,421, 3 for a route parameter.

    Returns:
        Sealed buffers with one request each.

    Raises:
        Error: If a request has not the length that its name says.
    """
    var made = List[Buffer]()
    for number in range(VARIANT_COUNT):
        var text = String("GET / HTTP/1.1\r\nHost: 127.0.0.1:808")
        text.write(number, "\r\nAge: 10", number, "\r\n")
        if kind == 1 or kind == 2:
            text = String("GET /?page=", number, "&sort=desc HTTP/1.1\r\n")
            text.write("Host: www.example.com\r\n", BROWSER)
            var wanted = 564 if kind == 1 else 1421
            if kind == 2:
                for field in range(12):
                    text.write("X-Forwarded-Detail-", field, ": ")
                    text.write(String("v") * 30, "\r\n")
            var rest = wanted - text.byte_length() - 20
            text.write("Cookie: session=", String("a") * max(rest, 1), "\r\n")
        elif kind == 3:
            text = String("GET /users/4", number, " HTTP/1.1\r\n")
            text.write("Host: www.example.com\r\n", BROWSER)
        text.write("\r\n")
        if kind < 3:
            var wanted = 50 if kind == 0 else 564 if kind == 1 else 1421
            if text.byte_length() != wanted:
                raise Error("a request has ", text.byte_length(), " bytes")
        var buffer = Buffer(text.byte_length())
        buffer.append(text.as_bytes())
        _ = buffer.terminate()
        made.append(buffer^)
    return made^


def median(mut times: List[Float64]) -> Float64:
    """Takes the middle one.

    Args:
        times: At least one; sorted afterwards.

    Returns:
        The median.
    """
    sort(times)
    return times[len(times) // 2]


def show(name: StringSpan, mut times: List[Float64]):
    """Prints one figure.

    Args:
        name: What was measured.
        times: Nanoseconds, one a round.
    """
    var ns = Float64(Int(median(times) * 10)) / 10
    print(String('{"name": "', name, '", "ns": ', ns, "}"))


def measure_parse(name: StringSpan, kind: Int) raises:
    """Measures the parser alone.

    Args:
        name: What is measured.
        kind: Which requests.
    """
    var inputs = variants(kind)
    var head = RequestHead()
    var times = List[Float64]()
    for _ in range(ROUND_COUNT):
        var began = thread_cpu_ns()
        for index in range(REPEAT_COUNT):
            ref input = inputs[index & (VARIANT_COUNT - 1)]
            head.begin()
            _ = head.parse(input.terminate(), materialize[LIMITS]())
            keep(head.head_len)
        times.append(Float64(thread_cpu_ns() - began) / REPEAT_COUNT)
    show(name, times)


def hello(req: Request) -> Response:
    return ok("Hello, World!")


def user(req: Request) raises -> Response:
    return ok("user " + req.param("id"))


def routes(count: Int) raises -> Router:
    """Makes a router.

    Args:
        count: How many routes stand beside the two that are asked for.

    Returns:
        The router.
    """
    var router = Router()
    router.get("/", hello)
    router.get("/users/:id", user)
    for number in range(count):
        router.get(String("/r", number, "/:id"), user)
    return router^


def measure_path(name: StringSpan, kind: Int, route_count: Int) raises:
    """Measures parse, route, handler and serialise.

    Args:
        name: What is measured.
        kind: Which requests.
        route_count: How many other routes there are.
    """
    var inputs = variants(kind)
    var router = routes(route_count)
    var parser = RequestParser(65_536)
    var out = Buffer(65_536)
    var date = DateLine()
    var params = OwnedPointer(PathParams())
    # SAFETY: the box lives to the end of this function.
    var storage = Pointer(to=params[]).unsafe_origin_cast[MutUntrackedOrigin]()
    var times = List[Float64]()
    for _ in range(ROUND_COUNT):
        var began = thread_cpu_ns()
        for index in range(REPEAT_COUNT):
            parser.input.append(inputs[index & (VARIANT_COUNT - 1)].span())
            _ = parser.advance(materialize[LIMITS]())
            storage[].clear()
            var response = router.serve(
                parser.unsafe_request[ImmUntrackedOrigin](
                    SocketAddr.any(0), storage
                )
            )
            parser.finish()
            out.clear()
            write_response_head(
                out, response, ResponseFraming(False, True, 1), date
            )
            out.append(response.body.as_bytes())
            keep(len(out))
        times.append(Float64(thread_cpu_ns() - began) / REPEAT_COUNT)
    _ = params^
    show(name, times)


def measure_header_lookup() raises:
    """Measures `req.headers` on the browser request: the last field, whose name
    is asked for in another case, and one that is not there."""
    var inputs = variants(1)
    var parser = RequestParser(65_536)
    var params = OwnedPointer(PathParams())
    # SAFETY: the box lives to the end of this function.
    var storage = Pointer(to=params[]).unsafe_origin_cast[MutUntrackedOrigin]()
    parser.input.append(inputs[0].span())
    _ = parser.advance(materialize[LIMITS]())
    var request = parser.unsafe_request[ImmUntrackedOrigin](
        SocketAddr.any(0), storage
    )
    var names: List[String] = ["cookie", "Cookie", "COOKIE", "cookiE"]
    var absent: List[String] = ["origin", "Origin", "ORIGIN", "origiN"]
    var found_times = List[Float64]()
    var absent_times = List[Float64]()
    for _ in range(ROUND_COUNT):
        var began = thread_cpu_ns()
        for index in range(REPEAT_COUNT):
            keep(request.headers.find(names[index & (VARIANT_COUNT - 1)]))
        found_times.append(Float64(thread_cpu_ns() - began) / REPEAT_COUNT)
        began = thread_cpu_ns()
        for index in range(REPEAT_COUNT):
            keep(request.headers.find(absent[index & (VARIANT_COUNT - 1)]))
        absent_times.append(Float64(thread_cpu_ns() - began) / REPEAT_COUNT)
    _ = params^
    _ = parser^
    show("header lookup, last of 10 fields", found_times)
    show("header lookup, absent among 10 fields", absent_times)


def measure_route_lookup(name: StringSpan, route_count: Int) raises:
    """Measures the route tree alone.

    Args:
        name: What is measured.
        route_count: How many routes there are.
    """
    var tree = RouteTree()
    for number in range(route_count):
        _ = tree.add(Method.GET.number, String("/r", number, "/:id"))
    var paths = List[String]()
    for number in range(VARIANT_COUNT):
        var route = number * route_count // VARIANT_COUNT
        paths.append(String("/r", route, "/4", number))
    var times = List[Float64]()
    for _ in range(ROUND_COUNT):
        var began = thread_cpu_ns()
        for index in range(REPEAT_COUNT):
            var found = RouteMatch()
            ref path = paths[index & (VARIANT_COUNT - 1)]
            tree.find(Method.GET, path.as_bytes(), found)
            keep(found.route)
            keep(found.capture_count)
        times.append(Float64(thread_cpu_ns() - began) / REPEAT_COUNT)
    show(name, times)


def measure_chunked() raises:
    """Measures the decoder on a body of 16 chunks of 1 KiB."""
    var text = String()
    for _ in range(16):
        text.write("400\r\n", String("c") * 1024, "\r\n")
    text.write("0\r\n\r\n")
    var decoder = ChunkedDecoder()
    var buffer = Buffer(20_000)
    var times = List[Float64]()
    for _ in range(ROUND_COUNT):
        var began = thread_cpu_ns()
        for _ in range(REPEAT_COUNT // 40):
            buffer.clear()
            buffer.append(text.as_bytes())
            decoder.begin()
            _ = decoder.decode(
                buffer.terminate(), 1 << 20, materialize[LIMITS]()
            )
            keep(decoder.content_len)
        times.append(Float64(thread_cpu_ns() - began) / (REPEAT_COUNT // 40))
    show("chunked body of 16 KiB, with its copy", times)


def main() raises:
    measure_parse("parse head, 50 bytes", 0)
    measure_parse("parse head, 564 bytes", 1)
    measure_parse("parse head, 1421 bytes", 2)
    measure_header_lookup()
    measure_route_lookup("route lookup, 3 routes", 3)
    measure_route_lookup("route lookup, 10,000 routes", 10_000)
    measure_path("whole path, wrk request", 0, 1)
    measure_path("whole path, browser request", 1, 1)
    measure_path("whole path, route parameter, 3 routes", 3, 1)
    measure_path("whole path, route parameter, 10,000 routes", 3, 9_998)
    measure_chunked()

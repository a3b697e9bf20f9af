"""The hello server of the benchmarks with routes and configuration compiled in.

Usage: hello_comptime PORT
"""

from bench.servers.hello_routes import address, hello, object, upload, user
from flare.http import HttpServer, Method, Request, Response, ServerConfig, ok
from flare.http.routing.comptime_router import ComptimeRoute, ComptimeRouter
from std.sys import argv


def large(req: Request) -> Response:
    """Makes the 64 KiB anew: a route that is compiled in holds nothing."""
    return ok(String("x") * 65_536)


comptime ROUTES: List[ComptimeRoute] = [
    ComptimeRoute(Method.GET, "/", hello),
    ComptimeRoute(Method.GET, "/json", object),
    ComptimeRoute(Method.GET, "/users/:id", user),
    ComptimeRoute(Method.POST, "/upload", upload),
    ComptimeRoute(Method.GET, "/64k", large),
]


def main() raises:
    var server = HttpServer.bind(address(String(argv()[1])))
    server.serve_comptime[ComptimeRouter[ROUTES](), ServerConfig()]()

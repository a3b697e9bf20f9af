"""Reaches what is checked and compiled when a program is built."""

from flare.http import (
    ComptimeRoute,
    ComptimeRouter,
    FnHandler,
    HttpServer,
    Method,
    Request,
    Response,
    ServerConfig,
    StateHandler,
    ok,
)
from flare.http.handler.state import State
from flare.net import SocketAddr


def greet(req: Request) raises -> Response:
    """Greets somebody."""
    return ok("hi " + req.param("name"))


def count(req: Request, state: State[Int]) raises -> Response:
    """Counts."""
    state.lock()[] += 1
    return Response(204)


comptime ROUTES: List[ComptimeRoute] = [
    ComptimeRoute(Method.GET, "/greet/:name", greet),
    ComptimeRoute(ComptimeRoute.ANY, "/files/*path", greet, may_block=False),
    ComptimeRoute.of[StateHandler(count)](Method.POST, "/count"),
]
comptime GREET: FnHandler = FnHandler(greet)
comptime CONFIG: ServerConfig = ServerConfig(max_body_size=64 * 1024)


def compiled() raises:
    """Serves a router and a function that the compiler knows."""
    comptime ROUTER = ComptimeRouter[ROUTES]()
    print(len(ROUTER.operations()))
    var server = HttpServer.bind(SocketAddr.localhost(0))
    server.serve_comptime[ROUTER, CONFIG]()
    var other = HttpServer.bind(SocketAddr.localhost(0))
    other.serve_comptime[GREET, CONFIG](num_workers=2)

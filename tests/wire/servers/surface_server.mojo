"""What applications write most, for the wire tests: a compiled router with a
prefix, a fallback and a WebSocket route, inside a stack of middleware.

Argument: port.
"""

from flare.http import (
    App,
    ComptimeRoute,
    ComptimeRouter,
    Cookie,
    Cors,
    ExtensionScope,
    Handler,
    HttpServer,
    Layer,
    Method,
    NEXT,
    Request,
    RequestId,
    Response,
    State,
    accepted,
    conflict,
    mounted,
    ok,
    ok_json,
    service_unavailable,
    stack,
    too_many_requests,
    unprocessable,
)
from flare.net import SocketAddr
from flare.ws import WsHandler, WsIncoming, WsSender
from std.sys import argv


@fieldwise_init
struct Caller(Copyable, Movable):
    """Who calls, as a cookie says."""

    var name: String


@fieldwise_init
struct FindCaller[H: Handler](Layer):
    """Tells inner handlers who calls."""

    comptime Inner = Self.H
    comptime Around[I: Handler]: Handler = FindCaller[I]
    var handler: Self.H

    def serve(self, req: Request) raises -> Response:
        var caller = Caller(String(req.cookie("user")))
        var scope = ExtensionScope(req.extensions(), caller)
        var response = self.handler.serve(req)
        scope^.end()
        return response^


def who(req: Request) raises -> Response:
    return ok(String("[", req.extension[Caller]().value()[].name, "]"))


def page(req: Request) raises -> Response:
    var page = req.opt_query_param("page")
    var text = String("[", page.value(), "]") if page else "none"
    return ok(text + " " + req.query_param_or("size", "20"))


def answer(req: Request) raises -> Response:
    var kind = req.param("kind")
    if kind == "accepted":
        return accepted("soon")
    if kind == "conflict":
        return conflict()
    if kind == "unprocessable":
        return unprocessable()
    if kind == "limited":
        return too_many_requests(retry_after_s=30)
    if kind == "busy":
        return service_unavailable(retry_after_s=5)
    return (
        ok_json("{}")
        .with_status(201)
        .with_header("Location", "/api/made/1")
        .with_cookie(Cookie("a", "1"))
        .with_cookie(Cookie("b", "2"))
    )


def missing(req: Request, state: State[Int]) raises -> Response:
    state.lock()[] += 1
    return ok("no " + req.path).with_status(404)


@fieldwise_init
struct Upper(Copyable, WsHandler):
    """Answers in capital letters."""

    def on_message(self, message: WsIncoming, sender: WsSender) raises:
        sender.send_text(String(message.as_text()).upper())


comptime API: List[ComptimeRoute] = [
    ComptimeRoute(Method.GET, "/who", who),
    ComptimeRoute(Method.GET, "/page", page),
    ComptimeRoute(Method.GET, "/answers/:kind", answer),
]
comptime OTHERS: List[ComptimeRoute] = [
    ComptimeRoute.ws[Upper()]("/upper"),
    ComptimeRoute.fallback(missing_at),
]
comptime ROUTES: List[ComptimeRoute] = OTHERS + mounted("/api", API)


def missing_at(req: Request) raises -> Response:
    return missing(req, State[Int].of(req))


def main() raises:
    var server = HttpServer.bind(
        SocketAddr.localhost(UInt16(Int(String(argv()[1]))))
    )
    print("listening on", server.local_addr(), flush=True)
    server.serve(
        stack(
            RequestId(NEXT),
            Cors(NEXT),
            FindCaller(NEXT),
            App(state=0, handler=NEXT),
            ComptimeRouter[ROUTES](),
        )
    )
    print("stopped", flush=True)

"""Handlers that ask an upstream through a client that threads share.

    asking_server PORT upstream=URL token=0|1
"""

from flare.http import (
    App,
    HttpServer,
    Request,
    Response,
    Router,
    ServerConfig,
    State,
    ok,
)
from flare.http.client import CancelToken, ClientRequest, SharedClient
from flare.net import SocketAddr
from std.sys import argv


@fieldwise_init
struct Upstream(Copyable, Movable):
    """Whom the handlers ask, and whether they stop when nobody waits."""

    var client: SharedClient
    var stops: Bool
    var failures: List[String]


def ask(req: Request) raises -> Response:
    """Asks once."""
    var upstream = State[Upstream].of(req).lock()[].copy()
    var asked = ClientRequest("GET", String(req.path))
    if upstream.stops:
        asked.cancel = CancelToken.of(req)
    var failure: String
    try:
        var answer = upstream.client.send(asked^)
        return ok(String(len(answer.body)))
    except error:
        failure = String(error)
    State[Upstream].of(req).lock()[].failures.append(failure)
    raise Error(failure)


def ask_twice(req: Request) raises -> Response:
    """Asks twice, with one token."""
    var first = CancelToken.of(req)
    var second = CancelToken.of(req)
    return ok(String(first.fd() == second.fd(), " ", first.is_cancelled()))


def figures(req: Request) raises -> Response:
    """Tells of the client's connections, and of what has failed."""
    var upstream = State[Upstream].of(req).lock()[].copy()
    var figures = upstream.client.figures()
    var text = String("busy ", figures.busy, " waiting ", figures.waiting)
    for failure in upstream.failures:
        text.write("\n", failure)
    return ok(text^)


def main() raises:
    var upstream = String()
    var stops = False
    for index in range(2, len(argv())):
        var parts = String(argv()[index]).split("=", 1)
        if parts[0] == "upstream":
            upstream = String(parts[1])
        else:
            stops = parts[1] == "1"
    var router = Router()
    router.get("/ask/:what", ask)
    router.get("/twice", ask_twice)
    router.get("/figures", figures)
    var state = Upstream(SharedClient(upstream), stops, [])
    var config = ServerConfig(handler_threads=4)
    var address = SocketAddr.localhost(UInt16(Int(argv()[1])))
    var server = HttpServer.bind(address, config^)
    print("listening on", server.local_addr(), flush=True)
    server.serve(App(state=state^, handler=router^))

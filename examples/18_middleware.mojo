# 18 Middleware: handlers around handlers. Three layers of the library, and one
# of our own that tells the handlers inside it who serves.
#
# Expected output:
#   hello from flare | served by flare | id kept: abc
#   origin allowed: *
#   500 internal server error
#   log: 200 200 500

from flare.http import (
    AccessLog,
    ClientRequest,
    Cors,
    ExtensionScope,
    Handler,
    Layer,
    NEXT,
    Recover,
    Request,
    RequestId,
    Response,
    Router,
    State,
    ok,
    stack,
)
from flare.http.middleware import LogSink
from flare.testing import TestClient


@fieldwise_init
struct Server(Copyable, Movable):
    """What handlers are told."""

    var name: String


@fieldwise_init
struct ServedBy[H: Handler](Layer):
    """Names who serves."""

    comptime Inner = Self.H
    comptime Around[I: Handler]: Handler = ServedBy[I]
    var server: Server
    var handler: Self.H

    def serve(self, req: Request) raises -> Response:
        var scope = ExtensionScope(req.extensions(), self.server)
        var response = self.handler.serve(req)
        scope^.end()
        return response^.with_header("X-Served-By", self.server.name)


@fieldwise_init
struct Statuses(LogSink):
    """Keeps the statuses of log lines, where others would go to a file."""

    var seen: State[String]

    def write_line(self, line: StringSpan):
        var words = line.split(" ")
        self.seen.lock()[].write(" ", words[5])


def hello(req: Request) raises -> Response:
    var server = req.extension[Server]()
    return ok("hello from " + server.value()[].name)


def broken(req: Request) raises -> Response:
    raise Error("nobody is told of this")


def on_error(req: Request, error: Error) -> Response:
    return Response(500, "internal server error")


def main() raises:
    var router = Router()
    router.get("/", hello)
    router.get("/broken", broken)
    var seen = State(String())
    # From the outside in; NEXT stands for what comes behind. The whole stack is
    # one type, without indirection.
    var handler = stack(
        AccessLog(NEXT, sink=Statuses(seen)),
        RequestId(NEXT),
        Cors(NEXT),
        ServedBy(Server("flare"), NEXT),
        Recover(NEXT, on_error),
        router^,
    )
    var client = TestClient(handler^)

    var request = ClientRequest("GET", "/")
    request.set_header("X-Request-Id", "abc")
    var response = client.send(request^)
    var server = response.headers["X-Served-By"]
    var id = response.headers["X-Request-Id"]
    print(response.text(), "| served by", server, "| id kept:", id)

    request = ClientRequest("GET", "/")
    request.set_header("Origin", "https://app.example.com")
    var allowed = client.send(request^).headers.copy()
    print("origin allowed:", allowed["Access-Control-Allow-Origin"])

    response = client.get("/broken")
    print(response.status, response.text())
    print("log:", seen.snapshot().strip())

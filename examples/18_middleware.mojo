# 18 Middleware: handlers around handlers. Three layers of the library, and one
# of our own.
#
# Expected output:
#   hello | served by flare | id kept: abc
#   origin allowed: *
#   500 internal server error
#   log: 200 200 500

from flare.http import (
    AccessLog,
    ClientRequest,
    Cors,
    Handler,
    LogSink,
    Middleware,
    Recover,
    Request,
    RequestId,
    Response,
    Router,
    State,
    ok,
)
from flare.testing import TestClient


@fieldwise_init
struct ServedBy[H: Handler](Middleware):
    """Names who serves."""

    comptime Inner = Self.H
    var name: String
    var handler: Self.H

    def serve(self, req: Request) raises -> Response:
        var response = self.handler.serve(req)
        response.headers.set("X-Served-By", self.name)
        return response^


@fieldwise_init
struct Statuses(LogSink):
    """Keeps the statuses of log lines, where others would go to a file."""

    var seen: State[String]

    def write_line(self, line: StringSpan):
        var words = line.split(" ")
        self.seen.lock()[].write(" ", words[5])


def hello(req: Request) raises -> Response:
    return ok("hello")


def broken(req: Request) raises -> Response:
    raise Error("nobody is told of this")


def on_error(req: Request, error: Error) -> Response:
    return Response(500, "internal server error")


def main() raises:
    var router = Router()
    router.get("/", hello)
    router.get("/broken", broken)
    var seen = State(String())
    # From the outside in; the whole stack is one type, without indirection.
    var stack = AccessLog(
        RequestId(Cors(ServedBy("flare", Recover(router^, on_error)))),
        sink=Statuses(seen),
    )
    var client = TestClient(stack^)

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

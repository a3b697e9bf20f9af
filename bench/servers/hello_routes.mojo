"""The routes that every hello server of the benchmarks answers."""

from flare.http import Handler, Request, Response, Router, ok, ok_json
from flare.net import SocketAddr
from flare.ws import WsHandler, WsIncoming, WsSender
from std.os import getenv


def hello(req: Request) -> Response:
    return ok("Hello, World!")


def object(req: Request) -> Response:
    return ok_json('{"message":"Hello, World!"}')


def user(req: Request) raises -> Response:
    return ok("user " + req.param("id"))


def upload(req: Request) -> Response:
    return ok("OK")


@fieldwise_init
struct Page(Copyable, Handler):
    """Answers with 64 KiB that all responses share."""

    var text: String

    def serve(self, req: Request) raises -> Response:
        return ok(self.text)


@fieldwise_init
struct Echo(WsHandler):
    """Sends each message back."""

    def on_message(self, message: WsIncoming, sender: WsSender) raises:
        sender.send_binary(message.as_bytes())


def hello_router() raises -> Router:
    """Makes the router of the hello servers."""
    var router = Router()
    router.get("/", hello)
    router.get("/json", object)
    router.get("/users/:id", user)
    router.post("/upload", upload)
    router.ws("/ws", Echo())
    router.get("/64k", Page(String("x") * 65_536))
    return router^


def address(port: StringSpan) raises -> SocketAddr:
    """Gives the address to listen on: BENCH_HOST, by default loopback."""
    return SocketAddr.parse(
        String(getenv("BENCH_HOST", "127.0.0.1"), ":", port)
    )

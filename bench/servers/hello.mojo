"""The hello server of the benchmarks: default configuration, with a router.

Usage: hello PORT
"""

from flare.http import Handler, HttpServer, Request, Response, Router, ok
from flare.net import SocketAddr
from std.sys import argv


def hello(req: Request) -> Response:
    return ok("Hello, World!")


def user(req: Request) raises -> Response:
    return ok("user " + req.param("id"))


def upload(req: Request) -> Response:
    return ok("OK")


struct Page(Handler):
    """Answers with 64 KiB that all responses share."""

    var text: String

    def __init__(out self):
        self.text = String("x") * 65_536

    def serve(self, req: Request) raises -> Response:
        return ok(self.text)


def main() raises:
    var router = Router()
    router.get("/", hello)
    router.get("/users/:id", user)
    router.post("/upload", upload)
    router.get("/64k", Page())
    var port = UInt16(Int(String(argv()[1])))
    var server = HttpServer.bind(SocketAddr.localhost(port))
    server.serve(router^)

"""A program for `flare dev`: says which version it is.

Usage: dev_server VERSION PORT [threads|processes]
"""

from flare.http import HttpServer, Request, Response, Router, no_content, ok
from flare.net import SocketAddr
from std.os import abort
from std.sys import argv
from std.time import sleep


def version(req: Request) -> Response:
    return ok(String(argv()[1]))


def slow(req: Request) -> Response:
    sleep(0.3)
    return ok(String(argv()[1]))


def minute(req: Request) -> Response:
    sleep(60.0)
    return no_content()


def store(req: Request) -> Response:
    return no_content()


def crash(req: Request) -> Response:
    abort("as it was asked to")


def main() raises:
    var router = Router()
    router.get("/", version)
    router.get("/slow", slow)
    router.get("/minute", minute)
    router.get("/crash", crash)
    router.post("/", store)
    var mode = String(argv()[3]) if len(argv()) > 3 else String("one")
    var port = UInt16(Int(String(argv()[2])))
    var server = HttpServer.bind(SocketAddr.localhost(port))
    print("bound", server.local_addr())
    if mode == "processes":
        server.serve_prefork(router^, workers=2)
    elif mode == "threads":
        server.serve(router^, num_workers=2)
    else:
        server.serve(router^)

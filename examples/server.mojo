"""The example server of `make run`."""

from flare.http import HttpServer, Request, Response, Router, ok, ok_json
from flare.net import SocketAddr


def home(req: Request) -> Response:
    return ok("Hello from flare!\n")


def greet(req: Request) raises -> Response:
    return ok("hi " + req.param("name") + "\n")


def echo(req: Request) raises -> Response:
    _ = req.json()
    return ok_json(req.text())


def listening() raises -> HttpServer:
    """Takes the usual port, or any that is free if somebody else has that."""
    try:
        return HttpServer.bind(SocketAddr.localhost(8080))
    except:
        return HttpServer.bind(SocketAddr.localhost(0))


def main() raises:
    var router = Router()
    router.get("/", home)
    router.get("/greet/:name", greet)
    router.post("/echo", echo)
    var server = listening()
    print("serving on http://", server.local_addr(), sep="")
    print("try:  curl -i http://", server.local_addr(), "/greet/you", sep="")
    print("stop: Ctrl-C", flush=True)
    server.serve(router^)
    print("stopped")

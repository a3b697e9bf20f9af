# 15 Router: patterns, parameters, priorities, methods and mounting.
#
# Expected output:
#   hi bob
#   the new user
#   user 7
#   file docs/a b.txt
#   v1 says pong
#   405 GET, HEAD, POST, OPTIONS
#   route: '/users/:id' matches the same paths as '/users/:name', *

from flare.http import Request, Response, Router, HttpServer, ok
from flare.http import Handler, ShutdownHandle
from flare.net import SocketAddr
from std.os import Process


def greet(req: Request) raises -> Response:
    return ok("hi " + req.param("name") + "\n")


def new_user(req: Request) -> Response:
    return ok("the new user\n")


def user(req: Request) raises -> Response:
    return ok("user " + req.param("id") + "\n")


def file(req: Request) raises -> Response:
    return ok("file " + req.param("path") + "\n")


def ping(req: Request) raises -> Response:
    return ok(String(req.param("version"), " says pong\n"))


@fieldwise_init
struct Stop(Handler):
    """Stops the server that it belongs to."""

    var stopper: ShutdownHandle

    def serve(self, req: Request) raises -> Response:
        self.stopper.shutdown()
        return Response(204)


def main() raises:
    var api = Router()
    api.get("/ping", ping)

    var server = HttpServer.bind(SocketAddr.localhost(0))
    var router = Router()
    router.get("/greet/:name", greet)
    router.get("/users/:id", user)
    router.get("/users/new", new_user)  # text comes before :id
    router.post("/users/:id", user)
    router.get("/files/*path", file)
    router.get("/stop", Stop(server.shutdown_handle()))
    router.mount("/api/:version", api^)

    var url = String("http://", server.local_addr())
    var script = String(
        "for p in greet/bob users/new users/7 files/docs/a%20b.txt api/v1/ping;",
        " do curl -s ",
        url,
        "/$p; done; curl -s -X DELETE -o /dev/null -w",
        " '%{http_code} %header{allow}\\n' ",
        url,
        "/users/7;",
        " curl -s ",
        url,
        "/stop",
    )
    var client = Process.run("/bin/sh", ["-c", script])
    server.serve(router^)
    _ = client.wait()

    var other = Router()
    other.get("/users/:name", greet)
    try:
        other.get("/users/:id", user)
    except error:
        print(error)

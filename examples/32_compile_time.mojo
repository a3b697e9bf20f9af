# 32 Compile time: routes and limits that are checked when the program is built.
# Two routes for the same paths, or a body limit below the header limit, would
# fail the build with a message that names them.
#
# Expected output:
#   hello
#   user 7
#   file docs/a b.txt
#   405 GET, HEAD, DELETE, OPTIONS
#   stopped

from flare.http import (
    ComptimeRoute,
    ComptimeRouter,
    HttpServer,
    Method,
    Request,
    Response,
    ServerConfig,
    ok,
)
from flare.net import SocketAddr
from std.os import Process


def hello(req: Request) -> Response:
    return ok("hello\n")


def user(req: Request) raises -> Response:
    return ok("user " + req.param("id") + "\n")


def file(req: Request) raises -> Response:
    return ok("file " + req.param("path") + "\n")


comptime ROUTES: List[ComptimeRoute] = [
    ComptimeRoute(Method.GET, "/", hello),
    ComptimeRoute(Method.GET, "/users/:id", user),
    ComptimeRoute(Method.DELETE, "/users/:id", user),
    ComptimeRoute(Method.GET, "/files/*path", file, may_block=False),
]
comptime CONFIG: ServerConfig = ServerConfig(
    max_header_size=4096, max_body_size=64 * 1024, idle_timeout_ms=30_000
)


def main() raises:
    var server = HttpServer.bind(SocketAddr.localhost(0))
    var url = String("http://", server.local_addr())
    var script = String("u=", url, "; curl -s $u/ $u/users/7 ")
    script.write("$u/files/docs/a%20b.txt; curl -s -X POST -o /dev/null ")
    script.write("-w '%{http_code} %header{allow}\\n' $u/users/7; ")
    script.write("kill -TERM $PPID")
    var client = Process.run("/bin/sh", ["-c", script])
    server.serve_comptime[ComptimeRouter[ROUTES](), CONFIG]()
    _ = client.wait()
    print("stopped")

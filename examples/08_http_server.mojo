# 08 HTTP server: handlers, JSON, and stopping in good order. curl is the client.
#
# Expected output:
#   hello from GET
#   {"received": true}
#   not found: /nope
#   bye
#   stopped

from flare.http import (
    Handler,
    HttpServer,
    Request,
    Response,
    ShutdownHandle,
    not_found,
    ok,
    ok_json,
)
from flare.net import SocketAddr
from std.os import Process


@fieldwise_init
struct Demo(Handler):
    """A handler with a field; a plain function serves as well."""

    var stopper: ShutdownHandle

    def serve(self, req: Request) raises -> Response:
        if req.url == "/":
            return ok(String("hello from ", req.method, "\n"))
        if req.url == "/data":
            _ = req.json()["k"].int_value()
            return ok_json('{"received": true}\n')
        if req.url == "/stop":
            self.stopper.shutdown()
            return ok("bye\n")
        return not_found(String(req.url, "\n"))


def main() raises:
    var server = HttpServer.bind(SocketAddr.localhost(0))
    var url = String("http://", server.local_addr())
    var script = String(
        "curl -s ",
        url,
        "/; curl -s -d '{\"k\": 1}' ",
        url,
        "/data;",
        " curl -s ",
        url,
        "/nope; curl -s ",
        url,
        "/stop",
    )
    var client = Process.run("/bin/sh", ["-c", script])
    server.serve(Demo(server.shutdown_handle()))
    _ = client.wait()
    print("stopped")

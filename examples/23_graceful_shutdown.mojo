# 23 Graceful shutdown: SIGTERM arrives while a request is under way; it is
# finished, new ones are refused, and the program goes on after `serve`.
#
# Expected output:
#   the request has begun
#   worth waiting for
#   new connection: refused
#   stopped

from flare.http import HttpServer, Request, Response, ServerConfig, ok
from flare.net import SocketAddr
from std.os import Process
from std.time import sleep


def slow(req: Request) -> Response:
    """Blocks, so it runs on a handler thread and the loop goes on."""
    print("the request has begun", flush=True)
    sleep(0.5)
    return ok("worth waiting for\n")


def main() raises:
    var config = ServerConfig(
        handler_threads=2,
        # Whoever is not done by then is cut off.
        shutdown_timeout_ms=5_000,
    )
    var server = HttpServer.bind(SocketAddr.localhost(0), config^)
    var url = String("http://", server.local_addr(), "/")
    var script = String(
        "curl -s ",
        url,
        " & sleep 0.2; kill -TERM $PPID; sleep 0.1; ",
        "curl -s ",
        url,
        " || refused=yes; wait; ",
        "test $refused && echo new connection: refused",
    )
    var client = Process.run("/bin/sh", ["-c", script])
    server.serve(slow)
    _ = client.wait()
    print("stopped")

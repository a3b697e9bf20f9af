# 23 Graceful shutdown: SIGTERM arrives while a request is under way; it is
# finished, new ones are refused, and the program goes on after `serve`.
#
# Expected output:
#   the request has begun
#   worth waiting for
#   new connection: refused
#   stopped

from flare.http import Handler, HttpServer, Request, Response, ServerConfig, ok
from flare.net import SocketAddr
from std.atomic import Atomic
from std.memory import ArcPointer
from std.os import Process
from std.time import sleep

comptime DEMO = StaticString(
    """
    curl -s $u/slow &
    until curl -s $u/begun | grep -q 1; do sleep 0.01; done
    kill -TERM $PPID
    while curl -s -o /dev/null $u/begun; do sleep 0.01; done
    wait; echo new connection: refused
    """
)


@fieldwise_init
struct Slow(Handler):
    """Tells how many slow requests have begun, or is one."""

    var begun: ArcPointer[Atomic[Int64]]

    def serve(self, req: Request) raises -> Response:
        if req.path == "/begun":
            return ok(String(self.begun[].load(), "\n"))
        print("the request has begun", flush=True)
        _ = self.begun[].fetch_add(1)
        # It runs on a handler thread, so the loop goes on.
        sleep(0.5)
        return ok("worth waiting for\n")


def main() raises:
    var config = ServerConfig(
        handler_threads=2,
        # Whoever is not done by then is cut off.
        shutdown_timeout_ms=5_000,
    )
    var server = HttpServer.bind(SocketAddr.localhost(0), config^)
    var url = String("u=http://", server.local_addr())
    var client = Process.run("/bin/sh", ["-c", url + DEMO])
    server.serve(Slow(ArcPointer(Atomic[Int64](0))))
    _ = client.wait()
    print("stopped")

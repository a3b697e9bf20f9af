# 17 Multicore: one worker thread for each CPU. They share the handler, so what
# it changes is atomic.
#
# Expected output:
#   visitor 1
#   visitor 2
#   visitor 3
#   bye
#   stopped after 4 requests

from flare.http import (
    Handler,
    HttpServer,
    Request,
    Response,
    ShutdownHandle,
    ok,
)
from flare.net import SocketAddr
from flare.runtime import default_worker_count
from std.atomic import Atomic
from std.memory import ArcPointer
from std.os import Process


@fieldwise_init
struct Visits(Handler):
    """Counts requests, whichever worker answers them."""

    var count: ArcPointer[Atomic[Int64]]
    var stopper: ShutdownHandle

    def serve(self, req: Request) raises -> Response:
        if req.url == "/stop":
            self.stopper.shutdown()
            return ok("bye\n")
        return ok(String("visitor ", self.count[].fetch_add(1) + 1, "\n"))


def main() raises:
    var server = HttpServer.bind(SocketAddr.localhost(0))
    var url = String("http://", server.local_addr())
    var script = String("for i in 1 2 3; do curl -s ", url, "/; done; ")
    script.write("curl -s ", url, "/stop")
    var client = Process.run("/bin/sh", ["-c", script])
    var visits = Visits(ArcPointer(Atomic[Int64](0)), server.shutdown_handle())
    # Two at least, so that there is something to see on a small machine.
    server.serve(visits^, num_workers=max(2, default_worker_count()))
    _ = client.wait()
    print("stopped after", server.stats().requests, "requests")

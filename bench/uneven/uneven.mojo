"""Two workers, a quick route and one that blocks for 20 ms.

    uneven per_worker|shared|handler_threads|prefork PORT
"""

from flare.http import (
    Handler,
    HttpServer,
    ListenerMode,
    Request,
    RequestPolicy,
    Response,
    ServerConfig,
    ok,
)
from flare.net import SocketAddr
from std.sys import argv
from std.time import sleep


@fieldwise_init
struct Uneven(Handler):
    """Answers at once, or at `/slow` after 20 ms."""

    def policy_for(self, req: Request) -> RequestPolicy:
        return RequestPolicy(blocks=req.path == "/slow")

    def serve(self, req: Request) raises -> Response:
        if req.path == "/slow":
            sleep(0.02)
        return ok("done")


def main() raises:
    var mode = String(argv()[1])
    var config = ServerConfig()
    if mode == "shared":
        config.listener = ListenerMode.SHARED
    elif mode == "handler_threads":
        config.handler_threads = 8
    elif mode != "per_worker" and mode != "prefork":
        raise Error(
            "found '",
            mode,
            "'; modes are per_worker, shared, handler_threads and prefork",
        )
    var server = HttpServer.bind(
        SocketAddr.localhost(UInt16(Int(String(argv()[2])))), config^
    )
    if mode == "prefork":
        server.serve_prefork(Uneven(), workers=2)
        return
    server.serve(Uneven(), num_workers=2)

"""A plain answer and a room, for very many connections that are idle.

    scale_server PORT WORKERS
"""

from flare.backplane import SharedMemoryBackplane
from flare.http import HttpServer, Request, Response, Router, ServerConfig, ok
from flare.net import SocketAddr
from flare.runtime import PreforkConfig
from flare.ws import WsConfig, WsHandler, WsHub, WsIncoming, WsSender
from std.sys import argv

comptime HOUR_MS = 3_600_000
comptime CONNECTIONS_MAX = 1 << 22


@fieldwise_init
struct Room(WsHandler):
    """Sends on to all what one says."""

    var hub: WsHub

    def on_open(self, req: Request, sender: WsSender) raises:
        self.hub.join(sender, "room")

    def on_message(self, message: WsIncoming, sender: WsSender) raises:
        _ = self.hub.send_text(message.as_text(), "room")

    def on_close(self, code: Int, reason: StringSpan, sender: WsSender):
        self.hub.leave(sender, "room")


def plain(req: Request) -> Response:
    return ok("done")


def main() raises:
    var router = Router()
    router.get("/", plain)
    var config = WsConfig()
    config.ping_interval_ms = HOUR_MS
    router.ws("/room", Room(WsHub(SharedMemoryBackplane())), config^)
    var server = HttpServer.bind(
        SocketAddr.localhost(UInt16(Int(String(argv()[1])))),
        ServerConfig(max_connections=CONNECTIONS_MAX, idle_timeout_ms=HOUR_MS),
    )
    print("listening on", server.local_addr(), flush=True)
    server.serve_prefork(router^, PreforkConfig(workers=Int(String(argv()[2]))))

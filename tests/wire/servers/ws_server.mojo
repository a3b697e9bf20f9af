"""The server of the tests of WebSocket routes.

    ws_server PORT workers=N max_queue_size=N ping_interval_ms=N ...

Further arguments are those of `tls_options`.
"""

from flare.http import Request, Response, Router, ServerConfig, ok
from flare.http.handler.handler import Handler, Middleware, RequestPolicy
from flare.http.routing.ws_route import WsRoute
from flare.ws import (
    DeflateAgreement,
    WsConfig,
    WsHandler,
    WsHub,
    WsIncoming,
    WsSender,
)
from std.memory import ArcPointer
from std.sys import argv, stderr
from tests.wire.servers.tls_options import TlsOptions


def hello(req: Request) -> Response:
    return ok("hello")


@fieldwise_init
struct Echo(WsHandler):
    """Says what it hears; some texts are orders."""

    var hub: WsHub
    var noise: ArcPointer[List[UInt8]]

    def on_open(self, req: Request, sender: WsSender) raises:
        if req.query == "refuse":
            raise Error("not today\nflare: forged")
        if req.query == "greet":
            sender.send_text("welcome")
        if req.query == "room":
            self.hub.join(sender, "room")

    def on_message(self, message: WsIncoming, sender: WsSender) raises:
        if not message.is_text:
            sender.send_binary(message.as_bytes())
            return
        var text = message.as_text()
        if text == "close":
            sender.close(4001, "as you say")
        elif text == "fail":
            raise Error("it failed\nflare: forged")
        elif text == "flood":
            for _ in range(1_000):
                sender.send_text(String("x") * 10_000)
        elif text == "*":
            sender.send_binary(self.noise[])
        elif text == "**":
            _ = self.hub.send_binary(self.noise[], "room")
        elif text.startswith("all:"):
            var count = self.hub.send_text(text[byte=4:], "room")
            sender.send_text(String("sent to ", count))
        else:
            sender.send_text(text)

    def on_close(self, code: Int, reason: StringSpan, sender: WsSender):
        self.hub.leave(sender, "room")
        print("closed", code, reason, file=stderr)


@fieldwise_init
struct Blocking[H: Handler](Middleware):
    """Lets a handshake be answered on a handler thread, if there are some."""

    comptime Inner = Self.H
    var handler: Self.H

    def serve(self, req: Request) raises -> Response:
        return self.handler.serve(req)

    def policy_for(self, req: Request) -> RequestPolicy:
        var policy = self.handler.policy_for(req)
        policy.blocks = True
        return policy


def noise() -> ArcPointer[List[UInt8]]:
    """Makes 64 KiB that no compression makes shorter."""
    var octets = List[UInt8](capacity=1 << 16)
    var state = UInt32(1)
    for _ in range(1 << 16):
        state = state * 1_664_525 + 1_013_904_223
        octets.append(UInt8(state >> 24))
    return ArcPointer(octets^)


def main() raises:
    var config = WsConfig()
    config.max_message_size = 8 << 20
    config.max_frame_size = 8 << 20
    config.max_queue_size = 16 << 20
    var tls = TlsOptions()
    var server_config = ServerConfig()
    var workers = 1
    for index in range(2, len(argv())):
        var parts = String(argv()[index]).split("=")
        var name = String(parts[0])
        if tls.take(name, String(parts[1])):
            continue
        if name == "origin":
            config.origins.append(String(parts[1]))
            continue
        if name == "subprotocol":
            config.subprotocols.append(String(parts[1]))
            continue
        var value = Int(String(parts[1]))
        if name == "workers":
            workers = value
        elif name == "handler_threads":
            server_config.handler_threads = value
        elif name == "logs_errors":
            server_config.logs_errors = value == 1
        elif name == "write_timeout_ms":
            server_config.write_timeout_ms = value
        elif name == "min_send_rate":
            server_config.min_send_rate = value
        elif name == "max_glitches":
            server_config.http2_limits.max_glitches = value
        elif name == "compression":
            config.compression = DeflateAgreement.widest()
        elif name == "max_message_size":
            config.max_message_size = value
        elif name == "max_frame_size":
            config.max_frame_size = value
        elif name == "max_queue_size":
            config.max_queue_size = value
        elif name == "cuts_slow_clients":
            config.cuts_slow_clients = value == 1
        elif name == "stall_timeout_ms":
            config.stall_timeout_ms = value
        elif name == "shutdown_timeout_ms":
            server_config.shutdown_timeout_ms = value
        elif name == "ping_interval_ms":
            config.ping_interval_ms = value
        elif name == "pong_timeout_ms":
            config.pong_timeout_ms = value
        elif name == "close_timeout_ms":
            config.close_timeout_ms = value
        else:
            raise Error("there is no option '", name, "'")
    var router = Router()
    router.get("/", hello)
    var hub = WsHub()
    router.get(
        "/blocking",
        Blocking(WsRoute(Echo(hub.copy(), noise()), config.copy())),
    )
    router.ws("/ws", Echo(hub^, noise()), config^)
    var server = tls.bind(UInt16(Int(String(argv()[1]))), server_config^)
    print("listening on", server.local_addr(), flush=True)
    server.serve(router^, num_workers=workers)

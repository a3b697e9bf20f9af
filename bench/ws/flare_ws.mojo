"""Flare: echoes what it hears, or with `room` sends it to all.

    flare_ws PORT [room]
"""

from flare.net import SocketAddr
from flare.ws import WsHandler, WsHub, WsIncoming, WsSender, WsServer
from flare.http import Request
from std.sys import argv


@fieldwise_init
struct Echo(WsHandler):
    def on_message(self, message: WsIncoming, sender: WsSender) raises:
        if message.is_text:
            sender.send_text(message.as_text())
        else:
            sender.send_binary(message.as_bytes())


@fieldwise_init
struct Room(WsHandler):
    var hub: WsHub

    def on_open(self, req: Request, sender: WsSender) raises:
        self.hub.join(sender)

    def on_message(self, message: WsIncoming, sender: WsSender) raises:
        _ = self.hub.send_binary(message.as_bytes())

    def on_close(self, code: Int, reason: StringSpan, sender: WsSender):
        self.hub.leave(sender)


def main() raises:
    var port = UInt16(Int(argv()[1]))
    var server = WsServer.bind(SocketAddr.localhost(port))
    if len(argv()) > 2:
        server.serve(Room(WsHub()))
    else:
        server.serve(Echo())

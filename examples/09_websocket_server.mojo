# 09 WebSocket server: rooms on the port of an HTTP server, with a client of
# each kind on a thread of its own.
#
# Expected output:
#   /: hello
#   ann hears: bob is here
#   bob hears: 2 heard it
#   ann hears: bob: good morning

from flare.http import HttpServer, Request, Response, Router, get, ok
from flare.http import ShutdownHandle
from flare.net import SocketAddr
from flare.runtime import Task, Thread
from flare.ws import WsClient, WsHandler, WsHub, WsIncoming, WsSender


@fieldwise_init
struct Chat(WsHandler):
    """One room; what one says, all hear."""

    var hub: WsHub

    def on_open(self, req: Request, sender: WsSender) raises:
        _ = self.hub.send_text(String(req.query, " is here"))
        self.hub.join(sender)

    def on_message(self, message: WsIncoming, sender: WsSender) raises:
        var count = self.hub.send_text(message.as_text())
        sender.send_text(String(count, " heard it"))

    def on_close(self, code: Int, reason: StringSpan, sender: WsSender):
        self.hub.leave(sender)


@fieldwise_init
struct Visitors(Task):
    var address: SocketAddr
    var stop: ShutdownHandle

    def run(mut self) raises:
        print("/:", get(String("http://", self.address, "/")).text())
        var url = String("ws://", self.address, "/chat?")
        with WsClient.connect(url + "ann") as ann:
            with WsClient.connect(url + "bob") as bob:
                print("ann hears:", ann.recv_message().as_text())
                bob.send_text("bob: good morning")
                _ = bob.recv_message()
                print("bob hears:", bob.recv_message().as_text())
                print("ann hears:", ann.recv_message().as_text())
        self.stop.shutdown()


def hello(req: Request) -> Response:
    return ok("hello")


def main() raises:
    var router = Router()
    router.get("/", hello)
    router.ws("/chat", Chat(WsHub()))
    var server = HttpServer.bind(SocketAddr.localhost(0))
    var visitors = Thread(
        Visitors(server.local_addr(), server.shutdown_handle())
    )
    server.serve(router^)
    visitors^.join()

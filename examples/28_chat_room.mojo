# 28 Chat room: a page for browsers, and a WebSocket for what they say. With a
# port as its argument it serves until it is stopped; open it in two tabs.
# Without one, two programs visit it.
#
# Expected output:
#   ann hears: bob has come
#   ann hears: bob: good morning
#   ann hears: bob has left

from flare.http import FileServer, HttpServer, Router, SecurityHeaders, State
from flare.http import Request, ShutdownHandle
from flare.net import SocketAddr
from flare.runtime import Task, Thread
from flare.ws import WsClient, WsHandler, WsHub, WsIncoming, WsSender
from std.sys import argv


@fieldwise_init
struct Chat(WsHandler):
    """Everybody in one room; names by connection, under a lock."""

    var hub: WsHub
    var names: State[Dict[UInt64, String]]

    def on_open(self, req: Request, sender: WsSender) raises:
        var name = String(req.query_param("name"))
        self.names.lock()[][sender.id()] = name
        _ = self.hub.send_text(name + " has come")
        self.hub.join(sender)

    def on_message(self, message: WsIncoming, sender: WsSender) raises:
        var name = self.names.lock()[].get(sender.id(), String())
        _ = self.hub.send_text(String(name, ": ", message.as_text()))

    def on_close(self, code: Int, reason: StringSpan, sender: WsSender):
        self.hub.leave(sender)
        var name = self.names.lock()[].pop(sender.id(), String())
        _ = self.hub.send_text(name + " has left")


@fieldwise_init
struct Visitors(Task):
    var address: SocketAddr
    var stop: ShutdownHandle

    def run(mut self) raises:
        var url = String("ws://", self.address, "/chat?name=")
        with WsClient.connect(url + "ann") as ann:
            with WsClient.connect(url + "bob") as bob:
                bob.send_text("good morning")
                for _ in range(2):
                    print("ann hears:", ann.recv_message().as_text())
            print("ann hears:", ann.recv_message().as_text())
        self.stop.shutdown()


def main() raises:
    var port = UInt16(Int(argv()[1])) if len(argv()) > 1 else 0
    var server = HttpServer.bind(SocketAddr.localhost(port))
    var visitors = Optional[Thread]()
    if len(argv()) > 1:
        print("listening on", server.local_addr(), flush=True)
    else:
        visitors = Thread(
            Visitors(server.local_addr(), server.shutdown_handle())
        )
    var router = Router()
    router.ws("/chat", Chat(WsHub(), State(Dict[UInt64, String]())))
    router.get("/*rest", FileServer("examples/chat_room"))
    server.serve(SecurityHeaders(router^))
    if visitors:
        visitors.take().join()

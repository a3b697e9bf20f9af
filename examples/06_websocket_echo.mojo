# 06 WebSocket echo: a client, and a server on a thread of its own.
#
# Expected output:
#   True hello
#   hello again
#   pong: still there?
#   server: closed with 1000 bye

from flare.net import SocketAddr
from flare.runtime import Task, Thread
from flare.ws import WsClient, WsHandler, WsIncoming, WsSender, WsServer


@fieldwise_init
struct Echo(WsHandler):
    def on_message(self, message: WsIncoming, sender: WsSender) raises:
        sender.send_text(message.as_text())

    def on_close(self, code: Int, reason: StringSpan, sender: WsSender):
        print("server: closed with", code, reason)


@fieldwise_init
struct EchoServer(Task):
    var server: WsServer

    def run(mut self) raises:
        self.server.serve(Echo())


def main() raises:
    var server = WsServer.bind(SocketAddr.localhost(0))
    var url = String("ws://", server.local_addr(), "/echo")
    var stop = server.shutdown_handle()
    var thread = Thread(EchoServer(server^))

    with WsClient.connect(url) as ws:
        ws.send_text("hello")
        var msg = ws.recv_message()
        print(msg.is_text, msg.as_text())

        ws.send_text("hello again")
        var frame = ws.recv()
        print(frame.text_payload())

        ws.ping("still there?")
        print("pong:", ws.recv().text_payload())
        ws.close(1000, "bye")
    stop.shutdown()
    thread^.join()

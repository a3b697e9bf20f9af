"""Reaches WebSocket: the client, the server, and both roles of the core."""

from flare.bytes.buffer import Buffer
from flare.http import OwnedRequest, Request, Router
from flare.http.message.header_map import HeaderMap
from flare.ws import Opcode, WsClient, WsHandler, WsHub, WsIncoming, WsSender
from flare.ws.core.connection import WsConnection
from flare.ws.core.frame import MaskingKey, Role
from flare.ws.core.handshake import ServerHandshake
from flare.ws.core.receiver import WsLimits


@fieldwise_init
struct Room(WsHandler):
    """Reaches what a handler may do."""

    var hub: WsHub

    def on_open(self, req: Request, sender: WsSender) raises:
        """Joins.

        Args:
            req: The request.
            sender: Sends to the client.

        Raises:
            Error: Never.
        """
        self.hub.join(sender, req.path)
        self.hub.set_user(sender, req.path)
        print(self.hub.resume(sender, req.path, "1").is_complete)

    def on_message(self, message: WsIncoming, sender: WsSender) raises:
        """Sends all there is.

        Args:
            message: The message.
            sender: Sends to the client.

        Raises:
            Error: If the client has gone.
        """
        print(self.hub.send_text(message.as_text()), self.hub.count())
        print(self.hub.send_binary(message.as_bytes()), sender.is_open())
        print(self.hub.send_to_user("ann", message.as_text()))
        print(self.hub.send_to_user("ann", message.as_bytes()))
        print(self.hub.close_user("ann"))
        sender.ping("there?")
        sender.close(4000, "enough")

    def on_close(self, code: Int, reason: StringSpan, sender: WsSender):
        """Leaves.

        Args:
            code: The close code.
            reason: Why.
            sender: The client's.
        """
        self.hub.leave(sender)
        self.hub.unset_user(sender)


def add_room(mut router: Router) raises:
    """Reaches the server, together with all else that a router has.

    Args:
        router: Gets a route.

    Raises:
        Error: If the system has no more locks.
    """
    router.ws("/room", Room(WsHub()))


def web_sockets() raises:
    """Reaches WebSocket: the client, and both roles of its core."""
    with WsClient.connect("wss://localhost/chat") as ws:
        ws.send_text("hello")
        ws.send_binary("octets".as_bytes())
        ws.send_fragment(Opcode.TEXT, "part".as_bytes(), True)
        ws.ping("there?")
        print(ws.recv_message().as_text(), ws.recv().text_payload())
        ws.close(1001, "bye")
    var request = OwnedRequest("GET", "/chat")
    var core = WsConnection(Role.SERVER, WsLimits(1_000, 1_000))
    core.send_message(Opcode.TEXT, "hi".as_bytes(), MaskingKey.none())
    var output = Buffer()
    var acceptance = ServerHandshake().accept("GET", 1, request.view().headers)
    acceptance.write_to(output, HeaderMap())

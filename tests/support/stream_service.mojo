"""A service with one route for each way in which a stream is answered."""

from flare.bytes.buffer import Buffer
from flare.http.message.body import BodySource, Poll, StreamWaker
from flare.http.message.request import Request
from flare.http.message.response import Response, ok, ok_stream
from flare.http.handler.handler import Handler, HandlerClaims, RequestPolicy
from flare.http.routing.ws_route import WsRoute
from flare.http.websocket.handler import WsHandler, WsIncoming
from flare.http.websocket.outbox import WsSender
from tests.support.served_connection import x_text

comptime _PIECE_LEN = 700


struct Pieces(BodySource):
    """Some octets, piece by piece; has nothing between two of them."""

    var left_len: Int
    var waits: Bool
    var waker: Optional[StreamWaker]

    def __init__(out self, length: Int):
        self.left_len = length
        self.waits = False
        self.waker = None

    def begin(mut self, var waker: StreamWaker):
        self.waker = waker^

    def fill(mut self, mut out: Buffer) raises -> Poll:
        self.waits = not self.waits
        if self.waits:
            self.waker.value().wake()
            return Poll.PENDING
        var count = min(self.left_len, _PIECE_LEN)
        self.left_len -= count
        out.append(List[UInt8](length=count, fill=120))
        return Poll.DONE if self.left_len == 0 else Poll.READY


@fieldwise_init
struct Echo(WsHandler):
    """Says what it hears."""

    def on_message(self, message: WsIncoming, sender: WsSender) raises:
        sender.send_binary(message.as_bytes())


struct StreamService(Handler):
    """Sends content back, or as many `x` as the path says: `/7` at once,
    `/pieces/7` piece by piece, `/early/7` whatever the content is,
    `/blocking/7` where handlers may block; `/ws` is a WebSocket that echoes."""

    var _echo: WsRoute[Echo]

    def __init__(out self) raises:
        self._echo = WsRoute(Echo())

    def serve(self, req: Request) raises -> Response:
        if req.path == "/ws":
            return self._echo.serve(req)
        if req.method == "POST" and not req.path.startswith("/early/"):
            var body = List[UInt8]()
            body.extend(req.body)
            return ok(body^)
        var parts = String(req.path).split("/")
        var length = Int(parts[len(parts) - 1])
        if req.path.startswith("/pieces/"):
            return ok_stream(Pieces(max(length, 0)), "text/plain")
        return ok(x_text(length))

    def policy_for(self, req: Request) -> RequestPolicy:
        return RequestPolicy(
            blocks=req.path.startswith("/blocking/"),
            needs_content=not req.path.startswith("/early/"),
        )

    def claims(self) -> HandlerClaims:
        return HandlerClaims(upgrades=True)

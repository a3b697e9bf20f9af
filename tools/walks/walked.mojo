"""What `tools/walk.py` looks at: servers of one worker, and a client.

    walked hello             one function answers
    walked routed            the same behind a Router
    walked proxy URL         a ReverseProxy to one upstream
    walked room REDIS_URL    a chat room whose messages go by way of Redis
    walked client URL        GETs URL for each line of its input

A server prints where it listens, the client that it is ready, and then a status for
each response.

The clock stands still, since breakpoints take their time: no turn is ever long, no
handler slow, and nothing is done that is done once a second.
"""

from flare.backplane import RedisBackplane
from flare.http import (
    HttpClient,
    HttpServer,
    Request,
    Response,
    Router,
    ServerConfig,
    ok,
)
from flare.http.proxy import ReverseProxy
from flare.net import SocketAddr
from flare.ws import WsHandler, WsHub, WsIncoming, WsSender
from std.io import input
from std.sys import argv


comptime _NOW_S = 2_000_000_000
# In 2033, and after more time than any machine runs: what waits until a moment that
# the clock of the system has, too, waits on.


@export("walk_clock")
def stopped_clock(
    clock: Int32, time: Pointer[Array[Int, 2], MutUntrackedOrigin]
) abi("C") -> Int32:
    """Tells the same time always, whatever the clock."""
    time[][0] = _NOW_S
    time[][1] = 0
    return 0


def hello(req: Request) -> Response:
    return ok("Hello, World!")


@fieldwise_init
struct Room(WsHandler):
    """Everybody in one room, who hear what each says."""

    var hub: WsHub

    def on_open(self, req: Request, sender: WsSender) raises:
        self.hub.join(sender, "room")

    def on_message(self, message: WsIncoming, sender: WsSender) raises:
        _ = self.hub.send_text(message.as_text(), "room")

    def on_close(self, code: Int, reason: StringSpan, sender: WsSender):
        self.hub.leave(sender, "room")


def bound() raises -> HttpServer:
    # Few enough connections for any limit of descriptors.
    var config = ServerConfig(max_connections=100)
    var server = HttpServer.bind(SocketAddr.localhost(0), config^)
    print("listening on", server.local_addr(), flush=True)
    return server^


def ask(url: String) raises:
    var client = HttpClient()
    print("ready", flush=True)
    while True:
        _ = input()
        print(client.get(url).status, flush=True)


def main() raises:
    var kind = String(argv()[1])
    if kind == "hello":
        var server = bound()
        server.serve(hello)
    elif kind == "routed":
        var server = bound()
        var router = Router()
        router.get("/", hello)
        server.serve(router^)
    elif kind == "proxy":
        var server = bound()
        server.serve(ReverseProxy(String(argv()[2])))
    elif kind == "room":
        var server = bound()
        var router = Router()
        router.ws("/room", Room(WsHub(RedisBackplane(argv()[2], "room"))))
        server.serve(router^)
    elif kind == "client":
        ask(String(argv()[2]))
    else:
        raise Error("there is no walk of a '", kind, "'")

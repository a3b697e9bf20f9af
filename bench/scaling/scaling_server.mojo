"""A room and stores by whatever carries them, to measure what that costs.

    scaling_server PORT PLANE WORKERS REDIS_URL

PLANE is local, shared, channel or stream; stores are in Redis for the last two.
"""

from flare.backplane import RedisBackplane, SharedMemoryBackplane
from flare.http import (
    FnHandler,
    HttpServer,
    RateLimit,
    Request,
    Response,
    Router,
    Sessions,
    ok,
)
from flare.http.middleware import CurrentSession, Idempotency, LocalIdempotency
from flare.http.session import SessionConfig, SigningKeys
from flare.http.stores import RedisIdempotency, RedisRates, RedisSessions
from flare.net import SocketAddr
from flare.redis import RedisConfig, RedisPool
from flare.runtime import process_id
from flare.ws import WsHandler, WsHub, WsIncoming, WsSender
from std.sys import argv

comptime _RATE = 100_000.0
comptime _BURST = 100_000


@fieldwise_init
struct Room(WsHandler):
    var hub: WsHub

    def on_open(self, req: Request, sender: WsSender) raises:
        self.hub.join(sender, "room")

    def on_message(self, message: WsIncoming, sender: WsSender) raises:
        if message.as_text() == "pid":
            sender.send_text(String(process_id()))
        else:
            _ = self.hub.send_text(message.as_text(), "room")

    def on_close(self, code: Int, reason: StringSpan, sender: WsSender):
        self.hub.leave(sender, "room")


def plain(req: Request) raises -> Response:
    return ok("done")


def login(req: Request) raises -> Response:
    CurrentSession.of(req)[].set("user", "ann")
    return ok("done")


def session(req: Request) raises -> Response:
    return ok(CurrentSession.of(req)[].get("user").or_else("nobody"))


def rooms(plane: String, url: String) raises -> WsHub:
    if plane == "shared":
        return WsHub(SharedMemoryBackplane())
    if plane == "channel":
        return WsHub(RedisBackplane(url, "room"))
    if plane == "stream":
        return WsHub(RedisBackplane(url, "room", history=1_000))
    return WsHub()


def main() raises:
    var plane = String(argv()[2])
    var url = String(argv()[4])
    var router = Router()
    router.ws("/room", Room(rooms(plane, url)))
    router.get("/plain", plain)
    router.get("/login", login)
    router.get("/session", session)
    var keys = SigningKeys("a key of the benchmark, which is long enough")
    var config = SessionConfig(is_secure=False)
    var server = HttpServer.bind(
        SocketAddr.localhost(UInt16(Int(String(argv()[1]))))
    )
    print("listening on", server.local_addr(), flush=True)
    var workers = Int(String(argv()[3]))
    if plane == "local" or plane == "shared":
        router.get(
            "/limited", RateLimit(FnHandler(plain), rate=_RATE, burst=_BURST)
        )
        router.post("/order", Idempotency(FnHandler(plain), LocalIdempotency()))
        server.serve_prefork(Sessions(router^, keys^, config^), workers=workers)
        return
    var pool = RedisPool(RedisConfig.from_url(url))
    router.get(
        "/limited",
        RateLimit(
            FnHandler(plain),
            rate=_RATE,
            burst=_BURST,
            store=RedisRates(pool.copy()),
        ),
    )
    router.post(
        "/order", Idempotency(FnHandler(plain), RedisIdempotency(pool.copy()))
    )
    var store = RedisSessions(pool^)
    server.serve_prefork(
        Sessions(router^, keys^, config^, store=store^), workers=workers
    )

"""The server of the tests of stores: worker processes that share what they know.

    stores_server PORT redis=URL workers=N timeout_ms=N sentinels=ADDRESS,...

The master of sentinels is mymaster.
"""

from flare.http import (
    FnHandler,
    Handler,
    HttpServer,
    RateLimit,
    Request,
    Response,
    Router,
    Sessions,
    ok,
)
from flare.http.middleware import (
    CurrentSession,
    Idempotency,
    IdempotencyConfig,
)
from flare.http.session import SessionConfig, SigningKeys
from flare.http.stores import RedisIdempotency, RedisRates, RedisSessions
from flare.net import SocketAddr
from flare.redis import RedisConfig, RedisPool
from flare.sys.signal import process_id
from std.sys import argv, stderr
from std.time import sleep


def process(req: Request) raises -> Response:
    return ok(String(process_id()))


def login(req: Request) raises -> Response:
    var session = CurrentSession.of(req)
    session[].renew()
    session[].set("user", req.query_param("user"))
    return ok(String(process_id()))


def who(req: Request) raises -> Response:
    var user = CurrentSession.of(req)[].get("user").or_else("nobody")
    return ok(String(user, " ", process_id()))


def page(req: Request) raises -> Response:
    CurrentSession.of(req)[].set("page", req.query_param("page"))
    return ok()


def logout(req: Request) raises -> Response:
    CurrentSession.of(req)[].clear()
    return ok("bye")


@fieldwise_init
struct Revoke(Copyable, Handler):
    """Ends all sessions of `?user`."""

    var sessions: RedisSessions

    def serve(self, req: Request) raises -> Response:
        return ok(String(self.sessions.revoke_owner(req.query_param("user"))))


@fieldwise_init
struct Meanwhile(Copyable, Handler):
    """Has read the session, and changes it when another request has ended it:
    `?by` says how. With `?renews` it has an id of its own made, too."""

    var sessions: RedisSessions

    def serve(self, req: Request) raises -> Response:
        var current = CurrentSession.of(req)
        var id = current[].id.copy()
        var by = req.query_param("by")
        if by == "revoke":
            _ = self.sessions.revoke_owner("ann")
        else:
            self.sessions.remove(id)
            if by == "renewal":
                self.sessions.save("another", "user=ann", 60)
        current[].set("page", "7")
        if req.query_param("renews") != "":
            current[].renew()
        return ok()


def order(req: Request) raises -> Response:
    """Takes `?ms`, and says which process has carried it out."""
    var ms = req.query_param("ms")
    if ms != "":
        print("begun by", process_id(), file=stderr, flush=True)
        sleep(Float64(Int(ms)) / 1000)
    if req.query_param("fails") != "":
        return Response(503)
    return ok(String("carried out by ", process_id()))


def main() raises:
    var redis_config = RedisConfig()
    var workers = 2
    for index in range(2, len(argv())):
        var parts = String(argv()[index]).split("=", 1)
        if parts[0] == "redis":
            var timeout_ms = redis_config.timeout_ms
            redis_config = RedisConfig.from_url(parts[1])
            redis_config.timeout_ms = timeout_ms
        elif parts[0] == "timeout_ms":
            redis_config.timeout_ms = Int(parts[1])
        elif parts[0] == "sentinels":
            for address in parts[1].split(","):
                redis_config.sentinels.append(String(address))
            redis_config.master_name = String("mymaster")
        elif parts[0] == "workers":
            workers = Int(parts[1])
        else:
            raise Error("no such option: ", parts[0])
    var pool = RedisPool(redis_config^)
    var sessions = RedisSessions(pool.copy(), owner_name="user")
    var router = Router()
    router.get("/process", process)
    router.get("/login", login)
    router.get("/who", who)
    router.get("/logout", logout)
    router.get("/page", page)
    router.get("/revoke", Revoke(sessions.copy()))
    router.get("/meanwhile", Meanwhile(sessions.copy()))
    router.get(
        "/limited",
        RateLimit(
            FnHandler(process),
            rate=0.01,
            burst=5,
            store=RedisRates(pool.copy()),
        ),
    )
    router.post(
        "/orders",
        Idempotency(
            FnHandler(order),
            RedisIdempotency(pool^),
            IdempotencyConfig(lock_s=2),
        ),
    )
    var server = HttpServer.bind(SocketAddr.localhost(UInt16(Int(argv()[1]))))
    print("listening on", server.local_addr(), flush=True)
    server.serve_prefork(
        Sessions(
            router^,
            SigningKeys("a key of the tests, which is long enough"),
            SessionConfig(is_secure=False),
            store=sessions^,
        ),
        workers=workers,
    )
    print("stopped", flush=True)

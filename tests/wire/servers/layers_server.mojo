"""The same answers, of every kind, behind each middleware and behind all at once.

    layers_server PORT upstream=URL folder=PATH

`/none/KIND` is without one, `/NAME/KIND` behind the one of that name. The upstream
is another such server, and is asked for `/none/KIND` by `/NAME/proxied/none/KIND`.
"""

from flare.bytes.buffer import Buffer
from flare.http import (
    AccessLog,
    BodySource,
    ClientRequest,
    ClientResponse,
    Compress,
    Cors,
    ErrorHandler,
    FileServer,
    FileServerConfig,
    Handler,
    HttpServer,
    NEXT,
    Poll,
    RateLimit,
    Request,
    RequestId,
    RequestMetrics,
    Response,
    Router,
    SecurityHeaders,
    Sessions,
    Streamed,
    Timeout,
    not_found,
    ok,
    ok_stream,
    problem_json,
    stack,
)
from flare.http.cache import CacheStore
from flare.http.client import SharedClient
from flare.http.fetch import fetch_later
from flare.http.middleware import (
    Cache,
    Conditional,
    CurrentSession,
    ForwardedField,
    Idempotency,
    KnownToken,
    KnownUsers,
    LocalIdempotency,
    Metrics,
    MetricsEndpoint,
    Recover,
    RequireBasicAuth,
    RequireBearerAuth,
    Timing,
    TrustedProxies,
)
from flare.http.proxy import PathPrefixes, ProxyConfig, ReverseProxy
from flare.http.routing import AnyHandler, Deferred
from flare.http.session import SessionConfig, SigningKeys
from flare.log import StandardError
from flare.net import IpNetwork, SocketAddr
from flare.ws import WsHandler, WsIncoming, WsSender
from std.sys import argv


struct Pieces(BodySource):
    """Content in ten pieces."""

    var left: Int

    def __init__(out self):
        self.left = 10

    def fill(mut self, mut out: Buffer) raises -> Poll:
        if self.left == 0:
            return Poll.DONE
        self.left -= 1
        for _ in range(100):
            out.write_string("piece ")
        return Poll.READY


@fieldwise_init
struct Echo(Copyable, WsHandler):
    """Says what it hears."""

    def on_message(self, message: WsIncoming, sender: WsSender) raises:
        sender.send_text(message.as_text())


def plain(req: Request) raises -> Response:
    return ok("all work and no play " * 100)


def kept(req: Request) raises -> Response:
    # Public: also if somebody has to enter first.
    return plain(req).with_header("Cache-Control", "public, max-age=60")


def tagged(req: Request) raises -> Response:
    return plain(req).with_header("ETag", '"one"')


def failing(req: Request) raises -> Response:
    raise Error("the secret")


def missing(req: Request) raises -> Response:
    return not_found()


def empty(req: Request) raises -> Response:
    return Response(204)


def streamed(req: Request) raises -> Response:
    return ok_stream(Pieces(), "text/plain")


def echo(req: Request) raises -> Response:
    return ok(req.text())


def upload(req: Request) raises -> Response:
    """Counts content while it arrives."""
    var body = req.body_reader()
    var room = List[UInt8](length=4096, fill=0)
    var length = 0
    while True:
        var count = body.read(room)
        if count == 0:
            return ok(String(length))
        length += count


def count_visit(req: Request) raises -> Int:
    var session = CurrentSession.of(req)
    var count = Int(session[].get("count").or_else("0")) + 1
    session[].set("count", String(count))
    return count


def visit(req: Request) raises -> Response:
    """Counts the requests of a session."""
    return ok(String(count_visit(req)))


def unreadable(var answer: ClientResponse) raises -> Response:
    raise Error("no use for ", answer.status.code)


@fieldwise_init
struct Fetched(Copyable, Handler):
    """Answers with what the upstream does, once that has come."""

    var origin: Origin
    var fails: Bool
    var counts_visits: Bool

    def serve(self, req: Request) raises -> Response:
        if self.counts_visits:
            _ = count_visit(req)
        var request = ClientRequest("GET", self.origin.upstream + "/none/plain")
        if self.fails:
            return fetch_later(req, self.origin.client, request^, unreadable)
        return fetch_later(req, self.origin.client, request^)


@fieldwise_init
struct Origin(Copyable):
    """Where answers come from."""

    var upstream: String
    var folder: String
    var client: SharedClient

    def kinds(self, name: String) raises -> Router:
        """Makes a handler of all kinds below a prefix."""
        var router = Router()
        var at = "/" + name
        router.get(at + "/plain", plain)
        router.get(at + "/inline", plain, may_block=False)
        router.get(at + "/kept", kept)
        router.get(at + "/tagged", tagged)
        router.get(at + "/failing", failing)
        router.get(at + "/missing", missing)
        router.get(at + "/empty", empty)
        router.get(at + "/streamed", streamed)
        router.post(at + "/echo", echo)
        router.post(at + "/upload", Streamed(upload))
        router.post(at + "/small", echo, max_body_size=1_000)
        router.ws(at + "/ws", Echo())
        router.get(at + "/fetched", self.fetched())
        router.get(at + "/unreadable", self.fetched(fails=True))
        router.get(
            at + "/files/*rest",
            FileServer(self.folder, FileServerConfig(prefix=at + "/files")),
        )
        var through = ProxyConfig()
        through.rules.paths = PathPrefixes(strip=at + "/proxied", add="")
        router.all(at + "/proxied/*rest", ReverseProxy(self.upstream, through^))
        router.all(at + "/down", ReverseProxy("http://127.0.0.1:1"))
        return router^

    def visited(self, name: String) raises -> Router:
        """The same, and two that count visits."""
        var router = self.kinds(name)
        router.get("/" + name + "/visit", visit)
        router.get("/" + name + "/visit-later", self.fetched(visits=True))
        return router^

    def fetched(self, *, fails: Bool = False, visits: Bool = False) -> Deferred:
        return Deferred(Fetched(self.copy(), fails, visits))


def keys() raises -> SigningKeys:
    return SigningKeys("a-key-of-the-tests-a-key-of-the-tests")


def around_all(origin: Origin, metrics: Metrics) raises -> AnyHandler:
    """All that make sense together, in the order of docs/middleware.md."""
    var inner = stack(
        Cache(NEXT, CacheStore()),
        Compress(NEXT),
        Sessions(NEXT, keys(), SessionConfig("sid", 60, is_secure=False)),
        Idempotency(NEXT, LocalIdempotency()),
        Timeout(NEXT, timeout_ms=60_000),
        Timing(NEXT),
        origin.visited("all"),
    )
    return AnyHandler(
        stack(
            AccessLog(NEXT, sink=StandardError()),
            RequestId(NEXT),
            Cors(NEXT),
            SecurityHeaders(NEXT),
            RequestMetrics(NEXT, metrics),
            ErrorHandler(NEXT, problem_json),
            stack(
                RequireBasicAuth(NEXT, KnownUsers("ann", "pw")),
                RateLimit(NEXT, rate=1_000, burst=100_000),
                Conditional(NEXT),
                inner^,
            ),
        )
    )


def main() raises:
    var folder = String()
    var upstream = String("http://127.0.0.1:1")
    for index in range(2, len(argv())):
        var parts = String(argv()[index]).split("=", 1)
        if parts[0] == "upstream":
            upstream = String(parts[1])
        else:
            folder = String(parts[1])
    var from_ = Origin(upstream^, folder^, SharedClient())
    var metrics = Metrics()
    var all_metrics = Metrics()
    var router = Router()
    router.get("/metrics", MetricsEndpoint(metrics))
    router.get("/all-metrics", MetricsEndpoint(all_metrics))
    router.all("/none/*rest", from_.kinds("none"))
    router.all(
        "/log/*rest", AccessLog(from_.kinds("log"), sink=StandardError())
    )
    router.all("/id/*rest", RequestId(from_.kinds("id")))
    router.all("/cors/*rest", Cors(from_.kinds("cors")))
    router.all("/secure/*rest", SecurityHeaders(from_.kinds("secure")))
    router.all(
        "/counted/*rest", RequestMetrics(from_.kinds("counted"), metrics)
    )
    router.all(
        "/problem/*rest", ErrorHandler(from_.kinds("problem"), problem_json)
    )
    router.all("/recover/*rest", Recover(from_.kinds("recover")))
    router.all(
        "/basic/*rest",
        RequireBasicAuth(from_.kinds("basic"), KnownUsers("ann", "pw")),
    )
    router.all(
        "/bearer/*rest",
        RequireBearerAuth(from_.kinds("bearer"), KnownToken("t0k", "robot")),
    )
    router.all(
        "/limit/*rest",
        RateLimit(from_.kinds("limit"), rate=1_000, burst=100_000),
    )
    router.all(
        "/conditional/*rest",
        Conditional(from_.kinds("conditional"), makes_tags=True),
    )
    router.all("/cache/*rest", Cache(from_.kinds("cache"), CacheStore()))
    router.all("/compress/*rest", Compress(from_.kinds("compress")))
    router.all(
        "/sessions/*rest",
        Sessions(
            from_.visited("sessions"),
            keys(),
            SessionConfig("sid", 60, is_secure=False),
        ),
    )
    router.all(
        "/once/*rest", Idempotency(from_.kinds("once"), LocalIdempotency())
    )
    router.all(
        "/timeout/*rest", Timeout(from_.kinds("timeout"), timeout_ms=60_000)
    )
    router.all("/timing/*rest", Timing(from_.kinds("timing")))
    router.all(
        "/trusted/*rest",
        TrustedProxies(
            from_.kinds("trusted"),
            [IpNetwork.parse("127.0.0.0/8")],
            ForwardedField.X_FORWARDED_FOR,
        ),
    )
    router.all("/all/*rest", around_all(from_, all_metrics))
    var server = HttpServer.bind(
        SocketAddr.localhost(UInt16(Int(String(argv()[1]))))
    )
    print("listening on", server.local_addr(), flush=True)
    server.serve(router^)

"""A cache in front of handlers, or of a server, for the wire tests.

    cache_server PORT threads=N workers=N wait_ms=N [origin=PORT] [redis=URL]

With `redis` it shares what it keeps. With `origin` all else than the routes below goes to that port of this host.
"""

from flare.bytes.buffer import Buffer
from flare.http import (
    FnHandler,
    HttpServer,
    MetricsEndpoint,
    Request,
    Response,
    Router,
    ServerConfig,
    State,
    ok,
    ok_stream,
)
from flare.http.cache import CachePolicy, CacheStore
from flare.http.client import (
    ClientConfig,
    ClientRequest,
    HttpClient,
    RequestBody,
)
from flare.http.message import BodySource, Poll
from flare.http.middleware import Cache, CacheMetrics
from flare.http.routing import App, Handler
from flare.http.stores import RedisResponses
from flare.net import SocketAddr
from flare.redis import RedisConfig
from std.sys import argv
from std.time import sleep

comptime FRESH = "max-age=60"


struct Counts(Defaultable, Movable):
    var asked: Int


def _count(req: Request) raises -> Int:
    var counts = State[Counts].of(req).lock()
    counts[].asked += 1
    return counts[].asked


def plain(req: Request) raises -> Response:
    return ok("Hello, World!")


def kept(req: Request) raises -> Response:
    """Answers with the number of the call, and the fields of the query."""
    var response = ok(String("call ", _count(req)))
    var control = req.query_param_or("control", FRESH)
    response.headers.set("Cache-Control", control)
    if req.query_param("tag").byte_length() > 0:
        response.headers.set("ETag", String('"', req.query_param("tag"), '"'))
    if req.query_param("vary").byte_length() > 0:
        response.headers.set("Vary", req.query_param("vary"))
    return response^


def slow(req: Request) raises -> Response:
    """Takes so long that others come meanwhile."""
    var number = _count(req)
    for _ in range(Int(req.query_param_or("ms", "300")) // 10):
        sleep(0.01)
    return ok(String("call ", number)).with_header(
        "Cache-Control", req.query_param_or("control", FRESH)
    )


@fieldwise_init
struct Letters(BodySource):
    """Content of a known length, or one that breaks in its middle."""

    var left_len: Int
    var breaks_at: Int

    def fill(mut self, mut out: Buffer) raises -> Poll:
        if self.left_len <= self.breaks_at:
            raise Error("the source breaks")
        var count = min(self.left_len, 16_384)
        for _ in range(count):
            out.append("s".as_bytes())
        self.left_len -= count
        return Poll.DONE if self.left_len == 0 else Poll.READY


def stream(req: Request) raises -> Response:
    _ = _count(req)
    var length = Int(req.query_param_or("len", "100000"))
    var breaks_at = Int(req.query_param_or("breaks_at", "-1"))
    return ok_stream(Letters(length, breaks_at)).with_header(
        "Cache-Control", FRESH
    )


@fieldwise_init
struct Purge(Handler):
    """Removes what is kept of `?url`."""

    var store: CacheStore

    def serve(self, req: Request) raises -> Response:
        return ok(String(self.store.purge(req.query_param("url"))))


def asked(req: Request) raises -> Response:
    return ok(String(State[Counts].of(req).lock()[].asked))


@fieldwise_init
struct Forward(Handler):
    """Sends requests on to a port of this host."""

    var port: Int

    def serve(self, req: Request) raises -> Response:
        var config = ClientConfig()
        config.max_redirects = 0
        config.max_retries = 0
        config.decodes_content = False
        var client = HttpClient(config=config^)
        var request = ClientRequest(
            String(req.method_name),
            String("http://127.0.0.1:", self.port, req.url),
        )
        for index in range(len(req.headers)):
            var name = req.headers.name(index)
            if not _is_of_connection(name):
                request.headers.append(name, req.headers.value(index))
        if len(req.body) > 0:
            request.body = RequestBody(List[UInt8](req.body))
        var received = client.send(request^)
        var response = Response(received.status, received.body.copy())
        response.headers = received.headers.copy()
        return response^


def _is_of_connection(name: StringSpan) -> Bool:
    var lower = name.lower()
    return (
        lower == "host"
        or lower == "connection"
        or lower == "content-length"
        or lower == "transfer-encoding"
    )


def main() raises:
    var config = ServerConfig()
    var workers = 1
    var origin = 0
    var policy = CachePolicy()
    var redis = String()
    var keep_max_s = 86_400
    for index in range(2, len(argv())):
        var parts = String(argv()[index]).split("=", 1)
        if parts[0] == "redis":
            redis = String(parts[1])
            continue
        var number = Int(parts[1])
        if parts[0] == "threads":
            config.handler_threads = number
        elif parts[0] == "workers":
            workers = number
        elif parts[0] == "wait_ms":
            policy.collapse_timeout_ms = number
        elif parts[0] == "keep_max_s":
            keep_max_s = number
        else:
            origin = number
    var store = CacheStore(octet_max=16 << 20)
    if redis.byte_length() > 0:
        var shared = RedisResponses(
            RedisConfig.from_url(redis), keep_max_s=keep_max_s
        )
        store = CacheStore(octet_max=16 << 20, shared=shared^)
    var router = Router()
    router.get("/plain", plain)
    router.get("/purge", Purge(store))
    router.get("/hit", Cache(FnHandler(kept), store))
    router.get("/slow", Cache(FnHandler(slow), store, policy^))
    router.get("/stream", Cache(FnHandler(stream), store))
    router.get("/asked", asked)
    router.get("/metrics", MetricsEndpoint(CacheMetrics(store)))
    if origin > 0:
        var lenient = CachePolicy(heuristic_percent=10, keeps_cookies=True)
        router.fallback(Cache(Forward(origin), store, lenient^))
    var server = HttpServer.bind(
        SocketAddr.localhost(UInt16(Int(argv()[1]))), config^
    )
    print("listening on", server.local_addr(), flush=True)
    server.serve(App(state=Counts(), handler=router^), num_workers=workers)

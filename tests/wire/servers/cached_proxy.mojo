"""A cache in front of a `ReverseProxy`, for the wire tests.

    cached_proxy PORT upstream=URL workers=N redis=URL processes=N

With `redis` it shares what it keeps; GET /purge?how=key|prefix|invalid&url=...
removes something. Below /own each X-User has responses of his own.
"""

from flare.http import (
    Handler,
    HttpServer,
    MetricsEndpoint,
    Request,
    RequestPolicy,
    Response,
    Router,
    ok,
)
from flare.http.cache import CachePolicy, CacheStore
from flare.http.middleware import Cache, CacheMetrics
from flare.http.proxy import ReverseProxy
from flare.http.routing import HandlerClaims
from flare.http.stores import RedisResponses
from flare.net import SocketAddr
from flare.redis import RedisConfig
from std.sys import argv


@fieldwise_init
struct Purge(Handler):
    var store: CacheStore

    def serve(self, req: Request) raises -> Response:
        var url = req.query_param("url")
        if req.query_param("how") == "prefix":
            return ok(String(self.store.purge_prefix(url)))
        if req.query_param("how") == "invalid":
            return ok(String(self.store.invalidate(url)))
        return ok(String(self.store.purge(url)))


@fieldwise_init
struct OwnPages(Handler, Movable):
    """Says who may share, on what stands for the upstream's response."""

    var proxy: ReverseProxy

    def serve(self, req: Request) raises -> Response:
        var response = self.proxy.serve(req)
        if req.path.startswith("/own"):
            response.headers.append("Vary", "X-User")
        return response^

    def policy_for(self, req: Request) -> RequestPolicy:
        return self.proxy.policy_for(req)

    def claims(self) -> HandlerClaims:
        return self.proxy.claims()


def main() raises:
    var workers = 1
    var upstream = String()
    var redis = String()
    var processes = 0
    for index in range(2, len(argv())):
        var parts = String(argv()[index]).split("=", 1)
        if parts[0] == "workers":
            workers = Int(parts[1])
        elif parts[0] == "redis":
            redis = String(parts[1])
        elif parts[0] == "processes":
            processes = Int(parts[1])
        else:
            upstream = String(parts[1])
    var store: CacheStore
    if redis.byte_length() > 0:
        var shared = RedisResponses(RedisConfig.from_url(redis))
        store = CacheStore(octet_max=16 << 20, shared=shared^)
    else:
        store = CacheStore(octet_max=16 << 20)
    var policy = CachePolicy(heuristic_percent=10, keeps_cookies=True)
    var router = Router()
    router.get("/metrics", MetricsEndpoint(CacheMetrics(store)))
    router.get("/purge", Purge(store))
    router.fallback(Cache(OwnPages(ReverseProxy(upstream)), store, policy^))
    var server = HttpServer.bind(SocketAddr.localhost(UInt16(Int(argv()[1]))))
    print("listening on", server.local_addr(), flush=True)
    if processes > 0:
        server.serve_prefork(router^, workers=processes)
    else:
        server.serve(router^, num_workers=workers)

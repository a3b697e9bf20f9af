"""A cache in front of a `ReverseProxy`, for the wire tests.

    cached_proxy PORT upstream=URL workers=N
"""

from flare.http import HttpServer, MetricsEndpoint, Router
from flare.http.cache import CachePolicy, CacheStore
from flare.http.middleware import Cache, CacheMetrics
from flare.http.proxy import ReverseProxy
from flare.net import SocketAddr
from std.sys import argv


def main() raises:
    var workers = 1
    var upstream = String()
    for index in range(2, len(argv())):
        var parts = String(argv()[index]).split("=", 1)
        if parts[0] == "workers":
            workers = Int(parts[1])
        else:
            upstream = String(parts[1])
    var store = CacheStore(octet_max=16 << 20)
    var policy = CachePolicy(heuristic_percent=10, keeps_cookies=True)
    var router = Router()
    router.get("/metrics", MetricsEndpoint(CacheMetrics(store)))
    router.fallback(Cache(ReverseProxy(upstream), store, policy^))
    var server = HttpServer.bind(SocketAddr.localhost(UInt16(Int(argv()[1]))))
    print("listening on", server.local_addr(), flush=True)
    server.serve(router^, num_workers=workers)

"""The server of the tests of `WorkerControl`: a gateway with a cache, in worker
processes.

    control_server PORT upstreams=URL,URL workers=N threads=N

With threads they serve in place of worker processes.
`/own` tells of the worker that answers. `/drain`, `/return`, `/remove`, `/drained`,
`/purge` and `/figures` are for all workers, and say what became of it. `/metrics` has what all have counted.
"""

from flare.backplane import OrderOutcome, WorkerControl
from flare.http import Handler, HttpServer, Request, Response, Router, ok
from flare.http.cache import CacheOrders, CachePolicy, CacheStore
from flare.http.middleware import (
    Cache,
    CacheMetrics,
    MetricPair,
    MetricsEndpoint,
    WorkerMetrics,
)
from flare.http.proxy import (
    MemberState,
    Outcome,
    ReverseProxy,
    UpstreamMetrics,
    UpstreamOrders,
    Upstreams,
)
from flare.net import SocketAddr
from flare.runtime import PreforkConfig
from flare.sys.signal import process_id
from std.sys import argv


@fieldwise_init
struct Own(Handler):
    """Tells what this worker knows."""

    var upstreams: Upstreams
    var store: CacheStore

    def serve(self, req: Request) raises -> Response:
        var text = String(process_id(), " ", self.store.stats().entry_count)
        for ref member in self.upstreams.figures():
            text.write(" ", member.state.name())
        return ok(text^)


@fieldwise_init
struct Admin(Handler):
    """Changes all workers."""

    var upstreams: UpstreamOrders
    var cache: CacheOrders

    def serve(self, req: Request) raises -> Response:
        var url = String(req.query_param("url"))
        var timeout_ms = Int(req.query_param("timeout"))
        if req.path == "/drain":
            return told(self.upstreams.drain(url, timeout_ms=timeout_ms))
        if req.path == "/return":
            return told(self.upstreams.add(url, timeout_ms=timeout_ms))
        if req.path == "/remove":
            return told(self.upstreams.remove(url, timeout_ms=timeout_ms))
        if req.path == "/purge":
            return told(self.cache.purge(url, timeout_ms=timeout_ms))
        if req.path == "/drained":
            return ok(
                String(self.upstreams.is_drained(url, timeout_ms=timeout_ms))
            )
        var text = String()
        for ref sum in self.upstreams.figures(timeout_ms=timeout_ms):
            text.write(sum.address, " ", sum.worker_count, " ")
            text.write(sum.count_in(MemberState.DRAINING), " ")
            text.write(sum.outcome_counts[Int(Outcome.ANSWERED.code)], "\n")
        return ok(text^)


def told(outcome: OrderOutcome) raises -> Response:
    if outcome.is_complete():
        return ok(String(outcome, ": ", outcome.total()))
    return Response(504, String(outcome, ": ", outcome.problem()))


def crash(req: Request) raises -> Response:
    var none = List[Int]()
    return ok(String(none[Int(req.query_param("index"))]))


def main() raises:
    var urls = List[String]()
    var workers = 2
    var threads = 0
    for index in range(2, len(argv())):
        var parts = String(argv()[index]).split("=", 1)
        if parts[0] == "workers":
            workers = Int(parts[1])
        elif parts[0] == "threads":
            threads = Int(parts[1])
        else:
            for url in parts[1].split(","):
                urls.append(String(url))
    var control = WorkerControl()
    var store = CacheStore(octet_max=1 << 20)
    var proxy = ReverseProxy(urls^)
    var upstreams = proxy.upstreams()
    var admin = Admin(
        UpstreamOrders(control, upstreams), CacheOrders(control, store)
    )
    var router = Router()
    router.get("/own", Own(upstreams, store))
    router.get("/crash", crash)
    var figures = WorkerMetrics(
        control,
        MetricPair(UpstreamMetrics("x", upstreams), CacheMetrics(store)),
    )
    router.get("/metrics", MetricsEndpoint(figures^))
    for path in [
        "/drain",
        "/return",
        "/remove",
        "/drained",
        "/purge",
        "/figures",
    ]:
        router.get(path, Admin(admin.upstreams.copy(), admin.cache.copy()))
    router.fallback(Cache(proxy^, store, CachePolicy()))
    var server = HttpServer.bind(SocketAddr.localhost(UInt16(Int(argv()[1]))))
    print("listening on", server.local_addr(), flush=True)
    if threads > 0:
        server.serve(router^, num_workers=threads)
    elif workers == 0:
        server.serve(router^)
    else:
        server.serve_prefork(router^, PreforkConfig(workers=workers), control)
    print("stopped", flush=True)

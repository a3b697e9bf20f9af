"""The server of the tests of HTTP/2, with a route for each thing that a server does;
the same for clients of HTTP/1.1.

    h2_server PORT root=FOLDER FIELD=VALUE...

Further arguments are fields of `ServerConfig`, those within `http2_limits` with
that before their names, or are those of `tls_options`.
"""

from flare.http import (
    AccessLog,
    Compress,
    Cors,
    EventHub,
    FileServer,
    FnHandler,
    KnownUsers,
    MetricPair,
    Metrics,
    MetricsEndpoint,
    Request,
    RequestId,
    RequestMetrics,
    RequireBasicAuth,
    Response,
    Router,
    ServerConfig,
    StandardError,
    Streamed,
    ok,
    request_id,
)
from flare.settings.settings import Given, settings_of
from std.memory import ArcPointer
from std.sys import argv
from std.time import sleep
from tests.wire.servers.grpc_echo import streamed, unary
from tests.wire.servers.probe_server import (
    Shared,
    closing,
    cookies,
    echo_body,
    echo_head,
    echo_line,
    echo_trailers,
    failing,
    framing,
    root,
    sized,
    status,
    tell_peer,
    tls,
)
from tests.wire.servers.stream_server import Counts, Streams
from tests.wire.servers.tls_options import TlsOptions
from tests.wire.servers.uploads import upload
from tests.wire.servers.workers_server import (
    abort,
    crash,
    length,
    patient,
    slow,
    spinning,
)


def identified(req: Request) raises -> Response:
    return ok(request_id(req))


def long(req: Request) raises -> Response:
    return ok("all work and no play " * 200)


def heavy(req: Request) raises -> Response:
    """Takes its time, and makes much."""
    sleep(0.005)
    return ok(String("x") * Int(req.param("size")))


def add_plain(mut router: Router) raises:
    """Adds what answers from memory."""
    router.get("/", root)
    router.post("/", echo_body)
    router.all("/echo", echo_head)
    router.all("/line", echo_line)
    router.all("/line/*rest", echo_line)
    router.get("/peer", tell_peer)
    router.get("/tls", tls)
    router.post("/trailers", echo_trailers)
    router.get("/cookie", cookies)
    router.get("/fail", failing)
    router.get("/framing", framing)
    router.get("/closing", closing)
    router.get("/status/:code", status)
    router.get("/size/:size", sized)
    router.get("/shared", Shared())
    router.get("/id", identified)
    router.get("/compressed", Compress(FnHandler(long)))
    router.all("/cors", Cors(FnHandler(root)))
    router.post("/grpc.Echo/Unary", unary)
    router.post("/grpc.Echo/Streamed", streamed)
    router.post("/small", echo_body, max_body_size=1_000)
    router.post("/large", length, max_body_size=1 << 30)
    router.post(
        "/guarded",
        RequireBasicAuth(FnHandler(length), KnownUsers("ann", "secret")),
    )


def add_slow(mut router: Router, has_threads: Bool) raises:
    """Adds what takes its time, or ends the process."""
    router.get("/slow/:ms", slow)
    router.get("/heavy/:size", heavy)
    router.all("/holding/:ms", slow, may_block=False)
    router.get("/patient", patient)
    router.get("/spinning", spinning)
    router.get("/crash/:signal", crash)
    router.get("/abort/:index", abort)
    if has_threads:
        router.post("/upload", Streamed(upload), max_body_size=1 << 30)
        router.post("/upload/small", Streamed(upload), max_body_size=1_000)


def main() raises:
    var options = TlsOptions()
    var folder = String(".")
    var arguments = List[String]()
    for index in range(2, len(argv())):
        var parts = String(argv()[index]).split("=")
        var name = String(parts[0])
        if options.take(name, String(parts[1])):
            continue
        if name == "root":
            folder = String(parts[1])
            continue
        arguments.append(String("--", name.replace("_", "-"), "=", parts[1]))
    var config = settings_of[ServerConfig](
        Given([], None, arguments^), ServerConfig()
    ).take()
    var router = Router()
    add_plain(router)
    add_slow(router, config.handler_threads > 0)
    var hub = EventHub(heartbeat_ms=15_000)
    var counts = ArcPointer(Counts())
    for path in ["/pieces", "/silence", "/events", "/publish", "/close"]:
        router.all(path, Streams(hub.copy(), counts.copy()))
    router.all("/counts", Streams(hub.copy(), counts.copy()))
    router.get("/files/*rest", FileServer(folder))
    var port = UInt16(Int(String(argv()[1])))
    var server = options.bind(port, config^)
    var metrics = Metrics()
    router.get(
        "/metrics", MetricsEndpoint(MetricPair(metrics, server.stats_handle()))
    )
    print("listening on", server.local_addr(), flush=True)
    server.serve(
        AccessLog(
            RequestId(RequestMetrics(router^, metrics)), sink=StandardError()
        )
    )
    print("stopped", flush=True)

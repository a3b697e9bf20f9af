"""The server of the tests of threads, processes and handler threads.

    workers_server PORT mode=threads|prefork workers=N key=value...
    workers_server PORT mode=mute|failing workers=N key=value...

Further arguments are those of `tls_options`.
"""

from flare.bytes.buffer import Buffer
from flare.http import (
    RequireBasicAuth,
    BodySource,
    Extracted,
    FnHandler,
    Handler,
    KnownUsers,
    ListenerMode,
    RequestMetrics,
    MetricPair,
    Metrics,
    MetricsEndpoint,
    Poll,
    Readiness,
    Request,
    Response,
    Router,
    ServerConfig,
    StatsHandle,
    Streamed,
    Timeout,
    ok,
    ok_json,
    ok_stream,
)
from flare.net import IpNetwork
from flare.runtime import (
    ChildProcess,
    Prefork,
    PreforkConfig,
    PreforkHooks,
    PreforkProgram,
)
from flare.sys.signal import process_id, send_signal
from std.sys import argv, stderr
from std.time import sleep
from tests.wire.servers.tls_options import TlsOptions
from tests.wire.servers.uploads import Submit, form, parts, upload


def root(req: Request) -> Response:
    return ok("Hello, World!")


def process(req: Request) -> Response:
    return ok(String(process_id()))


def peer(req: Request) raises -> Response:
    return ok(String(req.peer))


def slow(req: Request) raises -> Response:
    sleep(Float64(Int(req.param("ms"))) / 1000)
    return ok("slept " + req.param("ms") + " " + req.query_param("tag"))


def busy(req: Request) raises -> Response:
    """Sleeps in steps, so that no signal makes it shorter."""
    for _ in range(Int(req.param("ms")) // 10):
        sleep(0.01)
    return ok("busy " + req.param("ms"))


def patient(req: Request) raises -> Response:
    """Works until nobody waits any more, or for 10 s."""
    print("patient at work", file=stderr)
    for step in range(1_000):
        if req.cancelled():
            print("cancelled after", step, "steps", file=stderr)
            return ok("cancelled")
        sleep(0.01)
    return ok("patient")


def spinning(req: Request) raises -> Response:
    """Asks without pause, as a loop over data would."""
    var count = 0
    while not req.cancelled():
        count += 1
    print("spun", count > 0, file=stderr)
    return ok("spun")


def whole(req: Request) raises -> Response:
    """Shows that a request on another thread has all of its parts."""
    var text = String(req.method_name, " ", req.url, " ", req.param("name"))
    var field = req.headers.get("x-a")
    if field:
        text.write(" ", field.value())
    text.write(" ", req.text())
    var trailer = req.trailers.get("x-t")
    if trailer:
        text.write(" ", trailer.value())
    var subject = req.peer_certificate()
    if subject:
        text.write(" ", subject.value())
    return ok(text^)


def length(req: Request) raises -> Response:
    return ok(String(len(req.body)))


def failing(req: Request) raises -> Response:
    raise Error("it failed")


def crash(req: Request) raises -> Response:
    send_signal(process_id(), Int(req.param("signal")))
    sleep(5.0)
    return ok("still here")


struct Waiting(BodySource):
    """Waits for each of its pieces, as no source should."""

    var time_s: Float64
    var count: Int

    def __init__(out self, time_s: Float64):
        self.time_s = time_s
        self.count = 3

    def fill(mut self, mut out: Buffer) raises -> Poll:
        if self.count == 0:
            return Poll.DONE
        self.count -= 1
        sleep(self.time_s)
        out.append_octet(120)
        return Poll.READY


def waiting(req: Request) raises -> Response:
    return ok_stream(Waiting(Float64(Int(req.param("ms"))) / 1000))


def abort(req: Request) raises -> Response:
    var one: List[Int] = [1]
    return ok(String(one[Int(req.param("index"))]))


def sized(req: Request) raises -> Response:
    return ok(String("x") * Int(req.param("size")))


@fieldwise_init
struct Stats(Handler):
    """Shows the figures of all workers."""

    var handle: StatsHandle
    var worker_count: Int

    def serve(self, req: Request) raises -> Response:
        var total = self.handle.total()
        var text = String('{"requests": ', total.requests)
        text.write(', "connections": ', total.connections)
        text.write(', "open": ', total.open_connections)
        text.write(', "restarts": ', total.restarts, ', "workers": [')
        for index in range(self.worker_count):
            var worker = self.handle.worker(index)
            text.write(", " if index > 0 else "", "[", worker.requests)
            text.write(", ", worker.restarts, ", ", worker.process_id, "]")
        text.write("]}")
        return ok_json(text^)


@fieldwise_init
struct Hooks(PreforkHooks):
    """Writes what it is told."""

    var fails_to_start: Bool

    def on_child_spawned(mut self, worker: Int, process_id: Int):
        print("hook: spawned", worker, process_id, file=stderr)

    def on_worker_started(mut self, worker: Int) raises:
        print("hook: started", worker, process_id(), file=stderr)
        if self.fails_to_start:
            raise Error("there is no queue")

    def on_master_ready(mut self, worker_count: Int):
        print("hook: ready", worker_count, file=stderr)

    def on_child_recovered(mut self, worker: Int, process_id: Int):
        print("hook: recovered", worker, process_id, file=stderr)

    def on_master_death(mut self):
        print("hook: master died", file=stderr)


@fieldwise_init
struct Hopeless(PreforkProgram):
    """Never becomes ready: it hangs, or fails at once."""

    var fails: Bool

    def work(mut self, mut child: ChildProcess) raises:
        if self.fails:
            raise Error("there is no database")
        sleep(60.0)


struct Options(Movable):
    """What the command line asks for."""

    var server: ServerConfig
    var prefork: PreforkConfig
    var mode: String
    var workers: Int
    var pins: Bool
    var streams: Bool
    var tls: TlsOptions

    def __init__(out self) raises:
        self.server = ServerConfig(logs_errors=True)
        self.prefork = PreforkConfig(workers=2)
        self.mode = String("threads")
        self.workers = 2
        self.pins = True
        self.streams = False
        self.tls = TlsOptions()
        for index in range(2, len(argv())):
            var parts = String(argv()[index]).split("=")
            self._set(String(parts[0]), String(parts[1]))

    def _set(mut self, name: String, text: String) raises:
        if name == "mode":
            self.mode = text
            return
        if self.tls.take(name, text):
            return
        if name == "proxy_protocol":
            self.server.proxy_protocol.append(IpNetwork.parse(text))
            return
        var value = Int(text)
        if name == "workers":
            self.workers = value
            self.prefork.workers = value
        elif name == "pins":
            self.pins = value == 1
        elif name == "streams":
            # Streams also without handler threads, which is refused.
            self.streams = value == 1
        elif name == "shared":
            self.server.listener = ListenerMode.SHARED
        elif name == "inherits":
            self.server.inherits_listeners = value == 1
        elif name == "handler_threads":
            self.server.handler_threads = value
        elif name == "handler_queue":
            self.server.handler_queue = value
        elif name == "max_body_size":
            self.server.max_body_size = value
        elif name == "max_buffered_bodies_size":
            self.server.max_buffered_bodies_size = value
        elif name == "handler_timeout_ms":
            self.server.handler_timeout_ms = value
        elif name == "write_timeout_ms":
            self.server.write_timeout_ms = value
        elif name == "max_connections":
            self.server.max_connections = value
        elif name == "body_timeout_ms":
            self.server.body_timeout_ms = value
        elif name == "min_body_rate":
            self.server.min_body_rate = value
        elif name == "linger_timeout_ms":
            self.server.linger_timeout_ms = value
        elif name == "shutdown_timeout_ms":
            self.server.shutdown_timeout_ms = value
        else:
            self._set_prefork(name, value)

    def _set_prefork(mut self, name: String, value: Int) raises:
        if name == "reuseport":
            self.prefork.reuseport = value == 1
        elif name == "grace_ms":
            self.prefork.grace_ms = value
        elif name == "delay_first_ms":
            self.prefork.restart.delay_first_ms = value
        elif name == "delay_max_ms":
            self.prefork.restart.delay_max_ms = value
        elif name == "slow_handler_ms":
            self.server.slow_handler_ms = value
        elif name == "logs_errors":
            self.server.logs_errors = value == 1
        elif name == "settle_ms":
            self.prefork.restart.settle_ms = value
        elif name == "restarts_max":
            self.prefork.restart.restarts_max = value
        elif name == "window_ms":
            self.prefork.restart.window_ms = value
        elif name == "requests_max":
            self.prefork.requests_max = value
        elif name == "memory_max":
            self.prefork.memory_max = value
        elif name == "recycle_jitter_percent":
            self.prefork.recycle_jitter_percent = value
        elif name == "notifies":
            self.prefork.notifies_manager = value == 1
        elif name == "start_timeout_ms":
            self.prefork.start_timeout_ms = value
        elif name == "upgrade_timeout_ms":
            self.prefork.upgrade_timeout_ms = value
        else:
            raise Error("there is no option '", name, "'")


def main() raises:
    var options = Options()
    var router = Router()
    router.get("/", root)
    router.get("/pid", process)
    router.get("/peer", peer)
    router.get("/slow/:ms", slow)
    router.get("/fast", root, may_block=False)
    router.get("/busy/:ms", busy)
    router.get("/waiting/:ms", waiting)
    router.get("/patient", patient)
    router.get("/timed", Timeout(FnHandler(patient), timeout_ms=200))
    router.get("/spinning", spinning)
    router.all("/whole/:name", whole)
    router.post(
        "/guarded",
        RequireBasicAuth(FnHandler(length), KnownUsers("ann", "secret")),
    )
    router.post("/length", length)
    router.get("/fail", failing)
    router.get("/crash/:signal", crash)
    router.get("/abort/:index", abort)
    router.get("/size/:size", sized)
    if options.streams or options.server.handler_threads > 0:
        router.post("/upload", Streamed(upload))
        router.post("/upload/quick", Streamed(upload), may_block=False)
        router.post("/upload/large", Streamed(upload), max_body_size=1 << 34)
        router.post("/upload/patient", Streamed(patient), max_body_size=1 << 34)
        router.post("/form", Streamed(form), max_body_size=1 << 34)
        router.post("/parts", Streamed(parts), max_body_size=1 << 34)
        router.post("/photo", Extracted[Submit](), max_body_size=1 << 24)
    var port = UInt16(Int(String(argv()[1])))
    var server = options.tls.bind(port, options.server.copy())
    router.get("/stats", Stats(server.stats_handle(), options.workers))
    var metrics = Metrics()
    router.get(
        "/metrics", MetricsEndpoint(MetricPair(metrics, server.stats_handle()))
    )
    router.get("/ready", Readiness(server.ready_switch()))
    print("listening on", server.local_addr(), flush=True)
    if options.mode == "prefork":
        server.serve_prefork(
            RequestMetrics(router^, metrics),
            options.prefork.copy(),
            Hooks(False),
        )
    elif options.mode == "halfway":
        server.serve_prefork(root, options.prefork.copy(), Hooks(True))
    elif options.mode == "mute" or options.mode == "failing":
        var supervisor = Prefork(options.prefork.copy())
        supervisor.run(Hopeless(options.mode == "failing"), Hooks(False))
    else:
        server.serve(
            RequestMetrics(router^, metrics),
            num_workers=options.workers,
            pin_cores=options.pins,
        )
    print("stopped", server.stats(), flush=True)

"""The server of the tests of tracing.

    traced_server PORT collector=URL mode=threads|prefork key=value...

`sampler` is always, never, parent, or a share; numbers are fields of
`BatchConfig`, `workers` and `handler_threads`; `ca` is a file of certificates
that the collector's has to come from. What has no route goes to `upstream`, over
HTTP/2 with `http2=1` and without the fields that `removed` names.
"""

from flare.http import (
    BodySource,
    Handler,
    HttpServer,
    Poll,
    Request,
    Response,
    Router,
    ServerConfig,
    ok,
    ok_stream,
)
from flare.bytes.buffer import Buffer
from flare.http.client import ClientConfig, ClientRequest, HttpClient
from flare.http.proxy import ProxyConfig, ReverseProxy
from flare.net import SocketAddr
from flare.sys.signal import process_id
from flare.trace import (
    BatchConfig,
    OtlpExporter,
    Sampler,
    Tracer,
    Tracing,
    current_span,
)
from flare.tls import TlsConfig
from flare.ws import WsHandler, WsIncoming, WsSender
from std.sys import argv


def trace(req: Request) raises -> Response:
    """Tells what an outgoing request would carry."""
    var span = current_span(req)
    return ok(String(span.context, " ", span.trace_state))


def user(req: Request) raises -> Response:
    current_span(req).set("user.id", String(req.param("id")))
    return ok(String(process_id()))


def fail(req: Request) raises -> Response:
    raise Error("no such table")


def work(req: Request) raises -> Response:
    """Makes as many child spans as it is told."""
    var span = current_span(req)
    for index in range(Int(req.param("count"))):
        with span.child("step") as step:
            step.set("index", index)
            step.event("stepped", {"share": 0.5, "last": False})
    return ok()


def call(req: Request) raises -> Response:
    """Asks another server, as a part of the trace."""
    var client = HttpClient(
        String("http://someone:password@127.0.0.1:", req.param("port"))
    )
    var target = String("/", req.param("rest"), "?token=secret&flag")
    var response = client.get(target, trace=current_span(req))
    return ok(response.text())


def call_many(req: Request) raises -> Response:
    """Asks another server three times at once, the last time in vain."""
    var client = HttpClient(String("http://127.0.0.1:", req.param("port")))
    var requests: List[ClientRequest] = [
        ClientRequest("GET", "/trace"),
        ClientRequest("GET", "/none"),
        ClientRequest("GET", "http://127.0.0.1:1/"),
    ]
    for index in range(len(requests)):
        requests[index].set_trace(current_span(req))
    var results = client.send_all(requests)
    return ok(String(len(results)))


@fieldwise_init
struct Pieces(BodySource):
    """Makes a piece for each call, and breaks if it is told so."""

    var left: Int
    var breaks: Bool

    def fill(mut self, mut out: Buffer) raises -> Poll:
        if self.left == 0:
            if self.breaks:
                raise Error("the disk is gone")
            return Poll.DONE
        self.left -= 1
        out.append("piece".as_bytes())
        return Poll.READY


def stream(req: Request) raises -> Response:
    return ok_stream(Pieces(3, False))


def broken(req: Request) raises -> Response:
    return ok_stream(Pieces(3, True))


@fieldwise_init
struct Echo(WsHandler):
    """Says what it hears, once."""

    def on_message(self, message: WsIncoming, sender: WsSender) raises:
        if message.as_text() == "fail":
            raise Error("it failed")
        sender.send_text(message.as_text())


@fieldwise_init
struct Counts(Handler):
    """Tells what became of spans in this process."""

    var tracer: Tracer

    def serve(self, req: Request) raises -> Response:
        return ok(
            String(
                self.tracer.exported_count(), " ", self.tracer.dropped_count()
            )
        )


struct Options(Movable):
    """What the command line says."""

    var collector: String
    var mode: String
    var ca: String
    var compresses: Bool
    var takes_over: Bool
    var upstream: String
    var proxy: ProxyConfig
    var workers: Int
    var sampler: Sampler
    var batch: BatchConfig
    var config: ServerConfig

    def __init__(out self, arguments: List[String]) raises:
        self.collector = "http://127.0.0.1:4318"
        self.mode = "threads"
        self.ca = String()
        self.compresses = False
        self.takes_over = True
        self.upstream = String()
        self.proxy = ProxyConfig()
        self.workers = 1
        self.sampler = Sampler.parent_based(Sampler.always())
        self.batch = BatchConfig()
        self.config = ServerConfig()
        for argument in arguments:
            var parts = argument.split("=", 1)
            self._set(String(parts[0]), String(parts[1]))

    def _set(mut self, name: String, value: String) raises:
        match name:
            case "collector":
                self.collector = value
            case "mode":
                self.mode = value
            case "ca":
                self.ca = value
            case "compresses":
                self.compresses = value == "1"
            case "takes_over":
                self.takes_over = value == "1"
            case "sampler":
                self.sampler = sampler_named(value)
            case "upstream":
                self.upstream = value
            case "http2":
                self.proxy.http2_prior_knowledge = value == "1"
            case "removed":
                for name in value.split(","):
                    self.proxy.rules.removed_request_fields.append(String(name))
            case _:
                self._set_number(name, Int(value))

    def _set_number(mut self, name: String, number: Int) raises:
        match name:
            case "workers":
                self.workers = number
            case "handler_threads":
                self.config.handler_threads = number
            case "queue_max":
                self.batch.queue_max = number
            case "batch_max":
                self.batch.batch_max = number
            case "interval_ms":
                self.batch.interval_ms = number
            case "retry_ms":
                self.batch.retry_ms = number
            case "backoff_ms":
                self.batch.backoff_ms = number
            case "flush_ms":
                self.batch.flush_ms = number
            case _:
                raise Error("no option ", name)


def sampler_named(name: String) raises -> Sampler:
    match name:
        case "always":
            return Sampler.always()
        case "never":
            return Sampler.never()
        case "parent":
            return Sampler.parent_based(Sampler.never())
        case _:
            return Sampler.ratio(Float64(name))


def main() raises:
    var arguments = List[String]()
    for index in range(2, len(argv())):
        arguments.append(String(argv()[index]))
    var options = Options(arguments)
    var client = ClientConfig()
    if options.ca.byte_length() > 0:
        client.tls = TlsConfig(ca_file=options.ca, alpn=["http/1.1"])
    var tracer = Tracer(
        OtlpExporter(
            options.collector,
            service_name="traced",
            service_version="1.2.3",
            resource={"deployment.environment.name": "test"},
            headers={"X-Key": "of the test"},
            compresses=options.compresses,
            client=client^,
        ),
        sampler=options.sampler,
        batch=options.batch,
    )
    var router = Router()
    router.get("/trace", trace)
    router.get("/users/:id", user)
    router.get("/fail", fail)
    router.get("/steps/:count", work)
    router.get("/call/:port/*rest", call)
    router.get("/call_many/:port", call_many)
    router.get("/stream", stream)
    router.get("/broken", broken)
    router.get("/counts", Counts(tracer))
    router.ws("/ws", Echo())
    if options.upstream.byte_length() > 0:
        router.fallback(ReverseProxy(options.upstream, options.proxy.copy()))
    var server = HttpServer.bind(
        SocketAddr.localhost(UInt16(Int(argv()[1]))), options.config.copy()
    )
    print("listening on", server.local_addr(), flush=True)
    var handler = Tracing(router^, tracer, takes_over=options.takes_over)
    if options.mode == "prefork":
        server.serve_prefork(handler^, workers=options.workers)
    else:
        server.serve(handler^, num_workers=options.workers)
    print("stopped", flush=True)

"""The server of the tests of `ReverseProxy`.

    proxy_server PORT upstream=URL,URL workers=N ...

Other names are those of `proxy_options`, or fields of `ServerConfig` behind
`server_`; further arguments are those of `tls_options`. `/upstreams` tells of the
upstreams, and with `?url=&weight=` changes the weight of one; `/figures` tells what
`UpstreamMetrics` does.
"""

from flare.bytes.buffer import Buffer
from flare.http import HeaderMap, Request, Response, Router, ServerConfig, ok
from flare.http.middleware import AccessLog, MetricsEndpoint
from flare.http.proxy import (
    ProxyConfig,
    ReverseProxy,
    UpstreamMetrics,
    Upstreams,
)
from flare.http.routing import (
    Completion,
    Deferred,
    Errand,
    Handler,
    RequestContent,
    deferred_call,
    later,
)
from flare.log import StandardError
from flare.runtime import Event, LoopTask, WorkerLoop
from std.memory import ArcPointer
from std.sys import argv, stderr
from tests.wire.servers.proxy_options import set_proxy_option
from tests.wire.servers.tls_options import TlsOptions


def own(req: Request) raises -> Response:
    return ok("answered here")


struct Pause(Errand, LoopTask):
    """Answers after a while, on the worker's own loop, and hints before it."""

    var hint: String
    var loop: ArcPointer[WorkerLoop]
    var token: UInt64
    var wait_ms: Int
    var completion: Optional[Completion]
    var content: Optional[RequestContent]
    var length: Int

    def __init__(out self, loop: ArcPointer[WorkerLoop], wait_ms: Int):
        self.hint = String()
        self.loop = loop.copy()
        self.token = 0
        self.wait_ms = wait_ms
        self.completion = None
        self.content = None
        self.length = 0

    @staticmethod
    def begin(errand: ArcPointer[Self], var completion: Completion):
        ref self = errand[]
        self.completion = completion^
        var loop = self.loop.copy()
        self.token = loop[].add(errand)
        loop[].set_deadline(self.token, loop[].now_ms + self.wait_ms)

    @staticmethod
    def on_content(errand: ArcPointer[Self]):
        var room = Buffer(0)
        try:
            _ = errand[].content.value().take(room)
            errand[].length += len(room)
        except:
            errand[].length = -1

    @staticmethod
    def cancel(errand: ArcPointer[Self]):
        print("cancelled", file=stderr, flush=True)
        errand[].loop[].remove(errand[].token)

    @staticmethod
    def on_event(task: ArcPointer[Self], event: Event):
        return

    @staticmethod
    def on_deadline(task: ArcPointer[Self]):
        task[].loop[].remove(task[].token)
        var completion = task[].completion.take()
        if task[].hint != "":
            try:
                var fields = HeaderMap()
                fields.set("Link", task[].hint)
                completion.send_hints(fields^)
            except error:
                print(error, file=stderr, flush=True)
        completion^.finish(ok(String("paused ", task[].length)))


def pause(req: Request) raises -> Response:
    """Answers after `?ms`, and counts the content that has come by then; `?early`
    is what it hints itself."""
    ref call = deferred_call(req)[]
    if req.query_param("early") != "":
        req.send_early_hints(req.query_param("early"))
    if req.query_param("ms") == "":
        return ok("at once")
    var errand = Pause(call.loop, Int(req.query_param("ms")))
    errand.length = len(req.body)
    errand.hint = req.query_param("hint")
    swap(errand.content, call.content)
    var response = later(req, ArcPointer(errand^))
    response.headers.set("X-Middleware", "was here")
    return response^


def impatient(req: Request) raises -> Response:
    return later(req, ArcPointer(Pause(ArcPointer(WorkerLoop()), 1)))


@fieldwise_init
struct Admin(Handler):
    """Changes the weight of an upstream, and tells of all."""

    var upstreams: Upstreams

    def serve(self, req: Request) raises -> Response:
        if req.query_param("weight") != "":
            self.upstreams.set_weight(
                req.query_param("url"), Int(req.query_param("weight"))
            )
        var text = String()
        for member in self.upstreams.figures():
            text.write(member.state.name(), " ", member.active_count, "\n")
        return ok(text)


def main() raises:
    var config = ServerConfig()
    var proxy_config = ProxyConfig()
    var tls = TlsOptions()
    var workers = 1
    var urls = List[String]()
    for index in range(2, len(argv())):
        var parts = String(argv()[index]).split("=", 1)
        var name = String(parts[0])
        if name == "upstream":
            for url in String(parts[1]).split(","):
                urls.append(String(url))
        elif tls.take(name, String(parts[1])):
            continue
        elif name == "workers":
            workers = Int(parts[1])
        elif name == "server_body_timeout_ms":
            config.body_timeout_ms = Int(parts[1])
        elif name == "server_max_header_size":
            config.max_header_size = Int(parts[1])
        elif name == "server_linger_timeout_ms":
            config.linger_timeout_ms = Int(parts[1])
        elif name == "server_shutdown_timeout_ms":
            config.shutdown_timeout_ms = Int(parts[1])
        elif name == "server_logs_errors":
            config.logs_errors = parts[1] == "1"
        elif not set_proxy_option(proxy_config, name, String(parts[1])):
            raise Error("no such option: ", name)
    var server = tls.bind(UInt16(Int(argv()[1])), config^)
    print("listening on", server.local_addr(), flush=True)
    var router = Router()
    router.get("/own", own)
    router.get("/pause", Deferred(pause))
    router.post("/pause", Deferred(pause))
    router.get("/not-deferred", impatient)
    var proxy = ReverseProxy(urls^, proxy_config^)
    router.get("/upstreams", Admin(proxy.upstreams()))
    router.get(
        "/figures", MetricsEndpoint(UpstreamMetrics("x", proxy.upstreams()))
    )
    router.fallback(proxy^)
    server.serve(AccessLog(router^, sink=StandardError()), num_workers=workers)

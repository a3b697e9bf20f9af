"""Gives each request back in its response: type, fields, content and id.

    mirror_server PORT threads=N upstream=URL

Below `/loop`, `/thread` and `/later` the worker answers at once, a thread does, or
the worker's loop after a while. Below `/one` and `/two` an upstream is asked over
HTTP/1.1 and HTTP/2, below `/kept` through a cache. `/mirror.Mirror/Loop` and
`/mirror.Mirror/Thread` are calls of gRPC.
"""

from flare.bytes.buffer import Buffer
from flare.bytes.copy import list_of
from flare.grpc import GrpcCall, GrpcServices, GrpcStatus
from flare.http import HttpServer, Request, Response, Router, ServerConfig, ok
from flare.http.cache import CacheStore
from flare.http.middleware import Cache
from flare.http.proxy import ProxyConfig, ReverseProxy
from flare.http.routing import (
    Completion,
    Deferred,
    Errand,
    RequestContent,
    deferred_call,
    later,
)
from flare.net import SocketAddr
from flare.protobuf import BytesValue
from flare.runtime import Event, LoopTask, WorkerLoop
from std.memory import ArcPointer
from std.sys import argv

comptime _LATER_MS = 20


def reflection(req: Request) raises -> Response:
    """Gives back all but what follows the content."""
    var response = ok(list_of(req.body))
    var id = req.param("id")
    response.headers.set("Content-Type", req.headers.get("Content-Type", "a/b"))
    response.headers.set("X-Own", id)
    for name in ["X-One", "X-Two", "Cache-Control"]:
        if name in req.headers:
            response.headers.set(name, req.headers[name])
    return response^


def mirror(req: Request) raises -> Response:
    var response = reflection(req)
    if req.query == "trailer":
        response.add_trailer("X-End", req.param("id"))
    return response^


struct Pause(Errand, LoopTask):
    """Gives a response after a while, with the content that goes on arriving."""

    var loop: ArcPointer[WorkerLoop]
    var token: UInt64
    var completion: Optional[Completion]
    var content: Optional[RequestContent]
    var room: Buffer
    var response: Response
    var is_late: Bool
    var ends: Bool
    var id: String

    def __init__(
        out self, loop: ArcPointer[WorkerLoop], var response: Response
    ):
        self.loop = loop.copy()
        self.token = 0
        self.completion = None
        self.content = None
        self.room = Buffer()
        self.response = response^
        self.is_late = False
        self.ends = False
        self.id = String()

    @staticmethod
    def begin(errand: ArcPointer[Self], var completion: Completion):
        ref self = errand[]
        self.completion = completion^
        var loop = self.loop.copy()
        self.token = loop[].add(errand)
        loop[].set_deadline(self.token, loop[].now_ms + _LATER_MS)
        Self.on_content(errand)

    @staticmethod
    def on_content(errand: ArcPointer[Self]):
        ref self = errand[]
        if not self.content:
            return
        try:
            if self.content.value().take(self.room):
                self.response.body = list_of(self.room.span())
                self.content = None
                self.finish()
        except error:
            self.response = Response(500, String(error))
            self.content = None
            self.finish()

    def finish(mut self):
        if not self.is_late or self.content:
            return
        var completion = self.completion.take()
        var response = Response(500)
        swap(response, self.response)
        if self.ends:
            try:
                response.add_trailer("X-End", self.id)
            except error:
                response = Response(500, String(error))
        completion^.finish(response^)

    @staticmethod
    def cancel(errand: ArcPointer[Self]):
        errand[].loop[].remove(errand[].token)

    @staticmethod
    def on_event(task: ArcPointer[Self], event: Event):
        return

    @staticmethod
    def on_deadline(task: ArcPointer[Self]):
        task[].loop[].remove(task[].token)
        task[].is_late = True
        task[].finish()


def mirror_later(req: Request) raises -> Response:
    ref call = deferred_call(req)[]
    var errand = Pause(call.loop, reflection(req))
    errand.ends = req.query == "trailer"
    errand.id = String(req.param("id"))
    swap(errand.content, call.content)
    return later(req, ArcPointer(errand^))


def reflect(
    request: BytesValue, mut call: GrpcCall
) raises GrpcStatus -> BytesValue:
    for name in ["x-one", "x-two"]:
        var value = call.metadata().get(name)
        if value:
            var text = String(value.value())
            call.headers.add(name, text)
            call.trailers.add(String(name, "-end"), text)
    return BytesValue(value=request.value.copy())


def add_mirrors(mut router: Router, prefix: String) raises:
    router.all(prefix + "/loop/:id", mirror, may_block=False)
    router.all(prefix + "/thread/:id", mirror)
    router.all(prefix + "/later/:id", Deferred(mirror_later))


def main() raises:
    var config = ServerConfig()
    var upstream = String()
    for index in range(2, len(argv())):
        var parts = String(argv()[index]).split("=", 1)
        if parts[0] == "threads":
            config.handler_threads = Int(parts[1])
        elif parts[0] == "upstream":
            upstream = String(parts[1])
        else:
            raise Error("no such option: ", parts[0])
    var router = Router()
    for prefix in ["", "/one", "/two", "/kept"]:
        if prefix == "" or upstream == "":
            add_mirrors(router, prefix)
    if upstream != "":
        var second = ProxyConfig()
        second.http2_prior_knowledge = True
        router.all("/one/*rest", ReverseProxy(upstream))
        router.all("/two/*rest", ReverseProxy(upstream, second^))
        var store = CacheStore(octet_max=1 << 20)
        router.all("/kept/*rest", Cache(ReverseProxy(upstream), store))
    var services = GrpcServices(beside=router^)
    services.unary[reflect]("/mirror.Mirror/Loop", may_block=False)
    services.unary[reflect]("/mirror.Mirror/Thread")
    var port = UInt16(Int(String(argv()[1])))
    var server = HttpServer.bind(SocketAddr.localhost(port), config^)
    print("listening on", server.local_addr(), flush=True)
    server.serve(services^)

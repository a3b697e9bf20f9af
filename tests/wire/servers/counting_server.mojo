"""A server that counts its heap allocations.

The program defines the runtime's allocation functions itself, so every
allocation of it comes by here: each puts one octet into a pipe, which
`GET /allocations` empties and counts.
"""

from flare.grpc import GrpcCall, GrpcServices, GrpcStatus
from flare.http import FnHandler, HttpServer, Request, Response, Router, ok
from flare.http.cache import CacheStore
from flare.http.middleware import Cache
from flare.http.proxy import PathPrefixes, ProxyConfig, ReverseProxy
from flare.net import SocketAddr
from flare.protobuf import BytesValue
from flare.sys.descriptor import Pipe
from flare.trace import Sampler, SpanCollector, Tracer, Tracing
from std.ffi import external_call
from std.memory import OpaquePointer

comptime COUNTER_NUMBER: Int32 = 251
comptime Memory = OpaquePointer[MutUntrackedOrigin]


@export("KGEN_CompilerRT_AlignedAlloc")
def counting_alloc(alignment: Int, size: Int) abi("C") -> Memory:
    var octet = Array[UInt8, 1](fill=1)
    _ = external_call["write", Int](COUNTER_NUMBER, octet.unsafe_ptr(), 1)
    var step = max(alignment, 16)
    return external_call["aligned_alloc", Memory](
        step, (size + step - 1) // step * step
    )


@export("KGEN_CompilerRT_AlignedFree")
def counting_free(memory: Memory) abi("C"):
    external_call["free", NoneType](memory)


def root(req: Request) -> Response:
    return ok("Hello, World!")


def user(req: Request) raises -> Response:
    return ok("user " + req.param("id"))


def upload(req: Request) raises -> Response:
    return ok(String(len(req.body)))


def kept(req: Request) raises -> Response:
    return ok("Hello, World!").with_header("Cache-Control", "max-age=3600")


def echo(
    request: BytesValue, mut call: GrpcCall
) raises GrpcStatus -> BytesValue:
    return request.copy()


def allocations(req: Request) raises -> Response:
    var room = Array[UInt8, 64](fill=0)
    var count = 0
    while True:
        var got = external_call["read", Int](
            COUNTER_NUMBER + 1, room.unsafe_ptr(), 64
        )
        if got <= 0:
            break
        count += got
    return ok(String(count))


def main() raises:
    var server = HttpServer.bind(SocketAddr.localhost(0))
    var pipe = Pipe()
    _ = external_call["dup2", Int32](pipe.writing_fd(), COUNTER_NUMBER)
    _ = external_call["dup2", Int32](pipe.reading_fd(), COUNTER_NUMBER + 1)
    var router = Router()
    router.get("/", root)
    router.get("/users/:id", user)
    router.get("/allocations", allocations)
    router.post("/upload", upload)
    var unsampled = Tracer(
        SpanCollector(), sampler=Sampler.parent_based(Sampler.never())
    )
    router.get("/traced", Tracing(FnHandler(root), unsampled))
    router.get("/cached", Cache(FnHandler(kept), CacheStore()))
    # To this very server, whose other requests of the kind allocate nothing.
    var to_itself = ProxyConfig()
    to_itself.rules.paths = PathPrefixes(strip="/proxied", add="")
    var url = String("http://", server.local_addr())
    router.get("/proxied/*rest", ReverseProxy(url, to_itself^))
    var services = GrpcServices(beside=router^)
    services.unary[echo]("/count.Count/Echo")
    print("listening on", server.local_addr(), flush=True)
    server.serve(services^)
    print("stopped", flush=True)
    _ = pipe^

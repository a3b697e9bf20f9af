"""All kinds of traffic on worker processes, for the soak.

    soak_server PORT workers=N upstream=URL,URL upstream2=URL,URL redis=URL

Without `upstream` it is what stands behind a gateway: `/passed` and `/kept` are
answered here. With it they are fetched over HTTP/1.1, `/passed2` over HTTP/2 from
`upstream2`; what is below `/kept` goes through a cache.
"""

from flare.backplane import Presence, RedisBackplane, SharedMemoryBackplane
from flare.http import (
    EventHub,
    Handler,
    HttpServer,
    Request,
    Response,
    Router,
    ServerConfig,
    Streamed,
    ok,
)
from flare.http.cache import CacheStore
from flare.http.middleware import Cache
from flare.http.proxy import ProxyConfig, ReverseProxy
from flare.http.stores import RedisResponses
from flare.net import SocketAddr
from flare.redis import RedisConfig
from flare.runtime import PreforkConfig
from flare.sys.mutex import Mutex
from flare.ws import WsHub
from std.memory import ArcPointer
from std.sys import argv
from tests.wire.servers.hub_server import Events, Room
from tests.wire.servers.stream_server import Counts, Streams
from tests.wire.servers.uploads import upload
from tests.wire.servers.workers_server import process

comptime CACHE_LEN_MAX = 8 << 20
comptime RING_LEN = 1 << 20
comptime RESTARTS_MAX = 100_000


def own(req: Request) raises -> Response:
    """Says whose the answer is, with so much behind it as is asked for."""
    var id = req.param("id")
    var text = String("own ", id, " ")
    var length = req.query_param("more")
    if length != "":
        text += String("o") * Int(length)
    return ok(text^).with_header("X-Own", id)


def kept(req: Request) raises -> Response:
    return own(req).with_header("Cache-Control", "max-age=1")


def echo(req: Request) raises -> Response:
    var content = List[UInt8]()
    content.extend(req.body)
    return ok(content^).with_header("X-Own", req.param("id"))


@fieldwise_init
struct Pieced(Handler):
    """Sends content piece by piece, wherever it is asked."""

    var streams: Streams

    def serve(self, req: Request) raises -> Response:
        return self.streams.pieces(req)


def add_own(mut router: Router, prefix: String) raises:
    """Adds what each client asks for, below a prefix."""
    router.get(prefix + "/own/:id", own)
    router.post(prefix + "/own/:id", echo)
    var streams = Streams(EventHub(), ArcPointer(Counts()))
    router.get(prefix + "/pieces", Pieced(streams^))
    router.post(prefix + "/upload", Streamed(upload), max_body_size=1 << 30)


def urls_of(text: String) -> List[String]:
    var found = List[String]()
    for url in text.split(","):
        found.append(String(url))
    return found^


def main() raises:
    var workers = 2
    var options = Dict[String, String]()
    for index in range(2, len(argv())):
        var parts = String(argv()[index]).split("=", 1)
        options[String(parts[0])] = String(parts[1])
    if "workers" in options:
        workers = Int(options["workers"])
    var redis = options.get("redis").or_else("")
    var router = Router()
    router.get("/pid", process)
    add_own(router, "")
    if "upstream" in options:
        var store = CacheStore(octet_max=CACHE_LEN_MAX)
        if redis != "":
            store = CacheStore(
                octet_max=CACHE_LEN_MAX,
                shared=RedisResponses(RedisConfig.from_url(redis)),
            )
        var behind = urls_of(options["upstream"])
        router.get("/kept/*rest", Cache(ReverseProxy(behind.copy()), store))
        router.all("/passed/*rest", ReverseProxy(behind^))
        var config = ProxyConfig()
        config.http2_prior_knowledge = True
        router.all(
            "/passed2/*rest",
            ReverseProxy(urls_of(options["upstream2"]), config^),
        )
    else:
        router.get("/kept/own/:id", kept)
        add_own(router, "/passed")
        add_own(router, "/passed2")
    var hub: WsHub
    var events: EventHub
    var presence: Presence
    if redis != "":
        var config = RedisConfig.from_url(redis)
        hub = WsHub(RedisBackplane(config.copy(), "room"))
        events = EventHub(RedisBackplane(config.copy(), "news"))
        presence = Presence(RedisBackplane(config^, "presence"))
    else:
        hub = WsHub(SharedMemoryBackplane(RING_LEN))
        events = EventHub(SharedMemoryBackplane(RING_LEN))
        presence = Presence(SharedMemoryBackplane(RING_LEN))
    router.ws("/ws", Room(hub.copy(), presence.copy()))
    router.get("/*rest", Events(events^, hub^, presence^, Mutex(String())))
    var config = ServerConfig(handler_threads=4)
    var port = UInt16(Int(String(argv()[1])))
    var server = HttpServer.bind(SocketAddr.localhost(port), config^)
    print("listening on", server.local_addr(), flush=True)
    var prefork = PreforkConfig(workers=workers)
    prefork.restart.restarts_max = RESTARTS_MAX
    server.serve_prefork(router^, prefork^)

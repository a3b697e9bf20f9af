"""The server that is simulated, and its handlers."""

from flare.bytes.buffer import Buffer
from flare.http import (
    BodySource,
    HttpServer,
    Poll,
    Request,
    Response,
    Router,
    ServerConfig,
    ok,
    ok_stream,
)
from flare.http.message.body import Body
from flare.http.cache import CacheStore
from flare.http.middleware import Cache
from flare.http.proxy import ProxyConfig, ReverseProxy
from flare.net import SocketAddr
from tests.simulate.dice import Dice
from tests.simulate.kernel import HTTP2_PORT, LENGTH_MAX
from tests.simulate.requests import content_of, upload_answer
from tests.simulate.world import World


struct _Pieces(BodySource):
    """Content in pieces, some of which are not there yet."""

    var content: List[UInt8]
    var position: Int
    var is_late: Bool

    def __init__(out self, var content: List[UInt8]):
        self.content = content^
        self.position = 0
        self.is_late = True

    def fill(mut self, mut out: Buffer) raises -> Poll:
        self.is_late = not self.is_late
        if self.is_late and self.position % 3 == 0:
            return Poll.PENDING
        var length = min(1 + self.position % 7_001, self._left())
        out.append(Span(self.content)[self.position : self.position + length])
        self.position += length
        return Poll.DONE if self._left() == 0 else Poll.READY

    def _left(self) -> Int:
        return len(self.content) - self.position

    def poll_interval_ms(self) -> Int:
        return 3


def _asked_content(req: Request) raises -> List[UInt8]:
    var length = Int(req.param("length"))
    if length < 0 or length > LENGTH_MAX:
        raise Error("a client has changed the length")
    return content_of(Int(req.param("id")), length)


def _content(req: Request) raises -> Response:
    var content = _asked_content(req)
    return Response(200, body=Body(content^))


def _stream(req: Request) raises -> Response:
    return ok_stream(_Pieces(_asked_content(req)), "text/plain")


def _upload(req: Request) raises -> Response:
    return ok(upload_answer(Int(req.param("id")), req.body))


def _config_of(mut dice: Dice) -> ServerConfig:
    """Makes settings: the defaults, or small limits, which are met often."""
    var config = ServerConfig(
        handler_threads=0,
        handles_signals=False,
        max_connections=1_000,
        logs_errors=False,
    )
    if dice.one_in(2):
        return config^
    ref limits = config.http2_limits
    limits.max_streams = dice.between(1, 8)
    limits.stream_window_size = 1 << dice.between(10, 17)
    limits.upload_window_size = 1 << dice.between(10, 17)
    limits.connection_window_size = 1 << dice.between(16, 18)
    limits.max_queued_size = 1 << dice.between(10, 16)
    limits.max_pending_response_size = 1 << dice.between(0, 17)
    return config^


def _http1_upstreams() -> List[String]:
    return ["http://10.0.0.1:9001", "http://10.0.0.2:9002"]


def serve(mut world: World) raises:
    """Serves until the world says that it is over."""
    var router = Router()
    router.get("/content/:id/:length", _content)
    router.get("/stream/:id/:length", _stream)
    router.post("/upload/:id", _upload)
    router.fallback(ReverseProxy(_http1_upstreams()))
    var over_http2 = ProxyConfig()
    over_http2.http2_prior_knowledge = True
    router.any(
        "/over2/*rest",
        ReverseProxy(String("http://10.0.0.3:", HTTP2_PORT), over_http2^),
    )
    var upstream = ReverseProxy(_http1_upstreams())
    router.any("/cached/*rest", Cache(upstream^, CacheStore(octet_max=1 << 20)))
    var config = _config_of(world.kernel.dice)
    var server = HttpServer.bind(SocketAddr.localhost(80), config^)
    world.stop = server.shutdown_handle()
    server.serve(router^)
    world.stop = None

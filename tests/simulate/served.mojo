"""The server that is simulated, and its handlers."""

from flare.bytes.buffer import Buffer
from flare.http import (
    BodySource,
    ClientConfig,
    ClientRequest,
    ClientResponse,
    HttpServer,
    Method,
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
from flare.http.client import RequestBody, SendResult, SharedClient
from flare.http.fetch import (
    Continuation,
    NextStep,
    fetch_failure,
    fetch_later,
    relayed_response,
)
from flare.http.middleware import Cache
from flare.http.proxy import ProxyConfig, ReverseProxy
from flare.http.routing import Deferred, Handler
from flare.net import SocketAddr
from tests.simulate.dice import Dice
from tests.simulate.kernel import HTTP2_PORT, LENGTH_MAX
from tests.simulate.requests import content_of, upload_answer
from flare.ws import WsHandler, WsIncoming, WsSender
from std.memory import ArcPointer
from tests.simulate.world import World
from tests.simulate.ws_frames import (
    BINARY,
    BYE_CODE,
    BYE_REASON,
    TEXT,
    says_bye,
    ws_answers,
)
from tests.simulate.ws_talk import WsTold


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


@fieldwise_init
struct _Fetch(Handler):
    """Asks an upstream what it is asked itself."""

    var client: SharedClient

    def serve(self, req: Request) raises -> Response:
        var target = String(req.url)
        if req.method == Method.POST:
            return fetch_later(
                req,
                self.client,
                ClientRequest("POST", target^, RequestBody(List(req.body))),
            )
        if "/stream/" not in target:
            return fetch_later(req, self.client, ClientRequest("GET", target^))
        # Three times at once.
        var requests = List[ClientRequest]()
        for _ in range(3):
            requests.append(ClientRequest("GET", target.copy()))
        return fetch_later(req, self.client, requests^, _Agreement(target^))


struct _Agreement(Continuation):
    """Answers what all upstreams have answered, behind asking once more."""

    var target: String
    var first: Optional[ClientResponse]

    def __init__(out self, var target: String):
        self.target = target^
        self.first = None

    def go_on(mut self, var results: List[SendResult]) raises -> NextStep:
        for index in range(len(results)):
            ref result = results[index]
            if result.error:
                return fetch_failure(result.error.value())
            if result.response.value().status != 200:
                return relayed_response(results.pop(index).take())
        var is_last = Bool(self.first)
        if not is_last:
            self.first = results.pop().take()
        for index in range(len(results)):
            ref content = results[index].response.value().body
            if content.as_bytes() != self.first.value().body.as_bytes():
                raise Error("upstreams do not agree")
        if not is_last:
            return ClientRequest("GET", self.target.copy())
        return relayed_response(self.first.take())


@fieldwise_init
struct _Talk(WsHandler):
    """Answers each message as it has to be."""

    var told: ArcPointer[WsTold]

    def on_open(self, req: Request, sender: WsSender) raises:
        self.told[].note_open(Int(sender.id()), Int(req.param("id")))

    def on_message(self, message: WsIncoming, sender: WsSender) raises:
        var opcode = TEXT if message.is_text else BINARY
        if says_bye(opcode, message.as_bytes()):
            sender.close(BYE_CODE, BYE_REASON)
            return
        for answer in ws_answers(opcode, message.as_bytes()):
            if answer.opcode == TEXT:
                sender.send_text(StringSpan(unsafe_from_utf8=answer.payload))
            else:
                sender.send_binary(answer.payload)

    def on_close(self, code: Int, reason: StringSpan, sender: WsSender):
        self.told[].note_close(Int(sender.id()), code)


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


def _http2_upstream() -> String:
    return String("http://10.0.0.3:", HTTP2_PORT)


def serve(mut world: World) raises:
    """Serves until the world says that it is over."""
    var router = Router()
    router.get("/content/:id/:length", _content)
    router.get("/stream/:id/:length", _stream)
    router.post("/upload/:id", _upload)
    router.ws("/ws/:id", _Talk(world.ws_told))
    router.fallback(ReverseProxy(_http1_upstreams()))
    var over_http2 = ProxyConfig()
    over_http2.http2_prior_knowledge = True
    router.any(
        "/over2/*rest",
        ReverseProxy(_http2_upstream(), over_http2^),
    )
    var upstream = ReverseProxy(_http1_upstreams())
    router.any("/cached/*rest", Cache(upstream^, CacheStore(octet_max=1 << 20)))
    router.any(
        "/fetched/*rest",
        Deferred(
            _Fetch(SharedClient(_http1_upstreams()[0])), waits_for_content=True
        ),
    )
    var client = ClientConfig()
    client.http2_prior_knowledge = True
    router.any(
        "/fetched2/*rest",
        Deferred(
            _Fetch(SharedClient(_http2_upstream(), config=client^)),
            waits_for_content=True,
        ),
    )
    var config = _config_of(world.kernel.dice)
    world.connection_window = config.http2_limits.connection_window_size
    var server = HttpServer.bind(SocketAddr.localhost(80), config^)
    world.stop = server.shutdown_handle()
    server.serve(router^)
    world.stop = None

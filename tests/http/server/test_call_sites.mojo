"""Call sites that the specification fixes, as users write them."""

from flare import IpAddr as EverydayIpAddr
from flare.http import (
    App,
    FnHandler,
    HttpServer,
    Request,
    Response,
    Router,
    ShutdownHandle,
    not_found,
    ok,
    ok_json,
    post,
)
from flare.http.server import ServerConfig
from flare.net import IpAddr, SocketAddr
from flare.runtime import Event, Reactor, TimerWheel
from flare.sys.thread import Task, Thread
from std.memory import ArcPointer
from tests.support.assertions import assert_equal, assert_raises, assert_true

comptime HELLO: FnHandler = FnHandler(_hello)
comptime CONFIG: ServerConfig = ServerConfig(
    max_header_size=4096,
    max_body_size=64 * 1024,
    max_keepalive_requests=1000,
    idle_timeout_ms=30_000,
)


def _hello(req: Request) -> Response:
    return ok("hello")


def _handle(req: Request) raises -> Response:
    if req.url == "/data":
        _ = req.json()
        return ok_json('{"received": true}')
    return not_found(req.url)


def _user(req: Request) raises -> Response:
    return ok("user " + req.param("id"))


@fieldwise_init
struct Counters(Copyable, Movable):
    var hits: Int


def _answer(url: String) raises -> String:
    return post(url, '{"k": 1}').text()


@fieldwise_init
struct _Client(Task):
    """Posts once, notes the answer, and stops the server."""

    var url: String
    var stopper: ShutdownHandle
    var answer: ArcPointer[String]

    def run(mut self) raises:
        try:
            self.answer[] = _answer(self.url)
        except error:
            self.answer[] = String(error)
        self.stopper.shutdown()


struct _Asked(Movable):
    """A server with a client that asks for a path once it is served."""

    var srv: HttpServer
    var _thread: Thread
    var _answer: ArcPointer[String]

    def __init__(out self, path: StringSpan) raises:
        self.srv = HttpServer.bind(
            SocketAddr.localhost(0), ServerConfig(handles_signals=False)
        )
        self._answer = ArcPointer(String("no answer"))
        var url = String("http://", self.srv.local_addr(), path)
        self._thread = Thread(
            _Client(url^, self.srv.shutdown_handle(), self._answer)
        )

    def answer(deinit self) -> String:
        self._thread^.join()
        return self._answer[].copy()


def _router() raises -> Router:
    var router = Router()
    router.post("/user/:id", _user)
    router.post("/data", _handle)
    return router^


def test_every_kind_of_handler_is_served() raises:
    var asked = _Asked("/")
    asked.srv.serve(_hello)
    assert_equal(asked^.answer(), "hello")
    asked = _Asked("/data")
    asked.srv.serve(_handle)
    assert_equal(asked^.answer(), '{"received": true}')
    asked = _Asked("/")
    asked.srv.serve(HELLO)
    assert_equal(asked^.answer(), "hello")
    asked = _Asked("/user/7")
    var router = _router()
    asked.srv.serve(router^)
    assert_equal(asked^.answer(), "user 7")
    asked = _Asked("/data")
    router = _router()
    asked.srv.serve(router^, num_workers=4)
    assert_equal(asked^.answer(), '{"received": true}')
    asked = _Asked("/user/8")
    router = _router()
    var app = App(state=Counters(hits=0), handler=router^)
    asked.srv.serve(app^)
    assert_equal(asked^.answer(), "user 8")
    asked = _Asked("/")
    asked.srv.serve_comptime[HELLO, CONFIG]()
    assert_equal(asked^.answer(), "hello")


def test_addresses() raises:
    assert_true(IpAddr.parse("192.168.1.100").is_private())
    assert_true(EverydayIpAddr.parse("::1").is_loopback())
    var addr = SocketAddr.parse("[::1]:8080")
    assert_true(addr.ip.is_v6())
    assert_equal(addr.port, 8080)
    assert_equal(String(SocketAddr.localhost(8080)), "127.0.0.1:8080")
    assert_equal(String(SocketAddr.any(80)), "0.0.0.0:80")


def test_configuration_at_compile_time() raises:
    comptime limit = CONFIG.max_keepalive_requests
    assert_equal(limit, 1000)


def test_runtime_names() raises:
    var wheel = TimerWheel()
    _ = wheel.insert(5, 7)
    assert_equal(wheel.next_expired(10).value(), 7)
    var reactor = Reactor()
    assert_equal(reactor.poll(0), 0)
    assert_true(Event(1, True, False, False).is_readable)


def test_a_config_that_inherits_wants_a_bind_that_does() raises:
    comptime INHERITING: ServerConfig = ServerConfig(inherits_listeners=True)
    var server = HttpServer.bind(SocketAddr.localhost(0))
    with assert_raises(contains="inherits_listeners"):
        server.serve_comptime[HELLO, INHERITING]()

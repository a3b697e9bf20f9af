"""Call sites that the specification fixes, as users write them."""

from flare import IpAddr as EverydayIpAddr
from flare.http import (
    FnHandler,
    HttpServer,
    Request,
    Response,
    Router,
    not_found,
    ok,
    ok_json,
)
from flare.http.server import ServerConfig
from flare.net import IpAddr, SocketAddr
from flare.runtime import Event, Reactor, TimerWheel
from std.testing import assert_equal, assert_raises, assert_true

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
    if req.url == "/user":
        return ok("user " + req.param("id"))
    return not_found(req.url)


def _stopped() raises -> HttpServer:
    """Makes a server that ends as soon as it serves."""
    var server = HttpServer.bind(
        SocketAddr.localhost(0), ServerConfig(handles_signals=False)
    )
    server.shutdown()
    return server^


def test_every_kind_of_handler_is_served() raises:
    var srv = _stopped()
    srv.serve(_hello)
    srv = _stopped()
    srv.serve(_handle)
    srv = _stopped()
    srv.serve(HELLO)
    srv = _stopped()
    var router = Router()
    router.get("/greet/:name", _handle)
    srv.serve(router^)
    srv = _stopped()
    srv.serve_comptime[HELLO, CONFIG]()


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

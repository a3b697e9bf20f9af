"""The server's own life: binding, stopping from another thread, errors."""

from flare.http.extract.endpoint import Endpoint, Extracted
from flare.http.extract.parameter import PathInt
from flare.http.message.method import Method
from flare.http.message.request import Request
from flare.http.message.response import Response, ok
from flare.http.handler.any_handler import Streamed
from flare.http.routing.comptime_router import ComptimeRoute, ComptimeRouter
from flare.http.handler.handler import (
    FnHandler,
    Handler,
    HandlerClaims,
    RequestPolicy,
)
from flare.http.routing.router import Router
from flare.http.server.config import ServerConfig
from flare.http.server.server import HttpServer, ShutdownHandle
from flare.net.raw_socket import RawSocket
from flare.net.socket_addr import SocketAddr
from flare.sys.thread import Task, Thread
from flare.tcp.stream import TcpStream
from flare.tls.config import TlsServerConfig
from tests.support.assertions import assert_equal, assert_raises, assert_true
from tests.support.certificates import certificate


def _hello(req: Request) -> Response:
    return ok("hello")


@fieldwise_init
struct _Stopper(Task):
    var handle: ShutdownHandle

    def run(mut self) raises:
        self.handle.shutdown()


comptime _FIXED_HELLO: FnHandler = FnHandler(_hello)
comptime _WITHOUT_HTTP2: ServerConfig = ServerConfig(
    http2=False, handles_signals=False, handler_threads=0
)


def _quiet() -> ServerConfig:
    return ServerConfig(handles_signals=False, handler_threads=0)


def test_shutdown_from_another_thread() raises:
    var server = HttpServer.bind(SocketAddr.localhost(0), _quiet())
    var thread = Thread(_Stopper(server.shutdown_handle()))
    server.serve(_hello)
    thread^.join()
    _check_stopped(server)


def test_shutdown_before_serving() raises:
    var server = HttpServer.bind(SocketAddr.localhost(0), _quiet())
    server.shutdown()
    server.serve(_hello)
    _check_stopped(server)


def _check_stopped(mut server: HttpServer) raises:
    """Checks that a server takes no more clients, and says so to its owner."""
    with assert_raises(contains="connection refused"):
        _ = TcpStream.connect(server.local_addr())
    with assert_raises(contains="bind a new one"):
        server.serve(_hello)


def test_many_starts_and_stops_leak_no_descriptor() raises:
    var first = _lowest_free_number()
    for _ in range(50):
        var server = HttpServer.bind(SocketAddr.localhost(0), _quiet())
        server.shutdown()
        server.serve(_hello)
    assert_equal(_lowest_free_number(), first)


@fieldwise_init
struct _Reader(Copyable, Handler):
    """Reads content while it arrives."""

    def serve(self, req: Request) raises -> Response:
        return ok("read")

    def policy_for(self, req: Request) -> RequestPolicy:
        return RequestPolicy(streams=True)

    def claims(self) -> HandlerClaims:
        return HandlerClaims(streams=True)


comptime _READERS: List[ComptimeRoute] = [
    ComptimeRoute.of[_Reader()](Method.POST, "/")
]


def _assert_wants_threads(text: String) raises:
    for part in ["handler_threads is 0", "Streamed", "set handler_threads"]:
        assert_true(part in text, text)


def test_streaming_wants_handler_threads() raises:
    """Whatever brings the handler; and with threads it is served."""
    var inner = Router()
    inner.post("/in", Streamed(_hello))
    var router = Router()
    router.get("/", _hello)
    router.mount("/sub", inner^)
    var server = HttpServer.bind(SocketAddr.localhost(0), _quiet())
    server.shutdown()
    try:
        server.serve(router^)
        raise Error("a router was served")
    except error:
        _assert_wants_threads(String(error))
    try:
        server.serve_prefork(_Reader(), workers=1)
        raise Error("processes served")
    except error:
        _assert_wants_threads(String(error))
    try:
        server.serve_comptime[
            ComptimeRouter[_READERS](),
            ServerConfig(handles_signals=False, handler_threads=0),
        ]()
        raise Error("a compiled router was served")
    except error:
        _assert_wants_threads(String(error))
    var other = HttpServer.bind(
        SocketAddr.localhost(0),
        ServerConfig(handles_signals=False, handler_threads=1),
    )
    other.shutdown()
    other.serve(Streamed(_hello))


def _lowest_free_number() raises -> Int32:
    var socket = RawSocket.tcp()
    var number = socket.fd()
    socket.close()
    return number


@fieldwise_init
struct _ShowUser(Endpoint):
    var id: PathInt["idd"]

    def serve(self) raises -> Response:
        return ok(String(self.id.value))


def test_a_path_parameter_that_no_route_has_is_refused() raises:
    var router = Router()
    router.get("/users/:id", Extracted[_ShowUser]())
    var server = HttpServer.bind(SocketAddr.localhost(0), _quiet())
    with assert_raises(
        contains=(
            "route: GET '/users/:id': _ShowUser takes the path parameter 'idd'"
        )
    ):
        server.serve(router^)


def test_a_taken_address_is_named() raises:
    var first = HttpServer.bind(SocketAddr.localhost(0), _quiet())
    var address = first.local_addr()
    try:
        _ = HttpServer.bind(address, _quiet())
    except error:
        assert_true(String(address) in String(error), String(error))
        _ = first^
        return
    raise Error("the address was bound twice")


def test_a_contradiction_is_refused_before_binding() raises:
    try:
        _ = HttpServer.bind(
            SocketAddr.localhost(0), ServerConfig(max_body_size=1)
        )
    except error:
        assert_true("max_body_size" in String(error), String(error))
        return
    raise Error("the configuration was taken")


def test_protocols_of_tls_are_not_contradicted_later() raises:
    """`serve_comptime` takes limits in place of those given to `bind`, and which
    protocols a handshake offers was decided there."""
    var tls = TlsServerConfig(
        certificate("good_chain.pem"), certificate("good.key")
    )
    var server = HttpServer.bind_tls(SocketAddr.localhost(0), tls^, _quiet())
    # It would not be served for long.
    server.shutdown()
    with assert_raises(contains="http2"):
        server.serve_comptime[_FIXED_HELLO, _WITHOUT_HTTP2]()

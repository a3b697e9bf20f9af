"""The server's own life: binding, stopping from another thread, errors."""

from flare.http.message.request import Request
from flare.http.message.response import Response, ok
from flare.http.server.config import ServerConfig
from flare.http.server.handles import ShutdownHandle
from flare.http.server.server import HttpServer
from flare.net.raw_socket import RawSocket
from flare.net.socket_addr import SocketAddr
from flare.sys.thread import Task, Thread
from std.testing import assert_equal, assert_true


def _hello(req: Request) -> Response:
    return ok("hello")


@fieldwise_init
struct _Stopper(Task):
    var handle: ShutdownHandle

    def run(mut self) raises:
        self.handle.shutdown()


def _quiet() -> ServerConfig:
    return ServerConfig(handles_signals=False)


def test_shutdown_from_another_thread() raises:
    var server = HttpServer.bind(SocketAddr.localhost(0), _quiet())
    var thread = Thread(_Stopper(server.shutdown_handle()))
    server.serve(_hello)
    thread^.join()


def test_shutdown_before_serving() raises:
    var server = HttpServer.bind(SocketAddr.localhost(0), _quiet())
    server.shutdown()
    server.serve(_hello)


def test_a_stopped_server_says_so() raises:
    var server = HttpServer.bind(SocketAddr.localhost(0), _quiet())
    server.shutdown()
    server.serve(_hello)
    try:
        server.serve(_hello)
    except error:
        assert_true("bind a new one" in String(error), String(error))
        return
    raise Error("it was served twice")


def test_many_starts_and_stops_leak_no_descriptor() raises:
    var first = _lowest_free_number()
    for _ in range(50):
        var server = HttpServer.bind(SocketAddr.localhost(0), _quiet())
        server.shutdown()
        server.serve(_hello)
    assert_equal(_lowest_free_number(), first)


def _lowest_free_number() raises -> Int32:
    var socket = RawSocket.tcp()
    var number = socket.number()
    socket.close()
    return number


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

"""Tests of TCP listeners."""

from flare.net.error import (
    AddressInUse,
    ConnectionRefused,
    NetworkError,
    NetworkErrorKind,
    NotConnected,
    Timeout,
    TooManyOpenFiles,
)
from flare.net.raw_socket import RawSocket
from flare.net.socket_addr import SocketAddr
from flare.sys.resource_limit import descriptor_limit, set_descriptor_limit
from flare.tcp.listener import TcpListener
from flare.tcp.stream import TcpStream
from std.testing import assert_equal, assert_true
from tests.support.loopback import PATIENCE_MS


def _accept_failure(
    mut listener: TcpListener, timeout_ms: Int
) raises -> NetworkError:
    try:
        _ = listener.accept(timeout_ms)
    except error:
        return error.copy()
    raise Error("a connection came")


def test_listener_accepts_in_order() raises:
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var address = listener.local_addr()
    assert_true(address.port > 0 and listener.fd() >= 0)
    var first = TcpStream.connect(address)
    var second = TcpStream.connect(address)
    assert_true(listener.accept().peer_addr() == first.local_addr())
    assert_true(listener.accept(0).peer_addr() == second.local_addr())


def test_listener_ends_its_wait_at_the_timeout() raises:
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    for timeout_ms in [0, 20]:
        var error = _accept_failure(listener, timeout_ms)
        assert_true(error.kind == Timeout)
        assert_equal(error.operation, "accept")
        assert_equal(error.address, String(listener.local_addr()))


def test_listener_that_is_closed() raises:
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var address = listener.local_addr()
    listener.close()
    listener.close()
    assert_true(_accept_failure(listener, -1).kind == NotConnected)
    var kind = NetworkErrorKind("none")
    try:
        _ = TcpStream.connect(address)
    except error:
        kind = error.kind
    assert_true(kind == ConnectionRefused)


def test_listener_refuses_an_address_that_is_taken() raises:
    var first = TcpListener.bind(SocketAddr.localhost(0))
    var text = String()
    try:
        _ = TcpListener.bind(first.local_addr())
    except error:
        assert_true(error.kind == AddressInUse)
        text = String(error)
    assert_true(String(first.local_addr()) in text)
    _ = first^


def test_listener_without_descriptors() raises:
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var client = TcpStream.connect(listener.local_addr(), PATIENCE_MS)
    var limit = descriptor_limit()
    var held = List[RawSocket]()
    set_descriptor_limit(300)
    while len(held) < 300:
        try:
            held.append(RawSocket.tcp())
        except:
            break
    var accepting = _kind_of_accept(listener)
    var connecting = _kind_of_connect(listener)
    var binding = _kind_of_bind()
    held.clear()
    set_descriptor_limit(limit)
    assert_true(accepting == TooManyOpenFiles)
    assert_true(connecting == TooManyOpenFiles)
    assert_true(binding == TooManyOpenFiles)
    # The connection waited, and is there now.
    var server = listener.accept(PATIENCE_MS)
    assert_true(server.peer_addr() == client.local_addr())


def _kind_of_accept(mut listener: TcpListener) -> NetworkErrorKind:
    try:
        _ = listener.accept(0)
        return NetworkErrorKind("none")
    except error:
        return error.kind


def _kind_of_connect(listener: TcpListener) -> NetworkErrorKind:
    try:
        _ = TcpStream.connect(listener.local_addr())
        return NetworkErrorKind("none")
    except error:
        return error.kind


def _kind_of_bind() -> NetworkErrorKind:
    try:
        _ = TcpListener.bind(SocketAddr.localhost(0))
        return NetworkErrorKind("none")
    except error:
        return error.kind

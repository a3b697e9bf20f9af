"""Tests of TCP streams, with real peers on loopback."""

from flare.io.buffered import BufReader, BufWriter
from flare.net.error import (
    AddressInUse,
    BrokenPipe,
    ConnectionRefused,
    ConnectionReset,
    ConnectionTimeout,
    DnsError,
    NameRefused,
    NetworkError,
    NetworkErrorKind,
    NotConnected,
    Timeout,
    TooManyOpenFiles,
)
from flare.net.raw_socket import RawSocket, Shutdown
from flare.net.socket_addr import SocketAddr
from flare.sys.clock import Deadline, NO_TIMEOUT_MS, monotonic_ns
from flare.sys.errno import EAGAIN
from flare.sys.poll import POLL_READ, PollEntry, poll_descriptors, wait_for
from flare.sys.process import descriptor_limit, set_descriptor_limit
from flare.sys.thread import Task, Thread
from flare.tcp.stream import KeepAlive, TcpListener, TcpStream
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.loopback import (
    PATIENCE_MS,
    RefusingPort,
    SilentPort,
    TcpPair,
)


def _read(mut stream: TcpStream) raises -> String:
    var room = Array[UInt8, 64](fill=0)
    var count = stream.read(Span(room))
    return String(from_utf8=Span(room)[0:count])


def _read_failure(mut stream: TcpStream) raises -> NetworkError:
    var room = Array[UInt8, 64](fill=0)
    try:
        _ = stream.read(Span(room))
    except error:
        return error.copy()
    raise Error("the read did not fail")


def _write_failure(mut stream: TcpStream) raises -> NetworkError:
    """Writes more than all buffers hold together."""
    var octets = List[UInt8](length=32_000_000, fill=65)
    try:
        stream.write_all(octets)
    except error:
        return error.copy()
    raise Error("the write did not fail")


def test_stream_by_host_name() raises:
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var port = listener.local_addr().port
    var client = TcpStream.connect("localhost", port)
    var server = listener.accept(PATIENCE_MS)
    assert_equal(client.write("Hello\n".as_bytes()), 6)
    var buffer = List[UInt8](length=64, fill=0)
    assert_equal(server.read(buffer.unsafe_ptr(), len(buffer)), 6)
    assert_equal(buffer[0], 72)
    assert_equal(server.read(buffer.unsafe_ptr(), 0), 0)
    assert_equal(server.read(buffer.unsafe_ptr(), -1), 0)
    assert_true(client.peer_addr() == server.local_addr())
    assert_true(server.peer_addr() == client.local_addr())
    assert_true(client.is_open() and client.fd() >= 0)
    client.close()
    client.close()
    assert_false(client.is_open())
    assert_equal(client.fd(), -1)


def test_stream_by_address_of_either_family() raises:
    for text in ["127.0.0.1", "::1"]:
        var own = SocketAddr.parse("[::1]:0")
        if text == "127.0.0.1":
            own = SocketAddr.localhost(0)
        var listener: TcpListener
        try:
            listener = TcpListener.bind(own)
        except:
            # A container may have no IPv6.
            continue
        var port = listener.local_addr().port
        var client = TcpStream.connect(text, port, PATIENCE_MS)
        var server = listener.accept(PATIENCE_MS)
        server.write_all("hi".as_bytes())
        assert_equal(_read(client), "hi")


def test_stream_half_close_still_answers() raises:
    var pair = TcpPair()
    pair.client.write_all("question".as_bytes())
    pair.client.shutdown(Shutdown.WRITE)
    assert_equal(_read(pair.server), "question")
    assert_equal(_read(pair.server), "")
    pair.server.write_all("answer".as_bytes())
    assert_equal(_read(pair.client), "answer")
    var error = _write_failure(pair.client)
    assert_true(error.kind == BrokenPipe)
    # The other direction, and both at once.
    pair.client.shutdown(Shutdown.READ)
    assert_equal(_read(pair.client), "")
    pair.server.shutdown(Shutdown.BOTH)
    pair.client.close()
    pair.server.shutdown()


def test_stream_is_a_stream_for_buffers() raises:
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var client = TcpStream.connect(listener.local_addr())
    var writer = BufWriter(client^)
    writer.write_all("one\r\ntwo".as_bytes())
    var stream = writer^.finish()
    stream.shutdown()
    var reader = BufReader(listener.accept(PATIENCE_MS))
    assert_equal(reader.read_line().value(), "one")
    assert_equal(reader.read_line().value(), "two")
    assert_false(reader.read_line().__bool__())
    _ = stream^


@fieldwise_init
struct _Resetting(Task):
    """Waits for an octet, then resets the connection."""

    var socket: RawSocket

    def run(mut self) raises:
        var deadline = Deadline(PATIENCE_MS)
        _ = wait_for(self.socket.fd(), POLL_READ, deadline)
        var room = Array[UInt8, 8](fill=0)
        _ = self.socket.receive(Span(room))
        self.socket.reset_on_close()
        self.socket.close()


def test_stream_reset_in_the_middle_of_a_read() raises:
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var client = TcpStream.connect(listener.local_addr())
    var server = listener.accept(PATIENCE_MS)
    var thread = Thread(_Resetting(server^.take_socket()))
    client.write_all("x".as_bytes())
    var error = _read_failure(client)
    thread^.join()
    assert_true(error.kind == ConnectionReset)
    assert_true(String(listener.local_addr()) in String(error))
    assert_true(_write_failure(client).kind == BrokenPipe)
    # A peer that is gone is no error when the own direction ends.
    client.shutdown()


def test_stream_read_ends_at_its_timeout() raises:
    var pair = TcpPair()
    for timeout_ms in [0, 30]:
        pair.client.set_read_timeout(timeout_ms)
        var error = _read_failure(pair.client)
        assert_true(error.kind == Timeout)
        assert_equal(
            String(error),
            String(
                "read ",
                pair.client.peer_addr(),
                ": nothing within ",
                timeout_ms,
                " ms; allow more time, or give the peer up",
            ),
        )
    # A timeout costs nothing but time: the stream still works.
    pair.client.set_read_timeout(PATIENCE_MS)
    pair.server.write_all("late".as_bytes())
    assert_equal(_read(pair.client), "late")


def test_stream_write_ends_at_its_timeout() raises:
    var pair = TcpPair()
    pair.client.set_write_timeout(50)
    var start = monotonic_ns()
    assert_true(_write_failure(pair.client).kind == Timeout)
    assert_true(monotonic_ns() - start < PATIENCE_MS * 1_000_000)
    _ = pair^


@fieldwise_init
struct _Dripping(Task):
    """Takes a little every few milliseconds until the connection is reset."""

    var socket: RawSocket

    def run(mut self) raises:
        var room = List[UInt8](length=65_536, fill=0)
        var nothing = List[PollEntry]()
        while True:
            var count = self.socket.receive(room)
            if count == 0 or (count < 0 and count != -EAGAIN):
                return
            # The pace of a slow peer, not a wait for something.
            _ = poll_descriptors(nothing, 2)


def test_stream_write_all_has_one_deadline_for_everything() raises:
    # The peer takes some all the time: a timeout that started anew with each
    # piece would not come before all is written.
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var client = TcpStream.connect(listener.local_addr())
    var server = listener.accept(PATIENCE_MS).take_socket()
    var thread = Thread(_Dripping(server^))
    client.set_write_timeout(200)
    var start = monotonic_ns()
    var error = _write_failure(client)
    var end = monotonic_ns()
    var socket = client^.take_socket()
    socket.reset_on_close()
    socket.close()
    thread^.join()
    assert_true(error.kind == Timeout)
    assert_true(end - start < PATIENCE_MS * 1_000_000)


def test_stream_connect_failures_are_told_apart() raises:
    var refusing = RefusingPort()
    var silent = SilentPort()
    var refused = _connect_failure("127.0.0.1", refusing.address().port)
    assert_true(refused.kind == ConnectionRefused)
    assert_equal(refused.address, String(refusing.address()))
    var late = _connect_failure("127.0.0.1", silent.address().port)
    assert_true(late.kind == ConnectionTimeout)
    assert_equal(late.address, String(silent.address()))
    var named = _connect_failure("localhost", refusing.address().port)
    assert_true(named.kind == ConnectionRefused)
    assert_true("localhost:" in named.address)
    assert_true("127.0.0.1:" in named.address)
    var no_name = _connect_failure("local@host", 1)
    assert_true(no_name.kind == DnsError)
    assert_true(no_name.detail == NameRefused)
    _ = refusing^
    _ = silent^


def _connect_failure(host: StringSpan, port: UInt16) raises -> NetworkError:
    try:
        _ = TcpStream.connect(host, port, 200)
    except error:
        return error.copy()
    raise Error("connected to ", host, ":", port)


def test_stream_options() raises:
    var pair = TcpPair()
    assert_true(pair.client.nodelay() and pair.server.nodelay())
    pair.client.set_nodelay(False)
    assert_false(pair.client.nodelay())
    assert_false(pair.client.keepalive())
    pair.client.set_keepalive(KeepAlive.ON)
    assert_true(pair.client.keepalive())
    pair.client.set_keepalive(KeepAlive(7, 8, 9))
    assert_true(pair.client.keepalive())
    pair.client.set_keepalive(KeepAlive.OFF)
    assert_false(pair.client.keepalive())
    var is_refused = False
    try:
        pair.client.set_keepalive(KeepAlive(-1, 8, 9))
    except:
        is_refused = True
    assert_true(is_refused)


def test_stream_that_is_closed_says_so() raises:
    var pair = TcpPair()
    pair.client.close()
    pair.client.set_read_timeout(NO_TIMEOUT_MS)
    var error = _read_failure(pair.client)
    assert_true(error.kind == NotConnected)
    assert_true("closed already" in String(error))
    assert_true(_write_failure(pair.client).kind == NotConnected)
    assert_equal(pair.client.fd(), -1)
    var is_refused = False
    try:
        pair.client.shutdown()
    except shutdown_error:
        is_refused = shutdown_error.kind == NotConnected
    assert_true(is_refused)


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

"""Tests of TLS over real connections on the loopback."""

from flare.io.buffered import BufReader
from flare.net.error import ConnectionRefused, Timeout
from flare.net.socket_addr import SocketAddr
from flare.sys.thread import Task, Thread
from flare.tcp.stream import TcpListener, TcpStream
from flare.tls.config import TlsConfig, TlsServerConfig
from flare.tls.context import TlsClientContext, TlsServerContext
from flare.tls.error import TlsError
from flare.tls.stream import TlsStream, TlsTransport
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.certificates import certificate
from tests.support.tls_pair import TlsPair

comptime WAIT_MS = 10_000


def _server_context() raises -> TlsServerContext:
    var config = TlsServerConfig(
        certificate("good_chain.pem"), certificate("good.key")
    )
    config.handshake_timeout_ms = WAIT_MS
    return TlsServerContext(config^)


def _client_context() raises -> TlsClientContext:
    return TlsClientContext(TlsConfig(ca_file=certificate("root.pem")))


@fieldwise_init
struct _Server(Task):
    """Serves some connections: a line says what is wanted."""

    var listener: TcpListener
    var context: TlsServerContext
    var count: Int

    def run(mut self) raises:
        for _ in range(self.count):
            self._serve(self.listener.accept(WAIT_MS))

    def _serve(self, var tcp: TcpStream) raises:
        try:
            var stream = TlsStream.accept(tcp^, self.context)
            _answer(stream)
        except error:
            # The client's test looks at what it got.
            return


def _answer(mut stream: TlsStream) raises TlsError:
    var room = List[UInt8](length=40_000, fill=0)
    while True:
        var count = stream.read(Span(room))
        if count == 0:
            stream.close()
            return
        if room[0] == 33:  # !
            # Cut off: the stream ends without `close`.
            return
        if room[0] == 63:  # ?
            # Silence until the client gives up.
            continue
        stream.write_all(Span(room)[0:count])


struct _Started(Movable):
    var thread: Thread
    var port: UInt16

    def __init__(out self, count: Int) raises:
        var listener = TcpListener.bind(SocketAddr.localhost(0))
        self.port = listener.local_addr().port
        self.thread = Thread(_Server(listener^, _server_context(), count))

    def join(deinit self):
        self.thread^.join()


def _read_text(mut stream: TlsStream, length: Int) raises -> String:
    var text = List[UInt8]()
    var room = List[UInt8](length=5_000, fill=0)
    while len(text) < length:
        var count = stream.read(Span(room))
        if count == 0:
            break
        text.extend(Span(room)[0:count])
    return String(from_utf8_lossy=text)


def test_stream_by_name_and_address() raises:
    var started = _Started(2)
    for host in ["localhost", "127.0.0.1"]:
        var stream = TlsStream.connect(
            host,
            started.port,
            TlsConfig(ca_file=certificate("root.pem")),
            timeout_ms=WAIT_MS,
        )
        assert_equal(stream.write("hello".as_bytes()), 5)
        assert_equal(_read_text(stream, 5), "hello")
        assert_equal(stream.session().version(), "TLSv1.3")
        assert_equal(stream.peer_addr().port, started.port)
        assert_true(stream.fd() >= 0 and stream.is_open())
        var large = String("0123456789") * 3_000
        stream.write_all(large.as_bytes())
        assert_true(_read_text(stream, large.byte_length()) == large)
        stream.close()
        stream.close()
        assert_false(stream.is_open())
    started^.join()


def test_stream_resumes() raises:
    var started = _Started(3)
    var context = _client_context()
    var resumed = String()
    for _ in range(3):
        var stream = TlsStream.connect(
            "localhost", started.port, context, timeout_ms=WAIT_MS
        )
        resumed.write(stream.session().is_resumed(), " ")
        stream.write_all("x".as_bytes())
        assert_equal(_read_text(stream, 1), "x")
        stream.close()
    assert_equal(resumed, "False True True ")
    started^.join()


def test_stream_is_readable() raises:
    var started = _Started(1)
    var stream = TlsStream.connect(
        "localhost", started.port, _client_context(), timeout_ms=WAIT_MS
    )
    stream.write_all("one\r\ntwo\n".as_bytes())
    var reader = BufReader(stream^)
    assert_equal(reader.read_line().value(), "one")
    assert_equal(reader.read_line().value(), "two")
    _ = reader^
    started^.join()


def test_stream_reads_to_a_place_in_memory() raises:
    var started = _Started(1)
    var stream = TlsStream.connect(
        "localhost", started.port, _client_context(), timeout_ms=WAIT_MS
    )
    stream.write_all("abc".as_bytes())
    var room = List[UInt8](length=8, fill=0)
    assert_equal(stream.read(room.unsafe_ptr(), len(room)), 3)
    assert_equal(room[2], 99)
    assert_equal(stream.read(room.unsafe_ptr(), 0), 0)
    stream.close()
    started^.join()


def _read_error(mut stream: TlsStream) -> Optional[TlsError]:
    var room = List[UInt8](length=8, fill=0)
    try:
        _ = stream.read(Span(room))
        return None
    except error:
        return error^


def test_stream_cut_off_is_no_end() raises:
    var started = _Started(1)
    var stream = TlsStream.connect(
        "localhost", started.port, _client_context(), timeout_ms=WAIT_MS
    )
    stream.write_all("!".as_bytes())
    var error = _read_error(stream)
    assert_equal(String(error.value().kind), "ClosedEarly")
    started^.join()


def test_stream_read_has_a_deadline() raises:
    var started = _Started(1)
    var stream = TlsStream.connect(
        "localhost", started.port, _client_context(), timeout_ms=WAIT_MS
    )
    stream.write_all("?".as_bytes())
    stream.set_read_timeout(50)
    var error = _read_error(stream)
    assert_equal(String(error.value().kind), "ConnectionFailed")
    assert_true(error.value().network.value().kind == Timeout)
    assert_true("localhost" in String(error.value()))
    # The connection is whole: a later read may well succeed.
    stream.write_all("now".as_bytes())
    stream.set_read_timeout(WAIT_MS)
    assert_equal(_read_text(stream, 3), "now")
    stream.close()
    started^.join()


def _connect_error(port: UInt16, timeout_ms: Int) raises -> TlsError:
    var context = _client_context()
    try:
        _ = TlsStream.connect("localhost", port, context, timeout_ms)
    except error:
        return error^
    raise Error("it connected")


def test_stream_keeps_answers_that_do_not_fit() raises:
    """RFC 8446 section 5.3: records are counted, so behind one that was dropped
    the peer can read none. A read that has an answer to send, as to KeyUpdate,
    leaves it for later when the connection is full."""
    var pair = TlsPair(
        _client_context().session("localhost"), _server_context().session()
    )
    assert_equal(pair.shake_hands(), "ok")
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var tcp = TcpStream.connect(listener.local_addr(), WAIT_MS)
    var served = listener.accept(WAIT_MS)
    var answers = List[UInt8](length=1 << 17, fill=0)
    tcp.set_write_timeout(0)
    var kind = String()
    while kind.byte_length() == 0:
        try:
            _ = tcp.write(answers)
        except error:
            kind = String(error.kind)
    assert_equal(kind, "Timeout")
    var transport = TlsTransport(tcp^, pair^.take_client(), "the server")
    transport.channel.output.append(answers)
    var room = List[UInt8](length=1_024, fill=0)
    _ = transport.read(Span(room))
    assert_true(len(transport.channel.output) > 0)
    _ = served^


def test_stream_to_nobody() raises:
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var port = listener.local_addr().port
    listener.close()
    var error = _connect_error(port, WAIT_MS)
    assert_equal(String(error.kind), "ConnectionFailed")
    assert_true(error.network.value().kind == ConnectionRefused)


def test_stream_handshakes_have_a_deadline() raises:
    # The kernel takes the connection; nobody answers it.
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var error = _connect_error(listener.local_addr().port, 100)
    assert_equal(String(error.kind), "HandshakeTimeout")
    assert_true("localhost" in String(error) and "100 ms" in String(error))
    _ = listener^


def test_stream_silent_client() raises:
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var client = TcpStream.connect(listener.local_addr(), WAIT_MS)
    var config = TlsServerConfig(
        certificate("good_chain.pem"), certificate("good.key")
    )
    config.handshake_timeout_ms = 50
    var context = TlsServerContext(config^)
    var kind = String()
    var accepted = listener.accept(WAIT_MS)
    try:
        _ = TlsStream.accept(accepted^, context)
    except error:
        kind = String(error)
    assert_true("handshake within 50 ms" in kind, kind)
    client.close()


def test_stream_over_a_connection_that_is_there() raises:
    var started = _Started(1)
    var tcp = TcpStream.connect(SocketAddr.localhost(started.port), WAIT_MS)
    var stream = TlsStream.over(
        tcp^, "good.test", _client_context(), timeout_ms=WAIT_MS
    )
    stream.write_all("x".as_bytes())
    assert_equal(_read_text(stream, 1), "x")
    stream.close()
    started^.join()

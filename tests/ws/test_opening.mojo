"""What a client is told whose handshake is refused, and how messages end."""

from flare.net.socket_addr import SocketAddr
from flare.sys.thread import Task, Thread
from flare.tcp.stream import TcpListener, TcpStream
from flare.ws.client import WsClient
from flare.ws.config import WsClientConfig
from flare.ws.error import REFUSAL_CONTENT_LEN_MAX, WsError, WsProtocolBroken
from tests.support.assertions import assert_equal, assert_true
from tests.support.loopback import PATIENCE_MS


@fieldwise_init
struct _Answer(Task):
    """Reads a request's head, answers, and ends its direction."""

    var _stream: TcpStream
    var _octets: String

    def run(mut self) raises:
        var head = String()
        var piece = List[UInt8](length=1, fill=0)
        while not head.endswith("\r\n\r\n"):
            if self._stream.read(piece) == 0:
                return
            head += chr(Int(piece[0]))
        self._stream.write_all(self._octets.as_bytes())
        self._stream.shutdown()
        while self._stream.read(piece) > 0:
            pass


def _refusal(var response: String) raises -> WsError:
    """What a client is told whose handshake is answered so."""
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var url = String("ws://", listener.local_addr(), "/")
    var found = WsError(materialize[WsProtocolBroken](), "it was let in")
    var server = Thread(_Connected(listener^, response^))
    try:
        _ = WsClient.connect(url)
    except error:
        found = error.copy()
    server^.join()
    return found^


@fieldwise_init
struct _Connected(Task):
    """Lets one in, and answers it."""

    var _listener: TcpListener
    var _octets: String

    def run(mut self) raises:
        var answer = _Answer(self._listener.accept(PATIENCE_MS), self._octets)
        answer.run()


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var response: String
    var status: Int
    var field: String
    var value: String
    var content: String


def test_a_refusal_is_told_whole() raises:
    var long = String("x") * (REFUSAL_CONTENT_LEN_MAX + 5)
    var rows: List[_Row] = [
        _Row(
            "RFC 9110 11.6.1: how to log in",
            "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer\r\n"
            "Content-Length: 5\r\n\r\nlogin",
            401,
            "www-authenticate",
            "Bearer",
            "login",
        ),
        _Row(
            "RFC 6585 4: when to come back; RFC 9112 7.1: chunked",
            "HTTP/1.1 429 Too Many\r\nRetry-After: 7\r\n"
            "Transfer-Encoding: chunked\r\n\r\n3\r\nslo\r\n1\r\nw\r\n0\r\n\r\n",
            429,
            "retry-after",
            "7",
            "slow",
        ),
        _Row(
            "RFC 9112 6.3: content until the connection ends",
            "HTTP/1.1 503 Busy\r\nRetry-After: 1\r\n\r\nbusy",
            503,
            "retry-after",
            "1",
            "busy",
        ),
        _Row(
            "no more than is kept, however long it says to be",
            "HTTP/1.1 403 No\r\nX-Why: x\r\nContent-Length: 99999999999\r\n\r\n"
            + long,
            403,
            "x-why",
            "x",
            String("x") * REFUSAL_CONTENT_LEN_MAX,
        ),
        _Row(
            "RFC 9112 6.3: less than was announced is told, too",
            "HTTP/1.1 400 Bad\r\nX-Why: y\r\nContent-Length: 9\r\n\r\nhalf",
            400,
            "x-why",
            "y",
            "half",
        ),
    ]
    for row in rows:
        var error = _refusal(row.response)
        assert_equal(String(error.kind), "WsRefused", row.rule)
        assert_equal(error.status, row.status, row.rule)
        assert_equal(error.headers[row.field], row.value, row.rule)
        assert_equal(String(from_utf8=error.body), row.content, row.rule)


def test_time_that_is_over_is_said_to_be_the_settings_of_this_client() raises:
    """What to do is to be something that the program can do."""
    # The kernel takes the connection, and nobody ever says anything.
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var config = WsClientConfig()
    config.connect_timeout_ms = 100
    var url = String("wss://", listener.local_addr(), "/")
    var text = String()
    try:
        _ = WsClient.connect(url, config^)
    except error:
        text = String(error)
    assert_true("tls: nothing within 100 ms" in text, text)
    assert_true("; connect_timeout_ms allows more" in text, text)
    _ = listener^

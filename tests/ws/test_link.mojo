"""The times of a client whose server has always more to say."""

from flare.bytes.buffer import Buffer
from flare.http.client.connect.connection import ClientConnection, Endpoint
from flare.http.client.connect.transport import Transport
from flare.http.message.header_map import HeaderMap
from flare.net.socket_addr import SocketAddr
from flare.sys.thread import Task, Thread
from flare.tcp.stream import TcpListener, TcpStream
from flare.ws.client import WsClient
from flare.ws.config import WsClientConfig
from flare.ws.core.error import CloseCode
from flare.ws.core.handshake import WsAgreement
from flare.ws.core.receiver import WsProgress
from flare.ws.error import WsClosed
from flare.ws.link import WsLink
from flare.ws.opening import Opened
from flare.ws.wire import SocketWire, Wire
from std.memory import OwnedPointer
from tests.support.assertions import (
    assert_equal,
    assert_false,
    assert_raises,
    assert_true,
)
from tests.support.loopback import PATIENCE_MS


@fieldwise_init
struct _Flood(Task):
    """Sends pongs, which nobody has asked for (RFC 6455 section 5.5.3), until
    nobody takes them."""

    var _stream: TcpStream

    def run(mut self) raises:
        var pongs = List[UInt8]()
        for _ in range(32_768):
            pongs.append(0x8A)
            pongs.append(0)
        try:
            while True:
                self._stream.write_all(pongs)
        except:
            # The client has gone.
            return


def _opened(listener: TcpListener) raises -> Opened:
    """Takes a connection to a listener for one behind its handshake."""
    var stream = TcpStream.connect(listener.local_addr(), PATIENCE_MS)
    var connection = OwnedPointer(
        ClientConnection(
            Transport(stream^.take_socket()), Endpoint("localhost", 80)
        )
    )
    return Opened(
        Wire(SocketWire(connection^)),
        Buffer(),
        WsAgreement(String(), None),
        HeaderMap(),
    )


def _linked(listener: TcpListener, var config: WsClientConfig) raises -> WsLink:
    return WsLink(_opened(listener), config^, String("ws://localhost/"))


@fieldwise_init
struct _EndRow(Copyable, Movable):
    var rule: StaticString
    var frame: List[UInt8]
    var is_good: Bool


def test_messages_end_with_the_connection() raises:
    """`next_message`: None behind an end in good order, however often it is
    asked; any other end is an error."""
    var rows: List[_EndRow] = [
        _EndRow("RFC 6455 7.4.1: 1000", [0x88, 2, 0x03, 0xE8], True),
        _EndRow("RFC 6455 7.4.1: 1001", [0x88, 2, 0x03, 0xE9], True),
        _EndRow("RFC 6455 7.1.5: no code", [0x88, 0], True),
        _EndRow("RFC 6455 7.4.1: 1011", [0x88, 2, 0x03, 0xF3], False),
        _EndRow("RFC 6455 7.1.5: no close frame", [], False),
    ]
    for row in rows:
        var listener = TcpListener.bind(SocketAddr.localhost(0))
        var config = WsClientConfig()
        config.close_timeout_ms = 200
        var client = WsClient(
            _opened(listener), config^, String("ws://localhost/")
        )
        var server = listener.accept(PATIENCE_MS)
        var octets: List[UInt8] = [0x81, 2, 0x68, 0x69]
        octets.extend(Span(row.frame))
        server.write_all(octets)
        server.shutdown()
        var message = client.next_message()
        assert_equal(message.value().as_text(), "hi", row.rule)
        for _ in range(2):
            if row.is_good:
                assert_false(Bool(client.next_message()), row.rule)
            else:
                with assert_raises(contains="WsClosed"):
                    _ = client.next_message()


def test_a_message_is_waited_for_no_longer_than_its_time() raises:
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var config = WsClientConfig()
    config.read_timeout_ms = 200
    config.close_timeout_ms = 200
    var link = _linked(listener, config^)
    var flood = Thread(_Flood(listener.accept(PATIENCE_MS)))
    var kind = materialize[WsClosed]()
    try:
        _ = link.await_progress(by_frame=False)
    except error:
        kind = error.kind
    assert_equal(String(kind), "Timeout")
    assert_true(link.is_connected())
    # Who wants each frame gets it.
    assert_true(link.await_progress(by_frame=True) == WsProgress.PONG)
    _ = link^
    flood^.join()


def test_a_close_frame_is_waited_for_no_longer_than_its_time() raises:
    var listener = TcpListener.bind(SocketAddr.localhost(0))
    var config = WsClientConfig()
    config.close_timeout_ms = 200
    var link = _linked(listener, config^)
    var flood = Thread(_Flood(listener.accept(PATIENCE_MS)))
    link.close_here(CloseCode.NORMAL)
    assert_false(link.is_connected())
    assert_true(link.close_code == CloseCode.ABNORMAL)
    _ = link^
    flood^.join()

"""TLS on a socket whose calls never wait."""

from flare.bytes.buffer import Buffer
from flare.http.client.connect.transport import TlsLayer
from flare.net.raw_socket import RawSocket
from flare.net.socket_addr import SocketAddr
from flare.sys.descriptor import make_blocking
from flare.sys.errno import EAGAIN
from flare.sys.sockets.socket_option import SocketOption
from flare.sys.thread import Task, Thread
from flare.tcp.stream import TcpListener
from flare.tls.config import TlsConfig, TlsServerConfig
from flare.tls.context import TlsClientContext, TlsServerContext
from flare.tls.pump import PLAINTEXT_LEN_MAX
from flare.tls.session import TlsSession
from tests.support.assertions import assert_equal, assert_true
from tests.support.certificates import certificate
from tests.support.datagrams import DATAGRAM_COUNT_MAX, DatagramPair
from tests.support.tls_pair import TlsPair

comptime WAIT_MS = 10_000
comptime BUFFER_LEN = 4_096
"""So small that most of what is sent does not fit into the kernel."""


comptime _CONTENT_LEN = 12_000
"""A record with tickets before it, which a client has room for at once."""


def _client() raises -> TlsClientContext:
    return TlsClientContext(TlsConfig(ca_file=certificate("root.pem")))


def _server() raises -> TlsServerContext:
    return TlsServerContext(
        TlsServerConfig(certificate("good_chain.pem"), certificate("good.key"))
    )


def _established() raises -> TlsSession:
    """Makes a client's session that needs no peer any more to write."""
    var client = _client()
    var server = _server()
    var pair = TlsPair(client.session("localhost"), server.session())
    assert_equal(pair.shake_hands(), "ok")
    return pair^.take_client()


@fieldwise_init
struct _Resetting(Task):
    """Waits for the first octets, and resets the connection."""

    var listener: TcpListener

    def run(mut self) raises:
        var stream = self.listener.accept(WAIT_MS)
        var octet = List[UInt8](length=1, fill=0)
        stream.set_read_timeout(WAIT_MS)
        _ = stream.read(Span(octet))
        # With octets unread the kernel sends a reset.
        stream.close()


def test_a_process_says_no_goodbye_for_another_one() raises:
    """RFC 8446 section 6.1: behind close_notify the server takes nothing more of
    the session, with which the other process goes on."""
    for is_forked in [False, True]:
        var listener = TcpListener.bind(SocketAddr.localhost(0))
        var socket = RawSocket.tcp()
        _ = socket.connect(listener.local_addr())
        var served = listener.accept(WAIT_MS)
        var layer = TlsLayer(_established())
        if is_forked:
            # As a process sees it that was forked from one with that number.
            layer._process = 1
        layer.say_goodbye(socket)
        socket.close()
        var room = List[UInt8](length=1_024, fill=0)
        assert_equal(served.read(room) > 0, not is_forked)


def test_octets_that_have_left_are_told_before_an_error() raises:
    """RFC 9110 section 9.2.2: what may have been received is not repeated."""
    var accepting = RawSocket.listen_tcp(SocketAddr.localhost(0))
    accepting.set_option(SocketOption.RECEIVE_BUFFER, BUFFER_LEN)
    var address = accepting.local_addr()
    var thread = Thread(_Resetting(TcpListener(accepting^)))
    var socket = RawSocket.tcp()
    socket.set_option(SocketOption.SEND_BUFFER, BUFFER_LEN)
    # So a call goes on until the reset interrupts it, with a part sent.
    make_blocking(socket.fd())
    assert_true(socket.connect(address))
    var layer = TlsLayer(_established())
    var octets = List[UInt8](length=PLAINTEXT_LEN_MAX, fill=120)
    assert_equal(layer.send(socket, Span(octets)), len(octets))
    assert_true(len(layer.channel.output) > 0)
    # Now nothing leaves, and nothing is taken.
    var unsent = layer.send(socket, Span(octets))
    assert_true(unsent < 0, String(unsent))
    thread^.join()


struct _Peer(Movable):
    """A TLS server whose client finds what it sends in pieces: each read gives
    one, as many as there are."""

    var near: RawSocket
    """The client's end."""
    var _far: RawSocket
    var _session: TlsSession
    var _output: Buffer

    def __init__(out self) raises:
        var pair = DatagramPair()
        self.near = pair.take_near()
        self._far = pair.take_far()
        self._session = _server().session()
        self._output = Buffer()

    def hear(mut self) raises:
        """Goes on with the handshake by what the client has sent."""
        var room = Buffer()
        room.reserve(PLAINTEXT_LEN_MAX)
        var count = self._far.receive(room.spare())
        assert_true(count > 0, String(count))
        room.commit(count)
        _ = self._session.advance(room, self._output)

    def say(mut self, octets: List[UInt8]) raises:
        """Encrypts octets."""
        self._session.write(Span(octets), self._output)

    def send(mut self, piece_count: Int) raises:
        """Sends all there is in so many pieces of about one length."""
        for left in range(piece_count, 0, -1):
            var length = (len(self._output) + left - 1) // left
            var piece = self._output.span()[0:length]
            assert_equal(self._far.send(piece), length)
            self._output.consume(length)


def test_what_has_come_is_looked_at_before_anybody_waits() raises:
    """RFC 8446 section 5.1: records come in pieces of any length. A socket that is
    empty is not readable again because the last piece lies here, unread."""
    var octets = List[UInt8](length=_CONTENT_LEN, fill=120)
    for piece_count in range(1, DATAGRAM_COUNT_MAX + 1):
        var peer = _Peer()
        var layer = TlsLayer(_client().session("localhost"))
        assert_equal(layer.shake_hands(peer.near), -EAGAIN)
        peer.hear()
        peer.send(piece_count)
        assert_equal(layer.shake_hands(peer.near), 0, String(piece_count))
        # With its tickets, which are no plaintext.
        peer.hear()
        peer.say(octets)
        peer.send(piece_count)
        var room = List[UInt8](length=_CONTENT_LEN, fill=0)
        assert_equal(
            layer.receive(peer.near, Span(room)),
            len(octets),
            String(piece_count),
        )
        assert_equal(layer.receive(peer.near, Span(room)), -EAGAIN)

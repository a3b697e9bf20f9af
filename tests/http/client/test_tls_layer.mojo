"""TLS on a socket whose calls never wait."""

from flare.http.client.connect.transport import TlsLayer
from flare.net.raw_socket import RawSocket
from flare.net.socket_addr import SocketAddr
from flare.sys.descriptor import make_blocking
from flare.sys.sockets.socket_option import SocketOption
from flare.sys.thread import Task, Thread
from flare.tcp.stream import TcpListener
from flare.tls.config import TlsConfig, TlsServerConfig
from flare.tls.context import TlsClientContext, TlsServerContext
from flare.tls.pump import PLAINTEXT_LEN_MAX
from flare.tls.session import TlsSession
from tests.support.assertions import assert_equal, assert_true
from tests.support.certificates import certificate
from tests.support.tls_pair import TlsPair

comptime WAIT_MS = 10_000
comptime BUFFER_LEN = 4_096
"""So small that most of what is sent does not fit into the kernel."""


def _established() raises -> TlsSession:
    """Makes a client's session that needs no peer any more to write."""
    var client = TlsClientContext(TlsConfig(ca_file=certificate("root.pem")))
    var server = TlsServerContext(
        TlsServerConfig(certificate("good_chain.pem"), certificate("good.key"))
    )
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

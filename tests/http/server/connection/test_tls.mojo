"""TLS of a connection whose client is behind."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.http.handler.handler import FnHandler
from flare.http.message.request import Request
from flare.http.message.response import Response, ok
from flare.http.server.config import ServerConfig
from flare.net.raw_socket import RawSocket
from flare.sys.errno import EAGAIN
from flare.tls.config import TlsConfig, TlsServerConfig
from flare.tls.context import TlsClientContext, TlsServerContext
from flare.tls.session import TlsSession
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.certificates import certificate
from tests.support.datagrams import DatagramPair
from tests.support.served_connection import Ends, ServedConnection

comptime _ASKS = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def _answer(req: Request) raises -> Response:
    return ok("it")


struct _Client(Movable):
    """A client of TLS that takes one piece at a time from its socket."""

    var session: TlsSession
    var _output: Buffer

    def __init__(out self) raises:
        var context = TlsClientContext(
            TlsConfig(ca_file=certificate("root.pem"))
        )
        self.session = context.session("localhost")
        self._output = Buffer()
        self._go_on(Buffer())

    def _go_on(mut self, var input: Buffer) raises:
        _ = self.session.advance(input, self._output)

    def say(mut self, octets: StringSpan) raises:
        self.session.write(octets.as_bytes(), self._output)

    def send(mut self, mut socket: RawSocket) raises:
        """Sends all there is."""
        assert_equal(socket.send(self._output.span()), len(self._output))
        self._output.clear()

    def shake_hands(mut self, mut socket: RawSocket) raises:
        """Goes on by all that has come."""
        while True:
            var piece = Buffer()
            piece.reserve(1 << 16)
            var count = socket.receive(piece.spare())
            if count == -EAGAIN:
                return
            piece.commit(count)
            self._go_on(piece^)

    def hear(mut self, mut socket: RawSocket) raises -> String:
        """Reads all that has come but for pieces of one octet, which are none of
        TLS."""
        var heard = String()
        while True:
            var piece = Buffer()
            piece.reserve(1 << 16)
            var count = socket.receive(piece.spare())
            if count == -EAGAIN:
                return heard
            if count == 1:
                continue
            piece.commit(count)
            var room = List[UInt8](length=1 << 14, fill=0)
            var length = self.session.read(piece, self._output, Span(room))
            heard += String(from_utf8=Span(room).before(length))


def _fill_but_one(mut full: RawSocket, mut reader: RawSocket) raises:
    """Leaves room for one piece."""
    var octet = List[UInt8](length=1, fill=0)
    var count = 1
    while count == 1:
        count = full.send(Span(octet))
    assert_equal(count, -EAGAIN)
    assert_equal(reader.receive(Span(octet)), 1)


def test_a_client_that_is_behind_hears_that_nothing_follows() raises:
    """RFC 8446 section 6.1, RFC 9112 section 9.8: without a notice, a response
    that ends with the connection may have been cut off."""
    var server = TlsServerContext(
        TlsServerConfig(certificate("good_chain.pem"), certificate("good.key"))
    )
    var pair = DatagramPair()
    var filler = pair.far.duplicate()
    var config = ServerConfig(handler_threads=0)
    config.logs_errors = False
    var served = ServedConnection(
        Ends(client=pair.take_near(), server=pair.take_far()),
        FnHandler(_answer),
        server^,
        config^,
    )
    var client = _Client()
    client.send(served.client)
    served.step()
    client.shake_hands(served.client)
    client.send(served.client)
    served.step()
    assert_equal(client.hear(served.client), "")
    client.say(_ASKS)
    client.send(served.client)
    _fill_but_one(filler, served.client)
    served.step()
    assert_true(client.hear(served.client).endswith("\r\n\r\nit"))
    assert_false(client.session.is_peer_done())
    served.step()
    _ = client.hear(served.client)
    assert_true(client.session.is_peer_done())

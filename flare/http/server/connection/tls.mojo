"""The TLS side of a connection: a pump and what waits on either side of it.

    socket -> worker's buffer -> [TlsPump] -> input of a parser
    socket <- worker's buffer <- [TlsPump] <- output of the worker

Between events a link holds no octets, as a rule: `rest` only while there was
no room for what is in them, `unsent` only while the client does not read.
"""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.http.message.request import TlsPeer
from flare.http.server.connection.sides import SpokenProtocol
from flare.net.raw_socket import RawSocket
from flare.sys.errno import EAGAIN
from flare.tls.context import TlsServerContext
from flare.tls.error import PlainHttpRequest
from flare.tls.pump import TlsPump, TlsStatus
from flare.tls.session import TlsSession
from std.memory import ArcPointer, OwnedPointer

comptime HTTP_2_PROTOCOL = "h2"
"""What HTTP/2 is called in the handshake (RFC 9113 section 3.2)."""


struct TlsLink(Movable):
    """What a connection has beside its socket if it speaks TLS."""

    var rest: Buffer
    """Octets of the client whose plaintext there was no room for."""
    var unsent: Buffer
    """Octets to the client that go before anything else."""
    var peer: ArcPointer[TlsPeer]
    """What is known of the client; handlers on other threads share it."""
    var holds_plaintext: Bool
    """True if plaintext may be had without octets from the socket."""
    var protocol: SpokenProtocol
    var breaks_off: Bool
    """True if what the client was sent last is not complete: it sees that by a
    missing notice of the end."""
    var pump: TlsPump

    def __init__(out self, var session: TlsSession):
        """Makes a link whose handshake is awaited."""
        self.rest = Buffer(0)
        self.unsent = Buffer(0)
        self.peer = ArcPointer(TlsPeer())
        self.holds_plaintext = False
        self.protocol = SpokenProtocol.UNKNOWN
        self.breaks_off = False
        self.pump = TlsPump(session^)

    def tells_why(self) -> Bool:
        """Tells whether an alert of ours, which should reach the client, says
        why the session is broken."""
        return self.pump.session.tells_why()

    def read(
        mut self, mut input: Buffer, mut output: Buffer, room: MutSpan[UInt8, _]
    ) -> Int:
        """Decrypts what has arrived into `room`; goes on with the handshake
        before. The input is used up unless the room is full, or TLS is over;
        the output gets what the session itself has to say to the client.
        Returns how many octets of plaintext; also if the pump is broken then,
        which nothing of the socket will announce again."""
        var was_established = self.pump.session.is_established()
        var step = self.pump.read(input, output, room)
        if step.status == TlsStatus.FAILED:
            if self.pump.failure.held().kind == PlainHttpRequest:
                self.protocol.note_no_tls(is_head=_is_head(input.span()))
        if not was_established and self.pump.session.is_established():
            self.peer = ArcPointer(TlsPeer(self.pump.session.peer_subject()))
            self.protocol.note_agreement(
                on_http2=self.pump.session.alpn() == HTTP_2_PROTOCOL
            )
        self.holds_plaintext = (
            step.count == len(room) and not self.pump.is_broken()
        )
        return step.count

    def send_close_notify(mut self, mut socket: RawSocket):
        """Tells the client that nothing follows, once and unless something is
        missing; what the socket does not take is in `unsent` afterwards."""
        var is_cut = self.breaks_off or len(self.unsent) > 0
        if is_cut or self.pump.is_broken():
            return
        var notice = Buffer(0)
        self.pump.send_close_notify(notice)
        if len(notice) > 0:
            var count = socket.send(notice.span())
            if count >= 0 or count == -EAGAIN:
                notice.consume(max(count, 0))
                self.unsent.append(notice.span())


struct ServerTls(Copyable):
    """What a server speaks TLS with. Whoever makes one brings along what its
    connections call, so that other programs have nothing of it in their build.
    """

    var context: TlsServerContext
    """Certificates and rules; all workers share them."""
    var _begin: def(TlsServerContext) raises thin -> OwnedPointer[TlsLink]
    var _read: def[o: MutOrigin](
        mut TlsLink, mut Buffer, mut Buffer, MutSpan[UInt8, o]
    ) thin -> Int

    def __init__(out self, var context: TlsServerContext):
        """Names what speaks TLS, and so has it built."""
        self.context = context^
        self._begin = _begin_link
        self._read = _read_link

    def begin(self) raises -> OwnedPointer[TlsLink]:
        """Makes the link of a new connection, whose handshake is awaited.
        Raises if OpenSSL has no memory."""
        return self._begin(self.context)

    def read(
        self,
        mut link: TlsLink,
        mut input: Buffer,
        mut output: Buffer,
        room: MutSpan[UInt8, _],
    ) -> Int:
        return self._read(link, input, output, room)


def _begin_link(context: TlsServerContext) raises -> OwnedPointer[TlsLink]:
    return OwnedPointer(TlsLink(context.session()))


def _read_link[
    o: MutOrigin
](
    mut link: TlsLink,
    mut input: Buffer,
    mut output: Buffer,
    room: MutSpan[UInt8, o],
) -> Int:
    return link.read(input, output, room)


def _is_head(octets: Span[UInt8, _]) -> Bool:
    comptime START = StaticString("HEAD ")
    return (
        len(octets) >= START.byte_length()
        and octets.before(START.byte_length()) == START.as_bytes()
    )

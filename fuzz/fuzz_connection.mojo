"""Fuzzes a server's connection, plain and over TLS: whatever the client sends
and reads in whatever portions, each request is answered, whole and in order."""

from flare.http.handler.handler import FnHandler
from flare.http.server.config import ServerConfig
from flare.net.raw_socket import RawSocket
from flare.net.socket_addr import SocketAddr
from flare.tls.config import TlsConfig, TlsServerConfig
from flare.tls.context import TlsClientContext, TlsServerContext
from flare.tls.session import TlsSession
from fuzz.engine import Target, fuzz_main, length_of, octets_from_hex
from tests.support.certificates import certificate
from tests.support.client_wire import ClientWire
from tests.support.served_connection import Ends, ServedConnection, answer
from tests.support.tls_pair import ReturningClient

comptime _OPERATION_COUNT_MAX = 60
comptime _WAIT_MS = 2_000
comptime _LENGTH_MAX = 63_488
# The longest content.
comptime _SHIFT = 101
# How far the content of a request begins behind that of the one before.


struct _Client(Movable):
    """Sends requests as it is told, and keeps what comes."""

    var wire: ClientWire
    # The content that the responses must have.
    var expected: List[List[UInt8]]

    def __init__(out self, var wire: ClientWire):
        self.wire = wire^
        self.expected = []

    def ask(mut self, kind: Int, content: Span[UInt8, _]):
        """Writes a request: GET, POST, or POST in chunks."""
        var size = len(content)
        if kind == 0:
            self.wire.out.write("GET /", size, " HTTP/1.1\r\nHost: h\r\n\r\n")
            self.expected.append(List[UInt8](length=size, fill=120))
            return
        self.wire.out.write("POST / HTTP/1.1\r\nHost: h\r\n")
        if kind == 1:
            self.wire.out.write("Content-Length: ", size, "\r\n\r\n")
            self.wire.out.append(content)
        else:
            self.wire.out.write("Transfer-Encoding: chunked\r\n\r\n")
            if size > 0:
                self.wire.out.write(hex(size, prefix=""), "\r\n")
                self.wire.out.append(content)
                self.wire.out.write("\r\n")
            self.wire.out.write("0\r\n\r\n")
        self.expected.append(List[UInt8](content))

    def finish(mut self) raises:
        """Sends all that is left, reads all that comes, and compares."""
        var quiet_count = 0
        while quiet_count < 3:
            var before = (len(self.wire.out), len(self.wire.sealed))
            self.wire.seal(1 << 30)
            self.wire.send(1 << 30)
            var had = self.wire.received_len
            if not self.wire.read(1 << 20):
                raise Error("the server closed the connection")
            var has_moved = self.wire.received_len != had
            if has_moved or before != (
                len(self.wire.out),
                len(self.wire.sealed),
            ):
                quiet_count = 0
                continue
            if self._is_complete():
                return
            # The kernel may be late; the server is asked no more than by an
            # event.
            self.wire.wait(_WAIT_MS // 3)
            quiet_count += 1
        raise Error(
            "the server is silent with ",
            len(self.wire.input),
            " octets of responses to ",
            len(self.expected),
            " requests",
        )

    def _is_complete(self) raises -> Bool:
        """Compares the responses; False if more must come."""
        var octets = self.wire.input.span()
        var at = 0
        for index in range(len(self.expected)):
            ref body = self.expected[index]
            var end = _end_of_head(octets, at)
            if end < 0 or end + len(body) > len(octets):
                return False
            if octets[end : end + len(body)] != Span(body):
                raise Error("a response has other content than its request")
            at = end + len(body)
        if at != len(octets):
            raise Error("octets behind the last response")
        return True


def _end_of_head(octets: Span[UInt8, _], start: Int) -> Int:
    for index in range(start, len(octets) - 3):
        if octets[index : index + 4] == "\r\n\r\n".as_bytes():
            return index + 4
    return -1


struct ConnectionTarget(Target):
    """No octet is lost, doubled or forgotten."""

    var listener: RawSocket
    """Where clients connect."""
    var context: TlsServerContext
    """Makes servers."""
    var returning: ReturningClient
    """Makes clients."""
    var text: List[UInt8]
    """What contents are parts of, no two of them the same."""

    def __init__(out self) raises:
        """Listens and reads certificates."""
        self.listener = RawSocket.listen_tcp(SocketAddr.localhost(0))
        self.context = TlsServerContext(
            TlsServerConfig(
                certificate("good_chain.pem"), certificate("good.key")
            )
        )
        var trust = TlsConfig(ca_file=certificate("root.pem"))
        self.returning = ReturningClient(
            TlsClientContext(trust), self.context.copy()
        )
        var text = String()
        while text.byte_length() < _LENGTH_MAX + _SHIFT * _OPERATION_COUNT_MAX:
            text.write(text.byte_length(), ";")
        self.text = List[UInt8](text.as_bytes())

    def seeds(self) -> List[String]:
        """Lists scripts: a first octet says plain or TLS, how large the kernel's
        buffers are, whether TCP is between, and how hands are shaken; then pairs
        of an operation and its argument."""
        return [
            octets_from_hex("00 0001 10ff 20ff"),
            octets_from_hex("09 00ff 01ff 02ff 10ff 2005 2020 20ff 30ff"),
            octets_from_hex("02 00ff 00ff 00ff 00ff 10ff 20ff 3001 3010"),
            octets_from_hex("03 01f0 1001 2001 1002 2010 10ff 20ff 3080"),
            octets_from_hex("0b 20ff 30ff 20ff 00ff 00ff 00ff 10ff 20ff 3040"),
            octets_from_hex("01 0280 1008 2001 2001 2001 0001 10ff 2080 30ff"),
            octets_from_hex("f7 02ff 10ff 2005 00ff 3020 10ff 20ff 3001 3010"),
        ]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Follows the script, then finishes."""
        if len(input) == 0:
            return
        var tls: Optional[TlsServerContext] = None
        var session: Optional[TlsSession] = None
        if input[0] & 1 == 1:
            tls = self.context.copy()
            session = self.returning.session(
                is_new=input[0] >= 0xF0, is_older=input[0] & 8 == 8
            )
        var buffer_len = 4_096 if input[0] & 2 == 2 else 0
        var ends = Ends(buffer_len)
        if input[0] & 4 == 4:
            ends = Ends(self.listener, buffer_len)
        var client = _Client(
            ClientWire(
                ServedConnection(
                    ends^,
                    FnHandler(answer),
                    tls,
                    # A route that was slow once would go to threads, which
                    # nobody runs here: on a machine with other work, any may be.
                    ServerConfig(handler_threads=0),
                ),
                session^,
            )
        )
        var last = min(len(input), 2 * _OPERATION_COUNT_MAX)
        for index in range(1, last - 1, 2):
            var size = length_of(input[index + 1])
            var operation = (input[index] >> 4) & 3
            if operation == 0:
                var start = len(client.expected) * _SHIFT
                client.ask(
                    Int(input[index]) % 3, Span(self.text)[start : start + size]
                )
            elif operation == 1:
                client.wire.seal(size)
            elif operation == 2:
                client.wire.send(size)
            else:
                _ = client.wire.read(size + 1)
        client.finish()


def main() raises:
    """Runs the target."""
    fuzz_main("connection", ConnectionTarget())

"""Fuzzes a server's connection, plain and over TLS: whatever the client sends
and reads in whatever portions, each request is answered, whole and in order."""

from flare.http.handler.handler import FnHandler
from flare.http.server.config import ServerConfig
from flare.net.raw_socket import RawSocket
from flare.net.socket_addr import SocketAddr
from flare.tls.config import TlsConfig, TlsServerConfig
from flare.tls.context import TlsClientContext, TlsServerContext
from flare.tls.session import TlsSession
from fuzz.engine import (
    Target,
    behind,
    digest_of,
    fuzz_main,
    length_of,
    octets_from_hex,
)
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
comptime _SCRIPT_COUNT_MAX = 16
# Most scripts that are followed on one connection.
comptime _TCP_ONE_IN = 4
comptime _NEW_ONE_IN = 16
# Connections by TCP and whole handshakes, among those that ask for them.

comptime _IS_TLS = UInt8(1)
comptime _IS_SMALL = UInt8(2)
comptime _IS_TCP = UInt8(4)
comptime _IS_OLDER = UInt8(8)
comptime _IS_FRESH = UInt8(16)
comptime _IS_LONG = UInt8(32)
comptime _IS_NEW = UInt8(64)
comptime _WAY = _IS_TLS | _IS_SMALL | _IS_TCP | _IS_OLDER
# What makes connections differ.


struct _Client(Movable):
    """Sends requests as it is told, and keeps what comes."""

    var wire: ClientWire
    # The content that the responses must have.
    var expected: List[List[UInt8]]
    # How it is connected.
    var way: UInt8
    # What was followed on this connection before, all of it answered.
    var scripts: List[List[UInt8]]

    def __init__(out self, var wire: ClientWire, way: UInt8):
        self.wire = wire^
        self.expected = []
        self.way = way
        self.scripts = []

    def settle(mut self, script: Span[UInt8, _]):
        """Keeps what was followed, and begins anew."""
        self.scripts.append(List[UInt8](script))
        self.expected.clear()
        self.wire.input.clear()

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
    var idle: List[_Client]
    """Connections on which all is answered, each connected in a way of its own:
    another script may go on there, as clients do."""

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
        self.idle = []

    def seeds(self) -> List[String]:
        """Lists scripts: a first octet says plain or TLS, how large the kernel's
        buffers are, whether TCP is between, how hands are shaken, whether the
        connection is a fresh one, and whether contents are long; then pairs of
        an operation and its argument."""
        return [
            octets_from_hex("10 0001 10ff 20ff"),
            octets_from_hex("09 00ff 01ff 02ff 10ff 2005 2020 20ff 30ff"),
            octets_from_hex("02 00ff 00ff 00ff 00ff 10ff 20ff 3001 3010"),
            octets_from_hex("03 01f0 1001 2001 1002 2010 10ff 20ff 3080"),
            octets_from_hex("29 20ff 30ff 20ff 00ff 00ff 00ff 10ff 20ff 3040"),
            octets_from_hex("19 0280 1008 2001 2001 2001 0001 10ff 2080 30ff"),
            octets_from_hex("5f 02ff 10ff 2005 00ff 3020 10ff 20ff 3001 3010"),
            octets_from_hex("00 00ff 10ff 2005 02f0 3020 10ff 20ff 00f0 3001"),
            octets_from_hex("20 01ff 10ff 2005 00ff 3020 10ff 20ff 3001 3010"),
        ]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Follows the script, then finishes."""
        if len(input) == 0:
            return
        var script = input[: min(len(input), 2 * _OPERATION_COUNT_MAX)]
        var client = self._client(script)
        try:
            self._follow(client, script)
        except error:
            raise Error(behind(error, client.scripts))
        client.settle(script)
        if len(client.scripts) < _SCRIPT_COUNT_MAX:
            self.idle.append(client^)

    def _follow(self, mut client: _Client, script: Span[UInt8, _]) raises:
        var scale = 0 if script[0] & _IS_LONG != 0 else 3
        for index in range(1, len(script) - 1, 2):
            var size = length_of(script[index + 1])
            var operation = (script[index] >> 4) & 3
            if operation == 0:
                var start = len(client.expected) * _SHIFT
                size >>= scale
                client.ask(
                    Int(script[index]) % 3,
                    Span(self.text)[start : start + size],
                )
            elif operation == 1:
                client.wire.seal(size)
            elif operation == 2:
                client.wire.send(size)
            else:
                _ = client.wire.read(size + 1)
        client.finish()

    def _client(mut self, script: Span[UInt8, _]) raises -> _Client:
        """Takes an idle connection, or makes one."""
        var digest = digest_of(script)
        var way = script[0] & _WAY
        if digest % _TCP_ONE_IN != 0:
            way &= ~_IS_TCP
        for index in range(len(self.idle)):
            if self.idle[index].way == way:
                var client = self.idle.pop(index)
                if script[0] & _IS_FRESH == 0:
                    return client^
                break
        var tls: Optional[TlsServerContext] = None
        var session: Optional[TlsSession] = None
        if way & _IS_TLS != 0:
            tls = self.context.copy()
            session = self.returning.session(
                is_new=script[0] & _IS_NEW != 0 and digest % _NEW_ONE_IN == 0,
                is_older=way & _IS_OLDER != 0,
            )
        var buffer_len = 4_096 if way & _IS_SMALL != 0 else 0
        var ends = Ends(buffer_len)
        if way & _IS_TCP != 0:
            ends = Ends(self.listener, buffer_len)
        return _Client(
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
            ),
            way,
        )


def main() raises:
    """Runs the target."""
    fuzz_main("connection", ConnectionTarget())

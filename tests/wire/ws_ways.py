"""Every way that a WebSocket may take to the server under test: HTTP/1.1 and HTTP/2,
with and without TLS, straight and through a gateway whose upstream speaks either; and
clients on them that say what a test wants, octet for octet."""

import ssl
import struct
from pathlib import Path
from typing import NamedTuple

from conftest import Server, shown
from h2_client import H2Client, reset
from https_client import Sealer, trusting
from raw_server import reset_at_close
from raw_ws import UPGRADE
from test_h2_websocket import Socket
from wire_programs import built

WAIT_S = 10.0
# RFC 6455 section 4.2.2: what answers the key of sixteen zeros.
ACCEPT = b"Sec-WebSocket-Accept: ICX+Yqv66kxgM0FcWaLWlFLwTAI=\r\n"


class Way(NamedTuple):
    """How a client reaches the server; no upstream is the server itself."""

    version: int
    is_tls: bool
    upstream: int

    def __str__(self) -> str:
        name = f"http{self.version}" + ("-tls" if self.is_tls else "")
        return name + (f"-upstream{self.upstream}" if self.upstream else "")


WAYS = [
    Way(version, is_tls, upstream)
    for version in (1, 2)
    for is_tls in (False, True)
    for upstream in (0, 1, 2)
]


class Ways:
    """A server with and without TLS, gateways in front of the one without, and an
    open connection of HTTP/2 to each."""

    def __init__(self, certs: Path, program: str, *options: str) -> None:
        self.context = trusting(certs)
        # Of HTTP/2; it is about octets alone.
        self.http2_context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.http2_context.check_hostname = False
        self.http2_context.verify_mode = ssl.CERT_NONE
        sealed = [f"{name}={path}" for name, path in shown(certs).items()]
        self.servers = {}
        for is_tls in (False, True):
            more = sealed if is_tls else []
            self.servers[is_tls, 0] = Server(built(program), [*options, *more])
            for upstream in (1, 2):
                url = self.servers[False, 0].url
                gateway = [f"upstream={url}", f"http2_prior_knowledge={upstream - 1}"]
                self.servers[is_tls, upstream] = Server(
                    built("proxy_server"), [*gateway, *more]
                )

    def entry(self, way: Way) -> Server:
        """Whom a client on this way connects to."""
        return self.servers[way.is_tls, way.upstream]

    def origin(self, way: Way) -> Server:
        """Who answers it."""
        return self.servers[way.is_tls and not way.upstream, 0]

    def http2(self, way: Way, **options) -> H2Client:
        tls = self.http2_context if way.is_tls else False
        return H2Client(self.entry(way), tls=tls, timeout=WAIT_S, **options)

    def close(self) -> None:
        for server in self.servers.values():
            assert server.is_alive(), "a server died during the tests"
        # Gateways first: they hold connections to the others.
        for (_, upstream), server in sorted(self.servers.items(), key=lambda x: -x[0][1]):
            assert server.stop() == 0


class Http1Line:
    """A WebSocket on a connection of HTTP/1.1; what comes is kept as it is."""

    def __init__(self, ways: Ways, way: Way, query: str, fields: list) -> None:
        self.sock = ways.entry(way).connect(WAIT_S)
        self.sock.setsockopt(6, 1, 1)
        self.sealer = None
        self.received, self.is_orderly = b"", None
        if way.is_tls:
            self.sealer = Sealer(self.sock, ways.context)
            self.sealer.shake()
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields)
        self.send(UPGRADE % (f"/ws?{query}".encode(), lines.encode()))
        while b"\r\n\r\n" not in self.received:
            self._more()
        self.head, self.received = self.received.split(b"\r\n\r\n", 1)
        self.head += b"\r\n"
        self.status = int(self.head.split(b" ")[1])
        assert self.status != 101 or ACCEPT in self.head, self.head

    def field(self, name: str) -> str | None:
        for line in self.head.decode().split("\r\n"):
            if line.lower().startswith(name + ":"):
                return line.split(":", 1)[1].strip()
        return None

    def send(self, octets: bytes) -> None:
        self.sock.sendall(self.sealer.seal(octets) if self.sealer else octets)

    def end(self) -> None:
        """Ends this direction in good order: RFC 8446 section 6.1, too."""
        if self.sealer:
            self.sock.sendall(self.sealer.goodbye())
        self.sock.shutdown(1)

    def reset(self) -> None:
        reset_at_close(self.sock)
        self.sock.close()

    def take(self, count: int) -> bytes:
        while len(self.received) < count:
            self._more()
        taken, self.received = self.received[:count], self.received[count:]
        return taken

    def _more(self) -> None:
        if self.sealer:
            self.received += self.sealer.read(1)
            if self.sealer.tls.pending():
                self.received += self.sealer.tls.read(65536)
            return
        piece = self.sock.recv(65536)
        if not piece:
            raise EOFError(f"the end came behind {self.received!r}")
        self.received += piece

    def read_all(self) -> bytes:
        """Reads to the end, and notes whether that was in good order."""
        data, self.received = self.received, b""
        self.is_orderly = True
        try:
            if self.sealer:
                more, self.is_orderly = self.sealer.read_all()
                return data + more
            while piece := self.sock.recv(65536):
                data += piece
        except ConnectionResetError:
            self.is_orderly = False
            if self.sealer:
                data += self.sealer.received
        return data

    def close(self) -> None:
        self.sock.close()


class Http2Line(Socket):
    """A WebSocket on a stream."""

    def __init__(self, client: H2Client, query: str, fields: list) -> None:
        lower = [(name.lower(), value) for name, value in fields]
        super().__init__(client, f"/ws?{query}", lower)
        self.status, self.is_orderly = self.answer.status, None

    def field(self, name: str) -> str | None:
        return self.answer.fields.get(name)

    def end(self) -> None:
        self.send(b"", ends=True)

    def reset(self) -> None:
        self.client.send(reset(self.stream))

    def take(self, count: int) -> bytes:
        return self._take(count)

    def read_all(self) -> bytes:
        self.client.until(lambda: self.answer.is_over)
        # RFC 8441 section 5: END_STREAM is the orderly end, CANCEL is a reset.
        self.is_orderly = self.answer.ended
        return self.answer.body

    def close(self) -> None:
        if not self.answer.is_over:
            self.reset()


def frames_of(octets: bytes) -> list[tuple[int, bytes]]:
    """Parts what a server has sent into frames: RFC 6455 section 5.1, unmasked."""
    found = []
    while octets:
        length, start = octets[1] & 0x7F, 2
        assert octets[1] < 128, "a server does not mask"
        if length == 126:
            length, start = struct.unpack("!H", octets[2:4])[0], 4
        elif length == 127:
            length, start = struct.unpack("!Q", octets[2:10])[0], 10
        assert len(octets) >= start + length, f"the end within a frame: {octets[:20]!r}"
        found.append((octets[0], octets[start : start + length]))
        octets = octets[start + length :]
    return found

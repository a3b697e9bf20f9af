"""TLS clients of the wire tests: an ordinary one, and one that shows octets."""

import socket
import ssl
import subprocess
from pathlib import Path

from conftest import Client, Server

TIMEOUT_S = 10


def trusting(certs: Path, **versions: str) -> ssl.SSLContext:
    """A context that trusts the tests' root; `maximum_version="TLSv1_2"`."""
    context = ssl.create_default_context(cafile=certs / "root.pem")
    for name, version in versions.items():
        setattr(context, name, ssl.TLSVersion[version])
    return context


def asked_to_renegotiate(port: int) -> subprocess.CompletedProcess:
    """What openssl says when it asks a server of TLS 1.2 for a new handshake."""
    return subprocess.run(
        ["openssl", "s_client", "-tls1_2", "-connect", f"127.0.0.1:{port}"],
        input=b"R\n",
        capture_output=True,
        timeout=TIMEOUT_S,
    )


class HttpsClient(Client):
    """A connection over TLS that reads one response after the other."""

    def __init__(
        self,
        server: Server,
        context: ssl.SSLContext,
        host: str = "localhost",
        session: ssl.SSLSession | None = None,
        timeout: float = TIMEOUT_S,
    ) -> None:
        super().__init__(server, timeout)
        # A connection that ends without notice is an error here.
        self.sock = context.wrap_socket(
            self.sock,
            server_hostname=host,
            session=session,
            suppress_ragged_eofs=False,
        )

    def get(self, target: str, *fields: str):
        lines = [f"GET {target} HTTP/1.1", "Host: localhost", *fields, "", ""]
        self.send("\r\n".join(lines).encode())
        return self.response()


class Sealer:
    """A TLS client whose octets the test sends itself, as it likes; what it
    heard of the handshake is kept."""

    def __init__(self, sock: socket.socket, context: ssl.SSLContext) -> None:
        self.sock = sock
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.is_established = False
        self.received = b""
        self.heard = b""
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(
            self._incoming, self._outgoing, server_hostname="localhost"
        )

    def _advance(self) -> bytes:
        """Goes on with the handshake; gives what is to be sent."""
        try:
            self.tls.do_handshake()
            self.is_established = True
        except ssl.SSLWantReadError:
            pass
        return self._outgoing.read()

    def hello(self) -> bytes:
        """Gives the first flight, which the caller sends."""
        return self._advance()

    def answer(self) -> bytes:
        """Reads the server's flights until there is something to answer, or
        the handshake is complete."""
        while True:
            self._take()
            flight = self._advance()
            if flight or self.is_established:
                return flight

    def shake(self) -> None:
        """Goes through the handshake."""
        self.sock.sendall(self.hello())
        while not self.is_established:
            self.sock.sendall(self.answer())

    def seal(self, data: bytes) -> bytes:
        """Encrypts, in one record for each 16 KiB."""
        self.tls.write(data)
        return self._outgoing.read()

    def goodbye(self) -> bytes:
        """Gives the close_notify. RFC 8446 section 6.1: the other direction goes on,
        so what has come in it and was not read is no fault."""
        try:
            self.tls.unwrap()
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError as error:
            if error.reason != "APPLICATION_DATA_AFTER_CLOSE_NOTIFY":
                raise
        return self._outgoing.read()

    def read(self, count: int) -> bytes:
        """Reads so many octets of the stream."""
        while len(self.received) < count:
            try:
                self.received += self.tls.read(count - len(self.received))
            except ssl.SSLWantReadError:
                self._take()
        data, self.received = self.received[:count], self.received[count:]
        return data

    def _take(self) -> None:
        piece = self.sock.recv(65536)
        assert piece, "the server closed"
        if not self.is_established:
            self.heard += piece
        self._incoming.write(piece)

    def read_all(self) -> tuple[bytes, bool]:
        """Reads to the end; tells too whether there was a close_notify.

        What came before an alert is in `received`.
        """
        while True:
            try:
                while piece := self.tls.read(65536):
                    self.received += piece
                return self.received, True
            except ssl.SSLWantReadError:
                pass
            except ssl.SSLZeroReturnError:
                return self.received, True
            piece = self.sock.recv(65536)
            if not piece:
                return self.received, False
            self._incoming.write(piece)

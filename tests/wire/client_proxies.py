"""Proxies of the client's tests: SOCKS5 and HTTPS, octet for octet."""

import socket
import ssl
import struct
from pathlib import Path

from raw_server import Connection, RawServer
from ready import ready

WAIT_S = 20
PIECE_LEN = 65_536
# RFC 1928 section 6.
REFUSED = 5


def _relay(near: socket.socket, far: socket.socket) -> None:
    """Passes octets on until one side has ended."""
    ends = {near: far, far: near}
    for end in ends:
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while True:
        held = [
            end
            for end in ends
            if isinstance(end, ssl.SSLSocket) and end.pending()
        ]
        readable = held or ready(ends, WAIT_S)
        if not readable:
            return
        for end in readable:
            piece = end.recv(PIECE_LEN)
            if not piece:
                return
            ends[end].sendall(piece)


class SocksProxy:
    """A SOCKS5 proxy; it reaches any host at 127.0.0.1, if at all."""

    def __init__(self, login: tuple[str, str] | None = None) -> None:
        self.login = login
        # What clients have asked for: type of address, host, port.
        self.asked: list[tuple[int, str, int]] = []
        # What those are told who ask for a host.
        self.replies: dict[str, int] = {}
        self.logins: list[tuple[str, str]] = []
        self._server = RawServer(self._serve)
        self.port = self._server.port

    @property
    def connection_count(self) -> int:
        return self._server.connection_count

    def close(self) -> None:
        self._server.close()

    def _serve(self, connection: Connection) -> None:
        version, count = connection.take(2)
        methods = connection.take(count)
        assert version == 5
        wanted = 2 if self.login else 0
        if wanted not in methods:
            connection.send(b"\x05\xff")
            return
        connection.send(bytes([5, wanted]))
        if self.login and not self._log_in(connection):
            return
        far = self._connect(connection)
        if far:
            with far:
                _relay(connection.sock, far)

    def _log_in(self, connection: Connection) -> bool:
        assert connection.take(1) == b"\x01"
        user = connection.take(connection.take(1)[0]).decode()
        password = connection.take(connection.take(1)[0]).decode()
        self.logins.append((user, password))
        is_good = (user, password) == self.login
        connection.send(bytes([1, 0 if is_good else 1]))
        return is_good

    def _connect(self, connection: Connection) -> socket.socket | None:
        version, command, _, kind = connection.take(4)
        assert (version, command) == (5, 1)
        if kind == 3:
            host = connection.take(connection.take(1)[0]).decode()
        elif kind == 1:
            host = socket.inet_ntop(socket.AF_INET, connection.take(4))
        else:
            host = socket.inet_ntop(socket.AF_INET6, connection.take(16))
        (port,) = struct.unpack("!H", connection.take(2))
        self.asked.append((kind, host, port))
        code = self.replies.get(host, 0)
        far = None
        if not code:
            try:
                far = socket.create_connection(("127.0.0.1", port), WAIT_S)
            except OSError:
                code = REFUSED
        bound = b"\x01" + bytes(6) if kind != 4 else b"\x04" + bytes(18)
        connection.send(bytes([5, code, 0]) + bound)
        return far


class TlsProxy:
    """A proxy that speaks HTTP/1.1 over TLS; it reaches any host at
    127.0.0.1."""

    def __init__(self, chain: Path, key: Path, answer: bytes = b"") -> None:
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(chain, key)
        self._context.set_alpn_protocols(["h2", "http/1.1"])
        self.heads: list[str] = []
        self.protocols: list[str | None] = []
        # What CONNECT is answered with; a tunnel if it is empty.
        self.answer = answer
        self._server = RawServer(self._serve)
        self.port = self._server.port
        self.url = f"https://localhost:{self.port}"

    @property
    def connection_count(self) -> int:
        return self._server.connection_count

    def close(self) -> None:
        self._server.close()

    def _serve(self, connection: Connection) -> None:
        tls = self._context.wrap_socket(connection.sock, server_side=True)
        connection.sock = tls
        self.protocols.append(tls.selected_alpn_protocol())
        while head := connection.head():
            self.heads.append(head)
            method, target, _ = head.split("\r\n")[0].split(" ")
            if method == "CONNECT" and not self.answer:
                connection.send(b"HTTP/1.1 200 OK\r\n\r\n")
                port = int(target.rsplit(":", 1)[1])
                with socket.create_connection(("127.0.0.1", port)) as far:
                    _relay(tls, far)
                return
            content = f"{method} {target}".encode()
            connection.send(
                self.answer
                or b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b"
                % (len(content), content)
            )

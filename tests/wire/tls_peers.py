"""Each kind of client that speaks TLS, as a way to meet a server; and a server that
does to a connection what a row of a table says."""

import http.client
import json
import re
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from client_asker import Asker
from conftest import Server
from raw_server import Fetcher
from ready import accepted
from toolchain import environment
from wire_programs import built

WAIT_S = 20
TIMEOUT_MS = 1_000
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
HTTP_WAYS = ["plain", "plain open", "plain download", "shared", "cached", "fetch", "proxy"]
WAYS = ["stream", *HTTP_WAYS, "websocket", "grpc", "redis"]


def showing(certs: Path, name: str = "good_chain") -> ssl.SSLContext:
    """The context of a server that shows a certificate, however weak it is."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    if name == "weak":
        context.set_ciphers("DEFAULT:@SECLEVEL=0")
    key = name.removesuffix("_chain")
    context.load_cert_chain(certs / f"{name}.pem", certs / f"{key}.key")
    return context


@dataclass
class Seen:
    """What a server has seen of the connections of one client."""

    # The names that it was asked for (RFC 6066 section 3).
    names: list = field(default_factory=list)
    # What came behind handshakes.
    octets: bytes = b""


class TlsPeer:
    """Has each connection, at 127.0.0.1 and ::1, treated by a function."""

    def __init__(self, treat: Callable[[socket.socket, Seen], None]) -> None:
        self.treat, self.seen = treat, Seen()
        self._listener = socket.create_server(
            ("::", 0), family=socket.AF_INET6, dualstack_ipv6=True
        )
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        for sock in accepted(self._listener):
            threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        sock.settimeout(WAIT_S)
        try:
            self.treat(sock, self.seen)
        except OSError:
            pass
        finally:
            sock.close()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


def serving(context: ssl.SSLContext, said: bytes = OK, goodbye: bool = True) -> Callable:
    """Shakes hands, takes what comes first, and says something. Without a goodbye the
    connection ends behind it, and nobody has said that it would."""

    def treat(sock: socket.socket, seen: Seen) -> None:
        context.sni_callback = lambda _, name, __: seen.names.append(name)
        with context.wrap_socket(sock, server_side=True) as stream:
            piece = stream.recv(65536)
            seen.octets += piece
            if not piece:
                return
            stream.sendall(said)
            if goodbye:
                stream.unwrap()
            else:
                stream.shutdown(socket.SHUT_WR)
                while sock_recv(stream):
                    pass

    return treat


def sock_recv(stream: ssl.SSLSocket) -> bytes:
    """Reads octets below TLS to their end, so that a close is no reset."""
    return socket.socket.recv(stream, 65536)


def saying(octets: bytes, first: bool = False) -> Callable:
    """Speaks no TLS: says something behind the client's first flight, or before it."""

    def treat(sock: socket.socket, _: Seen) -> None:
        if not first:
            sock.recv(65536)
        sock.sendall(octets)
        sock.shutdown(socket.SHUT_WR)
        while sock.recv(65536):
            pass

    return treat


def silent(sock: socket.socket, _: Seen) -> None:
    while sock.recv(65536):
        pass


def dripping(sock: socket.socket, _: Seen) -> None:
    """Begins a record that never ends, an octet at a time."""
    sock.recv(65536)
    sock.sendall(b"\x16\x03\x03\x40\x00\x02\x00\x3f\xfc")
    sock.settimeout(0.05)
    while True:
        sock.sendall(b"x")
        try:
            if not sock.recv(1):
                return
        except TimeoutError:
            pass


@dataclass
class Outcome:
    """What a client says of a connection: what it has read, or an error."""

    text: str = ""
    body: str = ""


class Stream:
    """`TlsStream`."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def meet(self, host: str, port: int) -> Outcome:
        bare = host.strip("[]")
        arguments = [f"ca={self.root}", f"timeout_ms={TIMEOUT_MS}"]
        if not re.fullmatch(r"[0-9.]+|.*:.*", bare):
            arguments.append("at=127.0.0.1")
        result = subprocess.run(
            [str(built("tls_client")), bare, str(port), *arguments],
            env=environment(), text=True, stdout=subprocess.PIPE, timeout=WAIT_S,
        )  # fmt: skip
        line = result.stdout.strip()
        return Outcome("" if line.startswith("ok ") else line, "ok")

    def close(self) -> None:
        pass


class Http:
    """A kind of the HTTP client."""

    def __init__(self, kind: str, root: Path) -> None:
        self.kind = kind
        self.asker = Asker(built("asker", "clients"))
        self.asker.client(ca_file=str(root), total_timeout_ms=TIMEOUT_MS)

    def meet(self, host: str, port: int) -> Outcome:
        url = f"https://{host}:{port}/"
        return told(self.asker.ask(url=url, by=self.kind, shows_sink=1))

    def close(self) -> None:
        assert self.asker.close() == 0


class Loop:
    """A request on the loop of a worker."""

    def __init__(self, root: Path) -> None:
        config = {"ca_file": str(root), "total_timeout_ms": TIMEOUT_MS}
        self.server = Server(built("asker", "clients"), [json.dumps(config)])

    def meet(self, host: str, port: int) -> Outcome:
        far = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=WAIT_S)
        far.request("POST", "/", json.dumps({"url": f"https://{host}:{port}/"}))
        answer = json.loads(far.getresponse().read())
        far.close()
        return told(answer)

    def close(self) -> None:
        assert self.server.stop() == 0


def told(answer: dict) -> Outcome:
    return Outcome(answer.get("text", "") if "kind" in answer else "", answer.get("body", ""))


class Gateway:
    """`ReverseProxy`, of which each upstream has its own here."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def meet(self, host: str, port: int) -> Outcome:
        options = [
            f"upstream=https://{host}:{port}", f"ca={self.root}",
            f"connect_timeout_ms={TIMEOUT_MS}",
        ]  # fmt: skip
        server = Server(built("proxy_server"), options)
        far = http.client.HTTPConnection("127.0.0.1", server.port, timeout=WAIT_S)
        try:
            far.request("GET", "/")
            response = far.getresponse()
            body = response.read().decode()
            return Outcome(server.stderr() if response.status >= 500 else "", body)
        except (OSError, http.client.HTTPException) as error:
            # What was begun cannot be called a failure any more.
            return Outcome(f"cut: {error!r} {server.stderr()}")
        finally:
            far.close()
            assert server.stop() == 0

    def close(self) -> None:
        pass


class Socket:
    """`WsClient`: the handshake is refused, but over TLS."""

    def __init__(self, root: Path) -> None:
        self.talker = Fetcher(built("talker", "clients"))
        self.root = root

    def meet(self, host: str, port: int) -> Outcome:
        answer = self.talker.ask(
            do="connect", url=f"wss://{host}:{port}/", ca_file=str(self.root),
            connect_timeout_ms=TIMEOUT_MS,
        )  # fmt: skip
        return Outcome(answer.get("error", ""))

    def close(self) -> None:
        assert self.talker.close() == 0


class Grpc:
    """A channel of gRPC."""

    def __init__(self, root: Path) -> None:
        self.caller = Fetcher(built("grpc_caller", "clients"))
        self.root = root

    def meet(self, host: str, port: int) -> Outcome:
        self.caller.ask(
            do="channel", addresses=[f"https://{host}:{port}"], ca_file=str(self.root),
            timeout_ms=TIMEOUT_MS,
        )  # fmt: skip
        answer = self.caller.ask(do="unary", path="/a.B/C", message="x")
        return Outcome(json.dumps(answer, ensure_ascii=False))

    def close(self) -> None:
        assert self.caller.close() == 0


class Redis:
    """The client of Redis."""

    def __init__(self, root: Path) -> None:
        self.talker = Fetcher(built("redis_talker", "clients"))
        self.root = root

    def meet(self, host: str, port: int) -> Outcome:
        answer = self.talker.ask(
            do="connect", url=f"rediss://{host}:{port}", ca_file=str(self.root),
            connect_timeout_ms=TIMEOUT_MS, timeout_ms=TIMEOUT_MS, retry_max=0,
        )  # fmt: skip
        return Outcome(answer.get("error", ""))

    def close(self) -> None:
        assert self.talker.close() == 0


def way(name: str, root: Path):
    """Starts a kind of client that trusts an authority."""
    own = {
        "stream": Stream, "fetch": Loop, "proxy": Gateway, "websocket": Socket,
        "grpc": Grpc, "redis": Redis,
    }  # fmt: skip
    return own[name](root) if name in own else Http(name, root)

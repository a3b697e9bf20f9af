"""A server that answers each request by the script of its cell, in HTTP/1.1 and
HTTP/2 on one port: the first part of a path names the cell."""

import ssl
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from h2_frames import *
from hpack import Decoder
from raw_http2 import Http2Peer, block
from raw_server import Connection, RawServer

EVENT = b"data: hello\n\n"
STREAM = ("Content-Type", "text/event-stream")
WINDOW_LEN = 1 << 30


@dataclass
class Asked:
    """A request as it came."""

    method: str
    target: str
    fields: dict[str, str]
    content: bytes = b""
    on_used_connection: bool = False


@dataclass
class Answer:
    """A response, over either version."""

    status: int = 200
    content: bytes = EVENT
    fields: tuple = (STREAM,)
    trailers: tuple = ()
    interim: tuple = ()
    # How HTTP/1.1 frames it: "length", "chunked", "close", or "none".
    framing: str = "length"
    # What Content-Length says, if it lies.
    length: int | None = None
    # What follows: "", "close", "reset" or "stall"; a reset of HTTP/2 has a code.
    end: str = ""
    code: int = INTERNAL_ERROR
    # "": behind the request's content; else "goes on" or "close", before it.
    early: str = ""
    # Whether the client has read the head, as far as that can be seen, before the
    # content is sent.
    is_late: bool = False
    # So many octets a piece.
    piece_len: int = 0
    # On a connection that was used before alone.
    on_reuse: bool = False
    minor: int = 1

    def head(self, method: str) -> bytes:
        """Writes all up to the content in HTTP/1.1."""
        lines = [f"HTTP/1.{self.minor} {self.status} X"]
        lines += [f"{name}: {value}" for name, value in self.fields]
        if self.framing == "chunked":
            lines.append("Transfer-Encoding: chunked")
        elif self.framing == "length":
            length = len(self.content) if self.length is None else self.length
            lines.append(f"Content-Length: {length}")
        if self.early == "close":
            lines.append("Connection: close")
        interim = "".join(
            f"HTTP/1.1 {status} X\r\n"
            + "".join(f"{name}: {value}\r\n" for name, value in fields)
            + "\r\n"
            for status, fields in self.interim
        )
        return (interim + "\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    def octets(self, method: str) -> bytes:
        """Writes all of it in HTTP/1.1."""
        content = self.content
        if method == "HEAD" or self.status in (204, 304):
            content = b""
        elif self.framing == "chunked":
            half = len(content) // 2
            content = b"".join(
                b"%x\r\n%s\r\n" % (len(piece), piece)
                for piece in (content[:half], content[half:])
                if piece
            )
            if not self.end:
                content += b"0\r\n"
                for name, value in self.trailers:
                    content += f"{name}: {value}\r\n".encode()
                content += b"\r\n"
        return self.head(method) + content


@dataclass
class Cell:
    """What a request meets, and what came of it."""

    answers: list
    asked: list[Asked] = field(default_factory=list)

    def next(self, asked: Asked):
        self.asked.append(asked)
        return self.answers[min(len(self.asked), len(self.answers)) - 1]


class VersionsServer:
    """Serves HTTP/1.1 and HTTP/2 on one port, with TLS if it is given what that needs;
    what is said is `_http1`'s and `_http2`'s of who inherits from it."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.context = context
        self.server = RawServer(self._serve)

    def _serve(self, connection: Connection) -> None:
        if not self.context:
            return self._speak(connection)
        with self.context.wrap_socket(connection.sock, server_side=True) as stream:
            connection.sock = stream
            self._speak(connection)
            if stream.fileno() >= 0:
                # RFC 9112 section 9.8: only so is it known that this is the end.
                connection.sock = stream.unwrap()

    def _speak(self, connection: Connection) -> None:
        while len(connection.buffer) < 4:
            piece = connection.sock.recv(65536)
            if not piece:
                return
            connection.buffer += piece
        if connection.buffer.startswith(b"PRI "):
            self._http2(CellPeer(connection))
        else:
            self._http1(connection)


class CellServer(VersionsServer):
    """Serves all cells; a function in place of an answer does what it likes."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.cells: dict[str, Cell] = {}
        super().__init__(context)
        self.url = self.server.url
        if context:
            self.url = f"https://localhost:{self.server.port}"
        self._lock = threading.Lock()

    def close(self) -> None:
        self.server.close()

    def cell(self, name: str, answers: list) -> str:
        """Adds a cell; its URL."""
        with self._lock:
            self.cells[name] = Cell(answers)
        return f"{self.url}/{name}/"

    def _next(self, asked: Asked):
        target = asked.target.split("://")[-1]
        name = target.split("/")[1]
        with self._lock:
            return self.cells[name].next(asked)

    def _http1(self, connection: Connection) -> None:
        count = 0
        while head := connection.head():
            first, *lines = head.rstrip("\r\n").split("\r\n")
            method, target, _ = first.split(" ")
            fields = {
                name.lower(): value.strip()
                for name, value in (line.split(":", 1) for line in lines)
            }
            asked = Asked(method, target, fields, b"", count > 0)
            count += 1
            answer = self._next(asked)
            if callable(answer):
                if answer(connection, head, asked) == "end":
                    return
                continue
            if not answer.early:
                asked.content = connection.body(head)
            if answer.on_reuse and not asked.on_used_connection:
                connection.send(Answer().octets(method))
                continue
            octets = answer.octets(method)
            if answer.is_late:
                head = answer.head(method)
                connection.send(head)
                octets = octets[len(head) :]
            step = answer.piece_len or len(octets)
            for at in range(0, len(octets), step or 1):
                connection.send(octets[at : at + step])
            if answer.early == "goes on":
                asked.content = connection.body(head)
            elif answer.early == "close":
                if not self.context:
                    connection.sock.shutdown(1)
                while connection.sock.recv(65536):
                    pass
                return
            if answer.end == "reset":
                connection.reset()
                return
            if answer.end == "stall":
                while connection.sock.recv(65536):
                    pass
                return
            if answer.end == "close" or answer.framing == "close":
                return

    def _http2(self, peer: "CellPeer") -> None:
        peer.begin((INITIAL_WINDOW, WINDOW_LEN))
        peer.send(frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", WINDOW_LEN)))
        while True:
            stream, asked, has_ended = peer.asked()
            answer = self._next(asked)
            if callable(answer):
                if not has_ended and not getattr(answer, "is_early", False):
                    asked.content = peer.content_of(stream)
                if answer(peer, stream, asked) == "end":
                    return
                continue
            if not has_ended and not answer.early:
                asked.content = peer.content_of(stream)
            if answer.on_reuse and not asked.on_used_connection:
                answer = Answer()
            peer.answer_with(stream, answer, asked.method)
            if answer.end == "close":
                return
            if answer.end == "reset":
                peer.reset(stream, answer.code)
            elif not has_ended and answer.early == "goes on":
                asked.content = peer.content_of(stream)


class CellPeer(Http2Peer):
    """The server's side of HTTP/2, which reads fields."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.decoder = Decoder()
        self.count = 0

    def read(self) -> Frame:
        """Answers PING, too, so that the client knows that somebody is there."""
        got = super().read()
        if got.kind == PING and not got.flags & ACK:
            self.send(frame(PING, ACK, 0, got.payload))
        return got

    def asked(self) -> tuple[int, Asked, bool]:
        """Reads the next request's head: its stream, and whether that was all."""
        got = self.until(HEADERS)
        octets, last = got.payload, got
        while not last.flags & END_HEADERS:
            last = self.until(CONTINUATION)
            octets += last.payload
        fields = {
            bytes(name).decode(): bytes(value).decode("latin-1")
            for name, value in self.decoder.decode(octets, raw=True)
        }
        asked = Asked(
            fields[":method"], fields[":path"], fields, b"", self.count > 0
        )
        self.count += 1
        return got.stream, asked, bool(got.flags & END_STREAM)

    def content_of(self, stream: int) -> bytes:
        """Reads content up to its end, or to the client's reset."""
        content = b""
        while True:
            got = self.until(DATA, RST_STREAM)
            if got.stream != stream:
                continue
            content += got.payload if got.kind == DATA else b""
            if got.kind == RST_STREAM or got.flags & END_STREAM:
                return content

    def answer_with(self, stream: int, answer: Answer, method: str) -> None:
        for status, fields in answer.interim:
            self.head(stream, *lower(fields), status=status)
        fields = list(lower(answer.fields))
        if answer.framing == "length":
            length = len(answer.content) if answer.length is None else answer.length
            fields.append(("content-length", str(length)))
        is_bare = method == "HEAD" or answer.status in (204, 304)
        content = b"" if is_bare else answer.content
        ends = not answer.end or (answer.end == "reset" and answer.code == NO_ERROR)
        has_more = bool(content or answer.trailers or not ends)
        self.head(stream, *fields, status=answer.status, ends=not has_more)
        if answer.is_late:
            self.send(frame(PING, 0, 0, b"the head"))
            while not self.until(PING).flags & ACK:
                pass
        step = answer.piece_len or 16_384
        for at in range(0, len(content), step):
            is_last = at + step >= len(content)
            self.data(
                stream,
                content[at : at + step],
                ends=ends and is_last and not answer.trailers,
            )
        if answer.trailers:
            payload = block(*lower(answer.trailers))
            self.send(frame(HEADERS, END_HEADERS | END_STREAM, stream, payload))


def lower(fields: tuple) -> list:
    return [(name.lower(), value) for name, value in fields]


def sends(octets: bytes, end: str = "") -> Callable:
    """Answers with octets in HTTP/1.1."""

    def answer(connection: Connection, head: str, asked: Asked) -> str:
        asked.content = connection.body(head)
        connection.send(octets)
        return "end" if end == "close" else ""

    return answer


def frames(*parts: Callable) -> Callable:
    """Answers with frames, each made for the stream."""

    def answer(peer: CellPeer, stream: int, asked: Asked) -> str:
        for part in parts:
            peer.send(part(stream))
        return ""

    return answer

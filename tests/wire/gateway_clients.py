"""Clients of both versions that send any `Kind` of request through a gateway, and
tell what they have got."""

import time
from dataclasses import dataclass, field, replace

from conftest import Server
from gateway_rows import Fields, KINDS, Kind
from h2_client import H2Client
from h2_hpack import encode

WAIT_S = 10
# A connection that was not used for so long is not used again.
IDLE_S = 2


@dataclass
class Seen:
    """What a client has got."""

    status: int = 0
    fields: Fields = field(default_factory=list)
    content: bytes = b""
    trailers: Fields = field(default_factory=list)
    interim: list[int] = field(default_factory=list)
    # Whether it has ended as a response ends that is complete.
    is_whole: bool = False

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.fields if key == name]


class Http1Client:
    """A connection for each request."""

    version = "1.1"

    def __init__(self, server: Server) -> None:
        self.server = server

    def ask(self, mark: str, kind: Kind, behind: str = "") -> tuple[Seen, Seen | None]:
        """Asks, and asks once more on the same connection if that stays open."""
        with self.server.connect(WAIT_S) as sock:
            self.buffer, self.sock, self.is_over = b"", sock, False
            seen = self._exchange(mark, kind)
            closes = kind.is_1_0 or "close" in seen.all("connection")
            if not seen.is_whole or closes or not behind:
                if seen.is_whole and closes:
                    assert self._ends(), "octets behind the end"
                return seen, None
            return seen, self._exchange(behind, KINDS[0])

    def _exchange(self, mark: str, kind: Kind) -> Seen:
        lines = ["Host: shop.example", f"X-Cell: {mark}"]
        lines += [f"{name}: {value}" for name, value in kind.fields]
        if any(name == "TE" for name, _ in kind.fields):
            lines.append("Connection: TE")
        content = kind.content
        if kind.says_length:
            lines.append(f"Content-Length: {len(content)}")
        elif kind.has_content:
            lines.append("Transfer-Encoding: chunked")
            content = b"".join(
                b"%x\r\n%s\r\n" % (len(piece), piece)
                for piece in (content[:2], content[2:])
            )
            content += b"0\r\n"
            content += b"".join(
                f"{name}: {value}\r\n".encode() for name, value in kind.trailers
            )
            content += b"\r\n"
        version = "1.0" if kind.is_1_0 else "1.1"
        head = f"{kind.method} {kind.target} HTTP/{version}\r\n"
        head = (head + "\r\n".join(lines) + "\r\n\r\n").encode()
        seen = Seen()
        try:
            self.sock.sendall(head if kind.asks else head + content)
        except OSError:
            # It is told why.
            pass
        while True:
            got = self._head(seen)
            if got and kind.asks and seen.interim == [100]:
                self.sock.sendall(content)
                kind = replace(kind, fields=())
            if not got or seen.status:
                break
        if seen.status:
            self._content(seen, kind)
        return seen

    def _more(self) -> bool:
        try:
            piece = self.sock.recv(65_536)
        except ConnectionResetError:
            self.is_over = True
            return False
        self.buffer += piece
        return bool(piece)

    def _line(self) -> bytes:
        while b"\r\n" not in self.buffer:
            if not self._more():
                raise EOFError
        line, self.buffer = self.buffer.split(b"\r\n", 1)
        return line

    def _take(self, count: int) -> bytes:
        while len(self.buffer) < count:
            if not self._more():
                raise EOFError
        octets, self.buffer = self.buffer[:count], self.buffer[count:]
        return octets

    def _fields(self) -> Fields:
        fields = []
        while line := self._line().decode("latin-1"):
            name, value = line.split(":", 1)
            fields.append((name.lower(), value.strip()))
        return fields

    def _head(self, seen: Seen) -> bool:
        try:
            version, status, _ = self._line().split(b" ", 2)
            fields = self._fields()
        except EOFError:
            return False
        assert version == b"HTTP/1.1"
        if int(status) < 200:
            seen.interim.append(int(status))
            assert not {"content-length", "transfer-encoding"} & set(dict(fields))
        else:
            seen.status, seen.fields = int(status), fields
        return True

    def _content(self, seen: Seen, kind: Kind) -> None:
        lengths, coded = seen.all("content-length"), seen.all("transfer-encoding")
        assert len(lengths) + len(coded) <= 1, "framed twice"
        if kind.method == "HEAD" or seen.status in (204, 304):
            assert not coded and not (seen.status == 204 and lengths)
            seen.is_whole = True
            return
        try:
            if lengths:
                seen.content = self._take(int(lengths[0]))
            elif coded:
                assert coded == ["chunked"] and not kind.is_1_0
                while size := int(self._line(), 16):
                    seen.content += self._take(size)
                    assert self._take(2) == b"\r\n"
                seen.trailers = self._fields()
            else:
                assert kind.is_1_0 or "close" in seen.all("connection")
                while self._more():
                    pass
                seen.content, self.buffer = self.buffer, b""
                if self.is_over:
                    return
            seen.is_whole = True
        except EOFError:
            pass

    def _ends(self) -> bool:
        while not self.buffer and self._more():
            pass
        return not self.buffer

    def close(self) -> None:
        pass


class Http2Client:
    """One connection for all that is asked in a row: what goes wrong with a stream is
    no other's matter. One that waits for its turn is closed by the server in time."""

    version = "2"

    def __init__(self, server: Server) -> None:
        self.server = server
        self.client = None
        self.used_s = 0.0

    def ask(self, mark: str, kind: Kind, behind: str = "") -> tuple[Seen, Seen | None]:
        if self.client and time.monotonic() - self.used_s > IDLE_S:
            self.close()
        if not self.client:
            self.client = H2Client(self.server, timeout=WAIT_S)
        try:
            return self._ask(mark, kind, behind)
        finally:
            self.used_s = time.monotonic()

    def _ask(self, mark: str, kind: Kind, behind: str) -> tuple[Seen, Seen | None]:
        seen = self._exchange(mark, kind)
        return seen, self._exchange(behind, KINDS[0]) if behind else None

    def _exchange(self, mark: str, kind: Kind) -> Seen:
        fields = [("x-cell", mark)]
        fields += [(name.lower(), value) for name, value in kind.fields]
        if kind.says_length:
            fields.append(("content-length", str(len(kind.content))))
        stream = self.client.request(kind.target, kind.method, fields, ends=not kind.has_content)
        answers = self.client.answers
        if kind.asks:
            self.client.until(
                lambda: stream in answers
                and (answers[stream].is_over or answers[stream].informational)
            )
        self._upload(stream, kind)
        answer = self.client.answer(stream)
        return Seen(
            answer.status, answer.lines, answer.body, answer.trailers or [],
            answer.informational, answer.ended,
        )

    def _upload(self, stream: int, kind: Kind) -> None:
        content = kind.content
        while content or kind.trailers:
            if stream in self.client.answers and self.client.answers[stream].is_over:
                return
            room = min(self.client.room, self.client.room_of(stream), 16_384)
            if content and room <= 0:
                self.client.take_frame()
                continue
            if not content:
                self.client.headers(encode(list(kind.trailers)), stream=stream)
                return
            piece, content = content[:room], content[room:]
            self.client.data(stream, piece, ends=not content and not kind.trailers)

    def close(self) -> None:
        if self.client:
            self.client.sock.close()
        self.client = None

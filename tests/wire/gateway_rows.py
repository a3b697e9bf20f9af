"""Requests through a gateway, and what upstreams do with them: each row of the tables
with the rule from which follows what is to come of it."""

import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from h2_hpack import Decoder
from raw_http2 import *
from raw_server import Connection, RawServer

Fields = list[tuple[str, str]]
LARGE = bytes(range(256)) * 400
IDEMPOTENT = {"GET", "HEAD", "PUT", "DELETE", "OPTIONS"}
@dataclass(frozen=True)
class Kind:
    """A request of a client."""

    name: str
    method: str
    content: bytes = b""
    # Whether the client says how long the content is.
    says_length: bool = False
    fields: tuple = ()
    trailers: tuple = ()
    target: str = "/items?page=1"
    is_1_0: bool = False

    @property
    def has_content(self) -> bool:
        return bool(self.content or self.trailers)

    @property
    def asks(self) -> bool:
        return ("Expect", "100-continue") in self.fields

    @property
    def is_idempotent(self) -> bool:
        return self.method in IDEMPOTENT


KINDS = [
    Kind("get", "GET"),
    Kind("get of 1.0", "GET", is_1_0=True),
    Kind("get for trailers", "GET", fields=(("TE", "trailers"),)),
    Kind("range", "GET", fields=(("Range", "bytes=0-9"),)),
    Kind("condition", "GET", fields=(("If-None-Match", '"a"'),)),
    Kind("head", "HEAD"),
    Kind("delete", "DELETE"),
    Kind("options", "OPTIONS"),
    Kind("post", "POST", b"hello", says_length=True),
    Kind("post nothing", "POST", says_length=True),
    Kind("post pieces", "POST", b"hello"),
    Kind("post and trailers", "POST", b"hello", trailers=(("x-sum", "7"),)),
    Kind("post if wanted", "POST", b"hello", says_length=True,
         fields=(("Expect", "100-continue"),)),
    Kind("post much", "POST", LARGE, says_length=True),
    Kind("put", "PUT", b"hello", says_length=True),
]  # fmt: skip


@dataclass
class Asked:
    """A request as an upstream has got it, in one attempt."""

    method: str
    target: str
    fields: Fields
    connection: int
    content: bytes = b""
    trailers: Fields = field(default_factory=list)
    is_whole: bool = False
    # Once nothing more can come.
    is_over: bool = False

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.fields if key == name]


@dataclass(frozen=True)
class Want:
    """What is to come of a request, by the rule of a row."""

    status: int = 200
    # What follows, of every method but HEAD: as a rule what names the request.
    content: bytes = b"{m}"
    # Whether it comes to its end.
    is_whole: bool = True
    fields: tuple = ()
    trailers: tuple = ()
    interim: tuple = ()
    # How often the request may be sent (RFC 9110 section 9.2.2), and how often if
    # its method is not idempotent.
    attempts: tuple = (1,)
    attempts_once: tuple = (1,)


PASSED = Want()
EMPTY = Want(content=b"")
# RFC 9110 section 15.6.3: what is no response is not passed on. It may be asked for
# again, up to `GroupConfig.max_attempts`.
BAD = Want(502, attempts=(1, 2, 3))
# RFC 9112 section 9.3.1: a connection may have ended before the request came, or by
# what another stream of it has done, which is no attempt.
LOST = Want(502, attempts=(1, 2, 3, 4))
# RFC 9112 section 8, RFC 9113 section 8.1.1: a part is never shown as the whole.
CUT = Want(is_whole=False, attempts=(1, 2, 3, 4))
# RFC 9113 section 8.7: the upstream has said that it did nothing, whatever the
# method is.
AGAIN = Want(attempts=(2,), attempts_once=(2,))
TRAILERS = Want(trailers=(("x-sum", "7"),))


@dataclass(frozen=True)
class Row:
    """What an upstream of HTTP/1.1 does: a head, content behind it, the end. `{m}`
    is what names the request, and `{n}` its length."""

    rule: str
    want: Want
    head: bytes = b""
    content: bytes = b"{m}"
    closes: bool = False
    resets: bool = False
    # Whether it answers as soon as the head of the request is there.
    is_early: bool = False
    # Whether content comes behind the answer to HEAD, too, where none belongs.
    ignores_head: bool = False
    # Whether nothing more may be asked on the connection.
    is_spoilt: bool = False
    # What is to come of a method that is not idempotent, if it is something else.
    otherwise: Want | None = None
    # Whether its first attempt needs a connection that has served another one.
    needs_idle: bool = False
    # Of which requests there is such a rule.
    kinds: Callable[[Kind], bool] = lambda kind: True


def no_head(kind: Kind) -> bool:
    return kind.method != "HEAD"


def is_kept(kind: Kind) -> bool:
    """Whether all of it is here when it has been sent; a 100 is the beginning of an
    answer."""
    return len(kind.content) < 65_536 and not kind.asks


OK = b"HTTP/1.1 200 OK\r\n"
SIZED = OK + b"Content-Length: {n}\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n"
CHUNKS = b"1\r\n{0}\r\n{n-1}\r\n{m-0}\r\n0\r\n"
GZIP = bytes.fromhex("1f8b0800000000000003cb48cdc9c9070086a6103605000000")

HTTP1 = {
    "length": Row("9112-6.2", PASSED, SIZED),
    "chunks": Row("9112-7.1", PASSED, CHUNKED, CHUNKS + b"\r\n"),
    "chunk extensions": Row(
        "9112-7.1.1", PASSED, CHUNKED, b'{x};a=b;c="d;e"\r\n{m}\r\n0;f\r\n\r\n'
    ),
    "until the end": Row("9112-6.3 item 8", PASSED, OK, closes=True),
    "1.0": Row("9112-9.3", PASSED, b"HTTP/1.0 200 OK\r\n", closes=True),
    "1.0 kept alive": Row(
        "9112-C.2.2", PASSED,
        b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: {n}\r\n",
    ),
    "close": Row("9112-9.6", PASSED, SIZED + b"Connection: close\r\n", is_spoilt=True),
    "empty": Row("9112-6.2", EMPTY, OK + b"Content-Length: 0\r\n", b""),
    "204": Row("9110-15.3.5", replace(EMPTY, status=204), b"HTTP/1.1 204 N\r\n", b""),
    "204 and content": Row(
        "9112-6.3 item 1", replace(EMPTY, status=204),
        b"HTTP/1.1 204 N\r\nContent-Length: {n}\r\n", ignores_head=True, is_spoilt=True,
    ),
    "205": Row(
        "9110-15.3.6", replace(EMPTY, status=205),
        b"HTTP/1.1 205 R\r\nContent-Length: 0\r\n", b"",
    ),
    "304": Row(
        "9110-15.4.5", replace(EMPTY, status=304, fields=(("etag", '"a"'),)),
        b'HTTP/1.1 304 N\r\nETag: "a"\r\nContent-Length: 5000\r\n', b"",
    ),
    "304 in chunks": Row(
        "9112-6.1", replace(EMPTY, status=304),
        b"HTTP/1.1 304 N\r\nTransfer-Encoding: chunked\r\n", b"",
    ),
    "206": Row(
        "9110-15.3.7",
        replace(PASSED, status=206, fields=(("content-range", "bytes 0-9/50"),)),
        b"HTTP/1.1 206 P\r\nContent-Range: bytes 0-9/50\r\nContent-Length: {n}\r\n",
    ),
    "103 before": Row(
        "9110-15.2", replace(PASSED, interim=(103,)),
        b"HTTP/1.1 103 E\r\nLink: </a>\r\n\r\n" + SIZED,
    ),
    "100 before": Row(
        "9110-15.2.1", replace(PASSED, interim=(100,)),
        b"HTTP/1.1 100 C\r\n\r\n" + SIZED, kinds=lambda kind: not kind.asks,
    ),
    "trailers": Row(
        "9110-6.5", TRAILERS, CHUNKED + b"Trailer: X-Sum\r\n", CHUNKS + b"X-Sum: 7\r\n\r\n"
    ),
    "framing in trailers": Row(
        "9110-6.5.1", TRAILERS, CHUNKED,
        CHUNKS + b"Content-Length: 5\r\nX-Sum: 7\r\nTransfer-Encoding: chunked\r\n\r\n",
    ),
    "fields of the connection": Row(
        "9110-7.6.1", PASSED,
        SIZED + b"Connection: keep-alive, X-Own\r\nX-Own: 1\r\nKeep-Alive: timeout=5\r\n"
        b"Proxy-Connection: keep-alive\r\nUpgrade: h2c\r\nTE: x\r\n",
    ),
    "gzip": Row(
        "9110-8.4", replace(PASSED, content=GZIP, fields=(("content-encoding", "gzip"),)),
        OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n" % len(GZIP), GZIP,
    ),
    "fields twice": Row(
        "9110-5.3",
        replace(PASSED, fields=(("set-cookie", "a=1"), ("set-cookie", "b=2"))),
        SIZED + b"Set-Cookie: a=1\r\nSet-Cookie: b=2\r\n",
    ),
    "its own date": Row(
        "9110-6.6.1", replace(PASSED, fields=(("date", "Fri, 27 Nov 2020 17:00:00 GMT"),)),
        SIZED + b"Date: Fri, 27 Nov 2020 17:00:00 GMT\r\n",
    ),
    "more than announced": Row(
        "9112-6.3 item 6", PASSED, SIZED, b"{m}HTTP/1.1 200 OK\r\n\r\n",
        is_spoilt=True, kinds=no_head,
    ),
    "content behind head": Row(
        "9112-6.3 item 1", PASSED, SIZED, ignores_head=True, is_spoilt=True,
        kinds=lambda kind: kind.method == "HEAD",
    ),
    "refuses early and closes": Row(
        "9112-9.5", replace(PASSED, status=413),
        b"HTTP/1.1 413 L\r\nConnection: close\r\nContent-Length: {n}\r\n",
        closes=True, is_early=True, is_spoilt=True,
    ),
    "refuses what was asked for": Row(
        "9110-10.1.1", replace(PASSED, status=417),
        b"HTTP/1.1 417 E\r\nContent-Length: {n}\r\n", is_early=True,
        kinds=lambda kind: kind.asks,
    ),
    "answers early and reads on": Row("9112-9.3", PASSED, SIZED, is_early=True),
    "early in chunks": Row(
        "9112-9.3", PASSED, CHUNKED, CHUNKS + b"\r\n", is_early=True
    ),
    "cut": Row(
        "9112-8", CUT, OK + b"Content-Length: 5000\r\n", closes=True, is_spoilt=True
    ),
    "cut chunks": Row("9112-8", CUT, CHUNKED, b"{x}\r\n{m}\r\n", closes=True),
    "reset in content": Row("9112-8", CUT, OK + b"Content-Length: 5000\r\n", resets=True),
    "no chunk": Row("9112-7.1", CUT, CHUNKED, b"{x}\r\n{m}\r\nxyz\r\n\r\n", closes=True),
    "chunk of too much": Row(
        "9112-7.1", CUT, CHUNKED, b"{x}\r\n{m}\r\n%s\r\n\r\n" % (b"f" * 17), closes=True
    ),
    "two lengths": Row("9112-6.3 item 5", BAD, SIZED + b"Content-Length: 1\r\n"),
    "length and chunks": Row(
        "9112-6.3 item 3", BAD, SIZED + b"Transfer-Encoding: chunked\r\n",
        CHUNKS + b"\r\n", kinds=no_head,
    ),
    "lengths in a list": Row("9112-6.3 item 5", BAD, OK + b"Content-Length: 5, 6\r\n"),
    "1.0 in chunks": Row(
        "9112-6.1", BAD, b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n",
        CHUNKS + b"\r\n", kinds=no_head,
    ),
    "chunks are not last": Row(
        "9112-6.1", BAD, OK + b"Transfer-Encoding: chunked, gzip\r\n",
        CHUNKS + b"\r\n", kinds=no_head,
    ),
    "chunks twice": Row(
        "9112-6.1", BAD, OK + b"Transfer-Encoding: chunked, chunked\r\n",
        CHUNKS + b"\r\n", kinds=no_head,
    ),
    "nul in a value": Row("9110-5.5", BAD, SIZED + b"X-One: a\0b\r\n"),
    "return in a value": Row("9110-5.5", BAD, SIZED + b"X-One: a\rX-Two: b\r\n"),
    "no name": Row("9110-5.1", BAD, SIZED + b": 1\r\n"),
    "no token": Row("9110-5.1", BAD, SIZED + b"X One: 1\r\n"),
    "no length": Row("9112-6.3 item 5", BAD, OK + b"Content-Length: -1\r\n"),
    "unknown coding": Row(
        "9112-6.1", BAD, OK + b"Transfer-Encoding: what, chunked\r\n",
        CHUNKS + b"\r\n", kinds=no_head,
    ),
    "malformed": Row("9112-2.2", BAD, b"HTTP/1.1 200 OK\r\nNo field\r\n"),
    "space before colon": Row("9112-5.1", BAD, SIZED + b"X-One : 1\r\n"),
    "no http": Row("9112-2.3", BAD, b"SSH-2.0-OpenSSH_9.2\r\n", closes=True),
    "http 2": Row("9110-2.5", BAD, b"HTTP/2.0 200 OK\r\nContent-Length: {n}\r\n"),
    "status 99": Row("9110-15", BAD, b"HTTP/1.1 099 ?\r\nContent-Length: {n}\r\n"),
    "status 600": Row("9110-15", BAD, b"HTTP/1.1 600 ?\r\nContent-Length: {n}\r\n"),
    "long head": Row("9110-5.4", BAD, SIZED + b"X-Long: %s\r\n" % (b"x" * 70_000)),
    "101": Row("9110-15.2.2", BAD, b"HTTP/1.1 101 S\r\nUpgrade: x\r\nConnection: upgrade\r\n"),
    "nothing": Row("9112-9.5", LOST, closes=True),
    "reset": Row("9112-9.5", LOST, resets=True),
    "half a head": Row("9112-8", BAD, b"HTTP/1.1 200 OK\r\nContent-", closes=True),
    "only an interim": Row(
        "9110-15.2", replace(BAD, interim=(103,)), b"HTTP/1.1 103 E\r\n\r\n", closes=True
    ),
    "stale": Row(
        "9112-9.3.1", replace(PASSED, attempts=(2,)), SIZED, otherwise=LOST, needs_idle=True
    ),
}  # fmt: skip


@dataclass
class Cell:
    """What an upstream knows of one request, in all attempts."""

    mark: str
    row: object
    kind: Kind
    attempts: list[Asked] = field(default_factory=list)

    def written(self, octets: bytes) -> bytes:
        mark = self.mark.encode()
        for name, value in {
            b"{m}": mark, b"{n}": b"%d" % len(mark), b"{x}": b"%x" % len(mark),
            b"{0}": mark[:1], b"{m-0}": mark[1:], b"{n-1}": b"%x" % (len(mark) - 1),
        }.items():  # fmt: skip
            octets = octets.replace(name, value)
        return octets


class Upstream:
    """What both upstreams share: cells by the field that names them."""

    def __init__(self, handle: Callable, rows: dict) -> None:
        self.rows = rows
        self.cells: dict[str, Cell] = {}
        self.server = RawServer(handle)

    def begin(self, row: str, kind: Kind) -> Cell:
        mark = f"{row}/{kind.name}/{len(self.cells)}"
        self.cells[mark] = Cell(mark, self.rows[row], kind)
        return self.cells[mark]

    def note(self, asked: Asked) -> Cell:
        cell = self.cells[asked.all("x-cell")[0]]
        cell.attempts.append(asked)
        return cell


class Http1Upstream(Upstream):
    def __init__(self) -> None:
        super().__init__(self.handle, HTTP1)

    def handle(self, connection: Connection) -> None:
        asked: list[Asked] = []
        try:
            self.serve(connection, asked)
        finally:
            for one in asked:
                one.is_over = True

    def serve(self, connection: Connection, all_asked: list[Asked]) -> None:
        while head := connection.head():
            first, *lines = head.rstrip("\r\n").split("\r\n")
            method, target, _ = first.split(" ")
            fields = [
                (name.lower(), value.strip())
                for name, value in (line.split(":", 1) for line in lines)
            ]
            asked = Asked(method, target, fields, connection.number)
            cell = self.note(asked)
            all_asked.append(asked)
            if cell.row.needs_idle and len(cell.attempts) == 1:
                assert len(all_asked) > 1
                return
            if not cell.row.is_early:
                if cell.kind.asks:
                    connection.send(b"HTTP/1.1 100 Continue\r\n\r\n")
                self.read(connection, asked)
            if not self.answer(connection, cell):
                return
            if cell.row.is_early:
                self.read(connection, asked)

    def read(self, connection: Connection, asked: Asked) -> None:
        if "chunked" not in asked.all("transfer-encoding"):
            asked.content = connection.take(int((asked.all("content-length") or ["0"])[0]))
            asked.is_whole = True
            return
        while size := int(connection._line(), 16):
            asked.content += connection.take(size)
            assert connection.take(2) == b"\r\n"
        while line := connection._line():
            name, value = line.decode().split(":", 1)
            asked.trailers.append((name.lower(), value.strip()))
        asked.is_whole = True

    def answer(self, connection: Connection, cell: Cell) -> bool:
        """Tells whether it goes on with the connection."""
        row = cell.row
        if row.head:
            is_open = row.head.endswith((b"Content-", b"\r\n\r\n"))
            octets = cell.written(row.head) + (b"" if is_open else b"\r\n")
            if cell.kind.method != "HEAD" or row.ignores_head:
                octets += cell.written(row.content)
            connection.send(octets)
        if row.resets:
            connection.reset()
            return False
        if row.closes:
            connection.sock.shutdown(socket.SHUT_WR)
            while connection.sock.recv(65_536):
                pass
            return False
        return True


@dataclass(frozen=True)
class StreamRow:
    """What an upstream of HTTP/2 does on a stream."""

    rule: str
    want: Want
    does: Callable[["Stream"], None]
    is_early: bool = False
    kinds: Callable[[Kind], bool] = lambda kind: True
    otherwise: Want | None = None
    needs_idle: bool = False
    is_spoilt: bool = False


class Stream:
    """One request at an upstream of HTTP/2; content of an answer to HEAD is left
    out, unless it is `forced`."""

    def __init__(self, peer: Http2Peer, stream: int, cell: Cell) -> None:
        self.peer, self.id, self.cell = peer, stream, cell
        self.mark = cell.mark.encode()
        self.is_head = cell.kind.method == "HEAD"
        self.is_first = len(cell.attempts) == 1

    def head(self, *fields, status: int | str = 200, ends: bool = False) -> None:
        self.peer.head(self.id, *fields, status=status, ends=ends)

    def data(self, octets: bytes, ends: bool = True) -> None:
        self.peer.data(self.id, octets, ends)

    def trailers(self, *fields) -> None:
        flags = END_HEADERS | END_STREAM
        self.peer.send(frame(HEADERS, flags, self.id, block(*fields)))

    def reset(self, code: int) -> None:
        self.peer.reset(self.id, code)

    def say(self, *fields, status: int = 200, says_length: bool = True) -> None:
        """A whole answer."""
        if says_length:
            fields = (("content-length", str(len(self.mark))), *fields)
        self.head(*fields, status=status, ends=self.is_head)
        if not self.is_head:
            self.data(self.mark[:1], ends=False)
            self.data(self.mark[1:])

    def begin(self, *fields) -> None:
        """A part of an answer, of HEAD the whole."""
        self.head(*fields, ends=self.is_head)
        if not self.is_head:
            self.data(self.mark, ends=False)


def then(*calls: Callable[[Stream], object]) -> Callable[[Stream], None]:
    def run(stream: Stream) -> None:
        for call in calls:
            call(stream)

    return run


def first(call: Callable[[Stream], object]) -> Callable[[Stream], None]:
    """Does something with the first attempt, and answers the second."""
    return lambda stream: call(stream) if stream.is_first else stream.say()


def goaway(offset: int, code: int = NO_ERROR) -> Callable[[Stream], None]:
    return lambda stream: stream.peer.goaway(max(stream.id + offset, 0), code)


def close(stream: Stream) -> None:
    raise EOFError


def resets(code: int) -> Callable[[Stream], None]:
    return lambda stream: stream.reset(code)


say = Stream.say
CODES = [
    NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, FLOW_CONTROL_ERROR, STREAM_CLOSED,
    CANCEL, ENHANCE_YOUR_CALM,
]  # fmt: skip
HTTP2 = {
    "length": StreamRow("9113-8.1", PASSED, say),
    "no length": StreamRow("9113-8.1", PASSED, lambda s: s.say(says_length=False)),
    "empty": StreamRow(
        "9113-8.1", EMPTY, lambda s: s.head(("content-length", "0"), ends=True)
    ),
    "empty at last": StreamRow(
        "9113-8.1", EMPTY, then(Stream.head, lambda s: s.data(b"")), kinds=no_head
    ),
    "204": StreamRow(
        "9110-15.3.5", replace(EMPTY, status=204), lambda s: s.head(status=204, ends=True)
    ),
    "204 at last": StreamRow(
        "9113-8.1", replace(EMPTY, status=204),
        then(lambda s: s.head(status=204), lambda s: s.data(b"")),
    ),
    "205": StreamRow(
        "9110-15.3.6", replace(EMPTY, status=205), lambda s: s.head(status=205, ends=True)
    ),
    "304": StreamRow(
        "9113-8.1.1", replace(EMPTY, status=304, fields=(("etag", '"a"'),)),
        lambda s: s.head(("etag", '"a"'), ("content-length", "5000"), status=304, ends=True),
    ),
    "206": StreamRow(
        "9110-15.3.7",
        replace(PASSED, status=206, fields=(("content-range", "bytes 0-9/50"),)),
        lambda s: s.say(("content-range", "bytes 0-9/50"), status=206),
    ),
    "103 before": StreamRow(
        "9110-15.2", replace(PASSED, interim=(103,)),
        then(lambda s: s.head(("link", "</a>"), status=103), say),
    ),
    "100 before": StreamRow(
        "9110-15.2.1", replace(PASSED, interim=(100,)),
        then(lambda s: s.head(status=100), say), kinds=lambda kind: not kind.asks,
    ),
    "trailers": StreamRow(
        "9110-6.5", TRAILERS, then(Stream.begin, lambda s: s.trailers(("x-sum", "7"))),
        kinds=no_head,
    ),
    "framing in trailers": StreamRow(
        "9110-6.5.1", TRAILERS,
        then(Stream.begin, lambda s: s.trailers(("content-length", "5"), ("x-sum", "7"))),
        kinds=no_head,
    ),
    "padded": StreamRow(
        "9113-6.1", PASSED,
        then(
            Stream.head,
            lambda s: s.peer.send(
                frame(DATA, PADDED | END_STREAM, s.id, b"\3" + s.mark + bytes(3))
            ),
        ),
        kinds=no_head,
    ),
    "unknown frames": StreamRow(
        "9113-5.5", PASSED,
        then(lambda s: s.peer.send(frame(0xFA, 255, s.id, b"what")), say),
    ),
    "empty frames": StreamRow(
        "9113-6.1", PASSED,
        then(Stream.head, lambda s: s.data(b"", ends=False), lambda s: s.data(s.mark)),
        kinds=no_head,
    ),
    "gzip": StreamRow(
        "9110-8.4", replace(PASSED, fields=(("content-encoding", "gzip"),)),
        lambda s: s.say(("content-encoding", "gzip")),
    ),
    "fields twice": StreamRow(
        "9110-5.3",
        replace(PASSED, fields=(("set-cookie", "a=1"), ("set-cookie", "b=2"))),
        lambda s: s.say(("set-cookie", "a=1"), ("set-cookie", "b=2")),
    ),
    "its own date": StreamRow(
        "9110-6.6.1", replace(PASSED, fields=(("date", "Fri, 27 Nov 2020 17:00:00 GMT"),)),
        lambda s: s.say(("date", "Fri, 27 Nov 2020 17:00:00 GMT")),
    ),
    "refuses early": StreamRow(
        "9113-8.1", replace(PASSED, status=413),
        then(lambda s: s.say(status=413), resets(NO_ERROR)), is_early=True,
    ),
    "refuses what was asked for": StreamRow(
        "9110-10.1.1", replace(PASSED, status=417), lambda s: s.say(status=417),
        is_early=True, kinds=lambda kind: kind.asks,
    ),
    "answers early and reads on": StreamRow("9113-8.1", PASSED, say, is_early=True),
    "reset behind the answer": StreamRow("9113-8.1", PASSED, then(say, resets(NO_ERROR))),
    "more than announced": StreamRow(
        "9113-8.1.1", CUT,
        then(lambda s: s.head(("content-length", "1")), lambda s: s.data(s.mark)),
        kinds=no_head,
    ),
    "less than announced": StreamRow(
        "9113-8.1.1", CUT,
        then(lambda s: s.head(("content-length", "5000")), lambda s: s.data(s.mark)),
        kinds=no_head,
    ),
    "nothing of what was announced": StreamRow(
        "9113-8.1.1", CUT, lambda s: s.head(("content-length", "5"), ends=True),
        kinds=no_head,
    ),
    "two heads": StreamRow(
        "9113-8.1", CUT, then(Stream.begin, lambda s: s.head(ends=True)), kinds=no_head
    ),
    "interim behind the head": StreamRow(
        "9113-8.1", CUT,
        then(Stream.begin, lambda s: s.head(status=103), lambda s: s.data(b"")),
        kinds=no_head,
    ),
    "pseudo-field in trailers": StreamRow(
        "9113-8.1", CUT, then(Stream.begin, lambda s: s.trailers((":status", "200"))),
        kinds=no_head,
    ),
    "connection in trailers": StreamRow(
        "9113-8.2.2", CUT, then(Stream.begin, lambda s: s.trailers(("connection", "x"))),
        kinds=no_head,
    ),
    "cut by its connection": StreamRow("9113-8.1", CUT, then(Stream.begin, close)),
    "goaway in content": StreamRow(
        "9113-6.8", PASSED,
        then(lambda s: s.begin(), goaway(0), lambda s: s.is_head or s.data(b"")),
    ),
    "goaway and an answer": StreamRow("9113-6.8", PASSED, then(goaway(0), say)),
    "goaway for later ones": StreamRow(
        "9113-6.8", PASSED, then(lambda s: s.peer.goaway(LAST_ID), say)
    ),
    "goaway before": StreamRow("9113-6.8", AGAIN, first(goaway(-2)), kinds=is_kept),
    "goaway before, at an error": StreamRow(
        "9113-6.8", AGAIN, first(then(goaway(-2, ENHANCE_YOUR_CALM), close)),
        kinds=is_kept,
    ),
    "goaway before the content": StreamRow(
        "9113-6.8", AGAIN, first(goaway(-2)), is_early=True
    ),
    "goaway and no answer": StreamRow("9113-6.8", LOST, then(goaway(0), close)),
    "goaway at an error": StreamRow(
        "9113-6.8", LOST, then(goaway(0, INTERNAL_ERROR), close)
    ),
    "refused": StreamRow(
        "9113-8.7", AGAIN, first(resets(REFUSED_STREAM)), kinds=is_kept
    ),
    "refused before the content": StreamRow(
        "9113-8.7", AGAIN, first(resets(REFUSED_STREAM)), is_early=True
    ),
    "nothing": StreamRow("9113-8.7", LOST, close),
    "no status": StreamRow(
        "9113-8.3.2", BAD,
        lambda s: s.peer.send(frame(HEADERS, 5, s.id, block(("x-one", "1")))),
    ),
    "status twice": StreamRow(
        "9113-8.3", BAD, lambda s: s.head((":status", "200"), ends=True)
    ),
    "status 600": StreamRow("9110-15", BAD, lambda s: s.head(status=600, ends=True)),
    "status 99": StreamRow("9110-15", BAD, lambda s: s.head(status="099", ends=True)),
    "101": StreamRow("9113-8.6", BAD, lambda s: s.head(status=101)),
    "interim at last": StreamRow("9113-8.1", BAD, lambda s: s.head(status=103, ends=True)),
    "pseudo-field behind": StreamRow(
        "9113-8.3", BAD,
        lambda s: s.peer.send(
            frame(HEADERS, 5, s.id, block(("x-one", "1"), (":status", "200")))
        ),
    ),
    "field of the connection": StreamRow(
        "9113-8.2.2", BAD, lambda s: s.head(("connection", "close"), ends=True)
    ),
    "chunked": StreamRow(
        "9113-8.2.2", BAD, lambda s: s.head(("transfer-encoding", "chunked"), ends=True)
    ),
    "large letters": StreamRow(
        "9113-8.2.1", BAD, lambda s: s.head(("X-One", "1"), ends=True)
    ),
    "line break in a value": StreamRow(
        "9113-8.2.1", BAD, lambda s: s.head(("x-one", "1\r\nx-two: 2"), ends=True)
    ),
    "two lengths": StreamRow(
        "9113-8.1.1", BAD,
        lambda s: s.head(("content-length", "5"), ("content-length", "6"), ends=True),
    ),
    "long head": StreamRow(
        "9113-6.5.2", LOST,
        lambda s: [
            s.peer.send(frame(HEADERS, 1, s.id, block((":status", "200")))),
            *(
                s.peer.send(frame(
                    CONTINUATION, END_HEADERS if n == 4 else 0, s.id,
                    block(*((f"x-{n}-{m}", "x" * 4_000) for m in range(4))),
                ))
                for n in range(5)
            ),
        ],
    ),
    "pushed": StreamRow(
        "9113-8.4", LOST,
        lambda s: s.peer.send(
            frame(PUSH_PROMISE, END_HEADERS, s.id, struct.pack(">I", 2) + block())
        ),
    ),
    "content of head": StreamRow(
        "9113-8.1.1", BAD, then(Stream.head, lambda s: s.data(s.mark)),
        kinds=lambda kind: kind.method == "HEAD",
    ),
    "content of 204": StreamRow(
        "9113-8.1.1", BAD, then(lambda s: s.head(status=204), lambda s: s.data(s.mark))
    ),
    "content of 304": StreamRow(
        "9113-8.1.1", BAD, then(lambda s: s.head(status=304), lambda s: s.data(s.mark))
    ),
    "window of nothing": StreamRow(
        "9113-6.9.1", BAD,
        lambda s: s.peer.send(frame(WINDOW_UPDATE, 0, s.id, struct.pack(">I", 0))),
    ),
    "window too large": StreamRow(
        "9113-6.9.1", BAD,
        lambda s: s.peer.send(frame(WINDOW_UPDATE, 0, s.id, struct.pack(">I", LAST_ID))),
        is_early=True, kinds=lambda kind: kind.has_content and not kind.asks,
    ),
    "frame too large": StreamRow(
        "9113-4.2", CUT, then(Stream.begin, lambda s: s.data(bytes(16_385))), kinds=no_head
    ),
    "no field block": StreamRow(
        "9113-4.3", LOST,
        lambda s: s.peer.send(frame(HEADERS, 5, s.id, b"\xff\xff\xff\xff\xff\xff")),
    ),
    "content first": StreamRow("9113-8.1", BAD, lambda s: s.data(s.mark)),
} | {
    f"reset with {code}": StreamRow("9113-7", BAD, resets(code)) for code in CODES
} | {
    f"reset in content with {code}": StreamRow(
        "9113-8.1", CUT, then(Stream.begin, resets(code)), kinds=no_head
    )
    for code in CODES
}  # fmt: skip


class Http2Upstream(Upstream):
    def __init__(self) -> None:
        super().__init__(self.handle, HTTP2)

    def handle(self, connection: Connection) -> None:
        peer = Http2Peer(connection)
        peer.begin()
        decoder = Decoder()
        streams: dict[int, Stream] = {}
        while True:
            got = peer.read()
            if got.kind == HEADERS:
                assert got.flags & END_HEADERS
                fields = decoder.decode(got.payload)
                if got.stream in streams:
                    streams[got.stream].cell.attempts[-1].trailers = fields
                else:
                    streams[got.stream] = self.start(peer, connection, got, fields)
            elif got.kind == DATA and got.stream in streams:
                streams[got.stream].cell.attempts[-1].content += got.payload
                if got.payload:
                    more = struct.pack(">I", len(got.payload))
                    peer.send(frame(WINDOW_UPDATE, 0, 0, more))
                    peer.send(frame(WINDOW_UPDATE, 0, got.stream, more))
            if got.kind == PING and not got.flags & ACK:
                peer.send(frame(PING, ACK, 0, got.payload))
            if got.kind == RST_STREAM and got.stream in streams:
                streams[got.stream].cell.attempts[-1].is_over = True
            if got.kind in (HEADERS, DATA) and got.flags & END_STREAM:
                stream = streams[got.stream]
                stream.cell.attempts[-1].is_whole = True
                if not stream.cell.row.is_early:
                    stream.cell.row.does(stream)

    def start(self, peer, connection: Connection, got: Frame, fields: Fields) -> Stream:
        named = dict(fields)
        asked = Asked(
            named[":method"], named[":path"], fields, connection.number
        )
        stream = Stream(peer, got.stream, self.note(asked))
        if stream.cell.row.is_early:
            stream.cell.row.does(stream)
        elif stream.cell.kind.asks:
            stream.head(status=100)
        return stream

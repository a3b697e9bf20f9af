"""What a server may do, met by each kind of client over HTTP/1.1 and HTTP/2: a row
has one outcome, which its rule gives, and it is the same for all unless a rule says
otherwise.

The rules for the calls: `download_file` needs 200 or 206 of what it has asked for,
and `events` needs 200 with `text/event-stream`, or 204 for the end (docs/client.md);
all else is an `UnexpectedResponse` of theirs. Content from a source is read once, so
what would need it again is not repeated.
"""

import gzip
import http.client
import json
import ssl
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import brotlicffi
import pytest
from cell_server import (
    EVENT, STREAM, Answer, Asked, CellPeer, CellServer, frames, lower, sends,
)  # fmt: skip
from client_asker import Asker
from conftest import Server
from h2_frames import *
from raw_http2 import block
from raw_server import Connection
from wire_programs import built

PLAIN = ["plain", "plain batch", "plain open", "plain download"]
SHARED = ["shared", "shared batch", "shared open", "shared download"]
CACHED = ["cached", "cached batch", "cached open", "cached download"]
IN_MEMORY = [*PLAIN, *SHARED, *CACHED, "fetch"]
FROM_SOURCE = [
    f"{client} {call}"
    for client in ("plain", "shared", "cached")
    for call in ("upload", "stream", "conversation")
]  # fmt: skip
GET_ALONE = [
    f"{client} {call}"
    for client in ("plain", "shared", "cached")
    for call in ("events", "file", "conversation")
]  # fmt: skip
# Over TLS, too.
SECURE = ["plain", "plain open", "plain upload", "shared", "shared open", "cached", "fetch"]
KINDS = list(dict.fromkeys(IN_MEMORY + FROM_SOURCE + GET_ALONE))
POLICY = json.dumps({"base_pause_ms": 1})


@dataclass
class Want:
    """An outcome: a response, or the kind of an error."""

    status: int = 200
    content: bytes = EVENT
    fields: tuple = ()
    # Names of fields that are not there.
    absent: tuple = ()
    trailers: tuple = ()
    error: str = ""


OK = Want()


def fails(kind: str) -> Want:
    """`|` parts kinds where the kernel chooses: it resets a connection that is
    closed while there is something to read."""
    return Want(error=kind)


GONE = fails("NoResponse|ConnectionReset")


@dataclass
class Row:
    """What is asked, what the server does, and what the rule says comes of it."""

    rule: str
    answers: list
    want: Want = field(default_factory=Want)
    # What the server does over HTTP/2, if that is something else; [] for nothing
    # of the kind.
    http2: list | None = None
    # What comes of that, if it is something else.
    want2: Want | None = None
    method: str = "GET"
    octets: str = ""
    ask: dict = field(default_factory=dict)
    # What `events` has before the content's end is known.
    events: Want | None = None
    # What is said of calls that take their content from a source.
    from_source: Want | None = None
    # The requests as the server sees them: method and path within the cell.
    asked: tuple | None = None
    asked_from_source: tuple | None = None
    check: Callable[[list[Asked], str], None] | None = None
    # Whether the connection has carried a request before.
    is_warm: bool = False
    kinds: Callable[[str], bool] = lambda kind: True
    # What follows in the URL.
    path: str = ""

    def takes(self, kind: str) -> bool:
        call = kind.split()[-1]
        if not self.kinds(kind):
            return False
        if self.octets:
            return call not in ("events", "file")
        if call in ("upload", "stream"):
            return False
        if self.method != "GET" or self.ask.get("headers", {}).get("Range"):
            return call not in ("events", "file", "conversation")
        return True

    def is_from_source(self, kind: str) -> bool:
        return bool(self.octets) and kind in FROM_SOURCE

    def wanted(self, kind: str, version: int) -> Want:
        call = kind.split()[-1]
        want = self.want
        if version == 2 and self.want2:
            want = self.want2
        if self.is_from_source(kind) and self.from_source:
            want = self.from_source
        if call == "events" and self.events:
            return self.events
        if want.error:
            return want
        if call == "events" and want.status == 204:
            return Want(204, b"")
        if call == "events" and (want.status != 200 or EVENT not in want.content):
            return fails("UnexpectedResponse")
        if call == "file" and want.status != 200:
            return fails("UnexpectedResponse")
        return want


def gz(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


def zstd(content: bytes) -> bytes:
    """One block as it stands, in one segment (RFC 8878 section 3.1.1)."""
    header = (len(content) << 3 | 1).to_bytes(3, "little")
    return b"\x28\xb5\x2f\xfd\x20" + bytes([len(content)]) + header + content


def raw_deflate(content: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(content) + packer.flush()


def coded(coding: str, content: bytes, **more) -> Answer:
    return Answer(content=content, fields=(STREAM, ("Content-Encoding", coding)), **more)


def moved(status: int, to: str, **more) -> Answer:
    fields = (("Location", to), *more.pop("fields", ()))
    return Answer(status, b"moved", fields, **more)


def of(status: int, *fields, content: bytes = b"no") -> Answer:
    return Answer(status, content, fields)


def moved_away(far, at, asked: Asked) -> str:
    """Leads to the same server by another name, which is another origin."""
    sock = far.sock if isinstance(far, Connection) else far.connection.sock
    scheme = "https" if isinstance(sock, ssl.SSLSocket) else "http"
    host = asked.fields.get("host") or asked.fields[":authority"]
    other = "127.0.0.1" if host.startswith("localhost") else "localhost"
    port = sock.getsockname()[1]
    answer = moved(302, f"{scheme}://{other}:{port}{asked.target}next")
    if isinstance(far, Connection):
        asked.content = far.body(at)
        far.send(answer.octets(asked.method))
    else:
        far.answer_with(at, answer, asked.method)
    return ""


def lost_on_reuse(far, at, asked: Asked) -> str:
    """Closes without a word what was used before."""
    if isinstance(far, Connection):
        asked.content = far.body(at)
    if asked.on_used_connection:
        return "end"
    if isinstance(far, Connection):
        far.send(Answer().octets(asked.method))
    else:
        far.answer_with(at, Answer(), asked.method)
    return ""


def lost(far, at, asked: Asked) -> str:
    """Closes without a word."""
    if isinstance(far, Connection):
        asked.content = far.body(at)
    return "end"


def wants_content(far, at, asked: Asked) -> str:
    """Says 100, and answers once the content is there."""
    assert asked.fields["expect"] == "100-continue"
    if isinstance(far, Connection):
        far.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        asked.content = far.body(at)
        far.send(Answer().octets(asked.method))
    else:
        far.head(at, status=100)
        asked.content = far.content_of(at)
        far.answer_with(at, Answer(), asked.method)
    return ""


wants_content.is_early = True


def reset(code: int) -> Callable:
    def answer(peer: CellPeer, stream: int, asked: Asked) -> str:
        peer.reset(stream, code)
        return ""

    return answer


def goes_away(last: int, code: int = NO_ERROR, answers: bool = False) -> Callable:
    """Says GOAWAY for streams beyond `last` more than this one."""

    def answer(peer: CellPeer, stream: int, asked: Asked) -> str:
        peer.goaway(max(stream + last, 0), code)
        if answers:
            peer.answer_with(stream, Answer(), asked.method)
        return "end"

    return answer


def section(*fields) -> Callable:
    """Answers with a field section as it stands, and content."""

    def answer(peer: CellPeer, stream: int, asked: Asked) -> str:
        payload = block(*fields)
        first, rest = payload[:16_384], payload[16_384:]
        peer.send(frame(HEADERS, 0 if rest else END_HEADERS, stream, first))
        while rest:
            piece, rest = rest[:16_384], rest[16_384:]
            peer.send(
                frame(CONTINUATION, 0 if rest else END_HEADERS, stream, piece)
            )
        peer.data(stream, EVENT)
        return ""

    return answer


def fields_frame(*fields, ends: bool = False) -> Callable:
    flags = END_HEADERS | (END_STREAM if ends else 0)
    return lambda stream: frame(HEADERS, flags, stream, block(*fields))


def data_frame(octets: bytes, ends: bool = True) -> Callable:
    return lambda stream: frame(DATA, END_STREAM if ends else 0, stream, octets)


HEAD = fields_frame((":status", "200"), ("content-type", "text/event-stream"))


def h1(text: str, content: bytes = b"", end: str = "close") -> list:
    return [sends(text.replace("\n", "\r\n").encode("latin-1") + content, end)]


def contents(*wanted: bytes) -> Callable:
    def check(asked: list[Asked], kind: str) -> None:
        assert tuple(one.content for one in asked) == wanted

    return check


def keeps_secrets(asked: list[Asked], kind: str) -> None:
    assert asked[0].fields["authorization"] and asked[0].fields["cookie"]
    assert not {"authorization", "cookie"} & set(asked[1].fields)
    assert asked[1].fields["x-own"] == "1"


def has_field(index: int, name: str, value: str | None) -> Callable:
    def check(asked: list[Asked], kind: str) -> None:
        assert asked[index].fields.get(name) == value

    return check


LONG = "x" * 300_000
EMPTY_STREAM = Want(200, b"")
IS_GONE = fails("BadRequest")
TWICE = (("GET", ""), ("GET", ""))
ONCE = (("GET", ""),)
DIGEST = (
    "WWW-Authenticate",
    'Digest realm="r", nonce="n", qop="auth", algorithm=SHA-256',
)

FRAMING = {
    "length": Row("9112-6.2", [Answer()]),
    "chunked": Row("9112-7.1", [Answer(framing="chunked")]),
    "until close": Row("9112-6.3 (8)", [Answer(framing="close")]),
    "until close, HTTP/1.0": Row(
        "9112-6.3 (8)", [Answer(framing="close", minor=0)], http2=[]
    ),
    "HTTP/1.0 with a length": Row("9112-9.3", [Answer(minor=0)], http2=[]),
    "length 0": Row("9112-6.2", [Answer(content=b"")], EMPTY_STREAM),
    "no chunk": Row("9112-7.1", [Answer(content=b"", framing="chunked")], EMPTY_STREAM),
    "closed at once": Row("9112-6.3 (8)", [Answer(content=b"", framing="close")], EMPTY_STREAM),
    "octet by octet": Row("9112-2.2", [Answer(piece_len=1)]),
    "chunks octet by octet": Row("9112-7.1", [Answer(framing="chunked", piece_len=1)]),
    "HEAD": Row("9110-9.3.2", [Answer()], Want(200, b""), method="HEAD"),
    "HEAD in chunks": Row("9112-6.3 (1)", [Answer(framing="chunked")], Want(200, b""), method="HEAD"),
    "HEAD without framing": Row("9112-6.3 (1)", [Answer(framing="none")], Want(200, b""), method="HEAD"),
    "204": Row("9110-15.3.5", [Answer(204, b"", framing="none")], Want(204, b"")),
    "204 with a length": Row("9112-6.3 (1)", [Answer(204, b"", length=5)], Want(204, b"")),
    "204 with chunks": Row("9112-6.3 (1)", [Answer(204, b"", framing="chunked")], Want(204, b""), http2=[]),
    "304 unasked": Row("9112-6.3 (1)", [Answer(304, b"", length=13)], Want(304, b"")),
    "205": Row("9110-15.3.6", [Answer(205, b"")], Want(205, b"")),
    "205 with content": Row("9112-6.3 (6)", [Answer(205, b"ab")], Want(205, b"ab")),
    "206 unasked": Row(
        "9110-15.3.7", [Answer(206, fields=(STREAM, ("Content-Range", "bytes 0-12/13")))],
        Want(206, fields=("Content-Range: bytes 0-12/13",)),
    ),
    "206": Row(
        "9110-15.3.7", [Answer(206, EVENT[:4], (("Content-Range", "bytes 0-3/13"),))],
        Want(206, EVENT[:4]), ask={"headers": {"Range": "bytes=0-3"}},
    ),
    "trailers": Row(
        "9110-6.5", [Answer(framing="chunked", trailers=(("X-End", "1"),))],
        Want(trailers=("x-end: 1",)),
    ),
    "trailers behind nothing": Row(
        "9110-6.5", [Answer(content=b"", framing="chunked", trailers=(("X-End", "1"),))],
        Want(200, b"", trailers=("x-end: 1",)),
    ),
    "two equal lengths": Row(
        "9110-8.6", h1("HTTP/1.1 200 X\nContent-Type: text/event-stream\nContent-Length: 13\nContent-Length: 13\n\n", EVENT),
        http2=[],
    ),
    "a list of equal lengths": Row(
        "9110-8.6", h1("HTTP/1.1 200 X\nContent-Type: text/event-stream\nContent-Length: 13, 13\n\n", EVENT),
        http2=[],
    ),
    "two lengths": Row(
        "9112-6.3 (5)", h1("HTTP/1.1 200 X\nContent-Length: 13\nContent-Length: 5\n\n", EVENT),
        fails("MalformedResponse"),
        http2=[section((":status", "200"), ("content-length", "13"), ("content-length", "5"))],
    ),
    "length and chunks": Row(
        "9112-6.3 (3), spec 3",
        h1("HTTP/1.1 200 X\nContent-Length: 13\nTransfer-Encoding: chunked\n\n0\n\n"),
        fails("MalformedResponse"), http2=[],
    ),
    "an unknown transfer coding": Row(
        "9112-6.1", h1("HTTP/1.1 200 X\nTransfer-Encoding: x-own\n\n", EVENT),
        fails("MalformedResponse"),
        http2=[section((":status", "200"), ("transfer-encoding", "chunked"))],
    ),
    "content cut": Row("9112-8", [Answer(content=EVENT[:5], length=13, end="close")], fails("TruncatedResponse")),
    "chunks cut": Row(
        "9112-8", [Answer(content=EVENT[:8], framing="chunked", end="close")],
        fails("TruncatedResponse"),
    ),
    "content reset": Row(
        "9112-8", [Answer(content=EVENT[:5], length=13, end="reset")],
        fails("ConnectionReset"), http2=[Answer(content=EVENT[:5], length=13, end="reset", code=CANCEL)], want2=fails("StreamReset"),
    ),
    "more than the length": Row(
        "9113-8.1.1", [], fails("MalformedResponse"), http2=[Answer(length=5)],
    ),
    "less than the length": Row(
        "9113-8.1.1", [], fails("MalformedResponse"), http2=[Answer(length=99)],
    ),
    "head cut": Row(
        "9112-8", h1("HTTP/1.1 200 X\nContent-Length: 1"), fails("TruncatedResponse"), http2=[],
    ),
    "nothing at all": Row(
        "9110-9.2.2", [lost], GONE,
    ),
    "bare line feeds": Row(
        "9112-2.2, spec 3", [sends(b"HTTP/1.1 200 X\nContent-Type: text/event-stream\nContent-Length: 13\n\n" + EVENT)],
        http2=[],
    ),
    "a folded line": Row(
        "9112-5.2", h1("HTTP/1.1 200 X\nContent-Type: text/event-stream\nA: b\n c\nContent-Length: 13\n\n", EVENT),
        http2=[],
    ),
    "an octet that no field has": Row(
        "9110-5.5, 9113-8.2.1", h1("HTTP/1.1 200 X\nA: b\0c\n\n"), fails("MalformedResponse"),
        http2=[section((":status", "200"), ("a", "b\0c"))],
    ),
    "a field name in capitals": Row(
        "9113-8.2.1", [], fails("MalformedResponse"), http2=[section((":status", "200"), ("A", "b"))],
    ),
    "a field of one connection": Row(
        "9113-8.2.2", [], fails("MalformedResponse"), http2=[section((":status", "200"), ("connection", "close"))],
    ),
    "content before its head": Row(
        "9113-8.1", [], fails("MalformedResponse"), http2=[frames(data_frame(EVENT))],
    ),
    "an interim response that is all": Row(
        "9113-8.1", [], fails("MalformedResponse"), http2=[frames(fields_frame((":status", "103"), ends=True))],
    ),
    "trailers that are not the end": Row(
        "9113-8.1", [], fails("MalformedResponse"),
        http2=[frames(HEAD, data_frame(b"data", False), fields_frame(("a", "b")))],
    ),
    "a status in trailers": Row(
        "9113-8.1", [], fails("MalformedResponse"),
        http2=[frames(HEAD, data_frame(b"data", False), fields_frame((":status", "200"), ends=True))],
    ),
    "an empty frame at the end": Row(
        "9113-6.1", [], http2=[frames(HEAD, data_frame(EVENT, False), data_frame(b""))],
    ),
    "a head behind the end": Row(
        "9113-5.1", [], http2=[frames(HEAD, data_frame(EVENT), HEAD)],
    ),
    "no status": Row(
        "9112-4, 9113-8.3.2", h1("HTTP/1.1 \n\n"), fails("MalformedResponse"), http2=[section(("a", "b"))],
    ),
    "a huge head": Row(
        "docs/client.md", h1("HTTP/1.1 200 X\nA: " + "a" * 1_000_000 + "\n\n"),
        fails("ResponseTooLarge"), http2=[section((":status", "200"), ("a", "a" * 1_000_000))],
    ),
    "a head that stalls": Row(
        "docs/client.md", h1("HTTP/1.1 200 X\nA: ", end="stall"), fails("Timeout"),
        http2=[frames()], ask={"timeout_ms": 500},
    ),
    "content that stalls": Row(
        "docs/client.md", [Answer(content=EVENT[:5], length=13, end="stall")], fails("Timeout"),
        ask={"timeout_ms": 500},
    ),
}  # fmt: skip

INTERIM = {
    f"{name}, then 200": Row("9110-15.2", [Answer(interim=interim)], Want(absent=("link",)))
    for name, interim in {
        "100": ((100, ()),),
        "103": ((103, (("Link", "</a>; rel=preload"),)),),
        "199": ((199, ()),),
        "102 and 103": ((102, ()), (103, ()), (103, ())),
        # RFC 9112 section 6.3 (1): no content, whatever it says.
        "103 with a length": ((103, (("X-Length", "5"),)),),
    }.items()
} | {
    "103, then HEAD": Row("9110-15.2", [Answer(interim=((103, ()),))], Want(200, b""), method="HEAD"),
    "103, then 204": Row("9110-15.2", [Answer(204, b"", interim=((103, ()),), framing="none")], Want(204, b"")),
    "101 unasked": Row(
        "9110-15.2.2, 9113-8.6", h1("HTTP/1.1 101 X\nUpgrade: x\nConnection: upgrade\n\n"),
        fails("MalformedResponse"), http2=[section((":status", "101"))],
    ),
    "100, and nothing": Row(
        "9110-15.2", h1("HTTP/1.1 100 X\n\n"), fails("TruncatedResponse"), http2=[],
    ),
}  # fmt: skip

CODINGS = {
    name: Row("9110-8.4", [coded(coding, content)])
    for name, (coding, content) in {
        "gzip": ("gzip", gz(EVENT)),
        "x-gzip": ("x-gzip", gz(EVENT)),
        "GZIP": ("GZIP", gz(EVENT)),
        "two members of gzip": ("gzip", gz(EVENT[:5]) + gz(EVENT[5:])),
        "deflate": ("deflate", zlib.compress(EVENT)),
        "deflate without zlib": ("deflate", raw_deflate(EVENT)),
        "br": ("br", brotlicffi.compress(EVENT)),
        "zstd": ("zstd", zstd(EVENT)),
        "gzip, then br": ("gzip, br", brotlicffi.compress(gz(EVENT))),
        "identity": ("identity", EVENT),
        "unknown": ("x-own", EVENT),
    }.items()
} | {
    "gzip in chunks": Row("9110-8.4", [coded("gzip", gz(EVENT), framing="chunked")]),
    "gzip until close": Row("9110-8.4", [coded("gzip", gz(EVENT), framing="close")]),
    "gzip octet by octet": Row("9110-8.4", [coded("gzip", gz(EVENT), framing="chunked", piece_len=1)]),
    "gzip of nothing": Row("9110-8.4", [coded("gzip", gz(b""))], EMPTY_STREAM),
    "gzip with trailers": Row(
        "9110-6.5", [coded("gzip", gz(EVENT), framing="chunked", trailers=(("X-End", "1"),))],
        Want(trailers=("x-end: 1",)),
    ),
    "HEAD of gzip": Row("9110-9.3.2", [coded("gzip", gz(EVENT))], Want(200, b""), method="HEAD"),
    "304 of gzip": Row("9110-15.4.5", [Answer(304, b"", (("Content-Encoding", "gzip"),), length=99)], Want(304, b"")),
    "206 of gzip": Row(
        "9110-14.2", [Answer(206, b"part", (("Content-Encoding", "gzip"), ("Content-Range", "bytes 0-3/99")))],
        Want(206, b"part"), ask={"headers": {"Range": "bytes=0-3"}},
        # A range would be one of the content as coded.
        check=has_field(0, "accept-encoding", None),
    ),
    "an error in gzip": Row("9110-8.4", [Answer(404, gz(b"none"), (("Content-Encoding", "gzip"),))], Want(404, b"none")),
    "gzip cut": Row("9110-8.4", [coded("gzip", gz(EVENT)[:-9])], fails("BadContent"), events=OK),
    "gzip cut in chunks": Row("9110-8.4", [coded("gzip", gz(EVENT)[:-9], framing="chunked")], fails("BadContent"), events=OK),
    "gzip cut until close": Row("9110-8.4", [coded("gzip", gz(EVENT)[:-9], framing="close")], fails("BadContent"), events=OK),
    "no gzip": Row("9110-8.4", [coded("gzip", b"no gzip at all")], fails("BadContent")),
    "br cut": Row("9110-8.4", [coded("br", brotlicffi.compress(EVENT * 9)[:-3])], fails("BadContent")),
    "zstd cut": Row("9110-8.4", [coded("zstd", zstd(EVENT)[:-3])], fails("BadContent")),
    "deflate cut": Row("9110-8.4", [coded("deflate", zlib.compress(EVENT)[:-9])], fails("BadContent")),
    # A server that codes whatever it has codes nothing, too; all browsers take it.
    "empty gzip": Row("9110-8.4", [coded("gzip", b"")], EMPTY_STREAM),
    "empty gzip in chunks": Row("9110-8.4", [coded("gzip", b"", framing="chunked")], EMPTY_STREAM),
    "empty gzip until close": Row("9110-8.4", [coded("gzip", b"", framing="close")], EMPTY_STREAM),
}  # fmt: skip

REDIRECTS = {
    f"{status} of {method}": Row(
        f"9110-15.4, {status}", [moved(status, "next"), Answer()],
        Want(200, b"" if method == "HEAD" else EVENT), method=method,
        octets="content" if method in ("POST", "PUT") else "",
        asked=((method, ""), (then, "next")),
        from_source=IS_GONE if then == method else None,
        asked_from_source=((method, ""),) if then == method else None,
        check=contents(b"content", b"content" if then == method else b"")
        if method in ("POST", "PUT") else None,
    )
    for status, pairs in {
        301: {"GET": "GET", "HEAD": "HEAD", "POST": "GET", "PUT": "PUT"},
        302: {"GET": "GET", "HEAD": "HEAD", "POST": "GET", "PUT": "PUT"},
        303: {"GET": "GET", "HEAD": "HEAD", "POST": "GET", "PUT": "GET"},
        307: {"GET": "GET", "HEAD": "HEAD", "POST": "POST", "PUT": "PUT"},
        308: {"GET": "GET", "HEAD": "HEAD", "POST": "POST", "PUT": "PUT"},
    }.items()
    for method, then in pairs.items()
} | {
    "to a query": Row("9110-10.2.2", [moved(302, "?a"), Answer()], asked=(("GET", ""), ("GET", "?a"))),
    "with a fragment": Row("9110-10.2.2", [moved(302, "next#b"), Answer()], asked=(("GET", ""), ("GET", "next")), path="#a"),
    "in chunks": Row("9110-15.4", [moved(302, "next", framing="chunked"), Answer()], asked=(("GET", ""), ("GET", "next"))),
    "until close": Row("9110-15.4", [moved(302, "next", framing="close"), Answer()], asked=(("GET", ""), ("GET", "next"))),
    "with content that is no gzip": Row(
        "9110-15.4", [moved(302, "next", fields=(("Content-Encoding", "gzip"),)), Answer()],
        asked=(("GET", ""), ("GET", "next")),
    ),
    "to nowhere": Row("9110-15.4.3", [of(302)], Want(302, b"no"), asked=ONCE),
    "300": Row("9110-15.4.1", [of(300, ("Location", "next"))], Want(300, b"no"), asked=ONCE),
    "304 with a Location": Row("9110-15.4.5", [Answer(304, b"", (("Location", "next"),))], Want(304, b""), asked=ONCE),
    "201 with a Location": Row("9110-10.2.2", [of(201, ("Location", "next"))], Want(201, b"no"), asked=ONCE),
    "for ever": Row("docs/client.md", [moved(302, "./")], fails("TooManyRedirects")),
    "to a file": Row("9110-15.4", [moved(302, "file:///etc/passwd")], fails("RedirectRefused"), asked=ONCE),
    "to a place with a password": Row(
        "9110-4.2.4", [moved(302, "http://a:b@127.0.0.1:9/")], fails("RedirectRefused"), asked=ONCE,
    ),
    "to two places": Row(
        "9110-10.2.2", [moved(302, "a", fields=(("Location", "b"),))], fails("RedirectRefused"), asked=ONCE,
    ),
    "credentials stay at their origin": Row(
        "9110-15.4", [moved(302, "next"), Answer()], ask={"basic": "pw"},
        check=has_field(1, "authorization", "Basic YW5uOnB3"),
    ),
    "credentials do not leave their origin": Row(
        "9110-15.4", [moved_away, Answer()], asked=(("GET", ""), ("GET", "next")),
        ask={"basic": "pw", "headers": {"Cookie": "a=b", "X-Own": "1"}}, check=keeps_secrets,
    ),
    "octets behind it are no response": Row(
        "9112-6.3", [sends(moved(302, "next").octets("GET") + Answer(content=b"evil").octets("GET")), Answer()],
        asked=(("GET", ""), ("GET", "next")), http2=[],
    ),
    "cookies are kept on the way": Row(
        "6265bis-5.6", [moved(302, "next", fields=(("Set-Cookie", "a=b"),)), Answer()],
        check=has_field(1, "cookie", "a=b"),
    ),
}  # fmt: skip

STATUSES = {
    f"{status}": Row("9110-15.5, 15.6", [of(status)], Want(status, b"no"), asked=ONCE)
    for status in (400, 401, 403, 404, 407, 408, 409, 421, 425, 429, 451, 499, 500, 502, 503, 504, 599)
} | {
    "a status of no class": Row("9110-15", [of(999)], Want(999, b"no")),
    "401, Basic was sent": Row(
        "7617-2", [of(401, ("WWW-Authenticate", "Basic"))], Want(401, b"no"), ask={"basic": "pw"}, asked=ONCE,
        check=has_field(0, "authorization", "Basic YW5uOnB3"),
    ),
    "401, Digest": Row("7616-3.3", [of(401, DIGEST), Answer()], ask={"digest": "pw"}, asked=TWICE),
    "401, Digest, in vain": Row("7616-3.3", [of(401, DIGEST)], Want(401, b"no"), ask={"digest": "pw"}, asked=TWICE),
    "401, Digest, with content": Row(
        "7616-3.3", [of(401, DIGEST), Answer()], ask={"digest": "pw"}, method="POST", octets="content",
        asked=(("POST", ""), ("POST", "")), from_source=Want(401, b"no"), asked_from_source=(("POST", ""),),
    ),
    "408 where a connection was kept": Row(
        "9110-15.5.9", [Answer(408, b"no", on_reuse=True)], Want(408, b"no"), is_warm=True,
        kinds=lambda kind: not kind.endswith(("events", "file")),
    ),
    "429, then 200": Row("docs/client.md", [of(429, ("Retry-After", "0")), Answer()], ask={"policy": POLICY}, asked=TWICE),
    "503, then 200": Row(
        "docs/client.md", [of(503, ("X-Busy", "1")), Answer()], Want(absent=("x-busy",)),
        ask={"policy": POLICY}, asked=TWICE,
    ),
    "503 whose content is reset": Row(
        "docs/client.md", [Answer(503, b"no", (("X-Busy", "1"),), length=9, end="reset"), Answer()],
        Want(absent=("x-busy",)), ask={"policy": POLICY}, asked=TWICE,
    ),
    "503 with a date that was": Row(
        "9110-10.2.3", [of(503, ("Retry-After", "Fri, 27 Nov 2015 17:00:00 GMT")), Answer()],
        ask={"policy": POLICY}, asked=TWICE,
    ),
    "503 for long": Row(
        "docs/client.md", [of(503, ("Retry-After", "999")), Answer()], Want(503, b"no"),
        ask={"policy": POLICY}, asked=ONCE,
    ),
    "503 for ever": Row("docs/client.md", [of(503)], Want(503, b"no"), ask={"policy": POLICY}, asked=TWICE + ONCE),
    "503 of POST": Row(
        "9110-9.2.2", [of(503), Answer()], Want(503, b"no"), method="POST", octets="content",
        ask={"policy": POLICY}, asked=(("POST", ""),),
    ),
    "503 of POST that may be repeated": Row(
        "docs/client.md", [of(503), Answer()], method="POST", octets="content",
        ask={"policy": POLICY, "repeatable": 1}, asked=(("POST", ""), ("POST", "")),
        from_source=Want(503, b"no"), asked_from_source=(("POST", ""),),
    ),
    "503 whose content is cut": Row(
        "docs/client.md", [Answer(503, b"no", (("X-Busy", "1"),), length=9, end="close"), Answer()],
        Want(absent=("x-busy",)), ask={"policy": POLICY}, asked=TWICE,
    ),
}  # fmt: skip

CONTENT = {
    "POST": Row("9110-8.6", [Answer()], method="POST", octets="content", check=contents(b"content")),
    "POST of much": Row("9110-8.6", [Answer()], method="POST", octets=LONG, check=contents(LONG.encode())),
    "100-continue": Row(
        "9110-10.1.1", [wants_content], method="POST", octets="content", ask={"expect": 1},
        check=contents(b"content"),
    ),
    "417": Row(
        "9110-15.5.18", [Answer(417, b"no", (), early="close"), Answer()], method="POST", octets="content",
        ask={"expect": 1}, asked=(("POST", ""), ("POST", "")), check=contents(b"", b"content"),
    ),
    "417 whose content is late": Row(
        "9110-15.5.18", [Answer(417, b"no", (), early="close", is_late=True), Answer()], method="POST",
        octets="content", ask={"expect": 1}, asked=(("POST", ""), ("POST", "")),
        check=contents(b"", b"content"),
    ),
    "307 in place of 100": Row(
        "9110-10.1.1, 15.4.8", [moved(307, "next", early="close", is_late=True), wants_content],
        method="POST", octets="content", ask={"expect": 1}, asked=(("POST", ""), ("POST", "next")),
        check=contents(b"", b"content"),
    ),
    "303 in place of 100": Row(
        "9110-10.1.1, 15.4.4", [moved(303, "next", early="close", is_late=True), Answer()],
        method="POST", octets="content", ask={"expect": 1}, asked=(("POST", ""), ("GET", "next")),
        check=contents(b"", b""),
    ),
    "401 in place of 100": Row(
        "9110-10.1.1, 7616-3.3", [Answer(401, b"no", (DIGEST,), early="close", is_late=True), wants_content],
        method="POST", octets="content", ask={"expect": 1, "digest": "pw"},
        asked=(("POST", ""), ("POST", "")), check=contents(b"", b"content"),
    ),
    "503 in place of 100": Row(
        "9110-10.1.1, docs/client.md",
        [Answer(503, b"no", (), early="close", is_late=True), wants_content],
        method="PUT", octets="content", ask={"expect": 1, "policy": POLICY},
        asked=(("PUT", ""), ("PUT", "")), check=contents(b"", b"content"),
    ),
    "413 in place of 100": Row(
        "9110-10.1.1", [Answer(413, b"no", (), early="close", is_late=True)], Want(413, b"no"),
        method="POST", octets="content", ask={"expect": 1}, asked=(("POST", ""),), check=contents(b""),
    ),
    "an early 200 that takes all": Row(
        "9112-9.5", [Answer(early="goes on")], method="POST", octets=LONG,
    ),
    "an early 200 that closes": Row("9112-9.5", [Answer(early="close")], method="POST", octets=LONG, http2=[]),
    "an early 413 that takes all": Row(
        "9112-9.5", [Answer(413, b"no", (), early="goes on")], Want(413, b"no"), method="POST", octets=LONG,
    ),
    "an early 413 that closes": Row(
        "9112-9.5", [Answer(413, b"no", (), early="close")], Want(413, b"no"), method="POST", octets=LONG,
    ),
    "an early 200, and a reset": Row(
        "9113-8.1", [], method="POST", octets=LONG,
        http2=[Answer(early="x", end="reset", code=NO_ERROR)],
    ),
    "POST that gets nothing": Row(
        "9110-9.2.2", [lost], GONE, method="POST", octets="content", asked=(("POST", ""),),
    ),
}  # fmt: skip

CONNECTIONS = {
    "lost on reuse": Row(
        "9112-9.3.1", [lost_on_reuse, Answer()], is_warm=True, asked=TWICE,
        kinds=lambda kind: not kind.endswith(("events", "file")),
    ),
    "lost on reuse, of POST": Row(
        "9110-9.2.2", [lost_on_reuse, Answer()], GONE, method="POST", octets="content",
        is_warm=True, asked=(("POST", ""),),
    ),
    "lost, with a policy": Row("docs/client.md", [lost, Answer()], ask={"policy": POLICY}, asked=TWICE),
    "REFUSED_STREAM": Row("9113-8.7", [], http2=[reset(REFUSED_STREAM), Answer()], asked=TWICE),
    "REFUSED_STREAM, of POST": Row(
        "9113-8.7", [], http2=[reset(REFUSED_STREAM), Answer()], method="POST", octets="content",
        asked=(("POST", ""), ("POST", "")),
        from_source=fails("StreamReset"), asked_from_source=(("POST", ""),),
    ),
    "CANCEL": Row("9113-7", [], fails("StreamReset"), http2=[reset(CANCEL)], asked=ONCE),
    "INTERNAL_ERROR": Row("9113-7", [], fails("StreamReset"), http2=[reset(INTERNAL_ERROR)], asked=ONCE),
    "ENHANCE_YOUR_CALM": Row("9113-7", [], fails("StreamReset"), http2=[reset(ENHANCE_YOUR_CALM)], asked=ONCE),
    "CANCEL, with a policy": Row(
        "docs/client.md", [], http2=[reset(CANCEL), Answer()], ask={"policy": POLICY}, asked=TWICE,
    ),
    "NO_ERROR behind all of it": Row("9113-8.1", [], http2=[Answer(end="reset", code=NO_ERROR)]),
    "HTTP_1_1_REQUIRED": Row("9113-7", [], http2=[reset(HTTP_1_1_REQUIRED), Answer()], asked=TWICE),
    "HTTP_1_1_REQUIRED, of POST": Row(
        "9113-7", [], http2=[reset(HTTP_1_1_REQUIRED), Answer()], method="POST", octets="content",
        asked=(("POST", ""), ("POST", "")),
        from_source=fails("StreamReset"), asked_from_source=(("POST", ""),),
    ),
    "GOAWAY below it": Row("9113-6.8", [], http2=[goes_away(-2), Answer()], asked=TWICE),
    "GOAWAY below it, of POST": Row(
        "9113-6.8", [], http2=[goes_away(-2), Answer()], method="POST", octets="content",
        asked=(("POST", ""), ("POST", "")),
        from_source=fails("StreamReset"), asked_from_source=(("POST", ""),),
    ),
    "GOAWAY above it": Row("9113-6.8", [], http2=[goes_away(0, answers=True)], asked=ONCE),
    "GOAWAY with an error": Row(
        # Once more at once if the connection was used before (RFC 9112 section 9.3.1).
        "9113-6.8", [], GONE, http2=[goes_away(0, INTERNAL_ERROR)],
    ),
}  # fmt: skip

ROWS = {
    f"{group}: {name}": row
    for group, rows in {
        "framing": FRAMING, "interim": INTERIM, "coding": CODINGS, "redirect": REDIRECTS,
        "status": STATUSES, "content": CONTENT, "connection": CONNECTIONS,
    }.items()
    for name, row in rows.items()
}  # fmt: skip


class Lane:
    """A kind of client that speaks a version, in a process of its own."""

    def __init__(
        self, server: CellServer, kind: str, version: int, folder, **config
    ) -> None:
        self.server_of_cells = server
        self.kind, self.version, self.folder, self.count = kind, version, folder, 0
        config["cookies"] = 1
        if version == 2:
            config["h2c"] = 1
        if kind == "fetch":
            self.server = Server(built("asker", "clients"), [json.dumps(config)])
        else:
            self.asker = Asker(built("asker", "clients"))
            self.asker.client(**config)

    def ask(self, **command) -> dict:
        if self.kind != "fetch":
            return self.asker.ask(**command)
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30)
        connection.request("POST", "/", json.dumps(command))
        told = json.loads(connection.getresponse().read())
        connection.close()
        return told

    def __str__(self) -> str:
        return f"{self.kind} over HTTP/{self.version} at {self.server_of_cells.url}"

    def run(self, row: Row) -> str:
        """Meets one cell; what is wrong with it, if anything is."""
        server = self.server_of_cells
        answers = row.answers
        if self.version == 2 and row.http2 is not None:
            answers = row.http2
        if not row.takes(self.kind) or not answers:
            return ""
        client = self.kind.split()[0]
        if row.is_warm:
            url = server.cell(f"warm-{self.kind}-{self.version}".replace(" ", "-"), [Answer()])
            self.ask(url=url, by=client)
        self.count += 1
        cell = f"{self.kind.replace(' ', '-')}-{self.version}-{self.count}"
        command = {
            "url": server.cell(cell, answers) + row.path,
            "by": self.kind, "method": row.method, "shows_sink": 1,
            "path": str(self.folder / cell),
        } | row.ask  # fmt: skip
        if row.octets:
            command["octets"] = row.octets
        got = self.ask(**command)
        return self._wrong(row, got, server.cells[cell].asked, cell)

    def _wrong(self, row: Row, got: dict, asked: list[Asked], cell: str) -> str:
        want = row.wanted(self.kind, self.version)
        call = self.kind.split()[-1]
        if want.error or "kind" in got:
            found = got.get("kind", f"{got.get('status')} {got.get('body')!r}")
            if found not in want.error.split("|"):
                return f"{found} ({got.get('text')}), not {want.error or want}"
        else:
            found = (got["status"], got["body"].encode())
            if found != (want.status, want.content):
                return f"{found}, not {(want.status, want.content)}"
            if call not in ("events", "file"):
                fields = [line.lower() for line in got["headers"]]
                lost = [line for line in want.fields if line.lower() not in fields]
                names = {line.split(":")[0] for line in fields}
                if more := names.intersection(want.absent):
                    return f"{more} are of another response"
                trailers = [line.lower() for line in got["trailers"]]
                if lost or trailers != list(want.trailers):
                    return f"{lost} are missing, trailers are {trailers}"
        wanted = row.asked
        if row.is_from_source(self.kind) and row.asked_from_source:
            wanted = row.asked_from_source
        seen = tuple(
            (one.method, one.target.split(f"/{cell}/")[1]) for one in asked
        )
        if wanted is not None and seen != wanted:
            return f"asked {seen}, not {wanted}"
        if row.check and not (row.is_from_source(self.kind) and row.from_source):
            try:
                row.check(asked, self.kind)
            except AssertionError as error:
                return f"the server saw {str(error)[:300]}"
        return ""

    def close(self) -> None:
        if self.kind == "fetch":
            assert self.server.stop() == 0
        else:
            assert self.asker.process.poll() is None, self.kind
            assert self.asker.close() == 0


def secure_server(certs, protocols: list[str]) -> CellServer:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certs / "good_chain.pem", certs / "good.key")
    context.set_alpn_protocols(protocols)
    return CellServer(context)


@pytest.fixture(scope="module")
def table(tmp_path_factory, certs):
    folder = tmp_path_factory.mktemp("files")
    server = CellServer()
    lanes = [
        Lane(server, kind, version, folder) for kind in KINDS for version in (1, 2)
    ]
    servers = [server]
    for version, protocols in ((1, ["http/1.1"]), (2, ["h2", "http/1.1"])):
        servers.append(secure_server(certs, protocols))
        for kind in SECURE:
            root = str(certs / "root.pem")
            lanes.append(Lane(servers[-1], kind, version, folder, ca_file=root))
    with ThreadPoolExecutor(len(lanes)) as pool:
        yield lanes, pool
    for server in servers:
        server.close()
    for lane in lanes:
        lane.close()


@pytest.mark.parametrize("name", ROWS)
def test_all_kinds_of_client(table, name):
    lanes, pool = table
    row = ROWS[name]
    found = pool.map(lambda lane: lane.run(row), lanes)
    wrong = [f"{lane}: {text}" for lane, text in zip(lanes, found) if text]
    assert not wrong, f"RFC or rule {row.rule}:\n" + "\n".join(wrong)

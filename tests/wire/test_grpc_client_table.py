"""Our client of gRPC, gRPC-Web and Connect as a table: what a server may say, times
the protocols, the kinds of methods and the versions of HTTP. A row's outcome follows
from the rule in it, and is the same for all of them unless a rule says otherwise.

Sources: PROTOCOL-HTTP2.md, PROTOCOL-WEB.md, statuscodes.md, compression.md and
http-grpc-status-mapping.md of gRPC; the Connect protocol reference.
"""

import base64
import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest
from cell_server import Answer, CellPeer, CellServer, frames
from conftest import running_client
from grpc_support import Caller, frame as message
from grpc_ways import BOTH, CLIENT, CODES, KINDS, METHODS, SERVER, UNARY, WAYS, Way
from h2_frames import *
from raw_http2 import block

LEN_MAX = 1_000


@dataclass
class Said:
    """What a server says on a call, before a way has its form for it."""

    messages: list[bytes] = field(default_factory=lambda: [b"m"])
    code: object = 0
    text: str | None = None
    head: tuple = ()
    trailing: tuple = ()
    # In place of prefix and message, or what stands behind them.
    raw: bytes | None = None
    flag: int = 0
    # Whether the end is said at all.
    has_end: bool = True
    status: int = 200
    type: str = ""
    more: dict = field(default_factory=dict)


def status_fields(said: Said) -> list[tuple[str, str]]:
    fields = [("grpc-status", str(said.code))] if said.code is not None else []
    if said.text is not None:
        fields.append(("grpc-message", said.text))
    return fields + list(said.trailing)


def error_of(said: Said) -> dict:
    code = said.code
    if isinstance(code, int):
        code = CODES[code].lower().replace("cancelled", "canceled")
    error = {"code": code} if code is not None else {}
    if said.text is not None:
        error["message"] = said.text
    return error


def answer_of(way: Way, kind: int, said: Said) -> Answer:
    """Writes it as a response of the way."""
    type = said.type or way.type(kind)
    head = [("content-type", type), *said.head]
    status = said.status
    if way.is_plain(kind):
        head += [("trailer-" + name, value) for name, value in said.trailing]
        content = b"".join(said.messages) if said.raw is None else said.raw
        if said.code != 0:
            status = 500 if status == 200 else status
            head[0] = ("content-type", "application/json")
            content = json.dumps(error_of(said)).encode() if said.raw is None else said.raw
        return Answer(status, content, tuple(head), **said.more)
    content = b"".join(message(one, said.flag) for one in said.messages)
    if said.raw is not None:
        content = said.raw
    trailers = ()
    if not said.has_end:
        pass
    elif way.family == "grpc":
        trailers = tuple(status_fields(said))
    elif way.is_connect:
        end = {} if said.code == 0 else {"error": error_of(said)}
        if said.trailing:
            end["metadata"] = {name: [value] for name, value in said.trailing}
        content += message(json.dumps(end).encode(), 2)
    else:
        lines = "".join(f"{name}: {value}\r\n" for name, value in status_fields(said))
        content += message(lines.encode(), 0x80)
    more = {"framing": "none"} if way.family == "grpc" else {}
    if way.family == "grpc-web-text":
        content = base64.b64encode(content)
    return Answer(status, content, tuple(head), trailers, **(more | said.more))


@dataclass
class Row:
    rule: str
    want: str | Callable = "OK"
    said: Said | Callable = field(default_factory=Said)
    words: str = ""
    ways: Callable = lambda way, kind: True
    kinds: tuple = tuple(KINDS)
    # In place of what is said: makes an answer of its own.
    answer: Callable | None = None
    # How many messages the caller has got.
    count: int | None = None
    check: Callable | None = None
    ask: dict = field(default_factory=dict)


def framed(way: Way, kind: int) -> bool:
    return not way.is_plain(kind)


def plain(way: Way, kind: int) -> bool:
    return way.is_plain(kind)


def connect(way: Way, kind: int) -> bool:
    return way.is_connect


def not_connect(way: Way, kind: int) -> bool:
    return not way.is_connect


def over_http2(way: Way, kind: int) -> bool:
    return way.version == "2"


def over_http1(way: Way, kind: int) -> bool:
    return way.version == "1.1"


def of_one(one: str, many: str = "OK") -> Callable:
    return lambda way, kind: one if kind in (UNARY, CLIENT) else many


def coded(name: str, **more) -> Callable:
    return lambda way, kind: Said(head=((way.coding_field(kind), name),), **more)


def packed(octets: bytes, **more) -> Callable:
    return coded("gzip", messages=[gzip.compress(octets, mtime=0)], flag=1, **more)


def only_head(**more) -> Callable:
    """PROTOCOL-HTTP2.md, "Trailers-Only"."""

    def answer(way: Way, kind: int) -> Answer:
        fields = [("content-type", way.type(kind)), *more.get("fields", ())]
        more_of = {"framing": "none"} if way.version == "2" else {}
        return Answer(more.get("status", 200), b"", tuple(fields), **more_of)

    return answer


def by_http(status: int, *fields: tuple[str, str], content: bytes = b"<p>") -> Callable:
    """What something else answers that stands in the way."""
    fields = fields or (("content-type", "text/html"),)
    return lambda way, kind: Answer(status, content, fields)


def resets(code: int) -> Callable:
    """Amid the response, behind a message."""

    def answer(way: Way, kind: int) -> Callable:
        def head(stream: int) -> bytes:
            fields = [(":status", "200"), ("content-type", way.type(kind))]
            return frame(HEADERS, END_HEADERS, stream, block(*fields))

        def data(stream: int) -> bytes:
            return frame(DATA, 0, stream, message(b"m"))

        def reset(stream: int) -> bytes:
            return frame(RST_STREAM, 0, stream, code.to_bytes(4, "big"))

        return frames(head, data, reset)

    return answer


def metadata(name: str, *values: str, where: str = "headers") -> Callable:
    def check(way: Way, kind: int, told: dict) -> list[str]:
        wanted = [f"{name}: {value}" for value in values]
        found = [one for one in told[where] if one.startswith(name + ":")]
        return [] if found == wanted else [f"{where}: {found}, not {wanted}"]

    return check


# PROTOCOL-HTTP2.md, "Errors".
RESETS = {
    NO_ERROR: "INTERNAL", PROTOCOL_ERROR: "INTERNAL", INTERNAL_ERROR: "INTERNAL",
    FLOW_CONTROL_ERROR: "INTERNAL", SETTINGS_TIMEOUT: "INTERNAL", FRAME_SIZE_ERROR: "INTERNAL",
    REFUSED_STREAM: "UNAVAILABLE", CANCEL: "CANCELLED", COMPRESSION_ERROR: "INTERNAL",
    10: "INTERNAL", ENHANCE_YOUR_CALM: "RESOURCE_EXHAUSTED", 12: "PERMISSION_DENIED",
}  # fmt: skip
# http-grpc-status-mapping.md, and "HTTP to Error Code" of Connect.
BY_HTTP = {
    400: "INTERNAL", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "UNIMPLEMENTED",
    429: "UNAVAILABLE", 502: "UNAVAILABLE", 503: "UNAVAILABLE", 504: "UNAVAILABLE",
    500: "UNKNOWN", 418: "UNKNOWN", 302: "UNKNOWN",
}  # fmt: skip

ROWS = {
    "a message": Row("PROTOCOL-HTTP2 Responses", count=1),
    "an octet a piece": Row("PROTOCOL-HTTP2 frame boundaries", said=Said(more={"piece_len": 1}),
                            count=1),
    "an empty message": Row("PROTOCOL-HTTP2 Message", said=Said([b""]), count=1),
    "none": Row("statuscodes cardinality", of_one("UNIMPLEMENTED"), Said([]), ways=framed, count=0),
    "two": Row("statuscodes cardinality", of_one("UNIMPLEMENTED"), Said([b"m", b"n"]),
               ways=framed),
    "cut prefix": Row("PROTOCOL-HTTP2 Length-Prefixed-Message", "INTERNAL", Said(raw=b"\0\0\0"),
                      ways=lambda w, k: w.family == "grpc"),
    "cut message": Row("PROTOCOL-HTTP2 Length-Prefixed-Message", "INTERNAL",
                       Said(raw=message(b"abc")[:-1], has_end=False), ways=lambda w, k: framed(
                           w, k) and w.family != "grpc"),
    "cut before the status": Row("PROTOCOL-HTTP2 Length-Prefixed-Message", "INTERNAL",
                                 Said(raw=message(b"abc")[:-1]),
                                 ways=lambda w, k: w.family == "grpc"),
    "a length beyond all": Row("statuscodes: larger than is allowed", "RESOURCE_EXHAUSTED",
                               Said(raw=b"\0\xff\xff\xff\xff"), "4294967295", framed),
    "beyond the bound": Row("statuscodes: larger than is allowed", "RESOURCE_EXHAUSTED",
                            Said([b"m" * (LEN_MAX + 1)])),
    "as long as the bound": Row("statuscodes: larger than is allowed", "OK",
                                Said([b"m" * LEN_MAX]), count=1),
    "beyond it unpacked": Row("statuscodes: larger than is allowed", "RESOURCE_EXHAUSTED",
                              packed(b"m" * 9_999)),
    "a flag of 4": Row("PROTOCOL-HTTP2 Compressed-Flag", "INTERNAL", Said(flag=4), "first octet",
                       framed),
    "packed": Row("compression.md", said=packed(b"abc"), count=1),
    "packed in capitals": Row("9110-8.4.1 codings compare without case", ways=plain, count=1,
                              said=coded("GZIP", messages=[gzip.compress(b"abc")])),
    "not packed": Row("compression.md: a message need not be", said=coded("gzip"), ways=framed,
                      count=1),
    "identity": Row("compression.md", said=coded("identity"), count=1),
    "packed without a coding": Row("PROTOCOL-HTTP2 Compressed-Flag", "INTERNAL", Said(flag=1),
                                   "no coding", framed),
    "no gzip": Row("compression.md", "INTERNAL", coded("gzip", flag=1), "compressed"),
    "unknown coding": Row("compression.md: INTERNAL at the client", "INTERNAL", coded("br"),
                          "'br'"),
    "no status": Row("PROTOCOL-HTTP2 Trailers: Status is required", "UNKNOWN",
                     Said(code=None, trailing=(("x", "y"),)), "no grpc-status", not_connect),
    "no end": Row("PROTOCOL-HTTP2 Trailers, Connect EndStreamResponse", "INTERNAL",
                  Said(has_end=False), "without", framed),
    "no octets": Row("PROTOCOL-HTTP2 Trailers", "INTERNAL", Said([], has_end=False), "", framed),
    "a message text": Row("PROTOCOL-HTTP2 Status-Message", "ABORTED",
                          Said(code=10, text="%E2%82%AC 100%25"), "\u20ac 100%", not_connect),
    "a broken text": Row("PROTOCOL-HTTP2 Status-Message: must not fail", "ABORTED",
                         Said(code=10, text="%zz%4%"), "%zz%4%", not_connect),
    "a text of Connect": Row("Connect Error", "ABORTED", Said(code=10, text="\u20ac 100%25"),
                             "\u20ac 100%25", connect),
    "metadata before": Row("PROTOCOL-HTTP2 Custom-Metadata", said=Said(
        head=(("x-a", "1, 2"), ("x-a", "3"), ("grpc-odd", "x"))), check=metadata(
            "x-a", "1, 2", "3")),
    "octets before": Row("PROTOCOL-HTTP2 Binary-Header: split at commas", said=Said(
        head=(("x-bin", "AA==,AAE"),)), check=metadata("x-bin", "AA==", "AAE")),
    "names in capitals": Row("9110-5.1 names without case", ways=over_http1, said=Said(
        head=(("X-A", "1"),)), check=metadata("x-a", "1")),
    "reserved names": Row("PROTOCOL-HTTP2: grpc- is reserved", said=Said(
        head=(("grpc-odd", "x"),)), check=metadata("grpc-odd")),
    "metadata behind": Row("PROTOCOL-HTTP2 Trailers", said=Said(trailing=(("x-b", "1"),)),
                           check=metadata("x-b", "1", where="trailers")),
    "metadata of a failure": Row("PROTOCOL-HTTP2 Trailers", "ABORTED",
                                 Said(code=10, trailing=(("x-b", "1"),)),
                                 check=metadata("x-b", "1", where="trailers")),
    "only a head": Row("PROTOCOL-HTTP2 Trailers-Only", "PERMISSION_DENIED", ways=not_connect,
                       answer=only_head(fields=(("grpc-status", "7"), ("grpc-message", "no"),
                                                ("x-b", "1"))),
                       words="no", check=metadata("x-b", "1", where="trailers")),
    "only a head, a success": Row("statuscodes cardinality", of_one("UNIMPLEMENTED"),
                                  ways=not_connect,
                                  answer=only_head(fields=(("grpc-status", "0"),)), count=0),
    "a failure of HTTP with a status": Row(
        "http-grpc-status-mapping: grpc-status must be used", "NOT_FOUND", ways=not_connect,
        answer=only_head(status=503, fields=(("grpc-status", "5"),))),
    "another type": Row("PROTOCOL-HTTP2 Content-Type", "UNKNOWN", Said(type="text/html"),
                        "text/html"),
    "no type": Row("PROTOCOL-HTTP2 Content-Type", "UNKNOWN",
                   answer=by_http(200, ("x-a", "b")), words="without"),
    "a type with a parameter": Row("9110-8.3.1", said=lambda w, k: Said(
        type=w.type(k) + "; charset=utf-8"), count=1),
    "a type in capitals": Row("9110-8.3.1 types compare without case", said=lambda w, k: Said(
        type=w.type(k).upper()), count=1),
    "another codec": Row("PROTOCOL-HTTP2 Content-Type", "INTERNAL", said=lambda w, k: Said(
        type=replace(w, codec="json" if w.codec == "proto" else "proto").type(k)),
                         ways=lambda w, k: w.family != "grpc-web-text"),
    "an interim response": Row("9110-15.2", said=Said(more={"interim": ((103, (("x", "y"),)),)}),
                               count=1),
    "in chunks": Row("9112-7.1", said=Said(more={"framing": "chunked"}), ways=over_http1,
                     count=1),
    "to the end": Row("9112-6.3", said=Said(more={"framing": "close"}), ways=over_http1, count=1),
    "broken off": Row("statuscodes: the connection is lost", "UNAVAILABLE", Said(
        has_end=False, more={"length": 100, "end": "close", "framing": "length"})),
    "over the time": Row("statuscodes", "DEADLINE_EXCEEDED", Said(
        has_end=False, more={"length": 100, "end": "stall", "framing": "length"}),
                         ask={"timeout_ms": 60}, kinds=(UNARY, BOTH),
                         ways=lambda w, k: w.codec == "proto" and w.version == "2"),
    "an end of no JSON": Row("Connect EndStreamResponse", "INTERNAL",
                             Said(raw=message(b"{", 2), has_end=False), "end of the stream",
                             lambda w, k: w.is_connect and framed(w, k)),
    "behind the end": Row("Connect EndStreamResponse is last", "INTERNAL",
                          Said(raw=message(b"{}", 2)), "behind",
                          lambda w, k: w.is_connect and framed(w, k)),
    "behind the trailers": Row("PROTOCOL-WEB: trailers are last", "INTERNAL",
                               Said(raw=message(b"grpc-status: 0\r\n", 0x80)), "behind",
                               lambda w, k: w.family == "grpc-web"),
    "trailers in capitals": Row("PROTOCOL-WEB, 9110-5.1", "ABORTED", Said(
        raw=message(b"Grpc-Status:10\r\nGrpc-Message:  so  \r\n", 0x80), has_end=False), "so",
                                lambda w, k: w.family == "grpc-web"),
    "an error without a code": Row("Connect Error: by HTTP", "UNAVAILABLE",
                                   Said(code=None, status=503), ways=plain),
    "an error of no name": Row("Connect Error: by HTTP", "UNIMPLEMENTED",
                               Said(code="nope", status=404), ways=plain),
    "an error that is none": Row("Connect Error: by HTTP", "PERMISSION_DENIED", Said(
        code=1, raw=b"[]", status=403), "403", plain),
    "an end of no name": Row("Connect Error", "UNKNOWN", Said(code="nope"),
                             ways=lambda w, k: w.is_connect and framed(w, k)),
    "ok is no error": Row("Connect Error", "UNKNOWN", Said(code="ok", status=500), ways=connect),
}  # fmt: skip
for number, name in enumerate(CODES):
    if number:
        ROWS[name] = Row("statuscodes, Connect Error Codes", name, Said(code=number))
for text in ("17", "99", "-1", "zero", "", "+1", "1.0", "4294967296"):
    ROWS[f"status {text!r}"] = Row(
        "PROTOCOL-HTTP2 Status: digits of a code", "UNKNOWN", Said(code=text), ways=not_connect
    )
for status, name in BY_HTTP.items():
    ROWS[f"HTTP {status}"] = Row(
        "http-grpc-status-mapping", name, answer=by_http(status), words=str(status)
    )
for number, name in RESETS.items():
    ROWS[f"reset {number}"] = Row(
        "PROTOCOL-HTTP2 Errors", name, answer=resets(number),
        ways=lambda w, k: over_http2(w, k) and w.family == "grpc",
    )  # fmt: skip


@pytest.fixture(scope="module")
def program():
    yield from running_client("grpc_caller")


@pytest.fixture(scope="module")
def cells():
    server = CellServer()
    yield server
    server.close()


def faults_of(caller: Caller, cells: CellServer, row: Row, way: Way, kind: int) -> list[str]:
    made = row.answer(way, kind) if row.answer else None
    if not made:
        said = row.said(way, kind) if callable(row.said) else row.said
        made = answer_of(way, kind, said)
    name = f"c{len(cells.cells)}.S"
    cells.cell(name, [made])
    id = caller.begin(f"/{name}/M", kind, **row.ask)
    caller.ask(do="send", id=id, message="m")
    if kind in (CLIENT, BOTH):
        caller.ask(do="finish", id=id)
    got = caller.ask(do="count", id=id)
    told = caller.ask(do="status", id=id)
    caller.ask(do="drop", id=id)
    want = row.want(way, kind) if callable(row.want) else row.want
    if got["code"] != want:
        return [f"{got['code']} {got['text']!r}, not {want}"]
    if told["code"] != want:
        return [f"then {told['code']}"]
    # What OK says is of no interest.
    if want != "OK" and row.words not in got["text"]:
        return [f"{got['text']!r} lacks {row.words!r}"]
    if row.count is not None and got["count"] != row.count:
        return [f"{got['count']} messages, not {row.count}"]
    return row.check(way, kind, told) if row.check else []


@pytest.mark.parametrize("name", ROWS)
def test_what_a_server_may_say(program, cells, name):
    row, caller = ROWS[name], Caller(program)
    found = []
    for way in WAYS:
        # A client does not ask in base64 (PROTOCOL-WEB.md leaves it to browsers).
        chosen = [kind for kind in row.kinds if row.ways(way, kind)]
        if not chosen or way.family == "grpc-web-text":
            continue
        caller.ask(
            do="channel", addresses=[cells.url], max_receive_len=LEN_MAX, timeout_ms=10_000,
            protocol=way.type(UNARY), http2=int(way.version == "2"),
        )  # fmt: skip
        for kind in chosen:
            faults = faults_of(caller, cells, row, way, kind)
            found += [f"{way} {METHODS[kind]}: {one}" for one in faults]
    assert not found, f"{row.rule}:\n" + "\n".join(found)

"""Our services as a table: what a caller may send, times the protocols of gRPC,
gRPC-Web and Connect, times the kinds of methods and the versions of HTTP, asked
straight and through our gateway. A row's outcome follows from the rule in it, and is
the same for all of them unless a rule says otherwise.

Sources: PROTOCOL-HTTP2.md, PROTOCOL-WEB.md, statuscodes.md and compression.md of
gRPC; the Connect protocol reference; the encoding document of Protocol Buffers.
"""

import base64
import gzip
import itertools
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from conftest import Client, Server, wait_until
from grpc_ways import (
    BOTH, CLIENT, GUIDE, KINDS, METHODS, SERVER, UNARY, WAYS, Fields, Outcome, RawCaller,
    Way, held,
)  # fmt: skip
from h2_client import H2Client, reset
from h2_frames import *
from wire_programs import built

Chosen = Callable[[Way, int], object]


def good(way: Way, kind: int) -> bytes:
    return way.content(way.frame(kind, way.request(kind)))


def framed(way: Way, kind: int) -> bool:
    return not way.is_plain(kind)


def octets(way: Way, kind: int) -> bool:
    return way.codec == "proto"


def in_json(way: Way, kind: int) -> bool:
    return way.codec == "json"


def connect(way: Way, kind: int) -> bool:
    return way.is_connect


def not_connect(way: Way, kind: int) -> bool:
    return not way.is_connect


@dataclass
class Row:
    rule: str
    # A code, or a function of way and kind that gives one.
    want: str | Callable = "OK"
    # The content, or the pieces that it goes in.
    content: Callable = good
    fields: Callable | Fields = field(default_factory=list)
    ways: Callable = lambda way, kind: True
    kinds: tuple = tuple(KINDS)
    # How many messages come back; those of a good call if nothing is said.
    count: int | None = None
    # Looks further: gives what is wrong.
    check: Callable | None = None
    path: str = ""
    method: str = "POST"
    # The content type, if it is another.
    type: str | None = ""
    server: str = "plain"


def frames(octets_of: Callable, **more) -> Callable:
    """Content with what is made as a message, behind a prefix that may lie."""
    return lambda way, kind: way.content(way.frame(kind, octets_of(way, kind), **more))


def cut(count: int) -> Callable:
    def content(way: Way, kind: int) -> bytes:
        whole = way.frame(kind, way.request(kind))
        return way.content(whole[:count] if count > 0 else whole[: len(whole) + count])

    return content


def times(count: int) -> Callable:
    return lambda way, kind: way.content(way.frame(kind, way.request(kind)) * count)


def by_octets(way: Way, kind: int) -> list[bytes]:
    return [bytes([octet]) for octet in good(way, kind)]


def packed(way: Way, kind: int) -> bytes:
    return way.content(way.frame(kind, gzip.compress(way.request(kind), mtime=0), 1))


def coded(name: str) -> Callable:
    return lambda way, kind: [(way.coding_field(kind), name)]


def timed(value: str) -> Callable:
    return lambda way, kind: [(way.timeout_field, value)]


def wish(number: int) -> Callable:
    """A request that asks for something odd."""
    names = {UNARY: "point", SERVER: "rectangle", CLIENT: "point"}
    return frames(lambda way, kind: way.write(names[kind], number))


def notes(*texts: str) -> Callable:
    return lambda way, kind: way.content(
        b"".join(way.frame(kind, way.write("note", text)) for text in texts)
    )


def of_one(one: str, many: str = "OK") -> Callable:
    """What is wanted of methods that take one message, and of those that take many."""
    return lambda way, kind: one if kind in (UNARY, SERVER) else many


def by_protocol(grpc: str, connect: str) -> Callable:
    return lambda way, kind: connect if way.is_connect else grpc


def expect(condition: bool, found: object) -> list[str]:
    return [] if condition else [f"found {found!r}"]


def with_words(*words: str) -> Callable:
    return lambda way, kind, got: expect(all(word in got.text for word in words), got.text)


def echoes(text: str, octets_of: bytes) -> Callable:
    """The metadata that the method gives back, octets without padding or with it."""

    def check(way: Way, kind: int, got: Outcome) -> list[str]:
        faults = expect(got.all("text-back") == [text], got.headers)
        back = [base64.b64decode(one + "==") for one in got.all("back-bin")]
        return faults + expect(back == [octets_of], got.trailers)

    return check


# PROTOCOL-HTTP2.md "Unit".
LONG_TIMES = ["99999999H", "1H", "1M", "60S", "60000m", "99999999u", "00000060S"]
WRONG_TIMES = ["", "S", "60", "60s", "123456789S", "-60S", "+60S", "6.0S", "60 S", "60SS", "0x60S"]
LONG_MS = ["60000", "9999999999", "0000060000"]
WRONG_MS = ["", "60s", "12345678901", "-60", "+60", "6.0", "0x60", "60 0"]


def text_fields(*pairs: tuple[str, str]) -> Fields:
    return [("text", "plain"), *pairs]


ROWS = {
    "a message": Row("PROTOCOL-HTTP2 Requests"),
    "an octet a piece": Row("PROTOCOL-HTTP2 frame boundaries", content=by_octets),
    "many at once": Row("PROTOCOL-HTTP2 frame boundaries", content=times(3), kinds=(CLIENT, BOTH),
                        count=3),
    "two for one": Row("statuscodes cardinality", "UNIMPLEMENTED", times(2), ways=framed,
                       kinds=(UNARY, SERVER)),
    "none": Row("statuscodes cardinality", of_one("UNIMPLEMENTED"), lambda way, kind: b"",
                ways=framed, count=0),
    "none, plain": Row("protobuf: no octets are a message", content=lambda way, kind: b"",
                       kinds=(UNARY,), ways=lambda w, k: w.is_connect and w.codec == "proto"),
    "an empty message": Row("protobuf: no octets are a message", content=frames(lambda w, k: b""),
                            ways=octets),
    "an empty text": Row("8259-2: no octets are no JSON", "INVALID_ARGUMENT",
                         frames(lambda w, k: b""), ways=in_json),
    "cut prefix": Row("PROTOCOL-HTTP2 Length-Prefixed-Message", "INTERNAL", cut(3), ways=framed),
    "prefix alone": Row("PROTOCOL-HTTP2 Length-Prefixed-Message", "INTERNAL", cut(5), ways=framed),
    "cut message": Row("PROTOCOL-HTTP2 Length-Prefixed-Message", "INTERNAL", cut(-1), ways=framed),
    "a length beyond all": Row("statuscodes: larger than is allowed", "RESOURCE_EXHAUSTED",
                               frames(lambda w, k: b"", length=2**32 - 1), ways=framed),
    "a flag of 2": Row("PROTOCOL-HTTP2 Compressed-Flag", "INTERNAL",
                       frames(Way.request, flag=2), ways=framed),
    "a flag of 128": Row("PROTOCOL-HTTP2 Compressed-Flag", "INTERNAL",
                         frames(Way.request, flag=128), ways=framed),
    "packed": Row("compression.md", content=packed, fields=coded("gzip")),
    "packed, any case": Row("9110-8.4.1 codings compare without case", content=packed,
                            fields=coded("GZIP"), ways=connect, kinds=(UNARY,)),
    "packed by its old name": Row("9110-8.4.1.3 x-gzip is gzip", content=packed,
                                  fields=coded("x-gzip"), ways=connect, kinds=(UNARY,)),
    "not packed": Row("compression.md: a message need not be", ways=framed, fields=coded("gzip")),
    "identity": Row("compression.md", fields=coded("identity")),
    "packed without a coding": Row("PROTOCOL-HTTP2 Compressed-Flag", "INTERNAL", packed,
                                   ways=framed),
    "packed as identity": Row("PROTOCOL-HTTP2 Compressed-Flag", "INTERNAL", packed,
                              coded("identity"), ways=framed),
    "no gzip": Row("compression.md", "INTERNAL", frames(lambda w, k: b"xx", flag=1),
                   coded("gzip")),
    "cut gzip": Row("compression.md", "INTERNAL",
                    frames(lambda w, k: gzip.compress(w.request(k))[:-4], flag=1), coded("gzip")),
    "unknown coding": Row(
        "compression.md: UNIMPLEMENTED, and what is read", "UNIMPLEMENTED", fields=coded("snappy"),
        check=lambda w, k, got: expect("gzip" in ",".join(got.all(w.accept_field(k))),
                                       got.headers),
    ),
    "no te": Row("PROTOCOL-HTTP2 TE: detects proxies", ways=not_connect,
                 fields=[("te", "")]),
    "the version": Row("Connect-Protocol-Version", fields=[("connect-protocol-version", "1")],
                       ways=connect),
    "another version": Row("Connect-Protocol-Version", "INVALID_ARGUMENT", ways=connect,
                           fields=[("connect-protocol-version", "2")]),
    "metadata": Row("PROTOCOL-HTTP2 Custom-Metadata", kinds=(UNARY,), count=1, content=wish(-5),
                    fields=text_fields(("some-bin", "AAEC")), check=echoes("plain", b"\0\1\2")),
    "octets unpadded": Row("PROTOCOL-HTTP2 Binary-Header: padding may be left out", kinds=(UNARY,),
                           content=wish(-5), fields=text_fields(("some-bin", "AA")), count=1,
                           check=echoes("plain", b"\0")),
    "octets padded": Row("PROTOCOL-HTTP2 Binary-Header: receivers take both", kinds=(UNARY,),
                         content=wish(-5), fields=text_fields(("some-bin", "AA==")), count=1,
                         check=echoes("plain", b"\0")),
    "octets joined": Row("PROTOCOL-HTTP2: split at commas, then decoded", kinds=(UNARY,), count=1,
                         content=wish(-5), fields=text_fields(("some-bin", "AAE=,AgM , BAU")),
                         check=echoes("plain", b"\0\1")),
    "octets, any case": Row("9110-5.1 names without case", kinds=(UNARY,), count=1,
                            ways=lambda w, k: w.version == "1.1", content=wish(-5),
                            fields=text_fields(("Some-Bin", "AAE")),
                            check=echoes("plain", b"\0\1")),
    "no octets": Row("PROTOCOL-HTTP2 Binary-Header", kinds=(UNARY,), content=wish(-5), count=1,
                     fields=text_fields(("some-bin", "")), check=echoes("plain", b"")),
    "a text with commas": Row("PROTOCOL-HTTP2 ASCII-Value", kinds=(UNARY,), content=wish(-5),
                              fields=[("text", "a, b;c=%20"), ("some-bin", "AA")], count=1,
                              check=echoes("a, b;c=%20", b"\0")),
    "reserved names": Row("PROTOCOL-HTTP2: grpc- is reserved", kinds=(UNARY,), count=1,
                          content=wish(-5), check=echoes("plain", b"\0"),
                          fields=text_fields(("grpc-text", "x"), ("some-bin", "AA"),
                                             ("grpc-tags-bin", "AA"))),
    "refused before": Row("an interceptor", "PERMISSION_DENIED", fields=[("refuse", "me")],
                          check=with_words("as you wish")),
    "refused by the stream": Row("statuscodes", "UNAVAILABLE", fields=[("no-chat", "x")],
                                 kinds=(BOTH,), check=with_words("not now")),
    "a status": Row(
        "PROTOCOL-HTTP2 Status-Message: percent-encoded", "NOT_FOUND", wish(-1), kinds=(UNARY,),
        check=lambda w, k, got: expect(
            got.text == "nothing at\nthe pl\u00e4ce, 100%" and got.all("why") == ["asked for"],
            (got.text, got.trailers),
        ),
    ),
    "an error": Row("statuscodes: raised by the method", "UNKNOWN", wish(-2), kinds=(UNARY,),
                    check=lambda w, k, got: expect(b"secret" not in got.content
                                                   and "secret" not in got.text, got)),
    "a failing stream": Row("statuscodes", "OUT_OF_RANGE", wish(-1), kinds=(CLIENT,)),
    "two replies of one": Row("statuscodes cardinality", "INTERNAL", wish(-2), kinds=(CLIENT,)),
    "no reply of one": Row("statuscodes cardinality", "INTERNAL", wish(-3), kinds=(CLIENT,)),
    "fails behind a reply": Row("PROTOCOL-HTTP2 Responses", "ABORTED", notes("a", "fail", "b"),
                                kinds=(BOTH,), count=1),
    "ends before requests": Row("PROTOCOL-HTTP2 Responses", "OK", notes("a", "end", "b"),
                                kinds=(BOTH,), count=2),
    "time over while it streams": Row("statuscodes", "DEADLINE_EXCEEDED", wish(-1),
                                      kinds=(SERVER,), fields=lambda w, k: [(
                                          w.timeout_field, "60" if w.is_connect else "60m")],
                                      check=lambda w, k, got: expect(got.messages, "none")),
    "time over before": Row("statuscodes", "DEADLINE_EXCEEDED", fields=lambda w, k: [(
        w.timeout_field, "0" if w.is_connect else "1n")]),
    "no such method": Row("statuscodes", "UNIMPLEMENTED", path=GUIDE + "Nope"),
    "a wrong tag": Row("protobuf: wire type 7", "INVALID_ARGUMENT",
                       frames(lambda w, k: b"\x0f"), ways=octets),
    "field 0": Row("protobuf: numbers from 1", "INVALID_ARGUMENT",
                   frames(lambda w, k: b"\0\0"), ways=octets),
    "cut varint": Row("protobuf: varints", "INVALID_ARGUMENT",
                      frames(lambda w, k: b"\x78\xff"), ways=octets),
    "long varint": Row("protobuf: ten octets at most", "INVALID_ARGUMENT",
                       frames(lambda w, k: b"\x78" + b"\xff" * 10 + b"\1"), ways=octets),
    "cut field": Row("protobuf: length-delimited", "INVALID_ARGUMENT",
                     frames(lambda w, k: b"\x7a\x05abc"), ways=octets),
    "end of no group": Row("protobuf: groups", "INVALID_ARGUMENT",
                           frames(lambda w, k: b"\x7c"), ways=octets),
    "unknown fields": Row("protobuf: kept", ways=octets, content=frames(
        lambda w, k: w.request(k) + b"\xf8\x3f\x01" + b"\xfb\x3f\x08\x01\xfc\x3f"
        + held(15, b"abc"))),
    "another wire type": Row("protobuf: as an unknown field", ways=octets, kinds=(UNARY,), count=1,
                             content=frames(lambda w, k: held(1, b"abc"))),
    "no UTF-8": Row("protobuf: strings are UTF-8", "INVALID_ARGUMENT",
                    frames(lambda w, k: held(2, b"\xff")), ways=octets, kinds=(BOTH,)),
    "unknown members": Row("ProtoJSON: left out", ways=in_json, kinds=(UNARY,), count=1,
                           content=frames(lambda w, k: b'{"latitude":1,"new":{"a":[1]}}')),
    "no JSON": Row("8259-2", "INVALID_ARGUMENT", frames(lambda w, k: b"{"), ways=in_json),
    "a list": Row("ProtoJSON: messages are objects", "INVALID_ARGUMENT",
                  frames(lambda w, k: b"[]"), ways=in_json),
    "beyond the bound": Row(
        "statuscodes: larger than is allowed", "RESOURCE_EXHAUSTED", server="small",
        content=frames(lambda w, k: (w.request(k) + b" " * 300) if w.codec == "json"
                       else w.request(k) + held(15, b"z" * 300))),
    "beyond it unpacked": Row(
        "statuscodes: larger than is allowed", "RESOURCE_EXHAUSTED", server="small",
        fields=coded("gzip"), content=frames(
            lambda w, k: gzip.compress(w.request(k) + b" " * 9_000 if w.codec == "json"
                                       else w.request(k) + held(15, b"z" * 9_000)), flag=1)),
    "a reply beyond the bound": Row("statuscodes: larger than is allowed", "RESOURCE_EXHAUSTED",
                                    wish(150), kinds=(UNARY,), server="small"),
    "another type": Row("415", "HTTP 415", type="application/xml"),
    "another codec": Row("415", "HTTP 415", type="+cbor"),
    "no type": Row("415", "HTTP 415", type=None),
    "with a parameter": Row("9110-8.3.1", type=";charset=utf-8"),
    "in capitals": Row("9110-8.3.1 types compare without case", type="UPPER"),
    "PUT": Row("405", "HTTP 405", method="PUT"),
}  # fmt: skip
for value in LONG_TIMES:
    ROWS[f"time {value!r}"] = Row("PROTOCOL-HTTP2 Timeout", ways=not_connect, fields=timed(value))
for value in WRONG_TIMES:
    ROWS[f"time {value!r}"] = Row(
        "PROTOCOL-HTTP2 Timeout", "INTERNAL", ways=not_connect, fields=timed(value),
        check=with_words("grpc-timeout"),
    )  # fmt: skip
for value in LONG_MS:
    ROWS[f"time {value!r} ms"] = Row("Connect-Timeout-Ms", ways=connect, fields=timed(value))
for value in WRONG_MS:
    ROWS[f"time {value!r} ms"] = Row(
        "Connect-Timeout-Ms", "INVALID_ARGUMENT", ways=connect, fields=timed(value),
        check=with_words("connect-timeout-ms"),
    )  # fmt: skip


class Party:
    """A server, gateways to it for either version, and who asks all of them."""

    def __init__(self, **options) -> None:
        self.servers = [Server(built("grpc_server"), [f"{k}={v}" for k, v in options.items()])]
        self.servers += [self._gateway("1.1"), self._gateway("2")]
        straight, one, two = map(RawCaller, self.servers)
        self.callers = {
            ("straight", "1.1"): straight, ("straight", "2"): straight,
            ("gateway", "1.1"): one, ("gateway", "2"): two,
        }  # fmt: skip

    def _gateway(self, version: str) -> Server:
        options = [f"upstream={self.servers[0].url}", "failures_to_eject=0"]
        if version == "2":
            options.append("http2_prior_knowledge=1")
        return Server(built("proxy_server"), options)

    def close(self) -> None:
        for caller in self.callers.values():
            caller.close()
        for server in reversed(self.servers):
            assert server.is_alive(), "a server died during the tests"
            assert server.stop() == 0


@pytest.fixture(scope="module")
def parties():
    running = {"plain": Party(), "small": Party(receive_len_max=200, send_len_max=100)}
    yield running
    for party in running.values():
        party.close()


def wanted_count(kind: int) -> int:
    return 2 if kind == SERVER else 1


def fields_of(row: Row, way: Way, kind: int) -> Fields:
    fields = way.fields(kind)
    if row.type is None:
        fields = fields[1:]
    elif row.type == "UPPER":
        fields[0] = ("content-type", fields[0][1].upper())
    elif row.type.startswith("+"):
        fields[0] = ("content-type", fields[0][1].split("+")[0] + row.type)
    elif row.type:
        extends = row.type.startswith(";")
        fields[0] = ("content-type", fields[0][1] + row.type if extends else row.type)
    more = row.fields(way, kind) if callable(row.fields) else row.fields
    if ("te", "") in more:
        return [pair for pair in fields if pair[0] != "te"]
    return fields + more


def faults_of(row: Row, way: Way, kind: int, caller: RawCaller) -> list[str]:
    content = row.content(way, kind)
    pieces = content if isinstance(content, list) else [content]
    path = row.path or GUIDE + METHODS[kind]
    try:
        got = caller.ask(way, kind, path, pieces, fields_of(row, way, kind), row.method)
    except Exception as error:
        return [f"{type(error).__name__}: {error}"]
    want = row.want(way, kind) if callable(row.want) else row.want
    if got.code != want:
        return [f"{got.code} ({got.http}, {got.text!r}), not {want}"]
    if want == "OK":
        count = wanted_count(kind) if row.count is None else row.count
        # One reply of a method with one is there whatever came.
        count = 1 if kind in (UNARY, CLIENT) else count
        if row.content is not good and row.count is None and kind in (SERVER, BOTH):
            count = None
        if count is not None and len(got.messages) != count:
            return [f"{len(got.messages)} messages, not {count}"]
    elif row.count is not None and len(got.messages) != row.count:
        return [f"{len(got.messages)} messages, not {row.count}"]
    elif kind in (UNARY, CLIENT) and got.messages:
        # Responses → (Response-Headers *Length-Prefixed-Message Trailers), and a
        # caller that waits for one takes none beside a failure.
        return ["a message beside a failure"]
    return row.check(way, kind, got) if row.check else []


@pytest.mark.parametrize("name", ROWS)
def test_what_a_caller_may_send(parties, name):
    row = ROWS[name]
    found = []
    for (through, version), caller in parties[row.server].callers.items():
        for way in WAYS:
            if way.version != version:
                continue
            for kind in row.kinds:
                if row.ways(way, kind):
                    faults = faults_of(row, way, kind, caller)
                    found += [f"{through} {way} {METHODS[kind]}: {one}" for one in faults]
    assert not found, f"{row.rule}:\n" + "\n".join(found)


def counts(party: Party) -> dict[str, int]:
    """What the server has counted; its own connection, so that no call is in between."""
    caller = RawCaller(party.servers[0])
    way = WAYS[0]
    got = caller.ask(way, UNARY, GUIDE + "Ping", [way.frame(UNARY, b"")], way.fields(UNARY))
    caller.close()
    return {name: int(value) for name, value in got.trailers if value.isdigit()}


def ways_through() -> list[tuple[str, Way]]:
    return [(through, way) for through in ("straight", "gateway") for way in WAYS]


@pytest.mark.parametrize("through, way", ways_through(), ids=str)
@pytest.mark.parametrize("kind", [SERVER, CLIENT, BOTH])
def test_who_cancels_is_heard_of(parties, through, way, kind):
    """PROTOCOL-HTTP2.md: RST_STREAM with CANCEL; the end of a connection of HTTP/1.1."""
    party = parties["plain"]
    server = party.callers[through, way.version].server
    base = counts(party)
    asked = itertools.count(1)

    def has_begun() -> bool:
        # Who asks is counted, too.
        return counts(party)["before"] - base["before"] - next(asked) == 1

    def is_heard() -> bool:
        return counts(party)["cancelled"] == base["cancelled"] + 1

    names = {SERVER: ("rectangle", -1), CLIENT: ("point", 1), BOTH: ("note", "a")}
    content = way.content(way.frame(kind, way.write(*names[kind])))
    ends = kind == SERVER
    if way.version == "2":
        with H2Client(server) as client:
            stream = client.request(GUIDE + METHODS[kind], "POST", way.fields(kind), ends=False)
            client.data(stream, content, ends=ends)
            assert wait_until(has_begun)
            client.send(reset(stream))
            assert wait_until(is_heard)
            client.settle()
        return
    with Client(server) as client:
        fields = [("host", "a"), *way.fields(kind)]
        fields.append(
            ("content-length", str(len(content))) if ends else ("transfer-encoding", "chunked")
        )
        head = f"POST {GUIDE}{METHODS[kind]} HTTP/1.1\r\n"
        head += "".join(f"{name}: {value}\r\n" for name, value in fields) + "\r\n"
        if not ends:
            content = b"%x\r\n%s\r\n" % (len(content), content)
        client.send(head.encode() + content)
        assert wait_until(has_begun)
    assert wait_until(is_heard)


@pytest.mark.parametrize("through, way", ways_through(), ids=str)
def test_the_server_has_heard_enough(parties, through, way):
    """9113-8.1: a complete response ends a call whose requests go on."""
    if way.version != "2":
        pytest.skip("a client of HTTP/1.1 reads behind its content")
    server = parties["plain"].callers[through, "2"].server
    with H2Client(server) as client:
        stream = client.request(GUIDE + "RouteChat", "POST", way.fields(BOTH), ends=False)
        client.data(stream, notes("a", "end")(way, BOTH))
        got = client.answer(stream)
        assert got.ended and got.status == 200
        outcome = way.outcome(BOTH, got.status, got.lines, got.body, got.trailers)
        assert (outcome.code, len(outcome.messages)) == ("OK", 2)
        assert client.reset_of(stream).reset == NO_ERROR


@pytest.mark.parametrize("way", [way for way in WAYS if way.version == "2"], ids=str)
def test_calls_under_way_end_well_when_the_server_does(start, way):
    """9113-6.8: what was begun before GOAWAY goes on."""
    server = start("grpc_server")
    with H2Client(server) as client:
        stream = client.request(GUIDE + "RouteChat", "POST", way.fields(BOTH), ends=False)
        client.data(stream, notes("a")(way, BOTH))
        client.until(lambda: client.answers.get(stream) and client.answers[stream].body)
        ending = threading.Thread(target=server.stop)
        ending.start()
        client.until(lambda: client.goaways)
        client.data(stream, notes("b")(way, BOTH), ends=True)
        got = client.answer(stream)
        outcome = way.outcome(BOTH, got.status, got.lines, got.body, got.trailers)
        assert (outcome.code, len(outcome.messages)) == ("OK", 2)
        assert client.end().code == NO_ERROR
        ending.join()

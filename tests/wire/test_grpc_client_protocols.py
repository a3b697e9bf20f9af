"""The gRPC client in gRPC-Web and Connect, beside gRPC: against our own services, and
against servers that break every rule."""

import gzip
import json
import threading
import time

import pytest
from conftest import running_client, shown
from grpc_support import Caller, frame, varint
from raw_server import RawServer, answering, once

GUIDE = "/routeguide.RouteGuide/"
UNARY, SERVER, CLIENT, BOTH = range(4)
WEB = "application/grpc-web+proto"
PROTO, JSON = "application/proto", "application/json"
STREAM = "application/connect+proto"
TYPES = [
    "application/grpc", "application/grpc+json", WEB, "application/grpc-web+json", PROTO, JSON,
]  # fmt: skip
# A protocol, whether over HTTP/2, and whether with TLS. gRPC needs HTTP/2.
WAYS = [
    (type, http2, tls)
    for type in TYPES
    for http2 in (0, 1)
    for tls in (0, 1)
    if http2 or not type.startswith("application/grpc") or "web" in type
]
WAIT_S = 20


@pytest.fixture(scope="module")
def program():
    yield from running_client("grpc_caller")


class ProtocolCaller(Caller):
    """The client under test, with messages as its channel writes them."""

    def __init__(self, program) -> None:
        super().__init__(program)
        self.is_json = False

    def channel(self, address: str, protocol: str, http2: int = 1, **config) -> None:
        self.is_json = protocol.endswith("json")
        self.ask(
            do="channel", addresses=[address], protocol=protocol, http2=http2, **config
        )

    def _message(self, json_text, octets: bytes) -> dict:
        if self.is_json:
            return {"message": json.dumps(json_text)}
        return {"hex": octets.hex()}

    def point(self, latitude: int, longitude: int = 0) -> dict:
        fields = [
            (name, tag, value)
            for name, tag, value in (("latitude", 8, latitude), ("longitude", 16, longitude))
            if value
        ]
        octets = b"".join(bytes([tag]) + varint(value) for _, tag, value in fields)
        return self._message({name: value for name, _, value in fields}, octets)

    def note(self, text: str) -> dict:
        octets = b"\x12" + bytes([len(text)]) + text.encode()
        return self._message({"message": text}, octets)

    def rectangle(self, latitude: int) -> dict:
        octets = b"\x0a\x02\x08" + bytes([latitude])
        return self._message({"lo": {"latitude": latitude}}, octets)

    def unary(self, path: str, message: dict, **more) -> dict:
        return self.ask(do="unary", path=path, **message, **more)


@pytest.fixture
def caller(program):
    return ProtocolCaller(program)


@pytest.fixture(params=WAYS, ids=lambda way: "-".join(map(str, way)))
def way(request, start, certs, caller):
    """The caller, with a channel to our services in one of all ways."""
    type, http2, tls = request.param
    if not tls:
        server = start("grpc_server", handler_threads=4)
        caller.channel(f"http://127.0.0.1:{server.port}", type, http2)
    else:
        server = start("grpc_server", handler_threads=4, **shown(certs, "good_chain"))
        root = str(certs / "root.pem")
        caller.channel(f"https://localhost:{server.port}", type, http2, ca_file=root)
    return caller


def test_all_that_calls_do(way):
    """One channel for all kinds of methods: what is read to its end leaves the
    connection to the next call."""
    got = way.unary(GUIDE + "GetFeature", way.point(2), metadata={"a": "b"})
    assert got["code"] == "OK" and "xx" in got["message"], got
    if way.is_json:
        assert json.loads(got["message"]) == {"name": "xx", "location": {"latitude": 2}}
    else:
        assert got["message"] == "\x0a\x02xx\x12\x02\x08\x02"
    # An error with details, and a message of all kinds of letters.
    got = way.unary(GUIDE + "GetFeature", way.point(-1))
    assert (got["code"], got["text"]) == ("NOT_FOUND", "nothing at\nthe pl\u00e4ce, 100%")
    assert got["details"] == ["type.googleapis.com/routeguide.Point 11"]
    assert "why: asked for" in got["trailers"]
    assert way.unary(GUIDE + "Nothing", way.point(1))["code"] == "UNIMPLEMENTED"
    # Metadata there and back.
    metadata = {"text": "a b", "some-bin": "\x01\x02"}
    got = way.unary(GUIDE + "GetFeature", way.point(-5), metadata=metadata)
    assert "text-back: a b" in got["headers"], got
    assert got["trailers"] == ["back-bin: AQI"]
    # Compressed both ways.
    got = way.unary(GUIDE + "GetFeature", way.point(-6, 5_000), gzip=1)
    assert got["code"] == "OK" and got["message"].count("x") == 5_000
    # Streams.
    id = way.begin(GUIDE + "ListFeatures", SERVER)
    assert way.ask(do="send", id=id, **way.rectangle(100))["sent"] == 1
    assert "feature 99" in way.ask(do="next", id=id)["message"]
    got = way.ask(do="count", id=id)
    assert (got["count"], got["code"]) == (99, "OK")
    got = way.ask(do="status", id=id)
    assert (got["headers"], got["trailers"]) == (["kind: listing"], ["left: none"])
    id = way.begin(GUIDE + "RecordRoute", CLIENT)
    assert way.ask(do="send", id=id, count=300, **way.point(1))["sent"] == 300
    way.ask(do="finish", id=id)
    got = way.ask(do="next", id=id)["message"]
    assert got == ('{"pointCount":300}' if way.is_json else "\x08\xac\x02".encode("latin-1")
                   .decode(errors="replace"))
    assert way.ask(do="status", id=id)["code"] == "OK"
    # All is sent, then all is read: this goes over HTTP/1.1, too.
    id = way.begin(GUIDE + "RouteChat", BOTH)
    for text in ("one", "two", "three"):
        assert way.ask(do="send", id=id, **way.note(text))["sent"] == 1
    way.ask(do="finish", id=id)
    assert "one" in way.ask(do="next", id=id)["message"]
    got = way.ask(do="count", id=id)
    assert (got["count"], got["code"]) == (2, "OK")
    got = way.unary(GUIDE + "GetFeature", way.point(1))
    assert (got["code"], got["opened"]) == ("OK", 1)
    # An error behind messages. Over HTTP/1.1 the server may close the connection
    # of a request that it has not read to its end.
    id = way.begin(GUIDE + "RouteChat", BOTH)
    for text in ("one", "fail"):
        assert way.ask(do="send", id=id, **way.note(text))["sent"] == 1
    assert "one" in way.ask(do="next", id=id)["message"]
    got = way.ask(do="count", id=id)
    assert (got["count"], got["code"], got["text"]) == (0, "ABORTED", "as you wish")


def test_deadlines(way):
    left = way.unary(GUIDE + "GetFeature", way.point(-7), timeout_ms=5_000)["message"]
    name = json.loads(left)["name"] if way.is_json else left[2:6]
    assert 3_000 < int(name) <= 5_000
    began = time.monotonic()
    got = way.unary(GUIDE + "GetFeature", way.point(-3), timeout_ms=300)
    assert got["code"] == "DEADLINE_EXCEEDED", got
    id = way.begin(GUIDE + "RouteChat", BOTH, timeout_ms=300)
    way.ask(do="send", id=id, **way.note("quiet"))
    assert way.ask(do="next", id=id)["code"] == "DEADLINE_EXCEEDED"
    assert time.monotonic() - began < WAIT_S


@pytest.mark.parametrize("type", TYPES)
def test_both_directions_at_once_over_http2(start, caller, type):
    caller.channel(f"http://127.0.0.1:{start('grpc_server').port}", type)
    id = caller.begin(GUIDE + "RouteChat", BOTH)
    for number in range(50):
        assert caller.ask(do="send", id=id, **caller.note(f"m{number}"))["sent"] == 1
        assert f"m{number}" in caller.ask(do="next", id=id)["message"]
    # The server ends the call, not we.
    caller.ask(do="send", id=id, **caller.note("end"))
    assert "end" in caller.ask(do="next", id=id)["message"]
    got = caller.ask(do="next", id=id)
    assert got["is_end"] and "code" not in got


@pytest.mark.parametrize("type", [WEB, PROTO, JSON])
@pytest.mark.parametrize("http2", [0, 1])
def test_messages_of_protocol_buffers_on_threads(start, caller, type, http2):
    server = start("grpc_server", handler_threads=8)
    caller.channel(f"http://127.0.0.1:{server.port}", type, http2)
    for way in ("unary", "read"):
        got = caller.ask(do="typed", way=way, path="/plain.Plain/Read", message="a b")
        assert (got["texts"], got["code"]) == (["a b!"], "OK")


@pytest.mark.parametrize("type", [WEB, PROTO])
@pytest.mark.parametrize("http2", [0, 1])
def test_what_is_cancelled_ends(start, caller, type, http2):
    server = start("grpc_server", handler_threads=4)
    caller.channel(f"http://127.0.0.1:{server.port}", type, http2)
    id = caller.begin(GUIDE + "GetFeature", UNARY)
    caller.ask(do="send", id=id, **caller.point(-3))
    got = caller.ask(do="next", id=id, cancel_after_ms=100)
    assert got["code"] == "CANCELLED"


@pytest.mark.parametrize("type", [WEB, PROTO, JSON])
def test_messages_beyond_the_bound(start, caller, type):
    server = start("grpc_server")
    caller.channel(f"http://127.0.0.1:{server.port}", type, max_receive_len=1_000)
    for gzipped in ({}, {"gzip": 1}):
        got = caller.unary(GUIDE + "GetFeature", caller.point(-6, 5_000), **gzipped)
        assert got["code"] == "RESOURCE_EXHAUSTED", got
    # An error may be longer.
    assert caller.unary(GUIDE + "GetFeature", caller.point(-1))["code"] == "NOT_FOUND"


def test_what_a_channel_cannot_be(program):
    for config, words in (
        ({"protocol": "application/grpc", "http2": 0}, "gRPC needs HTTP/2"),
        ({"protocol": "application/grpc-web-text"}, "base64"),
    ):
        got = program.ask(do="channel", addresses=["http://127.0.0.1:1"], **config)
        assert "INVALID_ARGUMENT" in got["error"] and words in got["error"]


# What is sent.


class Seen:
    """Keeps the requests of a client, and answers with nothing good."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        self.server = RawServer(answering(self.answer))

    def answer(self, head: str, content: bytes) -> bytes:
        line, *rest = head.strip().split("\r\n")
        fields = dict(one.lower().split(": ", 1) for one in rest)
        assert len(fields) == len(rest), "a field is there twice"
        self.requests.append((line, fields, content))
        return response(b"", status=404)


def response(content: bytes, type: str = "", status: int = 200, **fields: str) -> bytes:
    lines = [f"HTTP/1.1 {status} X", f"content-length: {len(content)}"]
    lines += [f"content-type: {type}"] if type else []
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
    return "\r\n".join([*lines, "", ""]).encode() + content


@pytest.fixture
def seen():
    keeper = Seen()
    yield keeper
    keeper.server.close()


def test_a_request_of_connect(seen, caller):
    """Connect, "Unary-Request"."""
    caller.channel(seen.server.url, PROTO, 0)
    assert caller.unary("/a.B/C", {"message": "abc"}, timeout_ms=5_000)["code"] == "UNIMPLEMENTED"
    line, fields, content = seen.requests[0]
    assert line == "POST /a.B/C HTTP/1.1" and content == b"abc"
    assert 3_000 < int(fields.pop("connect-timeout-ms")) <= 5_000
    assert fields.pop("host")
    assert fields == {
        "content-type": PROTO,
        "content-length": "3",
        "connect-protocol-version": "1",
        "accept-encoding": "identity, gzip",
        "user-agent": "connect-mojo-flare",
    }


def test_content_of_connect_is_compressed(seen, caller):
    caller.channel(seen.server.url, JSON, 0)
    caller.unary("/a.B/C", {"message": "{}"}, gzip=1, timeout_ms=-1)
    _, fields, content = seen.requests[0]
    assert gzip.decompress(content) == b"{}"
    assert (fields["content-type"], fields["content-encoding"]) == (JSON, "gzip")
    assert "connect-timeout-ms" not in fields


@pytest.mark.parametrize("gzipped", [{}, {"gzip": 1}])
def test_a_stream_of_connect(seen, caller, gzipped):
    """Connect, "Streaming-Request"."""
    caller.channel(seen.server.url, PROTO, 0)
    id = caller.begin("/a.B/C", CLIENT, **gzipped)
    caller.ask(do="send", id=id, message="abc")
    caller.ask(do="finish", id=id)
    assert caller.ask(do="next", id=id)["code"] == "UNIMPLEMENTED"
    _, fields, content = seen.requests[0]
    # Short messages are not compressed.
    assert content == frame(b"abc")
    assert fields["content-type"] == STREAM
    assert fields["connect-protocol-version"] == "1"
    assert fields["connect-accept-encoding"] == "identity, gzip"
    assert fields.get("connect-content-encoding") == ("gzip" if gzipped else None)
    assert "accept-encoding" not in fields and "content-encoding" not in fields


def test_a_request_of_grpc_web(seen, caller):
    caller.channel(seen.server.url, WEB, 0)
    caller.unary("/a.B/C", {"message": "abc"}, timeout_ms=5_000)
    line, fields, content = seen.requests[0]
    assert line == "POST /a.B/C HTTP/1.1" and content == frame(b"abc")
    timeout = fields.pop("grpc-timeout")
    assert timeout[-1] == "u" and 3_000_000 < int(timeout[:-1]) <= 5_000_000
    assert fields.pop("host")
    assert fields == {
        "content-type": WEB,
        "content-length": "8",
        "grpc-accept-encoding": "identity, gzip",
        "x-user-agent": "grpc-mojo-flare",
    }


def test_get_of_connect(seen, caller):
    """Connect, "Unary-Get-Request"."""
    caller.channel(seen.server.url, PROTO, 0, uses_get=1)
    caller.unary("/a.B/C", {"hex": "fbff"}, safe=1, timeout_ms=-1)
    line, fields, content = seen.requests[0]
    query = "connect=v1&base64=1&encoding=proto&message=-_8"
    assert line == f"GET /a.B/C?{query} HTTP/1.1" and content == b""
    assert fields.pop("host")
    assert fields == {
        "accept-encoding": "identity, gzip",
        "user-agent": "connect-mojo-flare",
    }
    # Compressed, or as text.
    caller.unary("/a.B/C", {"message": "a"}, safe=1, gzip=1)
    assert "base64=1&compression=gzip&encoding=proto&message=H4s" in seen.requests[1][0]
    assert "content-encoding" not in seen.requests[1][1]
    caller.channel(seen.server.url, JSON, 0, uses_get=1)
    caller.unary("/a.B/C", {"message": '"a b"'}, safe=1)
    assert "?connect=v1&encoding=json&message=%22a%20b%22 " in seen.requests[2][0]


def test_what_is_no_get(seen, caller):
    """A method that may change something, a message that is too long, a channel
    that does not ask for it, a stream, and another protocol."""
    for type, config, kind, more in (
        (PROTO, {"uses_get": 1}, UNARY, {}),
        (PROTO, {"uses_get": 1}, UNARY, {"safe": 1, "times": 8_000}),
        (PROTO, {}, UNARY, {"safe": 1}),
        (PROTO, {"uses_get": 1}, SERVER, {"safe": 1}),
        (WEB, {"uses_get": 1}, UNARY, {"safe": 1}),
    ):
        caller.channel(seen.server.url, type, 0, **config)
        times = more.pop("times", 1)
        id = caller.begin("/a.B/C", kind, **more)
        caller.ask(do="send", id=id, message="a", times=times)
        caller.ask(do="next", id=id)
        assert seen.requests[-1][0] == "POST /a.B/C HTTP/1.1"
    assert len(seen.requests) == 5


def test_our_services_are_read_by_get(start, caller):
    server = start("grpc_server")
    for type in (PROTO, JSON):
        for http2 in (0, 1):
            url = f"http://127.0.0.1:{server.port}"
            caller.channel(url, type, http2, uses_get=1)
            got = caller.ask(do="typed", way="read", path="/plain.Plain/Read", message="a b")
            assert (got["texts"], got["code"]) == (["a b!"], "OK")
            # A method that does not allow it, if its caller says so.
            got = caller.unary(GUIDE + "GetFeature", caller.point(1), safe=1)
            assert (got["code"], "405" in got["text"]) == ("UNKNOWN", True)


# Servers that break every rule.

LONG = b"\0\xff\xff\xff\xff"
END = frame(b"{}", 2)
OK = frame(b"grpc-status: 0\r\n", 0x80)
ERROR = b'{"code":"aborted","message":"m"}'
ROWS = {
    "unary: message": (PROTO, UNARY, response(b"m", PROTO), "OK", ""),
    "unary: error": (PROTO, UNARY, response(ERROR, JSON, 409), "ABORTED", "m"),
    "unary: 400": (PROTO, UNARY, response(b"", status=400), "INTERNAL", "400"),
    "unary: 401": (PROTO, UNARY, response(b"", status=401), "UNAUTHENTICATED", "401"),
    "unary: 403": (PROTO, UNARY, response(b"x", "text/html", 403), "PERMISSION_DENIED", "html"),
    "unary: 404": (PROTO, UNARY, response(b"", status=404), "UNIMPLEMENTED", "404"),
    "unary: 429": (PROTO, UNARY, response(b"{", JSON, 429), "UNAVAILABLE", "429"),
    "unary: 503": (PROTO, UNARY, response(b"null", JSON, 503), "UNAVAILABLE", "503"),
    "unary: 500": (PROTO, UNARY, response(b"{}", JSON, 500), "UNKNOWN", ""),
    "unary: 302": (PROTO, UNARY, response(b"", status=302, location="/x"), "UNKNOWN", "302"),
    "unary: type": (PROTO, UNARY, response(b"m", "image/png"), "UNKNOWN", "image/png"),
    "unary: no type": (PROTO, UNARY, response(b"m"), "UNKNOWN", "without content type"),
    "unary: codec": (PROTO, UNARY, response(b"{}", JSON), "INTERNAL", "as proto"),
    "unary: coding": (
        PROTO, UNARY, response(b"m", PROTO, content_encoding="br"), "INTERNAL", "'br'",
    ),
    "unary: no gzip": (
        PROTO, UNARY, response(b"m", PROTO, content_encoding="gzip"), "INTERNAL", "compressed",
    ),
    "unary: too long": (PROTO, UNARY, response(b"m" * 1_001, PROTO), "RESOURCE_EXHAUSTED", "1000"),
    "unary: bomb": (
        PROTO, UNARY,
        response(gzip.compress(b"m" * 9_999), PROTO, content_encoding="gzip"),
        "RESOURCE_EXHAUSTED", "decompressed",
    ),
    "unary: cut": (PROTO, UNARY, response(b"mm", PROTO)[:-1], "UNAVAILABLE", ""),
    "stream: none": (PROTO, SERVER, response(END, STREAM), "OK", ""),
    "stream: error": (
        PROTO, SERVER, response(frame(b'{"error":' + ERROR + b"}", 2), STREAM), "ABORTED", "m",
    ),
    "stream: cut": (PROTO, SERVER, response(frame(b"m", length=9), STREAM), "INTERNAL", ""),
    "stream: no end": (PROTO, SERVER, response(frame(b"m"), STREAM), "INTERNAL", "without"),
    "stream: behind": (PROTO, SERVER, response(END + END, STREAM), "INTERNAL", "behind"),
    "stream: no JSON": (
        PROTO, SERVER, response(frame(b"{", 2), STREAM), "INTERNAL", "end of the stream",
    ),
    "stream: flag": (PROTO, SERVER, response(frame(b"m", 4), STREAM), "INTERNAL", "first octet"),
    "stream: no coding": (
        PROTO, SERVER, response(frame(b"m", 1) + END, STREAM), "INTERNAL", "no coding",
    ),
    "stream: too long": (PROTO, SERVER, response(LONG, STREAM), "RESOURCE_EXHAUSTED", "4294967295"),
    "stream: long end": (
        PROTO, SERVER, response(frame(b"", 2, 65_537), STREAM), "RESOURCE_EXHAUSTED", "65537",
    ),
    "stream: 503": (PROTO, SERVER, response(ERROR, JSON, 503), "UNAVAILABLE", "503"),
    "stream: type": (PROTO, SERVER, response(b"m", PROTO), "UNKNOWN", PROTO),
    "stream: two": (
        PROTO, CLIENT, response(frame(b"m") * 2 + END, STREAM), "UNIMPLEMENTED", "more than",
    ),
    "stream: too few": (PROTO, CLIENT, response(END, STREAM), "UNIMPLEMENTED", "without the"),
    "web: message": (WEB, UNARY, response(frame(b"m") + OK, WEB), "OK", ""),
    "web: head alone": (WEB, UNARY, response(b"", WEB, grpc_status="7"), "PERMISSION_DENIED", ""),
    "web: no trailers": (WEB, UNARY, response(frame(b"m"), WEB), "INTERNAL", "without a status"),
    "web: no status": (
        WEB, UNARY, response(frame(b"a: b\r\n", 0x80), WEB), "UNKNOWN", "no grpc-status",
    ),
    "web: no field": (WEB, UNARY, response(frame(b"a", 0x80), WEB), "INTERNAL", "no colon"),
    "web: cut": (WEB, UNARY, response(OK[:-1], WEB), "INTERNAL", ""),
    "web: too long": (WEB, UNARY, response(LONG, WEB), "RESOURCE_EXHAUSTED", "4294967295"),
    "web: behind": (WEB, UNARY, response(OK + OK, WEB), "INTERNAL", "behind"),
    "web: 502": (WEB, UNARY, response(b"", status=502), "UNAVAILABLE", "502"),
    "web: type": (WEB, UNARY, response(b"", "application/grpc"), "UNKNOWN", "application/grpc"),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_what_a_server_may_not_say(caller, name):
    type, kind, said, code, text = ROWS[name]
    server = RawServer(once(said))
    caller.channel(server.url, type, 0, max_receive_len=1_000)
    id = caller.begin("/a.B/C", kind)
    caller.ask(do="send", id=id, message="m")
    if kind == CLIENT:
        caller.ask(do="finish", id=id)
    got = caller.ask(do="count", id=id)
    assert got["code"] == code and text in got["text"], got
    # It stays so.
    assert caller.ask(do="status", id=id)["code"] == code
    server.close()


@pytest.mark.parametrize("kind", [UNARY, SERVER])
def test_a_server_that_stalls(caller, kind):
    """Amid its content; the deadline is kept here."""
    part = response(frame(b"m", length=3), PROTO if kind == UNARY else STREAM)
    head, content = part.replace(b"length: 6", b"length: 60").split(b"\r\n\r\n")
    gone = threading.Event()

    def handle(connection) -> None:
        connection.body(connection.head())
        connection.send(head + b"\r\n\r\n" + content)
        connection.sock.recv(1)
        gone.set()

    server = RawServer(handle)
    caller.channel(server.url, PROTO, 0)
    id = caller.begin("/a.B/C", kind, timeout_ms=300)
    caller.ask(do="send", id=id, message="m")
    assert caller.ask(do="next", id=id)["code"] == "DEADLINE_EXCEEDED"
    assert gone.wait(WAIT_S)
    server.close()


def test_an_error_of_connect_begins_anew(caller):
    """By the policy of the channel, as a status of gRPC does."""
    answers = [response(b'{"code":"unavailable"}', JSON, 503), response(b"m", PROTO)]
    server = RawServer(answering(lambda head, content: answers.pop(0)))
    policy = {
        "maxAttempts": 3, "initialBackoff": "0.01s", "maxBackoff": "0.01s",
        "backoffMultiplier": 1, "retryableStatusCodes": ["UNAVAILABLE"],
    }  # fmt: skip
    service = json.dumps({"methodConfig": [{"name": [{}], "retryPolicy": policy}]})
    caller.channel(server.url, PROTO, 0, service=service)
    got = caller.unary("/a.B/C", {"message": "m"})
    assert (got["code"], got["message"], answers) == ("OK", "m", [])
    server.close()

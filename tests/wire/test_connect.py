"""Calls of Connect and gRPC-Web on the services of the gRPC tests, as browsers and
curl make them."""

import base64
import gzip
import http.client
import json
import shutil
import struct
import subprocess
import time
import urllib.parse

import pytest
from grpc_support import frame
from h2_client import H2Client

GUIDE = "/routeguide.RouteGuide/"
TIMEOUT_S = 10
JSON = {"content-type": "application/json"}
STREAM = {"content-type": "application/connect+json"}
WEB = {"content-type": "application/grpc-web+proto"}
TEXT = {"content-type": "application/grpc-web-text"}


@pytest.fixture
def server(start):
    return start("grpc_server")


class Answer:
    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.fields = {name.lower(): value for name, value in response.getheaders()}
        self.body = response.read()

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def error(self) -> tuple[int, str]:
        assert self.fields["content-type"] == "application/json", self.body
        return self.status, self.json["code"]


def ask(server, path: str, content=None, fields=None, method: str = "POST") -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=TIMEOUT_S)
    try:
        connection.request(method, path, content, fields or {})
        return Answer(connection.getresponse())
    finally:
        connection.close()


def frames(content: bytes) -> list[tuple[int, bytes]]:
    found = []
    while content:
        flag, length = struct.unpack(">BI", content[:5])
        assert len(content) >= 5 + length, "a frame is cut"
        found.append((flag, content[5 : 5 + length]))
        content = content[5 + length :]
    return found


def ended(answer: Answer) -> tuple[list[bytes], dict]:
    """The messages of a stream of Connect, and what its end says."""
    *messages, (flag, last) = frames(answer.body)
    assert flag == 2 and answer.status == 200
    return [octets for _, octets in messages], json.loads(last)


def web(body: bytes) -> tuple[list[bytes], dict[str, str]]:
    """The messages of a response of gRPC-Web, and its trailers."""
    *messages, (flag, last) = frames(body)
    assert flag == 0x80
    lines = last.decode().removesuffix("\r\n").split("\r\n")
    return [octets for _, octets in messages], dict(line.split(": ", 1) for line in lines)


def test_unary_in_json(server):
    answer = ask(server, GUIDE + "GetFeature", '{"latitude": 3, "new": 1}', JSON)
    assert answer.status == 200
    assert answer.fields["content-type"] == "application/json"
    assert answer.json == {"name": "x" * 3, "location": {"latitude": 3}}


def test_unary_in_octets_over_http2(server):
    with H2Client(server) as client:
        fields = [("content-type", "application/proto"), ("connect-protocol-version", "1")]
        answer = client.post(GUIDE + "GetFeature", b"\x08\x02", fields)
        assert answer.status == 200 and answer.trailers is None
        assert answer.body == b"\x0a\x02xx\x12\x02\x08\x02"


def test_curl_needs_nothing_else(server):
    if not shutil.which("curl"):
        pytest.skip("there is no curl")
    url = f"http://127.0.0.1:{server.port}{GUIDE}GetFeature"
    command = ["curl", "-s", "--json", '{"latitude": 1}', url]
    said = subprocess.run(command, capture_output=True, timeout=TIMEOUT_S, check=True)
    assert json.loads(said.stdout)["name"] == "x"


def test_an_error_has_details_and_trailers(server):
    answer = ask(server, GUIDE + "GetFeature", '{"latitude": -1}', JSON)
    assert answer.error == (404, "not_found")
    assert answer.json["message"] == "nothing at\nthe pl\u00e4ce, 100%"
    detail = answer.json["details"][0]
    assert detail["type"] == "routeguide.Point"
    assert base64.b64decode(detail["value"] + "==")[:1] == b"\x08"
    assert "=" not in detail["value"]
    assert answer.fields["trailer-why"] == "asked for"


def test_get_of_a_method_without_side_effects(server):
    for query in (
        {"connect": "v1", "encoding": "json", "message": '"a b"'},
        {"encoding": "proto", "base64": "1", "message": "CgNhIGI"},
        {"encoding": "proto", "base64": "1", "message": "CgNhIGI="},
        {"encoding": "proto", "message": b"\x0a\x03a b"},
        {
            "encoding": "proto", "base64": "1", "compression": "gzip",
            "message": base64.urlsafe_b64encode(gzip.compress(b"\x0a\x03a b")),
        },
    ):  # fmt: skip
        path = "/plain.Plain/Read?" + urllib.parse.urlencode(query)
        answer = ask(server, path, method="GET")
        assert answer.status == 200, (query, answer.body)
        is_json = query["encoding"] == "json"
        assert answer.body == (b'"a b!"' if is_json else b"\x0a\x04a b!")
        assert answer.fields["cache-control"] == "max-age=60"
        assert answer.fields["trailer-protocol"] == answer.fields["content-type"]


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ("", 415, b"encoding"),
        ("encoding=xml&message=a", 415, b"encoding"),
        ("encoding=json", 400, b"there is no message"),
        ("encoding=json&message=%22a%22&connect=v2", 400, b"connect must be v1"),
        ("encoding=proto&base64=1&message=*", 400, b"base64"),
        ("encoding=json&message={", 400, b"invalid_argument"),
        ("encoding=json&message=%22a%22&compression=br", 501, b"content-encoding"),
    ],
)
def test_wrong_queries(server, query, status, words):
    answer = ask(server, "/plain.Plain/Read?" + query, method="GET")
    assert answer.status == status and words in answer.body


def test_head_is_get_without_content(server):
    """RFC 9110 section 9.3.2: the same status and fields."""
    path = "/plain.Plain/Read?encoding=json&message=%22a%22"
    by_get = ask(server, path, method="GET")
    by_head = ask(server, path, method="HEAD")
    assert (by_head.status, by_head.body) == (200, b"")
    for name in ("content-type", "content-length"):
        assert by_head.fields[name] == by_get.fields[name], name


def test_methods_of_http(server):
    path = GUIDE + "GetFeature?encoding=json&message={}"
    for method in ("GET", "PUT", "OPTIONS"):
        answer = ask(server, path, fields=JSON, method=method)
        assert (answer.status, answer.fields["allow"]) == (405, "POST")
    answer = ask(server, "/plain.Plain/Read", fields=JSON, method="DELETE")
    assert (answer.status, answer.fields["allow"]) == (405, "GET, HEAD, POST")


BIG = json.dumps({"latitude": 1}).encode() + b" " * 100


@pytest.mark.parametrize(
    ("rule", "content", "fields", "status", "code", "words"),
    [
        ("no JSON", "{", {}, 400, "invalid_argument", "octet 1"),
        ("field", '{"latitude": "x"}', {}, 400, "invalid_argument", "latitude"),
        ("empty", "", {}, 400, "invalid_argument", "octet 0"),
        ("not UTF-8", b'{"a": "\xff"}', {}, 400, "invalid_argument", ""),
        ("too long", BIG + b" " * 1_000, {}, 429, "resource_exhausted", "1000"),
        ("far too long", b" " * 100_000, {}, 413, "resource_exhausted", "longer"),
        ("version", "{}", {"connect-protocol-version": "2"}, 400, "invalid_argument", "must be 1"),
        ("timeout", "{}", {"connect-timeout-ms": "1s"}, 400, "invalid_argument", "10 digits"),
        ("timeout", "{}", {"connect-timeout-ms": "12345678901"}, 400, "invalid_argument", "10"),
        ("over", "{}", {"connect-timeout-ms": "0"}, 504, "deadline_exceeded", "over"),
        ("coding", "{}", {"content-encoding": "br"}, 501, "unimplemented", "gzip"),
        ("no gzip", "{}", {"content-encoding": "gzip"}, 500, "internal", "compressed"),
        (
            "bomb", gzip.compress(b" " * 10_000, mtime=0), {"content-encoding": "gzip"},
            429, "resource_exhausted", "decompressed",
        ),
    ],
)  # fmt: skip
def test_bad_input_of_one_message(start, rule, content, fields, status, code, words):
    server = start("grpc_server", receive_len_max=1_000)
    answer = ask(server, GUIDE + "GetFeature", content, JSON | fields)
    assert answer.error == (status, code), rule
    assert words in answer.json.get("message", ""), rule
    if rule == "coding":
        assert answer.fields["accept-encoding"] == "identity, gzip"


@pytest.mark.parametrize("type", ["application/xml", "application/connect+json", "text/plain"])
def test_other_types_are_told_of_those_that_are_read(server, type):
    answer = ask(server, GUIDE + "GetFeature", "{}", {"content-type": type})
    types = answer.fields["accept-post"].split(", ")
    assert answer.status == 415
    assert {"application/json", "application/proto", "application/grpc-web-text"} <= set(types)
    assert not [one for one in types if "connect" in one]
    answer = ask(server, GUIDE + "ListFeatures", "{}", JSON)
    assert answer.status == 415
    assert "application/connect+json" in answer.fields["accept-post"]
    assert "application/json" not in answer.fields["accept-post"].split(", ")


def test_what_is_not_there(server):
    assert ask(server, GUIDE + "Nope", "{}", JSON).error == (404, "unimplemented")
    answer = ask(server, GUIDE + "Nope", b"", STREAM)
    assert answer.error == (404, "unimplemented")
    # Others have content of this type, too.
    answer = ask(server, "/nobody/Has", "{}", JSON)
    assert answer.status == 404 and b"code" not in answer.body
    assert ask(server, "/upload", "{}", JSON).body == b"beside gRPC\n"


def test_gzip_both_ways(server):
    content = gzip.compress(b'{"latitude": -6, "longitude": 5000}')
    fields = {"content-encoding": "gzip", "accept-encoding": "br, gzip;q=0.5"}
    answer = ask(server, GUIDE + "GetFeature", content, JSON | fields)
    assert answer.fields["content-encoding"] == "gzip"
    assert answer.fields["vary"] == "accept-encoding"
    assert len(json.loads(gzip.decompress(answer.body))["name"]) == 5_000
    for accepted in ("gzip;q=0", "br"):
        answer = ask(
            server, GUIDE + "GetFeature", content, JSON | fields | {"accept-encoding": accepted}
        )
        assert "content-encoding" not in answer.fields
        assert len(answer.json["name"]) == 5_000


def test_streams_of_connect(server):
    answer = ask(server, GUIDE + "ListFeatures", frame(b'{"lo": {"latitude": 3}}'), STREAM)
    messages, end = ended(answer)
    assert [json.loads(one)["name"] for one in messages] == [f"feature {n}" for n in (2, 1, 0)]
    assert end == {"metadata": {"left": ["none"]}}
    assert answer.fields["kind"] == "listing"
    answer = ask(server, GUIDE + "RecordRoute", frame(b"{}") * 3, STREAM)
    assert ended(answer) == ([b'{"pointCount":3}'], {})
    answer = ask(server, "/threads.Threads/Count", frame(b"{}") * 2, STREAM)
    assert ended(answer) == ([b'{"pointCount":2}'], {"metadata": {"threads": ["one"]}})
    assert answer.fields["counted"] == "2"
    notes = b"".join(frame(json.dumps({"message": one}).encode()) for one in ("a", "fail", "b"))
    messages, end = ended(ask(server, GUIDE + "RouteChat", notes, STREAM))
    assert messages == [b'{"message":"a"}']
    assert end == {"error": {"code": "aborted", "message": "as you wish"}}


def test_streams_that_are_compressed(server):
    note = json.dumps({"message": "z" * 5_000}).encode()
    fields = {"connect-content-encoding": "gzip", "connect-accept-encoding": "gzip"}
    answer = ask(server, GUIDE + "RouteChat", frame(gzip.compress(note), 1), STREAM | fields)
    (message,), end = ended(answer)
    assert json.loads(message) == json.loads(note) and end == {}


@pytest.mark.parametrize("method", ["ListFeatures", "RecordRoute", "RouteChat"])
@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"\0\0\0", "internal"),
        (frame(b"{", length=2), "internal"),
        (frame(b"", length=2**32 - 1), "resource_exhausted"),
        (frame(b"{}", 2), "internal"),
        (frame(b"{}", 1), "internal"),
        (frame(b"{"), "invalid_argument"),
    ],
)
def test_bad_input_ends_streams(server, method, content, code):
    messages, end = ended(ask(server, GUIDE + method, content, STREAM))
    assert messages == [] and end["error"]["code"] == code and end["error"]["message"]


@pytest.mark.parametrize("content", [b"", frame(b"{}") * 2])
def test_a_stream_with_one_request_is_held_to_it(server, content):
    _, end = ended(ask(server, GUIDE + "ListFeatures", content, STREAM))
    assert end["error"]["code"] == "unimplemented"


def test_a_stream_is_refused_in_its_own_words(server):
    for fields, code in (
        ({"connect-content-encoding": "br"}, "unimplemented"),
        ({"connect-timeout-ms": "-1"}, "invalid_argument"),
    ):
        answer = ask(server, GUIDE + "RouteChat", b"", STREAM | fields)
        assert ended(answer)[1]["error"]["code"] == code


def test_a_deadline_ends_a_stream(server):
    began = time.monotonic()
    fields = STREAM | {"connect-timeout-ms": "200", "transfer-encoding": "chunked"}
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=TIMEOUT_S)
    connection.putrequest("POST", GUIDE + "RouteChat")
    for name, value in fields.items():
        connection.putheader(name, value)
    connection.endheaders()
    messages, end = ended(Answer(connection.getresponse()))
    connection.close()
    assert messages == [] and end["error"]["code"] == "deadline_exceeded"
    assert 0.1 < time.monotonic() - began < 5


def test_half_duplex_over_http1_in_pieces(server):
    """Requests come slowly, and replies behind them."""
    note = frame(b'{"message":"one"}')
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=TIMEOUT_S)
    connection.putrequest("POST", GUIDE + "RouteChat")
    connection.putheader("content-length", str(3 * len(note)))
    connection.putheader(*STREAM.copy().popitem())
    connection.endheaders()
    for octet in note * 3:
        connection.send(bytes([octet]))
    messages, end = ended(Answer(connection.getresponse()))
    connection.close()
    assert messages == [note[5:]] * 3 and end == {}


def test_grpc_web(server):
    answer = ask(server, GUIDE + "GetFeature", frame(b"\x08\x02"), WEB)
    assert answer.status == 200
    assert answer.fields["content-type"] == WEB["content-type"]
    assert web(answer.body) == ([b"\x0a\x02xx\x12\x02\x08\x02"], {"grpc-status": "0"})
    wish = b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"  # latitude -1
    messages, trailers = web(ask(server, GUIDE + "GetFeature", frame(wish), WEB).body)
    assert messages == [] and trailers["grpc-status"] == "5"
    assert trailers["grpc-message"] == "nothing at%0Athe pl%C3%A4ce, 100%25"
    assert trailers["why"] == "asked for" and "grpc-status-details-bin" in trailers
    rectangle = frame(b"\x0a\x02\x08\x02")
    messages, trailers = web(ask(server, GUIDE + "ListFeatures", rectangle, WEB).body)
    assert len(messages) == 2 and trailers == {"left": "none", "grpc-status": "0"}
    messages, trailers = web(ask(server, GUIDE + "Nope", b"", WEB).body)
    assert messages == [] and trailers["grpc-status"] == "12"


def text_of(body: bytes) -> bytes:
    """Reads base64 whose parts may each have padding."""
    return b"".join(base64.b64decode(body[at : at + 4]) for at in range(0, len(body), 4))


def test_grpc_web_in_base64(server):
    content = base64.b64encode(frame(b"\x08\x02"))
    answer = ask(server, GUIDE + "GetFeature", content, TEXT)
    assert answer.fields["content-type"] == TEXT["content-type"]
    messages, trailers = web(text_of(answer.body))
    assert messages == [b"\x0a\x02xx\x12\x02\x08\x02"] and trailers["grpc-status"] == "0"
    note = frame(b"\x12\x03abc")
    content = base64.b64encode(note) + base64.b64encode(note * 2)
    messages, trailers = web(text_of(ask(server, GUIDE + "RouteChat", content, TEXT).body))
    assert messages == [note[5:]] * 3 and trailers["grpc-status"] == "0"
    for method in ("GetFeature", "RouteChat"):
        for wrong in (b"****", b"AAA"):
            body = ask(server, GUIDE + method, wrong, TEXT).body
            assert web(text_of(body))[1]["grpc-status"] == "13"


def test_pages_of_other_origins(start):
    server = start("grpc_server", cors="https://app.example")
    page = {"origin": "https://app.example"}
    preflight = page | {
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type,connect-protocol-version",
    }
    answer = ask(server, GUIDE + "GetFeature", None, preflight, "OPTIONS")
    assert answer.status == 204
    assert answer.fields["access-control-allow-origin"] == "https://app.example"
    assert "connect-protocol-version" in answer.fields["access-control-allow-headers"]
    for path, content, fields in (
        ("GetFeature", "{}", JSON),
        ("ListFeatures", frame(b"{}"), STREAM),
    ):
        answer = ask(server, GUIDE + path, content, page | fields)
        assert answer.status == 200
        assert answer.fields["access-control-allow-origin"] == "https://app.example"
        assert "grpc-status" in answer.fields["access-control-expose-headers"]

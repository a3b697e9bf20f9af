"""Compression of responses: what, for whom, and what else changes."""

from flare.compress.content_coding import ContentCoding, can_encode
from flare.compress.decoder import decompress
from flare.compress.error import Format
from flare.http.client.message.request import ClientRequest
from flare.http.client.message.response import ClientResponse
from flare.http.message.body import Body
from flare.http.message.owned_request import OwnedRequest
from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.middleware.compress import Compress, shrinks
from flare.http.middleware.conditional import Conditional
from flare.http.handler.handler import FnHandler
from flare.testing.test_client import TestClient
from tests.support.assertions import assert_equal, assert_false, assert_true

comptime TEXT = StaticString("all work and no play ")


def _content(req: Request) raises -> Response:
    """Makes what the query asks for."""
    var count = Int(req.query_param("len")) // TEXT.byte_length() + 1
    var response = Response(
        Int(req.query_param("status")), Body(String(TEXT) * count)
    )
    for name in [
        "Content-Type",
        "Content-Encoding",
        "Cache-Control",
        "ETag",
        "Content-Digest",
        "Repr-Digest",
    ]:
        var value = req.query_param(name)
        if value.byte_length() > 0:
            response.headers.set(name, value)
    response.headers.set("Accept-Ranges", "bytes")
    return response^


def _client() raises -> TestClient:
    return TestClient(Compress(FnHandler(_content)))


def _ask(
    mut client: TestClient, query: StringSpan, accepted: StringSpan
) raises -> ClientResponse:
    var request = ClientRequest("GET", String("/?", query))
    if accepted.byte_length() > 0:
        request.set_header("Accept-Encoding", accepted)
    return client.send(request^)


def _coding(response: ClientResponse) -> String:
    var value = response.headers.get("content-encoding")
    return String(value.value()) if value else String("-")


def test_the_shortest_content_is_the_programs_choice() raises:
    for shortest in [0, 100, 200]:
        var client = TestClient(
            Compress(FnHandler(_content), content_len_min=shortest)
        )
        # 105 bytes.
        var response = _ask(
            client, "status=200&len=100&Content-Type=text/plain", "gzip"
        )
        assert_equal(_coding(response), "gzip" if shortest <= 105 else "-")


def test_gzip_br_and_zstd() raises:
    var client = _client()
    var query = "status=200&len=3000&Content-Type=text/plain"
    for coding in [
        ContentCoding.GZIP,
        ContentCoding.BR,
        ContentCoding.ZSTD,
    ]:
        if not can_encode(coding):
            print("skipped:", coding, "has no library here")
            continue
        var response = _ask(client, query, coding.name())
        assert_equal(_coding(response), coding.name())
        assert_true(len(response.body) < 300)
        var octets = decompress(
            response.body.as_bytes(), coding.format().value(), 10_000
        )
        assert_true(len(octets) >= 3_000)
        assert_true(String(from_utf8=octets).startswith(TEXT))


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var query: StaticString
    var accepted: StaticString
    var coding: StaticString
    var varies: Bool


def _rows() -> List[_Row]:
    return [
        _Row(
            "no field",
            "status=200&len=3000&Content-Type=text/css",
            "",
            "-",
            True,
        ),
        _Row(
            "not accepted",
            "status=200&len=3000&Content-Type=text/css",
            "gzip;q=0",
            "-",
            True,
        ),
        _Row(
            "identity wanted more",
            "status=200&len=3000&Content-Type=text/css",
            "gzip;q=0.5, identity;q=1",
            "-",
            True,
        ),
        _Row(
            "json",
            "status=200&len=3000&Content-Type=application/json",
            "gzip",
            "gzip",
            True,
        ),
        _Row(
            "parameters",
            "status=200&len=3000&Content-Type=TEXT/html;a=b",
            "gzip",
            "gzip",
            True,
        ),
        _Row(
            "error pages, too",
            "status=404&len=3000&Content-Type=text/html",
            "gzip",
            "gzip",
            True,
        ),
        _Row(
            "short",
            "status=200&len=900&Content-Type=text/css",
            "gzip",
            "-",
            False,
        ),
        _Row(
            "image",
            "status=200&len=3000&Content-Type=image/png",
            "gzip",
            "-",
            False,
        ),
        _Row(
            "9530-2 a digest is of the octets that are sent",
            "status=200&len=3000&Content-Type=text/css&Content-Digest=md5%3D%3AAA%3A",
            "gzip",
            "-",
            False,
        ),
        _Row(
            "9530-3 and of the coding",
            "status=200&len=3000&Content-Type=text/css&Repr-Digest=md5%3D%3AAA%3A",
            "gzip",
            "-",
            False,
        ),
        _Row("no type", "status=200&len=3000", "gzip", "-", False),
        _Row(
            "coded already",
            "status=200&len=3000&Content-Type=text/css&Content-Encoding=lzma",
            "gzip",
            "lzma",
            False,
        ),
        _Row(
            "9110-15.3.7 a part",
            "status=206&len=3000&Content-Type=text/css",
            "gzip",
            "-",
            False,
        ),
        _Row(
            "9111-5.2.2.6 no-transform",
            "status=200&len=3000&Content-Type=text/css"
            "&Cache-Control=private,+No-Transform",
            "gzip",
            "-",
            False,
        ),
        _Row(
            "messages of Connect have codings of their own",
            "status=200&len=3000&Content-Type=application/connect%2Bjson",
            "gzip",
            "-",
            False,
        ),
        _Row(
            "event streams are flushed",
            "status=200&len=3000&Content-Type=text/event-stream",
            "gzip",
            "-",
            False,
        ),
    ]


def _streamed(req: Request) raises -> Response:
    var response = _content(req)
    response.body.make_stream()
    response.headers.set(
        "Content-Length", String(response.body.stream()[].length.value())
    )
    return response^


def test_what_is_compressed() raises:
    _check_rows(_client())


def test_what_a_source_makes_is_compressed_by_the_same_rules() raises:
    _check_rows(TestClient(Compress(FnHandler(_streamed))))


def _check_rows(var client: TestClient) raises:
    for row in _rows():
        var response = _ask(client, row.query, row.accepted)
        assert_equal(_coding(response), row.coding, row.rule)
        if row.coding == "gzip":
            var octets = decompress(
                response.body.as_bytes(), Format.GZIP, 10_000
            )
            assert_true(len(octets) >= 3_000, row.rule)
            assert_false("content-length" in response.headers, row.rule)
        assert_equal("vary" in response.headers, row.varies, row.rule)
        if row.varies:
            assert_equal(response.headers["vary"], "Accept-Encoding", row.rule)


def test_tag_and_ranges() raises:
    var client = _client()
    var query = String('status=200&len=3000&Content-Type=text/css&ETag="a"')
    var coded = _ask(client, query, "gzip")
    assert_equal(coded.headers["etag"], 'W/"a"')
    assert_true("accept-ranges" not in coded.headers)
    var plain = _ask(client, query, "")
    assert_equal(plain.headers["etag"], '"a"')
    assert_equal(plain.headers["accept-ranges"], "bytes")
    query = 'status=200&len=3000&Content-Type=text/css&ETag=W/"a"'
    assert_equal(_ask(client, query, "gzip").headers["etag"], 'W/"a"')


def _left_out(req: Request) raises -> Response:
    """Tells of content that HEAD has not asked for, as a proxy does."""
    var response = _content(req)
    response.headers.set("Content-Length", String(len(response.body)))
    response.body = Body()
    return response^


def _nothing_told(req: Request) raises -> Response:
    return Response(200, Body(), content_type="text/css")


def test_head_tells_nothing_that_get_does_not() raises:
    # RFC 9110 sections 8.6 and 9.3.2: whether GET has a coding, and how long it
    # is then, is not known without the content.
    var handler = Compress(FnHandler(_left_out))
    comptime TARGET = StaticString(
        '/?status=200&len=3000&Content-Type=text/css&ETag="a"'
    )
    for accepted in ["gzip", "identity"]:
        var request = OwnedRequest("HEAD", TARGET)
        request.add_header("Accept-Encoding", accepted)
        var response = handler.serve(request.view())
        assert_equal(response.headers["vary"], "Accept-Encoding")
        var is_coded = accepted == "gzip"
        assert_equal(
            response.headers["etag"], 'W/"a"' if is_coded else '"a"', accepted
        )
        for name in ["content-length", "accept-ranges"]:
            assert_equal(name in response.headers, not is_coded, name)
        assert_false("content-encoding" in response.headers)
    # Of unknown length: it may be long.
    var unknown = OwnedRequest(
        "HEAD", "/?status=200&len=3000&Content-Type=text/css"
    )
    unknown.add_header("Accept-Encoding", "gzip")
    var response = Compress(FnHandler(_nothing_told)).serve(unknown.view())
    assert_equal(response.headers["vary"], "Accept-Encoding")
    # Nor has it a coding if it is short.
    var short = OwnedRequest(
        "HEAD", "/?status=200&len=30&Content-Type=text/css"
    )
    short.add_header("Accept-Encoding", "gzip")
    assert_false("vary" in handler.serve(short.view()).headers)


@fieldwise_init
struct _Unchanged(Copyable, Movable):
    var rule: StaticString
    var query: StaticString
    var known: StaticString
    var vary: StaticString
    var tag: StaticString


def test_a_304_says_what_its_200_says() raises:
    # RFC 9110-15.4.5, RFC 9111-4.3.4.
    comptime Q = StaticString("len=3000&Content-Type=text/plain&ETag=")
    var rows: List[_Unchanged] = [
        _Unchanged("as it is", '"a"', '"a"', "Accept-Encoding", '"a"'),
        _Unchanged("as compressed", '"a"', 'W/"a"', "Accept-Encoding", 'W/"a"'),
        _Unchanged("both", '"a"', 'W/"a", "a"', "Accept-Encoding", '"a"'),
        _Unchanged("weak anyway", 'W/"a"', 'W/"a"', "Accept-Encoding", 'W/"a"'),
        _Unchanged("any", '"a"', "*", "Accept-Encoding", '"a"'),
        _Unchanged(
            "no-transform",
            '"a"&Cache-Control=no-transform',
            'W/"a"',
            "-",
            '"a"',
        ),
    ]
    var client = TestClient(Compress(Conditional(FnHandler(_content))))
    for row in rows:
        var request = ClientRequest(
            "GET", String("/?status=200&", Q, row.query)
        )
        request.set_header("Accept-Encoding", "gzip")
        var whole = client.send(request.copy())
        request.set_header("If-None-Match", row.known)
        var response = client.send(request^)
        assert_equal(response.status.code, 304, row.rule)
        assert_equal(_field(response, "vary"), row.vary, row.rule)
        assert_equal(_field(response, "vary"), _field(whole, "vary"), row.rule)
        assert_equal(_field(response, "etag"), row.tag, row.rule)


def _field(response: ClientResponse, name: StringSpan) -> String:
    var value = response.headers.get(name)
    return String(value.value()) if value else String("-")


def test_types() raises:
    for name in ["text/css", "application/problem+json", "image/svg+xml"]:
        assert_true(shrinks(name.as_bytes()), name)
    for name in [
        "",
        "image/jpeg",
        "application/zip",
        "video/mp4",
        "textual/x",
        "text/event-stream",
        "application/connect+json",
        "application/grpc-web+json",
    ]:
        assert_true(not shrinks(name.as_bytes()), name)

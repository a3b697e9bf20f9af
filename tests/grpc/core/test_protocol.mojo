"""How calls go over HTTP: recognition, deadlines, queries, JSON of Connect, frames of
gRPC-Web."""

from flare.bytes.buffer import Buffer
from flare.grpc.core.coding import accepts_gzip
from flare.grpc.core.connect import (
    connect_code_name,
    connect_http_status,
    write_end,
    write_error,
)
from flare.grpc.core.connect_query import ConnectQuery
from flare.grpc.core.kind import GrpcKind
from flare.grpc.core.metadata import Metadata
from flare.grpc.core.protocol import (
    CallProtocol,
    MessageCodec,
    ProtocolFamily,
    accepted_types,
)
from flare.grpc.core.status import CODE_MAX, GrpcCode, GrpcStatus
from flare.grpc.core.timeout import parse_milliseconds
from flare.grpc.core.web import TextDecoder, append_text, write_trailers
from flare.http.message.header_map import HeaderMap
from flare.protobuf.known import Any
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.guard_page import GuardedBytes


@fieldwise_init
struct _Type(Copyable, Movable):
    var text: String
    var family: ProtocolFamily
    var codec: MessageCodec


def test_content_types() raises:
    comptime F = ProtocolFamily
    comptime PROTO = MessageCodec.PROTO
    comptime JSON = MessageCodec.JSON
    var rows: List[_Type] = [
        _Type("application/grpc", F.GRPC, PROTO),
        _Type("Application/gRPC+proto; a=b", F.GRPC, PROTO),
        _Type("application/grpc+json", F.GRPC, JSON),
        _Type("application/grpc-web", F.WEB, PROTO),
        _Type("application/grpc-web+json ; charset=utf-8", F.WEB, JSON),
        _Type("application/grpc-web-text+proto", F.WEB_TEXT, PROTO),
        _Type("application/connect+proto", F.CONNECT_STREAM, PROTO),
        _Type("application/connect+json", F.CONNECT_STREAM, JSON),
        _Type("application/proto", F.CONNECT_UNARY, PROTO),
        _Type("application/json;charset=utf-8", F.CONNECT_UNARY, JSON),
    ]
    for row in rows:
        var guarded = GuardedBytes(row.text.as_bytes())
        var found = CallProtocol.of_content_type(guarded.span())
        assert_true(Bool(found), row.text)
        assert_true(found.value().family() == row.family, row.text)
        assert_true(found.value().codec() == row.codec, row.text)
    for text in [
        "",
        ";",
        "application/grpc+",
        "application/grpcweb",
        "application/grpc+cbor",
        "application/connect",
        "text/json",
    ]:
        assert_false(
            Bool(CallProtocol.of_content_type(text.as_bytes())), text
        )


def test_kinds_that_a_protocol_takes() raises:
    var unary = accepted_types(GrpcKind.UNARY)
    assert_true(unary.startswith("application/grpc, application/grpc+proto,"))
    assert_true(unary.endswith("application/proto, application/json"))
    assert_false("connect" in unary)
    for kind in [
        GrpcKind.SERVER_STREAM,
        GrpcKind.CLIENT_STREAM,
        GrpcKind.BIDI_STREAM,
    ]:
        var types = accepted_types(kind)
        assert_true(
            types.endswith("application/connect+proto, application/connect+json")
        )


def test_codecs_of_queries() raises:
    for name in ["proto", "json"]:
        var found = CallProtocol.of_query(name.as_bytes()).value()
        assert_equal(found.content_type(), String("application/") + name)
        assert_false(found.is_framed())
    for name in ["", "Proto", "connect+proto", "grpc"]:
        assert_false(Bool(CallProtocol.of_query(name.as_bytes())), name)


def test_deadlines_in_milliseconds() raises:
    assert_equal(parse_milliseconds("0".as_bytes()).value(), 0)
    assert_equal(parse_milliseconds("250".as_bytes()).value(), 250_000_000)
    assert_equal(
        parse_milliseconds("9999999999".as_bytes()).value(),
        9_999_999_999_000_000,
    )
    for text in ["", "12345678901", "1s", "-1", " 1", "1.5"]:
        assert_false(Bool(parse_milliseconds(text.as_bytes())), text)


def test_weights_of_codings() raises:
    for list in ["gzip;q=1", "br, gzip ; q=0.001", "gzip;q=0.5,br"]:
        assert_true(accepts_gzip(list.as_bytes()), list)
    for list in ["gzip;q=0", "gzip; q=0.000", "br;q=1, gzip;q=0"]:
        assert_false(accepts_gzip(list.as_bytes()), list)


def test_codes_of_connect() raises:
    assert_equal(connect_code_name(GrpcCode.CANCELLED), "canceled")
    assert_equal(connect_code_name(GrpcCode.UNAUTHENTICATED), "unauthenticated")
    var statuses: List[Int] = [
        200, 499, 500, 400, 504, 404, 409, 403, 429, 400, 409, 400, 501, 500,
        503, 500, 401,
    ]
    for number in range(CODE_MAX + 1):
        var code = GrpcCode.from_number(number)
        assert_equal(connect_http_status(code), statuses[number])


def _error(status: GrpcStatus) -> String:
    var out = Buffer()
    write_error(status, out)
    return String(StringSpan(unsafe_from_utf8=out.span()))


def _end(status: GrpcStatus, trailers: Metadata) -> String:
    var out = Buffer()
    write_end(status, trailers, out)
    return String(StringSpan(unsafe_from_utf8=out.span()))


def test_errors_in_json() raises:
    var status = GrpcStatus(GrpcCode.NOT_FOUND)
    assert_equal(_error(status), '{"code":"not_found"}')
    status.message = 'a "b"\n'
    assert_equal(
        _error(status), '{"code":"not_found","message":"a \\"b\\"\\n"}'
    )
    status.message = ""
    status.details.append(
        Any(type_url="type.googleapis.com/a.B", value=[UInt8(255)])
    )
    status.details.append(Any(type_url="c.D"))
    assert_equal(
        _error(status),
        (
            '{"code":"not_found","details":[{"type":"a.B","value":"/w"},'
            '{"type":"c.D","value":""}]}'
        ),
    )


def test_ends_of_streams_in_json() raises:
    var trailers = Metadata()
    assert_equal(_end(GrpcStatus(), trailers), "{}")
    trailers.add("a", "1")
    trailers.add("b", "2")
    trailers.add("a", "3")
    comptime METADATA = '"metadata":{"a":["1","3"],"b":["2"]}}'
    assert_equal(_end(GrpcStatus(), trailers), "{" + METADATA)
    assert_equal(
        _end(GrpcStatus(GrpcCode.ABORTED, "x"), trailers),
        '{"error":{"code":"aborted","message":"x"},' + METADATA,
    )


def test_queries() raises:
    var guarded = GuardedBytes(
        "x&connect=v1&encoding=json&message=%7B+%2B%7D&compression=gzip&&="
        .as_bytes()
    )
    var query = ConnectQuery(guarded.span())
    assert_equal(String(StringSpan(unsafe_from_utf8=query.codec)), "json")
    assert_equal(String(StringSpan(unsafe_from_utf8=query.coding)), "gzip")
    assert_equal(
        String(StringSpan(unsafe_from_utf8=query.message())), "{ +}"
    )
    for text in ["-_8", "-_8=", "%2D_8%3D"]:
        var coded = String("base64=1&message=", text)
        var octets = ConnectQuery(coded.as_bytes()).message()
        assert_equal(len(octets), 2, text)
        assert_equal(octets[0], 0xFB, text)
    for text in ["", "connect=v1", "message=a&connect=v2", "base64=1&message=*"]:
        var fails = False
        try:
            _ = ConnectQuery(text.as_bytes()).message()
        except status:
            fails = status.code == GrpcCode.INVALID_ARGUMENT
        assert_true(fails, text)


def test_trailers_as_lines() raises:
    var fields = HeaderMap()
    fields.append("grpc-status", "0")
    fields.append("a", "b c")
    var out = Buffer()
    write_trailers(fields, out)
    assert_equal(
        String(StringSpan(unsafe_from_utf8=out.span())),
        "grpc-status: 0\r\na: b c\r\n",
    )


def test_base64_in_pieces() raises:
    var octets = List[UInt8]()
    for index in range(100):
        octets.append(UInt8(index * 3 & 255))
    for piece_len in [1, 2, 3, 5, 100]:
        var text = Buffer()
        for start in range(0, 100, 7):
            append_text(Span(octets)[start : min(start + 7, 100)], text)
        var decoder = TextDecoder()
        var out = Buffer()
        for start in range(0, len(text), piece_len):
            var end = min(start + piece_len, len(text))
            assert_true(decoder.receive(text.span()[start:end], out))
        assert_true(decoder.is_whole())
        assert_true(List[UInt8](out.span()) == octets, String(piece_len))
    for text in ["*AAA", "AA=A", "====", "AAAA=AAA"]:
        var decoder = TextDecoder()
        var out = Buffer()
        assert_false(decoder.receive(text.as_bytes(), out), text)
    var decoder = TextDecoder()
    var out = Buffer()
    assert_true(decoder.receive("AAAAA".as_bytes(), out))
    assert_false(decoder.is_whole())

"""How calls go over HTTP: recognition, deadlines, queries, JSON of Connect, frames of
gRPC-Web."""

from flare.bytes.buffer import Buffer
from flare.grpc.core.codec import MessageCodec, decode_as, encode_as
from flare.grpc.core.coding import MessageCoding, accepts_gzip
from flare.grpc.core.connect import (
    connect_code_name,
    connect_http_status,
    read_end,
    read_error,
    write_end,
    write_error,
)
from flare.grpc.core.connect_query import ConnectQuery, write_query
from flare.grpc.core.kind import GrpcKind
from flare.grpc.core.metadata import Metadata
from flare.grpc.core.protocol import (
    CallProtocol,
    ProtocolFamily,
    accepted_types,
)
from flare.grpc.core.status import CODE_MAX, GrpcCode, GrpcStatus
from flare.grpc.core.timeout import format_milliseconds, parse_milliseconds
from flare.grpc.core.web import (
    TextDecoder,
    append_text,
    read_trailers,
    write_trailers,
)
from flare.http.message.header_map import HeaderMap
from flare.protobuf.known import Any, StringValue
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
        assert_false(Bool(CallProtocol.of_content_type(text.as_bytes())), text)


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
            types.endswith(
                "application/connect+proto, application/connect+json"
            )
        )


@fieldwise_init
struct _Form(Copyable, Movable):
    var protocol: CallProtocol
    var kind: GrpcKind
    var content_type: String


def test_forms_for_kinds() raises:
    """Connect: "Unary-Request" and "Streaming-Request"."""
    comptime UNARY = GrpcKind.UNARY
    comptime STREAM = GrpcKind.CLIENT_STREAM
    comptime P = CallProtocol
    var rows: List[_Form] = [
        _Form(P.GRPC, UNARY, "application/grpc"),
        _Form(P.GRPC, STREAM, "application/grpc"),
        _Form(P.GRPC_WEB, UNARY, "application/grpc-web+proto"),
        _Form(P.GRPC_WEB, STREAM, "application/grpc-web+proto"),
        _Form(P.CONNECT, UNARY, "application/proto"),
        _Form(P.CONNECT, STREAM, "application/connect+proto"),
        _Form(P.CONNECT, GrpcKind.SERVER_STREAM, "application/connect+proto"),
        _Form(P.CONNECT, GrpcKind.BIDI_STREAM, "application/connect+proto"),
        _Form(P.CONNECT_JSON, UNARY, "application/json"),
        _Form(P.CONNECT_JSON, STREAM, "application/connect+json"),
    ]
    for row in rows:
        var form = row.protocol.for_kind(row.kind)
        assert_equal(form.content_type(), row.content_type)
        # Whichever form is given, the other one is found.
        assert_true(form.for_kind(row.kind) == form)
        assert_true(form.codec() == row.protocol.codec())
    assert_equal(P.CONNECT.for_kind(STREAM).end_flag(), 2)
    assert_equal(P.GRPC_WEB.end_flag(), 0x80)
    assert_equal(P.GRPC.name(), "gRPC")
    assert_equal(P.GRPC_WEB.name(), "gRPC-Web")
    assert_equal(P.CONNECT_JSON.for_kind(STREAM).name(), "Connect")


def test_deadlines_of_protocols() raises:
    assert_equal(CallProtocol.GRPC.format_timeout(1_500_000), "1500000n")
    assert_equal(CallProtocol.GRPC_WEB.format_timeout(1_500_000), "1500000n")
    assert_equal(CallProtocol.CONNECT.format_timeout(1_500_000), "2")


def test_messages_in_both_codecs() raises:
    for codec in [MessageCodec.PROTO, MessageCodec.JSON]:
        var message = StringValue()
        message.value = "a"
        var out = Buffer()
        out.append("-".as_bytes())
        encode_as(message, codec, None, out)
        var wanted = '-"a"' if codec == MessageCodec.JSON else "-\n\x01a"
        assert_equal(String(from_utf8_lossy=out.span()), wanted)
        var read = decode_as[StringValue](out.span()[1:], codec, None)
        assert_equal(read.value, "a")


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


def test_milliseconds_are_written() raises:
    """Connect: up to ten digits; rounded up, so that no server ends before."""
    var times_ns: List[Int] = [-1, 0, 1, 1_000_000]
    for time_ns in times_ns:
        assert_equal(format_milliseconds(time_ns), "1")
    assert_equal(format_milliseconds(1_000_001), "2")
    assert_equal(format_milliseconds(2_500_000_000), "2500")
    times_ns = [9_999_999_999_000_000, 9_999_999_999_000_001, Int.MAX]
    for time_ns in times_ns:
        assert_equal(format_milliseconds(time_ns), "9999999999")


def test_weights_of_codings() raises:
    for list in ["gzip;q=1", "br, gzip ; q=0.001", "gzip;q=0.5,br"]:
        assert_true(accepts_gzip(list.as_bytes()), list)
    for list in ["gzip;q=0", "gzip; q=0.000", "br;q=1, gzip;q=0"]:
        assert_false(accepts_gzip(list.as_bytes()), list)


def test_codes_of_connect() raises:
    assert_equal(connect_code_name(GrpcCode.CANCELLED), "canceled")
    assert_equal(connect_code_name(GrpcCode.UNAUTHENTICATED), "unauthenticated")
    var statuses: List[Int] = [
        200,
        499,
        500,
        400,
        504,
        404,
        409,
        403,
        429,
        400,
        409,
        400,
        501,
        500,
        503,
        500,
        401,
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


@fieldwise_init
struct _ReadError(Copyable, Movable):
    var rule: StaticString
    var json: String
    # Empty if it is none.
    var expected: String


def _said(status: GrpcStatus) raises -> String:
    var text = String(status.code.name(), " ", status.message)
    for detail in status.details:
        text.write(" [", detail.type_url, " ", len(detail.value), "]")
    return text


def test_errors_are_read() raises:
    """Connect, "Error": a code that is not known is that of the status of HTTP,
    members that are not known are passed over, base64 has padding or not."""
    var rows: List[_ReadError] = [
        _ReadError("code", '{"code":"not_found"}', "NOT_FOUND "),
        _ReadError("one l", '{"code":"canceled","message":"m"}', "CANCELLED m"),
        _ReadError("two", '{"code":"cancelled"}', "ABORTED "),
        _ReadError("ok", '{"code":"ok"}', "ABORTED "),
        _ReadError("case", '{"code":"NOT_FOUND"}', "ABORTED "),
        _ReadError("number", '{"code":5,"message":7}', "ABORTED "),
        _ReadError("null", '{"code":null,"message":"m"}', "ABORTED m"),
        _ReadError("none", " {} ", "ABORTED "),
        _ReadError("null alone", "null", ""),
        _ReadError("list", '["code"]', ""),
        _ReadError("text", '"not_found"', ""),
        _ReadError("no JSON", '{"code":"not_found"', ""),
        _ReadError("empty", "", ""),
        _ReadError(
            "details",
            '{"code":"internal","new":1,"details":[{"type":"a.B","value":"/w"'
            ',"debug":[],"x":2},{"type":"c.D","value":"/w=="},{"type":"e.F",'
            '"value":""}]}',
            "INTERNAL  [type.googleapis.com/a.B 1] [type.googleapis.com/c.D 1]"
            " [type.googleapis.com/e.F 0]",
        ),
        _ReadError(
            "details that are none",
            '{"code":"internal","details":[1,null,{},{"type":"a.B"},'
            '{"value":"/w"},{"type":1,"value":"/w"},{"type":"a.B","value":"*"}'
            "]}",
            "INTERNAL ",
        ),
        _ReadError(
            "details of another kind",
            '{"code":"internal","details":{"type":"a.B"}}',
            "INTERNAL ",
        ),
    ]
    for row in rows:
        var guarded = GuardedBytes(row.json.as_bytes())
        var status = read_error(guarded.span(), GrpcCode.ABORTED)
        var found = _said(status.value()) if status else String()
        assert_equal(found, row.expected, row.rule)


def test_every_code_is_read_again() raises:
    for number in range(1, CODE_MAX + 1):
        var code = GrpcCode.from_number(number)
        var text = _error(GrpcStatus(code, "m"))
        var read = read_error(text.as_bytes(), GrpcCode.OK).value().copy()
        assert_true(read.code == code, text)


@fieldwise_init
struct _ReadEnd(Copyable, Movable):
    var rule: StaticString
    var json: String
    var expected: String


def _read_end(json: String) -> String:
    try:
        var end = read_end(json.as_bytes())
        var text = String(end.status.code.name(), " ", end.status.message)
        for index in range(len(end.trailers)):
            text.write(
                "|", end.trailers.name(index), "=", end.trailers.value(index)
            )
        return text
    except status:
        return String("!", status.code.name())


def test_ends_of_streams_are_read() raises:
    """Connect, "EndStreamResponse"."""
    var rows: List[_ReadEnd] = [
        _ReadEnd("success", "{}", "OK "),
        _ReadEnd("null", '{"error":null,"metadata":null}', "OK "),
        _ReadEnd("error", '{"error":{"code":"aborted"}}', "ABORTED "),
        _ReadEnd("no code", '{"error":{"message":"m"}}', "UNKNOWN m"),
        _ReadEnd("no object", '{"error":7}', "UNKNOWN "),
        _ReadEnd(
            "metadata",
            '{"metadata":{"a":["1","2"],"B-Bin":["AQI","AQM"]}}',
            "OK |a=1|a=2|b-bin=AQI|b-bin=AQM",
        ),
        _ReadEnd(
            "what no field can be",
            '{"metadata":{"a":"1","b":[1,"x\\ny","z"],"c d":["1"],"":["1"],'
            '"grpc-status":["5"],"connect-x":["1"]}}',
            "OK |b=z",
        ),
        _ReadEnd("not JSON", "{", "!INTERNAL"),
        _ReadEnd("nothing", "", "!INTERNAL"),
        _ReadEnd("a list", "[]", "!INTERNAL"),
        _ReadEnd("null alone", "null", "!INTERNAL"),
    ]
    for row in rows:
        assert_equal(_read_end(row.json), row.expected, row.rule)


def test_queries_are_written() raises:
    """Connect, "Unary-Get-Request": the order is that which caches know."""
    comptime PROTO = MessageCodec.PROTO
    comptime JSON = MessageCodec.JSON
    comptime PLAIN = MessageCoding.IDENTITY
    var octets: List[UInt8] = [0xFB, 0xFF]
    assert_equal(
        write_query(octets, PROTO, PLAIN),
        "connect=v1&base64=1&encoding=proto&message=-_8",
    )
    assert_equal(
        write_query(octets, JSON, MessageCoding.GZIP),
        "connect=v1&base64=1&compression=gzip&encoding=json&message=-_8",
    )
    var text = String('{"a b":"&=+%#/\u00e9"}')
    assert_equal(
        write_query(text.as_bytes(), JSON, PLAIN),
        "connect=v1&encoding=json&message=%7B%22a%20b%22%3A%22%26%3D%2B%25%23"
        "%2F%C3%A9%22%7D",
    )
    for codec in [PROTO, JSON]:
        for coding in [PLAIN, MessageCoding.GZIP]:
            var query = ConnectQuery(
                write_query(text.as_bytes(), codec, coding).as_bytes()
            )
            assert_equal(String(from_utf8_lossy=query.codec), codec.name())
            assert_equal(String(from_utf8_lossy=query.coding), coding.name())
            assert_equal(String(from_utf8_lossy=query.message()), text)


def test_queries() raises:
    var guarded = GuardedBytes(
        "x&connect=v1&encoding=json&message=%7B+%2B%7D&compression=gzip&&=".as_bytes()
    )
    var query = ConnectQuery(guarded.span())
    assert_equal(String(StringSpan(unsafe_from_utf8=query.codec)), "json")
    assert_equal(String(StringSpan(unsafe_from_utf8=query.coding)), "gzip")
    assert_equal(String(StringSpan(unsafe_from_utf8=query.message())), "{ +}")
    # A name may be written with percent signs, too (RFC 3986 section 6.2.2.2).
    var coded = ConnectQuery(
        "%65ncoding=json&m%65ssage=a&b%61se64=1&compressio%6E=gzip".as_bytes()
    )
    assert_equal(String(from_utf8_lossy=coded.codec), "json")
    assert_equal(String(from_utf8_lossy=coded.coding), "gzip")
    for text in ["-_8", "-_8=", "%2D_8%3D"]:
        var coded = String("base64=1&message=", text)
        var octets = ConnectQuery(coded.as_bytes()).message()
        assert_equal(len(octets), 2, text)
        assert_equal(octets[0], 0xFB, text)
    for text in [
        "",
        "connect=v1",
        "message=a&connect=v2",
        "base64=1&message=*",
    ]:
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


@fieldwise_init
struct _Lines(Copyable, Movable):
    var rule: StaticString
    var text: String
    # What is written again; `!` if it is refused.
    var expected: String


def test_lines_are_trailers() raises:
    """PROTOCOL-WEB.md: as lines of HTTP/1.1 (RFC 9112 section 5)."""
    var rows: List[_Lines] = [
        _Lines("9112-5 field-line", "a: b\r\nc: d\r\n", "a: b\r\nc: d\r\n"),
        _Lines("9112-5.1 OWS", "a:b\r\nc: \t d e \t\r\n", "a: b\r\nc: d e\r\n"),
        _Lines("9112-2.2 bare LF", "a: b\nc: d\n", "a: b\r\nc: d\r\n"),
        _Lines("no end", "a: b", "a: b\r\n"),
        _Lines("empty value", "a:\r\nb: ", "a: \r\nb: \r\n"),
        _Lines("colons", "a: b: c:\r\n", "a: b: c:\r\n"),
        _Lines("twice", "a: 1\r\na: 2\r\n", "a: 1\r\na: 2\r\n"),
        _Lines("nothing", "", ""),
        _Lines("empty line", "\r\na: b\r\n\r\n", "a: b\r\n"),
        _Lines("no colon", "a: b\r\nc\r\n", "!"),
        _Lines("no name", ": b\r\n", "!"),
        _Lines("9112-5.1 space before the colon", "a : b\r\n", "!"),
        _Lines("9112-5.2 folded line", "a: b\r\n c\r\n", "!"),
        _Lines("9110-5.5 control octet", "a: b\x01\r\n", "!"),
        _Lines("9110-5.5 bare CR", "a: b\rc\r\n", "!"),
        _Lines("too long", String("a: ", "x" * 70_000, "\r\n"), "!"),
    ]
    for row in rows:
        var guarded = GuardedBytes(row.text.as_bytes())
        assert_equal(_read_lines(guarded), row.expected, row.rule)


def _read_lines(guarded: GuardedBytes) -> String:
    var out = Buffer()
    try:
        write_trailers(read_trailers(guarded.span()), out)
    except status:
        return "!" if status.code == GrpcCode.INTERNAL else status.message
    return String(from_utf8_lossy=out.span())


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

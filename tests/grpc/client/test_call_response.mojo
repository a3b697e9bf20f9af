"""What a call makes of a server's answer: heads, messages, ends, in any pieces."""

from flare.bytes.buffer import Buffer
from flare.grpc.client.call_response import (
    NEVER_AGAIN,
    NO_PUSHBACK,
    CallResponse,
    is_grpc_content,
    read_pushback,
)
from flare.grpc.core.message_writer import append_message
from flare.grpc.core.coding import MessageCoding
from flare.grpc.core.status import GrpcCode, GrpcStatus
from flare.http.message.header_map import HeaderMap
from tests.support.assertions import assert_equal, assert_false, assert_true


def _fields(text: StringSpan) raises -> HeaderMap:
    """Reads fields, such as `a: b|c: d`."""
    var headers = HeaderMap()
    if text.byte_length() == 0:
        return headers^
    for line in text.split("|"):
        var parts = line.split(": ")
        headers.append(parts[0], parts[1])
    return headers^


def _messages(text: StringSpan, coding: MessageCoding) raises -> List[UInt8]:
    """Frames messages with commas between them; `!` cuts off the last octet."""
    var out = Buffer()
    var is_cut = text.endswith("!")
    if text.byte_length() > 0:
        for message in text.split(","):
            append_message(message.as_bytes(), out, coding)
    if is_cut:
        out.truncate(len(out) - 1)
    return List[UInt8](out.span())


def _drain(mut response: CallResponse, mut text: String):
    while response.next():
        text.write("[", String(from_utf8_lossy=response.message()), "]")


def _events(
    status: Int,
    head: StringSpan,
    octets: Span[UInt8, _],
    trailers: StringSpan,
    *,
    one: Bool,
    piece_len: Int,
) raises -> String:
    """Lists what comes of a response in pieces."""
    var response = CallResponse(has_one_message=one, length_max=100)
    var text = String()
    response.take_head(status, _fields(head))
    var start = 0
    while start < len(octets) and not response.status:
        var end = min(start + piece_len, len(octets))
        response.receive(octets[start:end])
        _drain(response, text)
        start = end
    _drain(response, text)
    if not response.status:
        response.take_end(_fields(trailers))
    ref found = response.status.value()
    text.write(found.code.name(), " ", found.message)
    if response.is_committed:
        text.write(" committed")
    return text


@fieldwise_init
struct _Row(ImplicitlyCopyable):
    var rule: StaticString
    var status: Int
    var head: StaticString
    var messages: StaticString
    var trailers: StaticString
    var is_one: Bool
    var events: StaticString


comptime _GRPC = "content-type: application/grpc"


def _rows() -> List[_Row]:
    return [
        _Row(
            "unary",
            200,
            "content-type: application/grpc",
            "abc",
            "grpc-status: 0",
            True,
            "[abc]OK  committed",
        ),
        _Row(
            "stream",
            200,
            "content-type: application/grpc+proto",
            "a,,b",
            "grpc-status: 0|x: y",
            False,
            "[a][][b]OK  committed",
        ),
        _Row(
            "status and message",
            200,
            "content-type: application/grpc;x=y",
            "a",
            "grpc-status: 5|grpc-message: no%20such",
            False,
            "[a]NOT_FOUND no such committed",
        ),
        _Row(
            "Trailers-Only",
            200,
            "content-type: application/grpc|grpc-status: 12|grpc-message: what",
            "",
            "",
            True,
            "UNIMPLEMENTED what",
        ),
        _Row(
            "Trailers-Only with a success",
            200,
            "content-type: application/grpc|grpc-status: 0",
            "",
            "",
            False,
            "OK ",
        ),
        _Row(
            "Trailers-Only with a success, but a message has to be",
            200,
            "content-type: application/grpc|grpc-status: 0",
            "",
            "",
            True,
            "UNIMPLEMENTED the server has ended the call as a success, without the"
            " message that it has to have",
        ),
        _Row(
            "a status of gRPC wins over that of HTTP",
            503,
            "grpc-status: 7|grpc-message: no",
            "",
            "",
            True,
            "PERMISSION_DENIED no",
        ),
        _Row(
            "content behind a head with a status",
            200,
            "content-type: application/grpc|grpc-status: 0",
            "a",
            "",
            True,
            "INTERNAL the server has sent content behind a head with a status",
        ),
        _Row(
            "trailers behind a head with a status count",
            200,
            "content-type: application/grpc|grpc-status: 0",
            "",
            "grpc-status: 3",
            False,
            "INVALID_ARGUMENT  committed",
        ),
        _Row(
            "400",
            400,
            "",
            "",
            "",
            True,
            "INTERNAL HTTP status 400 without grpc-status and content type: what"
            " answered is no gRPC server committed",
        ),
        _Row(
            "401",
            401,
            "content-type: application/grpc",
            "",
            "",
            True,
            "UNAUTHENTICATED HTTP status 401 without grpc-status committed",
        ),
        _Row(
            "404",
            404,
            "content-type: text/html",
            "",
            "",
            True,
            "UNIMPLEMENTED HTTP status 404 with content of the type 'text/html':"
            " what answered is no gRPC server committed",
        ),
        _Row(
            "503",
            503,
            "content-type: text/plain",
            "",
            "",
            True,
            "UNAVAILABLE HTTP status 503 with content of the type 'text/plain':"
            " what answered is no gRPC server committed",
        ),
        _Row(
            "204",
            204,
            "",
            "",
            "",
            True,
            "UNKNOWN HTTP status 204 without grpc-status and content type: what"
            " answered is no gRPC server committed",
        ),
        _Row(
            "wrong content type",
            200,
            "content-type: application/json",
            "",
            "",
            True,
            "UNKNOWN HTTP status 200 with content of the type"
            " 'application/json': what answered is no gRPC server committed",
        ),
        _Row(
            "no content type",
            200,
            "x: y",
            "",
            "",
            True,
            "UNKNOWN HTTP status 200 without grpc-status and content type: what"
            " answered is no gRPC server committed",
        ),
        _Row(
            "a coding that was not offered",
            200,
            "content-type: application/grpc|grpc-encoding: br",
            "a",
            "grpc-status: 0",
            False,
            "INTERNAL the server compresses its messages with 'br', which was"
            " not offered; identity and gzip are committed",
        ),
        _Row(
            "no trailers",
            200,
            "content-type: application/grpc",
            "a",
            "",
            False,
            "[a]INTERNAL the server has ended the call without a status committed",
        ),
        _Row(
            "trailers without a status",
            200,
            "content-type: application/grpc",
            "a",
            "x: y",
            False,
            "[a]UNKNOWN the server's trailers have no grpc-status committed",
        ),
        _Row(
            "a status that is no number",
            200,
            "content-type: application/grpc",
            "a",
            "grpc-status: much",
            False,
            "[a]UNKNOWN  committed",
        ),
        _Row(
            "a status without a name",
            200,
            "content-type: application/grpc",
            "a",
            "grpc-status: 17",
            False,
            "[a]UNKNOWN  committed",
        ),
        _Row(
            "a message cut off, but a success",
            200,
            "content-type: application/grpc",
            "ab,c!",
            "grpc-status: 0",
            False,
            "[ab]INTERNAL the stream ends 6 bytes into a message committed",
        ),
        _Row(
            "a message cut off, and a failure that says why",
            200,
            "content-type: application/grpc",
            "ab,c!",
            "grpc-status: 15",
            False,
            "[ab]DATA_LOSS  committed",
        ),
        _Row(
            "two messages where one is",
            200,
            "content-type: application/grpc",
            "a,b",
            "grpc-status: 0",
            True,
            "[a]UNIMPLEMENTED the server has sent more than the one message of this"
            " call committed",
        ),
        _Row(
            "no message where one is",
            200,
            "content-type: application/grpc",
            "",
            "grpc-status: 0",
            True,
            "UNIMPLEMENTED the server has ended the call as a success, without the"
            " message that it has to have committed",
        ),
        _Row(
            "no message, and a failure",
            200,
            "content-type: application/grpc",
            "",
            "grpc-status: 9",
            True,
            "FAILED_PRECONDITION  committed",
        ),
    ]


def test_rows_in_any_pieces() raises:
    for row in _rows():
        var octets = _messages(row.messages, MessageCoding.IDENTITY)
        for piece_len in range(1, len(octets) + 2):
            assert_equal(
                _events(
                    row.status,
                    row.head,
                    octets,
                    row.trailers,
                    one=row.is_one,
                    piece_len=piece_len,
                ),
                String(row.events),
                row.rule,
            )


def test_a_message_is_refused_by_its_prefix() raises:
    var response = CallResponse(has_one_message=False, length_max=100)
    response.take_head(200, _fields("content-type: application/grpc"))
    # 101 octets are promised, and none is there.
    response.receive([UInt8(0), 0, 0, 0, 101])
    assert_false(response.next(), "refused")
    assert_true(
        response.status.value().code == GrpcCode.RESOURCE_EXHAUSTED, "code"
    )


def test_a_flag_without_a_coding() raises:
    var response = CallResponse(has_one_message=False)
    response.take_head(200, _fields("content-type: application/grpc"))
    response.receive([UInt8(1), 0, 0, 0, 0])
    assert_false(response.next(), "refused")
    assert_true(response.status.value().code == GrpcCode.INTERNAL, "code")


def test_compressed_messages() raises:
    var text = String("abc" * 200)
    var octets = _messages(text, MessageCoding.GZIP)
    assert_true(len(octets) < 300, "it is compressed")
    var response = CallResponse(has_one_message=True)
    response.take_head(
        200,
        _fields("content-type: application/grpc|grpc-encoding: gzip"),
    )
    response.receive(octets)
    assert_true(response.next(), "a message")
    assert_equal(String(from_utf8_lossy=response.message()), text)


def test_what_was_known_first_stays() raises:
    var response = CallResponse(has_one_message=False)
    response.fail(GrpcStatus(GrpcCode.CANCELLED, "first"))
    response.fail(GrpcStatus(GrpcCode.ABORTED, "second"))
    response.take_head(404, HeaderMap())
    response.receive([UInt8(9)])
    response.take_end(_fields("grpc-status: 0"))
    assert_false(response.next(), "nothing")
    assert_equal(response.status.value().message, "first")


def test_metadata() raises:
    var response = CallResponse(has_one_message=False)
    response.take_head(
        200,
        _fields("content-type: application/grpc|x-a: 1|y-bin: AQI"),
    )
    response.take_end(_fields("grpc-status: 0|grpc-message: m|x-b: 2"))
    assert_equal(len(response.headers), 2)
    assert_equal(String(response.headers.get("x-a").value()), "1")
    assert_equal(len(response.headers.get_binary("y-bin").value()), 2)
    assert_equal(len(response.trailers), 1)
    assert_equal(String(response.trailers.get("x-b").value()), "2")


def test_metadata_of_trailers_only() raises:
    var response = CallResponse(has_one_message=True)
    response.take_head(200, _fields("grpc-status: 16|x-a: 1"))
    response.take_end(HeaderMap())
    assert_equal(len(response.headers), 0)
    assert_equal(String(response.trailers.get("x-a").value()), "1")


def test_content_types() raises:
    for good in [
        "application/grpc",
        "application/grpc+proto",
        "Application/GRPC;charset=x",
        "application/grpc ; x",
    ]:
        assert_true(is_grpc_content(good.as_bytes()), good)
    for bad in [
        "",
        "application/grp",
        "application/grpc-web",
        "application/grpcx",
        "application/grpc+json",
        "application/grpc+",
        "text/plain",
    ]:
        assert_false(is_grpc_content(bad.as_bytes()), bad)


def test_pushback() raises:
    assert_equal(read_pushback(HeaderMap()), NO_PUSHBACK)
    for number in [0, 1, 1500, 999_999_999]:
        assert_equal(
            read_pushback(_fields(String("grpc-retry-pushback-ms: ", number))),
            number,
        )
    for text in ["-1", "x", "1.5", "9999999999", "99999999999999999999"]:
        assert_equal(
            read_pushback(_fields(String("grpc-retry-pushback-ms: ", text))),
            NEVER_AGAIN,
            text,
        )

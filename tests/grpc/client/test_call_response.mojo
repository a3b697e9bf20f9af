"""What a call makes of a server's answer: heads, messages, ends, in any pieces."""

from flare.bytes.buffer import Buffer
from flare.grpc.client.call_response import (
    NEVER_AGAIN,
    NO_PUSHBACK,
    CallResponse,
    ContentForm,
    is_answer,
    read_pushback,
)
from flare.grpc.core.coding import MessageCoding
from flare.grpc.core.kind import GrpcKind
from flare.grpc.core.message_writer import append_message
from flare.grpc.core.metadata import Metadata
from flare.grpc.core.protocol import CallProtocol
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
    protocol: CallProtocol = CallProtocol.GRPC,
) raises -> String:
    """Lists what comes of a response in pieces."""
    var response = CallResponse(
        has_one_message=one, length_max=100, protocol=protocol
    )
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
        _drain(response, text)
    ref found = response.status.value()
    text.write(found.code.name(), " ", found.message)
    if response.is_committed:
        text.write(" committed")
    return text


@fieldwise_init
struct _FormRow(Copyable):
    var before: ContentForm
    var failed: ContentForm
    """Behind a head that says that the call has failed."""
    var ended: ContentForm
    var waits_for_end: Bool


def test_every_form_with_every_event() raises:
    # "Unary-Response" of Connect: what the content is, the status of HTTP says,
    # and one message has no length but that of all content.
    comptime F = ContentForm
    var rows: List[_FormRow] = [
        _FormRow(F.MESSAGES, F.MESSAGES, F.MESSAGES, False),
        _FormRow(F.MESSAGE, F.ERROR, F.WHOLE, True),
        _FormRow(F.ERROR, F.ERROR, F.ERROR, True),
        _FormRow(F.WHOLE, F.WHOLE, F.WHOLE, False),
    ]
    assert_equal(len(rows), F.COUNT)
    for row in rows:
        var form = row.before
        form.note_error()
        assert_true(form == row.failed, "the call has failed")
        form = row.before
        form.end()
        assert_true(form == row.ended, "all content is there")
        assert_equal(row.before.waits_for_end(), row.waits_for_end)


@fieldwise_init
struct _Row(ImplicitlyCopyable):
    var rule: StaticString
    var status: Int
    var head: StaticString
    var messages: StaticString
    var trailers: StaticString
    var is_one: Bool
    var events: StaticString


comptime _GRPC = StaticString("content-type: application/grpc")


def _call(
    rule: StaticString,
    messages: StaticString,
    trailers: StaticString,
    is_one: Bool,
    events: StaticString,
    *,
    head: StaticString = _GRPC,
    status: Int = 200,
) -> _Row:
    return _Row(rule, status, head, messages, trailers, is_one, events)


def _rows() -> List[_Row]:
    return [
        _call("unary", "abc", "grpc-status: 0", True, "[abc]OK  committed"),
        _call(
            "stream",
            "a,,b",
            "grpc-status: 0|x: y",
            False,
            "[a][][b]OK  committed",
            head="content-type: application/grpc+proto",
        ),
        _call(
            "status and message",
            "a",
            "grpc-status: 5|grpc-message: no%20such",
            False,
            "[a]NOT_FOUND no such committed",
            head="content-type: application/grpc;x=y",
        ),
        _call(
            "Trailers-Only",
            "",
            "",
            True,
            "UNIMPLEMENTED what",
            head="content-type: application/grpc|grpc-status: 12|grpc-message: what",
        ),
        _call(
            "Trailers-Only with a success",
            "",
            "",
            False,
            "OK ",
            head="content-type: application/grpc|grpc-status: 0",
        ),
        _call(
            "Trailers-Only with a success, but a message has to be",
            "",
            "",
            True,
            "UNIMPLEMENTED the server has ended the call as a success, without the"
            " message that it has to have",
            head="content-type: application/grpc|grpc-status: 0",
        ),
        _call(
            "a status of gRPC wins over that of HTTP",
            "",
            "",
            True,
            "PERMISSION_DENIED no",
            head="grpc-status: 7|grpc-message: no",
            status=503,
        ),
        _call(
            "content behind a head with a status",
            "a",
            "",
            True,
            "INTERNAL the server has sent content behind a head with a status",
            head="content-type: application/grpc|grpc-status: 0",
        ),
        _call(
            "trailers behind a head with a status count",
            "",
            "grpc-status: 3",
            False,
            "INVALID_ARGUMENT  committed",
            head="content-type: application/grpc|grpc-status: 0",
        ),
        _call(
            "400",
            "",
            "",
            True,
            "INTERNAL HTTP status 400 without grpc-status and content type: what"
            " answered is no gRPC server committed",
            head="",
            status=400,
        ),
        _call(
            "401",
            "",
            "",
            True,
            "UNAUTHENTICATED HTTP status 401 without grpc-status committed",
            status=401,
        ),
        _call(
            "404",
            "",
            "",
            True,
            "UNIMPLEMENTED HTTP status 404 with content of the type 'text/html':"
            " what answered is no gRPC server committed",
            head="content-type: text/html",
            status=404,
        ),
        _call(
            "503",
            "",
            "",
            True,
            "UNAVAILABLE HTTP status 503 with content of the type 'text/plain':"
            " what answered is no gRPC server committed",
            head="content-type: text/plain",
            status=503,
        ),
        _call(
            "204",
            "",
            "",
            True,
            "UNKNOWN HTTP status 204 without grpc-status and content type: what"
            " answered is no gRPC server committed",
            head="",
            status=204,
        ),
        _call(
            "wrong content type",
            "",
            "",
            True,
            "UNKNOWN HTTP status 200 with content of the type"
            " 'application/json': what answered is no gRPC server committed",
            head="content-type: application/json",
        ),
        _call(
            "no content type",
            "",
            "",
            True,
            "UNKNOWN HTTP status 200 without grpc-status and content type: what"
            " answered is no gRPC server committed",
            head="x: y",
        ),
        _call(
            "a coding that was not offered",
            "a",
            "grpc-status: 0",
            False,
            "INTERNAL the server compresses its messages with 'br', which was"
            " not offered; identity and gzip are committed",
            head="content-type: application/grpc|grpc-encoding: br",
        ),
        _call(
            "no trailers",
            "a",
            "",
            False,
            "[a]INTERNAL the server has ended the call without a status committed",
        ),
        _call(
            "trailers without a status",
            "a",
            "x: y",
            False,
            "[a]UNKNOWN the server's trailers have no grpc-status committed",
        ),
        _call(
            "a status that is no number",
            "a",
            "grpc-status: much",
            False,
            "[a]UNKNOWN  committed",
        ),
        _call(
            "a status without a name",
            "a",
            "grpc-status: 17",
            False,
            "[a]UNKNOWN  committed",
        ),
        _call(
            "a message cut off, but a success",
            "ab,c!",
            "grpc-status: 0",
            False,
            "[ab]INTERNAL the stream ends 6 bytes into a message committed",
        ),
        _call(
            "a message cut off, and a failure that says why",
            "ab,c!",
            "grpc-status: 15",
            False,
            "[ab]DATA_LOSS  committed",
        ),
        _call(
            "two messages where one is",
            "a,b",
            "grpc-status: 0",
            True,
            "[a]UNIMPLEMENTED the server has sent more than the one message of this"
            " call committed",
        ),
        _call(
            "no message where one is",
            "",
            "grpc-status: 0",
            True,
            "UNIMPLEMENTED the server has ended the call as a success, without the"
            " message that it has to have committed",
        ),
        _call(
            "no message, and a failure",
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
        assert_true(is_answer(good.as_bytes(), CallProtocol.GRPC), good)
    for bad in [
        "",
        "application/grp",
        "application/grpc-web",
        "application/grpcx",
        "application/grpc+json",
        "application/grpc+",
        "text/plain",
    ]:
        assert_false(is_answer(bad.as_bytes(), CallProtocol.GRPC), bad)


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


@fieldwise_init
struct _Other(Copyable, Movable):
    """A response of another protocol than gRPC."""

    var rule: StaticString
    var protocol: CallProtocol
    var is_one: Bool
    var status: Int
    var head: StaticString
    var content: List[UInt8]
    var events: StaticString


def _frames(text: StringSpan) -> List[UInt8]:
    """Frames parts with commas between them; the first octet says whether it
    is a message (`m`), trailers (`t`), or the end of a stream of Connect (`e`);
    `!` cuts off the last octet."""
    var octets = List[UInt8]()
    for part in text.removesuffix("!").split(","):
        var flag = UInt8(0)
        if part.startswith("t"):
            flag = 0x80
        elif part.startswith("e"):
            flag = 2
        octets.append(flag)
        octets.extend([UInt8(0), 0, 0, UInt8(part.byte_length() - 1)])
        octets.extend(part.as_bytes()[1:])
    if text.endswith("!"):
        _ = octets.pop()
    return octets^


def _plain(text: StringSpan) -> List[UInt8]:
    return List[UInt8](text.as_bytes())


comptime _WEB_TYPE = StaticString("content-type: application/grpc-web+proto")
comptime _STREAM_TYPE = StaticString("content-type: application/connect+proto")
comptime _PROTO_TYPE = StaticString("content-type: application/proto")
comptime _JSON_TYPE = StaticString("content-type: application/json")


def _web(
    rule: StaticString,
    is_one: Bool,
    content: StringSpan,
    events: StaticString,
    *,
    head: StaticString = _WEB_TYPE,
    status: Int = 200,
) -> _Other:
    return _Other(
        rule,
        CallProtocol.GRPC_WEB,
        is_one,
        status,
        head,
        _frames(content) if content.byte_length() > 0 else List[UInt8](),
        events,
    )


def _web_rows() -> List[_Other]:
    """Rules of PROTOCOL-WEB.md."""
    return [
        _web(
            "unary",
            True,
            "mabc,tgrpc-status: 0\r\n",
            "[abc]OK  committed",
        ),
        _web(
            "stream, with the type that has no codec",
            False,
            "ma,m,tgrpc-status:0",
            "[a][]OK  committed",
            head="content-type: application/grpc-web",
        ),
        _web(
            "status and message, in any case",
            False,
            "ma,tGrpc-Status: 5\r\nGRPC-message: no%20such\r\n",
            "[a]NOT_FOUND no such committed",
        ),
        _web(
            "trailers in the head, and nothing else",
            True,
            "",
            "NOT_FOUND m",
            head="content-type: application/grpc-web|grpc-status: 5|"
            "grpc-message: m",
        ),
        _web(
            "trailers in the head do not count if there is content",
            True,
            "tgrpc-status: 9",
            "FAILED_PRECONDITION  committed",
            head="content-type: application/grpc-web|grpc-status: 8",
        ),
        _web(
            "no frame with trailers",
            False,
            "ma",
            "[a]INTERNAL the server has ended the call without a status"
            " committed",
        ),
        _web(
            "an empty frame with trailers",
            False,
            "t",
            "INTERNAL the server has ended the call without a status committed",
        ),
        _web(
            "trailers without a status",
            False,
            "tx: y",
            "UNKNOWN the server's trailers have no grpc-status committed",
        ),
        _web(
            "trailers that are no fields",
            False,
            "tgrpc-status",
            "INTERNAL trailers in the content: a line has no colon; each is a"
            " name, a colon and a value committed",
        ),
        _web(
            "content behind the trailers",
            False,
            "ma,tgrpc-status: 0,mb",
            "[a]INTERNAL the server has sent content behind the frame that ends"
            " it committed",
        ),
        _web(
            "no message where one is",
            True,
            "tgrpc-status: 0",
            "UNIMPLEMENTED the server has ended the call as a success, without"
            " the message that it has to have committed",
        ),
        _web(
            "trailers that are cut off",
            False,
            "tgrpc-status: 0!",
            "INTERNAL the server has ended the call without a status committed",
        ),
        _web(
            "the frame that ends Connect",
            False,
            "e{}",
            "INTERNAL message prefix: the first octet is 2; it must be 0, or 1"
            " for a compressed message committed",
        ),
        _web(
            "another protocol",
            False,
            "",
            "UNKNOWN HTTP status 200 with content of the type"
            " 'application/grpc': what answered is no gRPC-Web server committed",
            head="content-type: application/grpc",
        ),
        _web(
            "another codec",
            False,
            "",
            "INTERNAL HTTP status 200 with content of the type"
            " 'application/grpc-web+json': messages were asked for as proto"
            " committed",
            head="content-type: application/grpc-web+json",
        ),
        _web(
            "a status of HTTP",
            False,
            "",
            "UNAVAILABLE HTTP status 503 without grpc-status and content type:"
            " what answered is no gRPC-Web server committed",
            head="",
            status=503,
        ),
    ]


def _stream(
    rule: StaticString,
    is_one: Bool,
    content: StringSpan,
    events: StaticString,
    *,
    head: StaticString = _STREAM_TYPE,
    status: Int = 200,
) -> _Other:
    return _Other(
        rule,
        CallProtocol.CONNECT.for_kind(GrpcKind.BIDI_STREAM),
        is_one,
        status,
        head,
        _frames(content) if content.byte_length() > 0 else List[UInt8](),
        events,
    )


def _stream_rows() -> List[_Other]:
    """Rules of "Streaming-Response" of Connect."""
    return [
        _stream("success", False, "ma,m,e{}", "[a][]OK  committed"),
        _stream("one message", True, "mab,e{}", "[ab]OK  committed"),
        _stream(
            "error behind messages",
            False,
            'ma,e{"error":{"code":"aborted"}}',
            "[a]ABORTED  committed",
        ),
        _stream(
            "a code that is not known",
            False,
            'e{"error":{"code":"x"}}',
            "UNKNOWN  committed",
        ),
        _stream(
            "no end",
            False,
            "ma",
            "[a]INTERNAL the server has ended the call without a status"
            " committed",
        ),
        _stream(
            "an end that is no JSON",
            False,
            "ma,e{",
            "[a]INTERNAL the end of the stream:* committed",
        ),
        _stream(
            "an end that is no object",
            False,
            "e7",
            "INTERNAL the end of the stream:* committed",
        ),
        _stream(
            "content behind the end",
            False,
            "e{},e{}",
            "INTERNAL the server has sent content behind the frame that ends it"
            " committed",
        ),
        _stream(
            "two messages where one is",
            True,
            "ma,mb,e{}",
            "[a]UNIMPLEMENTED the server has sent more than the one message of"
            " this call committed",
        ),
        _stream(
            "no message where one is",
            True,
            "e{}",
            "UNIMPLEMENTED the server has ended the call as a success, without"
            " the message that it has to have committed",
        ),
        _stream(
            "trailers of gRPC-Web",
            False,
            "tgrpc-status: 0",
            "INTERNAL message prefix: the first octet is 128; it must be 0, or 1"
            " for a compressed message committed",
        ),
        _stream(
            "fields of gRPC say nothing",
            False,
            "e{}",
            "OK  committed",
            head="content-type: application/connect+proto|grpc-status: 5",
        ),
        _stream(
            "a status of HTTP, whatever the content",
            False,
            "e{}",
            "UNIMPLEMENTED HTTP status 404 committed",
            status=404,
        ),
        _stream(
            "the form without a stream",
            False,
            "",
            "UNKNOWN HTTP status 200 with content of the type"
            " 'application/proto': what answered is no Connect server committed",
            head="content-type: application/proto",
        ),
        _stream(
            "another codec",
            False,
            "",
            "INTERNAL HTTP status 200 with content of the type"
            " 'application/connect+json': messages were asked for as proto"
            " committed",
            head="content-type: application/connect+json",
        ),
        _stream(
            "a coding that was not offered",
            False,
            "",
            "INTERNAL the server compresses its messages with 'br', which was"
            " not offered; identity and gzip are committed",
            head="content-type: application/connect+proto|"
            "connect-content-encoding: br",
        ),
    ]


def _unary(
    rule: StaticString,
    status: Int,
    content: StringSpan,
    events: StaticString,
    *,
    head: StaticString = _JSON_TYPE,
) -> _Other:
    return _Other(
        rule, CallProtocol.CONNECT, True, status, head, _plain(content), events
    )


def _unary_rows() -> List[_Other]:
    """Rules of "Unary-Response" of Connect, and "HTTP to Error Code"."""
    return [
        _unary("message", 200, "abc", "[abc]OK  committed", head=_PROTO_TYPE),
        _unary("no octets", 200, "", "[]OK  committed", head=_PROTO_TYPE),
        _unary(
            "no octets are not compressed",
            200,
            "",
            "[]OK  committed",
            head="content-type: application/proto|content-encoding: gzip",
        ),
        _unary(
            "what would be a prefix is none",
            200,
            "\x01\x00\x00\x00\x00",
            "[\x01\x00\x00\x00\x00]OK  committed",
            head=_PROTO_TYPE,
        ),
        _unary(
            "an error can begin anew",
            404,
            '{"code":"not_found","message":"m"}',
            "NOT_FOUND m",
        ),
        _unary(
            "the code of the error wins",
            503,
            '{"code":"data_loss"}',
            "DATA_LOSS ",
        ),
        _unary(
            "an error without a code",
            401,
            '{"message":"m"}',
            "UNAUTHENTICATED m",
        ),
        _unary(
            "JSON that is no error",
            429,
            "null",
            "UNAVAILABLE HTTP status 429 with content that is no error of"
            " Connect",
        ),
        _unary(
            "no JSON",
            403,
            "{",
            "PERMISSION_DENIED HTTP status 403 with content that is no error of"
            " Connect",
        ),
        _unary(
            "no gzip",
            400,
            '{"code":"not_found"}',
            "INTERNAL HTTP status 400 with content that is no error of Connect",
            head="content-type: application/json|content-encoding: gzip",
        ),
        _unary(
            "an error that is no JSON by its type",
            404,
            '{"code":"not_found"}',
            "UNIMPLEMENTED HTTP status 404 with content of the type"
            " 'text/html': what answered is no Connect server",
            head="content-type: text/html",
        ),
        _unary(
            "no type",
            502,
            "",
            "UNAVAILABLE HTTP status 502 without content type: what answered is"
            " no Connect server",
            head="",
        ),
        _unary(
            "a success that is no message",
            200,
            "<html>",
            "UNKNOWN HTTP status 200 with content of the type 'text/html': what"
            " answered is no Connect server committed",
            head="content-type: text/html",
        ),
        _unary(
            "another codec",
            200,
            "{}",
            "INTERNAL HTTP status 200 with content of the type"
            " 'application/json': messages were asked for as proto committed",
        ),
        _unary(
            "a coding that was not offered",
            200,
            "a",
            "INTERNAL the server compresses its messages with 'br', which was"
            " not offered; identity and gzip are committed",
            head="content-type: application/proto|content-encoding: br",
        ),
        _unary(
            "fields of gRPC say nothing",
            200,
            "a",
            "[a]OK  committed",
            head="content-type: application/proto|grpc-status: 5",
        ),
    ]


def test_rows_of_other_protocols() raises:
    var rows = _web_rows()
    rows.extend(_stream_rows())
    rows.extend(_unary_rows())
    for row in rows:
        for piece_len in range(1, len(row.content) + 2):
            var events = _events(
                row.status,
                row.head,
                row.content,
                "",
                one=row.is_one,
                piece_len=piece_len,
                protocol=row.protocol,
            )
            var star = row.events.find("*")
            if star < 0:
                assert_equal(events, String(row.events), row.rule)
                continue
            # The parser of JSON chooses the words.
            assert_true(events.startswith(row.events[byte=:star]), row.rule)
            assert_true(
                events.endswith(row.events[byte = star + 1 :]), row.rule
            )


def test_content_without_a_prefix_has_a_bound() raises:
    for length in [100, 101]:
        var response = CallResponse(
            has_one_message=True,
            length_max=100,
            protocol=CallProtocol.CONNECT,
        )
        response.take_head(200, _fields(_PROTO_TYPE))
        var octets = List[UInt8](length=length, fill=7)
        response.receive(octets)
        if length == 101:
            # As soon as it is there, not at the end.
            assert_true(
                response.status.value().code == GrpcCode.RESOURCE_EXHAUSTED
            )
            continue
        assert_false(response.next(), "more may come")
        response.take_end(HeaderMap())
        assert_true(response.next(), "the message")
        assert_equal(len(response.message()), 100)


def test_an_error_may_be_longer_than_a_message() raises:
    var response = CallResponse(
        has_one_message=True, length_max=10, protocol=CallProtocol.CONNECT
    )
    response.take_head(500, _fields(_JSON_TYPE))
    var text = String('{"code":"aborted","message":"', "x" * 1000, '"}')
    response.receive(text.as_bytes())
    response.take_end(HeaderMap())
    assert_true(response.status.value().code == GrpcCode.ABORTED)


def test_compressed_content_of_connect() raises:
    """Content as a whole, of a message and of an error."""
    for status in [200, 404]:
        var response = CallResponse(
            has_one_message=True, protocol=CallProtocol.CONNECT
        )
        var type = _PROTO_TYPE if status == 200 else _JSON_TYPE
        response.take_head(
            status, _fields(String(type, "|content-encoding: gzip"))
        )
        var out = Buffer()
        append_message(
            '{"code":"aborted"}'.as_bytes(),
            out,
            MessageCoding.GZIP,
            always=True,
        )
        response.receive(out.span()[5:])
        response.take_end(HeaderMap())
        if status == 404:
            assert_true(response.status.value().code == GrpcCode.ABORTED)
            continue
        assert_true(response.next(), "a message")
        assert_equal(
            String(from_utf8_lossy=response.message()), '{"code":"aborted"}'
        )


def _names(metadata: Metadata) -> String:
    var text = String()
    for index in range(len(metadata)):
        text.write(metadata.name(index), " ")
    return text


def test_metadata_of_connect() raises:
    var response = CallResponse(
        has_one_message=True, protocol=CallProtocol.CONNECT
    )
    response.take_head(
        200,
        _fields(
            "content-type: application/proto|a: 1|trailer-b: 2|date: now"
            "|content-length: 0"
        ),
    )
    assert_equal(_names(response.headers), "a ")
    assert_equal(_names(response.trailers), "b ")
    response = CallResponse(
        has_one_message=False,
        protocol=CallProtocol.CONNECT.for_kind(GrpcKind.BIDI_STREAM),
    )
    response.take_head(200, _fields(String(_STREAM_TYPE, "|a: 1|trailer-b: 2")))
    response.receive(_frames('e{"metadata":{"c":["3"]}}'))
    assert_false(response.next())
    response.take_end(HeaderMap())
    assert_equal(_names(response.headers), "a ")
    assert_equal(_names(response.trailers), "c ")


def test_metadata_of_grpc_web() raises:
    """In a head that is the whole response nobody can tell headers from
    trailers: they are both."""
    for has_content in [False, True]:
        var response = CallResponse(
            has_one_message=False, protocol=CallProtocol.GRPC_WEB
        )
        response.take_head(
            200, _fields(String(_WEB_TYPE, "|grpc-status: 5|a: 1"))
        )
        if has_content:
            response.receive(_frames("tgrpc-status: 0\r\nb: 2"))
            assert_false(response.next())
        response.take_end(HeaderMap())
        assert_equal(_names(response.headers), "a ")
        assert_equal(_names(response.trailers), "b " if has_content else "a ")


def test_a_piece_without_octets_is_no_content() raises:
    """Behind a status nothing may come, and nothing has."""
    for head in [_WEB_TYPE, StaticString("content-type: application/grpc")]:
        var is_web = head == _WEB_TYPE
        var response = CallResponse(
            has_one_message=False,
            protocol=CallProtocol.GRPC_WEB if is_web else CallProtocol.GRPC,
        )
        if is_web:
            response.take_head(200, _fields(head))
            response.receive(_frames("tgrpc-status: 9"))
            assert_false(response.next())
        else:
            response.take_head(200, _fields(String(head, "|grpc-status: 9")))
        response.receive(List[UInt8]())
        response.take_end(HeaderMap())
        assert_true(
            response.status.value().code == GrpcCode.FAILED_PRECONDITION, head
        )

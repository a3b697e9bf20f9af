"""The opening handshake of both sides, against each other and alone."""

from flare.bytes.buffer import Buffer
from flare.http.h1.field_section import HeadLimits
from flare.http.h1.request_head import RequestHead
from flare.http.h1.response_head import ResponseHead
from flare.http.message.header_map import HeaderMap
from flare.ws.core.deflate import DeflateAgreement
from flare.ws.core.handshake import (
    ClientHandshake,
    HandshakeRule,
    ServerHandshake,
    WsAcceptance,
    WsAgreement,
    accept_value,
)
from tests.support.assertions import assert_equal, assert_true

comptime _LIMITS = HeadLimits(8_192, 8_192, 100)


def _accept(
    text: StringSpan, handshake: ServerHandshake
) raises -> WsAcceptance:
    """Parses a request, and lets a server look at it."""
    var input = Buffer()
    input.append(text.as_bytes())
    var head = RequestHead()
    assert_true(head.parse(input.terminate(), materialize[_LIMITS]()))
    var acceptance = handshake.accept(
        head.method, head.minor_version, head.section.fields(input.span())
    )
    # The fields are lent from the head, which has to live as long.
    _ = head^
    return acceptance^


def _refusal(text: StringSpan, handshake: ServerHandshake) raises -> Int:
    """Gives the rule that a request breaks; 0 for none."""
    var input = Buffer()
    input.append(text.as_bytes())
    var head = RequestHead()
    assert_true(head.parse(input.terminate(), materialize[_LIMITS]()))
    try:
        _ = handshake.accept(
            head.method, head.minor_version, head.section.fields(input.span())
        )
        _ = head^
        return 0
    except error:
        return Int(error.rule.number)


def _check(text: StringSpan, handshake: ClientHandshake) raises -> WsAgreement:
    var input = Buffer()
    input.append(text.as_bytes())
    var head = ResponseHead()
    assert_true(head.parse(input.terminate(), materialize[_LIMITS]()))
    var agreement = handshake.check(
        head.status, head.minor_version, head.section.fields(input.span())
    )
    _ = head^
    return agreement^


def _refused_by_client(
    text: StringSpan, handshake: ClientHandshake
) raises -> Int:
    var input = Buffer()
    input.append(text.as_bytes())
    var head = ResponseHead()
    assert_true(head.parse(input.terminate(), materialize[_LIMITS]()))
    try:
        _ = handshake.check(
            head.status, head.minor_version, head.section.fields(input.span())
        )
        _ = head^
        return 0
    except error:
        return Int(error.rule.number)


def _handshake() -> ClientHandshake:
    return ClientHandshake("the sample nonce".as_bytes())


def test_the_accept_value_of_the_standard() raises:
    # RFC 6455 section 1.3.
    assert_equal(
        accept_value("dGhlIHNhbXBsZSBub25jZQ==".as_bytes()),
        "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
    )


def test_both_sides_agree() raises:
    var client = _handshake()
    client.subprotocols = ["chat.v2", "chat.v1"]
    client.deflate = DeflateAgreement(True, False, 12, 15)
    var headers = HeaderMap()
    headers.set("Origin", "http://example.com")
    headers.set("Upgrade", "something else")
    client.add_fields(headers)
    var request = String("GET /chat HTTP/1.1\r\nHost: a\r\n")
    for index in range(len(headers)):
        request.write(headers.name(index), ": ", headers.value(index), "\r\n")
    request.write("\r\n")
    assert_true("something else" not in request)
    var server = ServerHandshake(
        ["chat.v1", "superchat"], DeflateAgreement.widest()
    )
    var acceptance = _accept(request, server)
    var further = HeaderMap()
    further.set("Set-Cookie", "a=b")
    var out = Buffer()
    acceptance.write_to(out, further)
    assert_equal(
        String(unsafe_from_utf8=out.span()),
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection:"
        " Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"
        "Sec-WebSocket-Protocol: chat.v1\r\nSec-WebSocket-Extensions:"
        " permessage-deflate; server_no_context_takeover;"
        " server_max_window_bits=12\r\nSet-Cookie: a=b\r\n\r\n",
    )
    var agreement = _check(String(unsafe_from_utf8=out.span()), client)
    assert_equal(agreement.subprotocol, "chat.v1")
    assert_true(
        agreement.deflate.value() == DeflateAgreement(True, False, 12, 15)
    )
    assert_true(
        acceptance.agreement.deflate.value() == agreement.deflate.value()
    )


def test_nothing_is_agreed_on_that_one_side_lacks() raises:
    var client = _handshake()
    var headers = HeaderMap()
    client.add_fields(headers)
    var request = String("GET / HTTP/1.1\r\nHost: a\r\n")
    for index in range(len(headers)):
        request.write(headers.name(index), ": ", headers.value(index), "\r\n")
    request.write("\r\n")
    var server = ServerHandshake(["chat"], DeflateAgreement.widest())
    var acceptance = _accept(request, server)
    assert_equal(acceptance.agreement.subprotocol, "")
    assert_true(not acceptance.agreement.deflate)


@fieldwise_init
struct _Row(Copyable, Movable):
    var name: StaticString
    var line: StaticString
    """The line that takes the place of the one with its name."""
    var rule: Int


def _request(line: StringSpan) -> String:
    """Makes a request with one line replaced, or left out if it is `Name:`."""
    var lines: List[StaticString] = [
        "GET /chat HTTP/1.1",
        "Host: server.example.com",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Protocol: chat, superchat",
        "Sec-WebSocket-Extensions: permessage-deflate",
    ]
    return _replaced(lines, line)


def _response(line: StringSpan) -> String:
    var lines: List[StaticString] = [
        "HTTP/1.1 101 Switching Protocols",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
        "Sec-WebSocket-Protocol: chat",
        "Sec-WebSocket-Extensions: permessage-deflate",
    ]
    return _replaced(lines, line)


def _name(line: StringSpan) -> String:
    if line.startswith("HTTP/"):
        return "HTTP"
    var end = line.find(":")
    return String(line[byte=0:end]) if end > 0 else "GET"


def _replaced(lines: List[StaticString], line: StringSpan) -> String:
    var text = String()
    for old in lines:
        if _name(old) != _name(line):
            text.write(old, "\r\n")
        elif not line.endswith(":"):
            text.write(line, "\r\n")
    text.write("\r\n")
    return text^


def test_requests() raises:
    var rows: List[_Row] = [
        _Row("6455-4.1 as it should be", "X: y", 0),
        _Row("6455-4.1 not GET", "POST /chat HTTP/1.1", 1),
        _Row("6455-4.1 HTTP/1.0", "GET /chat HTTP/1.0", 2),
        _Row("6455-4.2.1 no Upgrade", "Upgrade:", 3),
        _Row("6455-4.2.1 another protocol", "Upgrade: h2c", 3),
        _Row("6455-4.2.1 one of several", "Upgrade: h2c, WebSocket", 0),
        _Row("6455-4.2.1 no Connection", "Connection:", 4),
        _Row("6455-4.2.1 keep-alive alone", "Connection: keep-alive", 4),
        _Row("6455-4.2.1 among others", "Connection: keep-alive, uPGRADE", 0),
        _Row("6455-4.2.1 no key", "Sec-WebSocket-Key:", 5),
        _Row(
            "6455-4.2.1 a short key", "Sec-WebSocket-Key: dGhlIHNhbXBsZQ==", 5
        ),
        _Row(
            "6455-4.2.1 no base64",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=!",
            5,
        ),
        _Row(
            "6455-4.2.1 two keys",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
            5,
        ),
        _Row("6455-4.2.2 no version", "Sec-WebSocket-Version:", 6),
        _Row("6455-4.2.2 an old version", "Sec-WebSocket-Version: 8", 6),
        _Row("6455-4.2.2 several versions", "Sec-WebSocket-Version: 13, 8", 6),
        _Row(
            "6455-4.3 an empty subprotocol",
            "Sec-WebSocket-Protocol: chat,,b",
            7,
        ),
        _Row("6455-4.3 no token", "Sec-WebSocket-Protocol: ch@t", 7),
        _Row(
            "6455-4.3 in two fields",
            "Sec-WebSocket-Protocol: a\r\nSec-WebSocket-Protocol: chat",
            0,
        ),
        _Row("6455-9.1 malformed", "Sec-WebSocket-Extensions: a b", 7),
        _Row("6455-9.1 unknown", "Sec-WebSocket-Extensions: foo", 0),
    ]
    var server = ServerHandshake(["chat"], DeflateAgreement.widest())
    for row in rows:
        assert_equal(_refusal(_request(row.line), server), row.rule, row.name)
    assert_equal(HandshakeRule.WS_VERSION.status, 426)
    assert_equal(HandshakeRule.METHOD.status, 405)
    assert_equal(HandshakeRule.KEY.status, 400)


def test_responses() raises:
    var rows: List[_Row] = [
        _Row("6455-4.1 as it should be", "X: y", 0),
        _Row("6455-4.1 another status", "HTTP/1.1 200 OK", 8),
        _Row("6455-4.1 refused", "HTTP/1.1 403 Forbidden", 8),
        _Row("6455-4.1 no Upgrade", "Upgrade:", 9),
        _Row("6455-4.1 in any case", "Upgrade: WebSocket", 0),
        _Row("6455-4.1 another protocol", "Upgrade: h2c", 9),
        _Row("6455-4.1 no Connection", "Connection:", 10),
        _Row("6455-4.1 another option", "Connection: close", 10),
        _Row("6455-4.1 no Accept", "Sec-WebSocket-Accept:", 11),
        _Row(
            "6455-4.1 a wrong one",
            "Sec-WebSocket-Accept: t3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
            11,
        ),
        _Row(
            "6455-4.1 case counts",
            "Sec-WebSocket-Accept: S3pPLMBiTxaQ9kYGzzhZRbK+xOo=",
            11,
        ),
        _Row("6455-4.1 no extension", "Sec-WebSocket-Extensions:", 0),
        _Row("6455-4.1 another extension", "Sec-WebSocket-Extensions: foo", 12),
        _Row("6455-4.1 malformed", "Sec-WebSocket-Extensions: a b", 12),
        _Row("6455-4.1 no subprotocol", "Sec-WebSocket-Protocol:", 0),
        _Row("6455-4.1 not offered", "Sec-WebSocket-Protocol: Chat", 13),
        _Row(
            "6455-4.1 two of them",
            "Sec-WebSocket-Protocol: chat, superchat",
            13,
        ),
        _Row(
            "6455-4.1 in two fields",
            "Sec-WebSocket-Protocol: chat\r\nSec-WebSocket-Protocol: chat",
            13,
        ),
    ]
    var client = _handshake()
    client.subprotocols = ["chat", "superchat"]
    client.deflate = DeflateAgreement.widest()
    for row in rows:
        var rule = _refused_by_client(_response(row.line), client)
        assert_equal(rule, row.rule, row.name)
    # Nothing was offered, so nothing may be agreed to.
    var plain = _handshake()
    # RFC 9110 section 15.2: HTTP/1.0 has no 101.
    var old = _response("X: y").replace("HTTP/1.1", "HTTP/1.0")
    assert_equal(_refused_by_client(old, plain), 16)
    assert_equal(_refused_by_client(_response("X: y"), plain), 12)
    assert_equal(
        _refused_by_client(_response("Sec-WebSocket-Extensions:"), plain), 13
    )


def test_what_the_peer_sent_is_escaped() raises:
    var client = _handshake()
    var message = String()
    try:
        _ = _check(_response("Sec-WebSocket-Accept: \u00e4\\"), client)
    except error:
        message = String(error)
    assert_true(message.endswith("; found '\\xc3\\xa4\\x5c'"), message)


def test_a_subprotocol_must_be_fit_to_send() raises:
    var client = _handshake()
    client.subprotocols = ["a\r\nEvil: 1"]
    var headers = HeaderMap()
    var was_refused = False
    try:
        client.add_fields(headers)
    except:
        was_refused = True
    assert_true(was_refused)


def _agreed_on_a_stream(
    status: Int, headers: HeaderMap, ends: Bool, handshake: ClientHandshake
) raises -> Int:
    """Gives the rule that an answer over HTTP/2 breaks; 0 for none."""
    try:
        _ = handshake.check_stream(status, headers.lines_fields(), ends)
        return 0
    except error:
        return Int(error.rule.number)


def test_the_answer_on_a_stream() raises:
    # RFC 8441 section 5; RFC 9110 section 9.3.6 for the status.
    var client = _handshake()
    client.subprotocols = ["chat"]
    client.deflate = DeflateAgreement.widest()
    var headers = HeaderMap(content_type="text/plain")
    headers.set("Sec-WebSocket-Protocol", "chat")
    headers.set("Sec-WebSocket-Extensions", "permessage-deflate")
    var agreement = client.check_stream(200, headers.lines_fields(), False)
    assert_equal(agreement.subprotocol, "chat")
    assert_true(agreement.deflate.__bool__())
    for status in [199, 300, 302, 403, 501]:
        assert_equal(_agreed_on_a_stream(status, headers, False, client), 14)
    for status in [200, 204, 299]:
        assert_equal(_agreed_on_a_stream(status, headers, False, client), 0)
        assert_equal(_agreed_on_a_stream(status, headers, True, client), 15)
    # What was not offered may not be agreed to there, either.
    var plain = _handshake()
    assert_equal(_agreed_on_a_stream(200, headers, False, plain), 12)
    _ = headers.remove("Sec-WebSocket-Extensions")
    assert_equal(_agreed_on_a_stream(200, headers, False, plain), 13)


def test_the_fields_on_a_stream() raises:
    # RFC 8441 section 5: neither a key nor an upgrade.
    var client = _handshake()
    client.subprotocols = ["chat"]
    var headers = HeaderMap()
    headers.set("Sec-WebSocket-Key", "of the caller")
    headers.set("Sec-WebSocket-Extensions", "of the caller")
    client.add_stream_fields(headers)
    assert_equal(
        String(headers),
        "Sec-WebSocket-Version: 13\nSec-WebSocket-Protocol: chat\n",
    )

"""Responses as a caller sees them."""

from flare.http.client.connect.auth import challenge_schemes
from flare.http.client.connect.error import BadContent, ErrorStatus, Phase
from flare.http.client.message.response import ClientResponse, ResponseBuilder
from flare.http.h1.field_section import HeadLimits
from flare.http.h1.response_parser import ResponseParser
from flare.http.message.body import Body
from flare.url.url import Url
from tests.support.assertions import assert_equal, assert_false, assert_true


def _response(status: Int) raises -> ClientResponse:
    var response = ClientResponse(Url.parse("http://u:p@h/a?b#c"))
    response.status = status
    response.reason = "Why"
    return response^


def test_status_tells_success() raises:
    assert_true(_response(200).ok())
    assert_true(_response(304).ok())
    assert_false(_response(400).ok())
    _response(399).raise_for_status()
    try:
        _response(404).raise_for_status()
    except error:
        assert_equal(String(error), "http://h/a?b: the server answered 404 Why")
        return
    raise Error("404 was good")


def test_schemes_that_are_not_spoken_are_named() raises:
    assert_equal(
        challenge_schemes('Digest realm="a, b", qop="auth", Basic realm="c"'),
        "Digest, Basic",
    )
    assert_equal(challenge_schemes("Negotiate"), "Negotiate")
    # RFC 9110 section 5.6.4: a quote behind a backslash ends nothing.
    assert_equal(
        challenge_schemes('Digest realm="a\\", b", Basic realm="c\\\\", Own'),
        "Digest, Basic, Own",
    )
    var response = _response(401)
    response.headers.append("WWW-Authenticate", 'Digest realm="x"')
    try:
        response.raise_for_status()
    except error:
        assert_true(
            "it accepts Digest; this client has BasicAuth, BearerAuth,"
            " DigestAuth" in String(error)
        )
        return
    raise Error("401 was good")


def test_content() raises:
    var response = _response(200)
    response.body = Body('{"a": {"b": "c"}}')
    assert_equal(response.json()["a"]["b"].string_value(), "c")
    assert_equal(response.text(), '{"a": {"b": "c"}}')


def test_text_is_in_the_charset_of_the_content() raises:
    """RFC 9110 section 8.3.2."""
    var response = _response(200)
    var octets: List[UInt8] = [0xE9, 0x80]
    response.body = Body(octets.copy())
    for content_type in [
        StaticString("text/plain; charset=iso-8859-1"),
        'text/html;charset="Windows-1252"',
    ]:
        response.headers.set("Content-Type", content_type)
        assert_equal(response.text(), "\u00e9\u20ac")
    # Without a charset, and without a media type, it is UTF-8.
    response.body = Body(String("\u00e9"))
    for content_type in [StaticString("text/plain"), "text", "a/b; charset"]:
        response.headers.set("Content-Type", content_type)
        assert_equal(response.text(), "\u00e9")
    response.headers.set("Content-Type", "text/plain; charset=shift_jis")
    try:
        _ = response.text()
    except error:
        assert_true("'shift_jis'" in String(error), String(error))
        assert_true("iso-8859-1" in String(error), String(error))
        return
    raise Error("it was read")


def test_fields_that_are_not_utf8() raises:
    var parser = ResponseParser(0)
    parser.begin("GET")
    parser.input.append("HTTP/1.1 500 Gr".as_bytes())
    parser.input.append_octet(0xFC)
    parser.input.append("n\r\nA: \u00e4\r\nB: ".as_bytes())
    parser.input.append_octet(0xE4)
    parser.input.append("\r\n\r\n".as_bytes())
    _ = parser.advance(HeadLimits(100, 100, 10))
    var builder = ResponseBuilder(Url.parse("http://h/"), 0)
    builder.take_head(parser)
    var response = builder^.take_response()
    assert_equal(response.reason, "Gr\ufffdn")
    assert_equal(response.headers["a"], "\u00e4")
    assert_equal(response.headers["b"], "\u00e4")


def _refusal(type: StaticString, content: String) raises -> String:
    var response = _response(422)
    if type.byte_length() > 0:
        response.headers.set("Content-Type", type)
    response.body = Body(content)
    try:
        response.raise_for_status()
    except error:
        assert_true(error.kind == ErrorStatus and error.status == 422)
        assert_true(error.phase == Phase.RESPONSE)
        assert_equal(error.url, "http://h/a?b")
        var start = "http://h/a?b: the server answered 422 Why"
        var text = String(error)
        assert_true(text.startswith(start), text)
        return String(text.removeprefix(start))
    raise Error("422 was good")


@fieldwise_init
struct _Said(Copyable, Movable):
    var type: StaticString
    var content: String
    var said: String


def test_a_refusal_says_what_the_server_says() raises:
    """RFC 9457, and what others write."""
    var rows: List[_Said] = [
        _Said(
            "application/problem+json",
            '{"type": "/e", "title": "No tea", "detail": "it is\\ncold"}',
            "No tea: it is\\x0acold",
        ),
        _Said("application/problem+json", '{"title": "No tea"}', "No tea"),
        _Said("application/json", '{"message": "no tea"}', "no tea"),
        _Said("application/json", '{"error": "no tea"}', "no tea"),
        _Said("application/json", '{"error": {"message": "no"}}', "no"),
        _Said(
            "application/json; charset=utf-8",
            '{"error": "invalid_grant", "error_description": "expired"}',
            "expired",
        ),
        _Said("application/json", ' {"code": 7} ', '{"code": 7}'),
        _Said("application/json", '["a"]', '["a"]'),
        _Said("application/json", "oops", "oops"),
        _Said("text/plain", " no tea\r\n", "no tea"),
        _Said("Text/Plain; charset=x", "a\x1b[1m\nb", "a\\x1b[1m\\x0ab"),
        # Pages are for eyes, and what has no type is anything.
        _Said("text/html", "<p>no", ""),
        _Said("image/png", "no", ""),
        _Said("", "no", ""),
        _Said("no type", "no", ""),
        _Said("text/plain", " \r\n", ""),
    ]
    for row in rows:
        var said = row.said
        if said.byte_length() > 0:
            said = String("; it says: ", said)
        assert_equal(_refusal(row.type, row.content), said, row.content)


def test_what_a_server_says_is_bounded() raises:
    var long = String("tea ") * 500
    assert_true(_refusal("text/plain", long).byte_length() < 300)
    var problem = String('{"title": "', long, '", "detail": "', long, '"}')
    assert_true(
        _refusal("application/problem+json", problem).byte_length() < 600
    )
    # Which is too long to be parsed for a sentence.
    var much = String('{"message": "no", "more": "', long * 20, '"}')
    var said = _refusal("application/json", much)
    assert_true('; it says: {"message": "no"' in said, said)
    assert_true(said.byte_length() < 300, said)


def test_content_that_is_no_json_says_so() raises:
    var response = _response(200)
    response.body = Body("<html>")
    try:
        _ = response.json()
    except error:
        assert_true(error.kind == BadContent and error.status == 0)
        var text = String(error)
        assert_true("http://h/a?b: response: BadContent" in text, text)
        assert_true("line 1, column 1" in text, text)
        return
    raise Error("that was JSON")

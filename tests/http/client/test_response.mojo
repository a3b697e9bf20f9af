"""Responses as a caller sees them."""

from flare.http.client.auth import challenge_schemes
from flare.http.client.response import ClientResponse, ResponseBuilder
from flare.http.h1.field_section import HeadLimits
from flare.http.h1.response_parser import ResponseParser
from flare.http.message.body import Body
from flare.url.url import Url
from std.testing import assert_equal, assert_false, assert_true


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

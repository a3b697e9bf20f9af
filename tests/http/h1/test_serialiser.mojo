"""Responses as octets (RFC 9112 sections 4 and 6)."""

from flare.bytes.buffer import Buffer
from flare.http.h1.serialiser import (
    DateLine,
    ResponseFraming,
    asks_for_close,
    sends_content,
    write_response_head,
)
from flare.http.message.response import Response, ok
from std.testing import assert_equal, assert_false, assert_true

comptime _DATE = "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
comptime _PLAIN = "Content-Type: text/plain; charset=utf-8\r\n"


def _head(response: Response, framing: ResponseFraming) -> String:
    var date = DateLine()
    date.refresh(784_111_777)
    var out = Buffer(0)
    write_response_head(out, response, framing, date)
    return String(unsafe_from_utf8=out.span())


def test_plain_response() raises:
    assert_equal(
        _head(ok("hello"), ResponseFraming(False, True, 1)),
        "HTTP/1.1 200 OK\r\n" + _DATE + _PLAIN + "Content-Length: 5\r\n\r\n",
    )


def test_other_status_and_close() raises:
    var response = Response(404, "x")
    assert_equal(
        _head(response, ResponseFraming(False, False, 1)),
        "HTTP/1.1 404 Not Found\r\n"
        + _DATE
        + "Connection: close\r\nContent-Length: 1\r\n\r\n",
    )


def test_unregistered_status_has_an_empty_reason() raises:
    var head = _head(Response(299), ResponseFraming(False, True, 1))
    assert_true(head.startswith("HTTP/1.1 299 \r\n"), head)


def test_http_1_0_is_told_that_the_connection_stays() raises:
    var head = _head(ok("x"), ResponseFraming(False, True, 0))
    assert_true("Connection: keep-alive\r\n" in head, head)


def test_statuses_without_content() raises:
    var codes: List[Int] = [204, 304]
    for code in codes:
        var response = Response(code, "body")
        var framing = ResponseFraming(False, True, 1)
        assert_false("Content-Length" in _head(response, framing))
        assert_false(sends_content(response, framing))
    assert_false(sends_content(ok("x"), ResponseFraming(True, True, 1)))
    assert_true(sends_content(ok("x"), ResponseFraming(False, True, 1)))


def test_own_fields_are_sent_and_own_framing_is_not() raises:
    var response = ok("x")
    response.headers.set("X-A", "b")
    response.headers.set("content-length", "99")
    response.headers.set("Transfer-Encoding", "chunked")
    response.headers.set("Connection", "close")
    var head = _head(response, ResponseFraming(False, True, 1))
    assert_true("X-A: b\r\n" in head, head)
    assert_false("99\r\n" in head, head)
    assert_false("Transfer-Encoding" in head, head)
    assert_false("Connection" in head, head)
    assert_true(asks_for_close(response.headers))
    assert_false(asks_for_close(ok("x").headers))


@fieldwise_init
struct _Connection(Copyable, Movable):
    var value: StaticString
    var closes: Bool


def test_a_handlers_connection_is_a_list() raises:
    var rows: List[_Connection] = [
        _Connection("close", True),
        _Connection("Close", True),
        _Connection("close, x", True),
        _Connection("x ,\tclose", True),
        _Connection(", close,", True),
        _Connection("closed", False),
        _Connection("x", False),
        _Connection("close x", False),
    ]
    for row in rows:
        var response = ok("x")
        response.headers.set("Connection", row.value)
        assert_equal(asks_for_close(response.headers), row.closes, row.value)
    var response = ok("x")
    response.headers.append("Connection", "x")
    response.headers.append("Connection", "close")
    assert_true(asks_for_close(response.headers), "9110-5.3 two lines")


@fieldwise_init
struct _Length(Copyable, Movable):
    var rule: StaticString
    var is_head: Bool
    var body: StaticString
    var own: StaticString
    var sent: StaticString


def test_whose_content_length_is_sent() raises:
    """9110-8.6: that of HEAD is what GET would send."""
    var rows: List[_Length] = [
        _Length("a handler that makes no content", True, "", "1234", "1234"),
        _Length("zeros before", True, "", "007", "7"),
        _Length("content that GET would send", True, "abc", "1234", "3"),
        _Length("GET", False, "", "1234", "0"),
        _Length("no digits", True, "", "1x", "0"),
        _Length("beyond 63 bits", True, "", "9999999999999999999", "0"),
        _Length("none", True, "", "", "0"),
    ]
    for row in rows:
        var response = Response(200, String(row.body))
        if row.own.byte_length() > 0:
            response.headers.set("Content-Length", row.own)
        var head = _head(response, ResponseFraming(row.is_head, True, 1))
        var line = String("Content-Length: ", row.sent, "\r\n")
        assert_true(line in head, String(row.rule, ": ", head))
        assert_equal(head.count("ontent-"), 1, row.rule)
    var twice = Response(200)
    twice.headers.append("Content-Length", "5")
    twice.headers.append("Content-Length", "6")
    var head = _head(twice, ResponseFraming(True, True, 1))
    assert_true("Content-Length: 0\r\n" in head, head)


def test_own_date_replaces_ours() raises:
    var response = ok("x")
    response.headers.set("Date", "Thu, 01 Jan 1970 00:00:00 GMT")
    var head = _head(response, ResponseFraming(False, True, 1))
    assert_equal(head.count("Date: "), 1)
    assert_true("1970" in head, head)

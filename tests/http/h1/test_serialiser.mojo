"""Responses as octets (RFC 9112 sections 4 and 6)."""

from flare.bytes.buffer import Buffer
from flare.http.h1.chunked import append_chunk, append_last_chunk, LAST_CHUNK
from flare.http.h1.request_parser import RequestParser
from flare.http.h1.serialiser import (
    DateLine,
    RequestFraming,
    RequestStart,
    ResponseFraming,
    asks_for_close,
    ends_with_close,
    is_chunked,
    sends_content,
    write_request_head,
    write_response_head,
)
from flare.http.message.body import BodySource, Poll
from flare.http.message.header_map import HeaderMap
from flare.http.message.response import Response, ok, ok_stream
from flare.http.message.trailers import Trailers
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.request_log import drain_into

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


def test_upgrade_is_an_option_of_the_connection() raises:
    """9110-7.8: who sends Upgrade names it in Connection, also where nothing is
    switched (426)."""
    var response = Response(426)
    response.headers.set("Connection", "x, Upgrade")
    response.headers.set("Upgrade", "websocket")
    var head = _head(response, ResponseFraming(False, True, 1))
    assert_true("\r\nUpgrade: websocket\r\n" in head, head)
    assert_true("\r\nConnection: Upgrade\r\n" in head, head)
    assert_equal(head.count("Connection"), 1)
    head = _head(response, ResponseFraming(False, False, 1))
    assert_true("\r\nConnection: Upgrade\r\n" in head, head)
    assert_true("\r\nConnection: close\r\n" in head, head)
    # Where something is switched, what switches says so itself.
    var switching = Response(101)
    switching.headers.set("Upgrade", "websocket")
    switching.headers.set("Connection", "Upgrade")
    head = _head(switching, ResponseFraming(False, True, 1))
    assert_equal(head.count("Connection"), 1)


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
        # What is not known is not said.
        _Length("no digits", True, "", "1x", ""),
        _Length("beyond 63 bits", True, "", "9999999999999999999", ""),
        _Length("none", True, "", "", ""),
        _Length("nothing to be said, and GET", False, "", "", "0"),
    ]
    for row in rows:
        var response = Response(200, String(row.body))
        if row.own.byte_length() > 0:
            response.headers.set("Content-Length", row.own)
        var head = _head(response, ResponseFraming(row.is_head, True, 1))
        var line = String("Content-Length: ", row.sent, "\r\n")
        var is_said = row.sent.byte_length() > 0
        assert_equal(line in head, is_said, String(row.rule, ": ", head))
        assert_equal(head.count("ontent-"), Int(is_said), row.rule)
        assert_true(head.endswith("\r\n\r\n"), row.rule)
    var twice = Response(200)
    twice.headers.append("Content-Length", "5")
    twice.headers.append("Content-Length", "6")
    var head = _head(twice, ResponseFraming(True, True, 1))
    assert_false("Content-Length" in head, head)


def test_own_date_replaces_ours() raises:
    var response = ok("x")
    response.headers.set("Date", "Thu, 01 Jan 1970 00:00:00 GMT")
    var head = _head(response, ResponseFraming(False, True, 1))
    assert_equal(head.count("Date: "), 1)
    assert_true("1970" in head, head)


@fieldwise_init
struct Nothing(BodySource):
    var unused: Int

    def fill(mut self, mut out: Buffer) raises -> Poll:
        return Poll.DONE


def _stream_head(response: Response, minor_version: UInt8) raises -> String:
    var out = Buffer()
    write_response_head(
        out, response, ResponseFraming(False, True, minor_version), DateLine()
    )
    return String(from_utf8=out.span())


def _expect_size(length: Int, line: StaticString) raises:
    var out = Buffer()
    append_chunk(out, List[UInt8](length=length, fill=UInt8(ord("x"))))
    assert_true(String(from_utf8=out.span()).startswith(line))
    var end_len = 2 if length > 0 else 0
    assert_equal(len(out), length + line.byte_length() + end_len)


def test_sizes_of_chunks() raises:
    # RFC 9112 section 7.1
    _expect_size(0, "")
    _expect_size(1, "1\r\n")
    _expect_size(9, "9\r\n")
    _expect_size(10, "a\r\n")
    _expect_size(15, "f\r\n")
    _expect_size(16, "10\r\n")
    _expect_size(255, "ff\r\n")
    _expect_size(256, "100\r\n")
    _expect_size(65_536, "10000\r\n")


def test_framing_of_streams() raises:
    # RFC 9112 section 6.3
    var unknown = ok_stream(Nothing(0))
    assert_true(
        "Transfer-Encoding: chunked\r\n\r\n" in _stream_head(unknown, 1)
    )
    assert_true(is_chunked(unknown, ResponseFraming(False, True, 1)))
    assert_false("Transfer-Encoding" in _stream_head(unknown, 0))
    assert_false("Content-Length" in _stream_head(unknown, 0))
    assert_true(ends_with_close(unknown, 0))
    assert_false(ends_with_close(unknown, 1))
    var known = ok_stream(Nothing(0), length=12)
    assert_true("Content-Length: 12\r\n\r\n" in _stream_head(known, 1))
    assert_true("Content-Length: 12\r\n\r\n" in _stream_head(known, 0))
    assert_false(is_chunked(known, ResponseFraming(False, True, 1)))
    assert_false(ends_with_close(known, 0))
    assert_false(ends_with_close(ok("text"), 0))


def _written(
    headers: HeaderMap,
    framing: RequestFraming = RequestFraming.none(),
    minor_version: UInt8 = 1,
) raises -> String:
    var defaults = HeaderMap()
    defaults.set("User-Agent", "flare")
    defaults.set("Accept", "*/*")
    var out = Buffer(0)
    write_request_head(
        out,
        RequestStart("PUT", "/a?b", "h:81", minor_version),
        headers,
        defaults,
        framing,
    )
    return String(StringSpan(unsafe_from_utf8=out.span()))


def test_host_is_first_and_framing_is_ours() raises:
    var headers = HeaderMap()
    assert_equal(
        _written(headers),
        "PUT /a?b HTTP/1.1\r\nHost: h:81\r\nUser-Agent: flare\r\nAccept: */*\r\n\r\n",
    )
    headers.set("Content-Length", "99")
    headers.set("transfer-encoding", "chunked")
    headers.set("Content-Type", "text/x")
    headers.set("accept", "text/y")
    headers.set("host", "other")
    assert_equal(
        _written(headers, RequestFraming(3)),
        "PUT /a?b HTTP/1.1\r\nHost: other\r\nUser-Agent: flare\r\nContent-Type: text/x\r\naccept: text/y\r\nContent-Length: 3\r\n\r\n",
    )


def test_framing() raises:
    var headers = HeaderMap()
    headers.set("User-Agent", "")
    headers.set("Accept", "")
    comptime START = "PUT /a?b HTTP/1.1\r\nHost: h:81\r\nUser-Agent: \r\nAccept: \r\n"
    assert_equal(
        _written(headers, RequestFraming(0)),
        START + "Content-Length: 0\r\n\r\n",
    )
    assert_equal(
        _written(headers, RequestFraming.chunked(expects_continue=True)),
        START + "Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n",
    )
    assert_true(
        _written(headers, minor_version=0).startswith("PUT /a?b HTTP/1.0\r\n")
    )


@fieldwise_init
struct _Refused(Copyable, Movable):
    var rule: StaticString
    var method: StaticString
    var target: StaticString
    var host: StaticString
    var part: StaticString
    var offset: Int


def test_refuses_what_would_end_a_part_early() raises:
    var rows: List[_Refused] = [
        _Refused("9110-9.1 empty", "", "/", "h", "method", 0),
        _Refused("9110-9.1", "G T", "/", "h", "method", 1),
        _Refused("9110-9.1 CR", "GET\r\nA: b", "/", "h", "method", 3),
        _Refused("9112-3.2 empty", "GET", "", "h", "request target", 0),
        _Refused("9112-3.2 SP", "GET", "/a b", "h", "request target", 2),
        _Refused("9112-3.2 LF", "GET", "/\nA: b", "h", "request target", 1),
        _Refused("9112-3.2 CR", "GET", "/\rA: b", "h", "request target", 1),
        _Refused("9112-3.2 NUL", "GET", "/\0", "h", "request target", 1),
        _Refused("9112-3.2 #", "GET", "/a#b", "h", "request target", 2),
        _Refused("9112-3.2 high", "GET", "/\xc3\xa4", "h", "request target", 1),
        _Refused("9110-7.2 CR", "GET", "/", "h\r\nA: b", "Host", 1),
        _Refused("9110-7.2 SP", "GET", "/", "h b", "Host", 1),
        _Refused("9110-7.2 path", "GET", "/", "h/b", "Host", 1),
    ]
    var none = HeaderMap()
    for row in rows:
        var out = Buffer(0)
        try:
            write_request_head(
                out,
                RequestStart(row.method, row.target, row.host, 1),
                none,
                none,
                RequestFraming.none(),
            )
        except error:
            assert_equal(error.part, row.part, row.rule)
            assert_equal(error.offset, row.offset, row.rule)
            assert_equal(len(out), 0, row.rule)
            assert_true("\r" not in String(error), row.rule)
            continue
        raise Error(row.rule, ": was written")


def test_http_1_0_has_no_chunks() raises:
    try:
        _ = _written(HeaderMap(), RequestFraming.chunked(), 0)
    except error:
        assert_true("framing 'chunked' cannot be sent" in String(error))
        return
    raise Error("was written")


def test_what_is_written_is_read_back() raises:
    var headers = HeaderMap()
    headers.set("X-A", "b c")
    headers.append("X-A", "d")
    var text = _written(headers, RequestFraming.chunked())
    var parser = RequestParser(16)
    parser.input.append(text.as_bytes())
    var whole = String()
    for length in [1, 15, 16, 255, 256, 4097]:
        var piece = List[UInt8](length=length, fill=97)
        append_chunk(parser.input, piece)
        append_chunk(parser.input, piece[0:0])
        whole.write(StringSpan(unsafe_from_utf8=piece))
    parser.input.append(LAST_CHUNK.as_bytes())
    var log = String()
    drain_into(parser, log, 10_000)
    assert_equal(
        log,
        String(
            "[PUT /a?b /a b HTTP/1.1\nHost: h:81\nUser-Agent: flare\n",
            "Accept: */*\nX-A: b c\nX-A: d\nTransfer-Encoding: chunked\n|",
            whole,
            "|]\n",
        ),
    )


def test_announced_trailers_ask_for_chunks() raises:
    # RFC 9112 section 7.1.2: only the chunked coding has a trailer section.
    var response = ok("hello").with_trailer("X-A", "b")
    var framing = ResponseFraming(False, True, 1)
    assert_true(is_chunked(response, framing))
    assert_equal(
        _head(response, framing),
        "HTTP/1.1 200 OK\r\n"
        + _DATE
        + _PLAIN
        + "Trailer: X-A\r\nTransfer-Encoding: chunked\r\n\r\n",
    )
    var old = ResponseFraming(False, True, 0)
    assert_false(is_chunked(response, old))
    assert_true("Content-Length: 5\r\n\r\n" in _head(response, old))
    assert_false(ends_with_close(response, 0))


def test_trailer_section() raises:
    var out = Buffer(0)
    append_last_chunk(out, Trailers())
    assert_equal(String(unsafe_from_utf8=out.span()), LAST_CHUNK)
    var trailers = Trailers()
    trailers.set("X-A", "b")
    trailers.set("X-C", "d")
    out.clear()
    append_last_chunk(out, trailers)
    assert_equal(
        String(unsafe_from_utf8=out.span()),
        "0\r\nX-A: b\r\nX-C: d\r\n\r\n",
    )

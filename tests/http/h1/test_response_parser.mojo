"""A client connection's input as a whole: responses come out the same however
the octets are cut (RFC 9112 sections 6.3, 8 and 9)."""

from flare.http.h1.error import NOWHERE, RemoteProtocolError, Rule
from flare.http.message.method import Method
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.response_log import ResponseLog


def _of(
    text: StringSpan,
    step: Int,
    method: Method = "GET",
    is_closed: Bool = False,
    is_switching: Bool = False,
) -> String:
    """Feeds a text in steps; gives the log."""
    var log = ResponseLog(method, is_switching=is_switching)
    var octets = text.as_bytes()
    var start = 0
    while start < len(octets):
        var end = min(start + step, len(octets))
        log.feed(octets[start:end])
        start = end
    if is_closed:
        log.close()
    return log.text


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var method: StaticString
    var octets: StaticString
    var log: StaticString


def test_how_content_ends() raises:
    var rows: List[_Row] = [
        _Row(
            "9112-6.3 (1) HEAD",
            "HEAD",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
            "[200 OK 1.1\nContent-Length: 5\n||]\n",
        ),
        _Row(
            "9112-6.3 (1) HEAD with a coding",
            "HEAD",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            "[200 OK 1.1\nTransfer-Encoding: chunked\n||]\n",
        ),
        _Row(
            "9112-6.3 (1) 204",
            "GET",
            "HTTP/1.1 204 No Content\r\n\r\n",
            "[204 No Content 1.1\n||]\n",
        ),
        _Row(
            "9112-6.3 (1) 304",
            "GET",
            "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
            "[304 Not Modified 1.1\nContent-Length: 9\n||]\n",
        ),
        _Row(
            "9112-6.3 (1) 1xx",
            "GET",
            (
                "HTTP/1.1 100 Continue\r\nContent-Length: 9\r\n\r\n"
                "HTTP/1.1 103 \r\nLink: x\r\n\r\n"
                "HTTP/1.1 200\r\nContent-Length: 1\r\n\r\na"
            ),
            "(100)(103)[200  1.1\nContent-Length: 1\n|a|]\n",
        ),
        _Row(
            "9112-6.3 (2) CONNECT",
            "CONNECT",
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nother",
            "[200 OK 1.1\nContent-Length: 9\n||]!\n",
        ),
        _Row(
            "9112-6.3 (2) CONNECT, 204",
            "CONNECT",
            "HTTP/1.1 204 No Content\r\n\r\n",
            "[204 No Content 1.1\n||]!\n",
        ),
        _Row(
            "9112-6.3 (2) CONNECT refused",
            "CONNECT",
            "HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno",
            "[403 No 1.1\nContent-Length: 2\n|no|]\n",
        ),
        _Row(
            "9112-6.3 (4) chunked",
            "GET",
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                "3;x=y\r\nabc\r\n1\r\nd\r\n0\r\nSum: 1\r\n\r\n"
            ),
            "[200 OK 1.1\nTransfer-Encoding: chunked\n|abcd|Sum: 1\n]\n",
        ),
        _Row(
            "9112-6.3 (6) sized",
            "POST",
            "HTTP/1.1 201 Created\r\nContent-Length: 4\r\n\r\nHTTP",
            "[201 Created 1.1\nContent-Length: 4\n|HTTP|]\n",
        ),
        _Row(
            "9112-6.3 (8) until close",
            "GET",
            "HTTP/1.1 200 OK\r\n\r\nall of it",
            "[200 OK 1.1\n|all of it|]!\n",
        ),
        _Row(
            "9112-9.3 close",
            "GET",
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
            "[200 OK 1.1\nConnection: close\nContent-Length: 0\n||]!\n",
        ),
        _Row(
            "9112-9.3 HTTP/1.0",
            "GET",
            "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
            "[200 OK 1.0\nContent-Length: 0\n||]!\n",
        ),
        _Row(
            "9112-9.3 HTTP/1.0 keep-alive",
            "GET",
            "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n",
            "[200 OK 1.0\nConnection: keep-alive\nContent-Length: 0\n||]\n",
        ),
    ]
    for row in rows:
        for step in range(1, row.octets.byte_length() + 1):
            var is_closed = "until close" in row.rule
            var log = _of(row.octets, step, row.method, is_closed)
            assert_equal(log, row.log, String(row.rule, " in ", step))


@fieldwise_init
struct _Refused(Copyable, Movable):
    var rule: StaticString
    var octets: StaticString
    var number: UInt8
    var offset: Int


def test_refuses_with_rule_and_offset_however_it_is_cut() raises:
    comptime CHUNKED = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    var rows: List[_Refused] = [
        _Refused(
            "9112-6.3 (3)",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            Rule.LENGTH_AND_CODING.number,
            66,
        ),
        _Refused(
            "9112-6.3 (3) the other way round",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n",
            Rule.LENGTH_AND_CODING.number,
            66,
        ),
        _Refused(
            "9112-6.3 (5) differing",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            Rule.LENGTH_REPEATED.number,
            52,
        ),
        _Refused(
            "9112-6.3 (5) list",
            "HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n\r\n",
            Rule.LENGTH_VALUE.number,
            34,
        ),
        _Refused(
            "9110-8.6 negative",
            "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            Rule.LENGTH_VALUE.number,
            33,
        ),
        _Refused(
            "9112-6.1 HTTP/1.0",
            "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            Rule.CODING_VERSION.number,
            47,
        ),
        _Refused(
            "9112-6.1 unknown coding",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
            Rule.CODING_UNKNOWN.number,
            36,
        ),
        _Refused(
            "9112-7.1 size",
            CHUNKED + "1\r\na\r\ng\r\n",
            Rule.CHUNK_SIZE.number,
            6,
        ),
        _Refused(
            "9112-7.1 end of data",
            CHUNKED + "2\r\nab\r\n3\r\nabcd\r\n",
            Rule.CHUNK_END.number,
            13,
        ),
        _Refused(
            "9112-7.1.2 trailer",
            CHUNKED + "1\r\na\r\n0\r\nA: b\r\nC d\r\n\r\n",
            Rule.FIELD_NAME.number,
            7,
        ),
        _Refused(
            "max_body_size chunked",
            CHUNKED + "1\r\na\r\n3e8\r\n",
            Rule.BODY_LEN.number,
            6,
        ),
        _Refused(
            "max_body_size sized",
            "HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\na",
            Rule.BODY_LEN.number,
            NOWHERE,
        ),
        _Refused(
            "9110-15.2.2 101 unasked",
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
            Rule.SWITCHING.number,
            NOWHERE,
        ),
        _Refused(
            "9112-8 closed within a head",
            "HTTP/1.1 200 OK\r\nA: b\r\n",
            Rule.TRUNCATED_HEAD.number,
            23,
        ),
        _Refused(
            "9112-8 closed within sized content",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na",
            Rule.TRUNCATED_CONTENT.number,
            NOWHERE,
        ),
        _Refused(
            "9112-8 closed without the last chunk",
            CHUNKED + "1\r\na\r\n",
            Rule.TRUNCATED_CONTENT.number,
            NOWHERE,
        ),
        _Refused(
            "9112-8 closed within the trailers",
            CHUNKED + "1\r\na\r\n0\r\nA: b\r\n",
            Rule.TRUNCATED_CONTENT.number,
            NOWHERE,
        ),
        _Refused("no response", "", Rule.NO_RESPONSE.number, NOWHERE),
    ]
    for row in rows:
        var wanted = String("<", row.number, " @", row.offset, ">")
        for step in range(1, row.octets.byte_length() + 2):
            var log = _of(row.octets, step, is_closed=True)
            assert_true(
                log.endswith(wanted), String(row.rule, " in ", step, ": ", log)
            )


def test_interim_responses_are_bounded() raises:
    var text = String()
    for _ in range(16):
        text.write("HTTP/1.1 102 Processing\r\n\r\n")
    var final = text + "HTTP/1.1 204 No Content\r\n\r\n"
    assert_true(_of(final, 1000).endswith("[204 No Content 1.1\n||]\n"))
    text.write("HTTP/1.1 102 Processing\r\n\r\n")
    assert_true(_of(text, 1000).endswith("(102)<31 @-1>"))
    assert_true(_of(text, 1).endswith("(102)<31 @-1>"))


def test_what_is_wrong_as_a_whole_has_no_place() raises:
    """An offset is of an octet that is wrong; one response too many has none."""
    comptime RULE = Rule.INTERIM_COUNT
    assert_equal(String(RemoteProtocolError(RULE, NOWHERE)), RULE.text())
    assert_equal(
        String(RemoteProtocolError(RULE, 7)), String(RULE.text(), " (byte 7)")
    )


def test_switching_protocols_when_asked() raises:
    comptime TEXT = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nother"
    var log = ResponseLog("GET", is_switching=True)
    log.feed(TEXT.as_bytes())
    assert_true(log.text.endswith("\n||]!\n"), log.text)
    assert_true(log.parser.is_other_protocol())
    assert_equal(StringSpan(unsafe_from_utf8=log.parser.input.span()), "other")


def test_octets_behind_a_response_spoil_the_connection() raises:
    comptime FIRST = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na"
    assert_true(_of(FIRST, 1000).endswith("]\n"))
    assert_true(_of(String(FIRST, "\r\n"), 1000).endswith("]!\n"))
    var log = ResponseLog()
    log.feed(FIRST.as_bytes())
    assert_true(log.is_idle())
    # What comes later is the pool's to see: the core takes it for a response.
    log.feed("\r\n".as_bytes())
    assert_false(log.is_idle())


def test_a_response_before_the_request_ends_spoils_the_connection() raises:
    var log = ResponseLog()
    try:
        log.parser.begin("POST")
    except:
        raise Error("the input is empty")
    log.feed("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n".as_bytes())
    assert_true(log.text.endswith("]!\n"), log.text)


def test_large_content_needs_a_small_buffer() raises:
    var log = ResponseLog(limit=1 << 30)
    log.feed("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".as_bytes())
    var piece = String("1000\r\n")
    for _ in range(4096):
        piece.write("x")
    piece.write("\r\n")
    for _ in range(256):
        log.feed(piece.as_bytes())
        log.text = String()
    assert_true(log.parser.input.capacity() < 20_000)
    log.feed("0\r\n\r\n".as_bytes())
    assert_equal(log.parser.body.taken_len, 0)
    assert_equal(log.text, "|]\n")


def test_which_408_is_about_a_connection_that_was_idle() raises:
    comptime TOO_LATE = "HTTP/1.1 408 Request Timeout\r\n"
    comptime rows = [
        (
            "9110-15.5.9 the server closes",
            TOO_LATE + "Connection: close\r\n",
            True,
        ),
        ("9112-6.3 its content ends so", TOO_LATE, True),
        ("9112-9.3 HTTP/1.0", "HTTP/1.0 408 X\r\nContent-Length: 0\r\n", True),
        ("9112-9.3 it goes on", TOO_LATE + "Content-Length: 0\r\n", False),
        ("another status", "HTTP/1.1 400 X\r\nConnection: close\r\n", False),
        (
            "9110-15.2 the request has come",
            "HTTP/1.1 100 Continue\r\n\r\n"
            + TOO_LATE
            + "Connection: close\r\n",
            False,
        ),
    ]
    comptime for row in rows:
        var log = ResponseLog()
        assert_false(log.parser.is_late_close(), row[0])
        log.feed(String(row[1], "\r\n").as_bytes())
        assert_equal(log.parser.is_late_close(), row[2], row[0])
        log.parser.reset()
        assert_false(log.parser.is_late_close(), row[0])

"""A connection's input as a whole: requests come out the same however the
octets are cut."""

from flare.http.h1.body_decoder import BodyProgress, DetachedBody
from flare.http.h1.error import Rule
from flare.http.h1.request_parser import RequestParser, Progress
from flare.http.h1.field_section import HeadLimits
from tests.support.assertions import assert_equal, assert_true
from tests.support.request_log import drain_into

comptime _LIMITS = HeadLimits(8192, 8192, 100)

comptime _STREAM = StaticString(
    "GET /a?b HTTP/1.1\r\nHost: h\r\nX: y\r\n\r\n"
    "\r\nPOST /c HTTP/1.1\r\nHost: h\r\nContent-Length: 7\r\n\r\nGET / H"
    "POST /d HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
    "3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\nSum: 1\r\n\r\n"
    "GET http://h/e HTTP/1.0\r\n\r\n"
    "PUT /f HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n"
)


def _whole() -> String:
    var parser = RequestParser(16)
    parser.input.append(_STREAM.as_bytes())
    var log = String()
    drain_into(parser, log, 100)
    return log^


def test_a_stream_of_requests() raises:
    var log = _whole()
    assert_equal(log.count("["), 5, log)
    assert_true("[GET /a?b /a b HTTP/1.1\nHost: h\nX: y\n||]" in log, log)
    assert_true("|GET / H|" in log, log)
    assert_true("|abcdefg|Sum: 1\n]" in log, log)
    assert_true("[GET http://h/e /e  HTTP/1.0\n||]" in log, log)


@fieldwise_init
struct _Target(Copyable, Movable):
    var line: StaticString
    var parts: StaticString


def test_paths_of_targets_without_one() raises:
    """9110-4.2.3: an empty path is `/`; 9112-3.2.4: but for OPTIONS."""
    var rows: List[_Target] = [
        _Target("GET http://h", "/ "),
        _Target("GET http://h?x=1", "/ x=1"),
        _Target("GET http://h:80?", "/ "),
        _Target("POST https://[::1]", "/ "),
        _Target("GET http://h/", "/ "),
        _Target("GET http://h//a", "//a "),
        _Target("OPTIONS http://h", "* "),
        _Target("OPTIONS *", "* "),
        _Target("OPTIONS http://h/", "/ "),
        _Target("OPTIONS http://h?x", "/ x"),
    ]
    for row in rows:
        var parser = RequestParser(16)
        var log = String()
        parser.input.append(row.line.as_bytes())
        parser.input.append(" HTTP/1.1\r\nHost: h\r\n\r\n".as_bytes())
        drain_into(parser, log, 100)
        var wanted = String("[", row.line, " ", row.parts, " HTTP/1.1\n")
        assert_true(log.startswith(wanted), log)


def test_split_invariance_at_every_cut() raises:
    var whole = _whole()
    var octets = _STREAM.as_bytes()
    for cut in range(1, len(octets)):
        var parser = RequestParser(16)
        var log = String()
        parser.input.append(octets[0:cut])
        drain_into(parser, log, 100)
        parser.input.append(octets[cut:])
        drain_into(parser, log, 100)
        assert_equal(log, whole, String("cut at ", cut))


def test_split_invariance_in_small_steps() raises:
    var whole = _whole()
    var octets = _STREAM.as_bytes()
    for step in range(1, 20):
        var parser = RequestParser(16)
        var log = String()
        var start = 0
        while start < len(octets):
            var end = min(start + step, len(octets))
            parser.input.append(octets[start:end])
            drain_into(parser, log, 100)
            start = end
        assert_equal(log, whole, String("steps of ", step))


def test_moving_to_another_exchange_loses_nothing() raises:
    var whole = _whole()
    var octets = _STREAM.as_bytes()
    for cut in range(1, len(octets)):
        var first = RequestParser(16)
        var second = RequestParser(16)
        var log = String()
        first.input.append(octets[0:cut])
        drain_into(first, log, 100)
        second.take_over(first)
        assert_true(first.is_idle())
        second.input.append(octets[cut:])
        drain_into(second, log, 100)
        assert_equal(log, whole, String("cut at ", cut))


def test_body_limit_is_the_callers() raises:
    var log = String()
    var parser = RequestParser(16)
    parser.input.append(_STREAM.as_bytes())
    drain_into(parser, log, 6)
    assert_equal(log.count("["), 1)
    assert_true(log.endswith("<413>"), log)


def test_content_that_is_too_long_has_no_place() raises:
    """RFC 9110 section 15.5.14: what is wrong is its length, and no octet."""
    comptime RULE = Rule.BODY_LEN
    var parser = RequestParser(16)
    parser.input.append(
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n".as_bytes()
    )
    var text = String()
    try:
        _ = parser.advance(_LIMITS)
        parser.body.max_body_size = 8
        _ = parser.advance(_LIMITS)
    except error:
        text = String(error)
    assert_equal(text, RULE.text())


def test_missing_len_tells_what_is_to_come() raises:
    var parser = RequestParser(16)
    parser.input.append(
        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nabc".as_bytes()
    )
    var log = String()
    drain_into(parser, log, 100)
    assert_true(parser.is_in_body())
    assert_equal(parser.missing_len(), 7)
    assert_equal(parser.body_received_len(), 3)
    parser.reset()
    assert_true(parser.is_idle())


def _left(text: StringSpan) raises -> RequestParser:
    """Leaves the content of the first request, whose head is complete."""
    var parser = RequestParser(16)
    parser.input.append(text.as_bytes())
    assert_true(parser.advance(materialize[_LIMITS]()) == Progress.HEAD_READY)
    parser.body.max_body_size = 100
    assert_true(parser.advance(materialize[_LIMITS]()) == Progress.NEEDS_OCTETS)
    return parser^


comptime _NEXT = StaticString("GET /n HTTP/1.1\r\nHost: h\r\n\r\n")


def _assert_next_is_read(
    mut parser: RequestParser, rest: StringSpan, step: Int
) raises:
    """Gives a parser that skips the rest of content and `_NEXT`, in pieces, and
    looks for the one request that is read."""
    assert_true(parser.is_skipping() and not parser.is_idle())
    var all = String(rest, _NEXT)
    var octets = all.as_bytes()
    var log = String()
    var start = 0
    while start < len(octets):
        var end = min(start + step, len(octets))
        parser.input.append(octets[start:end])
        if parser.is_skipping():
            var progress = parser.advance(materialize[_LIMITS]())
            assert_equal(progress != Progress.SKIPPED, parser.is_skipping())
        if not parser.is_skipping():
            drain_into(parser, log, 100)
        start = end
    assert_equal(log.count("["), 1, log)
    assert_true("[GET /n" in log, log)
    assert_true(parser.is_idle())


def _taken(head: StringSpan, content: StringSpan) raises -> DetachedBody:
    """Takes the content out of a request, with all of it that is here."""
    var parser = _left(String(head, content))
    var body = parser.detach_body()
    while body.advance(materialize[_LIMITS]()) == BodyProgress.CONTENT:
        pass
    return body^


def test_rest_of_content_is_skipped_to_its_end() raises:
    """RFC 9112 sections 6.3 and 7.1: the next request starts where the content
    ends, whatever it looks like, and however the rest comes; whether what was
    here is taken, or is left behind a head that is answered."""
    comptime SIZED = "POST /c HTTP/1.1\r\nHost: h\r\nContent-Length: 26\r\n\r\n"
    comptime CHUNKED = (
        "POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    comptime LINE = "GET /x HTTP/1.1\r\nHost: h\r\n"
    var rows: List[Tuple[StaticString, String]] = [
        (StaticString(SIZED), String(LINE)),
        (StaticString(CHUNKED), String("1a\r\n", LINE, "\r\n0\r\n\r\n")),
        (StaticString(CHUNKED), String("3;a=b\r\nGET\r\n0\r\nA: b\r\n\r\n")),
    ]
    for row in rows:
        var content = row[1]
        for cut in range(content.byte_length()):
            for step in range(1, 40):
                var parser = RequestParser(16)
                var body = _taken(row[0], content[byte=:cut])
                parser.skip_rest(body, 26)
                _assert_next_is_read(parser, content[byte=cut:], step)
                var answered = _left(String(row[0], content[byte=:cut]))
                var left = answered.detach_body()
                assert_true(
                    answered.advance(materialize[_LIMITS]()) == Progress.READY
                )
                answered.finish()
                answered.skip_rest(left, 26)
                _assert_next_is_read(answered, content[byte=cut:], step)


@fieldwise_init
struct _Rest(Copyable, Movable):
    """Content of which a part is here, and why its rest is not skipped."""

    var here: StaticString
    var rest: StaticString
    var why: StaticString


def test_rest_that_is_too_much_or_broken_is_not_skipped() raises:
    comptime HEAD = "POST / HTTP/1.1\r\nHost: h\r\n"
    comptime CHUNKED = "Transfer-Encoding: chunked\r\n\r\n3\r\nab"
    var rows = [
        _Rest("Content-Length: 12\r\n\r\nab", "cdefghijkl", ""),
        _Rest("Content-Length: 13\r\n\r\nab", "", "larger"),
        _Rest(CHUNKED, "c\r\n9\r\ndefghijkl\r\n0\r\n\r\n", ""),
        _Rest(CHUNKED, "c\r\na\r\ndefghijkl!", "larger"),
        _Rest(CHUNKED, "c\r\nx", "chunk"),
        _Rest(CHUNKED, "cd", "chunk"),
        _Rest(CHUNKED, "c\r\n0\r\nA b\r\n\r\n", "colon"),
    ]
    for row in rows:
        var body = _taken(HEAD, row.here)
        var parser = RequestParser(16)
        parser.skip_rest(body, 10)
        parser.input.append(row.rest.as_bytes())
        var told = String()
        try:
            _ = parser.advance(materialize[_LIMITS]())
        except error:
            told = String(error.rule.text())
        if row.why == "":
            assert_equal(told, "", row.rest)
            assert_true(parser.is_idle(), row.rest)
        else:
            assert_true(row.why in told, String(row.rest, ": ", told))
            assert_true(parser.is_skipping(), row.rest)

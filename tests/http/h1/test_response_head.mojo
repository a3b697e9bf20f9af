"""Response heads: what is accepted, what is refused and where (RFC 9112)."""

from flare.bytes.buffer import Buffer
from flare.http.h1.framing import HAS_LENGTH, SAYS_CLOSE
from flare.http.h1.field_section import HeadLimits
from flare.http.h1.error import RemoteProtocolError, Rule
from flare.http.h1.response_head import ResponseHead
from tests.support.assertions import assert_equal, assert_false, assert_true

comptime _LIMITS = HeadLimits(20, 200, 5)


def _parse_cut(
    text: StaticString, step: Int, mut head: ResponseHead, mut buffer: Buffer
) raises RemoteProtocolError -> Bool:
    """Feeds the text `step` octets at a time."""
    buffer.clear()
    head.begin()
    var octets = text.as_bytes()
    var start = 0
    while start < len(octets):
        var end = min(start + step, len(octets))
        buffer.append(octets[start:end])
        if head.parse(buffer.terminate(), materialize[_LIMITS]()):
            return True
        start = end
    return False


@fieldwise_init
struct _Accepted(Copyable, Movable):
    var rule: StaticString
    var head: StaticString
    var status: Int
    var reason: StaticString
    var field_count: Int
    var minor_version: Int


def test_accepts_however_it_is_cut() raises:
    var rows: List[_Accepted] = [
        _Accepted("9112-4", "HTTP/1.1 200 OK\r\n\r\n", 200, "OK", 0, 1),
        _Accepted("9112-2.3", "HTTP/1.0 404 \r\n\r\n", 404, "", 0, 0),
        _Accepted("9110-2.5", "HTTP/1.7 200 OK\r\n\r\n", 200, "OK", 0, 7),
        _Accepted("9112-4 no space", "HTTP/1.1 200\r\n\r\n", 200, "", 0, 1),
        _Accepted(
            "9112-4 reason",
            "HTTP/1.1 599 a \t\xc3\xa4 \r\n\r\n",
            599,
            "a \t\xc3\xa4 ",
            0,
            1,
        ),
        _Accepted("9110-15 999", "HTTP/1.1 999 X\r\n\r\n", 999, "X", 0, 1),
        _Accepted(
            "9112-5 fields; Host and Expect mean nothing here",
            "HTTP/1.1 200 OK\r\nHost: a/b\r\nhost:\r\nExpect: x\r\nA:\t b \r\n\r\n",
            200,
            "OK",
            4,
            1,
        ),
    ]
    var head = ResponseHead()
    var buffer = Buffer(0)
    for row in rows:
        for step in range(1, row.head.byte_length() + 1):
            assert_true(_parse_cut(row.head, step, head, buffer), row.rule)
            var reason = buffer.span()[
                head.reason_offset : head.reason_offset + head.reason_len
            ]
            assert_equal(
                StringSpan(unsafe_from_utf8=reason), row.reason, row.rule
            )
            assert_equal(head.status, row.status, row.rule)
            assert_equal(head.section.count, row.field_count, row.rule)
            assert_equal(Int(head.minor_version), row.minor_version, row.rule)
            assert_equal(head.head_len, row.head.byte_length(), row.rule)


@fieldwise_init
struct _Refused(Copyable, Movable):
    var rule: StaticString
    var head: StaticString
    var number: UInt8
    var offset: Int


def test_refuses_with_rule_and_offset_however_it_is_cut() raises:
    comptime OK = "HTTP/1.1 200 OK\r\n"
    var rows: List[_Refused] = [
        _Refused(
            "9112-2.3", "HTP/1.1 200 OK\r\n", Rule.VERSION_SYNTAX.number, 0
        ),
        _Refused("9112-2.3", "http/1.1 200 OK", Rule.VERSION_SYNTAX.number, 0),
        _Refused("9112-2.2 short", "HTTP\r\n", Rule.VERSION_SYNTAX.number, 0),
        _Refused("9112-2.2 short", "ICY\n", Rule.VERSION_SYNTAX.number, 0),
        _Refused("9112-2.2", "\r\nHTTP/1.1 200", Rule.VERSION_SYNTAX.number, 0),
        _Refused("9110-2.5", "HTTP/2.0 200 OK", Rule.VERSION_MAJOR.number, 0),
        _Refused("9110-2.5", "HTTP/0.9 200 OK", Rule.VERSION_MAJOR.number, 0),
        _Refused("9112-4 HTAB", "HTTP/1.1\t200 OK", Rule.STATUS_LINE.number, 8),
        _Refused("9112-4", "HTTP/1.01 200 OK", Rule.STATUS_LINE.number, 8),
        _Refused("9112-4 SP SP", "HTTP/1.1  200 O", Rule.STATUS_LINE.number, 9),
        _Refused("9112-4", "HTTP/1.1 2x0 OK\r\n", Rule.STATUS_LINE.number, 10),
        _Refused("9112-4", "HTTP/1.1 20 OK\r\n", Rule.STATUS_LINE.number, 11),
        _Refused("9112-4", "HTTP/1.1 2000 OK", Rule.STATUS_LINE.number, 12),
        _Refused("9112-4", "HTTP/1.1 200X\r\n", Rule.STATUS_LINE.number, 12),
        _Refused("9110-15", "HTTP/1.1 099 X\r\n", Rule.STATUS_CODE.number, 9),
        _Refused("9112-2.2 LF", "HTTP/1.1 200 OK\n", Rule.LINE_END.number, 15),
        _Refused(
            "9112-2.2 LF", "HTTP/1.1 200\n\r\n", Rule.STATUS_LINE.number, 12
        ),
        _Refused("9112-2.2 CR", "HTTP/1.1 200 O\rK", Rule.LINE_END.number, 14),
        _Refused("9112-4 NUL", "HTTP/1.1 200 O\0K", Rule.CONTROL.number, 14),
        _Refused(
            "reason limit",
            "HTTP/1.1 200 aaaaaaaaaaaaaaaaaaaaa",
            Rule.REASON_LEN.number,
            33,
        ),
        _Refused("9112-5.1", OK + "A : b\r\n", Rule.FIELD_NAME.number, 18),
        _Refused("9112-5.2", OK + "A: b\r\n c\r\n", Rule.OBS_FOLD.number, 23),
        _Refused("9112-5.2", OK + " A: b\r\n", Rule.OBS_FOLD.number, 17),
        _Refused("9112-2.2", OK + "A: b\n\r\n", Rule.LINE_END.number, 21),
        _Refused("9110-5.5", OK + "A: b\x01\r\n", Rule.CONTROL.number, 21),
        _Refused(
            "max_fields",
            OK + "A:1\r\nB:2\r\nC:3\r\nD:4\r\nE:5\r\nF:6\r\n\r\n",
            Rule.FIELD_COUNT.number,
            45,
        ),
    ]
    var head = ResponseHead()
    var buffer = Buffer(0)
    for row in rows:
        for step in range(1, row.head.byte_length() + 1):
            var name = String(row.rule, " in steps of ", step)
            try:
                _ = _parse_cut(row.head, step, head, buffer)
            except error:
                assert_equal(Int(error.rule.number), Int(row.number), name)
                assert_equal(error.offset, row.offset, name)
                continue
            raise Error(name, ": accepted ", row.head)


def test_an_unfinished_head_is_no_error() raises:
    comptime HEAD = "HTTP/1.1 301 Moved\r\nLocation: /a\r\nAge: 1\r\n\r\n"
    var head = ResponseHead()
    var buffer = Buffer(0)
    for count in range(len(HEAD.as_bytes())):
        buffer.clear()
        head.begin()
        buffer.append(HEAD.as_bytes()[0:count])
        assert_false(
            head.parse(buffer.terminate(), materialize[_LIMITS]()),
            String(count),
        )


def test_fields_say_how_the_message_is_framed() raises:
    comptime HEAD = "HTTP/1.1 200 OK\r\ncontent-LENGTH: 42\r\nConnection: x, Close\r\n\r\n"
    var head = ResponseHead()
    var buffer = Buffer(0)
    assert_true(_parse_cut(HEAD, 1000, head, buffer))
    assert_true(head.framing.has(HAS_LENGTH | SAYS_CLOSE))
    assert_equal(head.framing.content_length, 42)
    assert_false(head.framing.keeps_alive(head.minor_version))
    # The next head starts with a clean sheet.
    assert_true(_parse_cut("HTTP/1.1 200 OK\r\n\r\n", 1000, head, buffer))
    assert_false(head.framing.has(HAS_LENGTH))

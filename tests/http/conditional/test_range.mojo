"""Byte ranges (RFC 9110 section 14)."""

from flare.http.conditional.range import (
    ByteRange,
    ByterangesLayout,
    ContentRange,
    RANGE_COUNT_MAX,
    RangeSet,
    RangeVerdict,
    content_range,
    unsatisfied_range,
)
from tests.support.assertions import assert_equal, assert_true

comptime _WHOLE = RangeVerdict.WHOLE
comptime _MALFORMED = RangeVerdict.MALFORMED
comptime _UNSATISFIABLE = RangeVerdict.UNSATISFIABLE
comptime _PARTS = RangeVerdict.PARTS


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var value: StaticString
    var size: Int
    var verdict: RangeVerdict
    var ranges: StaticString


def _written(set: RangeSet) -> String:
    var text = String()
    for index in range(len(set.ranges)):
        text.write("" if index == 0 else ",", set.ranges[index])
    return text^


def test_parse() raises:
    var rows: List[_Row] = [
        _Row("14.1.2 first", "bytes=0-499", 10_000, _PARTS, "0-499"),
        _Row("14.1.2 last", "bytes=-500", 10_000, _PARTS, "9500-9999"),
        _Row("14.1.2 open", "bytes=9500-", 10_000, _PARTS, "9500-9999"),
        _Row("14.1.2 two", "bytes=0-0,-1", 10_000, _PARTS, "0-0,9999-9999"),
        _Row("14.1.2 cut", "bytes=5-99", 10, _PARTS, "5-9"),
        _Row("14.1.2 longer suffix", "bytes=-99", 10, _PARTS, "0-9"),
        _Row("14.1.1 case of units", "Bytes=1-2", 10, _PARTS, "1-2"),
        _Row("14.2 unknown units", "lines=1-2", 10, _WHOLE, ""),
        _Row("14.2 empty", "", 10, _WHOLE, ""),
        _Row("14.1.1 no units", "1-2", 10, _MALFORMED, ""),
        _Row("14.1.1 no range", "bytes=", 10, _MALFORMED, ""),
        _Row("14.1.2 lone dash", "bytes=-", 10, _MALFORMED, ""),
        _Row("14.1.2 backwards", "bytes=5-4", 10, _MALFORMED, ""),
        _Row("14.1.2 sign", "bytes=+1-2", 10, _MALFORMED, ""),
        _Row("14.1.2 three", "bytes=1-2-3", 10, _MALFORMED, ""),
        _Row("14.1.2 one wrong", "bytes=0-1,x-2", 10, _MALFORMED, ""),
        _Row("14.1.2 behind the end", "bytes=10-", 10, _UNSATISFIABLE, ""),
        _Row("14.1.2 suffix of none", "bytes=-0", 10, _UNSATISFIABLE, ""),
        _Row("14.1.2 one is there", "bytes=99-,1-2", 10, _PARTS, "1-2"),
        _Row("14.1.2 empty, first", "bytes=0-", 0, _UNSATISFIABLE, ""),
        _Row("14.1.2 empty, suffix", "bytes=-5", 0, _WHOLE, ""),
        _Row(
            "14.1.2 more than 64 bits",
            "bytes=1-99999999999999999999999999",
            10,
            _PARTS,
            "1-9",
        ),
        _Row(
            "14.1.2 first of more than 64 bits",
            "bytes=99999999999999999999999999-",
            10,
            _UNSATISFIABLE,
            "",
        ),
        _Row(
            "14.1.2 wraps around to 0",
            "bytes=18446744073709551616-",
            10,
            _UNSATISFIABLE,
            "",
        ),
    ]
    for row in rows:
        var set = RangeSet.parse(row.value.as_bytes(), row.size)
        assert_true(set.verdict == row.verdict, row.rule)
        assert_equal(_written(set), row.ranges, row.rule)


def test_many_ranges_are_ignored() raises:
    var value = String("bytes=0-0")
    for index in range(1, RANGE_COUNT_MAX):
        value.write(",", index * 1_000, "-", index * 1_000)
    var set = RangeSet.parse(value.as_bytes(), 1 << 40)
    assert_equal(len(set.ranges), RANGE_COUNT_MAX)
    value.write(",7-7")
    set = RangeSet.parse(value.as_bytes(), 1 << 40)
    assert_true(set.verdict == _WHOLE, "14.2 many small ranges")


@fieldwise_init
struct _JoinRow(Copyable, Movable):
    var rule: StaticString
    var value: StaticString
    var ranges: StaticString


def test_coalesce() raises:
    var rows: List[_JoinRow] = [
        _JoinRow("one", "bytes=0-9", "0-9"),
        _JoinRow("apart", "bytes=0-9,1000-1009", "0-9,1000-1009"),
        _JoinRow("order is kept", "bytes=1000-1009,0-9", "1000-1009,0-9"),
        _JoinRow("overlap", "bytes=0-9,5-14", "0-14"),
        _JoinRow("next to it", "bytes=0-9,10-14", "0-14"),
        _JoinRow("gap of 80", "bytes=0-9,90-99", "0-99"),
        _JoinRow("gap of 81", "bytes=0-9,91-99", "0-9,91-99"),
        _JoinRow("inside", "bytes=0-999,5-6", "0-999"),
        _JoinRow("around", "bytes=5-6,0-999", "0-999"),
        _JoinRow("joins two", "bytes=0-9,200-209,50-160", "0-209"),
        _JoinRow(
            "takes the first's place",
            "bytes=5000-5009,0-9,9000-,5010-5019",
            "5000-5019,0-9,9000-9999",
        ),
        _JoinRow("the same often", "bytes=0-,0-,0-,0-,0-,0-,0-,0-", "0-9999"),
    ]
    for row in rows:
        var set = RangeSet.parse(row.value.as_bytes(), 10_000)
        set.coalesce()
        assert_equal(_written(set), row.ranges, row.rule)


def test_content_range() raises:
    # The examples of RFC 9110 section 14.4.
    assert_equal(content_range(ByteRange(42, 1192), 1234), "bytes 42-1233/1234")
    assert_equal(unsatisfied_range(1234), "bytes */1234")


def _said(value: StringSpan) -> String:
    var found = ContentRange.parse(value.as_bytes())
    if not found:
        return "-"
    ref range = found.value()
    return String(range.start, "+", range.length, "/", range.size)


def test_content_range_is_read() raises:
    for value, said in [
        # RFC 9110 section 14.4.
        ("bytes 42-1233/1234", "42+1192/1234"),
        ("bytes 42-1233/*", "42+1192/-1"),
        ("bytes */1234", "-1+0/1234"),
        ("Bytes 0-0/1", "0+1/1"),
        # "Invalid if its last position is less than the first, or its length
        # is not more than the last": it is not put together with anything.
        ("bytes 5-4/10", "-"),
        ("bytes 0-10/10", "-"),
        ("bytes */*", "-"),
        ("bytes 0-1", "-"),
        ("bytes 01/3", "-"),
        ("bytes -1/3", "-"),
        ("bytes 1-/3", "-"),
        ("bytes x-2/3", "-"),
        ("bytes 0-1/x", "-"),
        ("lines 0-1/3", "-"),
        ("bytes", "-"),
        ("", "-"),
    ]:
        assert_equal(_said(value), said, value)


def test_layout() raises:
    var content = String("0123456789")
    var random = Array[UInt8, 16](fill=0xAB)
    comptime BOUNDARY = "abababababababababababababababab"
    var layout = ByterangesLayout(
        [ByteRange(1, 2), ByteRange(7, 3)], 10, "text/plain", random
    )
    var body = String()
    for index in range(layout.part_count()):
        body.write(layout.head(index))
        var part = layout.part_range(index)
        body.write(content[byte = part.start : part.end()])
    body.write(layout.tail())
    assert_equal(
        body,
        "--"
        + BOUNDARY
        + "\r\nContent-Type: text/plain\r\nContent-Range: bytes 1-2/10\r\n\r\n12"
        + "\r\n--"
        + BOUNDARY
        + "\r\nContent-Type: text/plain\r\nContent-Range: bytes"
        " 7-9/10\r\n\r\n789\r\n--" + BOUNDARY + "--\r\n",
    )
    assert_equal(layout.content_length(), body.byte_length())
    assert_equal(
        layout.content_type(), "multipart/byteranges; boundary=" + BOUNDARY
    )

"""Dates in header fields (RFC 9110 section 5.6.7)."""

from flare.bytes.buffer import Buffer
from flare.http.message.date import append_imf_fixdate
from flare.http.message.http_date import parse_http_date
from std.testing import assert_equal, assert_false, assert_true

# 2027-01-15.
comptime _NOW_S = 1_800_000_000


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var text: StaticString
    var unix_s: Int


def test_reads() raises:
    var rows: List[_Row] = [
        _Row("IMF-fixdate", "Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
        _Row("rfc850-date", "Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
        _Row("asctime-date", "Sun Nov  6 08:49:37 1994", 784_111_777),
        _Row("asctime two digits", "Wed Nov 16 08:49:37 1994", 784_975_777),
        _Row("epoch", "Thu, 01 Jan 1970 00:00:00 GMT", 0),
        _Row("before it", "Wed, 31 Dec 1969 23:59:59 GMT", -1),
        _Row("leap day", "Tue, 29 Feb 2000 00:00:00 GMT", 951_782_400),
        _Row("leap second", "Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
        _Row("last year", "Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
        _Row("50 years ahead", "Friday, 15-Jan-77 00:00:00 GMT", 3_377_894_400),
        _Row("more is past", "Sunday, 15-Jan-78 00:00:00 GMT", 253_670_400),
    ]
    for row in rows:
        var found = parse_http_date(row.text.as_bytes(), _NOW_S)
        assert_true(found, row.rule)
        assert_equal(found.value(), row.unix_s, row.rule)


def test_refuses() raises:
    var texts: List[StaticString] = [
        "",
        "0",
        "Sun, 06 Nov 1994 08:49:37",
        "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 nov 1994 08:49:37 GMT",
        "sun, 06 Nov 1994 08:49:37 GMT",
        "Sun, 6 Nov 1994 08:49:37 GMT",
        "Sun, 31 Nov 1994 08:49:37 GMT",
        "Sun, 29 Feb 1900 08:49:37 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:49:37 GMT",
        "Sun, 06 Nov 1994 08:60:37 GMT",
        "Sun, 06 Nov 1994 08:49:61 GMT",
        "Sun, 06 Nov 1994 08.49.37 GMT",
        "Sun, 06 Nov 1994 08:49:37 GMT ",
        "Sunday, 06-Nov-1994 08:49:37 GMT",
        "Sun, 06-Nov-94 08:49:37 GMT",
        "Sunday 06-Nov-94 08:49:37 GMT",
        "Sun Nov 6 08:49:37 1994",
        "Sun Nov  6 08:49:37 94",
        "1994-11-06T08:49:37Z",
    ]
    for text in texts:
        assert_false(parse_http_date(text.as_bytes(), _NOW_S), text)


def test_reads_what_is_written() raises:
    for unix_s in range(0, 4_000_000_000, 86_400 * 97 + 3_601):
        var buffer = Buffer()
        append_imf_fixdate(buffer, unix_s)
        assert_equal(parse_http_date(buffer.span(), 0).value(), unix_s)

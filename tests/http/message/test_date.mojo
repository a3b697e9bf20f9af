"""The date format of HTTP (RFC 9110 section 5.6.7)."""

from flare.bytes.buffer import Buffer
from flare.bytes.civil_date import CivilDate, civil_date, day_number
from flare.http.message.date import (
    IMF_FIXDATE_LEN,
    append_imf_fixdate,
    parse_cookie_date,
    parse_http_date,
    parse_http_date_in_cache,
    write_timestamp,
)
from tests.support.assertions import assert_equal, assert_false, assert_true


@fieldwise_init
struct _Row(Copyable, Movable):
    var unix_s: Int
    var text: StaticString


def test_fixdate() raises:
    var rows: List[_Row] = [
        _Row(0, "Thu, 01 Jan 1970 00:00:00 GMT"),
        _Row(784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
        _Row(951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
        _Row(1_709_251_199, "Thu, 29 Feb 2024 23:59:59 GMT"),
        _Row(4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
        _Row(253_402_300_799, "Fri, 31 Dec 9999 23:59:59 GMT"),
    ]
    for row in rows:
        var buffer = Buffer(0)
        append_imf_fixdate(buffer, row.unix_s)
        assert_equal(String(unsafe_from_utf8=buffer.span()), row.text)
        assert_equal(len(buffer), IMF_FIXDATE_LEN)


def _length_of_month(year: Int, month: Int) -> Int:
    if month == 2:
        var is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        return 29 if is_leap else 28
    return 30 if month in [4, 6, 9, 11] else 31


def test_every_day_of_four_centuries_follows_the_one_before() raises:
    var expected = CivilDate(1970, 1, 1)
    for day_number in range(146_097):
        if civil_date(day_number) != expected:
            raise Error("day ", day_number)
        expected.day += 1
        if expected.day > _length_of_month(expected.year, expected.month):
            expected.day = 1
            expected.month += 1
        if expected.month > 12:
            expected.month = 1
            expected.year += 1


# 2027-01-15.
comptime _NOW_S = 1_800_000_000


@fieldwise_init
struct _HttpDateRow(Copyable, Movable):
    var rule: StaticString
    var text: StaticString
    var unix_s: Int


def test_reads() raises:
    var rows: List[_HttpDateRow] = [
        _HttpDateRow(
            "IMF-fixdate", "Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777
        ),
        _HttpDateRow(
            "rfc850-date", "Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777
        ),
        _HttpDateRow("asctime-date", "Sun Nov  6 08:49:37 1994", 784_111_777),
        _HttpDateRow(
            "asctime two digits", "Wed Nov 16 08:49:37 1994", 784_975_777
        ),
        _HttpDateRow("epoch", "Thu, 01 Jan 1970 00:00:00 GMT", 0),
        _HttpDateRow("before it", "Wed, 31 Dec 1969 23:59:59 GMT", -1),
        _HttpDateRow("leap day", "Tue, 29 Feb 2000 00:00:00 GMT", 951_782_400),
        _HttpDateRow(
            "leap second", "Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800
        ),
        _HttpDateRow(
            "last year", "Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799
        ),
        _HttpDateRow(
            "50 years ahead", "Friday, 15-Jan-77 00:00:00 GMT", 3_377_894_400
        ),
        _HttpDateRow(
            "more is past", "Sunday, 15-Jan-78 00:00:00 GMT", 253_670_400
        ),
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
        "Sun, 31 Nov 0000 08:49:37 GMT",
        "Sun Nov 83 08:49:37 0000",
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


@fieldwise_init
struct _CookieDateRow(Copyable, Movable):
    var rule: StaticString
    var text: StaticString
    # -1 for no date.
    var unix_s: Int


def test_dates() raises:
    comptime AT = 784_111_777
    var rows: List[_CookieDateRow] = [
        _CookieDateRow(
            "9110-5.6.7 IMF-fixdate", "Sun, 06 Nov 1994 08:49:37 GMT", AT
        ),
        _CookieDateRow(
            "9110-5.6.7 RFC 850", "Sunday, 06-Nov-94 08:49:37 GMT", AT
        ),
        _CookieDateRow("9110-5.6.7 asctime", "Sun Nov  6 08:49:37 1994", AT),
        _CookieDateRow(
            "6265-5.1.1 any order", "8:49:37 94 6 1994 november", -1
        ),
        _CookieDateRow("6265-5.1.1 any order", "1994 8:49:37 november 6", AT),
        _CookieDateRow(
            "6265-5.1.1 zones are ignored", "6 Nov 1994 08:49:37 -0500", AT
        ),
        _CookieDateRow("6265-5.1.1 70 is 1970", "1 jan 70 0:0:0", 0),
        _CookieDateRow(
            "6265-5.1.1 69 is 2069", "1 jan 69 0:0:0", 3_124_224_000
        ),
        _CookieDateRow(
            "6265-5.1.1 leap day", "29 Feb 2000 00:00:00", 951_782_400
        ),
        _CookieDateRow("6265-5.1.1 before 1970", "31 Dec 1969 23:59:58", -2),
        _CookieDateRow("6265-5.1.1 no leap day", "29 Feb 1900 00:00:00", -1),
        _CookieDateRow("6265-5.1.1 no such day", "31 Apr 2000 00:00:00", -1),
        _CookieDateRow("6265-5.1.1 day 0", "0 Apr 2000 00:00:00", -1),
        _CookieDateRow("6265-5.1.1 day 32", "32 Apr 2000 00:00:00", -1),
        _CookieDateRow("6265-5.1.1 year 1600", "1 Jan 1600 00:00:00", -1),
        _CookieDateRow("6265-5.1.1 hour 24", "1 Jan 2000 24:00:00", -1),
        _CookieDateRow("6265-5.1.1 minute 60", "1 Jan 2000 00:60:00", -1),
        _CookieDateRow("6265-5.1.1 second 60", "1 Jan 2000 00:00:60", -1),
        _CookieDateRow("6265-5.1.1 three digits", "1 Jan 2000 00:000:00", -1),
        _CookieDateRow("6265-5.1.1 no time", "1 Jan 2000", -1),
        _CookieDateRow("6265-5.1.1 no month", "1 2000 00:00:00", -1),
        _CookieDateRow("6265-5.1.1 no year", "1 Jan 00:00:00", -1),
        _CookieDateRow("6265-5.1.1 no day", "Jan 2000 00:00:00", -1),
        _CookieDateRow("6265-5.1.1 nothing", "", -1),
        _CookieDateRow("6265-5.1.1 delimiters", " ,;-/", -1),
        _CookieDateRow(
            "6265-5.1.1 a huge number", "99999999999999999999 Jan 1 0:0:0", -1
        ),
    ]
    for row in rows:
        var found = parse_cookie_date(row.text.as_bytes())
        assert_equal(found.or_else(-1), row.unix_s, row.rule)


def test_day_numbers_undo_days() raises:
    for number in range(-140_000, 140_000):
        if day_number(civil_date(number)) != number:
            raise Error("day ", number)
    assert_equal(day_number(CivilDate(1970, 1, 1)), 0)
    # A day beyond the month's last is one of the next month.
    assert_equal(
        day_number(CivilDate(2001, 2, 29)), day_number(CivilDate(2001, 3, 1))
    )


@fieldwise_init
struct _TimestampRow(Copyable, Movable):
    var rule: StaticString
    var unix_ms: Int
    var text: StaticString


def test_timestamps() raises:
    var rows: List[_TimestampRow] = [
        _TimestampRow("3339-5.6 the epoch", 0, "1970-01-01T00:00:00.000Z"),
        _TimestampRow(
            "3339-5.6 secfrac", 784_111_777_123, "1994-11-06T08:49:37.123Z"
        ),
        _TimestampRow("milliseconds keep zeros", 7, "1970-01-01T00:00:00.007Z"),
        _TimestampRow("and two of them", 70, "1970-01-01T00:00:00.070Z"),
        _TimestampRow(
            "3339-5.6 two digits", 3_661_000, "1970-01-01T01:01:01.000Z"
        ),
        _TimestampRow("end of a second", 59_999, "1970-01-01T00:00:59.999Z"),
        _TimestampRow("end of a day", 86_399_999, "1970-01-01T23:59:59.999Z"),
        _TimestampRow("next day", 86_400_000, "1970-01-02T00:00:00.000Z"),
        _TimestampRow(
            "3339-C 2000 is a leap year",
            951_825_599_999,
            "2000-02-29T11:59:59.999Z",
        ),
        _TimestampRow(
            "3339-C 2100 is none",
            4_107_542_400_000,
            "2100-03-01T00:00:00.000Z",
        ),
        _TimestampRow(
            "end of 1999", 946_684_799_999, "1999-12-31T23:59:59.999Z"
        ),
        _TimestampRow(
            "beyond 32 bits", 2_147_483_648_000, "2038-01-19T03:14:08.000Z"
        ),
        _TimestampRow(
            "3339-5.6 four digits of a year",
            253_402_300_799_999,
            "9999-12-31T23:59:59.999Z",
        ),
    ]
    for row in rows:
        var text = String()
        write_timestamp(row.unix_ms, text)
        assert_equal(text, row.text, row.rule)


def test_a_cache_reads_names_in_any_case() raises:
    """RFC 9111 section 4.2."""
    var rows: List[StaticString] = [
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "THU, 18 AUG 2050 02:01:18 GMT",
        "sun, 06 nov 1994 08:49:37 gmt",
        "Sun, 06 NOV 1994 08:49:37 Gmt",
        "SUNDAY, 06-nov-94 08:49:37 gMT",
        "sun nov  6 08:49:37 1994",
    ]
    for row in rows:
        assert_true(parse_http_date_in_cache(row.as_bytes(), 0), row)
    var wrong: List[StaticString] = [
        "",
        "gmt",
        "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 08:49:37",
        "SUNNYDAY, 06-nov-94 08:49:37 gmt and more than any date has",
    ]
    for row in wrong:
        assert_false(parse_http_date_in_cache(row.as_bytes(), 0), row)
    assert_equal(
        parse_http_date_in_cache("sun, 06 nov 1994 08:49:37 gmt".as_bytes(), 0),
        Optional(784_111_777),
    )

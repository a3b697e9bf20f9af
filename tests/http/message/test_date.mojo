"""The date format of HTTP (RFC 9110 section 5.6.7)."""

from flare.bytes.buffer import Buffer
from flare.http.message.date import (
    CivilDate,
    IMF_FIXDATE_LEN,
    append_imf_fixdate,
    civil_date,
)
from std.testing import assert_equal, assert_true


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

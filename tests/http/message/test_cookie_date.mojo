"""Dates in cookies (RFC 6265 section 5.1.1); the vectors hold many more."""

from flare.http.message.cookie_date import parse_cookie_date
from flare.http.message.date import CivilDate, civil_date, day_number
from std.testing import assert_equal, assert_false, assert_true


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var text: StaticString
    # -1 for no date.
    var unix_s: Int


def test_dates() raises:
    comptime AT = 784_111_777
    var rows: List[_Row] = [
        _Row("9110-5.6.7 IMF-fixdate", "Sun, 06 Nov 1994 08:49:37 GMT", AT),
        _Row("9110-5.6.7 RFC 850", "Sunday, 06-Nov-94 08:49:37 GMT", AT),
        _Row("9110-5.6.7 asctime", "Sun Nov  6 08:49:37 1994", AT),
        _Row("6265-5.1.1 any order", "8:49:37 94 6 1994 november", -1),
        _Row("6265-5.1.1 any order", "1994 8:49:37 november 6", AT),
        _Row("6265-5.1.1 zones are ignored", "6 Nov 1994 08:49:37 -0500", AT),
        _Row("6265-5.1.1 70 is 1970", "1 jan 70 0:0:0", 0),
        _Row("6265-5.1.1 69 is 2069", "1 jan 69 0:0:0", 3_124_224_000),
        _Row("6265-5.1.1 leap day", "29 Feb 2000 00:00:00", 951_782_400),
        _Row("6265-5.1.1 before 1970", "31 Dec 1969 23:59:58", -2),
        _Row("6265-5.1.1 no leap day", "29 Feb 1900 00:00:00", -1),
        _Row("6265-5.1.1 no such day", "31 Apr 2000 00:00:00", -1),
        _Row("6265-5.1.1 day 0", "0 Apr 2000 00:00:00", -1),
        _Row("6265-5.1.1 day 32", "32 Apr 2000 00:00:00", -1),
        _Row("6265-5.1.1 year 1600", "1 Jan 1600 00:00:00", -1),
        _Row("6265-5.1.1 hour 24", "1 Jan 2000 24:00:00", -1),
        _Row("6265-5.1.1 minute 60", "1 Jan 2000 00:60:00", -1),
        _Row("6265-5.1.1 second 60", "1 Jan 2000 00:00:60", -1),
        _Row("6265-5.1.1 three digits", "1 Jan 2000 00:000:00", -1),
        _Row("6265-5.1.1 no time", "1 Jan 2000", -1),
        _Row("6265-5.1.1 no month", "1 2000 00:00:00", -1),
        _Row("6265-5.1.1 no year", "1 Jan 00:00:00", -1),
        _Row("6265-5.1.1 no day", "Jan 2000 00:00:00", -1),
        _Row("6265-5.1.1 nothing", "", -1),
        _Row("6265-5.1.1 delimiters", " ,;-/", -1),
        _Row(
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

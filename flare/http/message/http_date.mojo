"""Dates in header fields, read strictly."""

from flare.http.message.date import (
    IMF_FIXDATE_LEN,
    CivilDate,
    civil_date,
    day_number,
)

comptime _MONTHS = StaticString("JanFebMarAprMayJunJulAugSepOctNovDec")
comptime _DAYS = StaticString("MonTueWedThuFriSatSun")
comptime _LONG_DAYS: Array[StaticString, 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
]
comptime _ASCTIME_LEN = 24
# What follows the name of the day in an RFC 850 date: `, 06-Nov-94 08:49:37 GMT`.
comptime _RFC850_REST_LEN = 24
comptime _DAY_S = 86_400


def parse_http_date(text: Span[UInt8, _], now_s: Int) -> Optional[Int]:
    """Reads a date in any of the three forms that HTTP has had.

    Source: RFC 9110 section 5.6.7. Names are case-sensitive; the name of the
    day is checked to be one, not to be the right one.

    Args:
        text: The field's value, without whitespace around it.
        now_s: The time, in seconds since 1970-01-01 00:00:00 UTC: years of two
            digits are at most 50 years ahead of it.

    Returns:
        Seconds since 1970-01-01 00:00:00 UTC, negative before; nothing if the
        text is no such date.
    """
    if len(text) == IMF_FIXDATE_LEN:
        return _parse_imf_fixdate(text)
    if len(text) == _ASCTIME_LEN and text[3] == 32:
        return _parse_asctime(text)
    return _parse_rfc850(text, now_s)


def _parse_imf_fixdate(text: Span[UInt8, _]) -> Optional[Int]:
    """Reads `Sun, 06 Nov 1994 08:49:37 GMT`."""
    if _index_of(_DAYS, text[0:3]) < 0 or not _has(text, 3, ", "):
        return None
    if not _has(text, 7, " ") or not _has(text, 11, " "):
        return None
    if not _has(text, 16, " ") or not _has(text, 25, " GMT"):
        return None
    return _moment(
        _number(text[12:16]),
        _index_of(_MONTHS, text[8:11]),
        _number(text[5:7]),
        _second_of_day(text[17:25]),
    )


def _parse_asctime(text: Span[UInt8, _]) -> Optional[Int]:
    """Reads `Sun Nov  6 08:49:37 1994`."""
    if _index_of(_DAYS, text[0:3]) < 0:
        return None
    if not _has(text, 7, " ") or not _has(text, 10, " "):
        return None
    if not _has(text, 19, " "):
        return None
    var day = _number(text[9:10] if text[8] == 32 else text[8:10])
    return _moment(
        _number(text[20:24]),
        _index_of(_MONTHS, text[4:7]),
        day,
        _second_of_day(text[11:19]),
    )


def _parse_rfc850(text: Span[UInt8, _], now_s: Int) -> Optional[Int]:
    """Reads `Sunday, 06-Nov-94 08:49:37 GMT`."""
    var name_len = len(text) - _RFC850_REST_LEN
    if name_len < 6 or not _is_long_day(text[0:name_len]):
        return None
    var rest = text[name_len:]
    if not _has(rest, 0, ", ") or not _has(rest, 4, "-"):
        return None
    if not _has(rest, 8, "-") or not _has(rest, 11, " "):
        return None
    if not _has(rest, 20, " GMT"):
        return None
    var year = _number(rest[9:11])
    if year < 0:
        return None
    var year_now = civil_date(max(now_s, 0) // _DAY_S).year
    year += year_now - year_now % 100
    if year > year_now + 50:
        year -= 100
    return _moment(
        year,
        _index_of(_MONTHS, rest[5:8]),
        _number(rest[2:4]),
        _second_of_day(rest[12:20]),
    )


def _moment(
    year: Int, month_index: Int, day: Int, second: Int
) -> Optional[Int]:
    if year < 0 or month_index < 0 or day < 1 or second < 0:
        return None
    var date = CivilDate(year, month_index + 1, day)
    var number = day_number(date)
    # A day that the month does not have reads back as one of the next month.
    if year > 0 and civil_date(number) != date:
        return None
    return number * _DAY_S + second


def _second_of_day(text: Span[UInt8, _]) -> Int:
    """Reads `08:49:37`; -1 if it is no time. A leap second is the next one."""
    if not _has(text, 2, ":") or not _has(text, 5, ":"):
        return -1
    var hour = _number(text[0:2])
    var minute = _number(text[3:5])
    var second = _number(text[6:8])
    if hour < 0 or hour > 23 or minute < 0 or minute > 59:
        return -1
    if second < 0 or second > 60:
        return -1
    return hour * 3_600 + minute * 60 + second


def _number(digits: Span[UInt8, _]) -> Int:
    var number = 0
    for digit in digits:
        if digit < 48 or digit > 57:
            return -1
        number = number * 10 + Int(digit) - 48
    return number


def _index_of(names: StaticString, name: Span[UInt8, _]) -> Int:
    var octets = names.as_bytes()
    for start in range(0, len(octets), 3):
        if octets[start : start + 3] == name:
            return start // 3
    return -1


def _is_long_day(name: Span[UInt8, _]) -> Bool:
    comptime for index in range(7):
        comptime day = _LONG_DAYS[index]
        if day.as_bytes() == name:
            return True
    return False


def _has(text: Span[UInt8, _], start: Int, part: StaticString) -> Bool:
    var end = start + part.byte_length()
    return end <= len(text) and text[start:end] == part.as_bytes()

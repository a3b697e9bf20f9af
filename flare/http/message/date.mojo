"""Dates: HTTP-date (RFC 9110 section 5.6.7), cookie dates (RFC 6265bis section 5.1.1) and timestamps (RFC 3339)."""

from flare.bytes.ascii import equals_ignore_case
from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.civil_date import (
    CivilDate,
    civil_date,
    day_number,
    write_second,
)
from flare.bytes.digits import read_digits, read_saturated, write_digits

comptime IMF_FIXDATE_LEN = 29
"""Length of an IMF-fixdate in bytes (RFC 9110 section 5.6.7)."""

comptime _DAY_NAMES = StaticString("SunMonTueWedThuFriSat")
comptime _MONTH_NAMES = StaticString("JanFebMarAprMayJunJulAugSepOctNovDec")


def append_imf_fixdate(mut buffer: Buffer, unix_s: Int):
    """Appends a date as HTTP writes it, such as `Sun, 06 Nov 1994 08:49:37
    GMT`: at least 0 and before year 10,000.

    Source: RFC 9110 section 5.6.7.
    """
    var day_number = unix_s // 86_400
    var second = unix_s - day_number * 86_400
    var date = civil_date(day_number)
    var weekday = (day_number + 4) % 7
    buffer.append(_DAY_NAMES.as_bytes().between(weekday * 3, weekday * 3 + 3))
    buffer.append_literal[", "]()
    _append_two_digits(buffer, date.day)
    buffer.append_literal[" "]()
    var month = date.month - 1
    buffer.append(_MONTH_NAMES.as_bytes().between(month * 3, month * 3 + 3))
    buffer.append_literal[" "]()
    _append_two_digits(buffer, date.year // 100)
    _append_two_digits(buffer, date.year % 100)
    buffer.append_literal[" "]()
    _append_two_digits(buffer, second // 3_600)
    buffer.append_literal[":"]()
    _append_two_digits(buffer, second % 3_600 // 60)
    buffer.append_literal[":"]()
    _append_two_digits(buffer, second % 60)
    buffer.append_literal[" GMT"]()


def _append_two_digits(mut buffer: Buffer, number: Int):
    buffer.append_octet(UInt8(48 + number // 10))
    buffer.append_octet(UInt8(48 + number % 10))


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
    """Reads a date in any of the three forms that HTTP has had, without
    whitespace around. Returns seconds since 1970-01-01 00:00:00 UTC, negative
    before; nothing if the text is no such date.

    Source: RFC 9110 section 5.6.7. Names are case-sensitive; the name of the
    day is checked to be one, not to be the right one. Years of two digits are
    at most 50 years ahead of `now_s`.
    """
    if len(text) == IMF_FIXDATE_LEN:
        return _parse_imf_fixdate(text)
    if len(text) == _ASCTIME_LEN and text.at(3) == 32:
        return _parse_asctime(text)
    return _parse_rfc850(text, now_s)


def parse_http_date_in_cache(text: Span[UInt8, _], now_s: Int) -> Optional[Int]:
    """Reads a date as `parse_http_date` does, whatever the case of its names.

    Source: RFC 9111 section 4.2: a cache should match them so.
    """
    var found = parse_http_date(text, now_s)
    if found or len(text) > _DATE_LEN_MAX:
        return found
    var named = List[UInt8](capacity=len(text))
    var is_within = False
    for octet in text:
        var lower = octet | 32
        var is_letter = lower >= UInt8(ord("a")) and lower <= UInt8(ord("z"))
        if is_letter:
            named.append(lower if is_within else lower & ~UInt8(32))
        else:
            named.append(octet)
        is_within = is_letter
    var end = len(named) - 3
    if end > 0 and Span(named).after(end) == "Gmt".as_bytes():
        named.shrink(end)
        named.extend("GMT".as_bytes())
    return parse_http_date(named, now_s)


comptime _DATE_LEN_MAX = 33
# `Wednesday, 06-Nov-94 08:49:37 GMT`.

comptime _DELAY_S_MAX = 999_999_999


def parse_retry_after(text: Span[UInt8, _], now_s: Int) -> Int:
    """Reads a Retry-After field as seconds from now; -1 if it is none.

    Source: RFC 9110 section 10.2.3: seconds, or a date. A date that is over
    means now; so long a delay that nobody waits for it is the longest one.
    """
    var seconds = read_saturated(text, _DELAY_S_MAX)
    if seconds >= 0:
        return seconds
    var date = parse_http_date(text, now_s)
    if not date:
        return -1
    return min(max(date.value() - now_s, 0), _DELAY_S_MAX)


def _parse_imf_fixdate(text: Span[UInt8, _]) -> Optional[Int]:
    """Reads `Sun, 06 Nov 1994 08:49:37 GMT`."""
    if _index_of(_DAY_NAMES, text.before(3)) < 0 or not _has(text, 3, ", "):
        return None
    if not _has(text, 7, " ") or not _has(text, 11, " "):
        return None
    if not _has(text, 16, " ") or not _has(text, 25, " GMT"):
        return None
    return _moment(
        _number(text.between(12, 16)),
        _index_of(_MONTH_NAMES, text.between(8, 11)),
        _number(text.between(5, 7)),
        _second_of_day(text.between(17, 25)),
    )


def _parse_asctime(text: Span[UInt8, _]) -> Optional[Int]:
    """Reads `Sun Nov  6 08:49:37 1994`."""
    if _index_of(_DAY_NAMES, text.before(3)) < 0:
        return None
    if not _has(text, 7, " ") or not _has(text, 10, " "):
        return None
    if not _has(text, 19, " "):
        return None
    var day = _number(
        text.between(9, 10) if text.at(8) == 32 else text.between(8, 10)
    )
    return _moment(
        _number(text.between(20, 24)),
        _index_of(_MONTH_NAMES, text.between(4, 7)),
        day,
        _second_of_day(text.between(11, 19)),
    )


def _parse_rfc850(text: Span[UInt8, _], now_s: Int) -> Optional[Int]:
    """Reads `Sunday, 06-Nov-94 08:49:37 GMT`."""
    var name_len = len(text) - _RFC850_REST_LEN
    if name_len < 6 or not _is_long_day(text.before(name_len)):
        return None
    var rest = text.after(name_len)
    if not _has(rest, 0, ", ") or not _has(rest, 4, "-"):
        return None
    if not _has(rest, 8, "-") or not _has(rest, 11, " "):
        return None
    if not _has(rest, 20, " GMT"):
        return None
    var year = _number(rest.between(9, 11))
    if year < 0:
        return None
    var year_now = civil_date(max(now_s, 0) // _DAY_S).year
    year += year_now - year_now % 100
    if year > year_now + 50:
        year -= 100
    return _moment(
        year,
        _index_of(_MONTH_NAMES, rest.between(5, 8)),
        _number(rest.between(2, 4)),
        _second_of_day(rest.between(12, 20)),
    )


def _moment(
    year: Int, month_index: Int, day: Int, second: Int
) -> Optional[Int]:
    if year < 0 or month_index < 0 or day < 1 or second < 0:
        return None
    var date = CivilDate(year, month_index + 1, day)
    var number = day_number(date)
    # A day that the month does not have reads back as one of the next month.
    if civil_date(number) != date:
        return None
    return number * _DAY_S + second


def _second_of_day(text: Span[UInt8, _]) -> Int:
    """Reads `08:49:37`; -1 if it is no time. A leap second is the next one."""
    if not _has(text, 2, ":") or not _has(text, 5, ":"):
        return -1
    var hour = _number(text.before(2))
    var minute = _number(text.between(3, 5))
    var second = _number(text.between(6, 8))
    if hour < 0 or hour > 23 or minute < 0 or minute > 59:
        return -1
    if second < 0 or second > 60:
        return -1
    return hour * 3_600 + minute * 60 + second


def _number(digits: Span[UInt8, _]) -> Int:
    return read_digits(digits, len(digits))


def _index_of(names: StaticString, name: Span[UInt8, _]) -> Int:
    var octets = names.as_bytes()
    for start in range(0, len(octets), 3):
        if octets.between(start, start + 3) == name:
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
    return end <= len(text) and text.between(start, end) == part.as_bytes()


comptime _YEAR_MIN = 1601


@fieldwise_init
struct _Digits(TrivialRegisterPassable):
    """A number and how many digits it has."""

    var number: Int
    var count: Int


struct _Found:
    """What was found of a date so far; -1 stands for nothing."""

    var second_of_day: Int
    var is_time_valid: Bool
    var day: Int
    var month: Int
    var year: Int

    def __init__(out self):
        self.second_of_day = -1
        self.is_time_valid = True
        self.day = -1
        self.month = -1
        self.year = -1

    def note(mut self, token: Span[UInt8, _]):
        """Takes a token for the first part that it can be and that lacks."""
        if self.second_of_day < 0 and self._note_time(token):
            return
        var digits = _leading_digits(token)
        if self.day < 0 and digits.count >= 1 and digits.count <= 2:
            self.day = digits.number
            return
        if self.month < 0:
            self.month = _month(token)
            if self.month > 0:
                return
        if self.year < 0 and digits.count >= 2 and digits.count <= 4:
            self.year = digits.number
            if self.year < 70:
                self.year += 2000
            elif self.year < 100:
                self.year += 1900

    def _note_time(mut self, token: Span[UInt8, _]) -> Bool:
        """Reads `hh:mm:ss`, each with one or two digits."""
        var parts = Array[Int, 3](fill=0)
        var start = 0
        for index in range(3):
            var digits = _leading_digits(token.after(start))
            if digits.count < 1 or digits.count > 2:
                return False
            start += digits.count
            parts.at(index) = digits.number
            if index < 2:
                if start >= len(token) or token.at(start) != 58:
                    return False
                start += 1
        self.is_time_valid = parts[0] < 24 and parts[1] < 60 and parts[2] < 60
        self.second_of_day = parts[0] * 3_600 + parts[1] * 60 + parts[2]
        return True


def parse_cookie_date(octets: Span[UInt8, _]) -> Optional[Int]:
    """Reads a date as browsers do, in any order and with anything around it.
    Returns seconds since 1970-01-01 00:00:00 UTC, negative before; nothing if
    it is no date.

    Source: RFC 6265 section 5.1.1. Time zones are ignored, all dates are UTC.
    """
    var found = _Found()
    var start = 0
    while start < len(octets):
        var end = start
        while end < len(octets) and not _is_delimiter(octets.at(end)):
            end += 1
        if end > start:
            found.note(octets.between(start, end))
        start = end + 1
    if found.second_of_day < 0 or not found.is_time_valid:
        return None
    if found.month < 1 or found.year < _YEAR_MIN:
        return None
    if found.day < 1 or found.day > 31:
        return None
    return _moment(found.year, found.month - 1, found.day, found.second_of_day)


def _is_delimiter(octet: UInt8) -> Bool:
    if octet == 9 or (octet >= 0x20 and octet <= 0x2F):
        return True
    if octet >= 0x3B and octet <= 0x40:
        return True
    if octet >= 0x5B and octet <= 0x60:
        return True
    return octet >= 0x7B and octet <= 0x7E


def _leading_digits(octets: Span[UInt8, _]) -> _Digits:
    """Reads the digits at the start, up to five: more are never needed."""
    var number = 0
    var count = 0
    while count < len(octets) and count < 5:
        var octet = octets.at(count)
        if octet < 48 or octet > 57:
            break
        number = number * 10 + Int(octet - 48)
        count += 1
    return _Digits(number, count)


def _month(token: Span[UInt8, _]) -> Int:
    """Finds the month that a token begins with; -1 if with none."""
    if len(token) < 3:
        return -1
    var months = _MONTH_NAMES.as_bytes()
    for month in range(12):
        if equals_ignore_case(
            token.before(3), months.between(month * 3, month * 3 + 3)
        ):
            return month + 1
    return -1


def write_timestamp(unix_ms: Int, mut writer: Some[Writer]):
    """Writes a moment, such as `1994-11-06T08:49:37.123Z`: at least 0 and
    before year 10,000.

    Source: RFC 3339 section 5.6.
    """
    write_second(unix_ms // 1_000, writer)
    writer.write(".")
    write_digits(unix_ms % 1_000, 3, writer)
    writer.write("Z")

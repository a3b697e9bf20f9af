"""Dates in cookies, which have been written in every way there is."""

from flare.bytes.ascii import ascii_lower
from flare.http.message.date import CivilDate, civil_date, day_number

comptime _MONTHS = StaticString("janfebmaraprmayjunjulaugsepoctnovdec")
comptime _YEAR_MIN = 1601
comptime _SECONDS_A_DAY = 86_400


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
            var digits = _leading_digits(token[start:])
            if digits.count < 1 or digits.count > 2:
                return False
            start += digits.count
            parts[index] = digits.number
            if index < 2:
                if start >= len(token) or token[start] != 58:
                    return False
                start += 1
        self.is_time_valid = parts[0] < 24 and parts[1] < 60 and parts[2] < 60
        self.second_of_day = parts[0] * 3_600 + parts[1] * 60 + parts[2]
        return True


def parse_cookie_date(octets: Span[UInt8, _]) -> Optional[Int]:
    """Reads a date as browsers do, in any order and with anything around it.

    Source: RFC 6265 section 5.1.1. Time zones are ignored, all dates are UTC.

    Args:
        octets: The value of an Expires attribute.

    Returns:
        Seconds since 1970-01-01 00:00:00 UTC, negative before; nothing if it is
        no date.
    """
    var found = _Found()
    var start = 0
    while start < len(octets):
        var end = start
        while end < len(octets) and not _is_delimiter(octets[end]):
            end += 1
        if end > start:
            found.note(octets[start:end])
        start = end + 1
    if found.second_of_day < 0 or not found.is_time_valid:
        return None
    if found.month < 1 or found.year < _YEAR_MIN:
        return None
    if found.day < 1 or found.day > 31:
        return None
    var date = CivilDate(found.year, found.month, found.day)
    var number = day_number(date)
    # The 31st of a shorter month is no day.
    if civil_date(number) != date:
        return None
    return number * _SECONDS_A_DAY + found.second_of_day


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
        var octet = octets[count]
        if octet < 48 or octet > 57:
            break
        number = number * 10 + Int(octet - 48)
        count += 1
    return _Digits(number, count)


def _month(token: Span[UInt8, _]) -> Int:
    """Finds the month that a token begins with; -1 if with none."""
    if len(token) < 3:
        return -1
    var months = _MONTHS.as_bytes()
    for month in range(12):
        var is_same = True
        for index in range(3):
            if ascii_lower(token[index]) != months[month * 3 + index]:
                is_same = False
        if is_same:
            return month + 1
    return -1

"""The date format of HTTP."""

from flare.bytes.buffer import Buffer

comptime IMF_FIXDATE_LEN = 29
"""Length of an IMF-fixdate in bytes (RFC 9110 section 5.6.7)."""

comptime _DAY_NAMES = StaticString("SunMonTueWedThuFriSat")
comptime _MONTH_NAMES = StaticString("JanFebMarAprMayJunJulAugSepOctNovDec")


@fieldwise_init
struct CivilDate(Equatable, ImplicitlyCopyable):
    """A day of the Gregorian calendar."""

    var year: Int
    """The year, all digits."""
    var month: Int
    """The month, 1 to 12."""
    var day: Int
    """The day of the month, 1 to 31."""


def civil_date(day_number: Int) -> CivilDate:
    """Finds the calendar day of a day number.

    Years are counted from March here, so that the leap day is the last day of
    its year; 146,097 days are 400 years.

    Args:
        day_number: Days since 1970-01-01, not before year 0.

    Returns:
        The day.
    """
    var days = day_number + 719_468
    var era = days // 146_097
    var day_of_era = days - era * 146_097
    var year_of_era = (
        day_of_era
        - day_of_era // 1_460
        + day_of_era // 36_524
        - day_of_era // 146_096
    ) // 365
    var day_of_year = day_of_era - (
        365 * year_of_era + year_of_era // 4 - year_of_era // 100
    )
    var march_month = (5 * day_of_year + 2) // 153
    var day = day_of_year - (153 * march_month + 2) // 5 + 1
    var month = march_month + 3 if march_month < 10 else march_month - 9
    var year = year_of_era + era * 400 + (1 if month <= 2 else 0)
    return CivilDate(year, month, day)


def day_number(date: CivilDate) -> Int:
    """Finds the day number of a calendar day; undoes `civil_date`.

    Args:
        date: The day, not before year 0; days beyond the month's last are those
            of the next month.

    Returns:
        Days since 1970-01-01.
    """
    var year = date.year if date.month > 2 else date.year - 1
    var era = year // 400
    var year_of_era = year - era * 400
    var march_month = date.month - 3 if date.month > 2 else date.month + 9
    var day_of_year = (153 * march_month + 2) // 5 + date.day - 1
    var day_of_era = (
        365 * year_of_era + year_of_era // 4 - year_of_era // 100 + day_of_year
    )
    return era * 146_097 + day_of_era - 719_468


def append_imf_fixdate(mut buffer: Buffer, unix_s: Int):
    """Appends a date as HTTP writes it, such as `Sun, 06 Nov 1994 08:49:37 GMT`.

    Source: RFC 9110 section 5.6.7.

    Args:
        buffer: Where to.
        unix_s: Seconds since 1970-01-01 00:00:00 UTC, at least 0 and before
            year 10,000.
    """
    var day_number = unix_s // 86_400
    var second = unix_s - day_number * 86_400
    var date = civil_date(day_number)
    var weekday = (day_number + 4) % 7
    buffer.append(_DAY_NAMES.as_bytes()[weekday * 3 : weekday * 3 + 3])
    buffer.append_literal[", "]()
    _append_two_digits(buffer, date.day)
    buffer.append_literal[" "]()
    var month = date.month - 1
    buffer.append(_MONTH_NAMES.as_bytes()[month * 3 : month * 3 + 3])
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

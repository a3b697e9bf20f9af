"""Days of the Gregorian calendar, and moments as RFC 3339 writes them."""

from flare.bytes.digits import write_digits


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
    """Finds the calendar day of days since 1970-01-01, not before year 0.

    Years are counted from March here, so that the leap day is the last day of
    its year; 146,097 days are 400 years.
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
    """Finds the days since 1970-01-01 of a calendar day, not before year 0;
    undoes `civil_date`. Days beyond the month's last are those of the next
    month."""
    var year = date.year if date.month > 2 else date.year - 1
    var era = year // 400
    var year_of_era = year - era * 400
    var march_month = date.month - 3 if date.month > 2 else date.month + 9
    var day_of_year = (153 * march_month + 2) // 5 + date.day - 1
    var day_of_era = (
        365 * year_of_era + year_of_era // 4 - year_of_era // 100 + day_of_year
    )
    return era * 146_097 + day_of_era - 719_468


def write_second(unix_s: Int, mut writer: Some[Writer]):
    """Writes a moment of UTC, such as `1994-11-06T08:49:37`: not before year 0,
    and before year 10,000.

    Source: RFC 3339 section 5.6, without fraction and zone.
    """
    var day = unix_s // 86_400
    var date = civil_date(day)
    var second = unix_s - day * 86_400
    write_digits(date.year, 4, writer)
    writer.write("-")
    write_digits(date.month, 2, writer)
    writer.write("-")
    write_digits(date.day, 2, writer)
    writer.write("T")
    write_digits(second // 3_600, 2, writer)
    writer.write(":")
    write_digits(second % 3_600 // 60, 2, writer)
    writer.write(":")
    write_digits(second % 60, 2, writer)

"""Dates as logs write them."""

from flare.http.message.date import civil_date


def write_timestamp(unix_ms: Int, mut writer: Some[Writer]):
    """Writes a moment, such as `1994-11-06T08:49:37.123Z`.

    Source: RFC 3339 section 5.6.

    Args:
        unix_ms: Milliseconds since 1970-01-01 00:00:00 UTC, at least 0 and
            before year 10,000.
        writer: Where to.
    """
    var second = unix_ms // 1_000
    var day = second // 86_400
    var date = civil_date(day)
    second -= day * 86_400
    _write_digits(date.year, 4, writer)
    writer.write("-")
    _write_digits(date.month, 2, writer)
    writer.write("-")
    _write_digits(date.day, 2, writer)
    writer.write("T")
    _write_digits(second // 3_600, 2, writer)
    writer.write(":")
    _write_digits(second % 3_600 // 60, 2, writer)
    writer.write(":")
    _write_digits(second % 60, 2, writer)
    writer.write(".")
    _write_digits(unix_ms % 1_000, 3, writer)
    writer.write("Z")


def _write_digits(number: Int, count: Int, mut writer: Some[Writer]):
    var bound = 10
    for _ in range(count - 1):
        if number < bound:
            writer.write("0")
        bound *= 10
    writer.write(number)

"""Dates of cookies: HEX(date) to `ERR` or `OK YYYY-MM-DDTHH:MM:SS`."""

from flare.bytes.civil_date import civil_date
from flare.http.message.date import parse_cookie_date
from tests.vectors.hex_text import octets_of


def run_date(line: StringSpan) raises -> String:
    """Runs one case."""
    var found = parse_cookie_date(octets_of(line))
    if not found:
        return "ERR"
    var day_number = found.value() // 86_400
    var second = found.value() - day_number * 86_400
    var date = civil_date(day_number)
    var text = String("OK ", date.year, "-", _two(date.month), "-")
    text.write(_two(date.day), "T", _two(second // 3_600), ":")
    text.write(_two(second % 3_600 // 60), ":", _two(second % 60))
    return text^


def _two(number: Int) -> String:
    return String("0" if number < 10 else "", number)

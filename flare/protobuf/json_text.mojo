"""Texts within JSON: integers, times, spans of time, names of fields."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.civil_date import (
    CivilDate,
    civil_date,
    day_number,
    write_second,
)
from flare.bytes.digits import read_digits, write_digits
from flare.json.error import JsonKind
from flare.json.parser import NumberScan, scan_number
from std.memory import bitcast

comptime SECONDS_MIN = -62135596800
"""The first second of the year 1."""
comptime SECONDS_MAX = 253402300799
"""The last second of the year 9999."""
comptime DURATION_MAX = 315576000000
"""Most seconds of a span: some 10,000 years."""
comptime _DAY = 86400
comptime _DIGITS_MAX = 20
"""Most digits of a number of 64 bits."""


@fieldwise_init
struct Parts(TrivialRegisterPassable):
    """Seconds and nanoseconds of a time or a span."""

    var seconds: Int
    var nanos: Int


def parse_integer(text: StringSpan) -> Optional[Int128]:
    """Reads a whole number in the form that JSON has for numbers. Gives the
    number; nothing if it is not whole, or far beyond 64 bits."""
    var scan = scan_text(text)
    if not scan or scan.value().is_out_of_range:
        return None
    var kind = scan.value().kind
    if kind == JsonKind.INT:
        return Int128(bitcast[DType.int64](scan.value().bits))
    return _whole(text.as_bytes())


def _whole(number: Span[UInt8, _]) -> Optional[Int128]:
    """Reads a number by its digits, since a float does not have all of them."""
    var value = Int128(0)
    var digit_count = 0
    # Zeros that mean nothing unless another digit follows.
    var zero_count = 0
    var power = 0
    var has_point = False
    for index in range(Int(number.at(0) == 0x2D), len(number)):
        var octet = number.at(index)
        if octet == 0x2E:
            has_point = True
        elif octet == 0x30:
            zero_count += Int(digit_count > 0)
            power -= Int(has_point)
        elif octet - 48 <= 9:
            digit_count += zero_count + 1
            if digit_count > _DIGITS_MAX:
                return None
            for _ in range(zero_count + 1):
                value *= 10
            zero_count = 0
            value += Int128(octet - 48)
            power -= Int(has_point)
        else:
            power += _exponent(number.after(index + 1))
            break
    power += zero_count
    if digit_count == 0:
        return Int128(0)
    if power < 0 or digit_count + power > _DIGITS_MAX:
        return None
    for _ in range(power):
        value *= 10
    return -value if number.at(0) == 0x2D else value


def _exponent(text: Span[UInt8, _]) -> Int:
    """Reads what stands after `e`; beyond a thousand million it makes no
    difference.
    """
    var exponent = 0
    for index in range(Int(text.at(0) - 48 > 9), len(text)):
        exponent = min(exponent * 10 + Int(text.at(index)) - 48, 1_000_000_000)
    return -exponent if text.at(0) == 0x2D else exponent


def scan_text(text: StringSpan) -> Optional[NumberScan]:
    """Reads a text that is a number of RFC 8259 and nothing else."""
    var octets = text.as_bytes()
    if len(octets) == 0 or (octets.at(0) != 0x2D and octets.at(0) - 48 > 9):
        return None
    # SAFETY: a terminated copy, as the scan asks for.
    var copy = Buffer(len(octets))
    copy.append(octets)
    _ = copy.terminate()
    var scan = scan_number(copy.unsafe_base(), 0)
    var length = len(copy)
    if scan.kind == JsonKind.NULL or scan.end != length:
        return None
    return scan


def _digits(text: Span[UInt8, _], start: Int, count: Int) -> Int:
    """Reads so many digits; -1 if there are not."""
    return read_digits(text.between(start, start + count), count)


def _fraction(text: Span[UInt8, _], start: Int) -> Parts:
    """Reads a point and up to nine digits, if a point is there. Gives where
    they end, -1 if they are wrong; and the nanoseconds."""
    if start >= len(text) or text[start] != 46:
        return Parts(start, 0)
    var at = start + 1
    var nanos = 0
    while at < len(text) and text.at(at) - 48 <= 9:
        nanos = nanos * 10 + Int(text.at(at)) - 48
        at += 1
        if at - start > 10:
            return Parts(-1, 0)
    if at == start + 1:
        return Parts(-1, 0)
    for _ in range(10 - (at - start)):
        nanos *= 10
    return Parts(at, nanos)


def parse_duration(text: StringSpan) -> Optional[Parts]:
    """Reads seconds such as `-1.5s`."""
    var octets = text.as_bytes()
    var is_negative = len(octets) > 0 and octets.at(0) == 0x2D
    var at = Int(is_negative)
    var seconds = 0
    while (
        at < len(octets) and octets.at(at) - 48 <= 9 and seconds <= DURATION_MAX
    ):
        seconds = seconds * 10 + Int(octets.at(at)) - 48
        at += 1
    if at == Int(is_negative) or seconds > DURATION_MAX:
        return None
    var rest = _fraction(octets, at)
    if rest.seconds != len(octets) - 1 or octets.at(rest.seconds) != 0x73:
        return None
    if is_negative:
        return Parts(-seconds, -rest.nanos)
    return Parts(seconds, rest.nanos)


def parse_timestamp(text: StringSpan) -> Optional[Parts]:
    """Reads a time of RFC 3339, in any zone."""
    var octets = text.as_bytes()
    if len(octets) < 20:
        return None
    var year = _digits(octets, 0, 4)
    var month = _digits(octets, 5, 2)
    var day = _digits(octets, 8, 2)
    var hour = _digits(octets, 11, 2)
    var minute = _digits(octets, 14, 2)
    var second = _digits(octets, 17, 2)
    if octets.at(4) != 45 or octets.at(7) != 45 or octets.at(10) != 0x54:
        return None
    if octets.at(13) != 58 or octets.at(16) != 58:
        return None
    var date = CivilDate(year, month, day)
    var days = day_number(date)
    # What the calendar does not have reads back as another day.
    if year < 1 or civil_date(days) != date or hour < 0 or hour > 23:
        return None
    if minute < 0 or minute > 59 or second < 0 or second > 59:
        return None
    var rest = _fraction(octets, 19)
    if rest.seconds < 0:
        return None
    var zone = _zone(octets, rest.seconds)
    if not zone:
        return None
    var seconds = (
        days * _DAY + hour * 3600 + minute * 60 + second - zone.value()
    )
    if seconds < SECONDS_MIN or seconds > SECONDS_MAX:
        return None
    return Parts(seconds, rest.nanos)


def _zone(text: Span[UInt8, _], start: Int) -> Optional[Int]:
    """Reads `Z`, or how many seconds a zone is before it."""
    if len(text) == start + 1 and text.at(start) == 0x5A:
        return 0
    if len(text) != start + 6 or text.at(start + 3) != 58:
        return None
    var hours = _digits(text, start + 1, 2)
    var minutes = _digits(text, start + 4, 2)
    if hours < 0 or hours > 23 or minutes < 0 or minutes > 59:
        return None
    if text.at(start) == 43:
        return hours * 3600 + minutes * 60
    if text.at(start) == 45:
        return -(hours * 3600 + minutes * 60)
    return None


def timestamp_text(parts: Parts) -> String:
    """Writes a time of RFC 3339; the seconds are within the bounds."""
    var text = String()
    write_second(parts.seconds, text)
    _put_fraction(text, parts.nanos)
    text += "Z"
    return text^


def duration_text(parts: Parts) -> String:
    """Writes a span of time; both parts have one sign."""
    var text = String()
    if parts.seconds < 0 or parts.nanos < 0:
        text += "-"
    text.write(abs(parts.seconds))
    _put_fraction(text, abs(parts.nanos))
    text += "s"
    return text^


def _put_fraction(mut text: String, nanos: Int):
    """Writes nothing, or a point with 3, 6 or 9 digits."""
    if nanos == 0:
        return
    text += "."
    if nanos % 1_000_000 == 0:
        write_digits(nanos // 1_000_000, 3, text)
    elif nanos % 1_000 == 0:
        write_digits(nanos // 1_000, 6, text)
    else:
        write_digits(nanos, 9, text)


def camel_path(path: StringSpan) -> Optional[String]:
    """Writes a path of a field mask as JSON has it. Gives the path; nothing if
    it would not be read back as it was."""
    var text = List[UInt8]()
    var after_line = False
    for octet in path.as_bytes():
        if octet >= 65 and octet <= 90:
            return None
        if after_line:
            if octet < 97 or octet > 122:
                return None
            text.append(octet - 32)
            after_line = False
        elif octet == 95:
            after_line = True
        else:
            text.append(octet)
    if after_line:
        return None
    return String(StringSpan(unsafe_from_utf8=text))


def snake_path(path: StringSpan) -> Optional[String]:
    """Reads a path of a field mask from JSON; nothing if it has a `_`."""
    var text = List[UInt8]()
    for octet in path.as_bytes():
        if octet == 95:
            return None
        if octet >= 65 and octet <= 90:
            text.append(95)
            text.append(octet + 32)
        else:
            text.append(octet)
    return String(StringSpan(unsafe_from_utf8=text))

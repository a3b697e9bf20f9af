"""Floats as text that is read back as the same float."""

from std.memory import bitcast

comptime _EXACT_MAX = Float64(1 << 53)


def float_text(number: Float64) -> String:
    """Writes a float as the standard library does, unless that text would be
    read back as another one.

    The standard library sometimes writes a neighbour of a float from 2^53 to
    below 2^106. Such a float is an integer, which is then written in full, with
    one place.
    """
    var text = String(number)
    var magnitude = abs(number)
    if magnitude < _EXACT_MAX or magnitude >= _EXACT_MAX * _EXACT_MAX:
        return text^
    if _is_read_back(text, number):
        return text^
    return String("-" if number < 0 else "", _integer_of(magnitude), ".0")


def _is_read_back(text: String, number: Float64) -> Bool:
    try:
        return atof(text) == number
    except:
        return False


def _integer_of(number: Float64) -> UInt128:
    """Converts a float from 2^53 up to below 2^106 without loss."""
    var bits = bitcast[DType.uint64](number)
    var mantissa = bits & ((UInt64(1) << 52) - 1) | (UInt64(1) << 52)
    return UInt128(mantissa) << UInt128((bits >> 52) - 1075)

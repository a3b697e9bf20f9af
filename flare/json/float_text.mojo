"""The text of a float, from which the same float is read back.

Most floats in JSON are short decimals; these are found by trial, at a fraction
of the cost of the standard library's search for the shortest text, which does
the rest.
"""

from flare.bytes.buffer import Buffer
from std.builtin.globals import global_constant
from std.math import floor
from std.memory import bitcast

comptime _PLACES_MAX = 6
comptime _EXACT_MAX = Float64(1 << 53)
comptime _POWERS: Array[Float64, _PLACES_MAX + 1] = [
    1,
    1e1,
    1e2,
    1e3,
    1e4,
    1e5,
    1e6,
]


def write_float(mut out: Buffer, number: Float64):
    """Writes a float as a number of RFC 8259 section 6.

    Args:
        out: Where to.
        number: A finite float.
    """
    var magnitude = abs(number)
    if bitcast[DType.uint64](number) >> 63 != 0:
        out.append_octet(45)
    if magnitude < 1e9:
        for places in range(_PLACES_MAX + 1):
            var power = global_constant[_POWERS]()[places]
            var scaled = floor(magnitude * power + 0.5)
            # Both sides are exact, so the quotient is what a reader computes.
            if scaled / power == magnitude:
                _write_decimal(out, Int(scaled), Int(power), places)
                return
    # The standard library's text is sometimes read back as the neighbour when
    # the magnitude is in this range; such a float is an integer, which is then
    # written in full.
    if magnitude >= _EXACT_MAX and magnitude < _EXACT_MAX * _EXACT_MAX:
        if not _is_read_back(magnitude):
            out.write(_integer_of(magnitude), ".0")
            return
    out.write(magnitude)


def _write_decimal(mut out: Buffer, scaled: Int, power: Int, places: Int):
    """Writes `scaled / power`, with at least one place."""
    var whole = scaled // power
    out.append_decimal(whole)
    out.append_octet(46)
    var rest = scaled - whole * power
    if places == 0:
        out.append_octet(48)
        return
    var place = power // 10
    while place > 1 and rest < place:
        out.append_octet(48)
        place //= 10
    out.append_decimal(rest)


def _is_read_back(number: Float64) -> Bool:
    try:
        return atof(String(number)) == number
    except:
        return False


def _integer_of(number: Float64) -> UInt128:
    """Converts a float from 2^53 up to below 2^106 without loss."""
    var bits = bitcast[DType.uint64](number)
    var mantissa = bits & ((UInt64(1) << 52) - 1) | (UInt64(1) << 52)
    return UInt128(mantissa) << UInt128((bits >> 52) - 1075)

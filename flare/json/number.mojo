"""Numbers of RFC 8259 section 6.

An integer that fits 64 bits stays exact. Any other number becomes the nearest
64-bit float: by one exact operation where digits and exponent are small, else
by the standard library's conversion.
"""

from flare.bytes.scan import BytePtr
from flare.json.kind import JsonKind
from std.builtin.globals import global_constant
from std.memory import bitcast

comptime EXACT_MANTISSA_MAX = UInt64(1) << 53
"""Largest integer up to which every integer is a 64-bit float."""

comptime EXACT_POWER_MAX = 22
"""Largest power of ten that is a 64-bit float without rounding."""

comptime _EXPONENT_MAX = 99_999
comptime _DIGIT_COUNT_MAX = 19
comptime _INT_MAX = UInt64(0x7FFFFFFFFFFFFFFF)


def _powers_of_ten() -> Array[Float64, EXACT_POWER_MAX + 1]:
    var powers = Array[Float64, EXACT_POWER_MAX + 1](fill=1.0)
    for index in range(1, EXACT_POWER_MAX + 1):
        powers[index] = powers[index - 1] * 10.0
    return powers^


comptime _POWERS = _powers_of_ten()


@fieldwise_init
struct NumberScan(TrivialRegisterPassable):
    """A number read from a text, or where it breaks a rule."""

    var end: Int
    """Offset behind the number, or of the octet that breaks the grammar."""
    var kind: JsonKind
    """INT or FLOAT; NULL if there is no number."""
    var bits: UInt64
    """The value's bits, of a signed 64-bit integer or a float."""
    var is_out_of_range: Bool
    """True if the grammar is kept and the value is beyond the range."""

    @staticmethod
    @always_inline
    def broken(offset: Int) -> Self:
        """Reports an octet where a digit should be.

        Args:
            offset: Where it is.

        Returns:
            A scan without a number.
        """
        return Self(offset, JsonKind.NULL, 0, False)


@always_inline
def scan_number(base: BytePtr, start: Int) -> NumberScan:
    """Reads the number at the start of a text.

    Source: RFC 8259 section 6.

    Args:
        base: Start of the memory; an octet that belongs to no number must
            follow the text.
        start: Offset of the first octet, a digit or a minus sign.

    Returns:
        The number; octets behind it are left unread.
    """
    # SAFETY: every loop stops at an octet that is no digit, which the caller
    # promises.
    var is_negative = base[unsafe_offset=start] == 0x2D
    var first = start + Int(is_negative)
    var digit = base[unsafe_offset=first] - 48
    if digit > 9:
        return NumberScan.broken(first)
    var mantissa = UInt64(digit)
    var at = first + 1
    if digit != 0:
        while True:
            digit = base[unsafe_offset=at] - 48
            if digit > 9:
                break
            mantissa = mantissa * 10 + UInt64(digit)
            at += 1
    var octet = base[unsafe_offset=at]
    if octet == 0x2E or octet | 0x20 == 0x65:
        return _scan_float(base, start, at, mantissa)
    var digit_count = at - first
    if digit_count > _DIGIT_COUNT_MAX or mantissa > _INT_MAX:
        if not (
            is_negative
            and digit_count == _DIGIT_COUNT_MAX
            and mantissa == _INT_MAX + 1
        ):
            return _convert(base, start, at)
    if is_negative:
        mantissa = ~mantissa + 1
    return NumberScan(at, JsonKind.INT, mantissa, False)


@no_inline
def _scan_float(
    base: BytePtr, start: Int, point: Int, whole: UInt64
) -> NumberScan:
    """Reads on from the octet behind the integer part, a point or an `e`."""
    # SAFETY: as in `scan_number`.
    var is_negative = base[unsafe_offset=start] == 0x2D
    var mantissa = whole
    var digit_count = point - start - Int(is_negative)
    var at = point
    var exponent = 0
    if base[unsafe_offset=at] == 0x2E:
        at += 1
        var fraction = at
        while True:
            var digit = base[unsafe_offset=at] - 48
            if digit > 9:
                break
            mantissa = mantissa * 10 + UInt64(digit)
            at += 1
        if at == fraction:
            return NumberScan.broken(at)
        exponent = fraction - at
        digit_count += at - fraction
    if base[unsafe_offset=at] | 0x20 == 0x65:
        at += 1
        var sign = base[unsafe_offset=at]
        at += Int(sign == 0x2B or sign == 0x2D)
        var digits = at
        var power = 0
        while True:
            var digit = base[unsafe_offset=at] - 48
            if digit > 9:
                break
            power = min(power * 10 + Int(digit), _EXPONENT_MAX)
            at += 1
        if at == digits:
            return NumberScan.broken(at)
        exponent += -power if sign == 0x2D else power
    if digit_count > _DIGIT_COUNT_MAX or mantissa > EXACT_MANTISSA_MAX:
        return _convert(base, start, at)
    if exponent < -EXACT_POWER_MAX or exponent > EXACT_POWER_MAX:
        return _convert(base, start, at)
    # Both operands are exact, so the result is rounded once, as it must be.
    var value = Float64(mantissa)
    if exponent < 0:
        value /= global_constant[_POWERS]()[-exponent]
    else:
        value *= global_constant[_POWERS]()[exponent]
    if is_negative:
        value = -value
    return NumberScan(at, JsonKind.FLOAT, bitcast[DType.uint64](value), False)


@no_inline
def _convert(base: BytePtr, start: Int, end: Int) -> NumberScan:
    """Converts a number whose grammar is known to be right."""
    # SAFETY: the octets from `start` to `end` were read before.
    var digits = Span[UInt8, MutUntrackedOrigin](
        unsafe_ptr=base.unsafe_offset(start), length=end - start
    )
    var value: Float64
    try:
        value = atof(StringSpan(unsafe_from_utf8=digits))
    except:
        return NumberScan(end, JsonKind.FLOAT, 0, True)
    var bits = bitcast[DType.uint64](value)
    var is_infinite = bits & _INT_MAX == 0x7FF0000000000000
    return NumberScan(end, JsonKind.FLOAT, bits, is_infinite)

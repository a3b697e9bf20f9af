"""Hexadecimal digits."""


@always_inline
def hex_digit_value(octet: UInt8) -> Int:
    """Reads one hex digit.

    Args:
        octet: Any octet.

    Returns:
        0 to 15, or -1 if the octet is no hex digit.
    """
    if octet >= 48 and octet <= 57:
        return Int(octet) - 48
    var folded = octet | 0x20
    if folded >= 97 and folded <= 102:
        return Int(folded) - 87
    return -1


def write_hex_octet(octet: UInt8, mut writer: Some[Writer]):
    """Writes an octet as two lower-case hex digits.

    Args:
        octet: The octet.
        writer: Where to.
    """
    comptime DIGITS = StaticString("0123456789abcdef")
    var high = Int(octet >> 4)
    var low = Int(octet & 15)
    writer.write(DIGITS[byte = high : high + 1], DIGITS[byte = low : low + 1])

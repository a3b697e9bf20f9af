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

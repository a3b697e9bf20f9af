"""Hexadecimal, the form in which the vectors hold octets."""

from flare.bytes.ascii import hex_digit_value


def octets_of(hex: StringSpan) raises -> List[UInt8]:
    """Decodes hex digits; `-` stands for nothing at all."""
    if hex == "-":
        return List[UInt8]()
    var digits = hex.as_bytes()
    if len(digits) % 2 != 0:
        raise Error("an odd number of hex digits")
    var octets = List[UInt8](capacity=len(digits) // 2)
    for index in range(0, len(digits), 2):
        var high = hex_digit_value(digits[index])
        var low = hex_digit_value(digits[index + 1])
        if high < 0 or low < 0:
            raise Error("not a hex digit")
        octets.append(UInt8(high * 16 + low))
    return octets^


def hex_of(octets: Span[UInt8, _]) -> String:
    """Encodes octets, and nothing at all as `-`."""
    comptime DIGITS = StaticString("0123456789abcdef")
    if len(octets) == 0:
        return "-"
    var hex = String()
    for octet in octets:
        var high = Int(octet >> 4)
        var low = Int(octet & 15)
        hex.write(DIGITS[byte = high : high + 1], DIGITS[byte = low : low + 1])
    return hex^

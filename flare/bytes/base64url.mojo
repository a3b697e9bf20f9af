"""Base64 for URLs and cookies (RFC 4648 section 5), without padding."""

from flare.bytes.base64 import base64_digit_value

comptime _DIGITS = StaticString(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
)


def base64url_encode(octets: Span[UInt8, _], mut encoded: List[UInt8]):
    """Appends octets in digits that need no quoting anywhere.

    Args:
        octets: Any octets.
        encoded: Where to.
    """
    var digits = _DIGITS.as_bytes()
    for start in range(0, len(octets), 3):
        var count = min(3, len(octets) - start)
        var group = UInt32(0)
        for place in range(3):
            var octet = octets[start + place] if place < count else UInt8(0)
            group = group << 8 | UInt32(octet)
        for place in range(count + 1):
            encoded.append(digits[Int((group >> UInt32(18 - 6 * place)) & 63)])


def base64url_decode(text: Span[UInt8, _]) -> Optional[List[UInt8]]:
    """Decodes what `base64url_encode` writes, and nothing else.

    Args:
        text: The digits.

    Returns:
        The octets, or nothing: also if unused bits are set, so that no two
        texts stand for the same octets.
    """
    if len(text) % 4 == 1:
        return None
    var octets = List[UInt8](capacity=len(text) // 4 * 3 + 2)
    for start in range(0, len(text), 4):
        var count = min(4, len(text) - start)
        var group = UInt32(0)
        for place in range(4):
            var digit = 0
            if place < count:
                digit = _digit_value(text[start + place])
            if digit < 0:
                return None
            group = group << 6 | UInt32(digit)
        for place in range(count - 1):
            octets.append(UInt8((group >> UInt32(16 - 8 * place)) & 0xFF))
        if count < 4 and (group << UInt32(8 * (count - 1))) & 0xFF_FFFF != 0:
            return None
    return octets^


def _digit_value(octet: UInt8) -> Int:
    # The last two digits differ from those of base64, which are none here.
    if octet == 45:
        return 62
    if octet == 95:
        return 63
    var value = base64_digit_value(octet)
    return value if value < 62 else -1

"""Base64 and its URL-safe alphabet (RFC 4648)."""

from flare.bytes.checked import *
from flare.bytes.copy import text_of

comptime _DIGITS = StaticString(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
)
comptime _PAD: UInt8 = 61


def base64_encode(octets: Span[UInt8, _]) -> String:
    """Encodes octets: four digits for each three, padded with `=`."""
    var text = List[UInt8](capacity=(len(octets) + 2) // 3 * 4)
    for start in range(0, len(octets), 3):
        var count = min(3, len(octets) - start)
        var group = UInt32(0)
        for place in range(3):
            var octet = octets.at(start + place) if place < count else UInt8(0)
            group = group << 8 | UInt32(octet)
        for place in range(4):
            var digit = Int((group >> UInt32(18 - 6 * place)) & 63)
            text.append(
                _DIGITS.as_bytes().at(digit) if place <= count else _PAD
            )
    return text_of(text)


def base64_decode(text: Span[UInt8, _]) -> Optional[List[UInt8]]:
    """Decodes a text with its padding, strictly. Returns nothing if it is not
    what `base64_encode` writes: also for padding that is missing and for unused
    bits that are set."""
    if len(text) % 4 != 0:
        return None
    var octets = List[UInt8](capacity=len(text) // 4 * 3)
    for start in range(0, len(text), 4):
        var pad_count = 0
        var group = UInt32(0)
        for place in range(4):
            var digit = base64_digit_value(text.at(start + place))
            if digit < 0:
                var may_pad = start + 4 == len(text) and place >= 2
                if not may_pad or text.at(start + place) != _PAD:
                    return None
                pad_count += 1
                digit = 0
            elif pad_count > 0:
                return None
            group = group << 6 | UInt32(digit)
        for place in range(3):
            var octet = UInt8((group >> UInt32(16 - 8 * place)) & 0xFF)
            if place < 3 - pad_count:
                octets.append(octet)
            elif octet != 0:
                return None
    return octets^


def base64_digit_value(octet: UInt8) -> Int:
    """Reads one digit, as 0 to 63; -1 if the octet is none, or padding."""
    if octet >= 65 and octet <= 90:
        return Int(octet) - 65
    if octet >= 97 and octet <= 122:
        return Int(octet) - 71
    if octet >= 48 and octet <= 57:
        return Int(octet) + 4
    if octet == 43:
        return 62
    return 63 if octet == 47 else -1


comptime _BASE64URL_DIGITS = StaticString(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
)


def base64url_encode(octets: Span[UInt8, _], mut encoded: List[UInt8]):
    """Appends octets in digits that need no quoting anywhere."""
    var digits = _BASE64URL_DIGITS.as_bytes()
    for start in range(0, len(octets), 3):
        var count = min(3, len(octets) - start)
        var group = UInt32(0)
        for place in range(3):
            var octet = octets.at(start + place) if place < count else UInt8(0)
            group = group << 8 | UInt32(octet)
        for place in range(count + 1):
            encoded.append(
                digits.at(Int((group >> UInt32(18 - 6 * place)) & 63))
            )


def base64url_text(octets: Span[UInt8, _]) -> String:
    """Makes a text of octets in digits that need no quoting anywhere."""
    var encoded = List[UInt8]()
    base64url_encode(octets, encoded)
    return text_of(encoded)


def base64url_decode[
    *, has_spare_bits: Bool = False
](text: Span[UInt8, _]) -> Optional[List[UInt8]]:
    """Decodes what `base64url_encode` writes, and nothing else: not with unused
    bits set, so that no two texts stand for the same octets, unless the text
    `has_spare_bits`, which are not looked at."""
    if len(text) % 4 == 1:
        return None
    var octets = List[UInt8](capacity=len(text) // 4 * 3 + 2)
    for start in range(0, len(text), 4):
        var count = min(4, len(text) - start)
        var group = UInt32(0)
        for place in range(4):
            var digit = 0
            if place < count:
                digit = _digit_value(text.at(start + place))
            if digit < 0:
                return None
            group = group << 6 | UInt32(digit)
        for place in range(count - 1):
            octets.append(UInt8((group >> UInt32(16 - 8 * place)) & 0xFF))
        comptime if not has_spare_bits:
            var unused = group << UInt32(8 * (count - 1))
            if count < 4 and unused & 0xFF_FFFF != 0:
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

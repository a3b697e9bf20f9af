"""UTF-8 validity (RFC 3629)."""

from flare.bytes.checked import *
from std.memory import pack_bits

comptime _BLOCK = 32


@fieldwise_init
struct CodePoint(TrivialRegisterPassable):

    var value: Int
    """The code point; -1 if the octets are not UTF-8."""
    var octet_count: Int
    """How many octets it takes, 1 to 4."""


def is_valid_utf8(octets: Span[UInt8, _]) -> Bool:
    """Tells whether octets are UTF-8 from start to end.

    Source: RFC 3629 section 4: no surrogates, nothing above U+10FFFF, no
    longer form than needed, nothing cut off.
    """
    # SAFETY: a block is loaded only if it lies within the octets.
    var base = octets.unsafe_ptr()
    var count = len(octets)
    var index = 0
    while index < count:
        while index + _BLOCK <= count:
            var block = base.unsafe_load[width=_BLOCK](index)
            if pack_bits(block.ge(128)) != 0:
                break
            index += _BLOCK
        if index >= count:
            return True
        var stop = min(count, index + _BLOCK)
        while index < stop:
            if octets.unsafe_at(index) < 128:
                index += 1
                continue
            var code_point = decode_utf8(octets, index)
            if code_point.value < 0:
                return False
            index += code_point.octet_count
    return True


def decode_utf8(octets: Span[UInt8, _], index: Int) -> CodePoint:
    """Reads the code point that starts at an octet; its value is -1 if none
    does.

    Source: RFC 3629 section 4.
    """
    comptime INVALID = CodePoint(-1, 1)
    var first = Int(octets.at(index))
    if first < 0x80:
        return CodePoint(first, 1)
    var count = 4
    if first < 0xE0:
        count = 2
    elif first < 0xF0:
        count = 3
    # 80 to BF continue, C0 and C1 are overlong, F5 and up exceed U+10FFFF.
    if first < 0xC2 or first > 0xF4 or index + count > len(octets):
        return INVALID
    var value = first & (0x7F >> count)
    for place in range(1, count):
        var octet = Int(octets.at(index + place))
        if octet & 0xC0 != 0x80:
            return INVALID
        value = value << 6 | (octet & 0x3F)
    if count == 3 and (value < 0x800 or (value >= 0xD800 and value < 0xE000)):
        return INVALID
    if count == 4 and (value < 0x10000 or value > 0x10FFFF):
        return INVALID
    return CodePoint(value, count)


@no_inline
def lossy_text(octets: Span[UInt8, _]) -> String:
    """Copies octets as text, for messages, with U+FFFD for each octet that is
    no part of UTF-8."""
    var text = String(capacity_bytes=len(octets))
    var index = 0
    while index < len(octets):
        var code_point = decode_utf8(octets, index)
        var end = index + code_point.octet_count
        if code_point.value < 0:
            text += "\uFFFD"
        else:
            text += StringSpan(unsafe_from_utf8=octets.between(index, end))
        index = end
    return text^

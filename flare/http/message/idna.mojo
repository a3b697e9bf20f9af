"""The ASCII form of host names with other letters.

Source: Unicode Technical Standard 46, as section 3.3 of the URL Standard uses
it. Its full tables are large; this maps letters of the scripts in `_LETTERS`,
where the standard does no more than lower-case them, full-width ASCII, other
full stops and ignorable marks. Names in other scripts have to be written in
their `xn--` form, so that no name is ever taken for another one.
"""

from flare.bytes.ascii import ascii_lower
from flare.bytes.utf8 import decode_utf8
from flare.http.message.punycode import punycode_decode, punycode_encode
from std.builtin.globals import global_constant

comptime _DOT = 46
# First and last code points of what lower-casing is enough for: letters of
# Latin, Greek, Cyrillic, Armenian, Georgian, symbols, Kana, Han and Hangul.
comptime _LETTERS: Array[Int, 46] = [
    0xC0,
    0xD6,
    0xD8,
    0xF6,
    0xF8,
    0x12F,
    0x134,
    0x13E,
    0x141,
    0x148,
    0x14A,
    0x17E,
    0x388,
    0x38A,
    0x38C,
    0x38C,
    0x38E,
    0x3A1,
    0x3A3,
    0x3CE,
    0x400,
    0x45F,
    0x48A,
    0x4BF,
    0x4C1,
    0x52F,
    0x531,
    0x556,
    0x561,
    0x586,
    0x10D0,
    0x10FA,
    0x2600,
    0x27BF,
    0x3041,
    0x3096,
    0x30A1,
    0x30FA,
    0x30FC,
    0x30FC,
    0x3400,
    0x4DBF,
    0x4E00,
    0x9FFF,
    0xAC00,
    0xD7A3,
]
# First and last code points of blocks that are mapped to something else or
# are no letters at all, so that no encoded label may hold them: Latin-1
# signs, punctuation, super- and subscripts, letter-like and enclosed forms,
# surrogates and private use, compatibility forms, mathematical letters.
comptime _UNSTABLE: Array[Int, 20] = [
    0x80,
    0xB6,
    0x2000,
    0x209F,
    0x2100,
    0x218F,
    0x2460,
    0x24FF,
    0x3000,
    0x3004,
    0x3131,
    0x318F,
    0x3200,
    0x33FF,
    0xD800,
    0xFDFF,
    0xFE10,
    0xFFFF,
    0x1D400,
    0x1D7FF,
]


def domain_to_ascii(domain: Span[UInt8, _]) -> Optional[List[UInt8]]:
    """Turns a domain into lower-case ASCII labels.

    Args:
        domain: UTF-8 text, not empty.

    Returns:
        The ASCII form, or nothing if the domain has no valid one.
    """
    var ascii = List[UInt8](capacity=len(domain) + 8)
    var label = List[Int]()
    var index = 0
    while index < len(domain):
        var read = decode_utf8(domain, index)
        if read.value < 0:
            return None
        index += read.octet_count
        var mapped = _map(read.value)
        if mapped == _REFUSED:
            return None
        if mapped == _DOT:
            if not _append_label(label, ascii):
                return None
            ascii.append(_DOT)
            label.clear()
        elif mapped != _IGNORED:
            label.append(mapped)
    if not _append_label(label, ascii):
        return None
    return ascii^


comptime _REFUSED = -1
comptime _IGNORED = -2


def _map(code_point: Int) -> Int:
    """Maps one code point, or tells that it is ignored or refused."""
    if code_point < 128:
        return Int(ascii_lower(UInt8(code_point)))
    # Full-width forms of visible ASCII.
    if code_point >= 0xFF01 and code_point <= 0xFF5E:
        return Int(ascii_lower(UInt8(code_point - 0xFF01 + 33)))
    # Ideographic, full-width and half-width full stops; FF0E is above.
    if code_point == 0x3002 or code_point == 0xFF61:
        return _DOT
    # Soft hyphen, zero-width space, word joiner, byte order mark.
    if code_point in (0xAD, 0x200B, 0x2060, 0xFEFF):
        return _IGNORED
    if _is_within(global_constant[_LETTERS](), code_point):
        return _lower(code_point)
    return _REFUSED


def _is_within(ranges: Span[Int, _], code_point: Int) -> Bool:
    """Tells whether one of the ranges, given by first and last, holds it."""
    for index in range(0, len(ranges), 2):
        if code_point >= ranges[index] and code_point <= ranges[index + 1]:
            return True
    return False


def _lower(code_point: Int) -> Int:
    var folded = chr(code_point).lower()
    return decode_utf8(folded.as_bytes(), 0).value


def _append_label(label: List[Int], mut ascii: List[UInt8]) -> Bool:
    """Appends a mapped label, in Punycode if it needs it."""
    var is_ascii = True
    for code_point in label:
        is_ascii = is_ascii and code_point < 128
    var has_prefix = len(label) >= 4 and (
        label[0] == 120
        and label[1] == 110
        and label[2] == 45
        and label[3] == 45
    )
    if not is_ascii:
        ascii.extend("xn--".as_bytes())
        punycode_encode(Span(label), ascii)
        return not has_prefix
    var start = len(ascii)
    for code_point in label:
        ascii.append(UInt8(code_point))
    return not has_prefix or _is_encoded_label(Span(ascii)[start + 4 :])


def _is_encoded_label(encoded: Span[UInt8, _]) -> Bool:
    """Tells whether a label behind `xn--` is one that encoding makes."""
    var decoded = punycode_decode(encoded)
    if not decoded:
        return False
    var again = List[UInt8](capacity=len(encoded))
    var has_other = False
    for code_point in decoded.value():
        has_other = has_other or code_point >= 128
        if _is_within(global_constant[_UNSTABLE](), code_point):
            return False
        if code_point >= 128 and _lower(code_point) != code_point:
            return False
    punycode_encode(Span(decoded.value()), again)
    return has_other and Span(again) == encoded

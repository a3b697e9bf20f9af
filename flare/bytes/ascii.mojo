"""ASCII: case, hexadecimal digits, and escaping for messages."""

from flare.bytes.checked import *
from flare.bytes.compare import load_ends, load_word
from flare.bytes.copy import text_of
from std.bit import byte_swap
from std.memory import bitcast


@always_inline
def ascii_lower(octet: UInt8) -> UInt8:
    """Folds `A` to `Z`; everything else is unchanged."""
    return octet | 0x20 if octet >= 65 and octet <= 90 else octet


@always_inline
def is_scheme_octet(octet: UInt8, *, is_first: Bool = False) -> Bool:
    """Tells whether the scheme of a URI may have an octet, or begin with it (RFC
    3986 section 3.1)."""
    var letter = octet | 0x20
    if letter >= 97 and letter <= 122:
        return True
    var is_digit = octet >= 48 and octet <= 57
    var is_other = is_digit or octet == 43 or octet == 45 or octet == 46
    return is_other and not is_first


def is_lower(octets: Span[UInt8, _]) -> Bool:
    """Tells whether no octet is an ASCII capital."""
    # SAFETY: of eight octets or more the last eight lie within.
    var length = len(octets)
    var base = octets.unsafe_ptr()
    if length < 8:
        for index in range(length):
            var octet = base[unsafe_offset=index]
            if octet >= 65 and octet <= 90:
                return False
        return True
    var capitals = _capitals(load_word(base, length - 8))
    for index in range(0, length - 8, 8):
        capitals |= _capitals(load_word(base, index))
    return capitals == 0


@always_inline
def _capitals(word: UInt64) -> UInt64:
    """Sets the highest bit of each octet that is a capital."""
    comptime EACH: UInt64 = 0x0101010101010101
    # An octet's highest bit shows whether it is at least `A`, and above `Z`.
    var low = word & (EACH * 0x7F)
    return (low + EACH * 0x3F) & ~(low + EACH * 0x25) & ~word & (EACH * 0x80)


@no_inline
def lower_text(octets: Span[UInt8, _]) -> String:
    """Copies a text, which is UTF-8, with ASCII letters folded; everything else
    is unchanged."""
    var folded = List[UInt8](capacity=len(octets))
    for octet in octets:
        folded.append(ascii_lower(octet))
    return text_of(folded)


@always_inline
def equals_ignore_case(left: Span[UInt8, _], right: Span[UInt8, _]) -> Bool:
    """Compares octets without regard to the case of ASCII letters."""
    return len(left) == len(right) and _are_same_letters(left, right)


@no_inline
def _are_same_letters(left: Span[UInt8, _], right: Span[UInt8, _]) -> Bool:
    # SAFETY: both spans have the length of the first; of eight octets or more
    # the last eight lie within, and of four or more the last four.
    var length = len(left)
    var a = left.unsafe_ptr()
    var b = right.unsafe_ptr()
    if length < 4:
        for index in range(length):
            var octet = a[unsafe_offset=index]
            var other = octet ^ b[unsafe_offset=index]
            # One bit tells small letters from capitals.
            if other != 0 and (other != 32 or (octet | 32) - 97 > 25):
                return False
        return True
    if length < 8:
        return _is_same_word(load_ends(a, length), load_ends(b, length))
    var start = 0
    while start < length - 8:
        if not _is_same_word(load_word(a, start), load_word(b, start)):
            return False
        start += 8
    return _is_same_word(load_word(a, length - 8), load_word(b, length - 8))


@always_inline
def _is_same_word(left: UInt64, right: UInt64) -> Bool:
    """Compares eight octets likewise."""
    # Most are the same: names of HTTP/2 are lower-case.
    return left == right or _differ_in_case(left, right)


# Inlined, all of it would be done before it is known whether it has to be.
@no_inline
def _differ_in_case(left: UInt64, right: UInt64) -> Bool:
    """Tells whether eight octets differ in nothing but the case of letters."""
    comptime EACH: UInt64 = 0x0101010101010101
    var other = left ^ right
    if other & ~(EACH * 0x20) != 0:
        return False
    # What differs is in the bit of the case: those octets must be letters. An
    # octet's highest bit shows whether it is at least `a`, and above `z`.
    var folded = left | (EACH * 0x20)
    var low = folded & (EACH * 0x7F)
    var letters = (low + EACH * 0x1F) & ~(low + EACH * 0x05) & ~folded
    return (other << 2) & ~letters == 0


def trim_whitespace[o: ImmOrigin](octets: Span[UInt8, o]) -> Span[UInt8, o]:
    """Takes optional whitespace off both ends (RFC 9110 section 5.6.3, OWS)."""
    var start = 0
    var end = len(octets)
    while start < end and (octets.at(start) == 32 or octets.at(start) == 9):
        start += 1
    while end > start and (octets.at(end - 1) == 32 or octets.at(end - 1) == 9):
        end -= 1
    return octets.between(start, end)


@always_inline
def is_whitespace(octet: UInt8) -> Bool:
    """Tells whether an octet is a space or a tab (RFC 9110 section 5.6.3)."""
    return octet == 32 or octet == 9


def skip_whitespace(octets: Span[UInt8, _], start: Int) -> Int:
    """Finds the first octet from an offset on that is no space and no tab; the
    length if there is none."""
    var index = start
    while index < len(octets) and is_whitespace(octets.at(index)):
        index += 1
    return index


def find_octet(octets: Span[UInt8, _], octet: UInt8, start: Int = 0) -> Int:
    """Finds an octet from an offset on; the length if there is none."""
    var index = start
    while index < len(octets) and octets.at(index) != octet:
        index += 1
    return min(index, len(octets))


@always_inline
def hex_digit_value(octet: UInt8) -> Int:
    """Reads one hex digit, as 0 to 15; -1 if the octet is none."""
    if octet >= 48 and octet <= 57:
        return Int(octet) - 48
    var folded = octet | 0x20
    if folded >= 97 and folded <= 102:
        return Int(folded) - 87
    return -1


@no_inline
def hex_digit_text(digit: Int) -> StaticString:
    """Writes a number from 0 to 15 as a lower-case hex digit."""
    comptime DIGITS = StaticString("0123456789abcdef")
    return StaticString(
        unsafe_from_utf8=DIGITS.as_bytes().between(digit, digit + 1)
    )


def write_hex_octet(octet: UInt8, mut writer: Some[Writer]):
    """Writes an octet as two lower-case hex digits."""
    writer.write_string(hex_digit_text(Int(octet >> 4)))
    writer.write_string(hex_digit_text(Int(octet & 15)))


def hex_text(octets: Span[UInt8, _]) -> String:
    """Writes octets as lower-case hex, two digits for each."""
    var text = String(capacity_bytes=2 * len(octets))
    for octet in octets:
        write_hex_octet(octet, text)
    return text^


comptime ESCAPED_LEN_MAX = 200
"""Longest run of peer octets that a message repeats, in bytes.

A log line is for finding the request, not for keeping a copy of it.
"""


@always_inline
def hex_digits(number: UInt64) -> SIMD[DType.uint8, 16]:
    """Writes a number as lower-case hex, all sixteen digits at once, the most
    significant first."""
    var octets = bitcast[DType.uint8, 8](byte_swap(number))
    var nibbles = (octets >> 4).interleave(octets & 15)
    var letters = nibbles.gt(9).select(
        SIMD[DType.uint8, 16](39), SIMD[DType.uint8, 16](0)
    )
    return nibbles + 48 + letters


def write_escaped(octets: Span[UInt8, _], mut writer: Some[Writer]):
    """Writes octets so that they can neither end a log line nor forge one.

    Visible ASCII stands for itself, everything else as `\\xHH`; what is longer
    than `ESCAPED_LEN_MAX` is cut, with a note.
    """
    for index in range(min(len(octets), ESCAPED_LEN_MAX)):
        var octet = octets.at(index)
        if octet >= 32 and octet < 127 and octet != 92:
            writer.write_string(
                StringSpan(unsafe_from_utf8=octets.between(index, index + 1))
            )
        else:
            writer.write_string("\\x")
            write_hex_octet(octet, writer)
    if len(octets) > ESCAPED_LEN_MAX:
        writer.write_string("... (")
        len(octets).write_to(writer)
        writer.write_string(" bytes)")


def printable(text: StringSpan) -> String:
    """Copies the beginning of what a peer has sent, for an error: 64 octets at
    most, with `?` for those that are not visible."""
    comptime LEN_MAX = 64
    var octets = text.as_bytes()
    var copy = List[UInt8]()
    for octet in octets.before(min(len(octets), LEN_MAX)):
        copy.append(octet if octet >= 32 and octet < 127 else UInt8(63))
    return text_of(copy)


def write_visible(octets: Span[UInt8, _], mut writer: Some[Writer]):
    """Writes octets so that they stay within one line.

    Visible ASCII and spaces stand for themselves, everything else as `\\xHH`.
    Unlike `write_escaped` it leaves what was escaped before as it is, and cuts
    nothing: it is for whole lines.
    """
    var start = 0
    for index in range(len(octets)):
        var octet = octets.at(index)
        if octet >= 32 and octet < 127:
            continue
        writer.write_string(
            StringSpan(unsafe_from_utf8=octets.between(start, index))
        )
        writer.write_string("\\x")
        write_hex_octet(octet, writer)
        start = index + 1
    writer.write_string(StringSpan(unsafe_from_utf8=octets.after(start)))

"""Percent-encoding."""

from flare.bytes.ascii import hex_digit_value
from flare.bytes.checked import *
from flare.bytes.copy import text_of
from flare.bytes.utf8 import is_valid_utf8

comptime PERCENT: UInt8 = 37


@fieldwise_init
struct PercentError(Copyable, Movable, Writable):
    """A `%` is not followed by two hex digits, or the octets are not UTF-8."""

    var offset: Int
    """Where, in bytes; -1 if the decoded octets are not UTF-8."""

    def write_to(self, mut writer: Some[Writer]):
        if self.offset < 0:
            writer.write("percent-encoding: the decoded octets are not UTF-8")
        else:
            writer.write_string("percent-encoding: '%' at byte ")
            self.offset.write_to(writer)
            writer.write(" needs two hex digits behind it")
        writer.write(" (RFC 3986 section 2.1)")


struct EncodeSet(TrivialRegisterPassable):
    """A set of octets to encode: controls and non-ASCII always, others by name."""

    var _low: UInt64
    var _high: UInt64

    def __init__(out self, also: StaticString):
        """Makes a set of visible octets and spaces."""
        self._low = 0xFFFF_FFFF
        self._high = UInt64(1) << 63
        for octet in also.as_bytes():
            if octet < 64:
                self._low |= UInt64(1) << UInt64(octet)
            else:
                self._high |= UInt64(1) << UInt64(octet & 63)

    @always_inline
    def contains(self, octet: UInt8) -> Bool:
        """Tells whether an octet is in the set, and has to be encoded."""
        if octet >= 128:
            return True
        var word = self._low if octet < 64 else self._high
        return (word >> UInt64(octet & 63)) & 1 != 0


comptime CONTROL_SET = EncodeSet("")
"""C0 control percent-encode set (URL Standard section 1.3, as all below)."""
comptime FRAGMENT_SET = EncodeSet(' "<>`')
comptime QUERY_SET = EncodeSet(' "#<>')
comptime SPECIAL_QUERY_SET = EncodeSet(" \"#<>'")
comptime PATH_SET = EncodeSet(' "#<>?`{}')
comptime USERINFO_SET = EncodeSet(' "#<>?^`{}/:;=@[\\]|')
comptime COMPONENT_SET = EncodeSet(' "#<>?^`{}/:;=@[\\]|$%&+,')
"""Component percent-encode set: what `encodeURIComponent` encodes."""
comptime FORM_SET = EncodeSet(" \"#<>?^`{}/:;=@[\\]|$%&+,!'()~")
"""Percent-encode set of application/x-www-form-urlencoded."""


def percent_encode[
    set: EncodeSet
](octets: Span[UInt8, _], mut encoded: List[UInt8]):
    """Appends octets, those of a set as `%HH` with upper-case digits.

    Source: URL Standard section 1.3. A `%` is encoded only if the set holds it.
    """
    comptime DIGITS = StaticString("0123456789ABCDEF")
    var digits = DIGITS.as_bytes()
    for octet in octets:
        if set.contains(octet):
            encoded.append(PERCENT)
            encoded.append(digits.at(Int(octet >> 4)))
            encoded.append(digits.at(Int(octet & 15)))
        else:
            encoded.append(octet)


@always_inline
def hex_pair_value(octets: Span[UInt8, _], index: Int) -> Int:
    """Reads the two hex digits after the `%` at an index: 0 to 255, or -1 if
    there are none."""
    if index + 2 >= len(octets):
        return -1
    var high = hex_digit_value(octets.at(index + 1))
    var low = hex_digit_value(octets.at(index + 2))
    if high < 0 or low < 0:
        return -1
    return high * 16 + low


def percent_decode_lenient(octets: Span[UInt8, _], mut decoded: List[UInt8]):
    """Appends decoded octets; a `%` without two hex digits stands for itself.

    Source: URL Standard section 1.3.
    """
    var index = 0
    while index < len(octets):
        var octet = octets.at(index)
        if octet == PERCENT:
            var value = hex_pair_value(octets, index)
            if value >= 0:
                octet = UInt8(value)
                index += 2
        decoded.append(octet)
        index += 1


def percent_decode(octets: Span[UInt8, _]) raises PercentError -> String:
    """Decodes percent-encoded text; `+` stands for itself. Raises if a `%` has
    no two hex digits, or the octets are not UTF-8.

    Source: RFC 3986 section 2.1; the octets must be UTF-8 (RFC 3629).
    """
    var decoded = List[UInt8](capacity=len(octets))
    var index = 0
    while index < len(octets):
        var octet = octets.at(index)
        if octet == PERCENT:
            var value = hex_pair_value(octets, index)
            if value < 0:
                raise PercentError(index)
            octet = UInt8(value)
            index += 2
        decoded.append(octet)
        index += 1
    if not is_valid_utf8(decoded):
        raise PercentError(-1)
    return text_of(decoded)

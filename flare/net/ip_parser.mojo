"""Reads IP addresses from text."""

from flare.bytes.hex import hex_digit_value
from flare.net.address_parse_error import AddressParseError

comptime _IP = StaticString("an IPv4 or IPv6 address")
comptime _TEXT_LEN_MAX = 45
# The longest form is an IPv6 address whose end is dotted: six groups of four
# digits, six colons, 15 octets of IPv4 (RFC 4291 section 2.2).


@fieldwise_init
struct IpBits(TrivialRegisterPassable):
    """An address as bits."""

    var high: UInt64
    """The upper 64 bits; 0 for IPv4."""
    var low: UInt64
    """The lower 64 bits."""
    var is_v4: Bool
    """True for IPv4."""


def parse_ip_octets(text: Span[UInt8, _]) raises AddressParseError -> IpBits:
    """Reads an address of either version.

    Args:
        text: The whole address.

    Returns:
        Its bits.

    Raises:
        AddressParseError: If the text is neither kind of address.
    """
    if len(text) == 0:
        raise _error(text, 0, "it is empty")
    if len(text) > _TEXT_LEN_MAX:
        raise _error(text, _TEXT_LEN_MAX, "it is too long")
    for index in range(len(text)):
        if text[index] == 58:
            return _parse_v6(text)
    return IpBits(0, _parse_v4(text, 0), True)


def _error(
    text: Span[UInt8, _], offset: Int, reason: StaticString
) -> AddressParseError:
    return AddressParseError(_IP, String(from_utf8_lossy=text), offset, reason)


def _parse_v4(
    text: Span[UInt8, _], start: Int
) raises AddressParseError -> UInt64:
    """Reads four decimal octets up to the end of the text."""
    var bits = UInt64(0)
    var offset = start
    for index in range(4):
        if index > 0:
            if offset >= len(text) or text[offset] != 46:
                raise _error(text, offset, "IPv4 has four octets between dots")
            offset += 1
        var octet_start = offset
        var octet = 0
        while offset < len(text) and text[offset] >= 48 and text[offset] <= 57:
            octet = octet * 10 + Int(text[offset]) - 48
            offset += 1
            if offset - octet_start > 3 or octet > 255:
                raise _error(text, octet_start, "an octet is at most 255")
        if offset == octet_start:
            raise _error(text, offset, "a decimal digit must stand here")
        if offset - octet_start > 1 and text[octet_start] == 48:
            raise _error(text, octet_start, "an octet has no leading zero")
        bits = (bits << 8) | UInt64(octet)
    if offset < len(text):
        raise _error(text, offset, "nothing may follow the fourth octet")
    return bits


def _parse_v6(text: Span[UInt8, _]) raises AddressParseError -> IpBits:
    """Reads groups of hex digits, with one `::` at most."""
    var groups = Array[UInt64, 8](fill=0)
    var count = 0
    var gap = -1
    var offset = 0
    if text[0] == 58:
        if len(text) < 2 or text[1] != 58:
            raise _error(text, 0, "a single colon may not stand at the start")
    while offset < len(text):
        if (
            text[offset] == 58
            and offset + 1 < len(text)
            and text[offset + 1] == 58
        ):
            if gap >= 0:
                raise _error(text, offset, "'::' may stand once only")
            gap = count
            offset += 2
            continue
        if count > 0 and gap != count:
            if text[offset] != 58:
                raise _error(text, offset, "groups are parted by colons")
            offset += 1
        if count == 8:
            raise _error(text, offset, "IPv6 has eight groups")
        var end = _group_end(text, offset)
        if end < len(text) and text[end] == 46:
            if count > 6:
                raise _error(text, offset, "there is no room for IPv4 here")
            var v4 = _parse_v4(text, offset)
            groups[count] = v4 >> 16
            groups[count + 1] = v4 & 0xFFFF
            count += 2
            break
        if end == offset or end - offset > 4:
            raise _error(text, offset, "a group has one to four hex digits")
        groups[count] = _hex(text, offset, end)
        count += 1
        offset = end
    return _assemble(text, groups, count, gap)


def _group_end(text: Span[UInt8, _], start: Int) -> Int:
    var end = start
    while end < len(text) and hex_digit_value(text[end]) >= 0:
        end += 1
    return end


def _hex(text: Span[UInt8, _], start: Int, end: Int) -> UInt64:
    var group = UInt64(0)
    for index in range(start, end):
        group = group * 16 + UInt64(hex_digit_value(text[index]))
    return group


def _assemble(
    text: Span[UInt8, _], groups: Array[UInt64, 8], count: Int, gap: Int
) raises AddressParseError -> IpBits:
    if gap < 0 and count != 8:
        raise _error(text, len(text), "IPv6 has eight groups, or '::'")
    if gap >= 0 and count == 8:
        raise _error(text, len(text), "'::' must stand for one group at least")
    var high = UInt64(0)
    var low = UInt64(0)
    var zeros = 8 - count
    for place in range(8):
        var group = UInt64(0)
        if gap < 0 or place < gap:
            group = groups[place]
        elif place >= gap + zeros:
            group = groups[place - zeros]
        if place < 4:
            high = (high << 16) | group
        else:
            low = (low << 16) | group
    return IpBits(high, low, False)

"""The authority of a request: a host and an optional port."""

from flare.bytes.ascii import hex_digit_value
from flare.bytes.lend import lend
from flare.bytes.octet_class import IP_FUTURE, REG_NAME
from flare.bytes.scan import BytePtr, scan_class
from flare.bytes.word import load32
from flare.net.ip import IpAddr
from std.sys.intrinsics import likely, unlikely

comptime PORT_DIGITS_MAX = 5
"""Most digits of a port; the highest is 65535."""

comptime PORT_MAX = 65_535
"""The highest port; more is no TCP port, whatever the URI grammar says."""

comptime AUTHORITY_IS_GOOD = -1
"""What `authority_error` answers for a well-formed authority."""

comptime _ZEROS: UInt32 = 0x3030_3030
comptime _SIXES: UInt32 = 0x0606_0606
comptime _HIGH_NIBBLES: UInt32 = 0xF0F0_F0F0

comptime _PERCENT: UInt8 = 37
comptime _COLON: UInt8 = 58
comptime _OPEN_BRACKET: UInt8 = 91
comptime _CLOSE_BRACKET: UInt8 = 93


@always_inline
def authority_error(base: BytePtr, start: Int, end: Int) -> Int:
    """Checks `uri-host [ ":" port ]`.

    Source: RFC 9110 sections 4.2.1 and 7.2, RFC 3986 section 3.2.2: a host is
    a registered name, whose `%` stand before two hex digits, an IPv4 address,
    which is one, too, or an address in brackets. A port needs a host. Userinfo
    is no part of an authority.

    Args:
        base: Memory in which an octet of no class and `SCAN_SLACK` more follow
            the authority.
        start: Where it starts.
        end: Where it ends; the same for an empty one, which is good.

    Returns:
        The offset of the first octet that does not fit, or
        `AUTHORITY_IS_GOOD`.
    """
    # SAFETY: the scan stops at the octet behind the authority at the latest.
    var stop = scan_class[REG_NAME](base, start)
    if likely(stop >= end):
        return AUTHORITY_IS_GOOD
    if likely(
        base[unsafe_offset=stop] == _COLON
        and stop > start
        and _is_short_port(base, stop + 1, end)
    ):
        return AUTHORITY_IS_GOOD
    return _rarer_authority_error(base, start, stop, end)


@always_inline
def _is_short_port(base: BytePtr, start: Int, end: Int) -> Bool:
    """Tells one to four digits, which are a port whatever they are."""
    # SAFETY: four octets from `start` lie within the slack.
    var missing = 4 - (end - start)
    if unlikely(missing < 0 or missing > 3):
        return False
    var shift = UInt32(missing * 8)
    var fill = _ZEROS & ((UInt32(1) << shift) - 1)
    var digits = (load32(base, start) << shift) | fill
    # The high nibble of a digit is 3, also with 6 added.
    return ((digits & (digits + _SIXES)) & _HIGH_NIBBLES) == _ZEROS and (
        (digits | (digits + _SIXES)) & _HIGH_NIBBLES
    ) == _ZEROS


@no_inline
def _rarer_authority_error(
    base: BytePtr, start: Int, first_stop: Int, end: Int
) -> Int:
    """Checks an authority with a port, an encoded octet or brackets."""
    # SAFETY: each read is below `end`, and the scans stop there at the latest.
    var stop = first_stop
    if base[unsafe_offset=stop] == _OPEN_BRACKET and stop == start:
        stop = _literal_end(base, start, end)
        if stop < 0:
            return start
    while stop < end and base[unsafe_offset=stop] == _PERCENT:
        var is_encoded = (
            stop + 2 < end
            and hex_digit_value(base[unsafe_offset=stop + 1]) >= 0
            and hex_digit_value(base[unsafe_offset=stop + 2]) >= 0
        )
        if not is_encoded or base[unsafe_offset=start] == _OPEN_BRACKET:
            return stop
        stop = scan_class[REG_NAME](base, stop + 3)
    if stop >= end:
        return AUTHORITY_IS_GOOD
    if base[unsafe_offset=stop] != _COLON or stop == start:
        return stop
    return _port_error(base, stop + 1, end)


def _port_error(base: BytePtr, start: Int, end: Int) -> Int:
    # SAFETY: each read is below `end`.
    if end - start > PORT_DIGITS_MAX:
        return start
    var port = 0
    for index in range(start, end):
        var digit = Int(base[unsafe_offset=index]) - 48
        if digit < 0 or digit > 9:
            return index
        port = port * 10 + digit
    return AUTHORITY_IS_GOOD if port <= PORT_MAX else start


def _literal_end(base: BytePtr, start: Int, end: Int) -> Int:
    """Gives the offset behind an address in brackets, or -1 if it is none.

    Zones have no place in a URI (RFC 3986 section 3.2.2).
    """
    # SAFETY: each read is below `end`.
    var close = start + 1
    while close < end and base[unsafe_offset=close] != _CLOSE_BRACKET:
        close += 1
    if close >= end:
        return -1
    if (base[unsafe_offset=start + 1] | 0x20) == 118:
        return close + 1 if _is_future(base, start + 2, close) else -1
    try:
        var literal = lend[ImmUntrackedOrigin](
            base.unsafe_offset(start + 1), close - start - 1
        )
        return close + 1 if IpAddr.parse(literal).is_v6() else -1
    except error:
        return -1


def _is_future(base: BytePtr, start: Int, end: Int) -> Bool:
    """Checks what stands behind the `v` of an IPvFuture, which may be the
    address of a network that is not known here."""
    # SAFETY: each read is below `end`, where a bracket stops the scan.
    var dot = start
    while dot < end and hex_digit_value(base[unsafe_offset=dot]) >= 0:
        dot += 1
    if dot == start or dot >= end or base[unsafe_offset=dot] != 46:
        return False
    return dot + 1 < end and scan_class[IP_FUTURE](base, dot + 1) == end

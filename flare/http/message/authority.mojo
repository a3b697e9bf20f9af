"""The authority of a request: a host and an optional port."""

from flare.bytes.octet_class import IP_LITERAL, REG_NAME
from flare.bytes.scan import BytePtr, scan_class
from std.sys.intrinsics import likely

comptime PORT_DIGITS_MAX = 5
"""Most digits of a port; the highest is 65535."""

comptime AUTHORITY_IS_GOOD = -1
"""What `authority_error` answers for a well-formed authority."""


@always_inline
def authority_error(base: BytePtr, start: Int, end: Int) -> Int:
    """Checks `uri-host [ ":" port ]`.

    Source: RFC 9110 section 7.2, RFC 3986 section 3.2.2. Userinfo is no part of
    it. The octets of an IP literal are checked, not its groups.

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
    if base[unsafe_offset=stop] == 91 and stop == start:
        stop = scan_class[IP_LITERAL](base, start + 1)
        if stop >= end or base[unsafe_offset=stop] != 93 or stop < start + 3:
            return min(stop, end)
        stop += 1
        if stop == end:
            return AUTHORITY_IS_GOOD
    if base[unsafe_offset=stop] != 58 or end - stop - 1 > PORT_DIGITS_MAX:
        return stop
    for index in range(stop + 1, end):
        var octet = base[unsafe_offset=index]
        if octet < 48 or octet > 57:
            return index
    return AUTHORITY_IS_GOOD

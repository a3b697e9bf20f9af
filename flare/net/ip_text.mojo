"""The canonical text of IP addresses."""


def write_v4(bits: UInt64, mut writer: Some[Writer]):
    """Writes four decimal octets.

    Args:
        bits: The address in the lower 32 bits.
        writer: Where to.
    """
    for index in range(4):
        if index > 0:
            writer.write(".")
        writer.write((bits >> UInt64(24 - 8 * index)) & 255)


def write_v6(high: UInt64, low: UInt64, mut writer: Some[Writer]):
    """Writes an IPv6 address in its canonical form.

    Source: RFC 5952 sections 4 and 5: lower case, no leading zeros, `::` for
    the first of the longest runs of two or more zero groups, and the dotted
    form for IPv4-mapped addresses.

    Args:
        high: The upper 64 bits.
        low: The lower 64 bits.
        writer: Where to.
    """
    if high == 0 and low >> 32 == 0xFFFF:
        writer.write("::ffff:")
        write_v4(low & 0xFFFFFFFF, writer)
        return
    write_v6_groups(high, low, writer)


def write_v6_groups(high: UInt64, low: UInt64, mut writer: Some[Writer]):
    """Writes an IPv6 address as hex groups only, as URLs have it.

    Source: RFC 5952 section 4; URL Standard section 3.5 (IPv6 serializer).

    Args:
        high: The upper 64 bits.
        low: The lower 64 bits.
        writer: Where to.
    """
    var run_start = -1
    var run_len = 1
    var start = 0
    while start < 8:
        var end = start
        while end < 8 and _group(high, low, end) == 0:
            end += 1
        if end - start > run_len:
            run_start = start
            run_len = end - start
        start = max(end, start + 1)
    var index = 0
    while index < 8:
        if index == run_start:
            writer.write("::")
            index += run_len
            continue
        if index > 0 and index != run_start + run_len:
            writer.write(":")
        _write_hex(_group(high, low, index), writer)
        index += 1


def _group(high: UInt64, low: UInt64, index: Int) -> UInt64:
    if index < 4:
        return (high >> UInt64(48 - 16 * index)) & 0xFFFF
    return (low >> UInt64(48 - 16 * (index - 4))) & 0xFFFF


def _write_hex(group: UInt64, mut writer: Some[Writer]):
    comptime DIGITS = StaticString("0123456789abcdef")
    var has_started = False
    for index in range(4):
        var digit = Int((group >> UInt64(12 - 4 * index)) & 15)
        if digit != 0 or has_started or index == 3:
            has_started = True
            writer.write(DIGITS[byte = digit : digit + 1])

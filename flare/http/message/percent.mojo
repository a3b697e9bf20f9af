"""Percent-encoding."""

from flare.bytes.hex import hex_digit_value

comptime PERCENT: UInt8 = 37
"""The octet `%`."""


@fieldwise_init
struct PercentError(Copyable, Movable, Writable):
    """A `%` is not followed by two hex digits, or the octets are not UTF-8."""

    var offset: Int
    """Where, in bytes; -1 if the decoded octets are not UTF-8."""

    def write_to(self, mut writer: Some[Writer]):
        """Writes the message.

        Args:
            writer: Where to.
        """
        if self.offset < 0:
            writer.write("percent-encoding: the decoded octets are not UTF-8")
        else:
            writer.write("percent-encoding: '%' at byte ", self.offset)
            writer.write(" needs two hex digits behind it")
        writer.write(" (RFC 3986 section 2.1)")


def percent_decode(octets: Span[UInt8, _]) raises PercentError -> String:
    """Decodes percent-encoded text.

    Source: RFC 3986 section 2.1; the octets must be UTF-8 (RFC 3629).

    Args:
        octets: Encoded text; `+` stands for itself.

    Returns:
        The text.

    Raises:
        PercentError: If a `%` has no two hex digits, or the octets are not
            UTF-8.
    """
    var decoded = List[UInt8](capacity=len(octets))
    var index = 0
    while index < len(octets):
        var octet = octets[index]
        if octet == PERCENT:
            if index + 2 >= len(octets):
                raise PercentError(index)
            var high = hex_digit_value(octets[index + 1])
            var low = hex_digit_value(octets[index + 2])
            if high < 0 or low < 0:
                raise PercentError(index)
            octet = UInt8(high * 16 + low)
            index += 2
        decoded.append(octet)
        index += 1
    try:
        return String(from_utf8=decoded)
    except:
        raise PercentError(-1)

"""The error for a connection that does not begin with a sound PROXY header."""


@fieldwise_init
struct ProxyHeaderError(Copyable, Movable, Writable):
    """A PROXY header is missing, or breaks a rule."""

    var reason: StaticString
    """Which rule."""
    var offset: Int
    """Where, in bytes from the begin of the connection."""

    comptime NO_SIGNATURE = StaticString(
        "a connection from a proxy begins with 'PROXY ' or the signature of"
        " version 2; is the proxy told to send it?"
    )
    """There is no header at all."""
    comptime LINE_LEN = StaticString("a line has at most 107 octets with CRLF")
    """A line of version 1 does not end in time."""
    comptime LINE_END = StaticString("CR and LF stand together, at the end")
    """A line of version 1 has one of them alone."""
    comptime PROTOCOL = StaticString("'TCP4', 'TCP6' or 'UNKNOWN' is due")
    """A line of version 1 names another protocol."""
    comptime WORD_COUNT = StaticString(
        "two addresses and two ports follow, each behind one space"
    )
    """A line of version 1 has too many words or too few."""
    comptime ADDRESS = StaticString("an address of the announced family is due")
    """A line of version 1 has no such address."""
    comptime PORT = StaticString("a port is 0 to 65535 without leading zeros")
    """A line of version 1 has no such port."""
    comptime COMMAND = StaticString("version 2 with LOCAL or PROXY is due")
    """A header has another version or command."""
    comptime FAMILY = StaticString("the family and transport are not defined")
    """A header of version 2 has a combination that must be refused."""
    comptime ADDRESS_LEN = StaticString(
        "the length has no room for the addresses of the family"
    )
    """A header of version 2 is shorter than its addresses."""
    comptime HEADER_LEN = StaticString(
        "a header has at most 4096 octets; let the proxy send fewer fields"
    )
    """A header of version 2 is longer than is taken."""
    comptime FIELD_LEN = StaticString(
        "a field (TLV) must end within the header"
    )
    """The fields of a header of version 2 do not fill it exactly."""
    comptime CHECKSUM_LEN = StaticString("one checksum has four octets")
    """A checksum has another length, or there are two."""
    comptime CHECKSUM = StaticString("the CRC-32C is not that of the header")
    """A header was changed on its way."""

    def write_to(self, mut writer: Some[Writer]):
        """Writes the rule and the place.

        Args:
            writer: Where to.
        """
        writer.write("PROXY header: ", self.reason)
        writer.write(" (byte ", self.offset, ")")

"""The error for text that is no address."""


@fieldwise_init
struct AddressParseError(Copyable, Movable, Writable):
    """A text is not the address it should be."""

    var expected: StaticString
    """What was asked for, such as "an IPv4 or IPv6 address"."""
    var text: String
    """The text, as found."""
    var offset: Int
    """Where it stops being one, in bytes."""
    var reason: StaticString
    """Which rule it breaks there."""

    def write_to(self, mut writer: Some[Writer]):
        """Writes the message, with octets that are not printable escaped.

        Args:
            writer: Where to.
        """
        comptime DIGITS = StaticString("0123456789abcdef")
        writer.write("'")
        var octets = self.text.as_bytes()
        for index in range(min(len(octets), 80)):
            var octet = octets[index]
            if octet >= 32 and octet < 127:
                writer.write(
                    StringSpan(unsafe_from_utf8=octets[index : index + 1])
                )
            else:
                var high = Int(octet >> 4)
                var low = Int(octet & 15)
                writer.write("\\x", DIGITS[byte = high : high + 1])
                writer.write(DIGITS[byte = low : low + 1])
        writer.write("' is not ", self.expected, ": ", self.reason)
        writer.write(" (byte ", self.offset, ")")

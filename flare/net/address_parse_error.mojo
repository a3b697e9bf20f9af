"""The error for text that is no address."""

from flare.bytes.escape import write_escaped


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
        writer.write("'")
        write_escaped(self.text.as_bytes(), writer)
        writer.write("' is not ", self.expected, ": ", self.reason)
        writer.write(" (byte ", self.offset, ")")

"""The error for a field that must not be written into a message."""

from flare.bytes.ascii import write_escaped


struct HeaderError(Copyable, Movable, Writable):
    """Our caller asked for a field line that would break the message.

    Source: RFC 9110 sections 5.1 and 5.5. Such a line is how responses are
    split, so it is refused where it is set, not where it is sent.
    """

    var part: StaticString
    """What was refused: "field name", "field value" or "header block"."""
    var text: String
    """The refused text."""
    var offset: Int
    """Where in `text` the offending octet stands, in bytes."""

    def __init__(out self, part: StaticString, text: StringSpan, offset: Int):
        """Describes a refused field.

        Args:
            part: What was refused.
            text: The refused text.
            offset: Where the offending octet stands, in bytes.
        """
        self.part = part
        self.text = String(text)
        self.offset = offset

    def write_to(self, mut writer: Some[Writer]):
        """Writes the message, with the refused text escaped.

        Args:
            writer: Where to.
        """
        if self.part == "header block":
            writer.write(
                "header block: with this field it would be over 65,535 bytes;",
                " send less in headers",
            )
            return
        writer.write(self.part, " '")
        write_escaped(self.text.as_bytes(), writer)
        writer.write("': ")
        if self.text.byte_length() == 0:
            writer.write("it is empty; a name needs at least one octet")
            return
        writer.write("octet ", Int(self.text.as_bytes()[self.offset]))
        writer.write(" at byte ", self.offset, " is not allowed; ")
        if self.part == "field name":
            writer.write("a name is letters, digits and !#$%&'*+-.^_`|~")
            writer.write(" (RFC 9110 section 5.6.2)")
        else:
            writer.write("a value holds no control octet but HTAB")
            writer.write(" (RFC 9110 section 5.5)")

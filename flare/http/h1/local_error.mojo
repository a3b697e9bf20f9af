"""The error for a request that must not be written."""

from flare.bytes.escape import write_escaped


struct LocalProtocolError(Copyable, Movable, Writable):
    """Our caller asked for a request that would break the rules of HTTP/1.1.

    Octets that end a line or a word early are how requests are smuggled, so
    such a request is never sent.
    """

    var part: StaticString
    """What was refused: "method", "request target", "Host" or "framing"."""
    var text: String
    """The refused text."""
    var offset: Int
    """Where in `text` the offending octet stands, in bytes."""
    var demand: StaticString
    """What the rule allows."""

    def __init__(
        out self,
        part: StaticString,
        text: StringSpan,
        offset: Int,
        demand: StaticString,
    ):
        """Describes a refused part.

        Args:
            part: What was refused.
            text: The refused text.
            offset: Where the offending octet stands, in bytes.
            demand: What the rule allows.
        """
        self.part = part
        self.text = String(text)
        self.offset = offset
        self.demand = demand

    def write_to(self, mut writer: Some[Writer]):
        """Writes the message, with the refused text escaped.

        Args:
            writer: Where to.
        """
        writer.write(self.part, " '")
        write_escaped(self.text.as_bytes(), writer)
        writer.write("' cannot be sent (byte ", self.offset, "): ")
        writer.write(self.demand)

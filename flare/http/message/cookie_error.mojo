"""The error for a cookie that cannot be."""

from flare.bytes.ascii import write_escaped
from flare.http.message.header_error import HeaderError


struct CookieError(Copyable, Movable, Writable):
    """A cookie breaks a rule of RFC 6265 or of those who read cookies."""

    var part: StaticString
    """What is wrong: "name", "value" or an attribute."""
    var text: String
    """The refused text."""
    var offset: Int
    """Where in `text` the offending octet stands, in bytes; -1 if it is the
    whole."""
    var rule: StaticString
    """What is allowed."""

    def __init__(
        out self,
        part: StaticString,
        text: StringSpan,
        offset: Int,
        rule: StaticString,
    ):
        """Describes a refused part.

        Args:
            part: What is wrong.
            text: The refused text.
            offset: Where in it, in bytes; -1 if it is the whole.
            rule: What is allowed.
        """
        self.part = part
        self.text = String(text)
        self.offset = offset
        self.rule = rule

    @implicit
    def __init__(out self, error: HeaderError):
        """Describes a Set-Cookie field that does not fit into a message.

        Args:
            error: Why not.
        """
        self.part = "field"
        self.text = error.text
        self.offset = -1
        self.rule = "the header block would be too long; set fewer cookies"

    def write_to(self, mut writer: Some[Writer]):
        """Writes the message, with the refused text escaped.

        Args:
            writer: Where to.
        """
        writer.write("cookie ", self.part, " '")
        write_escaped(self.text.as_bytes(), writer)
        writer.write("': ")
        if self.offset >= 0 and self.offset < self.text.byte_length():
            writer.write("octet ", Int(self.text.as_bytes()[self.offset]))
            writer.write(" at byte ", self.offset, " is not allowed; ")
        writer.write(self.rule)

"""The error for text that is no URL."""

from flare.bytes.ascii import write_escaped

comptime URL_LEN_MAX = 64 * 1024
"""Longest URL accepted, in bytes, as written and in its normal form.

No limit is standard; RFC 9110 section 4.1 asks for 8,000 octets at least.
"""

comptime URL_TOO_LONG = StaticString("it is too long")
"""The reason of a URL that goes over `URL_LEN_MAX`."""


@fieldwise_init
struct UrlParseError(Copyable, Movable, Writable):
    """A text is not a URL that a request can be sent to."""

    var text: String
    """The text as it was read: without tabs and line ends anywhere, and without
    spaces and controls around it."""
    var offset: Int
    """Where in `text` it stops being a URL, in bytes."""
    var reason: StaticString
    """Which rule it breaks there."""

    def write_to(self, mut writer: Some[Writer]):
        """Writes the message, with octets that are not printable escaped.

        Args:
            writer: Where to.
        """
        if self.reason == URL_TOO_LONG:
            writer.write("a URL of more than ", URL_LEN_MAX, " bytes, as it is")
            writer.write(" written or in its normal form, is too long; send as")
            writer.write(" content what makes it so")
            return
        writer.write("'")
        write_escaped(self.text.as_bytes(), writer)
        writer.write("' is no URL such as https://example.com/path: ")
        writer.write(self.reason, " (byte ", self.offset, ")")


def url_error(
    text: Span[UInt8, _], offset: Int, reason: StaticString
) -> UrlParseError:
    """Makes the error.

    Args:
        text: The whole URL.
        offset: Where it breaks a rule, in bytes.
        reason: Which rule.

    Returns:
        The error, with a copy of the text.
    """
    return UrlParseError(String(from_utf8_lossy=text), offset, reason)

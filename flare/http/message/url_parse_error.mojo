"""The error for text that is no URL."""

from flare.bytes.escape import write_escaped


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

"""The parts of a URL, and what may be wrong with one."""

from flare.bytes.ascii import write_escaped


@fieldwise_init
struct UrlPart(TrivialRegisterPassable):
    """A range of octets; empty if the component is missing."""

    var start: Int
    """Offset of the first octet."""
    var end: Int
    """Offset after the last octet."""

    @always_inline
    def is_empty(self) -> Bool:
        return self.start == self.end


struct UrlParts(ImplicitlyCopyable):
    """The components of a URL as ranges of its serialised form.

    Source: URL Standard section 4.1, where this is the URL record.
    """

    var scheme_end: Int
    """Offset of the `:` after the scheme."""
    var default_port: Int
    """The port of the scheme; -1 if the scheme is not special."""
    var authority_end: Int
    """Offset after the port or host; `scheme_end + 1` without authority."""
    var username: UrlPart
    var password: UrlPart
    """The password, without its `:`."""
    var host: UrlPart
    """The host, with the brackets of IPv6."""
    var port: UrlPart
    """The port without its `:`; empty if it is the scheme's own."""
    var path: UrlPart
    var query: UrlPart
    """The query with its `?`."""
    var fragment: UrlPart
    """The fragment with its `#`."""
    var is_opaque: Bool
    """True if the path has no segments, as in `mailto:me`."""

    def __init__(out self):
        self.scheme_end = 0
        self.default_port = -1
        self.authority_end = 0
        self.username = UrlPart(0, 0)
        self.password = UrlPart(0, 0)
        self.host = UrlPart(0, 0)
        self.port = UrlPart(0, 0)
        self.path = UrlPart(0, 0)
        self.query = UrlPart(0, 0)
        self.fragment = UrlPart(0, 0)
        self.is_opaque = False

    def is_special(self) -> Bool:
        """Tells whether the scheme is one of HTTP, WebSocket or FTP."""
        return self.default_port >= 0

    def has_authority(self) -> Bool:
        """Tells whether `//` follows the scheme; the host may still be empty in
        schemes other than HTTP."""
        return self.authority_end > self.scheme_end + 1


struct UrlRecord(Movable):

    var octets: List[UInt8]
    """The URL; all ASCII."""
    var parts: UrlParts

    def __init__(out self):
        self.octets = List[UInt8](capacity=64)
        self.parts = UrlParts()

    def take_octets(deinit self) -> List[UInt8]:
        return self.octets^

    def scheme(self) -> Span[UInt8, ImmOrigin(origin_of(self.octets[0]))]:
        """Lends the scheme, lower-case and without its `:`."""
        return self.octets[0 : self.parts.scheme_end]


def default_port(scheme: Span[UInt8, _]) -> Int:
    """Gives the port of a scheme in lower case, without its `:`; -1 if it is
    not special.

    Source: URL Standard section 4.2 (special schemes).
    """
    var name = StringSpan(unsafe_from_utf8=scheme)
    if name == "http" or name == "ws":
        return 80
    if name == "https" or name == "wss":
        return 443
    if name == "ftp":
        return 21
    return -1


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
        """Writes the message, with octets that are not printable escaped."""
        writer.write_string(self._message())

    def _message(self) -> String:
        var text = String()
        if self.reason == URL_TOO_LONG:
            text.write("a URL of more than ", URL_LEN_MAX, " bytes, as it is")
            text.write(" written or in its normal form, is too long; send as")
            text.write(" content what makes it so")
            return text^
        text.write("'")
        write_escaped(self.text.as_bytes(), text)
        text.write("' is no URL such as https://example.com/path: ")
        text.write(self.reason, " (byte ", self.offset, ")")
        return text^


def url_error(
    text: Span[UInt8, _], offset: Int, reason: StaticString
) -> UrlParseError:
    """Makes the error, with a copy of the text, and where it breaks a rule."""
    return UrlParseError(String(from_utf8_lossy=text), offset, reason)

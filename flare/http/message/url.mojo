"""A URL and its components."""

from flare.http.message.url_parse_error import UrlParseError
from flare.http.message.url_parser import parse_url
from flare.http.message.url_parts import (
    UrlPart,
    UrlParts,
    UrlRecord,
    default_port,
)


struct Url(Copyable, Equatable, Movable, Writable):
    """An absolute URL, in the normal form of the URL Standard.

    Every way to spell a URL ends in one form: lower-case scheme and host, no
    default port, dots resolved, what must be encoded encoded. The components
    are lent from that form, without copies. `file` URLs are refused.
    """

    # The normal form; ASCII.
    var _octets: List[UInt8]
    var _parts: UrlParts

    def __init__(out self, var record: UrlRecord):
        """Makes a URL from its normal form; programs call `parse`.

        Args:
            record: The serialised URL with its parts.
        """
        self._parts = record.parts
        self._octets = record^.take_octets()

    @staticmethod
    def parse(text: StringSpan) raises UrlParseError -> Self:
        """Reads an absolute URL.

        Source: URL Standard section 4.4.

        Args:
            text: The URL.

        Returns:
            The URL.

        Raises:
            UrlParseError: If the text is no absolute URL.
        """
        return Self(parse_url(text.as_bytes(), "".as_bytes(), UrlParts()))

    @staticmethod
    def parse(text: StringSpan, base: Self) raises UrlParseError -> Self:
        """Reads a URL as a document or redirect at another URL means it.

        Source: URL Standard section 4.4, the modern form of RFC 3986 section 5.

        Args:
            text: The URL, absolute or relative.
            base: What it is relative to.

        Returns:
            The URL.

        Raises:
            UrlParseError: If the text is no URL.
        """
        return Self(parse_url(text.as_bytes(), base._octets, base._parts))

    def _lend(
        self, start: Int, end: Int
    ) -> StringSpan[ImmOrigin(origin_of(self._octets[0]))]:
        return StringSpan(unsafe_from_utf8=self._octets[start:end])

    def href(self) -> StringSpan[ImmOrigin(origin_of(self._octets[0]))]:
        """Lends the whole URL.

        Returns:
            The serialised URL, which parses to an equal one.
        """
        return self._lend(0, len(self._octets))

    def protocol(self) -> StringSpan[ImmOrigin(origin_of(self._octets[0]))]:
        """Lends the scheme with its colon.

        Returns:
            Such as `https:`.
        """
        return self._lend(0, self._parts.scheme_end + 1)

    def username(self) -> StringSpan[ImmOrigin(origin_of(self._octets[0]))]:
        """Lends the user name.

        Returns:
            The name, percent-encoded; empty if there is none.
        """
        return self._lend(self._parts.username.start, self._parts.username.end)

    def password(self) -> StringSpan[ImmOrigin(origin_of(self._octets[0]))]:
        """Lends the password.

        Returns:
            The password, percent-encoded; empty if there is none.
        """
        return self._lend(self._parts.password.start, self._parts.password.end)

    def host(self) -> StringSpan[ImmOrigin(origin_of(self._octets[0]))]:
        """Lends host and port, as the `Host` field has them.

        Returns:
            Such as `example.com:8080`; no port if it is the scheme's own.
        """
        return self._lend(
            self._parts.host.start,
            max(self._parts.host.end, self._parts.port.end),
        )

    def hostname(self) -> StringSpan[ImmOrigin(origin_of(self._octets[0]))]:
        """Lends the host.

        Returns:
            A domain in ASCII, an IPv4 address, or an IPv6 address in brackets.
        """
        return self._lend(self._parts.host.start, self._parts.host.end)

    def port(self) -> StringSpan[ImmOrigin(origin_of(self._octets[0]))]:
        """Lends the port.

        Returns:
            Its digits; empty if it is the scheme's own.
        """
        return self._lend(self._parts.port.start, self._parts.port.end)

    def port_number(self) -> UInt16:
        """Gives the port to connect to.

        Returns:
            The port, or that of the scheme; 0 if the scheme has none.
        """
        if self._parts.port.is_empty():
            var scheme = self._lend(0, self._parts.scheme_end)
            return UInt16(max(0, default_port(scheme.as_bytes())))
        var number = UInt16(0)
        for digit in self.port().as_bytes():
            number = number * 10 + UInt16(digit - 48)
        return number

    def pathname(self) -> StringSpan[ImmOrigin(origin_of(self._octets[0]))]:
        """Lends the path.

        Returns:
            The path, percent-encoded; at least `/` for HTTP.
        """
        return self._lend(self._parts.path.start, self._parts.path.end)

    def search(self) -> StringSpan[ImmOrigin(origin_of(self._octets[0]))]:
        """Lends the query with its question mark.

        Returns:
            The query, percent-encoded; empty if there is none or it is empty.
        """
        return self._lend_marked(self._parts.query)

    def hash(self) -> StringSpan[ImmOrigin(origin_of(self._octets[0]))]:
        """Lends the fragment with its hash sign.

        Returns:
            The fragment, percent-encoded; empty if there is none or it is
            empty.
        """
        return self._lend_marked(self._parts.fragment)

    def _lend_marked(
        self, part: UrlPart
    ) -> StringSpan[ImmOrigin(origin_of(self._octets[0]))]:
        if part.end - part.start < 2:
            return self._lend(part.start, part.start)
        return self._lend(part.start, part.end)

    def request_target(
        self,
    ) -> StringSpan[ImmOrigin(origin_of(self._octets[0]))]:
        """Lends what a request line has: path and query.

        Source: RFC 9112 section 3.2.1 (origin-form).

        Returns:
            Such as `/path?query`; never the fragment.
        """
        return self._lend(self._parts.path.start, self._parts.query.end)

    def has_same_origin(self, other: Self) -> Bool:
        """Tells whether credentials for one URL may be sent to another.

        Source: RFC 6454 section 5.

        Args:
            other: A URL.

        Returns:
            True if scheme, host and port are equal.
        """
        return (
            self.protocol() == other.protocol()
            and self.hostname() == other.hostname()
            and self.port_number() == other.port_number()
        )

    def __eq__(self, other: Self) -> Bool:
        """Compares normal forms.

        Args:
            other: A URL.

        Returns:
            True if they are the same.
        """
        return self._octets == other._octets

    def write_to(self, mut writer: Some[Writer]):
        """Writes the whole URL.

        Args:
            writer: Where to.
        """
        writer.write(self.href())

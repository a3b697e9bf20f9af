"""URLs (WHATWG URL Standard): the value, and the parser with the paths it makes."""

from flare.bytes.ascii import ascii_lower, is_scheme_octet
from flare.bytes.checked import *
from flare.url.host import parse_host
from flare.url.parts import (
    URL_LEN_MAX,
    URL_TOO_LONG,
    UrlParseError,
    UrlPart,
    UrlParts,
    UrlRecord,
    default_port,
    url_error,
)
from flare.url.percent import (
    CONTROL_SET,
    FRAGMENT_SET,
    PATH_SET,
    QUERY_SET,
    SPECIAL_QUERY_SET,
    USERINFO_SET,
    percent_encode,
)


struct Url(Copyable, Equatable, Movable, Writable):
    """An absolute URL, in the normal form of the URL Standard.

    Every way to spell a URL ends in one form: lower-case scheme and host, no
    default port, dots resolved, what must be encoded encoded. The components
    are lent from that form, without copies. `file` URLs are refused.

        var url = Url.parse("https://example.com:8443/a?b=1#c")
        url.scheme()    # https
        url.hostname()  # example.com
        url.port()      # 8443; see also host() and port_number()
        url.path()      # /a
        url.query()     # b=1
        url.fragment()  # c
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

    @no_inline
    def __deinit__(deinit self):
        return

    @staticmethod
    def parse(text: StringSpan) raises UrlParseError -> Self:
        """Reads an absolute URL.

        Source: URL Standard section 4.4.

        Args:
            text: The URL.

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

        Raises:
            UrlParseError: If the text is no URL.
        """
        return Self(parse_url(text.as_bytes(), base._octets, base._parts))

    def _lend(
        self, start: Int, end: Int
    ) -> StringSpan[ImmOrigin(origin_of(self._octets[0]))]:
        return StringSpan(unsafe_from_utf8=self._octets[start:end])

    def href(self) -> StringSpan[ImmOrigin(origin_of(self._octets[0]))]:
        """Lends the whole URL, serialised, which parses to an equal one."""
        return self._lend(0, len(self._octets))

    def scheme(self) -> StringSpan[ImmOrigin(origin_of(self._octets[0]))]:
        """Lends the scheme, such as `https`."""
        return self._lend(0, self._parts.scheme_end)

    def protocol(self) -> StringSpan[ImmOrigin(origin_of(self._octets[0]))]:
        """Lends the scheme with its colon, such as `https:`."""
        return self._lend(0, self._parts.scheme_end + 1)

    def username(self) -> StringSpan[ImmOrigin(origin_of(self._octets[0]))]:
        """Lends the user name, percent-encoded; empty if there is none."""
        return self._lend(self._parts.username.start, self._parts.username.end)

    def password(self) -> StringSpan[ImmOrigin(origin_of(self._octets[0]))]:
        """Lends the password, percent-encoded; empty if there is none."""
        return self._lend(self._parts.password.start, self._parts.password.end)

    def host(self) -> StringSpan[ImmOrigin(origin_of(self._octets[0]))]:
        """Lends host and port, such as `example.com:8080`, as the `Host` field
        has them; no port if it is the scheme's own. See `hostname`."""
        return self._lend(
            self._parts.host.start,
            max(self._parts.host.end, self._parts.port.end),
        )

    def hostname(self) -> StringSpan[ImmOrigin(origin_of(self._octets[0]))]:
        """Lends the host: a domain in ASCII, an IPv4 address, or an IPv6
        address in brackets."""
        return self._lend(self._parts.host.start, self._parts.host.end)

    def port(self) -> StringSpan[ImmOrigin(origin_of(self._octets[0]))]:
        """Lends the digits of the port; empty if it is the scheme's own."""
        return self._lend(self._parts.port.start, self._parts.port.end)

    def port_number(self) -> UInt16:
        """Gives the port to connect to, if need be that of the scheme; 0 if the
        scheme has none."""
        if self._parts.port.is_empty():
            return UInt16(max(0, self._parts.default_port))
        var number = UInt16(0)
        for digit in self.port().as_bytes():
            number = number * 10 + UInt16(digit - 48)
        return number

    def path(self) -> StringSpan[ImmOrigin(origin_of(self._octets[0]))]:
        """Lends the path, percent-encoded; at least `/` for HTTP."""
        return self._lend(self._parts.path.start, self._parts.path.end)

    def query(self) -> StringSpan[ImmOrigin(origin_of(self._octets[0]))]:
        """Lends the query without its question mark, percent-encoded; empty if
        there is none."""
        return self._lend_behind_mark(self._parts.query)

    def fragment(self) -> StringSpan[ImmOrigin(origin_of(self._octets[0]))]:
        """Lends the fragment without its hash sign, percent-encoded; empty if
        there is none."""
        return self._lend_behind_mark(self._parts.fragment)

    def pathname(self) -> StringSpan[ImmOrigin(origin_of(self._octets[0]))]:
        """Lends the path, by the name that the URL Standard has for `path`."""
        return self.path()

    def search(self) -> StringSpan[ImmOrigin(origin_of(self._octets[0]))]:
        """Lends the query with its question mark, percent-encoded; empty if
        there is none or it is empty."""
        return self._lend_marked(self._parts.query)

    def hash(self) -> StringSpan[ImmOrigin(origin_of(self._octets[0]))]:
        """Lends the fragment with its hash sign, percent-encoded; empty if
        there is none or it is empty."""
        return self._lend_marked(self._parts.fragment)

    def _lend_behind_mark(
        self, part: UrlPart
    ) -> StringSpan[ImmOrigin(origin_of(self._octets[0]))]:
        return self._lend(min(part.start + 1, part.end), part.end)

    def _lend_marked(
        self, part: UrlPart
    ) -> StringSpan[ImmOrigin(origin_of(self._octets[0]))]:
        if part.end - part.start < 2:
            return self._lend(part.start, part.start)
        return self._lend(part.start, part.end)

    def request_target(
        self,
    ) -> StringSpan[ImmOrigin(origin_of(self._octets[0]))]:
        """Lends what a request line has: path and query, such as `/path?query`,
        and never the fragment.

        Source: RFC 9112 section 3.2.1 (origin-form).
        """
        return self._lend(self._parts.path.start, self._parts.query.end)

    def has_same_origin(self, other: Self) -> Bool:
        """Tells whether credentials for one URL may be sent to another: scheme,
        host and port are equal.

        Source: RFC 6454 section 5.

        Args:
            other: A URL.
        """
        return (
            self.scheme() == other.scheme()
            and self.hostname() == other.hostname()
            and self.port_number() == other.port_number()
        )

    def __eq__(self, other: Self) -> Bool:
        """Tells whether the normal forms are the same."""
        return self._octets == other._octets

    def write_to(self, mut writer: Some[Writer]):
        """Writes the whole URL."""
        writer.write(self.href())


comptime _SLASH: UInt8 = 47
comptime _BACKSLASH: UInt8 = 92
comptime _COLON: UInt8 = 58
comptime _AT: UInt8 = 64
comptime _QUESTION_MARK: UInt8 = 63
comptime _HASH: UInt8 = 35


def parse_url(
    text: Span[UInt8, _], base: Span[UInt8, _], base_parts: UrlParts
) raises UrlParseError -> UrlRecord:
    """Reads a URL, relative to another one, serialised, if need be; an empty
    base for none. Spaces and controls around the text are dropped, tabs and
    line ends anywhere. Raises if it is no URL, or relative without a base."""
    if len(text) > URL_LEN_MAX:
        raise url_error(text.before(0), URL_LEN_MAX, URL_TOO_LONG)
    var start = 0
    var end = len(text)
    while start < end and text.at(start) <= 32:
        start += 1
    while end > start and text.at(end - 1) <= 32:
        end -= 1
    for index in range(start, end):
        if _is_dropped(text.at(index)):
            var kept = List[UInt8](capacity=end - start)
            for octet in text.between(start, end):
                if not _is_dropped(octet):
                    kept.append(octet)
            return _parse(Span(kept), base, base_parts)
    return _parse(text.between(start, end), base, base_parts)


def _is_dropped(octet: UInt8) -> Bool:
    return octet == 9 or octet == 10 or octet == 13


def _parse(
    text: Span[UInt8, _], base: Span[UInt8, _], base_parts: UrlParts
) raises UrlParseError -> UrlRecord:
    var url = UrlRecord()
    var position = _parse_scheme(text, url)
    if position == 0:
        if len(base) == 0:
            raise url_error(text, 0, "a scheme such as https:// is missing")
        if base_parts.is_opaque and _at(text, 0) != _HASH:
            raise url_error(text, 0, "the base cannot have relative URLs")
        position = _parse_relative(text, 0, base, base_parts, url)
        return _finish(text, position, url^)
    if url.scheme() == "file".as_bytes():
        raise url_error(text, 0, "file is no scheme of the network")
    if url.parts.is_special():
        var is_same = len(base) > 0 and (
            base.before(base_parts.scheme_end) == url.scheme()
        )
        if is_same and not _starts_authority(text, position):
            url.octets.clear()
            position = _parse_relative(text, position, base, base_parts, url)
        else:
            position = _parse_special(text, position, url)
    elif _starts_authority(text, position):
        position = _parse_authority(text, position + 2, url)
        if position < len(text) and _at(text, position) == _SLASH:
            position = parse_path(text, position + 1, url)
        else:
            _place_empty_path(url)
    else:
        url.parts.authority_end = len(url.octets)
        if _at(text, position) == _SLASH:
            position = parse_path(text, position + 1, url)
        else:
            position = _parse_opaque_path(text, position, url)
    return _finish(text, position, url^)


@always_inline
def _at(text: Span[UInt8, _], position: Int) -> UInt8:
    """Reads an octet; 0, which nothing compares with, after the end."""
    return text.at(position) if position < len(text) else 0


def _starts_authority(text: Span[UInt8, _], position: Int) -> Bool:
    return _at(text, position) == _SLASH and _at(text, position + 1) == _SLASH


def _parse_scheme(text: Span[UInt8, _], mut url: UrlRecord) -> Int:
    """Writes the scheme; gives the offset after its `:`, or 0 for none."""
    for index in range(len(text)):
        var octet = ascii_lower(text.at(index))
        if octet == _COLON and index > 0:
            url.parts.scheme_end = index
            url.parts.default_port = default_port(url.scheme())
            url.octets.append(octet)
            return index + 1
        if not is_scheme_octet(octet, is_first=index == 0):
            break
        url.octets.append(octet)
    url.octets.clear()
    return 0


def _parse_special(
    text: Span[UInt8, _], start: Int, mut url: UrlRecord
) raises UrlParseError -> Int:
    """Reads authority and path of a special URL, however many slashes it has."""
    var position = start
    while _is_slash(_at(text, position)):
        position += 1
    position = _parse_authority(text, position, url)
    if _is_slash(_at(text, position)):
        position += 1
    return parse_path(text, position, url)


def _is_slash(octet: UInt8) -> Bool:
    return octet == _SLASH or octet == _BACKSLASH


def _parse_relative(
    text: Span[UInt8, _],
    start: Int,
    base: Span[UInt8, _],
    base_parts: UrlParts,
    mut url: UrlRecord,
) raises UrlParseError -> Int:
    """Reads what follows the scheme, taking what is missing from the base.

    Source: URL Standard section 4.4 (relative state, relative slash state).
    """
    var is_special = base_parts.is_special()
    var first = _at(text, start)
    var second = _at(text, start + 1)
    var is_rooted = first == _SLASH or (is_special and first == _BACKSLASH)
    url.parts = base_parts
    if is_rooted:
        if is_special and _is_slash(second):
            url.octets.extend(base.before(base_parts.scheme_end + 1))
            return _parse_special(text, start, url)
        if second == _SLASH:
            url.octets.extend(base.before(base_parts.scheme_end + 1))
            var position = _parse_authority(text, start + 2, url)
            if _at(text, position) == _SLASH:
                return parse_path(text, position + 1, url)
            _place_empty_path(url)
            return position
        url.octets.extend(base.before(base_parts.authority_end))
        return parse_path(text, start + 1, url)
    var keeps_path = start >= len(text) or (
        first == _QUESTION_MARK or first == _HASH
    )
    if keeps_path and first == _QUESTION_MARK:
        url.octets.extend(base.before(base_parts.path.end))
        return start
    if keeps_path:
        url.octets.extend(base.before(base_parts.query.end))
        return start
    var directory_end = base_parts.path.end
    while directory_end > base_parts.path.start:
        directory_end -= 1
        if base.at(directory_end) == _SLASH:
            break
    url.octets.extend(base.before(base_parts.authority_end))
    url.parts.path.start = len(url.octets)
    url.octets.extend(base.between(base_parts.path.start, directory_end))
    return parse_path(text, start, url, url.parts.path.start)


def _parse_authority(
    text: Span[UInt8, _], start: Int, mut url: UrlRecord
) raises UrlParseError -> Int:
    """Writes `//`, credentials, host and port."""
    var is_special = url.parts.is_special()
    var end = start
    var host_start = start
    while end < len(text):
        var octet = text.at(end)
        if octet == _SLASH or octet == _QUESTION_MARK or octet == _HASH:
            break
        if is_special and octet == _BACKSLASH:
            break
        # The last '@' counts: "a@b@c" is user "a@b" at host "c".
        if octet == _AT:
            host_start = end + 1
        end += 1
    url.octets.extend("//".as_bytes())
    _write_credentials(text, start, host_start, url)
    var host_end = host_start
    var is_bracketed = False
    while host_end < end:
        var octet = text.at(host_end)
        if octet == 91:
            is_bracketed = True
        elif octet == 93:
            is_bracketed = False
        elif octet == _COLON and not is_bracketed:
            break
        host_end += 1
    if host_end == host_start:
        if is_special or host_end < end or host_start > start:
            raise url_error(text, host_start, "the host is missing")
    url.parts.host.start = len(url.octets)
    parse_host(text, host_start, host_end, is_special, url.octets)
    url.parts.host.end = len(url.octets)
    _write_port(text, host_end + 1, end, url)
    url.parts.authority_end = len(url.octets)
    return end


def _write_credentials(
    text: Span[UInt8, _], start: Int, host_start: Int, mut url: UrlRecord
):
    """Writes user name and password, which end before the `@`."""
    var end = max(start, host_start - 1)
    var colon = start
    while colon < end and text.at(colon) != _COLON:
        colon += 1
    var here = len(url.octets)
    percent_encode[USERINFO_SET](text.between(start, colon), url.octets)
    url.parts.username = UrlPart(here, len(url.octets))
    url.parts.password = UrlPart(len(url.octets), len(url.octets))
    if colon + 1 < end:
        url.octets.append(_COLON)
        var password_start = len(url.octets)
        percent_encode[USERINFO_SET](text.between(colon + 1, end), url.octets)
        url.parts.password = UrlPart(password_start, len(url.octets))
    if len(url.octets) > here:
        url.octets.append(_AT)


def _write_port(
    text: Span[UInt8, _], start: Int, end: Int, mut url: UrlRecord
) raises UrlParseError:
    """Writes the port unless it is the scheme's own."""
    var port = 0
    for index in range(start, end):
        if text.at(index) < 48 or text.at(index) > 57:
            raise url_error(text, index, "a port has decimal digits only")
        port = port * 10 + Int(text.at(index)) - 48
        if port > 65_535:
            raise url_error(text, start, "a port is at most 65535")
    var here = len(url.octets)
    url.parts.port = UrlPart(here, here)
    if start >= end or port == url.parts.default_port:
        return
    url.octets.append(_COLON)
    url.octets.extend(String(port).as_bytes())
    url.parts.port = UrlPart(here + 1, len(url.octets))


def _place_empty_path(mut url: UrlRecord):
    url.parts.path = UrlPart(len(url.octets), len(url.octets))


def _parse_opaque_path(
    text: Span[UInt8, _], start: Int, mut url: UrlRecord
) -> Int:
    var end = start
    while end < len(text):
        if text.at(end) == _QUESTION_MARK or text.at(end) == _HASH:
            break
        end += 1
    url.parts.is_opaque = True
    url.parts.path.start = len(url.octets)
    percent_encode[CONTROL_SET](text.between(start, end), url.octets)
    url.parts.path.end = len(url.octets)
    return end


def _finish(
    text: Span[UInt8, _], start: Int, var url: UrlRecord
) raises UrlParseError -> UrlRecord:
    """Writes query and fragment; a query that the base gave stays."""
    var position = start
    if len(url.octets) == url.parts.path.end:
        url.parts.query = UrlPart(len(url.octets), len(url.octets))
    if _at(text, position) == _QUESTION_MARK:
        var end = position + 1
        while end < len(text) and text.at(end) != _HASH:
            end += 1
        url.octets.append(_QUESTION_MARK)
        var query = text.between(position + 1, end)
        if url.parts.is_special():
            percent_encode[SPECIAL_QUERY_SET](query, url.octets)
        else:
            percent_encode[QUERY_SET](query, url.octets)
        url.parts.query.end = len(url.octets)
        position = end
    url.parts.fragment = UrlPart(len(url.octets), len(url.octets))
    if position < len(text):
        url.octets.append(_HASH)
        percent_encode[FRAGMENT_SET](text.after(position + 1), url.octets)
        url.parts.fragment.end = len(url.octets)
    # Encoding makes it longer; the normal form has to parse again.
    if len(url.octets) > URL_LEN_MAX:
        raise url_error(text, len(text), URL_TOO_LONG)
    return url^


comptime _DOT: UInt8 = 46


def parse_path(
    text: Span[UInt8, _], start: Int, mut url: UrlRecord, path_start: Int = -1
) -> Int:
    """Appends segments, from after the slash of the first, to a URL and
    resolves `.` and `..` among them. It ends with the authority, or with the
    part of the base's path that stays, from `path_start` on (-1 for none).
    Returns the offset of the `?` or `#` that ends the path, or of the end.

    Source: URL Standard section 4.4 (path state).
    """
    var is_special = url.parts.is_special()
    url.parts.path.start = len(url.octets) if path_start < 0 else path_start
    var position = start
    while True:
        var end = position
        while end < len(text) and not _ends_segment(text.at(end), is_special):
            end += 1
        var is_last = end == len(text) or (
            text.at(end) != _SLASH and text.at(end) != _BACKSLASH
        )
        var dot_count = _dot_count(text.between(position, end))
        if dot_count == 2:
            _drop_segment(url)
        if dot_count == 0 or is_last:
            url.octets.append(_SLASH)
        if dot_count == 0:
            percent_encode[PATH_SET](text.between(position, end), url.octets)
        position = end + 1
        if is_last:
            url.parts.path.end = len(url.octets)
            _part_from_scheme(url)
            return end


def _ends_segment(octet: UInt8, is_special: Bool) -> Bool:
    if octet == _BACKSLASH:
        return is_special
    return octet == _SLASH or octet == 63 or octet == 35


def _dot_count(segment: Span[UInt8, _]) -> Int:
    """Counts the dots of `.` and `..`, encoded or not; 0 for other segments."""
    var count = 0
    var index = 0
    while index < len(segment):
        if count == 2:
            return 0
        if segment.at(index) == _DOT:
            index += 1
        elif (
            index + 2 < len(segment)
            and segment.at(index) == 37
            and segment.at(index + 1) == 50
            and ascii_lower(segment.at(index + 2)) == 101
        ):
            index += 3
        else:
            return 0
        count += 1
    return count


def _drop_segment(mut url: UrlRecord):
    """Takes the last segment and its slash off."""
    var end = len(url.octets)
    while end > url.parts.path.start:
        end -= 1
        if url.octets.at(end) == _SLASH:
            break
    url.octets.shrink(end)


def _part_from_scheme(mut url: UrlRecord):
    """Puts `/.` before a path that would else read as an authority.

    Source: URL Standard section 4.5 (URL serializer).
    """
    var start = url.parts.path.start
    if url.parts.has_authority() or url.parts.path.end - start < 2:
        return
    if url.octets.at(start) != _SLASH or url.octets.at(start + 1) != _SLASH:
        return
    url.octets.insert(start, _DOT)
    url.octets.insert(start, _SLASH)
    url.parts.path.start += 2
    url.parts.path.end += 2

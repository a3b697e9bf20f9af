"""The URL parser: reads the components in order and writes them as it goes.

Source: URL Standard section 4.4. The standard's states are functions here,
each of which takes the offset it starts at and gives the one behind what it has
read. A base URL contributes a prefix of its own serialised form.
"""

from flare.bytes.ascii import ascii_lower
from flare.http.message.percent import (
    CONTROL_SET,
    FRAGMENT_SET,
    QUERY_SET,
    SPECIAL_QUERY_SET,
    USERINFO_SET,
    percent_encode,
)
from flare.http.message.url_host import parse_host
from flare.http.message.url_parse_error import (
    URL_LEN_MAX,
    URL_TOO_LONG,
    UrlParseError,
    url_error,
)
from flare.http.message.url_parts import (
    UrlPart,
    UrlParts,
    UrlRecord,
    default_port,
    is_special_scheme,
)
from flare.http.message.url_path import parse_path

comptime _SLASH: UInt8 = 47
comptime _BACKSLASH: UInt8 = 92
comptime _COLON: UInt8 = 58
comptime _AT: UInt8 = 64
comptime _QUESTION_MARK: UInt8 = 63
comptime _HASH: UInt8 = 35


def parse_url(
    text: Span[UInt8, _], base: Span[UInt8, _], base_parts: UrlParts
) raises UrlParseError -> UrlRecord:
    """Reads a URL, relative to another one if need be.

    Args:
        text: The URL; spaces and controls around it are dropped, tabs and line
            ends anywhere.
        base: A serialised URL; empty for none.
        base_parts: The parts of `base`.

    Returns:
        The URL, serialised, with its parts.

    Raises:
        UrlParseError: If the text is no URL, or relative without a base.
    """
    if len(text) > URL_LEN_MAX:
        raise url_error(text[0:0], URL_LEN_MAX, URL_TOO_LONG)
    var start = 0
    var end = len(text)
    while start < end and text[start] <= 32:
        start += 1
    while end > start and text[end - 1] <= 32:
        end -= 1
    for index in range(start, end):
        if _is_dropped(text[index]):
            var kept = List[UInt8](capacity=end - start)
            for octet in text[start:end]:
                if not _is_dropped(octet):
                    kept.append(octet)
            return _parse(Span(kept), base, base_parts)
    return _parse(text[start:end], base, base_parts)


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
    if url.is_special():
        var is_same = len(base) > 0 and (
            base[0 : base_parts.scheme_end] == url.scheme()
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
    """Reads an octet; 0, which nothing compares with, behind the end."""
    return text[position] if position < len(text) else 0


def _starts_authority(text: Span[UInt8, _], position: Int) -> Bool:
    return _at(text, position) == _SLASH and _at(text, position + 1) == _SLASH


def _parse_scheme(text: Span[UInt8, _], mut url: UrlRecord) -> Int:
    """Writes the scheme; gives the offset behind its `:`, or 0 for none."""
    for index in range(len(text)):
        var octet = ascii_lower(text[index])
        if octet == _COLON and index > 0:
            url.parts.scheme_end = index
            url.octets.append(octet)
            return index + 1
        var is_letter = octet >= 97 and octet <= 122
        var is_other = (octet >= 48 and octet <= 57) or (
            octet == 43 or octet == 45 or octet == 46
        )
        if not is_letter and (index == 0 or not is_other):
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
    var is_special = is_special_scheme(base[0 : base_parts.scheme_end])
    var first = _at(text, start)
    var second = _at(text, start + 1)
    var is_rooted = first == _SLASH or (is_special and first == _BACKSLASH)
    url.parts = base_parts
    if is_rooted:
        if is_special and _is_slash(second):
            url.octets.extend(base[0 : base_parts.scheme_end + 1])
            return _parse_special(text, start, url)
        if second == _SLASH:
            url.octets.extend(base[0 : base_parts.scheme_end + 1])
            var position = _parse_authority(text, start + 2, url)
            if _at(text, position) == _SLASH:
                return parse_path(text, position + 1, url)
            _place_empty_path(url)
            return position
        url.octets.extend(base[0 : base_parts.authority_end])
        return parse_path(text, start + 1, url)
    var keeps_path = start >= len(text) or (
        first == _QUESTION_MARK or first == _HASH
    )
    if keeps_path and first == _QUESTION_MARK:
        url.octets.extend(base[0 : base_parts.path.end])
        return start
    if keeps_path:
        url.octets.extend(base[0 : base_parts.query.end])
        return start
    var directory_end = base_parts.path.end
    while directory_end > base_parts.path.start:
        directory_end -= 1
        if base[directory_end] == _SLASH:
            break
    url.octets.extend(base[0 : base_parts.authority_end])
    url.parts.path.start = len(url.octets)
    url.octets.extend(base[base_parts.path.start : directory_end])
    return parse_path(text, start, url, url.parts.path.start)


def _parse_authority(
    text: Span[UInt8, _], start: Int, mut url: UrlRecord
) raises UrlParseError -> Int:
    """Writes `//`, credentials, host and port."""
    var is_special = url.is_special()
    var end = start
    var host_start = start
    while end < len(text):
        var octet = text[end]
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
        var octet = text[host_end]
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
    var host = parse_host(text, host_start, host_end, is_special)
    url.parts.host.start = len(url.octets)
    url.octets.extend(Span(host))
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
    while colon < end and text[colon] != _COLON:
        colon += 1
    var here = len(url.octets)
    percent_encode[USERINFO_SET](text[start:colon], url.octets)
    url.parts.username = UrlPart(here, len(url.octets))
    url.parts.password = UrlPart(len(url.octets), len(url.octets))
    if colon + 1 < end:
        url.octets.append(_COLON)
        var password_start = len(url.octets)
        percent_encode[USERINFO_SET](text[colon + 1 : end], url.octets)
        url.parts.password = UrlPart(password_start, len(url.octets))
    if len(url.octets) > here:
        url.octets.append(_AT)


def _write_port(
    text: Span[UInt8, _], start: Int, end: Int, mut url: UrlRecord
) raises UrlParseError:
    """Writes the port unless it is the scheme's own."""
    var port = 0
    for index in range(start, end):
        if text[index] < 48 or text[index] > 57:
            raise url_error(text, index, "a port has decimal digits only")
        port = port * 10 + Int(text[index]) - 48
        if port > 65_535:
            raise url_error(text, start, "a port is at most 65535")
    var here = len(url.octets)
    url.parts.port = UrlPart(here, here)
    if start >= end or port == default_port(url.scheme()):
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
        if text[end] == _QUESTION_MARK or text[end] == _HASH:
            break
        end += 1
    url.parts.is_opaque = True
    url.parts.path.start = len(url.octets)
    percent_encode[CONTROL_SET](text[start:end], url.octets)
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
        while end < len(text) and text[end] != _HASH:
            end += 1
        url.octets.append(_QUESTION_MARK)
        var query = text[position + 1 : end]
        if url.is_special():
            percent_encode[SPECIAL_QUERY_SET](query, url.octets)
        else:
            percent_encode[QUERY_SET](query, url.octets)
        url.parts.query.end = len(url.octets)
        position = end
    url.parts.fragment = UrlPart(len(url.octets), len(url.octets))
    if position < len(text):
        url.octets.append(_HASH)
        percent_encode[FRAGMENT_SET](text[position + 1 :], url.octets)
        url.parts.fragment.end = len(url.octets)
    # Encoding makes it longer; the normal form has to parse again.
    if len(url.octets) > URL_LEN_MAX:
        raise url_error(text, len(text), URL_TOO_LONG)
    return url^

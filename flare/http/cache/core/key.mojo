"""What responses are kept under: the target URI (RFC 9111 section 2)."""

from flare.bytes.ascii import (
    ascii_lower,
    equals_ignore_case,
    is_scheme_octet,
)
from flare.bytes.checked import *
from flare.bytes.copy import text_of


def cache_key(
    scheme: StringSpan, authority: StringSpan, target: StringSpan
) -> String:
    """Writes a target URI in the form in which it is looked up.

    The case of the authority and its default port mean nothing (RFC 9110
    section 4.2.3). The target stays as sent, since what an origin makes of
    percent-encoding is its own affair; an empty path is `/`.
    """
    var host = authority.as_bytes()
    var port = ":443" if scheme == "https" else ":80"
    if authority.endswith(port):
        host = host.before(len(host) - port.byte_length())
    var key = List[UInt8](
        capacity=scheme.byte_length() + len(host) + target.byte_length() + 4
    )
    key.extend(scheme.as_bytes())
    key.extend("://".as_bytes())
    for octet in host:
        key.append(ascii_lower(octet))
    var path = target.as_bytes()
    if len(path) == 0 or path.at(0) != 47:
        key.append(47)
    key.extend(path)
    return text_of(key)


def key_of_reference(key: String, reference: StringSpan) -> String:
    """Finds what a Location or Content-Location field names, for invalidation.
    Returns an empty text if it is not of the origin of `key` (RFC 9111 section
    4.4), also for references that are relative to a folder."""
    var octets = key.as_bytes()
    var origin = octets.before(_origin_len(octets))
    var parts = split_url(reference)
    if reference.startswith("/"):
        var named = String()
        # Behind two slashes stands an authority.
        if not reference.startswith("//"):
            named.write(StringSpan(unsafe_from_utf8=origin), parts.target)
        return named^
    var scheme = "https" if key.startswith("https") else "http"
    if not equals_ignore_case(parts.scheme.as_bytes(), scheme.as_bytes()):
        return String()
    var named = cache_key(scheme, parts.authority, parts.target)
    if named.as_bytes().before(_origin_len(named.as_bytes())) != origin:
        return String()
    return named^


def _origin_len(key: Span[UInt8, _]) -> Int:
    """Counts the octets of a key before its path."""
    var index = 8 if key.at(4) == 115 else 7
    while index < len(key) and key.at(index) != 47:
        index += 1
    return min(index, len(key))


@fieldwise_init
struct UrlParts[o: ImmOrigin](Copyable, Movable):
    """Scheme, authority and target of an absolute URL.

    Parameters:
        o: Where the text lives.
    """

    var scheme: StringSpan[Self.o]
    """What stands before `://`; empty without one."""
    var authority: StringSpan[Self.o]
    """Host and optional port."""
    var target: StringSpan[Self.o]
    """Path and query, without a fragment."""


def split_url[o: ImmOrigin](url: StringSpan[o]) -> UrlParts[o]:
    """Takes a URL apart as far as keys need it; a text without `://` is all
    authority."""
    var octets = url.as_bytes()
    var end = 0
    while end < len(octets) and octets.at(end) != 35:
        end += 1
    octets = octets.before(end)
    var scheme_len = 0
    while scheme_len < len(octets) and is_scheme_octet(octets.at(scheme_len)):
        scheme_len += 1
    var start = scheme_len + 3
    if octets.between(scheme_len, min(start, len(octets))) != "://".as_bytes():
        scheme_len = 0
        start = 0
    var path = start
    while (
        path < len(octets) and octets.at(path) != 47 and octets.at(path) != 63
    ):
        path += 1
    return UrlParts[o](
        scheme=StringSpan(unsafe_from_utf8=octets.before(scheme_len)),
        authority=StringSpan(unsafe_from_utf8=octets.between(start, path)),
        target=StringSpan(unsafe_from_utf8=octets.after(path)),
    )

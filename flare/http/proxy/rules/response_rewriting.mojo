"""What a gateway changes in the fields of a response: where it leads to, and whom its cookies are for."""

from flare.bytes.ascii import equals_ignore_case, trim_whitespace
from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.http.message.header_map import HeaderError, HeaderMap
from flare.http.proxy.rules.target_path import PathPrefixes

comptime _COLON: UInt8 = 58
comptime _SEMICOLON: UInt8 = 59
comptime _SLASH: UInt8 = 47
comptime _BACKSLASH: UInt8 = 92
comptime _TAB: UInt8 = 9
comptime _QUESTION_MARK: UInt8 = 63
comptime _HASH: UInt8 = 35


@fieldwise_init
struct UpstreamNames[a: ImmOrigin, h: ImmOrigin](Copyable, Movable):
    """By which names an upstream may call itself.

    Parameters:
        a: Where the authority lives.
        h: Where the host lives.
    """

    var authority: StringSpan[Self.a]
    """Host and port that it is reached at."""
    var host: StringSpan[Self.h]
    """The Host that it was asked for."""


struct ResponseRewriting(Copyable, Defaultable, Movable):
    """What is changed in the fields of responses; nothing unless it is asked
    for."""

    var fields: HeaderMap
    """Fields that are set, in place of the upstream's; in final responses alone,
    while the upstream's are left out of interim ones (1xx), too."""
    var removed_fields: List[String]
    """Names of fields that are not passed on."""
    var rewrites_location: Bool
    """True to make Location and Content-Location lead to the gateway, where
    they lead to the upstream: such a URL becomes a path, with the prefixes of
    `ForwardingRules.paths` exchanged back. Default False."""
    var rewrites_cookies: Bool
    """True to drop the Domain of cookies that the upstream sets for itself, and
    to exchange the prefixes in their Path. Default False."""

    def __init__(out self):
        """Makes rules that change nothing."""
        self.fields = HeaderMap()
        self.removed_fields = []
        self.rewrites_location = False
        self.rewrites_cookies = False

    def append(
        self,
        name: StringSpan,
        value: StringSpan,
        paths: PathPrefixes,
        upstream: UpstreamNames,
        mut out: HeaderMap,
    ) raises HeaderError:
        """Writes one field of the upstream's, changed or not.

        Args:
            name: Its name, as our parser or decoder has let it through.
            value: Its value, likewise.
            paths: What paths begin with here and there.
            upstream: Who sends it.
            out: Where to.

        Raises:
            HeaderError: If the header block grows over its limit.
        """
        if len(self.fields) > 0 and name in self.fields:
            return
        for index in range(len(self.removed_fields)):
            if equals_ignore_case(
                self.removed_fields.at(index).as_bytes(), name.as_bytes()
            ):
                return
        if self.rewrites_location and (
            equals_ignore_case(name.as_bytes(), "location".as_bytes())
            or equals_ignore_case(
                name.as_bytes(), "content-location".as_bytes()
            )
        ):
            var text = Buffer(0)
            if _rewrite_reference(value.as_bytes(), paths, upstream, text):
                out.append(name, StringSpan(unsafe_from_utf8=text.span()))
                return
        elif self.rewrites_cookies and equals_ignore_case(
            name.as_bytes(), "set-cookie".as_bytes()
        ):
            var text = Buffer(0)
            _rewrite_cookie(value.as_bytes(), paths, upstream, text)
            out.append(name, StringSpan(unsafe_from_utf8=text.span()))
            return
        # SAFETY: the parser or decoder of the response has judged it.
        out.unsafe_append_judged(name, value)

    def finish(self, mut out: HeaderMap) raises HeaderError:
        """Writes the fields that are set; the rest is as for `append`."""
        for index in range(len(self.fields)):
            out.append(self.fields.name(index), self.fields.value(index))


def _behind_scheme(url: Span[UInt8, _]) -> Int:
    """Finds what stands after `http://`, `https://` or `//`, or gives -1."""
    var start = 0
    if len(url) >= 5 and equals_ignore_case(url.before(5), "http:".as_bytes()):
        start = 5
    elif len(url) >= 6 and equals_ignore_case(
        url.before(6), "https:".as_bytes()
    ):
        start = 6
    var has_authority = (
        len(url) >= start + 2
        and url.at(start) == _SLASH
        and url.at(start + 1) == _SLASH
    )
    return start + 2 if has_authority else -1


def _default_port(url: Span[UInt8, _]) -> StaticString:
    """Tells which port the authority of a URL may leave out, after its scheme:
    `http:`, `https:` or none (RFC 9110 section 4.2.3)."""
    if url.at(0) == _SLASH:
        return ""
    return ":80" if url.at(4) == _COLON else ":443"


def _is_same_authority(
    left: Span[UInt8, _], right: Span[UInt8, _], port: StaticString
) -> Bool:
    var end = port.as_bytes()
    return equals_ignore_case(
        left.before(_len_before(left, end)),
        right.before(_len_before(right, end)),
    )


def _len_before(text: Span[UInt8, _], end: Span[UInt8, _]) -> Int:
    """Gives the length of a text without its end, if it has that."""
    var length = len(text) - len(end)
    if length > 0 and equals_ignore_case(text.after(length), end):
        return length
    return len(text)


def _is_read_as_slash(octet: UInt8) -> Bool:
    """Tells whether browsers take an octet after a slash for another one, or
    look after it for one (WHATWG URL section 4.4)."""
    return octet == _SLASH or octet == _BACKSLASH or octet == _TAB


def _path_end(url: Span[UInt8, _], start: Int) -> Int:
    var end = start
    while end < len(url) and not (
        url.at(end) == _QUESTION_MARK or url.at(end) == _HASH
    ):
        end += 1
    return end


def _rewrite_reference(
    url: Span[UInt8, _],
    paths: PathPrefixes,
    upstream: UpstreamNames,
    mut out: Buffer,
) -> Bool:
    """Writes a reference to the upstream as one to the gateway; False if it
    stays as it is, since it leads elsewhere."""
    var path_start = 0
    var start = _behind_scheme(url)
    if start >= 0:
        path_start = start
        while path_start < len(url) and not (
            url.at(path_start) == _SLASH
            or url.at(path_start) == _QUESTION_MARK
            or url.at(path_start) == _HASH
        ):
            path_start += 1
        var authority = url.between(start, path_start)
        var port = _default_port(url)
        if not (
            _is_same_authority(authority, upstream.authority.as_bytes(), port)
            or _is_same_authority(authority, upstream.host.as_bytes(), port)
        ):
            return False
    elif len(url) == 0 or url.at(0) != _SLASH:
        return False
    var end = _path_end(url, path_start)
    var path = url.between(path_start, end)
    if len(path) == 0:
        if not paths.append_outward("/".as_bytes(), out):
            return False
    elif not paths.append_outward(path, out):
        return False
    if len(out) > 1 and _is_read_as_slash(out.span().at(1)):
        # It would be read as a host, be the slashes the upstream's own or what a
        # prefix has stood between.
        return False
    out.append(url.after(end))
    return True


def _rewrite_cookie(
    value: Span[UInt8, _],
    paths: PathPrefixes,
    upstream: UpstreamNames,
    mut out: Buffer,
):
    """Writes a Set-Cookie line; only Domain and Path are looked at (RFC 6265
    sections 5.2.3 and 5.2.4)."""
    var start = 0
    while start <= len(value):
        var end = start
        while end < len(value) and value.at(end) != _SEMICOLON:
            end += 1
        var part = trim_whitespace(value.between(start, end))
        var is_first = start == 0
        start = end + 1
        var name_end = 0
        while name_end < len(part) and part.at(name_end) != 61:
            name_end += 1
        var name = trim_whitespace(part.before(name_end))
        var text = trim_whitespace(part.after(min(name_end + 1, len(part))))
        if not is_first and equals_ignore_case(name, "domain".as_bytes()):
            if _is_own_domain(text, upstream):
                continue
        if not is_first:
            out.append_literal["; "]()
        if not is_first and equals_ignore_case(name, "path".as_bytes()):
            var kept = len(out)
            out.append_literal["Path="]()
            var start_len = len(out)
            if paths.append_outward(text, out):
                if len(text) == 1 and len(out) > start_len + 1:
                    # All of the upstream: `/api/` would leave out `/api` (RFC
                    # 6265 section 5.1.4).
                    out.truncate(len(out) - 1)
                continue
            out.truncate(kept)
        out.append(part)


def _is_own_domain(domain: Span[UInt8, _], upstream: UpstreamNames) -> Bool:
    """Tells whether a cookie's domain is the upstream's name, be there a dot
    before it or a port after the name; that of the Host is the client's."""
    var start = 1 if len(domain) > 0 and domain.at(0) == 46 else 0
    return equals_ignore_case(
        domain.after(start), _without_port(upstream.authority.as_bytes())
    )


def _without_port[o: ImmOrigin](authority: Span[UInt8, o]) -> Span[UInt8, o]:
    var end = len(authority)
    while (
        end > 0 and authority.at(end - 1) >= 48 and authority.at(end - 1) <= 57
    ):
        end -= 1
    if end > 0 and end < len(authority) and authority.at(end - 1) == 58:
        return authority.before(end - 1)
    return authority

"""The path of a request that is sent on: what is refused, and how prefixes are exchanged."""

from flare.bytes.ascii import hex_digit_value
from flare.bytes.buffer import Buffer
from flare.bytes.checked import *

comptime _SLASH: UInt8 = 47
comptime _BACKSLASH: UInt8 = 92
comptime _DOT: UInt8 = 46
comptime _PERCENT: UInt8 = 37
comptime _SEMICOLON: UInt8 = 59


@fieldwise_init
struct _Octet(TrivialRegisterPassable):
    """One octet of a path, decoded, and how many it is written with."""

    var value: UInt8
    var length: Int


@always_inline
def _octet_at(path: Span[UInt8, _], offset: Int) -> _Octet:
    var octet = path.at(offset)
    if octet != _PERCENT or offset + 2 >= len(path):
        return _Octet(octet, 1)
    var high = hex_digit_value(path.at(offset + 1))
    var low = hex_digit_value(path.at(offset + 2))
    if high < 0 or low < 0:
        return _Octet(octet, 1)
    return _Octet(UInt8(high * 16 + low), 3)


def has_dot_segment(path: Span[UInt8, _]) -> Bool:
    """Tells whether an upstream could take a path for another one: a part
    between slashes, be they encoded or backslashes, is `.` or `..`, in whatever
    spelling.

    The router compares segments as they stand, and knows no `..`; an upstream
    may remove dot segments (RFC 3986 section 5.2.4), before or after it
    decodes, and with either slash. So `/public/..%2fadmin` is what
    `/public/*rest` answers here, and `/admin` there. Path parameters (`/..;x/`)
    hide dots from some and not from others.
    """
    var offset = 0
    var dot_count = 0
    var is_dots = True
    while offset < len(path):
        var octet = _octet_at(path, offset)
        offset += octet.length
        if octet.value == _SLASH or octet.value == _BACKSLASH:
            if is_dots and dot_count > 0:
                return True
            dot_count = 0
            is_dots = True
        elif octet.value == _SEMICOLON:
            if is_dots and dot_count > 0:
                return True
            is_dots = False
        elif octet.value == _DOT and dot_count < 2:
            dot_count += 1
        else:
            is_dots = False
    return is_dots and dot_count > 0


def prefix_len(path: Span[UInt8, _], prefix: Span[UInt8, _]) -> Int:
    """Finds how many octets of a path, as it was sent, stand for a prefix of
    whole segments; -1 if it does not begin with it. The prefix begins with `/`,
    ends with none, and is not encoded.

    Source: RFC 3986 section 6.2.2.2: `/%61pi` is `/api`, to the router, too. An
    encoded slash is no slash.
    """
    var offset = 0
    for wanted in prefix:
        if offset >= len(path):
            return -1
        var octet = _octet_at(path, offset)
        var is_encoded_slash = octet.length > 1 and octet.value == _SLASH
        if octet.value != wanted or is_encoded_slash:
            return -1
        offset += octet.length
    if offset < len(path) and path.at(offset) != _SLASH:
        return -1
    return offset


def checked_prefix(prefix: StringSpan, *, is_encoded: Bool) raises -> String:
    """Checks a path prefix of a configuration: empty, or a path that begins
    with `/`; slashes at its end are dropped. Raises if it begins with another
    octet, or holds one that it may not.

    It goes into a target as it stands if `is_encoded`, else it is compared with
    decoded segments, as a route's pattern is.
    """
    var octets = prefix.as_bytes()
    var end = len(octets)
    while end > 0 and octets.at(end - 1) == _SLASH:
        end -= 1
    if end == 0:
        return String()
    if octets.at(0) != _SLASH:
        raise Error(
            "path prefix '", prefix, "': it begins with a slash, such as /api"
        )
    for octet in octets.before(end):
        if octet == _PERCENT and not is_encoded:
            raise Error(
                "path prefix '",
                prefix,
                "': what is stripped is written decoded, as in a route",
            )
        if octet <= 32 or octet > 126 or octet == 63 or octet == 35:
            raise Error(
                "path prefix '",
                prefix,
                "': it is visible ASCII without ? and #",
            )
    if has_dot_segment(octets.before(end)):
        raise Error(
            "path prefix '", prefix, "': write it without . and .. segments"
        )
    return String(StringSpan(unsafe_from_utf8=octets.before(end)))


struct PathPrefixes(Copyable, Defaultable, Movable):
    """What paths begin with at the gateway, and what at the upstream."""

    # Both without a slash at the end; empty for none.
    var _own: String
    var _theirs: String

    def __init__(out self):
        """Makes paths that are the same on both sides."""
        self._own = String()
        self._theirs = String()

    def __init__(out self, *, strip: StringSpan, add: StringSpan = "") raises:
        """Takes the prefixes of a configuration.

        Args:
            strip: What paths begin with at the gateway, as in a route; empty
                for nothing.
            add: What they begin with at the upstream, percent-encoded; nothing
                by default.

        Raises:
            Error: If one of them is no such prefix.
        """
        self._own = checked_prefix(strip, is_encoded=False)
        self._theirs = checked_prefix(add, is_encoded=True)

    def is_empty(self) -> Bool:
        """Tells whether paths stay as they are: there is neither prefix."""
        return self._own.byte_length() == 0 and self._theirs.byte_length() == 0

    def append_inward(self, path: Span[UInt8, _], mut out: Buffer) -> Bool:
        """Writes the path that the upstream is asked for, and gives False, with
        nothing written, if the path does not begin as the gateway's do.

        Args:
            path: The path that the gateway was asked for.
            out: Where to.
        """
        return _exchange(path, self._own, self._theirs, out)

    def append_outward(self, path: Span[UInt8, _], mut out: Buffer) -> Bool:
        """Writes the path by which the gateway is asked for one of the
        upstream's, and gives False, with nothing written, if the gateway does
        not reach that path.

        Args:
            path: The path at the upstream.
        """
        return _exchange(path, self._theirs, self._own, out)


def _exchange(
    path: Span[UInt8, _], old: String, new: String, mut out: Buffer
) -> Bool:
    var end = prefix_len(path, old.as_bytes())
    if end < 0:
        return False
    out.append(new.as_bytes())
    if end == len(path):
        # What is asked for is the root of the prefix; a target has a path.
        if new.byte_length() == 0:
            out.append_octet(_SLASH)
        return True
    out.append(path.after(end))
    return True

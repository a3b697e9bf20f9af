"""The request target and its authority (RFC 9112 section 3.2, RFC 3986)."""

from flare.bytes.ascii import hex_digit_value
from flare.bytes.buffer import unsafe_lend, unsafe_lend_text
from flare.bytes.scan import (
    BytePtr,
    IP_FUTURE,
    REG_NAME,
    find_octet_within,
    load32,
    scan_class,
)
from flare.http.message.method import Method
from flare.net.ip import IpAddr
from std.sys.intrinsics import likely, unlikely


struct TargetParts(TrivialRegisterPassable):
    """Where the parts of a request target stand; offsets as given to `split_target`."""

    var path_offset: Int
    var path_len: Int
    """Length of the path in bytes; 0 for what `unsafe_path_without_octets` gives."""
    var query_offset: Int
    var query_len: Int
    var authority_offset: Int
    """Start of the authority of absolute-form and authority-form."""
    var authority_len: Int
    """Length of the authority in bytes; 0 if the target has none."""

    @always_inline
    def __init__(out self, path_offset: Int, path_len: Int, end: Int):
        """Makes the parts of a target without authority, which ends at `end`."""
        self.path_offset = path_offset
        self.path_len = path_len
        self.query_offset = min(end, path_offset + path_len + 1)
        self.query_len = end - self.query_offset
        self.authority_offset = 0
        self.authority_len = 0


comptime INVALID_TARGET = TargetParts(-1, 0, 0)
"""The parts of a target that has none of the four forms."""

comptime _COLON: UInt8 = 58
comptime _SLASH: UInt8 = 47
comptime _QUESTION_MARK: UInt8 = 63


@always_inline
def split_target(
    method: Method, base: BytePtr, offset: Int, length: Int
) -> TargetParts:
    """Finds path, query and authority of a request target of at least 1 byte,
    with `SCAN_SLACK` readable ones behind; `path_offset` is -1 if it has none
    of the forms.

    Source: RFC 9112 section 3.2. Asterisk-form is for OPTIONS alone,
    authority-form for CONNECT alone; both have no query.
    """
    # SAFETY: reads stay within the target but for find_octet_within, for
    # which the caller promises the slack.
    var end = offset + length
    if base[unsafe_offset=offset] == _SLASH and method != Method.CONNECT:
        var path_end = find_octet_within(base, offset, end, _QUESTION_MARK)
        return TargetParts(offset, path_end - offset, end)
    return _split_other_forms(method, base, offset, length)


@no_inline
def _split_other_forms(
    method: Method, base: BytePtr, offset: Int, length: Int
) -> TargetParts:
    # SAFETY: as for `split_target`.
    var end = offset + length
    if method == Method.CONNECT:
        # A host and a port, both of them (RFC 9112 section 3.2.3).
        var has_port = base[unsafe_offset=end - 1] != _COLON and (
            base[unsafe_offset=end - 1] != 93
        )
        if (
            not has_port
            or find_octet_within(base, offset, end, _COLON) >= end
            or authority_error(base, offset, end) != AUTHORITY_IS_GOOD
        ):
            return materialize[INVALID_TARGET]()
        var authority_form = TargetParts(end, 0, end)
        authority_form.authority_offset = offset
        authority_form.authority_len = length
        return authority_form
    if length == 1 and base[unsafe_offset=offset] == 42:
        if method == Method.OPTIONS:
            return TargetParts(offset, 1, end)
        return materialize[INVALID_TARGET]()
    var start = _behind_scheme(base, offset, end)
    if start < 0:
        return materialize[INVALID_TARGET]()
    var path = start
    while path < end:
        var octet = base[unsafe_offset=path]
        if octet == _SLASH or octet == _QUESTION_MARK:
            break
        path += 1
    # Userinfo is refused too: it is how a target is made to look like another
    # host (RFC 9110 section 4.2.4).
    var is_authority = (
        path > start and authority_error(base, start, path) == AUTHORITY_IS_GOOD
    )
    if not is_authority:
        return materialize[INVALID_TARGET]()
    var path_end = find_octet_within(base, path, end, _QUESTION_MARK)
    var absolute_form = TargetParts(path, path_end - path, end)
    absolute_form.authority_offset = start
    absolute_form.authority_len = path - start
    if path_end == path and (path < end or method != Method.OPTIONS):
        # An empty path is `/`, and the scheme ends with one. Not so for OPTIONS
        # (RFC 9110 section 4.2.3).
        absolute_form.path_offset = start - 1
        absolute_form.path_len = 1
    return absolute_form


@no_inline
def unsafe_path_without_octets[o: ImmOrigin](method: Method) -> StringSpan[o]:
    """Gives the path of a target in which there is none; empty for
    authority-form.

    Source: RFC 9112 section 3.2.4. OPTIONS of a URI with neither path nor query
    is about the server, and the last proxy would send `*`; so it is `*` if it
    comes in absolute-form, too. The text outlives each lifetime.
    """
    # SAFETY: constants live as long as the program.
    var text = StaticString("*") if method == Method.OPTIONS else StaticString(
        ""
    )
    return unsafe_lend_text[o](text.unsafe_ptr(), text.byte_length())


def _behind_scheme(base: BytePtr, offset: Int, end: Int) -> Int:
    """Finds the authority after `http://` or `https://`, or gives -1."""
    # SAFETY: each read is checked against `end`.
    comptime SCHEME = StaticString("http")
    var position = offset
    for letter in SCHEME.as_bytes():
        if position >= end or (base[unsafe_offset=position] | 0x20) != letter:
            return -1
        position += 1
    if position < end and (base[unsafe_offset=position] | 0x20) == 115:
        position += 1
    comptime SEPARATOR = StaticString("://")
    for octet in SEPARATOR.as_bytes():
        if position >= end or base[unsafe_offset=position] != octet:
            return -1
        position += 1
    return position


comptime PORT_DIGITS_MAX = 5
"""Most digits of a port; the highest is 65535."""

comptime PORT_MAX = 65_535
"""The highest port; more is no TCP port, whatever the URI grammar says."""

comptime AUTHORITY_IS_GOOD = -1
"""What `authority_error` answers for a well-formed authority."""

comptime _ZEROS: UInt32 = 0x3030_3030
comptime _SIXES: UInt32 = 0x0606_0606
comptime _HIGH_NIBBLES: UInt32 = 0xF0F0_F0F0

comptime _PERCENT: UInt8 = 37

comptime _OPEN_BRACKET: UInt8 = 91
comptime _CLOSE_BRACKET: UInt8 = 93


@always_inline
def authority_error(base: BytePtr, start: Int, end: Int) -> Int:
    """Checks `uri-host [ ":" port ]`, which may be empty. Returns the offset of
    the first octet that does not fit, or `AUTHORITY_IS_GOOD`.

    Source: RFC 9110 sections 4.2.1 and 7.2, RFC 3986 section 3.2.2: a host is a
    registered name, whose `%` stand before two hex digits, an IPv4 address,
    which is one, too, or an address in brackets. A port needs a host. Userinfo
    is no part of an authority. An octet of no class and `SCAN_SLACK` more
    follow the authority in memory.
    """
    # SAFETY: the scan stops at the octet after the authority at the latest.
    var stop = scan_class[REG_NAME](base, start)
    if likely(stop >= end):
        return AUTHORITY_IS_GOOD
    if likely(
        base[unsafe_offset=stop] == _COLON
        and stop > start
        and _is_short_port(base, stop + 1, end)
    ):
        return AUTHORITY_IS_GOOD
    return _rarer_authority_error(base, start, stop, end)


@always_inline
def _is_short_port(base: BytePtr, start: Int, end: Int) -> Bool:
    """Tells one to four digits, which are a port whatever they are."""
    # SAFETY: four octets from `start` lie within the slack.
    var missing = 4 - (end - start)
    if unlikely(missing < 0 or missing > 3):
        return False
    var shift = UInt32(missing * 8)
    var fill = _ZEROS & ((UInt32(1) << shift) - 1)
    var digits = (load32(base, start) << shift) | fill
    # The high nibble of a digit is 3, also with 6 added.
    return ((digits & (digits + _SIXES)) & _HIGH_NIBBLES) == _ZEROS and (
        (digits | (digits + _SIXES)) & _HIGH_NIBBLES
    ) == _ZEROS


@no_inline
def _rarer_authority_error(
    base: BytePtr, start: Int, first_stop: Int, end: Int
) -> Int:
    """Checks an authority with a port, an encoded octet or brackets."""
    # SAFETY: each read is below `end`, and the scans stop there at the latest.
    var stop = first_stop
    if base[unsafe_offset=stop] == _OPEN_BRACKET and stop == start:
        stop = _literal_end(base, start, end)
        if stop < 0:
            return start
    while stop < end and base[unsafe_offset=stop] == _PERCENT:
        var is_encoded = (
            stop + 2 < end
            and hex_digit_value(base[unsafe_offset=stop + 1]) >= 0
            and hex_digit_value(base[unsafe_offset=stop + 2]) >= 0
        )
        if not is_encoded or base[unsafe_offset=start] == _OPEN_BRACKET:
            return stop
        stop = scan_class[REG_NAME](base, stop + 3)
    if stop >= end:
        return AUTHORITY_IS_GOOD
    if base[unsafe_offset=stop] != _COLON or stop == start:
        return stop
    return _port_error(base, stop + 1, end)


def _port_error(base: BytePtr, start: Int, end: Int) -> Int:
    # SAFETY: each read is below `end`.
    if end - start > PORT_DIGITS_MAX:
        return start
    var port = 0
    for index in range(start, end):
        var digit = Int(base[unsafe_offset=index]) - 48
        if digit < 0 or digit > 9:
            return index
        port = port * 10 + digit
    return AUTHORITY_IS_GOOD if port <= PORT_MAX else start


def _literal_end(base: BytePtr, start: Int, end: Int) -> Int:
    """Gives the offset after an address in brackets, or -1 if it is none.

    Zones have no place in a URI (RFC 3986 section 3.2.2).
    """
    # SAFETY: each read is below `end`.
    var close = start + 1
    while close < end and base[unsafe_offset=close] != _CLOSE_BRACKET:
        close += 1
    if close >= end:
        return -1
    if (base[unsafe_offset=start + 1] | 0x20) == 118:
        return close + 1 if _is_future(base, start + 2, close) else -1
    try:
        var literal = unsafe_lend[ImmUntrackedOrigin](
            base.unsafe_offset(start + 1), close - start - 1
        )
        return close + 1 if IpAddr.parse(literal).is_v6() else -1
    except error:
        return -1


def _is_future(base: BytePtr, start: Int, end: Int) -> Bool:
    """Checks what stands after the `v` of an IPvFuture, which may be the
    address of a network that is not known here."""
    # SAFETY: each read is below `end`, where a bracket stops the scan.
    var dot = start
    while dot < end and hex_digit_value(base[unsafe_offset=dot]) >= 0:
        dot += 1
    if dot == start or dot >= end or base[unsafe_offset=dot] != 46:
        return False
    return dot + 1 < end and scan_class[IP_FUTURE](base, dot + 1) == end

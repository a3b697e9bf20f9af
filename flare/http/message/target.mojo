"""The request target and its four forms."""

from flare.bytes.lend import lend_text
from flare.bytes.scan import BytePtr, find_octet_within
from flare.http.message.authority import AUTHORITY_IS_GOOD, authority_error
from flare.http.message.method import Method


struct TargetParts(TrivialRegisterPassable):
    """Where the parts of a request target stand; offsets as given to `split_target`."""

    var path_offset: Int
    """Start of the path."""
    var path_len: Int
    """Length of the path in bytes; 0 for what `path_without_octets` gives."""
    var query_offset: Int
    """Start of the query, behind its `?`."""
    var query_len: Int
    """Length of the query in bytes."""
    var authority_offset: Int
    """Start of the authority of absolute-form and authority-form."""
    var authority_len: Int
    """Length of the authority in bytes; 0 if the target has none."""

    @always_inline
    def __init__(out self, path_offset: Int, path_len: Int, end: Int):
        """Makes the parts of a target without authority.

        Args:
            path_offset: Start of the path.
            path_len: Length of the path in bytes.
            end: Offset behind the target.
        """
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
    """Finds path, query and authority of a request target.

    Source: RFC 9112 section 3.2. Asterisk-form is for OPTIONS alone,
    authority-form for CONNECT alone; both have no query.

    Args:
        method: The request's method.
        base: Memory with `SCAN_SLACK` readable bytes behind the target.
        offset: Where the target starts.
        length: Length of the target in bytes, at least 1.

    Returns:
        The parts; `path_offset` is -1 if the target has none of the forms.
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
def path_without_octets[o: ImmOrigin](method: Method) -> StringSpan[o]:
    """Gives the path of a target in which there is none.

    Source: RFC 9112 section 3.2.4. OPTIONS of a URI with neither path nor query
    is about the server, and the last proxy would send `*`; so it is `*` if it
    comes in absolute-form, too.

    Parameters:
        o: The lifetime to lend for; the text outlives each.

    Args:
        method: The request's method.

    Returns:
        The path; empty for authority-form.
    """
    # SAFETY: constants live as long as the program.
    var text = StaticString("*") if method == Method.OPTIONS else StaticString(
        ""
    )
    return lend_text[o](text.unsafe_ptr(), text.byte_length())


def _behind_scheme(base: BytePtr, offset: Int, end: Int) -> Int:
    """Finds the authority behind `http://` or `https://`, or gives -1."""
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

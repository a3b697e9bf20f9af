"""The extensions of a chunk, which are checked and then left alone."""

from flare.bytes.octet_class import QDTEXT, TCHAR
from flare.bytes.scan import BytePtr, scan_class
from flare.http.h1.protocol_error import RemoteProtocolError, Rule

comptime _HTAB: UInt8 = 9
comptime _LF: UInt8 = 10
comptime _CR: UInt8 = 13
comptime _SPACE: UInt8 = 32
comptime _QUOTE: UInt8 = 34
comptime _SEMICOLON: UInt8 = 59
comptime _EQUALS: UInt8 = 61
comptime _BACKSLASH: UInt8 = 92
comptime _DELETE: UInt8 = 127


def extensions_end(
    base: BytePtr, start: Int, length: Int
) raises RemoteProtocolError -> Int:
    """Finds the end of the extensions behind a chunk-size.

    Source: RFC 9112 section 7.1.1,
    `*( BWS ";" BWS token [ BWS "=" BWS ( token / quoted-string ) ] )`. Nothing
    uses them, but a parser that skips to the end of the line and one that
    pairs quotes must see the same end. Whitespace alone is no extension.

    Args:
        base: Memory with a 0 at `length` and `SCAN_SLACK` bytes behind it.
        start: The offset behind the digits, where something other than CR is.
        length: How many octets are there.

    Returns:
        The offset of the CR, or -1 if octets are missing.

    Raises:
        RemoteProtocolError: If an octet does not fit, as soon as it is here.
    """
    # SAFETY: every scan stops at the 0 at `length`, and no read goes beyond.
    var position = start
    while True:
        position = _skip_whitespace(base, position)
        if position >= length:
            return -1
        if base[unsafe_offset=position] != _SEMICOLON:
            raise _misfit(base, position)
        position = _skip_whitespace(base, position + 1)
        var end = scan_class[TCHAR](base, position)
        if end >= length:
            return -1
        if end == position:
            raise _misfit(base, end)
        position = _skip_whitespace(base, end)
        if position < length and base[unsafe_offset=position] == _EQUALS:
            position = _skip_whitespace(base, position + 1)
            end = _value_end(base, position, length)
            if end < 0:
                return -1
        if end < length and base[unsafe_offset=end] == _CR:
            return end
        # Whitespace before `;` belongs to the next one.
        position = end


def _value_end(
    base: BytePtr, start: Int, length: Int
) raises RemoteProtocolError -> Int:
    """Gives the offset behind a token or a quoted string, or -1."""
    # SAFETY: as for `extensions_end`.
    if start >= length:
        return -1
    if base[unsafe_offset=start] != _QUOTE:
        var end = scan_class[TCHAR](base, start)
        if end == start:
            raise _misfit(base, end)
        return end if end < length else -1
    var position = start + 1
    while True:
        position = scan_class[QDTEXT](base, position)
        if position >= length:
            return -1
        var octet = base[unsafe_offset=position]
        if octet == _QUOTE:
            return position + 1 if position + 1 < length else -1
        if octet == _BACKSLASH:
            position += 1
            if position >= length:
                return -1
            octet = base[unsafe_offset=position]
        # What may stand behind a backslash, and text beyond ASCII.
        var is_control = octet < _SPACE and octet != _HTAB
        if is_control or octet == _DELETE:
            raise _misfit(base, position)
        position += 1


def _skip_whitespace(base: BytePtr, start: Int) -> Int:
    # SAFETY: the 0 at the end is no whitespace.
    var position = start
    while (
        base[unsafe_offset=position] == _SPACE
        or base[unsafe_offset=position] == _HTAB
    ):
        position += 1
    return position


def _misfit(base: BytePtr, offset: Int) -> RemoteProtocolError:
    return RemoteProtocolError(materialize[Rule.CHUNK_EXTENSION](), offset)

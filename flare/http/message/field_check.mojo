"""The rule for a field line that we write."""

from flare.bytes.octet_class import TCHAR
from flare.http.message.header_error import HeaderError
from std.builtin.globals import global_constant


def _tchar_table() -> Array[Bool, 256]:
    var table = Array[Bool, 256](fill=False)
    for octet in range(256):
        table[octet] = TCHAR.contains(UInt8(octet))
    return table^


comptime _IS_TCHAR = _tchar_table()
comptime _LANES = 16


def check_field(name: StringSpan, value: StringSpan) raises HeaderError:
    """Checks that a field line can be written without breaking the message.

    Source: RFC 9110 sections 5.1 (the name is a token) and 5.5 (no control
    octet but HTAB in the value).

    Args:
        name: The field name.
        value: The field value.

    Raises:
        HeaderError: If either breaks its rule; it carries the offset.
    """
    if name.byte_length() == 0:
        raise HeaderError("field name", name, 0)
    var offset = 0
    for octet in name.as_bytes():
        # SAFETY: an octet is below 256.
        if not global_constant[_IS_TCHAR]().unsafe_get(Int(octet)):
            raise HeaderError("field name", name, offset)
        offset += 1
    offset = _plain_len(value.as_bytes())
    for octet in value.as_bytes()[offset:]:
        if (octet < 32 and octet != 9) or octet == 127:
            raise HeaderError("field value", value, offset)
        offset += 1


@always_inline
def _plain_len(octets: Span[UInt8, _]) -> Int:
    """Skips whole blocks that hold neither a control octet nor HTAB."""
    # SAFETY: a block is loaded only where all of it lies within the span.
    var offset = 0
    while offset + _LANES <= len(octets):
        var block = octets.unsafe_ptr().unsafe_load[width=_LANES](offset)
        if (block.lt(32) | block.eq(127)).reduce_or():
            break
        offset += _LANES
    return offset

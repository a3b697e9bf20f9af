"""The rule for a field line that we write."""

from flare.bytes.octet_class import TCHAR
from flare.http.message.header_error import HeaderError


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
        if not materialize[TCHAR]().contains(octet):
            raise HeaderError("field name", name, offset)
        offset += 1
    offset = 0
    for octet in value.as_bytes():
        if (octet < 32 and octet != 9) or octet == 127:
            raise HeaderError("field value", value, offset)
        offset += 1

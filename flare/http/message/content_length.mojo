"""The Content-Length field (RFC 9110 section 8.6)."""

from flare.bytes.digits import read_digits
from flare.http.message.header_map import HeaderMap

comptime CONTENT_LENGTH_DIGITS_MAX = 18
"""Most digits accepted in a Content-Length (RFC 9110 section 8.6).

The RFC sets no limit. Nineteen digits can overflow a signed 64-bit count.
"""


@always_inline
def read_content_length(value: Span[UInt8, _]) -> Int:
    """Reads what one Content-Length says: digits alone. Gives bytes; -1 if it
    is no length, or has more than `CONTENT_LENGTH_DIGITS_MAX` digits."""
    return read_digits(value, CONTENT_LENGTH_DIGITS_MAX)


@no_inline
def announced_len(headers: HeaderMap) -> Int:
    """Reads the one Content-Length that a handler has set, for HEAD; -1 without
    one: what GET would send is not known then, and must not be told (RFC 9110
    section 8.6)."""
    var index = headers.find("content-length")
    if index < 0 or headers.find("content-length", index + 1) >= 0:
        return -1
    return read_content_length(headers.value(index).as_bytes())

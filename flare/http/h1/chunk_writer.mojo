"""Content in the chunked coding, a piece at a time."""

from flare.bytes.buffer import Buffer

comptime LAST_CHUNK = StaticString("0\r\n\r\n")
"""What ends a body without trailers (RFC 9112 section 7.1)."""


def append_chunk(mut out: Buffer, octets: Span[UInt8, _]):
    """Appends one chunk.

    Source: RFC 9112 section 7.1.

    Args:
        out: Where to.
        octets: The chunk's data. Of none, nothing is written: an empty chunk
            would be the last one.
    """
    if len(octets) == 0:
        return
    comptime DIGITS = StaticString("0123456789abcdef")
    var shift = 60
    while (len(octets) >> shift) == 0:
        shift -= 4
    while shift >= 0:
        out.append_octet(DIGITS.as_bytes()[(len(octets) >> shift) & 15])
        shift -= 4
    out.append_literal["\r\n"]()
    out.append(octets)
    out.append_literal["\r\n"]()

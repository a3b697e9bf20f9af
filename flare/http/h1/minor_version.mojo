"""The rarer versions of HTTP/1."""

from flare.bytes.scan import BytePtr
from flare.bytes.word import load32, word32
from flare.http.h1.protocol_error import RemoteProtocolError, Rule

comptime VERSION_LEN = 8
"""Octets of a version such as HTTP/1.1 (RFC 9112 section 2.3)."""


@no_inline
def check_version_start(
    base: BytePtr, start: Int, length: Int
) raises RemoteProtocolError:
    """Refuses what can be no start of a version, however it goes on.

    Without it, a line that has ended too early would be waited for.

    Args:
        base: Start of the message.
        start: Where the version stands.
        length: How many octets are there, fewer than a version's behind
            `start`.

    Raises:
        RemoteProtocolError: If an octet does not fit.
    """
    # SAFETY: all reads are below `length`.
    comptime VERSION = StaticString("HTTP/1.1")
    for offset in range(start, min(length, start + VERSION_LEN)):
        var octet = base[unsafe_offset=offset]
        var wanted = VERSION.as_bytes()[offset - start]
        var is_digit = wanted == 49 and octet >= 48 and octet <= 57
        if octet != wanted and not is_digit:
            raise RemoteProtocolError(materialize[Rule.VERSION_SYNTAX](), start)


@no_inline
def other_minor_version(
    base: BytePtr, start: Int
) raises RemoteProtocolError -> UInt8:
    """Reads a version that is neither 1.1 nor 1.0.

    Source: RFC 9112 section 2.3.

    Args:
        base: Start of the message.
        start: Where the version stands; eight octets are there.

    Returns:
        The minor version of an HTTP/1.x.

    Raises:
        RemoteProtocolError: If it is no version, or another major one.
    """
    # SAFETY: the caller saw eight octets from `start`.
    comptime NAME = word32("HTTP")
    var major = base[unsafe_offset=start + 5]
    var minor = base[unsafe_offset=start + 7]
    var is_version = (
        load32(base, start) == NAME
        and base[unsafe_offset=start + 4] == 47
        and major >= 48
        and major <= 57
        and base[unsafe_offset=start + 6] == 46
        and minor >= 48
        and minor <= 57
    )
    if not is_version:
        raise RemoteProtocolError(materialize[Rule.VERSION_SYNTAX](), start)
    if major != 49:
        raise RemoteProtocolError(materialize[Rule.VERSION_MAJOR](), start)
    return minor - 48

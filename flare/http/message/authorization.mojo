"""The Authorization field of a request."""

from flare.bytes.ascii import equals_ignore_case
from flare.bytes.base64 import base64_decode
from flare.bytes.checked import *
from flare.bytes.scan import OctetClass

comptime TOKEN68 = OctetClass(
    "-._~+/0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)
"""Octets of token68 but for the `=` at its end (RFC 9110 section 11.2)."""


@fieldwise_init
struct BasicCredentials(Copyable, Movable):
    """A user name and a password, as a peer sent them."""

    var user: String
    """The user name; without a colon."""
    var password: String


def parse_basic(value: Span[UInt8, _]) -> Optional[BasicCredentials]:
    """Reads credentials of the scheme Basic of an Authorization field; nothing
    if the scheme is another, or the rest is malformed.

    Source: RFC 7617 section 2, with UTF-8 as the charset. Control characters
    are refused, as they are there.
    """
    var text = _after_scheme(value, "basic")
    if len(text) == 0:
        return None
    var decoded = base64_decode(text)
    if not decoded:
        return None
    ref octets = decoded.held()
    var colon = -1
    for index in range(len(octets)):
        if octets.at(index) < 32 or octets.at(index) == 127:
            return None
        if octets.at(index) == 58 and colon < 0:
            colon = index
    if colon < 0:
        return None
    try:
        return BasicCredentials(
            String(from_utf8=octets[:colon]),
            String(from_utf8=octets[colon + 1 :]),
        )
    except:
        return None


def parse_bearer[
    o: ImmOrigin
](value: Span[UInt8, o]) -> Optional[StringSpan[o]]:
    """Reads the token of an Authorization field; nothing if the scheme is not
    Bearer, or the token malformed.

    Source: RFC 6750 section 2.1; RFC 9110 section 11.2 (token68).
    """
    var text = _after_scheme(value, "bearer")
    var end = len(text)
    while end > 0 and text.at(end - 1) == 61:
        end -= 1
    if end == 0:
        return None
    for octet in text.before(end):
        if not materialize[TOKEN68]().contains(octet):
            return None
    # SAFETY: all octets are ASCII.
    return StringSpan(unsafe_from_utf8=text)


def has_scheme(value: Span[UInt8, _], scheme: StringSpan) -> Bool:
    """Tells whether the value of an Authorization field is of a scheme, whose
    case does not matter, however the rest looks."""
    var length = scheme.byte_length()
    if len(value) < length:
        return False
    if len(value) > length and value.at(length) != 32:
        return False
    return equals_ignore_case(value.before(length), scheme.as_bytes())


def _after_scheme[
    o: ImmOrigin
](value: Span[UInt8, o], scheme: StringSpan) -> Span[UInt8, o]:
    """Gives what stands after the scheme and its spaces; nothing if the
    scheme is another."""
    if not has_scheme(value, scheme):
        return value.before(0)
    var start = scheme.byte_length()
    while start < len(value) and value.at(start) == 32:
        start += 1
    return value.after(start)

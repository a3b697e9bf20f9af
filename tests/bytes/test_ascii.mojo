"""Octets that names are made of."""

from flare.bytes.ascii import is_scheme_octet
from tests.support.assertions import assert_equal

comptime _LETTERS = StaticString(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)
comptime _OTHERS = StaticString("0123456789+-.")


def _has(text: StaticString, octet: Int) -> Bool:
    for one in text.as_bytes():
        if Int(one) == octet:
            return True
    return False


def test_schemes() raises:
    # RFC 3986 section 3.1: ALPHA *( ALPHA / DIGIT / "+" / "-" / "." )
    for octet in range(256):
        var name = String(octet)
        var is_letter = _has(_LETTERS, octet)
        assert_equal(
            is_scheme_octet(UInt8(octet), is_first=True), is_letter, name
        )
        assert_equal(
            is_scheme_octet(UInt8(octet)),
            is_letter or _has(_OTHERS, octet),
            name,
        )

"""Octets that names are made of."""

from flare.bytes.ascii import (
    find_octet,
    is_scheme_octet,
    lower_text,
    skip_whitespace,
)
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


def test_octets_are_found() raises:
    var octets = "a b\t\tc".as_bytes()
    for octet, start, found in [
        (UInt8(97), 0, 0),
        (UInt8(97), 1, 6),
        (UInt8(99), 0, 5),
        (UInt8(99), 5, 5),
        (UInt8(99), 6, 6),
        (UInt8(99), 7, 6),
        (UInt8(65), 0, 6),
    ]:
        assert_equal(find_octet(octets, octet, start), found)
    for start, found in [(0, 0), (1, 2), (3, 5), (5, 5), (6, 6)]:
        assert_equal(skip_whitespace(octets, start), found)
    assert_equal(skip_whitespace(" \t".as_bytes(), 0), 2)
    assert_equal(lower_text("ÄBC-xyz1".as_bytes()), "Äbc-xyz1")

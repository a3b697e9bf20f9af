"""Octets that names are made of."""

from flare.bytes.ascii import (
    equals_ignore_case,
    find_octet,
    is_lower,
    is_scheme_octet,
    lower_text,
    skip_whitespace,
)
from flare.bytes.checked import *
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


def _letter(octet: UInt8) -> UInt8:
    return octet + 32 if octet >= 65 and octet <= 90 else octet


def test_case_of_ascii_letters_alone_does_not_matter() raises:
    """RFC 9110 section 5.1: each octet against each, at each place of texts that
    are compared octet by octet, and by words that overlap."""
    for length in [1, 3, 4, 5, 7, 8, 9, 17]:
        for place in range(length):
            var left = List[UInt8](length=length, fill=98)
            var right = List[UInt8](length=length, fill=66)
            for octet in range(256):
                left.at(place) = UInt8(octet)
                for other in [octet, octet ^ 32, octet ^ 1, octet ^ 160]:
                    right.at(place) = UInt8(other)
                    assert_equal(
                        equals_ignore_case(left, right),
                        _letter(UInt8(octet)) == _letter(UInt8(other)),
                        String(octet, " and ", other, " at ", place),
                    )
    assert_equal(equals_ignore_case("".as_bytes(), "".as_bytes()), True)
    assert_equal(equals_ignore_case("a".as_bytes(), "ab".as_bytes()), False)


def test_capitals_are_found() raises:
    """Each octet at each place of texts that are looked at octet by octet, and by
    words that overlap."""
    for length in [0, 1, 7, 8, 9, 15, 16, 17]:
        for place in range(length):
            for octet in range(256):
                var text = List[UInt8](length=length, fill=0xE1)
                text.at(place) = UInt8(octet)
                assert_equal(
                    is_lower(text),
                    octet < ord("A") or octet > ord("Z"),
                    String(octet, " at ", place, " of ", length),
                )
    assert_equal(is_lower("".as_bytes()), True)

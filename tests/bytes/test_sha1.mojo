"""SHA-1 against the examples of its standard, and at every length of padding."""

from flare.bytes.sha1 import sha1
from std.testing import assert_equal
from tests.vectors.hex_text import hex_of


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var text: StaticString
    var digest: StaticString


def test_sha1_rows() raises:
    var rows: List[_Row] = [
        _Row(
            "FIPS 180-4 empty", "", "da39a3ee5e6b4b0d3255bfef95601890afd80709"
        ),
        _Row(
            "FIPS 180-4 one block",
            "abc",
            "a9993e364706816aba3e25717850c26c9cd0d89d",
        ),
        _Row(
            "FIPS 180-4 two blocks",
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1",
        ),
        _Row(
            "6455-1.3 the example",
            "dGhlIHNhbXBsZSBub25jZQ==258EAFA5-E914-47DA-95CA-C5AB0DC85B11",
            "b37a4f2cc0624f1690f64606cf385945b2bec4ea",
        ),
    ]
    for row in rows:
        var digest = sha1(row.text.as_bytes())
        assert_equal(hex_of(Span(digest)), row.digest, row.rule)


def test_sha1_of_all_lengths_around_a_block() raises:
    # The digest of all digests of 0 to 200 octets `a`, computed elsewhere.
    var digests = List[UInt8]()
    for length in range(201):
        var octets = List[UInt8](length=length, fill=97)
        var digest = sha1(Span(octets))
        digests.extend(Span(digest))
    var digest = sha1(Span(digests))
    assert_equal(
        hex_of(Span(digest)), "f6f332e8f89c35ee3df74d34ef8fda777d9647b9"
    )


def test_sha1_of_a_million_octets() raises:
    var octets = List[UInt8](length=1_000_000, fill=97)
    var digest = sha1(Span(octets))
    assert_equal(
        hex_of(Span(digest)), "34aa973cd4c4daa4f61eeb2bdbad27316534016f"
    )

"""SHA-1 against the examples of its standard, and at every length of padding."""

from flare.bytes.ascii import write_hex_octet
from flare.bytes.hash import (
    Crc32c,
    HmacSha256,
    Sha256,
    Sha256Digest,
    hmac_sha256,
    sha1,
    sha256,
)
from tests.support.assertions import assert_equal
from tests.support.guard_page import GuardedBytes
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


def _hex(digest: Sha256Digest) -> String:
    var text = String()
    for octet in digest:
        write_hex_octet(octet, text)
    return text^


def _repeated(text: StaticString, count: Int) -> List[UInt8]:
    var octets = List[UInt8]()
    for _ in range(count):
        octets.extend(text.as_bytes())
    return octets^


@fieldwise_init
struct _Sha256Row(Copyable, Movable):
    var rule: StaticString
    var octets: List[UInt8]
    var digest: StaticString


def test_digests() raises:
    var rows: List[_Sha256Row] = [
        _Sha256Row(
            "180-4 empty",
            _repeated("", 0),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        ),
        _Sha256Row(
            "180-4 one block",
            _repeated("abc", 1),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        ),
        _Sha256Row(
            "180-4 two blocks",
            _repeated(
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1
            ),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
        ),
        _Sha256Row(
            "180-4 a million",
            _repeated("a", 1_000_000),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
        ),
    ]
    for row in rows:
        assert_equal(_hex(sha256(row.octets)), row.digest, row.rule)


def test_lengths_around_a_block() raises:
    # Padding takes one block or two, and pieces cut anywhere give the same.
    for length in range(0, 200):
        var octets = List[UInt8]()
        for index in range(length):
            octets.append(UInt8(index * 7 & 0xFF))
        var guarded = GuardedBytes(octets)
        var whole = _hex(sha256(guarded.span()))
        for cut in range(0, length, 13):
            var hash = Sha256()
            hash.update(octets[:cut])
            hash.update(octets[cut:])
            assert_equal(_hex(hash^.finish()), whole)


def _bytes(octet: UInt8, count: Int) -> List[UInt8]:
    return List[UInt8](length=count, fill=octet)


def _text(text: StaticString) -> List[UInt8]:
    return _repeated(text, 1)


@fieldwise_init
struct _CodeRow(Copyable, Movable):
    var rule: StaticString
    var key: List[UInt8]
    var octets: List[UInt8]
    var code: StaticString


def test_codes() raises:
    var counting = List[UInt8]()
    for octet in range(1, 26):
        counting.append(UInt8(octet))
    var rows: List[_CodeRow] = [
        _CodeRow(
            "4231-4.2",
            _bytes(0x0B, 20),
            _text("Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
        ),
        _CodeRow(
            "4231-4.3 short key",
            _text("Jefe"),
            _text("what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
        ),
        _CodeRow(
            "4231-4.4 more than a block",
            _bytes(0xAA, 20),
            _bytes(0xDD, 50),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
        ),
        _CodeRow(
            "4231-4.5",
            counting.copy(),
            _bytes(0xCD, 50),
            "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
        ),
        _CodeRow(
            "4231-4.7 key longer than a block",
            _bytes(0xAA, 131),
            _text("Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
        ),
        _CodeRow(
            "4231-4.8 both longer than a block",
            _bytes(0xAA, 131),
            _text(
                "This is a test using a larger than block-size key and a larger"
                " than block-size data. The key needs to be hashed before being"
                " used by the HMAC algorithm."
            ),
            "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2",
        ),
    ]
    for row in rows:
        assert_equal(_hex(hmac_sha256(row.key, row.octets)), row.code, row.rule)
        var code = HmacSha256(row.key)
        for index in range(len(row.octets)):
            code.update(row.octets[index : index + 1])
        assert_equal(_hex(code^.finish()), row.code, row.rule)


def test_cut_code() raises:
    var code = _hex(
        hmac_sha256(_bytes(0x0C, 20), _text("Test With Truncation"))
    )
    # RFC 4231 section 4.6 gives the first 128 bits.
    assert_equal(
        String(code[byte=0:32]), "a3b6167473100ee06e0c796c2955552b", "4231-4.6"
    )


@fieldwise_init
struct _Crc32cRow(Copyable, Movable):
    """Octets and their checksum."""

    var rule: StaticString
    var octets: List[UInt8]
    var value: UInt32


def _rows() -> List[_Crc32cRow]:
    var digits = List[UInt8]()
    digits.extend("123456789".as_bytes())
    return [
        _Crc32cRow("no octets", List[UInt8](), 0),
        _Crc32cRow("the check value", digits^, 0xE3069283),
        _Crc32cRow(
            "3720-B.4 zeros", List[UInt8](length=32, fill=0), 0x8A9136AA
        ),
        _Crc32cRow(
            "3720-B.4 ones", List[UInt8](length=32, fill=255), 0x62A8AB43
        ),
        _Crc32cRow("3720-B.4 up", [UInt8(x) for x in range(32)], 0x46DD794E),
        _Crc32cRow(
            "3720-B.4 down", [UInt8(31 - x) for x in range(32)], 0x113FDB5C
        ),
    ]


def test_crc32c() raises:
    for row in _rows():
        for cut in range(len(row.octets) + 1):
            var checksum = Crc32c()
            checksum.update(row.octets[0:cut])
            checksum.update(row.octets[cut:])
            assert_equal(checksum.value(), row.value, row.rule)

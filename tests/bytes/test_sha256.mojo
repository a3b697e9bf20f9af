"""SHA-256 (FIPS 180-4) and HMAC-SHA256 (RFC 4231)."""

from flare.bytes.ascii import write_hex_octet
from flare.bytes.hmac import HmacSha256, hmac_sha256
from flare.bytes.sha256 import Sha256, Sha256Digest, sha256
from std.testing import assert_equal
from tests.support.guard_page import GuardedBytes


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
struct _Row(Copyable, Movable):
    var rule: StaticString
    var octets: List[UInt8]
    var digest: StaticString


def test_digests() raises:
    var rows: List[_Row] = [
        _Row(
            "180-4 empty",
            _repeated("", 0),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        ),
        _Row(
            "180-4 one block",
            _repeated("abc", 1),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        ),
        _Row(
            "180-4 two blocks",
            _repeated(
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1
            ),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
        ),
        _Row(
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

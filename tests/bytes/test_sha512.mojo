"""SHA-512/256 by the examples of FIPS 180-4, and around the ends of blocks."""

from flare.bytes.ascii import write_hex_octet
from flare.bytes.sha512 import sha512_256
from tests.support.assertions import assert_equal


def _hex(text: StringSpan) -> String:
    var written = String()
    for octet in sha512_256(text.as_bytes()):
        write_hex_octet(octet, written)
    return written.lower()


def test_vectors() raises:
    """NIST's examples with intermediate values; the others by Python's
    hashlib."""
    assert_equal(
        _hex("abc"),
        "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23",
    )
    assert_equal(
        _hex(""),
        "c672b8d1ef56ed28ab87c3622c5114069bdd3ad7b8f9737498d0c01ecef0967a",
    )
    assert_equal(
        _hex("a" * 111),
        "0239e429f98d0ed61ee8e2a7c30afe98c1c3a80ce5dff62a107e9c538f7632ce",
    )
    assert_equal(
        _hex("a" * 112),
        "9216b5303edb66504570bee90e48ea5beaa5e9fe9f760bbd3e0460559fc005f6",
    )
    assert_equal(
        _hex("a" * 127),
        "2fe3b2a6ee7e12f6fe4ba82166541ad9b4ed882c493581cbe300d68f3757b778",
    )
    assert_equal(
        _hex("a" * 128),
        "b88f97e274f9c1d49f181c8cbd01a9c74930ad055a46ac4499a1d601f1c80bf2",
    )
    assert_equal(
        _hex("a" * 129),
        "fb9035c9009ed4a60e37510339ebdb1c771339f30aa581d5dea3690a524c23f1",
    )
    assert_equal(
        _hex("a" * 239),
        "78d0a1b37aaad84c89fff13cbe3cd3d1025bcdb648268f9102b7e7032bea7d2a",
    )
    assert_equal(
        _hex("a" * 240),
        "d48a4d53397b38ab4e771d781c98ac6b86712dff2a664cfd1f27c7ca40f8ce37",
    )
    assert_equal(
        _hex("a" * 1000),
        "40eb4a70d4d69815407a9e272f0101cd67e3d11262a4a0bfc087712749c7fb53",
    )

"""MD5 by the vectors of RFC 1321, and around the ends of blocks."""

from flare.bytes.md5 import md5
from tests.support.assertions import assert_equal


def _hex(text: StringSpan) -> String:
    var written = String()
    comptime DIGITS = StaticString("0123456789abcdef")
    for octet in md5(text.as_bytes()):
        var high = Int(octet >> 4)
        var low = Int(octet & 15)
        written.write(
            DIGITS[byte = high : high + 1], DIGITS[byte = low : low + 1]
        )
    return written^


def test_vectors() raises:
    """RFC 1321 appendix A.5; the lengths around a block by Python's hashlib."""
    assert_equal(_hex(""), "d41d8cd98f00b204e9800998ecf8427e")
    assert_equal(_hex("a"), "0cc175b9c0f1b6a831c399e269772661")
    assert_equal(_hex("abc"), "900150983cd24fb0d6963f7d28e17f72")
    assert_equal(_hex("message digest"), "f96b697d7cb7938d525a2f31aaf161d0")
    assert_equal(
        _hex("abcdefghijklmnopqrstuvwxyz"), "c3fcd3d76192e4007dfb496cca67e13b"
    )
    assert_equal(_hex("1234567890" * 8), "57edf4a22be3c955ac49da2e2107b67a")
    assert_equal(_hex("a" * 55), "ef1772b6dff9a122358552954ad0df65")
    assert_equal(_hex("a" * 56), "3b0c8ac703f828b04c6c197006d17218")
    assert_equal(_hex("a" * 63), "b06521f39153d618550606be297466d5")
    assert_equal(_hex("a" * 64), "014842d480b571495a4a0363793f7367")
    assert_equal(_hex("a" * 65), "c743a45e0d2e6a95cb859adae0248435")
    assert_equal(_hex("a" * 119), "8a7bd0732ed6a28ce75f6dabc90e1613")
    assert_equal(_hex("a" * 120), "5f61c0ccad4cac44c75ff505e1f1e537")
    assert_equal(_hex("a" * 1000), "cabe45dcc9ae5b66ba86600cca6b8ba8")

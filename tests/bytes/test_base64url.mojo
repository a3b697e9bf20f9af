"""Base64 for URLs (RFC 4648 section 5)."""

from flare.bytes.base64url import base64url_decode, base64url_encode
from std.testing import assert_equal, assert_false, assert_true


def _encode(octets: Span[UInt8, _]) -> String:
    var encoded = List[UInt8]()
    base64url_encode(octets, encoded)
    return String(unsafe_from_utf8=encoded)


def test_vectors() raises:
    # RFC 4648 section 10, without the padding.
    var texts: List[StaticString] = ["", "f", "fo", "foo", "foob", "fooba"]
    var wanted: List[StaticString] = [
        "",
        "Zg",
        "Zm8",
        "Zm9v",
        "Zm9vYg",
        "Zm9vYmE",
    ]
    for index in range(len(texts)):
        assert_equal(_encode(texts[index].as_bytes()), wanted[index])
    var high: List[UInt8] = [0xFB, 0xFF, 0xBF]
    assert_equal(_encode(high), "-_-_")


def test_round_trip() raises:
    var octets = List[UInt8]()
    for length in range(256):
        var back = base64url_decode(_encode(octets).as_bytes())
        assert_true(back.__bool__())
        assert_true(back.value() == octets)
        octets.append(UInt8(length * 37 & 0xFF))


def test_refuses() raises:
    var texts: List[StaticString] = [
        "Z",
        "Zg==",
        "Zh",
        "Zm9",
        "Zm8=",
        "Zm9v\n",
        "Zm 9v",
        "+/+/",
        "Zm9vZ",
    ]
    for text in texts:
        assert_false(base64url_decode(text.as_bytes()), text)

"""Base64, by the vectors of RFC 4648 section 10, and strictly."""

from flare.bytes.base64 import (
    base64_decode,
    base64_encode,
    base64url_decode,
    base64url_encode,
)
from tests.support.assertions import assert_equal, assert_false, assert_true


@fieldwise_init
struct _Row(Copyable, Movable):
    var text: StaticString
    var encoded: StaticString


def test_base64_rows() raises:
    var rows: List[_Row] = [
        _Row("", ""),
        _Row("f", "Zg=="),
        _Row("fo", "Zm8="),
        _Row("foo", "Zm9v"),
        _Row("foob", "Zm9vYg=="),
        _Row("fooba", "Zm9vYmE="),
        _Row("foobar", "Zm9vYmFy"),
        _Row("the sample nonce", "dGhlIHNhbXBsZSBub25jZQ=="),
    ]
    for row in rows:
        assert_equal(base64_encode(row.text.as_bytes()), row.encoded)
        var decoded = base64_decode(row.encoded.as_bytes())
        assert_equal(String(from_utf8=decoded.value()), row.text)


def test_base64_round_trip_of_all_octets() raises:
    for length in range(260):
        var octets = List[UInt8]()
        for index in range(length):
            octets.append(UInt8((index * 7 + length) & 0xFF))
        var decoded = base64_decode(base64_encode(Span(octets)).as_bytes())
        assert_true(decoded.value() == octets)


def test_base64_refuses() raises:
    var rows: List[StaticString] = [
        "Zg",
        "Zg=",
        "Zg===",
        "Z===",
        "====",
        "Zg==Zg==",
        "Zm9=v",
        "Zm=v",
        "Zm9v ",
        " Zm9v",
        "Zm9-",
        "Zm9_",
        "Zh==",
        "Zm9=",
        "Zm\n=",
    ]
    for row in rows:
        assert_false(Bool(base64_decode(row.as_bytes())), row)


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

"""Percent-encoding (RFC 3986 section 2.1)."""

from flare.url.percent import (
    COMPONENT_SET,
    CONTROL_SET,
    EncodeSet,
    PATH_SET,
    percent_decode,
    percent_decode_lenient,
    percent_encode,
)
from tests.support.assertions import assert_equal


def _outcome(text: StringSpan) -> String:
    try:
        return percent_decode(text.as_bytes())
    except error:
        return String("error at ", error.offset)


@fieldwise_init
struct _Row(Copyable, Movable):
    var text: StaticString
    var outcome: StaticString


def test_decode() raises:
    var rows: List[_Row] = [
        _Row("", ""),
        _Row("abc+d", "abc+d"),
        _Row("a%20b%2fc%2Fd", "a b/c/d"),
        _Row("%C3%A4", "ä"),
        _Row("%25%32%35", "%25"),
        _Row("%", "error at 0"),
        _Row("a%2", "error at 1"),
        _Row("a%2g", "error at 1"),
        _Row("%%20", "error at 0"),
        _Row("%FF", "error at -1"),
        _Row("%C3", "error at -1"),
    ]
    for row in rows:
        assert_equal(_outcome(row.text), row.outcome, row.text)


def _encoded[set: EncodeSet](text: StringSpan) -> String:
    var encoded = List[UInt8]()
    percent_encode[set](text.as_bytes(), encoded)
    return String(unsafe_from_utf8=encoded)


def test_encode_by_set() raises:
    assert_equal(_encoded[CONTROL_SET]("a ~\x7f\r\nü%"), "a ~%7F%0D%0A%C3%BC%")
    assert_equal(_encoded[PATH_SET]("/a b?c#%"), "/a%20b%3Fc%23%")
    assert_equal(
        _encoded[COMPONENT_SET]("/?a=b&c+d%"), "%2F%3Fa%3Db%26c%2Bd%25"
    )


def test_encoding_of_components_round_trips() raises:
    for octet in range(128):
        var text = chr(octet)
        var encoded = _encoded[COMPONENT_SET](text)
        assert_equal(percent_decode(encoded.as_bytes()), text)


def test_lenient_decoding_keeps_what_is_no_escape() raises:
    var decoded = List[UInt8]()
    percent_decode_lenient("%41%zz%4%".as_bytes(), decoded)
    assert_equal(StringSpan(unsafe_from_utf8=decoded), "A%zz%4%")

"""Text of several charsets (RFC 9110 section 8.3.2, Encoding Standard)."""

from flare.http.message.charset import decode_text
from tests.support.assertions import assert_equal, assert_false, assert_true


@fieldwise_init
struct _Row(Copyable, Movable):
    var charset: StaticString
    var octets: List[UInt8]
    var text: StaticString


def test_what_is_decoded() raises:
    var rows: List[_Row] = [
        _Row("", [0xC3, 0xA9], "\u00e9"),
        _Row("UTF-8", [0xEF, 0xBB, 0xBF, 0x61], "a"),
        _Row("utf8", [0xF0, 0x9F, 0x98, 0x80], "\U0001F600"),
        _Row("us-ascii", [0x61, 0x7E], "a~"),
        _Row("ISO-8859-1", [0xE9, 0x00, 0xFF, 0xA0], "\u00e9\0\u00ff\u00a0"),
        _Row("latin1", [0x80, 0x9F], "\u20ac\u0178"),
        # Encoding Standard, index windows-1252: octets without a character.
        _Row("windows-1252", [0x81, 0x8D, 0x9D], "\u0081\u008d\u009d"),
        _Row("Windows-1252", [0x93, 0x94, 0x85], "\u201c\u201d\u2026"),
        _Row(" cp1252 ", [0x99], "\u2122"),
        # RFC 2781 section 4: the mark says which octet comes first.
        _Row("utf-16", [0xFE, 0xFF, 0x20, 0xAC], "\u20ac"),
        _Row("UTF-16", [0xFF, 0xFE, 0xAC, 0x20], "\u20ac"),
        _Row("utf-16", [0xAC, 0x20], "\u20ac"),
        _Row("utf-16be", [0x20, 0xAC], "\u20ac"),
        _Row("utf-16le", [0xFF, 0xFE, 0x61, 0x00], "a"),
        _Row("utf-16be", [0xD8, 0x3D, 0xDE, 0x00], "\U0001F600"),
        _Row("utf-16le", [0x3D, 0xD8, 0x00, 0xDE], "\U0001F600"),
        _Row("utf-16le", [], ""),
        _Row("windows-1252", [], ""),
    ]
    for row in rows:
        assert_equal(
            decode_text(row.octets, row.charset), row.text, row.charset
        )


@fieldwise_init
struct _Refused(Copyable, Movable):
    var charset: StaticString
    var octets: List[UInt8]
    var offset: Int


def test_what_is_refused() raises:
    var rows: List[_Refused] = [
        _Refused("utf-8", [0xE9], -1),
        _Refused("", [0x61, 0xFF], -1),
        _Refused("utf-16", [0xFE, 0xFF, 0x00], 2),
        _Refused("utf-16le", [0x61, 0x00, 0x61], 2),
        # RFC 2781 section 2.2: halves come in pairs.
        _Refused("utf-16be", [0xDC, 0x00, 0x00, 0x61], 0),
        _Refused("utf-16be", [0xD8, 0x00, 0x00, 0x61], 0),
        _Refused("utf-16be", [0x00, 0x61, 0xD8, 0x00], 2),
        _Refused("utf-16be", [0xD8, 0x00, 0xD8, 0x00], 0),
    ]
    for row in rows:
        var is_refused = False
        try:
            _ = decode_text(row.octets, row.charset)
        except error:
            assert_true(error.is_known, row.charset)
            assert_equal(error.offset, row.offset, row.charset)
            is_refused = True
        assert_true(is_refused, row.charset)


def test_unknown_charsets_are_named() raises:
    for charset in [
        StaticString("shift_jis"),
        "utf-7",
        "utf",
        "\r\nx",
        "utf-8 x",
    ]:
        var is_refused = False
        try:
            _ = decode_text("a".as_bytes(), charset)
        except error:
            assert_false(error.is_known)
            assert_true("windows-1252" in String(error), String(error))
            assert_true("\r" not in String(error))
            if charset == "shift_jis":
                assert_true("'shift_jis'" in String(error), String(error))
            is_refused = True
        assert_true(is_refused, charset)

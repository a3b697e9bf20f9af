"""UTF-8 validity, by the table of RFC 3629 section 4."""

from flare.bytes.utf8 import decode_utf8, is_valid_utf8, lossy_text
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.guard_page import GuardedBytes


@fieldwise_init
struct _Row(Copyable, Movable):
    """Some octets, and whether they are UTF-8."""

    var rule: StaticString
    var octets: List[UInt8]
    var is_valid: Bool


def _rows() -> List[_Row]:
    return [
        _Row("empty", [], True),
        _Row("3629-4 UTF8-1 last", [0x7F], True),
        _Row("3629-4 UTF8-2 first", [0xC2, 0x80], True),
        _Row("3629-4 UTF8-2 last", [0xDF, 0xBF], True),
        _Row("3629-4 UTF8-3 first", [0xE0, 0xA0, 0x80], True),
        _Row("3629-4 before the surrogates", [0xED, 0x9F, 0xBF], True),
        _Row("3629-4 behind the surrogates", [0xEE, 0x80, 0x80], True),
        _Row("3629-4 UTF8-4 first", [0xF0, 0x90, 0x80, 0x80], True),
        _Row("3629-4 UTF8-4 last", [0xF4, 0x8F, 0xBF, 0xBF], True),
        _Row("3629-3 above U+10FFFF", [0xF4, 0x90, 0x80, 0x80], False),
        _Row("3629-3 surrogate", [0xED, 0xA0, 0x80], False),
        _Row("3629-3 last surrogate", [0xED, 0xBF, 0xBF], False),
        _Row("3629-3 overlong slash", [0xC0, 0xAF], False),
        _Row("3629-3 overlong C1", [0xC1, 0xBF], False),
        _Row("3629-3 overlong of three", [0xE0, 0x9F, 0xBF], False),
        _Row("3629-3 overlong of four", [0xF0, 0x8F, 0xBF, 0xBF], False),
        _Row("3629-3 lone continuation", [0x80], False),
        _Row("3629-3 F5 starts nothing", [0xF5, 0x80, 0x80, 0x80], False),
        _Row("3629-3 FF starts nothing", [0xFF], False),
        _Row("3629-3 cut after one of two", [0xC2], False),
        _Row("3629-3 cut after two of three", [0xE2, 0x82], False),
        _Row("3629-3 cut after three of four", [0xF0, 0x9F, 0x92], False),
        _Row("3629-3 ASCII for a continuation", [0xE2, 0x28, 0xA1], False),
    ]


def test_utf8_rows_at_every_place_of_a_block() raises:
    for row in _rows():
        for before in range(70):
            var octets = List[UInt8](length=before, fill=97)
            octets.extend(Span(row.octets))
            var guarded = GuardedBytes(octets)
            assert_equal(is_valid_utf8(guarded.span()), row.is_valid, row.rule)
            octets.extend(List[UInt8](length=40, fill=98))
            assert_equal(is_valid_utf8(octets), row.is_valid, row.rule)
            _ = guarded^


def test_utf8_agrees_with_the_standard_library_on_all_pairs() raises:
    for first in range(256):
        for second in range(256):
            var octets: List[UInt8] = [UInt8(first), UInt8(second), 0x80]
            var is_valid = True
            try:
                _ = StringSpan(from_utf8=octets)
            except:
                is_valid = False
            assert_equal(is_valid_utf8(octets), is_valid)


def test_utf8_decodes_every_code_point() raises:
    for code_point in [
        0,
        0x7F,
        0x80,
        0x7FF,
        0x800,
        0xD7FF,
        0xE000,
        0xFFFF,
        0x10000,
        0x1F4A9,
        0x10FFFF,
    ]:
        var text = chr(code_point)
        var read = decode_utf8(text.as_bytes(), 0)
        assert_equal(read.value, code_point)
        assert_equal(read.octet_count, text.byte_length())
        assert_true(is_valid_utf8(text.as_bytes()))
    assert_false(is_valid_utf8([UInt8(0xBF)]))


@fieldwise_init
struct _Lossy(Copyable, Movable):
    """Some octets, and the text that they are for people."""

    var octets: List[UInt8]
    var text: StaticString


def test_lossy_text_keeps_what_is_utf8() raises:
    var rows: List[_Lossy] = [
        _Lossy([], ""),
        _Lossy([0x61, 0xC3, 0xA4, 0x62], "a\u00E4b"),
        _Lossy([0xFF, 0x61], "\uFFFDa"),
        _Lossy([0x61, 0xE2, 0x82], "a\uFFFD\uFFFD"),
        _Lossy([0xED, 0xA0, 0x80, 0x62], "\uFFFD\uFFFD\uFFFDb"),
        _Lossy([0xF0, 0x9F, 0x92, 0xA9], "\U0001F4A9"),
    ]
    for row in rows:
        assert_equal(lossy_text(Span(row.octets)), String(row.text))

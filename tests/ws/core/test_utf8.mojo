"""UTF-8 in pieces: as the whole, and refused at the first octet that is wrong."""

from flare.bytes.utf8 import is_valid_utf8
from flare.ws.core.utf8 import Utf8Checker
from std.testing import assert_equal, assert_true
from tests.support.guard_page import GuardedBytes


@fieldwise_init
struct _Row(Copyable, Movable):
    """Octets, and the first of them that is wrong; -1 if none is."""

    var rule: StaticString
    var octets: List[UInt8]
    var bad: Int


def _rows() -> List[_Row]:
    return [
        _Row("empty", [], -1),
        _Row("3629-4 one to four octets", [97, 0xC3, 0xA4, 0xE2, 0x82, 0xAC, 0xF0, 0x9F, 0x92, 0xA9], -1),
        _Row("3629-4 ends of the ranges", [0x7F, 0xC2, 0x80, 0xDF, 0xBF, 0xE0, 0xA0, 0x80, 0xEF, 0xBF, 0xBF], -1),
        _Row("3629-4 around the surrogates", [0xED, 0x9F, 0xBF, 0xEE, 0x80, 0x80], -1),
        _Row("3629-4 UTF8-4", [0xF0, 0x90, 0x80, 0x80, 0xF4, 0x8F, 0xBF, 0xBF], -1),
        _Row("3629-3 lone continuation", [97, 0x80], 1),
        _Row("3629-3 C0 is overlong", [0xC0, 0xAF], 0),
        _Row("3629-3 C1 is overlong", [0xC1, 0xBF], 0),
        _Row("3629-3 E0 9F is overlong", [0xE0, 0x9F, 0xBF], 1),
        _Row("3629-3 F0 8F is overlong", [0xF0, 0x8F, 0xBF, 0xBF], 1),
        _Row("3629-3 surrogate", [0xED, 0xA0, 0x80], 1),
        _Row("3629-3 above U+10FFFF", [0xF4, 0x90, 0x80, 0x80], 1),
        _Row("3629-3 F5 begins nothing", [0xF5, 0x80], 0),
        _Row("3629-3 FF begins nothing", [97, 98, 0xFF], 2),
        _Row("3629-3 ASCII in between", [0xE2, 0x82, 0x28], 2),
        _Row("3629-3 a start in between", [0xE2, 0xE2, 0x82], 1),
        _Row("3629-3 one too many", [0xC3, 0xA4, 0xA4], 2),
    ]


def test_rows_at_every_place_and_cut_everywhere() raises:
    for row in _rows():
        for before in range(0, 70, 3):
            var octets = List[UInt8](length=before, fill=97)
            octets.extend(Span(row.octets))
            octets.extend(List[UInt8](length=before, fill=98))
            var memory = GuardedBytes(Span(octets))
            var wanted = row.bad + before if row.bad >= 0 else -1
            for cut in range(len(octets) + 1):
                var checker = Utf8Checker()
                var bad = checker.check(memory.span()[0:cut])
                if bad < 0:
                    bad = checker.check(memory.span()[cut:])
                    bad = bad + cut if bad >= 0 else -1
                assert_equal(bad, wanted, row.rule)
                if wanted < 0:
                    assert_true(checker.is_complete())
            _ = memory^


def test_all_triples_agree_with_the_decoder() raises:
    # The third octet from each class that the grammar tells apart.
    var thirds: List[UInt8] = [0, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC2]
    for first in range(256):
        for second in range(256):
            for third in thirds:
                var octets: List[UInt8] = [UInt8(first), UInt8(second), third]
                var checker = Utf8Checker()
                var is_good = checker.check(Span(octets)) < 0
                is_good = is_good and checker.is_complete()
                assert_equal(is_good, is_valid_utf8(Span(octets)))


def test_a_text_that_breaks_off_is_not_complete() raises:
    var text = "\u00e4\u20ac\U0001f4a9"
    for end in range(text.byte_length() + 1):
        var checker = Utf8Checker()
        assert_equal(checker.check(text.as_bytes()[0:end]), -1)
        assert_equal(
            checker.is_complete(), is_valid_utf8(text.as_bytes()[0:end])
        )

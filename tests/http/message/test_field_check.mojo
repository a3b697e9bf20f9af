"""Field lines that we write: every octet, and every place in a block."""

from flare.http.message.field_check import check_field
from std.testing import assert_equal
from tests.support.guard_page import GuardedBytes


def _refusal(name: StringSpan, value: StringSpan) -> String:
    """Gives which part was refused, and at which offset."""
    try:
        check_field(name, value)
    except error:
        return String(error.part, " ", error.offset)
    return ""


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var name: StaticString
    var value: StaticString
    var refusal: StaticString


def test_rows() raises:
    var rows: List[_Row] = [
        _Row("9110-5.1 a name is a token", "X-a_1.~", "v", ""),
        _Row("9110-5.1 a token has an octet", "", "v", "field name 0"),
        _Row("9110-5.6.2 no space", "X a", "v", "field name 1"),
        _Row("9110-5.6.2 no colon", "Xa:", "v", "field name 2"),
        _Row("9110-5.6.2 ASCII alone", "Xä", "v", "field name 1"),
        _Row("9110-5.5 a value may be empty", "a", "", ""),
        _Row("9110-5.5 HTAB and obs-text", "a", "\tä b\t", ""),
        _Row("9110-5.5 no CR", "a", "b\r\nc: d", "field value 1"),
        _Row("9110-5.5 no LF", "a", "b\nc", "field value 1"),
        _Row("9110-5.5 no NUL", "a", "b\0", "field value 1"),
        _Row("9110-5.5 no DEL", "a", "\x7f", "field value 0"),
        _Row("the name comes first", "a b", "c\r", "field name 1"),
        _Row(
            "HTAB ends a block, not the check",
            "a",
            "0123456789\t12345 a whole block follows\n.",
            "field value 38",
        ),
    ]
    for row in rows:
        assert_equal(_refusal(row.name, row.value), row.refusal, row.rule)


def test_every_octet() raises:
    """A value takes HTAB, and what is neither below a space nor DEL."""
    var token = StaticString(
        "!#$%&'*+-.^_`|~0123456789"
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    )
    for octet in range(256):
        var text: List[UInt8] = [UInt8(octet)]
        var span = StringSpan(unsafe_from_utf8=Span(text))
        var is_token = UInt8(octet) in token.as_bytes()
        assert_equal(
            _refusal(span, ""),
            "" if is_token else "field name 0",
            String(octet),
        )
        var is_plain = octet == 9 or (octet >= 32 and octet != 127)
        assert_equal(
            _refusal("a", span),
            "" if is_plain else "field value 0",
            String(octet),
        )


def test_every_place_in_and_beyond_a_block() raises:
    """Values are checked sixteen octets at a time, from the first on; what is
    behind the last block, one by one. The value ends where memory does."""
    for length in range(1, 50):
        for place in range(length):
            for octet in [0, 10, 13, 31, 127]:
                var text = List[UInt8](length=length, fill=97)
                text[place] = UInt8(octet)
                var guarded = GuardedBytes(text)
                assert_equal(
                    _refusal("a", StringSpan(unsafe_from_utf8=guarded.span())),
                    String("field value ", place),
                    String(length, " octets"),
                )
        var plain = List[UInt8](length=length, fill=0xFF)
        plain[length // 2] = 9
        var guarded = GuardedBytes(plain)
        assert_equal(
            _refusal("a", StringSpan(unsafe_from_utf8=guarded.span())), ""
        )

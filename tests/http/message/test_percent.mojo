"""Percent-encoding (RFC 3986 section 2.1)."""

from flare.http.message.percent import percent_decode
from std.testing import assert_equal


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

"""Vary (RFC 9110 section 12.5.5)."""

from flare.http.message.header_map import HeaderMap
from flare.http.message.vary import add_vary
from std.testing import assert_equal


@fieldwise_init
struct _Row(Copyable, Movable):
    var before: StaticString
    var after: StaticString


def test_add_vary() raises:
    var rows: List[_Row] = [
        _Row("", "Vary: Origin\n"),
        _Row("Accept", "Vary: Accept\nVary: Origin\n"),
        _Row("accept , ORIGIN", "Vary: accept , ORIGIN\n"),
        _Row("*", "Vary: *\n"),
        _Row("Original", "Vary: Original\nVary: Origin\n"),
    ]
    for row in rows:
        var headers = HeaderMap()
        if row.before.byte_length() > 0:
            headers.set("Vary", row.before)
        add_vary(headers, "Origin")
        assert_equal(String(headers), row.after)
        add_vary(headers, "origin")
        assert_equal(String(headers), row.after)

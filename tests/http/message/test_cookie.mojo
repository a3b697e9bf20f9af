"""The Cookie field (RFC 6265 section 5.4)."""

from flare.http.message.cookie import parse_cookie_header
from std.testing import assert_equal


@fieldwise_init
struct _Row(Copyable, Movable):
    var text: StaticString
    var cookies: StaticString


def test_parse_cookie_header() raises:
    var rows: List[_Row] = [
        _Row("", ""),
        _Row("a=b", "a=b,"),
        _Row("a=b; c=d", "a=b,c=d,"),
        _Row(" a = b ;c=d;", "a=b,c=d,"),
        _Row("a=b=c; d=", "a=b=c,d=,"),
        _Row("a; =b; c=d", "c=d,"),
        _Row('a="b; c"', 'a="b,'),
        _Row(";;;", ""),
    ]
    for row in rows:
        var text = String()
        for cookie in parse_cookie_header(row.text):
            text.write(cookie, ",")
        assert_equal(text, row.cookies, row.text)

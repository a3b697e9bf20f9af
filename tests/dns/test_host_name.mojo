"""Tests of which texts may be host names."""

from flare.dns.host_name import check_host_name
from tests.support.assertions import assert_equal, assert_true
from tests.support.guard_page import GuardedBytes


@fieldwise_init
struct _Row(Copyable):
    var rule: String
    var text: String
    var offset: Int
    """Where it is refused; -1 if it passes."""


def _offset(text: StringSpan) raises -> Int:
    # Right before a forbidden page: reading one octet too far would crash.
    var guarded = GuardedBytes(text.as_bytes())
    try:
        check_host_name(guarded.span())
        return -1
    except error:
        assert_equal(error.text, String(text))
        return error.offset


def _labels(count: Int, length: Int) -> String:
    var text = String()
    for index in range(count):
        if index > 0:
            text.write(".")
        text.write(String("a") * length)
    return text^


def test_host_name_rows() raises:
    var rows: List[_Row] = [
        _Row("1123-2.1 one label", "localhost", -1),
        _Row("1123-2.1 several labels", "www.example.com", -1),
        _Row("1123-2.1 a digit may come first", "3com.example", -1),
        _Row("1123-2.1 inner hyphens", "a--b.ex-ample.com", -1),
        _Row("1034-3.1 the root's dot", "example.com.", -1),
        _Row("5891-4.4 the ASCII form", "xn--mnchen-3ya.example", -1),
        _Row("2782 underscores exist", "_http._tcp.example", -1),
        _Row("1035-2.3.3 upper case", "EXAMPLE.Com", -1),
        _Row("1035-2.3.4 label of 63", _labels(2, 63), -1),
        _Row("1035-2.3.4 label of 64", _labels(1, 64), 63),
        _Row("1035-2.3.4 second label of 64", "b." + _labels(1, 64), 65),
        _Row("1035-2.3.4 name of 253", _labels(127, 1), -1),
        _Row("1035-2.3.4 253 and a dot", _labels(127, 1) + ".", -1),
        _Row("1035-2.3.4 name of 254", _labels(126, 1) + "bb", -1),
        _Row("1035-2.3.4 name of 255", _labels(128, 1), 253),
        _Row("empty", "", 0),
        _Row("the root alone", ".", 0),
        _Row("1035-2.3.1 empty first label", ".a", 0),
        _Row("1035-2.3.1 empty label", "a..b", 2),
        _Row("1035-2.3.1 two dots at the end", "a..", 2),
        _Row("952 hyphen first", "-a.example", 0),
        _Row("952 hyphen first in a label", "a.-b", 2),
        _Row("952 hyphen last", "a-.example", 1),
        _Row("security table: NUL", "a\0b", 1),
        _Row("security table: NUL at the end", "example.com\0", 11),
        _Row("security table: CR", "a\rb", 1),
        _Row("security table: LF", "a\nb", 1),
        _Row("security table: at sign", "user@host", 4),
        _Row("3986-3.2.2 space", "a b", 1),
        _Row("3986-3.2.2 colon", "a:80", 1),
        _Row("3986-3.2.2 slash", "a/b", 1),
        _Row("3986-2.1 percent", "a%2eb", 1),
        _Row("4007-11 zone", "fe80::1%eth0", 4),
        _Row("3986-3.2.2 brackets", "[::1]", 0),
        _Row("5891-4.4 not ASCII", "münchen.example", 1),
        _Row("inet_aton: two parts", "127.1", 4),
        _Row("inet_aton: one number", "2130706433", 0),
        _Row("inet_aton: octal", "0177.0.0.01", 9),
        _Row("inet_aton: hex", "0x7f000001", 0),
        _Row("inet_aton: hex last", "127.0.0.0X1", 8),
        _Row("inet_aton: hex without digits", "a.0x", 2),
        _Row("inet_aton: five parts", "1.2.3.4.5", 8),
        _Row("an address with a dot", "127.0.0.1.", 8),
        _Row("an octet too large", "256.1.1.1", 8),
        _Row("a number that is not last", "1.2.3.4.example", -1),
        _Row("hex-like but none", "0xg", -1),
        _Row("an x alone", "x", -1),
    ]
    for row in rows:
        assert_equal(_offset(row.text), row.offset, row.rule)


def test_host_name_error_escapes_what_it_shows() raises:
    var text = String()
    try:
        check_host_name("a\r\nSet-Cookie: b".as_bytes())
    except error:
        text = String(error)
    assert_true("'a\\x0d\\x0aSet" in text, text)
    assert_true("(byte 1)" in text, text)

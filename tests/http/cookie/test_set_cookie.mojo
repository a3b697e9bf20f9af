"""The Set-Cookie field as clients read it (RFC 6265 section 5.2)."""

from flare.http import Cookie, SameSite, parse_set_cookie_header
from tests.support.assertions import assert_equal, assert_true


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var text: StaticString
    var cookie: StaticString


def _text(cookie: Cookie) -> String:
    var text = String("[", cookie.name, "]=[", cookie.value, "]")
    if cookie.domain.byte_length() > 0:
        text.write(" domain=", cookie.domain)
    if cookie.path.byte_length() > 0:
        text.write(" path=", cookie.path)
    if cookie.max_age:
        text.write(" max-age=", cookie.max_age.value())
    if cookie.expires:
        text.write(" expires=", cookie.expires.value())
    if cookie.secure:
        text.write(" secure")
    if cookie.http_only:
        text.write(" httponly")
    if cookie.same_site != SameSite.UNSET:
        text.write(" samesite=", cookie.same_site)
    if cookie.partitioned:
        text.write(" partitioned")
    return text^


def test_reads() raises:
    var rows: List[_Row] = [
        _Row("6265-5.2 pair", "a=b", "[a]=[b]"),
        _Row("6265-5.2 whitespace", " \ta = b c\t; ", "[a]=[b c]"),
        _Row("6265-5.2 empty value", "a=", "[a]=[]"),
        _Row("6265-5.2 first equals sign", "a=b=c", "[a]=[b=c]"),
        _Row("6265-5.2 quotes stay", 'a="b c"', '[a]=["b c"]'),
        _Row("6265-5.2 commas stay", "a=b, c=d", "[a]=[b, c=d]"),
        _Row("6265-5.2 not ASCII", "\u00e4=\u00f6", "[\u00e4]=[\u00f6]"),
        _Row(
            "6265-5.2.1 Expires",
            "a=b; expires=Sun, 06-Nov-94 08:49:37 GMT",
            "[a]=[b] expires=784111777",
        ),
        _Row("6265-5.2.1 no date", "a=b; Expires=soon", "[a]=[b]"),
        _Row("6265-5.2.2 Max-Age", "a=b; MAX-AGE=60", "[a]=[b] max-age=60"),
        _Row("6265-5.2.2 negative", "a=b; max-age=-7", "[a]=[b] max-age=-7"),
        _Row(
            "6265-5.2.2 huge",
            "a=b; max-age=99999999999999999999999999",
            "[a]=[b] max-age=1099511627776",
        ),
        _Row("6265-5.2.2 no number", "a=b; max-age=6 0; max-age=+6", "[a]=[b]"),
        _Row("6265-5.2.2 empty", "a=b; max-age=; max-age=-", "[a]=[b]"),
        _Row(
            "6265-5.2.3 Domain",
            "a=b; domain=.Example.COM",
            "[a]=[b] domain=example.com",
        ),
        _Row(
            "6265-5.2.3 empty is ignored",
            "a=b; domain=x.y; domain=",
            "[a]=[b] domain=x.y",
        ),
        _Row("6265-5.2.4 Path", "a=b; path=/c; PATH=/d", "[a]=[b] path=/d"),
        _Row("6265-5.2.4 no slash", "a=b; path=/c; path=d", "[a]=[b]"),
        _Row("6265-5.2.5 Secure", "a=b;secure", "[a]=[b] secure"),
        _Row("6265-5.2.5 with a value", "a=b;Secure=no", "[a]=[b] secure"),
        _Row("6265-5.2.6 HttpOnly", "a=b;HttpOnly", "[a]=[b] httponly"),
        _Row("6265bis-5.6.7", "a=b;SameSite=STRICT", "[a]=[b] samesite=Strict"),
        _Row("6265bis-5.6.7 unknown", "a=b;SameSite=Other", "[a]=[b]"),
        _Row("CHIPS", "a=b; partitioned", "[a]=[b] partitioned"),
        _Row("6265-5.2 unknown ones", "a=b; ;;=;x;y=z;=q", "[a]=[b]"),
        _Row(
            "6265bis-5.6 step 3 no equals sign", "a; path=/c", "[]=[a] path=/c"
        ),
        _Row("6265bis-5.6 step 3 no name", "=a", "[]=[a]"),
        _Row("6265bis-5.6 step 4 whitespace", " \t = a ", "[]=[a]"),
        _Row("6265bis-5.6 step 3 the first sign", "==a", "[]=[=a]"),
    ]
    for row in rows:
        assert_equal(
            _text(parse_set_cookie_header(row.text)), row.cookie, row.rule
        )


@fieldwise_init
struct _BadRow(Copyable, Movable):
    var rule: StaticString
    var text: StaticString
    var part: StaticString
    var offset: Int


def test_refuses() raises:
    var rows: List[_BadRow] = [
        _BadRow("6265bis-5.7 step 2 empty", "", "name", -1),
        _BadRow("6265bis-5.7 step 2 nothing", " \t = ; b=c", "name", -1),
        _BadRow("6265bis-5.7 step 2 nothing", "; b=c", "name", -1),
        _BadRow("6265bis-5.6 NUL", "a=b\0c", "field", 3),
        _BadRow("6265bis-5.6 CR", "a=b; Path=/\r", "field", 11),
        _BadRow("6265bis-5.6 LF", "\na=b", "field", 0),
        _BadRow("6265bis-5.6 DEL", "a\x7f=b", "field", 1),
    ]
    for row in rows:
        var refused = False
        try:
            _ = parse_set_cookie_header(row.text)
        except error:
            refused = True
            assert_equal(error.part, row.part, row.rule)
            assert_equal(error.offset, row.offset, row.rule)
        assert_true(refused, row.rule)


def test_lengths() raises:
    var cookie = parse_set_cookie_header("a=" + String("b") * 4_095)
    assert_equal(cookie.value.byte_length(), 4_095)
    var refused = False
    try:
        _ = parse_set_cookie_header("a=" + String("b") * 4_096)
    except error:
        refused = error.part == "value"
    assert_true(refused)
    # RFC 6265bis section 5.6: an attribute that is too long is left out.
    cookie = parse_set_cookie_header("a=b; path=/" + String("c") * 1_023)
    assert_equal(cookie.path.byte_length(), 1_024)
    cookie = parse_set_cookie_header("a=b; path=/" + String("c") * 1_024)
    assert_equal(cookie.path, "")

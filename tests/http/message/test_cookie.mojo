"""Cookies: the Cookie field, and what a server sets (RFC 6265)."""

from flare.http import (
    Cookie,
    CookieJar,
    OwnedRequest,
    SameSite,
    ok,
    parse_cookie_header,
    parse_set_cookie_header,
)
from tests.support.assertions import assert_equal, assert_true


def test_call_sites_of_the_specification() raises:
    var jar = CookieJar()
    jar.set(Cookie("session", "abc", secure=True, http_only=True))
    assert_equal(jar.to_request_header(), "session=abc")
    var cookie = parse_set_cookie_header("id=42; Path=/; Max-Age=3600")
    assert_equal(cookie.name, "id")
    assert_equal(cookie.value, "42")
    assert_equal(cookie.max_age, 3600)
    assert_true(cookie.max_age == 3600)
    assert_equal(String(cookie.max_age), "3600")
    assert_equal(cookie.path, "/")


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


@fieldwise_init
struct _OctetRow(Copyable, Movable):
    var rule: StaticString
    var octets: List[UInt8]
    var cookies: StaticString


def _octets(text: StaticString) -> List[UInt8]:
    """Gives the octets of a text, `*` standing for one that is no UTF-8."""
    var octets = List[UInt8]()
    for octet in text.as_bytes():
        octets.append(0xFF if octet == 42 else octet)
    return octets^


def test_one_cookie_that_is_no_text_has_no_say_in_others() raises:
    # RFC 6265-5.4: a user agent sends the octets that it was given.
    var rows: List[_OctetRow] = [
        _OctetRow("in a value", _octets("a=b; x=*; c=d"), "a=b,c=d,"),
        _OctetRow("in a name", _octets("a=b; *=x; c=d"), "a=b,c=d,"),
        _OctetRow("in the first", _octets("x=*;c=d"), "c=d,"),
        _OctetRow("in the last", _octets("c=d; x=*"), "c=d,"),
        _OctetRow("in what is no pair", _octets("*; c=d; **"), "c=d,"),
        _OctetRow("a cut sequence", [97, 61, 0xC3, 59, 99, 61, 100], "c=d,"),
    ]
    for row in rows:
        var text = String()
        for cookie in parse_cookie_header(Span(row.octets)):
            text.write(cookie, ",")
        assert_equal(text, row.cookies, row.rule)
        var owned = OwnedRequest("GET", "/")
        owned.add_header("Cookie", StringSpan(unsafe_from_utf8=row.octets))
        text = String()
        for cookie in owned.view().cookies():
            text.write(cookie, ",")
        assert_equal(text, row.cookies, row.rule)


def test_to_set_cookie_header() raises:
    var cookie = Cookie("id", "42")
    assert_equal(cookie.to_set_cookie_header(), "id=42")
    assert_equal(String(cookie), "id=42")
    cookie = Cookie(
        "id",
        '"a+b"',
        domain="example.com",
        path="/a b",
        max_age=3600,
        expires=784_111_777,
        secure=True,
        http_only=True,
        same_site=SameSite.NONE,
        partitioned=True,
    )
    assert_equal(
        cookie.to_set_cookie_header(),
        'id="a+b"; Expires=Sun, 06 Nov 1994 08:49:37 GMT; Max-Age=3600;'
        " Domain=example.com; Path=/a b; Secure; HttpOnly; SameSite=None;"
        " Partitioned",
    )
    # What is written is read back.
    assert_true(
        parse_set_cookie_header(cookie.to_set_cookie_header()) == cookie
    )
    cookie = Cookie("a", "", max_age=-5, same_site=SameSite.LAX)
    assert_equal(cookie.to_set_cookie_header(), "a=; Max-Age=0; SameSite=Lax")


@fieldwise_init
struct _BadRow(Copyable, Movable):
    var rule: StaticString
    var name: StaticString
    var value: StaticString
    var domain: StaticString
    var path: StaticString
    var part: StaticString
    var offset: Int


def test_refuses_what_cannot_be_written() raises:
    var rows: List[_BadRow] = [
        _BadRow("6265-4.1.1 empty name", "", "b", "", "", "name", -1),
        _BadRow("6265-4.1.1 token", "a b", "c", "", "", "name", 1),
        _BadRow("6265-4.1.1 token", "a=b", "c", "", "", "name", 1),
        _BadRow("6265-4.1.1 token", "a\r\nb", "c", "", "", "name", 1),
        _BadRow("6265-4.1.1 token", "\u00e4", "c", "", "", "name", 0),
        _BadRow("6265-4.1.1 SP", "a", "b c", "", "", "value", 1),
        _BadRow("6265-4.1.1 semicolon", "a", "b;c", "", "", "value", 1),
        _BadRow("6265-4.1.1 comma", "a", "b,c", "", "", "value", 1),
        _BadRow("6265-4.1.1 backslash", "a", "\\", "", "", "value", 0),
        _BadRow("6265-4.1.1 CTL", "a", "b\n", "", "", "value", 1),
        _BadRow("6265-4.1.1 NUL", "a", "b\0", "", "", "value", 1),
        _BadRow("6265-4.1.1 not ASCII", "a", "b\u00e4", "", "", "value", 1),
        _BadRow("6265-4.1.1 quote within", "a", 'b"c', "", "", "value", 1),
        _BadRow("6265-4.1.1 one quote", "a", '"', "", "", "value", 0),
        _BadRow("6265-4.1.2.3 octet", "a", "b", "a;b", "", "Domain", 1),
        _BadRow("6265-4.1.2.3 port", "a", "b", "a.b:80", "", "Domain", 3),
        _BadRow("6265-4.1.2.3 leading dot", "a", "b", ".a.b", "", "Domain", 0),
        _BadRow("6265-4.1.2.3 empty label", "a", "b", "a..b", "", "Domain", 2),
        _BadRow("6265-4.1.2.3 last dot", "a", "b", "a.b.", "", "Domain", 3),
        _BadRow("6265-4.1.1 path", "a", "b", "", "x", "Path", 0),
        _BadRow("6265-4.1.1 path-value", "a", "b", "", "/;", "Path", 1),
        _BadRow("6265-4.1.1 path-value", "a", "b", "", "/\r", "Path", 1),
        _BadRow("6265bis-4.1.3.1", "__Secure-a", "b", "", "", "name", -1),
        _BadRow("6265bis-4.1.3.2", "__Host-a", "b", "", "/", "name", -1),
        _BadRow(
            "6265bis-4.1.3.2 any case", "__hOST-a", "b", "", "/", "name", -1
        ),
    ]
    for row in rows:
        var refused = False
        try:
            _ = Cookie(
                String(row.name),
                String(row.value),
                domain=String(row.domain),
                path=String(row.path),
            )
        except error:
            refused = True
            assert_equal(error.part, row.part, row.rule)
            assert_equal(error.offset, row.offset, row.rule)
            for octet in String(error).as_bytes():
                assert_true(octet >= 32 and octet < 127, row.rule)
        assert_true(refused, row.rule)


def _part_refused(cookie: Cookie) -> String:
    try:
        _ = cookie.to_set_cookie_header()
        return "nothing"
    except error:
        return String(error.part)


def test_attributes_that_do_not_go_together() raises:
    var cookie = Cookie("a", "b")
    cookie.same_site = SameSite.NONE
    assert_equal(_part_refused(cookie), "SameSite")
    cookie.secure = True
    cookie.partitioned = True
    assert_equal(_part_refused(cookie), "nothing")
    cookie.secure = False
    cookie.same_site = SameSite.UNSET
    assert_equal(_part_refused(cookie), "Partitioned")
    cookie = Cookie("__Host-a", "b", path="/", secure=True)
    assert_equal(_part_refused(cookie), "nothing")
    cookie.domain = "example.com"
    assert_equal(_part_refused(cookie), "name")
    cookie.domain = ""
    cookie.path = "/a"
    assert_equal(_part_refused(cookie), "name")
    cookie = Cookie("__Secure-a", "b", secure=True)
    assert_equal(_part_refused(cookie), "nothing")


def test_numbers_and_lengths_have_bounds() raises:
    var cookie = Cookie("a", "b", expires=253_402_300_799)
    assert_true("9999 23:59:59" in cookie.to_set_cookie_header())
    cookie.expires = 253_402_300_800
    assert_equal(_part_refused(cookie), "Expires")
    cookie.expires = -1
    assert_equal(_part_refused(cookie), "Expires")
    cookie = Cookie("a", String("b") * 4_095)
    assert_equal(_part_refused(cookie), "nothing")
    cookie.value += "b"
    assert_equal(_part_refused(cookie), "value")
    cookie = Cookie("a", "b", path="/" + String("c") * 1_023)
    assert_equal(_part_refused(cookie), "nothing")
    cookie.path += "c"
    assert_equal(_part_refused(cookie), "Path")
    cookie = Cookie("a", "b", domain=String("a.") * 126 + "a")
    assert_equal(_part_refused(cookie), "nothing")
    cookie.domain += "a"
    assert_equal(_part_refused(cookie), "Domain")


def test_a_field_changed_later_is_checked_when_written() raises:
    var cookie = Cookie("a", "b")
    cookie.value = "b\r\nX-Evil: 1"
    assert_equal(_part_refused(cookie), "value")


def test_responses_set_cookies() raises:
    var response = ok("hello")
    response.set_cookie(Cookie("a", "b", path="/"))
    response.set_cookie(Cookie("c", "d"))
    var lines = String()
    for index in range(len(response.headers)):
        if response.headers.name(index) == "Set-Cookie":
            lines.write(response.headers.value(index), "|")
    assert_equal(lines, "a=b; Path=/|c=d|")
    var cookie = Cookie("a", "b")
    cookie.name = "a\n"
    var refused = False
    try:
        response.set_cookie(cookie)
    except error:
        refused = True
        assert_equal(
            String(error),
            "cookie name 'a\\x0a': octet 10 at byte 1 is not allowed; a name is"
            " letters, digits and !#$%&'*+-.^_`|~ (RFC 6265 section 4.1.1)",
        )
    assert_true(refused)

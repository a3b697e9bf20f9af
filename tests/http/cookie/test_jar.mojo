"""The cookies that a client keeps (RFC 6265 section 5.3 and 5.4); the vectors
hold many more."""

from flare.http import Cookie, CookieJar, Url, parse_set_cookie_header
from flare.http.cookie.jar import (
    COOKIE_COUNT_MAX,
    DOMAIN_COOKIE_COUNT_MAX,
    LIFETIME_S_MAX,
    default_path,
    domain_matches,
    is_ip_host,
    is_top_level,
    path_matches,
)
from tests.support.assertions import assert_equal, assert_false, assert_true

comptime _NOW = 1_600_000_000


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var url: StaticString
    var set_cookie: StaticString
    var request: StaticString
    var header: StaticString


def test_one_cookie() raises:
    comptime HTTP = StaticString("http://a.example.com/x/y")
    comptime HTTPS = StaticString("https://a.example.com/x/y")
    var rows: List[_Row] = [
        _Row(
            "6265-5.3 host-only", HTTP, "k=v", "http://a.example.com/x/", "k=v"
        ),
        _Row("6265-5.3 not above", HTTP, "k=v", "http://example.com/x/", ""),
        _Row(
            "6265-5.3 not below", HTTP, "k=v", "http://b.a.example.com/x/", ""
        ),
        _Row(
            "6265-5.4 ports are one",
            HTTP,
            "k=v",
            "http://a.example.com:81/x/",
            "k=v",
        ),
        _Row(
            "6265-5.3 domain",
            HTTP,
            "k=v;domain=example.com",
            "http://b.example.com/x/",
            "k=v",
        ),
        _Row(
            "6265-5.3 sibling",
            HTTP,
            "k=v;domain=b.example.com",
            "http://b.example.com/x/",
            "",
        ),
        _Row(
            "6265-5.3 below",
            HTTP,
            "k=v;domain=b.a.example.com",
            "http://b.a.example.com/x/",
            "",
        ),
        _Row(
            "6265-5.3 top level",
            HTTP,
            "k=v;domain=com",
            "http://a.example.com/x/",
            "",
        ),
        _Row(
            "6265-5.3 top level, dot",
            HTTP,
            "k=v;domain=.com",
            "http://other.com/x/",
            "",
        ),
        _Row(
            "6265-5.3 own label",
            "http://localhost/",
            "k=v;domain=localhost",
            "http://localhost/",
            "k=v",
        ),
        _Row(
            "6265-5.3 own label, below",
            "http://localhost/",
            "k=v;domain=localhost",
            "http://a.localhost/",
            "",
        ),
        _Row(
            "6265-5.1.3 address",
            "http://10.0.0.1/",
            "k=v;domain=10.0.0.1",
            "http://10.0.0.1/",
            "k=v",
        ),
        _Row(
            "6265-5.1.3 its suffix",
            "http://10.0.0.1/",
            "k=v;domain=0.0.1",
            "http://10.0.0.1/",
            "",
        ),
        _Row(
            "6265-5.1.3 version 6",
            "http://[::1]/",
            "k=v",
            "http://[::1]/",
            "k=v",
        ),
        _Row(
            "6265-5.1.4 default path",
            HTTP,
            "k=v",
            "http://a.example.com/xy",
            "",
        ),
        _Row(
            "6265-5.1.4 path",
            HTTP,
            "k=v;path=/",
            "http://a.example.com/",
            "k=v",
        ),
        _Row("6265-5.4 secure", HTTPS, "k=v;secure", HTTPS, "k=v"),
        _Row("6265-5.4 secure to plain", HTTPS, "k=v;secure", HTTP, ""),
        _Row("6265-5.4 plain to secure", HTTP, "k=v", HTTPS, "k=v"),
        _Row(
            "6265-5.4 WebSocket",
            HTTPS,
            "k=v;secure",
            "wss://a.example.com/x/",
            "k=v",
        ),
        _Row("6265bis-5.7 secure from plain", HTTP, "k=v;secure", HTTPS, ""),
        _Row(
            "6265bis-4.1.3.1",
            HTTPS,
            "__Secure-k=v;secure",
            HTTPS,
            "__Secure-k=v",
        ),
        _Row("6265bis-4.1.3.1 not secure", HTTPS, "__Secure-k=v", HTTPS, ""),
        _Row("6265bis-4.1.3.1 any case", HTTPS, "__SECURE-k=v", HTTPS, ""),
        _Row(
            "6265bis-4.1.3.2",
            HTTPS,
            "__Host-k=v;secure;path=/",
            HTTPS,
            "__Host-k=v",
        ),
        _Row("6265bis-4.1.3.2 no path", HTTPS, "__Host-k=v;secure", HTTPS, ""),
        _Row(
            "6265bis-5.7 no path, although the default is /",
            "https://a.example.com/x",
            "__Host-k=v;secure",
            HTTPS,
            "",
        ),
        _Row(
            "6265bis-4.1.3.2 path",
            HTTPS,
            "__Host-k=v;secure;path=/x",
            HTTPS,
            "",
        ),
        _Row(
            "6265bis-4.1.3.2 domain",
            HTTPS,
            "__Host-k=v;secure;path=/;domain=example.com",
            HTTPS,
            "",
        ),
        _Row(
            "6265bis-4.1.3.2 own domain",
            HTTPS,
            "__Host-k=v;secure;path=/;domain=a.example.com",
            HTTPS,
            "",
        ),
        _Row("6265bis-5.6 step 3 no name", HTTP, "value", HTTP, "value"),
        _Row("6265bis-5.7 step 2 nothing", HTTP, " = ;Path=/", HTTP, ""),
        _Row("6265bis-5.6 control octet", HTTP, "k=v\x01", HTTP, ""),
        _Row("6265-5.3 HttpOnly", HTTP, "k=v;httponly", HTTP, "k=v"),
    ]
    for row in rows:
        var jar = CookieJar()
        var stored = jar.store(Url.parse(row.url), row.set_cookie, _NOW)
        var header = jar.header_for(Url.parse(row.request), _NOW)
        assert_equal(header, row.header, row.rule)
        assert_equal(stored, len(jar) == 1, row.rule)


def test_cookies_without_a_name() raises:
    """RFC 6265bis sections 5.6 (no name), 5.7 (one replaces another, and step 22:
    none may look as if its name had a prefix) and 5.8.3 (sent without `=`)."""
    var url = Url.parse("https://a.example.com/")
    var jar = CookieJar()
    assert_true(jar.store(url, "first", _NOW))
    assert_true(jar.store(url, "k=v", _NOW))
    assert_equal(jar.header_for(url, _NOW), "first; k=v")
    assert_true(jar.store(url, "=second; Path=/", _NOW))
    assert_equal(jar.header_for(url, _NOW), "second; k=v")
    for text in ["__Host-a", "=__Host-a=b", "__secure-a", "=__SECURE-a=b"]:
        assert_false(jar.store(url, String(text, "; Secure; Path=/"), _NOW))
    assert_equal(jar.header_for(url, _NOW), "second; k=v")
    assert_true(jar.store(url, "gone; Max-Age=0", _NOW))
    assert_equal(jar.header_for(url, _NOW), "k=v")
    for text in ["", "=", "; Path=/"]:
        assert_false(jar.store(url, text, _NOW), text)


def test_lifetimes() raises:
    var url = Url.parse("http://example.com/")
    var jar = CookieJar()
    assert_true(jar.store(url, "a=1; max-age=10", _NOW))
    assert_true(jar.store(url, "b=2", _NOW))
    assert_true(
        jar.store(url, "c=3; expires=Sun, 13 Sep 2020 12:26:45 GMT", _NOW)
    )
    assert_true(
        jar.store(url, "d=4; max-age=1; expires=1 Jan 2030 00:00:00", _NOW)
    )
    assert_equal(jar.header_for(url, _NOW), "a=1; b=2; c=3; d=4")
    assert_equal(jar.header_for(url, _NOW + 1), "a=1; b=2; c=3")
    assert_equal(jar.header_for(url, _NOW + 4), "a=1; b=2; c=3")
    assert_equal(jar.header_for(url, _NOW + 5), "a=1; b=2")
    assert_equal(jar.header_for(url, _NOW + 10), "b=2")
    assert_equal(len(jar), 1)
    # RFC 6265 section 5.3 step 11: one that has ended removes its predecessor.
    assert_true(jar.store(url, "b=; max-age=0", _NOW))
    assert_equal(len(jar), 0)
    # RFC 6265bis section 5.5.
    assert_true(jar.store(url, "e=5; max-age=99999999999999999999", _NOW))
    assert_true(jar.store(url, "f=6; expires=1 Jan 9999 00:00:00", _NOW))
    assert_equal(jar.header_for(url, _NOW + LIFETIME_S_MAX - 1), "e=5; f=6")
    assert_equal(jar.header_for(url, _NOW + LIFETIME_S_MAX), "")


def test_order_and_replacement() raises:
    var url = Url.parse("http://a.example.com/x/y/")
    var jar = CookieJar()
    _ = jar.store(url, "short=1; path=/", _NOW)
    _ = jar.store(url, "long=1; path=/x/y", _NOW)
    _ = jar.store(url, "middle=1; path=/x", _NOW)
    _ = jar.store(url, "late=1; path=/x", _NOW)
    # A replaced cookie keeps its place (section 5.3 step 11.3).
    _ = jar.store(url, "middle=2; path=/x", _NOW)
    assert_equal(jar.header_for(url, _NOW), "long=1; middle=2; late=1; short=1")
    # Another path or domain makes another cookie.
    _ = jar.store(url, "long=3; path=/x/", _NOW)
    _ = jar.store(url, "long=4; path=/x/y; domain=example.com", _NOW)
    assert_equal(
        jar.header_for(url, _NOW),
        "long=1; long=4; long=3; middle=2; late=1; short=1",
    )


def test_plain_connections_leave_secure_cookies_alone() raises:
    var plain = Url.parse("http://a.example.com/x/")
    var secure = Url.parse("https://a.example.com/x/")
    var jar = CookieJar()
    _ = jar.store(secure, "k=good; secure; path=/x; domain=example.com", _NOW)
    assert_false(jar.store(plain, "k=evil; path=/x", _NOW))
    assert_false(jar.store(plain, "k=evil; path=/x/y", _NOW))
    assert_false(
        jar.store(plain, "k=; max-age=0; path=/x; domain=example.com", _NOW)
    )
    # Another name, or a path beside it, is not in the way.
    assert_true(jar.store(plain, "other=1; path=/x", _NOW))
    assert_true(jar.store(plain, "k=beside; path=/", _NOW))
    assert_equal(jar.header_for(secure, _NOW), "k=good; other=1; k=beside")


def test_limits_of_a_domain() raises:
    var url = Url.parse("https://example.com/")
    var jar = CookieJar()
    _ = jar.store(url, "secure=1; secure", _NOW)
    for number in range(DOMAIN_COOKIE_COUNT_MAX - 1):
        _ = jar.store(url, String("k", number, "=1"), _NOW)
    assert_equal(len(jar), DOMAIN_COOKIE_COUNT_MAX)
    # The plain one used longest ago goes, however old the secure one is.
    _ = jar.store(url, "new=1", _NOW)
    assert_equal(len(jar), DOMAIN_COOKIE_COUNT_MAX)
    var header = jar.header_for(url, _NOW)
    assert_true("secure=1" in header)
    assert_true("new=1" in header)
    assert_false("k0=1" in header)
    assert_true("k1=1" in header)


def test_ended_cookies_go_first() raises:
    var url = Url.parse("https://example.com/")
    var jar = CookieJar()
    for number in range(DOMAIN_COOKIE_COUNT_MAX - 1):
        _ = jar.store(url, String("k", number, "=1"), _NOW)
    _ = jar.store(url, "ended=1; max-age=5", _NOW)
    _ = jar.store(url, "new=1", _NOW + 5)
    var header = jar.header_for(url, _NOW)
    assert_true("k0=1" in header)
    assert_false("ended=1" in header)


def test_limit_of_the_jar() raises:
    var jar = CookieJar()
    for number in range(COOKIE_COUNT_MAX):
        _ = jar.store(Url.parse(String("http://h", number, "/")), "k=v", _NOW)
    # Using the oldest saves it.
    assert_equal(jar.header_for(Url.parse("http://h0/"), _NOW), "k=v")
    _ = jar.store(Url.parse("http://other/"), "k=v", _NOW)
    assert_equal(len(jar), COOKIE_COUNT_MAX)
    assert_equal(jar.header_for(Url.parse("http://h0/"), _NOW), "k=v")
    assert_equal(jar.header_for(Url.parse("http://h1/"), _NOW), "")
    assert_equal(jar.header_for(Url.parse("http://other/"), _NOW), "k=v")
    jar.clear()
    assert_equal(len(jar), 0)


def test_cookies_of_ones_own() raises:
    var url = Url.parse("https://a.example.com/")
    var jar = CookieJar()
    assert_equal(jar.to_request_header(), "")
    jar.set(Cookie("free", "1"))
    jar.set(Cookie("bound", "2", domain="example.com"))
    jar.set(Cookie("free", "3"))
    assert_equal(jar.to_request_header(), "free=3; bound=2")
    # One without a domain goes to no host: to none is better than to all.
    assert_equal(jar.header_for(url, _NOW), "bound=2")
    assert_true(jar.store_cookie(url, Cookie("mine", "4"), _NOW))
    assert_equal(jar.header_for(url, _NOW), "bound=2; mine=4")
    assert_equal(jar.header_for(Url.parse("https://b.net/"), _NOW), "")
    jar.set(Cookie("free", "", max_age=0))
    assert_equal(jar.to_request_header(), "bound=2; mine=4")
    jar.set(Cookie("top", "5", domain="com"))
    assert_equal(jar.header_for(url, _NOW), "bound=2; mine=4")


def test_ones_own_cookie_cannot_split_a_request() raises:
    var jar = CookieJar()
    jar.set(parse_set_cookie_header("a b=c d"))
    for pair in [("a", "b\r\nX: y"), ("a\n", "b"), ("a", "b;c"), ("", "b")]:
        var cookie = Cookie("a", "b")
        cookie.name = String(pair[0])
        cookie.value = String(pair[1])
        var refused = False
        try:
            jar.set(cookie)
        except:
            refused = True
        assert_true(refused)
    assert_equal(jar.to_request_header(), "a b=c d")


@fieldwise_init
struct _CookieMatchRow(Copyable, Movable):
    var rule: StaticString
    var left: StaticString
    var right: StaticString
    var matches: Bool


def test_domains() raises:
    var rows: List[_CookieMatchRow] = [
        _CookieMatchRow(
            "6265-5.1.3 identical", "example.com", "example.com", True
        ),
        _CookieMatchRow(
            "6265-5.1.3 a host below", "a.example.com", "example.com", True
        ),
        _CookieMatchRow("6265-5.1.3 far below", "a.b.c.d", "c.d", True),
        _CookieMatchRow(
            "6265-5.1.3 no dot between", "aexample.com", "example.com", False
        ),
        _CookieMatchRow(
            "6265-5.1.3 a host above", "example.com", "a.example.com", False
        ),
        _CookieMatchRow(
            "6265-5.1.3 another", "example.org", "example.com", False
        ),
        _CookieMatchRow("6265-5.1.3 empty", "example.com", "", False),
        _CookieMatchRow(
            "6265-5.1.3 dot alone", ".example.com", "example.com", False
        ),
        _CookieMatchRow("6265-5.1.3 address", "127.0.0.1", "127.0.0.1", True),
        _CookieMatchRow(
            "6265-5.1.3 no suffix of one", "127.0.0.1", "0.0.1", False
        ),
        _CookieMatchRow("6265-5.1.3 version 6", "[::1]", "[::1]", True),
        _CookieMatchRow("6265-5.3 top level", "example.com", "com", False),
        _CookieMatchRow(
            "6265-5.3 top level, dot", "example.com.", "com.", False
        ),
        _CookieMatchRow("6265-5.3 itself", "localhost", "localhost", True),
    ]
    for row in rows:
        assert_equal(domain_matches(row.left, row.right), row.matches, row.rule)


def test_paths() raises:
    var rows: List[_CookieMatchRow] = [
        _CookieMatchRow("6265-5.1.4 identical", "/a", "/a", True),
        _CookieMatchRow("6265-5.1.4 below", "/a/b", "/a", True),
        _CookieMatchRow("6265-5.1.4 below, slash", "/a/b", "/a/", True),
        _CookieMatchRow("6265-5.1.4 below the root", "/a", "/", True),
        _CookieMatchRow("6265-5.1.4 a longer name", "/ab", "/a", False),
        _CookieMatchRow("6265-5.1.4 above", "/a", "/a/", False),
        _CookieMatchRow("6265-5.1.4 case counts", "/A", "/a", False),
        _CookieMatchRow("6265-5.1.4 encoding counts", "/%61", "/a", False),
        _CookieMatchRow("6265-5.1.4 empty", "/a", "", False),
    ]
    for row in rows:
        assert_equal(path_matches(row.left, row.right), row.matches, row.rule)


def test_default_paths() raises:
    var rows: List[_CookieMatchRow] = [
        _CookieMatchRow("6265-5.1.4", "/", "/", True),
        _CookieMatchRow("6265-5.1.4", "/a", "/", True),
        _CookieMatchRow("6265-5.1.4", "/a/", "/a", True),
        _CookieMatchRow("6265-5.1.4", "/a/b", "/a", True),
        _CookieMatchRow("6265-5.1.4", "/a/b/c", "/a/b", True),
        _CookieMatchRow("6265-5.1.4 no slash at first", "a/b", "/", True),
        _CookieMatchRow("6265-5.1.4 empty", "", "/", True),
        _CookieMatchRow("6265-5.1.4", "//", "/", True),
    ]
    for row in rows:
        assert_equal(default_path(row.left), row.right, row.left)


def test_hosts() raises:
    assert_true(is_ip_host("10.0.0.1"))
    assert_true(is_ip_host("[2001:db8::1]"))
    assert_false(is_ip_host("example.com"))
    assert_false(is_ip_host(""))
    assert_true(is_top_level("com"))
    assert_true(is_top_level("com."))
    assert_true(is_top_level(""))
    assert_false(is_top_level("co.uk"))


def test_public_suffixes() raises:
    """RFC 6265bis section 5.7: a suffix is no domain, but may be a host."""
    var jar = CookieJar()
    for row in [
        ("http://a.co.uk/", "a=1; Domain=co.uk"),
        ("http://a.co.uk/", "a=1; Domain=.co.uk"),
        ("http://me.github.io/", "a=1; Domain=github.io"),
        ("http://a.b.ck/", "a=1; Domain=b.ck"),
        ("http://a.example.com/", "a=1; Domain=com"),
        # CVE-2023-46218, CVE-2022-27779, CVE-2014-3613.
        ("http://a.co.uk/", "a=1; Domain=CO.UK"),
        ("http://a.co.uk./", "a=1; Domain=co.uk."),
        ("http://a.co.uk/", "a=1; Domain=co.uk."),
        ("http://127.0.0.1/", "a=1; Domain=0.0.1"),
    ]:
        assert_false(jar.store(Url.parse(row[0]), row[1], 0), row[1])
    assert_equal(len(jar), 0)
    assert_true(jar.store(Url.parse("http://co.uk/"), "b=1; Domain=co.uk", 0))
    assert_equal(jar.header_for(Url.parse("http://co.uk/"), 0), "b=1")
    assert_equal(jar.header_for(Url.parse("http://a.co.uk/"), 0), "")
    var copy = jar.copy()
    assert_true(
        copy.store(Url.parse("http://a.b.co.uk/"), "c=1; Domain=b.co.uk", 0)
    )
    assert_equal(copy.header_for(Url.parse("http://d.b.co.uk/"), 0), "c=1")
    assert_false(copy.store(Url.parse("http://x.uk/"), "d=1; Domain=uk", 0))


def test_the_case_of_a_domain_means_nothing() raises:
    # RFC 6265 section 5.1.2: names are compared in lower case, whoever gives
    # them.
    var url = Url.parse("https://a.example.com/")
    var jar = CookieJar()
    jar.set(Cookie("set", "1", domain="Example.COM"))
    assert_equal(jar.header_for(url, _NOW), "set=1")
    jar.clear()
    var cookie = Cookie("stored", "2", domain="EXAMPLE.com")
    assert_true(jar.store_cookie(url, cookie, _NOW))
    assert_equal(jar.header_for(url, _NOW), "stored=2")
    cookie = Cookie("top", "3", domain="COM")
    assert_false(jar.store_cookie(url, cookie, _NOW))

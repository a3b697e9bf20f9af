"""URLs after the URL Standard: components, normal form, relative references."""

from flare.url.parts import URL_LEN_MAX, UrlParseError
from flare.url.url import Url
from tests.support.assertions import assert_equal, assert_false, assert_true


@fieldwise_init
struct _Good(Copyable, Movable):
    """A spelling and its normal form."""

    var rule: StaticString
    var text: StaticString
    var href: StaticString


@fieldwise_init
struct _Bad(Copyable, Movable):
    """No URL, and where it stops being one."""

    var text: String
    var offset: Int
    var reason: StaticString


def _failure(text: StringSpan) raises -> UrlParseError:
    try:
        _ = Url.parse(text)
    except error:
        return error.copy()
    raise Error("accepted: ", text)


def test_url_components() raises:
    var url = Url.parse("HTTPS://me:pw@Example.COM:8443/a/b?c=d#e")
    assert_equal(url.href(), "https://me:pw@example.com:8443/a/b?c=d#e")
    assert_equal(url.protocol(), "https:")
    assert_equal(url.username(), "me")
    assert_equal(url.password(), "pw")
    assert_equal(url.host(), "example.com:8443")
    assert_equal(url.hostname(), "example.com")
    assert_equal(url.port(), "8443")
    assert_equal(url.port_number(), 8443)
    assert_equal(url.pathname(), "/a/b")
    assert_equal(url.search(), "?c=d")
    assert_equal(url.hash(), "#e")
    assert_equal(url.request_target(), "/a/b?c=d")
    assert_equal(String(url), String(url.href()))


def test_url_components_that_are_missing() raises:
    var url = Url.parse("http://h")
    for part in [
        url.username(),
        url.password(),
        url.port(),
        url.search(),
        url.hash(),
    ]:
        assert_equal(part, "")
    assert_equal(url.pathname(), "/")
    assert_equal(url.request_target(), "/")
    assert_equal(Url.parse("http://h?#").search(), "")
    assert_equal(Url.parse("http://h?#").hash(), "")
    assert_equal(Url.parse("mailto:me@h").hostname(), "")


@fieldwise_init
struct _Parts(Copyable, Movable):
    var url: StaticString
    var scheme: StaticString
    var hostname: StaticString
    var port: StaticString
    var path: StaticString
    var query: StaticString
    var fragment: StaticString


def test_url_parts_without_their_marks() raises:
    # RFC 3986 section 3: scheme, host, port, path, query and fragment.
    var rows: List[_Parts] = [
        _Parts("http://h", "http", "h", "", "/", "", ""),
        _Parts(
            "https://h:8443/a/b?c=1&d#e",
            "https",
            "h",
            "8443",
            "/a/b",
            "c=1&d",
            "e",
        ),
        _Parts("http://h/a?#", "http", "h", "", "/a", "", ""),
        _Parts("http://h/a?b", "http", "h", "", "/a", "b", ""),
        _Parts("http://h/a#?b", "http", "h", "", "/a", "", "?b"),
        _Parts("http://[::1]:80/?x", "http", "[::1]", "", "/", "x", ""),
        # CVE-2016-8624, CVE-2020-8169.
        _Parts(
            "http://a.test#@b.test/", "http", "a.test", "", "/", "", "@b.test/"
        ),
        _Parts(
            "http://a.test?@b.test/", "http", "a.test", "", "/", "@b.test/", ""
        ),
        _Parts(
            "http://a.test\\@b.test/", "http", "a.test", "", "/@b.test/", "", ""
        ),
        _Parts("http://u:p@q@b.test/", "http", "b.test", "", "/", "", ""),
        _Parts("mailto:a@b", "mailto", "", "", "a@b", "", ""),
    ]
    for row in rows:
        var url = Url.parse(row.url)
        assert_equal(url.scheme(), row.scheme, row.url)
        assert_equal(url.hostname(), row.hostname, row.url)
        assert_equal(url.port(), row.port, row.url)
        assert_equal(url.path(), row.path, row.url)
        assert_equal(url.pathname(), row.path, row.url)
        assert_equal(url.query(), row.query, row.url)
        assert_equal(url.fragment(), row.fragment, row.url)


def test_url_port_numbers() raises:
    assert_equal(Url.parse("http://h").port_number(), 80)
    assert_equal(Url.parse("https://h").port_number(), 443)
    assert_equal(Url.parse("ws://h").port_number(), 80)
    assert_equal(Url.parse("wss://h").port_number(), 443)
    assert_equal(Url.parse("http://h:443").port_number(), 443)
    assert_equal(Url.parse("x://h").port_number(), 0)


def test_url_normal_forms() raises:
    var rows: List[_Good] = [
        _Good("4.4 default port", "http://h:80/", "http://h/"),
        _Good("4.4 port of another scheme", "http://h:443/", "http://h:443/"),
        _Good("4.4 empty port", "http://h:/", "http://h/"),
        _Good("4.4 leading zeros", "http://h:00080/", "http://h/"),
        _Good("4.4 a leading zero", "http://h:080/", "http://h/"),
        _Good("4.4 zeros before another", "http://h:08080/", "http://h:8080/"),
        _Good("4.4 more zeros", "http://h:0000008080/", "http://h:8080/"),
        _Good("4.4 zeros alone", "http://h:000/", "http://h:0/"),
        _Good("4.4 spaces around", " \t http://h/ \n", "http://h/"),
        _Good("4.4 line ends inside", "ht\ntp://h\r/a\tb", "http://h/ab"),
        _Good("4.4 backslashes", "http:\\\\h\\a\\b", "http://h/a/b"),
        _Good("4.4 slashes of any number", "http:////h/a", "http://h/a"),
        _Good("4.4 no slash", "http:h/a", "http://h/a"),
        _Good("4.4 dots", "http://h/a/./b/../c/.", "http://h/a/c/"),
        _Good("4.4 dots encoded", "http://h/a/%2E/b/.%2e/c", "http://h/a/c"),
        _Good("4.4 dots above the root", "http://h/../../a", "http://h/a"),
        _Good("4.4 three dots are a name", "http://h/.../a", "http://h/.../a"),
        _Good(
            "1.3 path set", 'http://h/ "<>`{}', "http://h/%20%22%3C%3E%60%7B%7D"
        ),
        _Good("1.3 query set", "http://h/? \"<>'", "http://h/?%20%22%3C%3E%27"),
        _Good("1.3 query set, other schemes", "x://h/?'", "x://h/?'"),
        _Good(
            "1.3 fragment set", 'http://h/# "<>`', "http://h/#%20%22%3C%3E%60"
        ),
        _Good("1.3 userinfo set", "http://a@b:c;d@h/", "http://a%40b:c%3Bd@h/"),
        _Good("1.3 escapes stay", "http://h/%zz%41", "http://h/%zz%41"),
        _Good(
            "3.5 escapes in hosts",
            "http://%45xample%2ecom/",
            "http://example.com/",
        ),
        _Good("3.5 hex number", "http://0x7f.1/", "http://127.0.0.1/"),
        _Good("3.5 octal number", "http://0177.0.0.01/", "http://127.0.0.1/"),
        _Good("3.5 one number", "http://2130706433/", "http://127.0.0.1/"),
        _Good("3.5 dot at the end", "http://1.2.3.4./", "http://1.2.3.4/"),
        _Good("3.5 IPv6", "http://[::0:1]/", "http://[::1]/"),
        _Good(
            "3.5 IPv6 mapped",
            "http://[::ffff:1.2.3.4]/",
            "http://[::ffff:102:304]/",
        ),
        _Good("3.3 sharp s", "http://fa\u00DF.de/", "http://xn--fa-hia.de/"),
        _Good(
            "3.3 upper case", "http://\u00C4RZTE.de/", "http://xn--rzte-koa.de/"
        ),
        _Good("3.3 Han", "http://\u4F60\u597D/", "http://xn--6qq79v/"),
        _Good("3.3 full-width", "http://\uFF27o\u3002com/", "http://go.com/"),
        _Good("3.3 ignored", "http://a\u00ADb/", "http://ab/"),
        _Good(
            "3.3 encoded label",
            "http://XN--FA-HIA.de/",
            "http://xn--fa-hia.de/",
        ),
        _Good("3.5 opaque host", "x://H%41/", "x://H%41/"),
        _Good("4.5 path that looks like an authority", "x:/.//h", "x:/.//h"),
        _Good("4.4 opaque path", "data:a b,c?d#e", "data:a b,c?d#e"),
    ]
    for row in rows:
        var url = Url.parse(row.text)
        assert_equal(url.href(), row.href, row.rule)
        assert_equal(Url.parse(url.href()), url, row.rule)


def test_url_relative_references() raises:
    # The references of RFC 3986 section 5.4 whose results the URL Standard
    # shares, at its base but for the scheme.
    var base = Url.parse("http://a/b/c/d;p?q")
    var rows: List[_Good] = [
        _Good("5.4.1", "g", "http://a/b/c/g"),
        _Good("5.4.1", "./g", "http://a/b/c/g"),
        _Good("5.4.1", "g/", "http://a/b/c/g/"),
        _Good("5.4.1", "/g", "http://a/g"),
        _Good("5.4.1", "//g", "http://g/"),
        _Good("5.4.1", "?y", "http://a/b/c/d;p?y"),
        _Good("5.4.1", "g?y", "http://a/b/c/g?y"),
        _Good("5.4.1", "#s", "http://a/b/c/d;p?q#s"),
        _Good("5.4.1", "g#s", "http://a/b/c/g#s"),
        _Good("5.4.1", "g?y#s", "http://a/b/c/g?y#s"),
        _Good("5.4.1", ";x", "http://a/b/c/;x"),
        _Good("5.4.1", "g;x", "http://a/b/c/g;x"),
        _Good("5.4.1", "", "http://a/b/c/d;p?q"),
        _Good("5.4.1", ".", "http://a/b/c/"),
        _Good("5.4.1", "./", "http://a/b/c/"),
        _Good("5.4.1", "..", "http://a/b/"),
        _Good("5.4.1", "../g", "http://a/b/g"),
        _Good("5.4.1", "../..", "http://a/"),
        _Good("5.4.1", "../../g", "http://a/g"),
        _Good("5.4.2", "../../../g", "http://a/g"),
        _Good("5.4.2", "/../g", "http://a/g"),
        _Good("5.4.2", "g.", "http://a/b/c/g."),
        _Good("5.4.2", "..g", "http://a/b/c/..g"),
        _Good("5.4.2", "./../g", "http://a/b/g"),
        _Good("5.4.2", "g/./h", "http://a/b/c/g/h"),
        _Good("5.4.2", "g/../h", "http://a/b/c/h"),
        _Good("5.4.2", "g;x=1/../y", "http://a/b/c/y"),
        _Good("5.4.2", "g?y/../x", "http://a/b/c/g?y/../x"),
        _Good("5.4.2 same scheme", "http:g", "http://a/b/c/g"),
        _Good("another scheme", "https:g", "https://g/"),
        _Good("an absolute URL", "ws://g/h", "ws://g/h"),
    ]
    for row in rows:
        assert_equal(Url.parse(row.text, base).href(), row.href, row.text)


def test_url_relative_to_other_schemes() raises:
    assert_equal(Url.parse("c", Url.parse("x://h/a/b")).href(), "x://h/a/c")
    assert_equal(Url.parse("c", Url.parse("x://h")).href(), "x://h/c")
    assert_equal(Url.parse("//g", Url.parse("x://h/a")).href(), "x://g")
    assert_equal(Url.parse("#f", Url.parse("data:a")).href(), "data:a#f")
    assert_equal(Url.parse("/b", Url.parse("x:/a")).href(), "x:/b")
    var is_refused = False
    try:
        _ = Url.parse("a", Url.parse("data:a"))
    except error:
        is_refused = error.reason == "the base cannot have relative URLs"
    assert_true(is_refused)


def test_url_refuses() raises:
    comptime OCTET = StaticString("a host may not have such an octet")
    comptime MISSING = StaticString("the host is missing")
    comptime SCHEME = StaticString("a scheme such as https:// is missing")
    comptime ONLY_ASCII = StaticString(
        "a label that starts with xn-- encodes only ASCII"
    )
    comptime LARGE = StaticString("an IPv4 number is too large")
    var rows: List[_Bad] = [
        _Bad("", 0, SCHEME),
        _Bad("example.com", 0, SCHEME),
        _Bad("//h/", 0, SCHEME),
        _Bad("://h/", 0, SCHEME),
        _Bad("1http://h/", 0, SCHEME),
        _Bad("http://", 7, MISSING),
        _Bad("http://?q", 7, MISSING),
        _Bad("http://:80/", 7, MISSING),
        _Bad("http://u@/", 9, MISSING),
        _Bad("http://a b/", 7, OCTET),
        _Bad("http://a%00b/", 7, OCTET),
        _Bad("http://a%0d%0ab/", 7, OCTET),
        _Bad("http://a\0b/", 7, OCTET),
        _Bad("http://a<b/", 7, OCTET),
        _Bad("http://a%zz/", 7, OCTET),
        _Bad("http://h:a/", 9, "a port has decimal digits only"),
        _Bad("http://h:65536/", 9, "a port is at most 65535"),
        _Bad("http://h:99999999999999999999/", 9, "a port is at most 65535"),
        _Bad("http://1.2.3.256/", 7, LARGE),
        _Bad("http://256.1.2.3/", 7, LARGE),
        _Bad("http://4294967296/", 7, LARGE),
        _Bad("http://1.2.3.4.5/", 7, "the host ends as IPv4 but is not"),
        _Bad("http://a.1/", 7, "the host ends as IPv4 but is not"),
        _Bad("http://1..2/", 7, "the host ends as IPv4 but is not"),
        _Bad("http://[::1/", 7, "']' is missing behind the IPv6 address"),
        _Bad("http://[1.2.3.4]/", 8, "only IPv6 addresses have brackets"),
        _Bad("http://[::g]/", 10, "a group has one to four hex digits"),
        _Bad("http://[fe80::1%25eth0]/", 15, "groups are parted by colons"),
        _Bad("http://xn--/", 7, ONLY_ASCII),
        _Bad(
            "http://xn--a/", 7, "the host has a character that no name may have"
        ),
        _Bad(
            "http://\uE000/",
            7,
            "the host has a character that no name may have",
        ),
        _Bad("http://\u00AD/", 7, "the host is empty"),
        _Bad("http://%ff/", 7, "the host is not UTF-8"),
        _Bad(String("http://", "a" * 1025), 7, "the host is too long"),
        _Bad(
            String("x://", "\u00FF" * 500), 4, "the host is too long"
        ),  # found by fuzzing: the normal form did not parse again
        _Bad(
            String("http://h/", " " * (URL_LEN_MAX // 2), "a"),
            9 + URL_LEN_MAX // 2 + 1,
            "it is too long",
        ),
        _Bad("file:///etc/passwd", 0, "file is no scheme of the network"),
        _Bad("x://a b", 5, OCTET),
        _Bad(
            String("http://h/", "a" * URL_LEN_MAX),
            URL_LEN_MAX,
            "it is too long",
        ),
    ]
    for row in rows:
        var error = _failure(row.text)
        assert_equal(error.reason, row.reason, row.text)
        assert_equal(error.offset, row.offset, row.text)


def test_a_url_that_is_too_long_is_not_repeated() raises:
    for text in [
        String("http://h/", "a" * URL_LEN_MAX),
        String("http://h/", " " * (URL_LEN_MAX // 2), "a"),
    ]:
        var error = String(_failure(text))
        assert_true("65536 bytes" in error and "too long" in error, error)
        assert_true(error.byte_length() < 200, error)


def test_url_error_escapes_what_was_found() raises:
    assert_equal(
        String(_failure("http://a\x1bb/")),
        "'http://a\\x1bb/' is no URL such as https://example.com/path: a host"
        " may not have such an octet (byte 7)",
    )


def test_url_origins() raises:
    var url = Url.parse("https://h/a")
    assert_true(url.has_same_origin(Url.parse("https://u:p@H:443/b?c#d")))
    assert_false(url.has_same_origin(Url.parse("http://h/a")))
    assert_false(url.has_same_origin(Url.parse("https://h:444/a")))
    assert_false(url.has_same_origin(Url.parse("https://h.h/a")))

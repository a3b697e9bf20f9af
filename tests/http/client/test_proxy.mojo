"""Proxies and their exceptions."""

from flare.http.client.connect.auth import DigestAuth
from flare.http.client.connect.connection import Endpoint
from flare.http.client.connect.error import Phase
from flare.http.client.connect.proxy import (
    NoProxy,
    Proxy,
    ProxyScheme,
    ProxySettings,
)
from tests.support.assertions import assert_equal, assert_false, assert_true


@fieldwise_init
struct _Row(Copyable, Movable):
    var list: StaticString
    var host: StaticString
    var port: UInt16
    var is_covered: Bool


def test_exceptions() raises:
    var rows: List[_Row] = [
        _Row("", "a.b", 80, False),
        _Row(" , ,", "a.b", 80, False),
        _Row("*", "a.b", 80, True),
        _Row("c, *", "a.b", 80, True),
        _Row("a.b", "a.b", 80, True),
        _Row("a.b", "A.B", 80, True),
        _Row("a.b", "a.b.", 80, True),
        _Row("a.b", "x.a.b", 80, True),
        _Row("a.b", "xa.b", 80, False),
        _Row("a.b", "b", 80, False),
        _Row(".a.b", "x.a.b", 80, True),
        _Row(".a.b", "a.b", 80, True),
        _Row("*.a.b", "x.a.b", 80, True),
        _Row("a.b:81", "a.b", 80, False),
        _Row("a.b:81", "a.b", 81, True),
        _Row("a.b:x", "a.b", 80, False),
        _Row("10.0.0.1", "10.0.0.1", 80, True),
        _Row("10.0.0.1:80", "10.0.0.1", 80, True),
        _Row("10.0.0.1:81", "10.0.0.1", 80, False),
        _Row("10.0.0.0/8", "10.9.9.9", 80, True),
        _Row("10.0.0.0/8", "11.0.0.0", 80, False),
        _Row("0.1", "10.0.0.1", 80, False),
        _Row("::1", "::1", 80, True),
        _Row("[::1]", "0:0::1", 80, True),
        _Row("[::1]:81", "::1", 81, True),
        _Row("fe80::/10", "fe80::5", 80, True),
        _Row("localhost,10.0.0.0/8 , .x", "a.x", 80, True),
    ]
    for row in rows:
        var name = String(row.list, " for ", row.host, ":", row.port)
        assert_equal(
            NoProxy(row.list).covers(row.host, row.port), row.is_covered, name
        )


def test_urls_of_proxies() raises:
    var proxy = Proxy("http://us%65r:p%40ss@proxy.example:3128")
    assert_equal(proxy.name(), "proxy.example:3128")
    assert_equal(proxy.credentials.field_value(), "Basic dXNlcjpwQHNz")
    assert_equal(Proxy("proxy.example").name(), "proxy.example:80")
    assert_equal(Proxy("[::1]:3128").host, "::1")
    assert_false(Bool(Proxy("p:1").credentials))
    for bad in [
        "ftp://p",
        "socks4://p",
        "socks5://",
        "http://",
        "http://u:secret@[p",
        "socks5://u:secret%3Ab@p:x",
    ]:
        try:
            _ = Proxy(StringSpan(bad))
        except error:
            assert_true(
                error.phase == Phase.PROXY or error.phase == Phase.REQUEST
            )
            assert_true("secret" not in String(error))
            continue
        raise Error(bad, " was taken")


def test_choice() raises:
    var settings = ProxySettings(Proxy("p:1"), NoProxy("b"))
    assert_equal(settings.choose(Endpoint("a", 80)).value().name(), "p:1")
    assert_false(Bool(settings.choose(Endpoint("b", 80))))
    var tls = Endpoint("a", 443)
    tls.is_tls = True
    assert_equal(settings.choose(tls).value().name(), "p:1")
    settings.https = None
    assert_false(Bool(settings.choose(tls)))
    var unix = Endpoint("/a", 0)
    unix.is_unix = True
    assert_false(Bool(settings.choose(unix)))
    assert_false(Bool(ProxySettings().choose(tls)))


@fieldwise_init
struct _SchemeRow(Copyable, Movable):
    var url: StaticString
    var scheme: ProxyScheme
    var name: StaticString


def test_schemes_of_proxies() raises:
    var rows: List[_SchemeRow] = [
        _SchemeRow("p", ProxyScheme.HTTP, "p:80"),
        _SchemeRow("HTTP://p:8080", ProxyScheme.HTTP, "p:8080"),
        _SchemeRow("https://p", ProxyScheme.HTTPS, "https://p:443"),
        _SchemeRow("https://p:80", ProxyScheme.HTTPS, "https://p:80"),
        _SchemeRow("socks5://p", ProxyScheme.SOCKS5, "socks5://p:1080"),
        _SchemeRow("socks5h://p/", ProxyScheme.SOCKS5H, "socks5h://p:1080"),
        _SchemeRow("Socks5h://p:80", ProxyScheme.SOCKS5H, "socks5h://p:80"),
        _SchemeRow("socks5://u:1@p", ProxyScheme.SOCKS5, "socks5://p:1080"),
        _SchemeRow(
            "socks5://u:1@[::1]", ProxyScheme.SOCKS5, "socks5://[::1]:1080"
        ),
        _SchemeRow("socks5://[::1]:9", ProxyScheme.SOCKS5, "socks5://[::1]:9"),
        _SchemeRow("https://[::1]", ProxyScheme.HTTPS, "https://[::1]:443"),
        _SchemeRow("[::1]:8", ProxyScheme.HTTP, "[::1]:8"),
    ]
    for row in rows:
        var proxy = Proxy(row.url)
        assert_true(proxy.scheme == row.scheme, row.url)
        assert_equal(proxy.name(), row.name, row.url)


def test_socks_is_told_no_password_of_digest() raises:
    """RFC 1929 sends a password, and who chose Digest does not (RFC 7616)."""
    for url in ["socks5://p", "socks5h://p"]:
        var proxy = Proxy(StringSpan(url))
        proxy.credentials = DigestAuth("me", "sesame")
        var text = String()
        try:
            text = String(from_utf8_lossy=proxy.socks_login())
        except error:
            assert_true(error.phase == Phase.PROXY, String(error))
            assert_true("DigestAuth" in error.reason, error.reason)
            assert_false("sesame" in String(error), String(error))
            continue
        raise Error(url, ": it is told ", text)


def test_login_of_socks() raises:
    """RFC 1929 section 2."""
    assert_equal(len(Proxy("socks5://p").socks_login()), 0)
    assert_equal(len(Proxy("http://u:p@p").socks_login()), 0)
    var login = Proxy("socks5://us%65r:p%40%3a@p").socks_login()
    assert_equal(String(from_utf8=login), String("\x01\x04user\x03p@:"))
    try:
        _ = Proxy("socks5://u:" + "s" * 256 + "@p")
    except error:
        assert_true("255 bytes" in error.reason, error.reason)
        return
    raise Error("a password of 256 bytes was taken")

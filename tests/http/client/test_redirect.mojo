"""Redirections: where they lead, with which method, and with what
(RFC 9110 section 15.4)."""

from flare.http.client.connect.error import ClientError, Phase, RedirectRefused
from flare.http.client.message.redirect import (
    RequestOrigin,
    CONTENT_FIELDS,
    drop_credentials,
    drop_fields,
    has_location,
    is_redirect,
    location_of,
    redirect_url,
    redirected_method,
)
from flare.http.message.header_map import HeaderMap
from flare.url.url import Url
from tests.support.assertions import assert_equal, assert_false, assert_true


@fieldwise_init
struct _OriginRow(Copyable):
    """What leaving for another origin makes of where a request is, and whether
    a login goes with it without TLS."""

    var before: RequestOrigin
    var without_tls: RequestOrigin
    var with_tls: RequestOrigin
    var may_log_in: Bool


def test_every_origin_with_every_event() raises:
    # RFC 9110 section 15.4: what is for one origin is not for another. A login
    # that was for a server behind TLS may not be taken by one without.
    comptime O = RequestOrigin
    var rows: List[_OriginRow] = [
        _OriginRow(O.OWN, O.OTHER, O.OTHER_BEHIND_TLS, True),
        _OriginRow(O.OTHER, O.OTHER, O.OTHER_BEHIND_TLS, True),
        _OriginRow(
            O.OTHER_BEHIND_TLS, O.OTHER_BEHIND_TLS, O.OTHER_BEHIND_TLS, False
        ),
    ]
    assert_equal(len(rows), O.COUNT)
    for row in rows:
        for over_tls in [False, True]:
            var origin = row.before
            origin.leave(over_tls)
            var wanted = row.with_tls if over_tls else row.without_tls
            assert_true(origin == wanted, "it goes to another origin")
        assert_true(row.before.may_log_in(over_tls=True))
        assert_equal(row.before.may_log_in(over_tls=False), row.may_log_in)


@fieldwise_init
struct _Method(Copyable, Movable):
    var rule: StaticString
    var status: Int
    var method: StaticString
    var next: StaticString


def test_methods() raises:
    var rows: List[_Method] = [
        _Method("9110-15.4.2 301", 301, "POST", "GET"),
        _Method("9110-15.4.2 301", 301, "GET", "GET"),
        _Method("9110-15.4.2 301", 301, "PUT", "PUT"),
        _Method("9110-15.4.2 301", 301, "HEAD", "HEAD"),
        _Method("9110-15.4.3 302", 302, "POST", "GET"),
        _Method("9110-15.4.3 302", 302, "DELETE", "DELETE"),
        _Method("9110-15.4.4 303", 303, "POST", "GET"),
        _Method("9110-15.4.4 303", 303, "PUT", "GET"),
        _Method("9110-15.4.4 303", 303, "HEAD", "HEAD"),
        _Method("9110-15.4.8 307", 307, "POST", "POST"),
        _Method("9110-15.4.9 308", 308, "PATCH", "PATCH"),
    ]
    for row in rows:
        assert_true(is_redirect(row.status), row.rule)
        assert_equal(
            redirected_method(row.status, String(row.method)),
            row.next,
            String(row.rule, " ", row.method),
        )
    for status in [200, 201, 300, 304, 305, 306, 309, 400]:
        assert_false(is_redirect(status), String(status))


@fieldwise_init
struct _Location(Copyable, Movable):
    var rule: StaticString
    var base: StaticString
    var location: StaticString
    var next: StaticString
    """Empty if the location is refused."""


def test_locations() raises:
    var rows: List[_Location] = [
        _Location("9110-10.2.2", "http://a/b/c?d", "/e", "http://a/e"),
        _Location("9110-10.2.2", "http://a/b/c", "d?e", "http://a/b/d?e"),
        _Location("9110-10.2.2", "http://a/b", "//c/d", "http://c/d"),
        _Location("9110-10.2.2", "http://a/b", "https://c", "https://c/"),
        _Location("9110-10.2.2", "https://a/b", "http://c", "http://c/"),
        _Location("empty", "http://a/b?c", "", "http://a/b?c"),
        _Location("9110-10.2.2 fragment", "http://a/#x", "/b", "http://a/b#x"),
        _Location("own fragment", "http://a/#x", "/b#y", "http://a/b#y"),
        _Location("own, without an octet", "http://a/#x", "/b#", "http://a/b#"),
        _Location("file", "http://a/", "file:///etc/passwd", ""),
        _Location("ftp", "http://a/", "ftp://a/b", ""),
        _Location("javascript", "http://a/", "javascript:alert(1)", ""),
        _Location("data", "http://a/", "data:,x", ""),
        _Location("socket", "http://a/", "http+unix://%2Frun%2Fx/", ""),
        _Location("9110-4.2.4 user", "http://a/", "http://u@a/", ""),
        _Location("9110-4.2.4 password", "http://a/", "//u:p@b/", ""),
        _Location("other user", "http://u:p@a/", "http://v:p@a/", ""),
        _Location("the same elsewhere", "http://u:p@a/", "//u:p@b/", ""),
        _Location("its own", "http://u:p@a/b", "/c", "http://u:p@a/c"),
        _Location("no user", "http://u:p@a/b", "//a/c", "http://a/c"),
        _Location("no URL", "http://a/", "http://[1", ""),
        _Location(
            "same socket",
            "http+unix://%2Frun%2Fx/a",
            "/b",
            "http+unix://%2Frun%2Fx/b",
        ),
        _Location("other socket", "http+unix://%2Fa/", "http+unix://%2Fb/", ""),
    ]
    for row in rows:
        var name = String(row.rule, ": ", row.location)
        var found = String()
        try:
            found = String(_follow(row.base, row.location))
        except error:
            assert_true(error.phase == Phase.REDIRECT, name)
            assert_true(error.kind == RedirectRefused, name)
        assert_equal(found, row.next, name)


def _follow(
    base: StaticString, location: StaticString
) raises ClientError -> Url:
    var url: Url
    try:
        url = Url.parse(base)
    except error:
        raise ClientError(Phase.REQUEST, RedirectRefused, String(error))
    return redirect_url(url, location)


def test_a_location_is_one_place() raises:
    """RFC 9110 section 10.2.2: a single reference."""
    var headers = HeaderMap()
    assert_false(has_location(headers))
    headers.append("Location", "")
    assert_false(has_location(headers))
    headers = HeaderMap()
    headers.append("Location", "/a")
    headers.append("location", "/a")
    assert_true(has_location(headers))
    assert_equal(location_of(headers), "/a")
    for other in ["/b", "", "/A"]:
        var more = headers.copy()
        more.append("Location", other)
        try:
            _ = location_of(more)
        except error:
            assert_true(error.kind == RedirectRefused)
            assert_true("two Location fields" in error.reason, error.reason)
            continue
        raise Error("taken: ", other)


def test_refusals_show_no_credentials() raises:
    """RFC 9110 section 4.2.4; an error is logged and shown."""
    for location in [
        StaticString("http://joe:secret@b/"),
        "//joe:secret@b/",
        "https:joe:secret@b/",
        "http:\\\\joe:secret@b/",
        "http://joe:secret@[",
        "ftp://joe:secret@b/",
        "http://joe:secret@b@c/",
    ]:
        try:
            _ = _follow("http://a/", location)
        except error:
            var text = String(error)
            assert_true("secret" not in text and "joe" not in text, text)
            assert_true("...@" in text, text)
            var scheme = location.split("://")
            if len(scheme) == 2:
                # Which one it is may be what is wrong with it.
                var shown = String("'", scheme[0], "://...@")
                assert_true(shown in text, text)
            continue
        raise Error("followed: ", location)


def _headers() raises -> HeaderMap:
    var headers = HeaderMap()
    headers.set("Authorization", "Basic x")
    headers.set("COOKIE", "a=b")
    headers.set("proxy-authorization", "y")
    headers.set("Host", "h")
    headers.set("Content-Type", "text/x")
    headers.set("Content-Encoding", "gzip")
    headers.set("X-Own", "z")
    return headers^


def test_what_stays_behind() raises:
    var headers = _headers()
    drop_credentials(headers)
    assert_equal(
        String(headers),
        "Content-Type: text/x\nContent-Encoding: gzip\nX-Own: z\n",
    )
    headers = _headers()
    drop_fields(headers, CONTENT_FIELDS)
    assert_equal(
        String(headers),
        "Authorization: Basic x\nCOOKIE: a=b\nproxy-authorization: y\nHost: h\nX-Own: z\n",
    )


def test_what_is_said_of_content_goes_with_it() raises:
    # RFC 9110 section 15.4 names the fields up to Last-Modified; RFC 9530
    # section 1.3 puts two in the place of Digest; Content-Range is of the
    # content, too (RFC 9110 section 14.5), and so are the names of its trailers
    # (section 6.6.2).
    var headers = HeaderMap()
    for name in [
        "Content-Encoding",
        "Content-Language",
        "Content-Location",
        "Content-Type",
        "Content-Length",
        "Digest",
        "Last-Modified",
        "Content-Digest",
        "Repr-Digest",
        "Content-Range",
        "Trailer",
    ]:
        headers.set(name, "x")
    drop_fields(headers, CONTENT_FIELDS)
    assert_equal(String(headers), "")

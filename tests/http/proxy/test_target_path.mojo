"""Paths that are sent on: dot segments in all spellings, prefixes of whole segments."""

from flare.bytes.buffer import Buffer
from flare.http.proxy.rules.target_path import (
    PathPrefixes,
    checked_prefix,
    has_dot_segment,
)
from tests.support.assertions import assert_equal, assert_raises, assert_true


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var path: StaticString
    var found: Bool


def test_dot_segments() raises:
    var rows: List[_Row] = [
        _Row("plain", "/a/b", False),
        _Row("3986-5.2.4 ..", "/a/../b", True),
        _Row("3986-5.2.4 .", "/a/./b", True),
        _Row("at the end", "/a/..", True),
        _Row("alone", "/..", True),
        _Row("3986-6.2.2.2 an encoded dot is a dot", "/a/%2e%2E/b", True),
        _Row("one of two", "/a/.%2e/b", True),
        _Row("an encoded slash may be decoded first", "/a/..%2fb", True),
        _Row("on both sides", "/a%2f..%2Fb", True),
        _Row("a backslash is a slash to some", "/a\\..\\b", True),
        _Row("also encoded", "/a/..%5cb", True),
        _Row("a parameter hides it", "/a/..;x=1/b", True),
        _Row("also encoded", "/a/..%3bx/b", True),
        _Row("three dots are a name", "/a/.../b", False),
        _Row("so is a leading dot", "/a/.well-known/x", False),
        _Row("and one at the end", "/a/x./y..", False),
        _Row("a parameter of a name", "/a/b;../c", False),
        _Row("an encoded slash is data", "/a%2Fb", False),
        _Row("a percent of its own", "/a/%2", False),
        _Row("twice encoded", "/a/%252e%252e/b", False),
        _Row("empty segments", "//a//", False),
    ]
    for row in rows:
        assert_equal(
            has_dot_segment(row.path.as_bytes()), row.found, String(row.rule)
        )


@fieldwise_init
struct _Exchange(Copyable, Movable):
    var rule: StaticString
    var strip: StaticString
    var add: StaticString
    var path: StaticString
    var sent: StaticString


def test_prefixes() raises:
    var rows: List[_Exchange] = [
        _Exchange("none", "", "", "/a/b", "/a/b"),
        _Exchange("strip", "/api", "", "/api/x", "/x"),
        _Exchange("all of it", "/api", "", "/api", "/"),
        _Exchange("with its slash", "/api", "", "/api/", "/"),
        _Exchange("slash in the rule", "/api/", "", "/api/x", "/x"),
        _Exchange("whole segments alone", "/api", "", "/apix", "-"),
        _Exchange("another path", "/api", "", "/b", "-"),
        _Exchange("too short", "/api", "", "/ap", "-"),
        _Exchange("add", "", "/v2", "/x", "/v2/x"),
        _Exchange("add to the root", "", "/v2", "/", "/v2/"),
        _Exchange("exchange", "/api", "/v2", "/api/x", "/v2/x"),
        _Exchange("exchange all", "/api", "/v2", "/api", "/v2"),
        _Exchange("3986-6.2.2.2 as the router", "/api", "", "/%61pi/x", "/x"),
        _Exchange(
            "what is left stays encoded", "/a", "", "/a/%7e%2f", "/%7e%2f"
        ),
        _Exchange("an encoded slash is none", "/a/b", "", "/a%2fb/c", "-"),
        _Exchange("nor does it end the prefix", "/a", "", "/a%2fb", "-"),
        _Exchange("empty segments stay", "/a", "", "/a//b", "//b"),
    ]
    for row in rows:
        var out = Buffer(0)
        var prefixes = PathPrefixes(strip=row.strip, add=row.add)
        var is_inside = prefixes.append_inward(row.path.as_bytes(), out)
        var sent = String(StringSpan(unsafe_from_utf8=out.span()))
        assert_equal(sent if is_inside else "-", String(row.sent), row.rule)


def test_a_prefix_that_is_only_stripped() raises:
    var out = Buffer(0)
    assert_true(
        PathPrefixes(strip="/api").append_inward("/api/x".as_bytes(), out)
    )
    assert_equal(String(StringSpan(unsafe_from_utf8=out.span())), "/x")


def test_prefixes_outward() raises:
    var prefixes = PathPrefixes(strip="/api", add="/v2")
    var out = Buffer(0)
    assert_true(prefixes.append_outward("/v2/x".as_bytes(), out))
    assert_equal(String(StringSpan(unsafe_from_utf8=out.span())), "/api/x")
    assert_true(not prefixes.append_outward("/v3/x".as_bytes(), out))


def test_bad_prefixes() raises:
    with assert_raises(contains="begins with a slash"):
        _ = checked_prefix("api", is_encoded=True)
    with assert_raises(contains="written decoded"):
        _ = checked_prefix("/a%20b", is_encoded=False)
    with assert_raises(contains="visible ASCII"):
        _ = checked_prefix("/a b", is_encoded=True)
    with assert_raises(contains="without ? and #"):
        _ = checked_prefix("/a?b", is_encoded=True)
    with assert_raises(contains=". and .. segments"):
        _ = checked_prefix("/a/../b", is_encoded=True)
    assert_equal(checked_prefix("/", is_encoded=True), "")

"""Which hosts and paths a cookie is for (RFC 6265 sections 5.1.3 and 5.1.4)."""

from flare.http.message.cookie_match import (
    default_path,
    domain_matches,
    is_ip_host,
    is_top_level,
    path_matches,
)
from std.testing import assert_equal, assert_false, assert_true


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var left: StaticString
    var right: StaticString
    var matches: Bool


def test_domains() raises:
    var rows: List[_Row] = [
        _Row("6265-5.1.3 identical", "example.com", "example.com", True),
        _Row("6265-5.1.3 a host below", "a.example.com", "example.com", True),
        _Row("6265-5.1.3 far below", "a.b.c.d", "c.d", True),
        _Row("6265-5.1.3 no dot between", "aexample.com", "example.com", False),
        _Row("6265-5.1.3 a host above", "example.com", "a.example.com", False),
        _Row("6265-5.1.3 another", "example.org", "example.com", False),
        _Row("6265-5.1.3 empty", "example.com", "", False),
        _Row("6265-5.1.3 dot alone", ".example.com", "example.com", False),
        _Row("6265-5.1.3 address", "127.0.0.1", "127.0.0.1", True),
        _Row("6265-5.1.3 no suffix of one", "127.0.0.1", "0.0.1", False),
        _Row("6265-5.1.3 version 6", "[::1]", "[::1]", True),
        _Row("6265-5.3 top level", "example.com", "com", False),
        _Row("6265-5.3 top level, dot", "example.com.", "com.", False),
        _Row("6265-5.3 itself", "localhost", "localhost", True),
    ]
    for row in rows:
        assert_equal(domain_matches(row.left, row.right), row.matches, row.rule)


def test_paths() raises:
    var rows: List[_Row] = [
        _Row("6265-5.1.4 identical", "/a", "/a", True),
        _Row("6265-5.1.4 below", "/a/b", "/a", True),
        _Row("6265-5.1.4 below, slash", "/a/b", "/a/", True),
        _Row("6265-5.1.4 below the root", "/a", "/", True),
        _Row("6265-5.1.4 a longer name", "/ab", "/a", False),
        _Row("6265-5.1.4 above", "/a", "/a/", False),
        _Row("6265-5.1.4 case counts", "/A", "/a", False),
        _Row("6265-5.1.4 encoding counts", "/%61", "/a", False),
        _Row("6265-5.1.4 empty", "/a", "", False),
    ]
    for row in rows:
        assert_equal(path_matches(row.left, row.right), row.matches, row.rule)


def test_default_paths() raises:
    var rows: List[_Row] = [
        _Row("6265-5.1.4", "/", "/", True),
        _Row("6265-5.1.4", "/a", "/", True),
        _Row("6265-5.1.4", "/a/", "/a", True),
        _Row("6265-5.1.4", "/a/b", "/a", True),
        _Row("6265-5.1.4", "/a/b/c", "/a/b", True),
        _Row("6265-5.1.4 no slash at first", "a/b", "/", True),
        _Row("6265-5.1.4 empty", "", "/", True),
        _Row("6265-5.1.4", "//", "/", True),
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

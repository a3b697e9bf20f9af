"""Cache-Control and its targeted kin (RFC 9111 section 5.2, RFC 9213)."""

from flare.http.cache.core.cache_control import (
    CacheControl,
    DELTA_SECONDS_MAX,
)
from flare.http.cache.core.targeted import parse_targeted
from flare.http.message.header_map import HeaderMap
from flare.http.message.owned_request import OwnedRequest
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.guard_page import GuardedBytes


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var value: StaticString
    var written: StaticString


def _rows() -> List[_Row]:
    return [
        _Row("9111-5.2 nothing", "", ""),
        _Row("9111-5.2.2.1 seconds", "max-age=60", "max-age=60"),
        _Row("9111-5.2 case of names", "Max-Age=60", "max-age=60"),
        _Row("9111-5.2 quoted form", 'max-age="60"', "max-age=60"),
        _Row("9111-5.2 escapes", 'max-age="\\60"', "max-age=60"),
        _Row("9111-1.2.2 leading zeros", "max-age=0060", "max-age=60"),
        _Row(
            "9111-1.2.2 too many",
            "max-age=99999999999999999999999",
            "max-age=2147483648",
        ),
        _Row("9111-4.2.1 no number", "max-age=soon", "max-age=0"),
        _Row("9111-4.2.1 no argument", "max-age", "max-age=0"),
        _Row("9111-4.2.1 empty argument", "max-age=", "max-age=0"),
        _Row("9111-4.2.1 fraction", "max-age=1.5", "max-age=0"),
        _Row("9111-4.2.1 sign", "max-age=-1", "max-age=0"),
        _Row("9111-4.2.1 other quotes", "max-age='60'", "max-age=0"),
        _Row("9111-4.2.1 space behind =", "max-age= 60", "max-age=0"),
        _Row("9111-5.2 space before = is no name", "max-age =60", ""),
        _Row(
            "9111-4.2.1 stricter of two", "max-age=60, max-age=5", "max-age=5"
        ),
        _Row(
            "9111-5.2 not within quotes",
            'a="no-store, max-age=1", max-age=2',
            "max-age=2",
        ),
        _Row("9111-5.2 not behind a quote", 'a="\\", no-store"', ""),
        _Row("9111-5.2 quotes without end", 'a="b, no-store', "no-store"),
        _Row("9110-5.6.1 empty elements", " , no-store,, ", "no-store"),
        _Row("9111-5.2.3 unknown", "banana=1, no-store", "no-store"),
        _Row("9111-5.2.1.2 any age", "max-stale", "max-stale=2147483648"),
        _Row("9111-5.2.1.2 stricter", "max-stale, max-stale=5", "max-stale=5"),
        _Row("9111-5.2.1.3", "min-fresh=7", "min-fresh=7"),
        _Row("9111-5.2.1.7", "only-if-cached", "only-if-cached"),
        _Row("9111-5.2.2.4 all", "no-cache", "no-cache"),
        _Row(
            "9111-5.2.2.4 fields",
            'no-cache="Set-Cookie, x,, x"',
            'no-cache="set-cookie, x"',
        ),
        _Row("9111-5.2.2.4 no field", 'no-cache="a b"', ""),
        _Row("9111-5.2.2.7", "private, private=a", 'private, private="a"'),
        _Row("9111-5.2.2.10", "S-maxage=3", "s-maxage=3"),
        _Row(
            "9111-5.2.2 flags",
            "public,no-store,no-transform,must-revalidate,proxy-revalidate,"
            "must-understand,immutable",
            "public, no-store, no-transform, must-revalidate,"
            " proxy-revalidate, must-understand, immutable",
        ),
        _Row("9111-5.2 argument of a flag", "no-store=1", "no-store"),
        _Row(
            "5861-3, 5861-4",
            "stale-if-error=9, stale-while-revalidate=8",
            "stale-while-revalidate=8, stale-if-error=9",
        ),
    ]


def test_parse() raises:
    for row in _rows():
        var found = CacheControl.parse(row.value.as_bytes())
        assert_equal(String(found), row.written, row.rule)


def test_round_trip_and_no_over_read() raises:
    for row in _rows():
        var memory = GuardedBytes(row.value.as_bytes())
        var found = CacheControl.parse(memory.span())
        assert_equal(String(found), row.written, row.rule)
        assert_true(
            CacheControl.parse(String(found).as_bytes()) == found, row.rule
        )


def test_lines_are_one_list() raises:
    """9110-5.3: a list may be cut into lines at any comma of its own."""
    for row in _rows():
        if '"' in row.value:
            continue
        var whole = CacheControl.parse(row.value.as_bytes())
        var headers = HeaderMap()
        for part in row.value.split(","):
            headers.append("cache-control", part)
        assert_true(CacheControl.of_response(headers) == whole, row.rule)


def test_made_by_programs() raises:
    var control = CacheControl(
        is_public=True, max_age_s=60, stale_while_revalidate_s=30
    )
    assert_equal(
        String(control), "public, max-age=60, stale-while-revalidate=30"
    )


def test_pragma() raises:
    """9111-5.4: counts where there is no Cache-Control."""
    var old = OwnedRequest("GET", "/")
    old.add_header("Pragma", "no-cache")
    assert_true(CacheControl.of_request(old.view().headers).no_cache)
    old.add_header("Cache-Control", "max-age=5")
    var asked = CacheControl.of_request(old.view().headers)
    assert_false(asked.no_cache)
    assert_equal(asked.max_age_s.value(), 5)


def test_targeted() raises:
    """9213-2.1: a dictionary counts as a whole or not at all."""
    var good: List[_Row] = [
        _Row("9213-2.1", "max-age=60", "max-age=60"),
        _Row("9651-3.2 flags", "no-store, public=?1", "public, no-store"),
        _Row("9651-3.2 false", "no-store=?0, max-age=1", "max-age=1"),
        _Row(
            "9651-3.2 parameters",
            'max-age=1;a="b";c, no-cache',
            "no-cache, max-age=1",
        ),
        _Row("9651-3.1.1 inner list", "a=(1 b;c), max-age=1", "max-age=1"),
        _Row(
            "9651-3.3 all kinds",
            'a=:YQ==:, b=1.5, c=t/x, d="\\"", immutable',
            "immutable",
        ),
        _Row("9213-2.1 other type", 'max-age="60", public', "public"),
        _Row("9213-2.1 no integer", "max-age=6.5", "max-age=0"),
    ]
    for row in good:
        var headers = HeaderMap()
        headers.append("CDN-Cache-Control", row.value)
        var found = parse_targeted(headers, "cdn-cache-control")
        assert_true(Bool(found), row.rule)
        assert_equal(String(found.value()), row.written, row.rule)
    for value in [
        "",
        "Max-Age=60",
        "max-age=60,",
        "max-age=60 no-store",
        "max-age=",
        'a="b',
        "a=(1",
        "a=?2",
        "a=:Y",
        "a=1234567890123456",
        "=1",
        "a=1;",
    ]:
        var headers = HeaderMap()
        headers.append("CDN-Cache-Control", value)
        assert_false(Bool(parse_targeted(headers, "cdn-cache-control")), value)


def test_targeted_reads_no_further() raises:
    for value in ["a", "a=", "a=1", 'a="\\', "a=?", "a=:Y", "a=(b", "a;", "*"]:
        for end in range(value.byte_length() + 1):
            var memory = GuardedBytes(value.as_bytes()[:end])
            var headers = HeaderMap()
            headers.append("t", StringSpan(unsafe_from_utf8=memory.span()))
            _ = parse_targeted(headers, "t")
    assert_equal(DELTA_SECONDS_MAX, 1 << 31, "9111-1.2.2")

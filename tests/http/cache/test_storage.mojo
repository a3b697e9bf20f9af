"""What may be kept, and of which fields (RFC 9111 sections 3 and 4.1)."""

from flare.http.cache.core.cache_control import CacheControl
from flare.http.cache.core.freshness import (
    ExchangeTimes,
    freshness_lifetime,
    initial_age_s,
)
from flare.http.cache.core.key import (
    cache_key,
    key_of_reference,
    split_url,
)
from flare.http.cache.core.policy import CachePolicy
from flare.http.cache.core.storage import (
    StoreRefusal,
    freshened_fields,
    store_refusal,
    stored_fields,
)
from flare.http.cache.core.targeted import response_control
from flare.http.cache.core.vary import VaryKey
from flare.http.message.header_map import HeaderMap
from tests.support.assertions import assert_equal, assert_raises, assert_true
from tests.support.header_lines import headers_of, request_with

comptime NOW_S = 784_111_777
comptime TIMES = ExchangeTimes(NOW_S, NOW_S)


@fieldwise_init
struct _Row(Copyable, Movable):
    var rule: StaticString
    var status: Int
    var asked: StaticString
    var fields: StaticString
    var shared: StoreRefusal
    var own: StoreRefusal


comptime _NONE = StoreRefusal.NONE
comptime _NO_STORE = StoreRefusal.NO_STORE
comptime _REQUEST = StoreRefusal.REQUEST
comptime _USELESS = StoreRefusal.USELESS
comptime _STATUS = StoreRefusal.STATUS
comptime _PRIVATE = StoreRefusal.PRIVATE
comptime _AUTHORIZED = StoreRefusal.AUTHORIZED
comptime _COOKIE = StoreRefusal.COOKIE
comptime _VARY = StoreRefusal.VARY


def test_what_is_stored() raises:
    var rows: List[_Row] = [
        _Row("3 fresh", 200, "", "Cache-Control: max-age=1", _NONE, _NONE),
        _Row(
            "3 Expires",
            200,
            "",
            "Expires: Mon, 07 Nov 1994 08:49:37 GMT",
            _NONE,
            _NONE,
        ),
        _Row("3 says nothing", 200, "", "", _USELESS, _USELESS),
        _Row(
            "3 no-cache, any status",
            307,
            "",
            'Cache-Control: no-cache\nETag: "a"',
            _USELESS,
            _USELESS,
        ),
        _Row(
            "3 no-cache, public",
            307,
            "",
            'Cache-Control: no-cache, public\nETag: "a"',
            _NONE,
            _NONE,
        ),
        _Row(
            "3 s-maxage", 200, "", "Cache-Control: s-maxage=1", _NONE, _USELESS
        ),
        _Row(
            "3 no-store",
            200,
            "",
            "Cache-Control: no-store, max-age=1",
            _NO_STORE,
            _NO_STORE,
        ),
        _Row(
            "5.2.1.5",
            200,
            "Cache-Control: no-store",
            "Cache-Control: max-age=1",
            _REQUEST,
            _REQUEST,
        ),
        _Row(
            "5.2.2.3 understood",
            200,
            "",
            "Cache-Control: no-store, must-understand, max-age=1",
            _NONE,
            _NONE,
        ),
        _Row(
            "5.2.2.3 not understood",
            599,
            "",
            "Cache-Control: must-understand, max-age=1",
            _STATUS,
            _STATUS,
        ),
        # What was asked for was a part: this says nothing of the whole.
        _Row(
            "9110-15.5.17",
            416,
            "Range: bytes=9-",
            "Cache-Control: public, max-age=1",
            _REQUEST,
            _REQUEST,
        ),
        _Row(
            "5.2.2.7",
            200,
            "",
            "Cache-Control: private, max-age=1",
            _PRIVATE,
            _NONE,
        ),
        _Row(
            "5.2.2.7 a field",
            200,
            "",
            'Cache-Control: private="a", max-age=1',
            _NONE,
            _NONE,
        ),
        _Row(
            "3.5",
            200,
            "Authorization: Basic x",
            "Cache-Control: max-age=1",
            _AUTHORIZED,
            _NONE,
        ),
        _Row(
            "3.5 public",
            200,
            "Authorization: Basic x",
            "Cache-Control: public, max-age=1",
            _NONE,
            _NONE,
        ),
        _Row(
            "3.5 s-maxage",
            200,
            "Authorization: Basic x",
            "Cache-Control: s-maxage=1",
            _NONE,
            _USELESS,
        ),
        _Row(
            "3.5 must-revalidate",
            200,
            "Authorization: Basic x",
            "Cache-Control: must-revalidate, max-age=1",
            _NONE,
            _NONE,
        ),
        _Row(
            "7.3 cookie",
            200,
            "",
            "Cache-Control: max-age=1\nSet-Cookie: a=b",
            _COOKIE,
            _NONE,
        ),
        _Row(
            "7.3 cookie for all",
            200,
            "",
            "Cache-Control: public, max-age=1\nSet-Cookie: a=b",
            _NONE,
            _NONE,
        ),
        _Row(
            "7.3 cookie left out",
            200,
            "",
            'Cache-Control: no-cache="set-cookie", max-age=1\nSet-Cookie: a=b',
            _NONE,
            _NONE,
        ),
        _Row(
            "4.1 Vary: *",
            200,
            "",
            "Cache-Control: max-age=1\nVary: a, *",
            _VARY,
            _VARY,
        ),
        _Row(
            "9110-7.6.1 a proxy has not passed it on",
            200,
            "A: 1\nConnection: close, A",
            "Cache-Control: max-age=1\nVary: b, a",
            _REQUEST,
            _REQUEST,
        ),
        _Row(
            "9110-7.6.1 of no matter",
            200,
            "A: 1\nConnection: keep-alive, , A",
            "Cache-Control: max-age=1\nVary: b, ",
            _NONE,
            _NONE,
        ),
        _Row("3.3 part", 206, "", "Cache-Control: max-age=1", _STATUS, _STATUS),
        _Row(
            "3 not modified",
            304,
            "",
            "Cache-Control: max-age=1",
            _STATUS,
            _STATUS,
        ),
        _Row(
            "3 any final status",
            599,
            "",
            "Cache-Control: max-age=1",
            _NONE,
            _NONE,
        ),
        _Row(
            "4.2.4 validated each time",
            200,
            "",
            'Cache-Control: no-cache\nETag: "a"',
            _NONE,
            _NONE,
        ),
        _Row(
            "4.2.4 stale, no validator",
            200,
            "",
            "Cache-Control: max-age=0",
            _USELESS,
            _USELESS,
        ),
        _Row(
            "5861-3",
            200,
            "",
            "Cache-Control: max-age=0, stale-while-revalidate=5",
            _NONE,
            _NONE,
        ),
        _Row(
            "9213-2.2 outranks",
            200,
            "",
            "Cache-Control: no-store\nCDN-Cache-Control: max-age=1",
            _NONE,
            _NO_STORE,
        ),
        _Row(
            "9213-2.2 forbids",
            200,
            "",
            "Cache-Control: max-age=1\nCDN-Cache-Control: no-store",
            _NO_STORE,
            _NONE,
        ),
        _Row(
            "9213-2.1 malformed",
            200,
            "",
            "Cache-Control: max-age=1\nCDN-Cache-Control: no-store,",
            _NONE,
            _NONE,
        ),
    ]
    var shared = CachePolicy()
    var own = CachePolicy(is_shared=False)
    for row in rows:
        var owned = request_with(row.asked)
        var headers = headers_of(row.fields)
        var fields = owned.view().headers.copy()
        assert_true(
            store_refusal(fields, row.status, headers, shared, TIMES)
            == row.shared,
            row.rule,
        )
        assert_true(
            store_refusal(fields, row.status, headers, own, TIMES) == row.own,
            row.rule,
        )
        _ = owned^


def test_choices_of_a_policy() raises:
    var owned = request_with("Cache-Control: no-store")
    var plain = request_with("")
    var headers = headers_of("Cache-Control: max-age=1\nSet-Cookie: a=b")
    var deaf = CachePolicy(obeys_clients=False, keeps_cookies=True)
    assert_true(
        store_refusal(owned.view().headers, 200, headers, deaf, TIMES) == _NONE
    )
    var guessing = CachePolicy(default_ttl_s=9)
    var silent = HeaderMap()
    for row in [(200, True), (404, True), (302, False), (500, False)]:
        var refusal = store_refusal(
            plain.view().headers, row[0], silent, guessing, TIMES
        )
        assert_equal(refusal == _NONE, row[1], "9110-15.1")


@fieldwise_init
struct _Life(Copyable, Movable):
    var rule: StaticString
    var fields: StaticString
    var lifetime_s: Int
    var age_s: Int


def test_lifetime_and_age() raises:
    var rows: List[_Life] = [
        _Life(
            "4.2.1 s-maxage first",
            "Cache-Control: max-age=1, s-maxage=2\nExpires: Sun, 06 Nov 1994 08:50:37 GMT",
            2,
            0,
        ),
        _Life(
            "4.2.1 max-age before Expires",
            "Cache-Control: max-age=1\nExpires: Sun, 06 Nov 1994 08:50:37 GMT",
            1,
            0,
        ),
        _Life(
            "4.2.1 Expires less Date",
            "Expires: Sun, 06 Nov 1994 08:50:37 GMT\nDate: Sun, 06 Nov 1994 08:49:27 GMT",
            70,
            10,
        ),
        _Life(
            "4.2 names in any case",
            "Expires: SUN, 06 nov 1994 08:50:37 gmt\nDate: Sun, 06 Nov 1994 08:49:27 GMT",
            70,
            10,
        ),
        _Life("5.3 no date", "Expires: 0", 0, 0),
        _Life(
            "5.3 two of them",
            "Expires: Sun, 06 Nov 1994 08:50:37 GMT\nExpires: Sun, 06 Nov 1994 08:50:37 GMT",
            0,
            0,
        ),
        _Life("5.3 past", "Expires: Sun, 06 Nov 1994 08:40:37 GMT", 0, 0),
        _Life(
            "4.2.2 a tenth",
            "Last-Modified: Sun, 06 Nov 1994 08:32:57 GMT",
            100,
            0,
        ),
        _Life(
            "4.2.2 at most",
            "Last-Modified: Sun, 06 Nov 1893 08:32:57 GMT",
            86_400,
            0,
        ),
        _Life(
            "4.2.2 from the future",
            "Last-Modified: Sun, 06 Nov 2094 08:32:57 GMT",
            0,
            0,
        ),
        _Life(
            "4.2.3 apparent age", "Date: Sun, 06 Nov 1994 08:49:00 GMT", 0, 37
        ),
        _Life("4.2.3 Date ahead", "Date: Sun, 06 Nov 1994 08:50:00 GMT", 0, 0),
        _Life("4.2.3 Age", "Age: 12", 0, 12),
        _Life(
            "4.2.3 the greater",
            "Age: 12\nDate: Sun, 06 Nov 1994 08:49:00 GMT",
            0,
            37,
        ),
        _Life("5.1 no number", "Age: soon", 0, 0),
        _Life("5.1 first of a list", "Age: 7, 12", 0, 7),
        _Life("5.1 great", "Age: 99999999999999", 0, 2_147_483_648),
        _Life(
            "9213-2.2 Expires does not count",
            "CDN-Cache-Control: public\nExpires: Sun, 06 Nov 1994 08:50:37 GMT",
            0,
            0,
        ),
    ]
    var policy = CachePolicy(heuristic_percent=10)
    for row in rows:
        var headers = headers_of(row.fields)
        var control = response_control(headers, policy)
        var lifetime = freshness_lifetime(200, headers, control, policy, TIMES)
        assert_equal(lifetime.seconds, row.lifetime_s, row.rule)
        assert_equal(initial_age_s(headers, TIMES), row.age_s, row.rule)
    var slow = ExchangeTimes(NOW_S - 5, NOW_S)
    assert_equal(initial_age_s(headers_of("Age: 12"), slow), 17, "4.2.3 delay")


def test_fields() raises:
    var headers = headers_of(
        "Connection: x-hop\nX-Hop: 1\nKeep-Alive: 1\nTransfer-Encoding: a\n"
        "Proxy-Authenticate: b\nA: 1\nB: 2\nC: 3\nContent-Type: text/plain"
    )
    var control = CacheControl.parse('no-cache="b", private="c"'.as_bytes())
    var shared = stored_fields(headers, control, CachePolicy())
    assert_equal(String(shared), "Content-Type: text/plain\nA: 1\n", "3.1")
    var own = stored_fields(headers, control, CachePolicy(is_shared=False))
    assert_equal(String(own), "Content-Type: text/plain\nA: 1\nC: 3\n", "3.1")


def test_freshened_fields() raises:
    var stored = headers_of(
        "A: 1\nB: 2\nContent-Encoding: gzip\nContent-Type: text/plain"
    )
    var newer = headers_of(
        "B: 3\nB: 4\nContent-Encoding: br\nContent-Length: 0\nC: 5\n"
        "Content-Type: text/html"
    )
    assert_equal(
        String(freshened_fields(stored, newer)),
        "Content-Type: text/html\nA: 1\nContent-Encoding: gzip\nB: 3\nB: 4\n"
        "C: 5\n",
        "3.2",
    )


@fieldwise_init
struct _Match(Copyable, Movable):
    var rule: StaticString
    var vary: StaticString
    var first: StaticString
    var second: StaticString
    var matches: Bool


def test_vary() raises:
    var rows: List[_Match] = [
        _Match("4.1 none", "", "A: 1", "A: 2", True),
        _Match("4.1 same", "Vary: A", "A: 1", "A: 1", True),
        _Match("4.1 other", "Vary: A", "A: 1", "A: 2", False),
        _Match("4.1 case of names", "Vary: a", "A: 1", "a: 1", True),
        _Match("4.1 both absent", "Vary: A", "B: 1", "", True),
        _Match("4.1 one absent", "Vary: A", "A: 1", "", False),
        _Match("4.1 empty is not absent", "Vary: A", "A:", "", False),
        _Match("4.1 lines combined", "Vary: A", "A: 1, 2", "A: 1\nA: 2", True),
        _Match("4.1 whitespace", "Vary: A", "A: 1,2", "A: 1 ,  2", True),
        _Match(
            "9110-5.6.4 quoted", "Vary: A", 'A: "1,2", 3', 'A: "1, 2",3', False
        ),
        _Match(
            "9110-5.6.4 around", "Vary: A", 'A: "1,2", 3', 'A: "1,2",3', True
        ),
        _Match(
            "9110-10.1.5 no list",
            "Vary: User-Agent",
            "User-Agent: a (b,c)",
            "User-Agent: a (b, c)",
            False,
        ),
        _Match(
            "6265-4.2 no list",
            "Vary: Cookie",
            "Cookie: a=1,,2",
            "Cookie: a=1,2",
            False,
        ),
        _Match("4.1 order matters", "Vary: A", "A: 1, 2", "A: 2, 1", False),
        _Match(
            "4.1 two fields", "Vary: A, B", "A: 1\nB: 2", "B: 2\nA: 1", True
        ),
        _Match(
            "4.1 one of two", "Vary: A\nVary: B", "A: 1\nB: 2", "A: 1", False
        ),
        _Match(
            "9110-12.5.3 case, order",
            "Vary: Accept-Encoding",
            "Accept-Encoding: gzip, br",
            "Accept-Encoding: BR,GZIP",
            True,
        ),
        _Match(
            "9110-12.5.4 weights",
            "Vary: Accept-Language",
            "Accept-Language: en;q=0.5",
            "Accept-Language: en; q=0.5",
            True,
        ),
        _Match(
            "9110-12.5.4 other weights",
            "Vary: Accept-Language",
            "Accept-Language: en;q=0.5",
            "Accept-Language: en;q=0.6",
            False,
        ),
        _Match("4.1 all", "Vary: A, *", "A: 1", "A: 1", False),
    ]
    for row in rows:
        var first = request_with(row.first)
        var second = request_with(row.second)
        var key = VaryKey(headers_of(row.vary), first.view().headers)
        assert_equal(key.matches(second.view().headers), row.matches, row.rule)
        var other = VaryKey(headers_of(row.vary), second.view().headers)
        if not key.is_any:
            assert_equal(key.is_same(other), row.matches, row.rule)


def test_keys() raises:
    var key = cache_key("http", "Example.COM:80", "/A?b")
    assert_equal(key, "http://example.com/A?b", "9110-4.2.3")
    assert_equal(cache_key("https", "a:443", ""), "https://a/", "9110-4.2.3")
    assert_equal(cache_key("https", "a:80", "?b"), "https://a:80/?b")
    for row in [
        ("/x#y", "http://example.com/x"),
        ("http://EXAMPLE.com/x?y", "http://example.com/x?y"),
        ("http://example.com", "http://example.com/"),
        ("HTTP://example.com:80/x", "http://example.com/x"),
        ("https://example.com/x", ""),
        ("http://example.com:8080/x", ""),
        ("http://example.community/x", ""),
        ("//other/x", ""),
        ("x", ""),
        ("", ""),
    ]:
        assert_equal(key_of_reference(key, row[0]), row[1], "4.4")


def test_parts_of_urls() raises:
    for row in [
        ("http://a/x?y#z", "http", "a", "/x?y"),
        ("https://a:8443?y", "https", "a:8443", "?y"),
        ("a", "", "a", ""),
        ("a/x", "", "a", "/x"),
        # The colon of a port, and of a target, ends no scheme.
        ("a:8080/x", "", "a:8080", "/x"),
        ("a/x:///y", "", "a", "/x:///y"),
        ("", "", "", ""),
    ]:
        var url = String(row[0])
        var parts = split_url(url)
        assert_equal(String(parts.scheme), row[1], row[0])
        assert_equal(String(parts.authority), row[2], row[0])
        assert_equal(String(parts.target), row[3], row[0])


def test_policies_that_cannot_be() raises:
    CachePolicy().check()
    with assert_raises(contains="default_ttl_s is -1; allowed are 0"):
        CachePolicy(default_ttl_s=-1).check()
    with assert_raises(contains="heuristic_percent is 101"):
        CachePolicy(heuristic_percent=101).check()
    with assert_raises(contains="cache_name is 'a b'"):
        CachePolicy(cache_name="a b").check()

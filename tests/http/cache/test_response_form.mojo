"""Responses as octets: what is written is read, and nothing else is believed."""

from flare.http.cache.core.freshness import ExchangeTimes
from flare.http.cache.core.policy import CachePolicy
from flare.http.cache.core.response_form import (
    VARY_LEN_MAX,
    read_stored,
    write_stored,
)
from flare.http.cache.core.stored_response import Reuse, StoredResponse
from flare.http.cache.core.cache_control import CacheControl
from flare.http.cache.core.vary import selection_of
from flare.http.message.body import Body
from flare.http.message.header_map import HeaderMap
from flare.http.message.owned_request import OwnedRequest
from tests.support.assertions import (
    assert_equal,
    assert_false,
    assert_raises,
    assert_true,
)

comptime NOW_S = 1_000_000_000
comptime KEY = "http://example.com/a?b"


def _stored(
    var content: Body,
    control: StringSpan = "max-age=60, stale-if-error=90",
    vary: StringSpan = "",
) raises -> StoredResponse:
    var owned = OwnedRequest("GET", "/a?b")
    owned.add_header("Accept-Language", "de, en")
    owned.add_header("X-Two", "1")
    owned.add_header("X-Two", "2")
    var headers = HeaderMap()
    headers.append("Content-Type", "text/plain")
    headers.append("Cache-Control", control)
    headers.append("ETag", '"v1"')
    headers.append("X-Empty", "")
    if vary.byte_length() > 0:
        headers.append("Vary", vary)
    var stored = StoredResponse(
        203,
        headers,
        content^,
        owned.view().headers,
        policy=CachePolicy(),
        times=ExchangeTimes(NOW_S - 3, NOW_S - 2),
    )
    _ = owned^
    return stored^


def _read(
    octets: List[UInt8], key: StringSpan = KEY
) -> Optional[StoredResponse]:
    return read_stored(Span(octets), key, CachePolicy(), NOW_S)


def test_round_trip() raises:
    for vary in ["", "Accept-Language", "x-two, accept-language, x-none"]:
        for content in ["", "short", "x" * 100_000]:
            var stored = _stored(Body(String(content)), vary=vary)
            var octets = write_stored(KEY, stored)
            var again = _read(octets)
            assert_true(Bool(again))
            ref read = again.value()
            assert_equal(read.status.code, 203)
            assert_equal(String(read.headers), String(stored.headers))
            assert_equal(read.body.text(), content)
            assert_equal(read.lifetime_s, stored.lifetime_s)
            assert_equal(read.stale_s, 90)
            assert_equal(read.age_s(NOW_S + 5), stored.age_s(NOW_S + 5))
            assert_true(read.vary.is_same(stored.vary))
            assert_true(read.vary.selection() == stored.vary.selection())
            assert_equal(
                read.reuse(CacheControl(), CachePolicy(), NOW_S).code,
                Reuse.FRESH.code,
            )
            assert_true(write_stored(KEY, read) == octets)


def test_a_request_selects_what_its_response_is_kept_by() raises:
    var owned = OwnedRequest("GET", "/")
    owned.add_header("X-Two", "1,2")
    owned.add_header("Accept-Language", "en,de")
    var stored = _stored("", vary="X-Two, Accept-Language")
    var its = selection_of(stored.vary.names(), owned.view().headers)
    assert_true(its == stored.vary.selection())
    assert_true(stored.vary.matches(owned.view().headers))
    owned.add_header("X-Two", "3")
    its = selection_of(stored.vary.names(), owned.view().headers)
    assert_false(its == stored.vary.selection())
    # What is absent is not what is empty (RFC 9111 section 4.1).
    var bare = OwnedRequest("GET", "/")
    var empty = OwnedRequest("GET", "/")
    empty.add_header("X-Two", "")
    assert_false(
        selection_of("x-two", bare.view().headers)
        == selection_of("x-two", empty.view().headers)
    )


def test_content_is_octets() raises:
    var content: List[UInt8] = [0xFF, 0xD8, 0xFF, 0xE0, 0x00, 0x10]
    var read = _read(write_stored(KEY, _stored(Body(content.copy()))))
    assert_true(read.value().body.as_bytes() == Span(content))


def test_cut_anywhere() raises:
    var octets = write_stored(KEY, _stored(Body("content"), vary="X-Two"))
    for length in range(len(octets)):
        assert_false(Bool(_read(List[UInt8](Span(octets)[:length]))))
    var longer = octets.copy()
    longer.append(0)
    assert_false(Bool(_read(longer)))
    # The target that it is of is part of it.
    assert_false(Bool(_read(octets, "http://example.com/a")))


def test_each_octet_changed() raises:
    """Whatever comes, it is a response to the key with sane numbers, or none."""
    var octets = write_stored(KEY, _stored(Body("content"), vary="X-Two"))
    var refused = 0
    for index in range(len(octets)):
        for other in [UInt8(0), UInt8(1), UInt8(10), UInt8(127), UInt8(255)]:
            var changed = octets.copy()
            if changed[index] == other:
                continue
            changed[index] = other
            var read = _read(changed)
            if not read:
                refused += 1
                continue
            ref response = read.value()
            assert_true(response.status.code >= 200)
            assert_true(response.status.code < 600)
            assert_true(response.lifetime_s >= 0)
            assert_true(response.age_s(NOW_S) >= 0)
            assert_true(response.response_s <= NOW_S)
    assert_true(refused > 8 * 5)


def test_what_is_not_to_be_shared_is_not_believed() raises:
    """RFC 9111 sections 3 and 5.2.2.7, RFC 9110 section 15.3.7."""
    for control in ["private", "no-store", "max-age=60, private"]:
        assert_false(Bool(_read(write_stored(KEY, _stored("", control)))))
    assert_false(Bool(_read(write_stored(KEY, _stored("", vary="*")))))
    var stored = _stored("")
    for code in [100, 206, 304, 600]:
        stored.status = code
        assert_false(Bool(_read(write_stored(KEY, stored))))


def test_a_vary_that_is_too_long() raises:
    var vary = "x" * (VARY_LEN_MAX + 1)
    with assert_raises(contains="too long"):
        _ = write_stored(KEY, _stored("", vary=vary))


def test_how_long_it_is_of_use() raises:
    # 60 s fresh, of which 3 are gone, 90 s in place of errors, 1 h to validate.
    assert_equal(_stored("").useful_s(NOW_S), 60 - 3 + 90 + 3600)
    assert_equal(_stored("").useful_s(NOW_S + 10_000), 3600)
    var stored = _stored("", "max-age=60")
    _ = stored.headers.remove("etag")
    assert_equal(stored.useful_s(NOW_S), 57)
    assert_true(stored.useful_s(NOW_S + 60) <= 0)

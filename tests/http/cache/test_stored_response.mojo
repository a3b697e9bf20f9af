"""When a stored response may be used (RFC 9111 section 4, RFC 5861)."""

from flare.http.cache.core.cache_control import CacheControl
from flare.http.cache.core.freshness import ExchangeTimes
from flare.http.cache.core.policy import CachePolicy
from flare.http.cache.core.stored_response import (
    Reuse,
    StoredResponse,
    validators_of,
)
from flare.http.message.body import Body
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.header_lines import headers_of, request_with

comptime NOW_S = 784_111_777
comptime DATE = StaticString("Sun, 06 Nov 1994 08:49:37 GMT")
comptime TIMES = ExchangeTimes(NOW_S, NOW_S)


@fieldwise_init
struct _Use(Copyable, Movable):
    var rule: StaticString
    var told: StaticString
    var asked: StaticString
    var age_s: Int
    var reuse: Reuse


comptime _FRESH = Reuse.FRESH
comptime _STALE = Reuse.STALE
comptime _MEANWHILE = Reuse.STALE_WHILE_REVALIDATE
comptime _VALIDATE = Reuse.VALIDATE
comptime _REQUESTED = Reuse.REQUESTED


def test_reuse() raises:
    var rows: List[_Use] = [
        _Use("4.2 fresh", "max-age=10", "", 9, _FRESH),
        _Use("4.2 no longer", "max-age=10", "", 10, _VALIDATE),
        _Use("5.2.2.4", "max-age=10, no-cache", "", 0, _VALIDATE),
        _Use("5.2.1.4", "max-age=10", "no-cache", 0, _REQUESTED),
        _Use("5.2.1.1 young enough", "max-age=10", "max-age=5", 5, _FRESH),
        _Use("5.2.1.1 too old", "max-age=10", "max-age=5", 6, _REQUESTED),
        _Use("5.2.1.1 zero", "max-age=10", "max-age=0", 0, _FRESH),
        _Use(
            "5.2.1.1 not stale",
            "max-age=10, stale-while-revalidate=5",
            "max-age=30",
            11,
            _REQUESTED,
        ),
        _Use(
            "5.2.1.1 unless welcome",
            "max-age=10",
            "max-age=30, max-stale=5",
            11,
            _STALE,
        ),
        _Use("5.2.1.3 enough", "max-age=10", "min-fresh=5", 5, _FRESH),
        _Use("5.2.1.3 not enough", "max-age=10", "min-fresh=5", 6, _REQUESTED),
        _Use("5.2.1.2 welcome", "max-age=10", "max-stale=5", 15, _STALE),
        _Use("5.2.1.2 too stale", "max-age=10", "max-stale=5", 16, _VALIDATE),
        _Use("5.2.1.2 any", "max-age=10", "max-stale", 999, _STALE),
        _Use(
            "5.2.2.2", "max-age=10, must-revalidate", "max-stale", 11, _VALIDATE
        ),
        _Use(
            "5.2.2.8",
            "max-age=10, proxy-revalidate",
            "max-stale",
            11,
            _VALIDATE,
        ),
        _Use("5.2.2.10", "s-maxage=10", "max-stale", 11, _VALIDATE),
        _Use(
            "5861-3 within",
            "max-age=10, stale-while-revalidate=5",
            "",
            14,
            _MEANWHILE,
        ),
        _Use(
            "5861-3 beyond",
            "max-age=10, stale-while-revalidate=5",
            "",
            15,
            _VALIDATE,
        ),
        _Use(
            "5861-3 explicit",
            "s-maxage=10, stale-while-revalidate=5",
            "",
            14,
            _MEANWHILE,
        ),
        _Use(
            "5861-3 forbidden",
            "max-age=10, must-revalidate, stale-while-revalidate=5",
            "",
            11,
            _VALIDATE,
        ),
        _Use(
            "5861-3 client is stricter",
            "max-age=10, stale-while-revalidate=5",
            "max-age=3",
            11,
            _REQUESTED,
        ),
    ]
    var policy = CachePolicy()
    var owned = request_with("")
    for row in rows:
        var stored = StoredResponse(
            200,
            headers_of(String("Cache-Control: ", row.told)),
            Body(),
            owned.view().headers,
            policy=policy,
            times=TIMES,
        )
        var asked = CacheControl.parse(row.asked.as_bytes())
        assert_true(
            stored.reuse(asked, policy, NOW_S + row.age_s) == row.reuse,
            row.rule,
        )
    _ = owned^


def test_stale_in_place_of_errors() raises:
    var owned = request_with("")
    var policy = CachePolicy(stale_if_error_s=5)
    for row in [
        ("5861-4 told", "max-age=10, stale-if-error=20", "", 29, True),
        ("5861-4 beyond", "max-age=10, stale-if-error=20", "", 30, False),
        ("5861-4 by policy", "max-age=10", "", 14, True),
        ("5861-4 policy beyond", "max-age=10", "", 15, False),
        ("5861-4 asked", "max-age=10", "stale-if-error=20", 29, True),
        (
            "4.2.4 forbidden",
            "max-age=10, must-revalidate",
            "stale-if-error=20",
            10,
            False,
        ),
        ("4.2.4 s-maxage", "s-maxage=10", "", 10, False),
        ("5861-4 explicit", "s-maxage=10, stale-if-error=20", "", 29, True),
        ("9111-4.2 fresh needs no leave", "max-age=10", "", 9, True),
        # Not without a successful validation, however young it is.
        ("9111-5.2.2.4", "max-age=10, no-cache", "", 0, False),
        (
            "9111-5.2.2.4 told",
            "max-age=10, no-cache, stale-if-error=20",
            "stale-if-error=20",
            0,
            False,
        ),
    ]:
        var stored = StoredResponse(
            200,
            headers_of(String("Cache-Control: ", row[1])),
            Body(),
            owned.view().headers,
            policy=policy,
            times=TIMES,
        )
        var asked = CacheControl.parse(row[2].as_bytes())
        assert_equal(
            stored.may_stand_in(asked, policy, NOW_S + row[3]), row[4], row[0]
        )
    _ = owned^


def test_clock_set_back() raises:
    var owned = request_with("")
    var stored = StoredResponse(
        200,
        headers_of("Cache-Control: max-age=10\nAge: 3"),
        Body(),
        owned.view().headers,
        policy=CachePolicy(),
        times=TIMES,
    )
    assert_equal(stored.age_s(NOW_S - 500), 3, "4.2.3")
    assert_equal(stored.age_s(NOW_S + 4), 7, "4.2.3")
    assert_equal(stored.headers["date"], DATE, "9110-6.6.1")
    assert_false("age" in stored.headers, "5.1: made anew for each use")


def test_304_of_another() raises:
    var owned = request_with("")
    for row in [
        ('ETag: "a"', 'ETag: "a"', True),
        ('ETag: "a"', 'ETag: W/"a"', True),
        ('ETag: "a"', 'ETag: "b"', False),
        ('ETag: "a"', "", True),
        ("Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT", "", True),
        ("Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT", 'ETag: "b"', False),
        (
            "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT",
            "Last-Modified: Sun, 06 Nov 1994 08:49:38 GMT",
            False,
        ),
    ]:
        var stored = StoredResponse(
            200,
            headers_of(row[0]),
            Body(),
            owned.view().headers,
            policy=CachePolicy(),
            times=TIMES,
        )
        assert_equal(
            stored.is_confirmed_by(headers_of(row[1])), row[2], "4.3.4"
        )
    _ = owned^


def test_dates_of_any_form_are_one_validator() raises:
    """RFC 9110 section 5.6.7 has three forms, and RFC 9111 section 4.2 asks
    caches to pass over the case; a year of two digits is near to now."""
    comptime NOW_S = 1_795_600_000
    var owned = request_with("")
    for form in [
        "Fri, 01 Nov 2024 08:49:37 GMT",
        "Friday, 01-Nov-24 08:49:37 GMT",
        "Fri Nov  1 08:49:37 2024",
        "fri, 01 nov 2024 08:49:37 gmt",
        "FRIDAY, 01-NOV-24 08:49:37 GMT",
        "fri nov  1 08:49:37 2024",
    ]:
        var headers = headers_of(String("Last-Modified: ", form))
        var modified_s = validators_of(headers, NOW_S).modified_s
        assert_equal(modified_s.value(), 1_730_450_977, form)
        var stored = StoredResponse(
            200,
            headers^,
            Body(),
            owned.view().headers,
            policy=CachePolicy(),
            times=ExchangeTimes(NOW_S, NOW_S),
        )
        for row in [
            ("Fri, 01 Nov 2024 08:49:37 GMT", True),
            ("Friday, 01-Nov-24 08:49:37 GMT", True),
            ("fri, 01 nov 2024 08:49:37 gmt", True),
            ("Fri, 01 Nov 2024 08:49:38 GMT", False),
            ("fri, 01 nov 2024 08:49:38 gmt", False),
        ]:
            var newer = headers_of(String("Last-Modified: ", row[0]))
            assert_equal(stored.is_confirmed_by(newer), row[1], form)
    _ = owned^

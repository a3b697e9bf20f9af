"""Age and freshness of responses (RFC 9111 section 4.2)."""

from flare.bytes.checked import *
from flare.http.cache.core.cache_control import (
    CacheControl,
    DELTA_SECONDS_MAX,
    parse_delta_seconds,
)
from flare.http.cache.core.policy import CachePolicy
from flare.http.cache.core.targeted import is_targeted
from flare.http.message.date import parse_http_date_in_cache
from flare.http.message.fields import ListElements
from flare.http.message.header_map import HeaderMap
from flare.http.message.status import Status


@fieldwise_init
struct ExchangeTimes(TrivialRegisterPassable):
    """When a request was sent and its response came."""

    var request_s: Int
    """In seconds since 1970-01-01 00:00:00 UTC."""
    var response_s: Int
    """In seconds since 1970-01-01 00:00:00 UTC."""


def date_of(headers: HeaderMap, times: ExchangeTimes) -> Int:
    """Reads when a response was made: its Date, in seconds, or when it came if
    it has none that can be read (RFC 9110 section 6.6.1)."""
    var date = _date(headers, "date", times.response_s)
    return date.or_else(times.response_s)


def initial_age_s(headers: HeaderMap, times: ExchangeTimes) -> Int:
    """Computes `corrected_initial_age` in seconds (section 4.2.3)."""
    var apparent_age = max(0, times.response_s - date_of(headers, times))
    var response_delay = max(0, times.response_s - times.request_s)
    var corrected_age = _age(headers) + response_delay
    return min(max(apparent_age, corrected_age), DELTA_SECONDS_MAX)


def origin_age_s(headers: HeaderMap, times: ExchangeTimes) -> Int:
    """Computes a response's age in seconds when it came as if its fetch had
    taken no time: what its Age says, or how long before it was asked for its
    Date is."""
    var before_s = max(0, times.request_s - date_of(headers, times))
    return min(max(before_s, _age(headers)), DELTA_SECONDS_MAX)


def _age(headers: HeaderMap) -> Int:
    """Reads Age (section 5.1): of a list the first member counts, and what is no
    number is ignored."""
    var index = headers.find("age")
    if index < 0:
        return 0
    for element in ListElements(headers.value(index).as_bytes()):
        return parse_delta_seconds(element).or_else(0)
    return 0


@fieldwise_init
struct Lifetime(TrivialRegisterPassable):
    """How long a response is fresh."""

    var seconds: Int
    """From the moment that it was made; 0 if it is stale from the start."""
    var is_explicit: Bool
    """Whether the response says it itself."""


def freshness_lifetime(
    status: Status,
    headers: HeaderMap,
    control: CacheControl,
    policy: CachePolicy,
    times: ExchangeTimes,
) -> Lifetime:
    """Computes how long a response is fresh (section 4.2.1): by the first of
    `s-maxage`, `max-age`, Expires and what the policy lets guess."""
    if policy.is_shared and control.s_maxage_s:
        return Lifetime(control.s_maxage_s.held(), True)
    if control.max_age_s:
        return Lifetime(control.max_age_s.held(), True)
    var expires = headers.find("expires")
    if expires >= 0 and not is_targeted(headers, policy):
        # Section 5.3: what is no date, such as 0, means already expired.
        if headers.find("expires", expires + 1) >= 0:
            return Lifetime(0, True)
        var at_s = _date(headers, "expires", times.response_s)
        if not at_s:
            return Lifetime(0, True)
        var seconds = at_s.held() - date_of(headers, times)
        return Lifetime(min(max(0, seconds), DELTA_SECONDS_MAX), True)
    if not is_heuristic(status) and not control.is_public:
        return Lifetime(0, False)
    if policy.default_ttl_s > 0:
        return Lifetime(policy.default_ttl_s, False)
    return Lifetime(_heuristic_s(headers, policy, times), False)


def _heuristic_s(
    headers: HeaderMap, policy: CachePolicy, times: ExchangeTimes
) -> Int:
    """Section 4.2.2: a fraction of the time since the last change."""
    if policy.heuristic_percent == 0:
        return 0
    var modified_s = _date(headers, "last-modified", times.response_s)
    if not modified_s:
        return 0
    var unchanged_s = max(0, date_of(headers, times) - modified_s.held())
    return min(
        unchanged_s * policy.heuristic_percent // 100, policy.heuristic_max_s
    )


def is_heuristic(status: Status) -> Bool:
    """Tells whether responses of a status may be kept though they say nothing.

    Source: RFC 9110 section 15.1. 206 is left out, since no parts are kept.
    """
    var code = status.code
    if code == 200 or code == 203 or code == 204 or code == 300:
        return True
    if code == 301 or code == 308 or code == 404 or code == 405:
        return True
    return code == 410 or code == 414 or code == 501


def _date(headers: HeaderMap, name: StaticString, now_s: Int) -> Optional[Int]:
    var value = headers.get(name)
    if not value:
        return None
    return parse_http_date_in_cache(value.held().as_bytes(), now_s)

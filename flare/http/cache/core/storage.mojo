"""Whether a response may be kept, and which of its fields (RFC 9111 section 3)."""

from flare.bytes.ascii import equals_ignore_case
from flare.bytes.checked import *
from flare.http.cache.core.cache_control import CacheControl
from flare.http.cache.core.freshness import (
    ExchangeTimes,
    freshness_lifetime,
    is_heuristic,
)
from flare.http.cache.core.policy import CachePolicy
from flare.http.cache.core.targeted import response_control
from flare.http.message.fields import Fields, ListElements
from flare.http.message.header_map import HeaderError, HeaderMap
from flare.http.message.status import Status

comptime _NOT_STORED: Array[StaticString, 13] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "proxy-authenticate",
    "proxy-authentication-info",
    "proxy-authorization",
    "age",
    "cache-status",
    "content-length",
]
# Section 3.1; and what is made anew for each use: Age, Cache-Status and the
# framing.

comptime _NOT_UPDATED: Array[StaticString, 4] = [
    "content-encoding",
    "content-range",
    "content-md5",
    "content-digest",
]
# Section 3.2: what was stored depends on them.


@fieldwise_init
struct StoreRefusal(Equatable, TrivialRegisterPassable):
    """Why a response is not kept."""

    var code: UInt8

    comptime NONE = Self(0)
    """It may be kept."""
    comptime STATUS = Self(2)
    """The status is a part, an interim one, or not understood."""
    comptime NO_STORE = Self(3)
    """The response forbids it."""
    comptime PRIVATE = Self(4)
    """It is for a single user."""
    comptime AUTHORIZED = Self(5)
    """The request has credentials, and the response does not allow it."""
    comptime COOKIE = Self(6)
    """It sets a cookie, and does not say that all may have it."""
    comptime VARY = Self(7)
    """No other request would match it."""
    comptime USELESS = Self(8)
    """It is stale from the start, and cannot be validated."""
    comptime REQUEST = Self(9)
    """The request forbids it, or has asked for a part that does not exist."""

    def is_of_origin(self) -> Bool:
        """Tells whether the origin wants nothing kept of the target, so that
        what was kept of it before goes, too."""
        return (
            self == Self.NO_STORE or self == Self.PRIVATE or self == Self.VARY
        )

    def is_of_request(self, status: Status) -> Bool:
        """Tells whether the response to another request for the same target may
        well be kept: if this one forbids it or has credentials, or is at fault
        itself (4xx) in a way that says nothing of the target."""
        if self == Self.REQUEST or self == Self.AUTHORIZED:
            return True
        var is_at_fault = status.code >= 400 and status.code < 500
        return is_at_fault and not is_heuristic(status)


def store_refusal(
    fields: Fields,
    status: Status,
    headers: HeaderMap,
    policy: CachePolicy,
    times: ExchangeTimes,
) -> StoreRefusal:
    """Decides whether a response to GET may be kept, in the order of section 3;
    `NONE` if so."""
    if status < 200 or status == 206 or status == 304:
        return StoreRefusal.STATUS
    if status == 416:
        # RFC 9110 section 15.5.17: it is about the Range of this request.
        return StoreRefusal.REQUEST
    var control = response_control(headers, policy)
    if control.must_understand and not _understands(status):
        return StoreRefusal.STATUS
    # Section 5.2.2.3: who understands the status passes over `no-store`.
    if control.no_store and not control.must_understand:
        return StoreRefusal.NO_STORE
    if policy.obeys_clients and CacheControl.of_request(fields).no_store:
        return StoreRefusal.REQUEST
    if policy.is_shared:
        var refusal = _shared_refusal(fields, headers, control, policy)
        if refusal != StoreRefusal.NONE:
            return refusal
    if _names(headers, "vary", "*".as_bytes()):
        return StoreRefusal.VARY
    if _varies_by_connection(fields, headers):
        return StoreRefusal.REQUEST
    var lifetime = freshness_lifetime(status, headers, control, policy, times)
    if lifetime.seconds > 0:
        return StoreRefusal.NONE
    if not lifetime.is_explicit:
        # What is always validated has no lifetime, but needs what section 3
        # asks for as any other.
        var may_be_kept = is_heuristic(status) or control.is_public
        if not control.no_cache or not may_be_kept:
            return StoreRefusal.USELESS
    if control.stale_while_revalidate_s or control.stale_if_error_s:
        return StoreRefusal.NONE
    if "etag" in headers or "last-modified" in headers:
        return StoreRefusal.NONE
    return StoreRefusal.USELESS


def _shared_refusal(
    fields: Fields,
    headers: HeaderMap,
    control: CacheControl,
    policy: CachePolicy,
) -> StoreRefusal:
    """Sections 5.2.2.7 (private) and 3.5 (Authorization)."""
    if control.is_private:
        return StoreRefusal.PRIVATE
    var is_for_all = control.is_public or control.s_maxage_s.__bool__()
    if "authorization" in fields and not may_be_shared(control):
        return StoreRefusal.AUTHORIZED
    if policy.keeps_cookies or is_for_all or "set-cookie" not in headers:
        return StoreRefusal.NONE
    for stripped in [
        control.no_cache_fields.copy(),
        control.private_fields.copy(),
    ]:
        if "set-cookie" in stripped:
            return StoreRefusal.NONE
    return StoreRefusal.COOKIE


def may_be_shared(control: CacheControl) -> Bool:
    """Tells whether the response to a request with credentials may be given to
    requests of others (section 3.5), by `must-revalidate`, `public` and
    `s-maxage`; `private` is not looked at."""
    return (
        control.is_public
        or control.must_revalidate
        or control.s_maxage_s.__bool__()
    )


def _understands(status: Status) -> Bool:
    """Tells whether a status asks nothing of caches that is unknown here."""
    var code = status.code
    if is_heuristic(status) or (code >= 300 and code <= 308):
        return True
    return (code >= 400 and code <= 431) or (code >= 500 and code <= 511)


def _varies_by_connection(fields: Fields, headers: HeaderMap) -> Bool:
    """Tells whether the response depends on a field that the request's
    Connection names: a proxy further in has not passed it on (RFC 9110 section
    7.6.1), so that this is no answer to requests with that field."""
    var index = fields.find("connection")
    while index >= 0:
        for option in ListElements(fields.value_bytes(index)):
            if len(option) > 0 and _names(headers, "vary", option):
                return True
        index = fields.find("connection", index + 1)
    return False


def _names(headers: HeaderMap, field: StringSpan, name: Span[UInt8, _]) -> Bool:
    """Tells whether a field that is a list has a name among its elements."""
    var index = headers.find(field)
    while index >= 0:
        for element in ListElements(headers.value(index).as_bytes()):
            if equals_ignore_case(element, name):
                return True
        index = headers.find(field, index + 1)
    return False


def stored_fields(
    headers: HeaderMap, control: CacheControl, policy: CachePolicy
) raises HeaderError -> HeaderMap:
    """Copies the fields of a response that are kept (section 3.1).

    Left out are those of the connection, those that `no-cache` names, since
    they may not be used without asking, and in a shared cache those that
    `private` names.
    """
    var kept = HeaderMap()
    for index in range(len(headers)):
        var name = headers.name(index)
        if not is_stored(headers, name) or _is_in(
            name, control.no_cache_fields
        ):
            continue
        if policy.is_shared and _is_in(name, control.private_fields):
            continue
        kept.append(name, headers.value(index))
    return kept^


def is_stored(headers: HeaderMap, name: StringSpan) -> Bool:
    """Tells whether a field goes beyond the connection (section 3.1), which the
    response's Connection may name, and the cache."""
    comptime for index in range(13):
        comptime NAME = _NOT_STORED[index]
        if equals_ignore_case(name.as_bytes(), NAME.as_bytes()):
            return False
    return not _names(headers, "connection", name.as_bytes())


def freshened_fields(
    stored: HeaderMap, newer: HeaderMap
) raises HeaderError -> HeaderMap:
    """Updates stored fields from those of a 304 or of a response to HEAD
    (section 3.2): the newer ones, and the stored ones of other names."""
    var fields = HeaderMap()
    for index in range(len(stored)):
        var name = stored.name(index)
        if name not in newer or not _is_updated(newer, name):
            fields.append(name, stored.value(index))
    for index in range(len(newer)):
        var name = newer.name(index)
        if _is_updated(newer, name):
            fields.append(name, newer.value(index))
    return fields^


def _is_updated(newer: HeaderMap, name: StringSpan) -> Bool:
    comptime for index in range(4):
        comptime NAME = _NOT_UPDATED[index]
        if equals_ignore_case(name.as_bytes(), NAME.as_bytes()):
            return False
    return is_stored(newer, name)


def _is_in(name: StringSpan, names: List[String]) -> Bool:
    for index in range(len(names)):
        if equals_ignore_case(name.as_bytes(), names.at(index).as_bytes()):
            return True
    return False

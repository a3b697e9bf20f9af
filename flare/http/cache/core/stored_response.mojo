"""A response that is kept: what it was, how old it is, and when it may be used."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.http.cache.core.cache_control import (
    CacheControl,
    DELTA_SECONDS_MAX,
)
from flare.http.cache.core.freshness import (
    ExchangeTimes,
    date_of,
    freshness_lifetime,
    initial_age_s,
    origin_age_s,
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
from flare.http.conditional.conditional import EntityTag, Validators
from flare.http.message.body import Body
from flare.http.message.date import (
    append_imf_fixdate,
    parse_http_date,
    parse_http_date_in_cache,
)
from flare.http.message.fields import Fields
from flare.http.message.header_map import HeaderError, HeaderMap
from flare.http.message.status import Status

comptime _VALIDATION_S = 3_600
# How long what is stale is kept elsewhere in order to be validated.


@fieldwise_init
struct Reuse(Equatable, TrivialRegisterPassable):
    """What a request may get of a stored response (RFC 9111 section 4)."""

    var code: UInt8

    comptime FRESH = Self(0)
    """The response, as it is."""
    comptime STALE = Self(1)
    """The response, though it is stale: the client asks for it."""
    comptime STALE_WHILE_REVALIDATE = Self(2)
    """The response, and a newer one is to be fetched meanwhile."""
    comptime VALIDATE = Self(3)
    """Nothing, before the origin has been asked: it is stale."""
    comptime REQUESTED = Self(4)
    """Nothing, before the origin has been asked: the client wants that."""


@fieldwise_init
struct StoredAges(TrivialRegisterPassable):
    """When a stored response was made and came, in seconds."""

    var date_s: Int
    """When it was made."""
    var response_s: Int
    var initial_age_s: Int
    """How old it was then."""
    var lifetime_s: Int
    """How long it is fresh."""


struct StoredResponse(Copyable, Movable):
    """A response with all that its use depends on. It does not change: a
    validated one is a new one, with the same content in memory."""

    var status: Status
    var headers: HeaderMap
    """The fields, without those of `stored_fields`, and with Date."""
    var body: Body
    """The content, a text in memory that copies share."""
    var is_decoded: Bool
    """Whether that is without the coding that the fields tell of: a client has
    undone it."""
    var control: CacheControl
    """What it says to caches."""
    var vary: VaryKey
    """Which requests select it."""
    var date_s: Int
    """When it was made."""
    var response_s: Int
    var initial_age_s: Int
    """How old it was then."""
    var origin_age_s: Int
    """How old it was when it was sent, at least: without the time that its
    fetch took."""
    var lifetime_s: Int
    """How long it is fresh."""
    var stale_s: Int
    """How long beyond that it may be used in some case, in seconds."""
    var is_invalidated: Bool
    """Whether it is to be validated whatever it says (section 4.4)."""

    def __init__(
        out self,
        status: Status,
        headers: HeaderMap,
        var body: Body,
        fields: Fields,
        *,
        policy: CachePolicy,
        times: ExchangeTimes,
    ) raises HeaderError:
        """Keeps a response to a request with `fields`. Raises if the fields and
        a Date are longer than a block."""
        self.status = status
        self.control = response_control(headers, policy)
        self.headers = stored_fields(headers, self.control, policy)
        self.body = body^
        self.is_decoded = False
        self.vary = VaryKey(headers, fields)
        self.date_s = date_of(headers, times)
        self.response_s = times.response_s
        self.initial_age_s = initial_age_s(headers, times)
        self.origin_age_s = origin_age_s(headers, times)
        var lifetime = freshness_lifetime(
            status, headers, self.control, policy, times
        )
        self.lifetime_s = lifetime.seconds
        self.stale_s = 0
        self.is_invalidated = False
        self.stale_s = self._stale_max_s(policy)
        if parse_http_date(_text_of(self.headers, "date"), 0) is None:
            var date = Buffer(32)
            append_imf_fixdate(date, max(0, self.date_s))
            self.headers.set("Date", StringSpan(unsafe_from_utf8=date.span()))

    def __init__(
        out self,
        status: Status,
        var headers: HeaderMap,
        var body: Body,
        fields: Fields,
        *,
        policy: CachePolicy,
        ages: StoredAges,
    ):
        """Makes a response that was kept elsewhere; `fields` are those of the
        request that Vary names."""
        self.status = status
        self.control = response_control(headers, policy)
        self.vary = VaryKey(headers, fields)
        self.headers = headers^
        self.body = body^
        self.is_decoded = False
        self.date_s = ages.date_s
        self.response_s = ages.response_s
        self.initial_age_s = ages.initial_age_s
        self.origin_age_s = ages.initial_age_s
        self.lifetime_s = ages.lifetime_s
        self.stale_s = 0
        self.is_invalidated = False
        self.stale_s = self._stale_max_s(policy)

    @no_inline
    def __deinit__(deinit self):
        return

    def ages(self) -> StoredAges:
        """Gives the numbers that its use depends on."""
        return StoredAges(
            self.date_s,
            self.response_s,
            self.initial_age_s,
            self.lifetime_s,
        )

    def useful_s(self, now_s: Int) -> Int:
        """Tells for how many seconds the response may be of use still: while it
        is fresh, while it may be used stale, and an hour more if it can be
        validated. 0 or less is not at all."""
        var left_s = self.lifetime_s + self.stale_s - self.age_s(now_s)
        if not self.has_validators():
            return left_s
        return max(left_s, 0) + _VALIDATION_S

    def _stale_max_s(self, policy: CachePolicy) -> Int:
        var if_error_s = self._beyond_s(
            self.control.stale_if_error_s, policy.stale_if_error_s, policy
        )
        return max(if_error_s, self.stale_while_revalidate_s(policy))

    def freshened(
        self,
        newer: HeaderMap,
        fields: Fields,
        *,
        policy: CachePolicy,
        times: ExchangeTimes,
    ) raises HeaderError -> Self:
        """Makes the response that a 304, or a response to HEAD, stands for
        (section 4.3.4), with the same content. Raises if the fields together
        are longer than a block."""
        var headers = freshened_fields(self.headers, newer)
        var age = newer.get("age")
        if age:
            headers.set("Age", age.held())
        if "date" not in newer:
            _ = headers.remove("date")
        var fresh = Self(
            self.status,
            headers,
            self.body.copy(),
            fields,
            policy=policy,
            times=times,
        )
        fresh.is_decoded = self.is_decoded
        return fresh^

    def age_s(self, now_s: Int) -> Int:
        """Computes `current_age` in seconds (section 4.2.3); a clock that was
        set back makes nothing younger."""
        var resident_s = max(0, now_s - self.response_s)
        return min(self.initial_age_s + resident_s, DELTA_SECONDS_MAX)

    def reuse(
        self, asked: CacheControl, policy: CachePolicy, now_s: Int
    ) -> Reuse:
        """Decides what a request that selects the response may get."""
        return self._reuse_at(self.age_s(now_s), asked, policy)

    def reuse_by_waiter(
        self, asked: CacheControl, policy: CachePolicy
    ) -> Reuse:
        """Decides what a request may get that has waited while the response was
        fetched for another one.

        Section 4.2.3 counts the time that a fetch takes as age, since the
        origin may have made the response at its beginning. Who has waited for
        it does not count it, unless the response may never be used stale.
        """
        var age_s = self.origin_age_s
        if self.forbids_stale(policy):
            age_s = self.initial_age_s
        return self._reuse_at(age_s, asked, policy)

    def refusal(
        self, fields: Fields, policy: CachePolicy, times: ExchangeTimes
    ) -> StoreRefusal:
        """Decides whether it may be kept as a 304, or an answer to HEAD, has
        updated it. What was taken over comes from an answer to `fields`: a cookie
        in it, or what is for their credentials, is not for others."""
        return store_refusal(fields, self.status, self.headers, policy, times)

    def is_for_many(self, policy: CachePolicy) -> Bool:
        """Tells whether those who have waited for the response may get it; else
        each of them has to ask the origin."""
        var reuse = self.reuse_by_waiter(CacheControl(), policy)
        return reuse != Reuse.VALIDATE

    def _reuse_at(
        self, age_s: Int, asked: CacheControl, policy: CachePolicy
    ) -> Reuse:
        if self.control.no_cache or self.is_invalidated:
            return Reuse.VALIDATE
        if asked.no_cache:
            return Reuse.REQUESTED
        var is_wanted = age_s <= asked.max_age_s.or_else(age_s)
        if self.lifetime_s > age_s:
            var left_s = self.lifetime_s - age_s
            if is_wanted and left_s >= asked.min_fresh_s.or_else(0):
                return Reuse.FRESH
            return Reuse.REQUESTED
        if not is_wanted or asked.min_fresh_s:
            return Reuse.REQUESTED
        # Section 5.2.1.1: who says how old it may be wants nothing stale.
        if asked.max_age_s and not asked.max_stale_s:
            return Reuse.REQUESTED
        var stale_s = age_s - self.lifetime_s
        if stale_s < self.stale_while_revalidate_s(policy):
            return Reuse.STALE_WHILE_REVALIDATE
        if asked.max_stale_s and not self.forbids_stale(policy):
            if stale_s <= asked.max_stale_s.held():
                return Reuse.STALE
        return Reuse.VALIDATE

    def forbids_stale(self, policy: CachePolicy) -> Bool:
        """Tells whether the response may not be used when it is stale: by
        `must-revalidate`, `no-cache`, and in a shared cache by
        `proxy-revalidate` and `s-maxage` (section 4.2.4)."""
        if self.control.must_revalidate or self.control.no_cache:
            return True
        if not policy.is_shared:
            return False
        return (
            self.control.proxy_revalidate or self.control.s_maxage_s.__bool__()
        )

    def stale_while_revalidate_s(self, policy: CachePolicy) -> Int:
        """Tells how many seconds beyond its lifetime the response may be used
        while a newer one is fetched. What the response says itself holds with
        `s-maxage`, too, which would forbid any other stale use."""
        return self._beyond_s(
            self.control.stale_while_revalidate_s,
            policy.stale_while_revalidate_s,
            policy,
        )

    def may_stand_in(
        self, asked: CacheControl, policy: CachePolicy, now_s: Int
    ) -> Bool:
        """Tells whether the response is not stale for too long to be given in
        place of an error (RFC 5861 section 4); never with `no-cache`, which
        wants a successful validation however young it is (section 5.2.2.4)."""
        if self.is_invalidated or self.control.no_cache:
            return False
        var beyond_s = self._beyond_s(
            self.control.stale_if_error_s, policy.stale_if_error_s, policy
        )
        if asked.stale_if_error_s and not self.forbids_stale(policy):
            beyond_s = max(beyond_s, asked.stale_if_error_s.held())
        return self.age_s(now_s) - self.lifetime_s < beyond_s

    def _beyond_s(
        self, told: Optional[Int], default: Int, policy: CachePolicy
    ) -> Int:
        if self.control.must_revalidate or self.control.no_cache:
            return 0
        if policy.is_shared and self.control.proxy_revalidate:
            return 0
        if told:
            return told.held()
        return 0 if self.forbids_stale(policy) else default

    def validators(self) -> Validators:
        """Reads entity tag and Last-Modified; what is malformed is none."""
        return validators_of(self.headers, self.response_s)

    def has_validators(self) -> Bool:
        """Tells whether the origin can be asked if the response is current, by
        an entity tag or Last-Modified."""
        return "etag" in self.headers or "last-modified" in self.headers

    def is_confirmed_by(self, newer: HeaderMap) -> Bool:
        """Tells whether a 304 speaks of this response (section 4.3.4): not if
        it has another entity tag, or none and another Last-Modified."""
        var its = validators_of(newer, self.response_s)
        var mine = self.validators()
        if its.entity_tag:
            if not mine.entity_tag:
                return False
            return mine.entity_tag.held().matches_weakly(its.entity_tag.held())
        if its.modified_s and mine.modified_s and not mine.entity_tag:
            return its.modified_s.held() == mine.modified_s.held()
        return True

    def octet_count(self) -> Int:
        """Tells how many bytes the response takes, about; the content counts
        fully though others may share it."""
        return (
            len(self.body)
            + len(self.headers.lines_octets())
            + self.headers.content_type().byte_length()
            + 16 * len(self.headers)
            + self.vary.octet_count()
            + 512
        )


def validators_of(headers: HeaderMap, now_s: Int) -> Validators:
    """Reads entity tag and Last-Modified of a response that came at about
    `now_s` (see `parse_http_date`); what is malformed is none."""
    var validators = Validators()
    validators.exists = True
    var tag = headers.get("etag")
    if tag:
        try:
            validators.entity_tag = EntityTag.parse(tag.held().as_bytes())
        except:
            pass
    var modified = headers.get("last-modified")
    if modified:
        validators.modified_s = parse_http_date_in_cache(
            modified.held().as_bytes(), now_s
        )
    return validators^


def _text_of(headers: HeaderMap, name: StaticString) -> List[UInt8]:
    var octets = List[UInt8]()
    var value = headers.get(name)
    if value:
        octets.extend(value.held().as_bytes())
    return octets^

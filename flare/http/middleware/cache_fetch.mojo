"""A request that a cache sends on, and one that it has nothing to do with."""

from flare.bytes.checked import *
from flare.http.cache.core.cache_control import CacheControl
from flare.http.cache.core.cache_status import CacheStatus, Forward
from flare.http.cache.core.freshness import ExchangeTimes
from flare.http.cache.core.key import key_of_reference
from flare.http.cache.core.stored_response import Reuse, StoredResponse
from flare.http.cache.shared_responses import LookupTicket
from flare.http.cache.core.policy import CachePolicy
from flare.http.cache.fetches import FetchClaim, FetchState, JoinedFetch
from flare.http.cache.store import CacheStore, FetchMark, Lookup
from flare.http.message.fields import Fields
from flare.http.message.method import Method
from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.handler.later import LaterStep
from flare.sys.clock import unix_seconds


struct CacheFetch(Movable):
    """A request that goes to the inner handler; it holds nothing of the request
    itself."""

    var key: String
    var asked: CacheControl
    # What is kept, though it cannot be used without asking.
    var found: Lookup
    # Held by the one of many who fetches.
    var claim: Optional[FetchClaim]
    # Whom the others wait for.
    var joined: Optional[JoinedFetch]
    # Whether the response may be of use to others.
    var is_for_many: Bool
    var times: ExchangeTimes
    # When the handler, or the shared store, was asked, by what was removed.
    var since: FetchMark
    # What becomes of a look-up in the shared store.
    var ticket: Optional[LookupTicket]
    # Whether a 304 is wanted for what is kept.
    var validates: Bool
    # Whether the handler was asked what the client has asked, so that nothing
    # is left to be compared.
    var is_plain: Bool
    # Whether the handler answers later, when the request is gone.
    var is_later: Bool

    def __init__(
        out self, var key: String, var asked: CacheControl, var found: Lookup
    ):
        self.key = key^
        self.asked = asked^
        self.found = found^
        self.claim = None
        self.joined = None
        self.is_for_many = True
        self.times = ExchangeTimes(0, 0)
        self.since = FetchMark(0, -1)
        self.ticket = None
        self.validates = False
        self.is_plain = True
        self.is_later = False

    @no_inline
    def __deinit__(deinit self):
        return

    def begin(mut self, store: CacheStore):
        """Fetches for all, or joins who does."""
        var start = store.begin_fetch(
            self.key, unix_seconds(), may_claim=self.is_for_many
        )
        swap(self.claim, start.claim)
        swap(self.joined, start.joined)

    def has_joined(self, state: FetchState) -> Bool:
        """Tells whether a fetch was joined that is in a state now. One that is
        `ABANDONED`, since its client has gone, may be taken over."""
        return self.joined and self.joined.held().state() == state

    def take_joined(mut self, req: Request, policy: CachePolicy) -> Bool:
        """Takes what the fetch that was joined has brought; False if the
        request selects nothing of it."""
        if not self.joined:
            return False
        var response = self.joined.held().response()
        if not response or not response.held()[].vary.matches(req.headers):
            return False
        var reuse = response.held()[].reuse_by_waiter(self.asked, policy)
        self.found = Lookup(response^, reuse, True)
        return True

    def look_again(
        mut self, store: CacheStore, req: Request, policy: CachePolicy
    ):
        """Looks for what may have been kept since, and counts no look-up."""
        self.found = store.look_up(
            self.key,
            req.headers,
            self.asked,
            policy,
            unix_seconds(),
            counts=False,
        )

    def find_shared(
        mut self, store: CacheStore, fields: Fields, policy: CachePolicy
    ) -> Bool:
        """Looks where many processes keep their responses, waits for it, and
        keeps in memory what comes. True if memory has something newer now."""
        self.since = store.mark()
        return self.adopt(store, store.find_shared(self.key, fields, policy))

    def adopt(
        self, store: CacheStore, var response: Optional[StoredResponse]
    ) -> Bool:
        """Keeps in memory what came from there, and tells so, unless it is no
        newer than what is there."""
        if not response:
            return False
        if self.found.response:
            ref mine = self.found.response.held()[]
            if (
                not mine.is_invalidated
                and mine.response_s >= response.held().response_s
            ):
                return False
        return store.put(
            self.key, response.take(), since=self.since, is_new=False
        )

    def note_answer(mut self):
        """Takes note that the origin has answered, or failed to: who waits goes
        on."""
        if self.claim:
            self.claim.held().is_answered = True

    def reason(self) -> Forward:
        """Tells why it goes to the handler."""
        if self.found.response:
            if self.found.reuse == Reuse.REQUESTED:
                return Forward.REQUEST
            return Forward.STALE
        return Forward.VARY_MISS if self.found.has_key else Forward.URI_MISS

    def take_claim(deinit self) -> Optional[FetchClaim]:
        return self.claim^


@fieldwise_init
struct PassedBy(LaterStep):
    """What is done with a response that the cache has nothing to do with."""

    var store: CacheStore
    # Of what the request may have changed; empty if it may not.
    var key: String
    var forward: Forward
    var cache_name: String

    def finish(mut self, var response: Response) raises -> Response:
        """Has what was changed validated (section 4.4), and says so."""
        if response.status < 200:
            return response^
        if response.status < 400 and self.key.byte_length() > 0:
            _ = self.store.invalidate_key(self.key)
            for name in ["location", "content-location"]:
                var reference = response.headers.get(name)
                if reference:
                    var other = key_of_reference(self.key, reference.held())
                    if other.byte_length() > 0:
                        _ = self.store.invalidate_key(other)
        CacheStatus(self.forward).add_to(response.headers, self.cache_name)
        return response^


def is_for_itself(
    req: Request, asked: CacheControl, policy: CachePolicy
) -> Bool:
    """Tells whether a request neither waits for others nor lets them wait: it
    wants what no other gets, or gets what no other may, by `no-cache` and
    `no-store`, and in a shared cache by credentials."""
    if asked.no_cache or asked.no_store:
        return True
    return policy.is_shared and "authorization" in req.headers


def may_fetch_for_many(req: Request) -> Bool:
    """Tells whether the response to a request may be of use to others: not that
    to HEAD, or a part of the content."""
    return req.method == Method.GET and "range" not in req.headers

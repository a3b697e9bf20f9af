"""A request that a cache sends on, and one that it has nothing to do with."""

from flare.bytes.checked import *
from flare.http.cache.core.cache_control import CacheControl
from flare.http.cache.core.cache_status import CacheStatus, Forward
from flare.http.cache.core.freshness import ExchangeTimes
from flare.http.cache.core.key import key_of_reference
from flare.http.cache.core.stored_response import Reuse
from flare.http.cache.shared_responses import LookupTicket
from flare.http.cache.store import CacheStore, FetchClaim, FetchMark, Lookup
from flare.http.message.response import Response
from flare.http.handler.later import LaterStep


struct CacheFetch(Movable):
    """A request that goes to the inner handler; it holds nothing of the request
    itself."""

    var key: String
    var asked: CacheControl
    # What is kept, though it cannot be used without asking.
    var found: Lookup
    var claim: Optional[FetchClaim]
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
        self.times = ExchangeTimes(0, 0)
        self.since = FetchMark(0, -1)
        self.ticket = None
        self.validates = False
        self.is_plain = True
        self.is_later = False

    def reason(self) -> Forward:
        """Tells why it goes to the handler."""
        if self.found.response:
            if self.found.reuse == Reuse.REQUESTED:
                return Forward.REQUEST
            return Forward.STALE
        return Forward.VARY_MISS if self.found.has_key else Forward.URI_MISS

    def take_claim(deinit self) -> Optional[FetchClaim]:
        return self.claim^


struct PassedBy(LaterStep):
    """What is done with a response that the cache has nothing to do with."""

    var store: CacheStore
    # Of what the request may have changed; empty if it may not.
    var key: String
    var forward: Forward
    var cache_name: String

    def __init__(
        out self,
        store: CacheStore,
        var key: String,
        forward: Forward,
        cache_name: String,
    ):
        self.store = store
        self.key = key^
        self.forward = forward
        self.cache_name = cache_name

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

"""A shared cache in front of a handler (RFC 9111)."""

from flare.bytes.checked import *
from flare.bytes.erased import Erased
from flare.http.cache.asked import is_readable, may_change, request_key
from flare.http.cache.background import Background, Job, run_to_end
from flare.http.cache.core.cache_control import CacheControl
from flare.http.cache.core.cache_status import CacheStatus, Forward
from flare.http.cache.core.policy import CachePolicy
from flare.http.cache.core.storage import StoreRefusal, store_refusal
from flare.http.cache.core.stored_response import Reuse, StoredResponse
from flare.http.cache.reply import (
    conditional_reply,
    is_conditional,
    stored_reply,
)
from flare.http.cache.fetches import FetchClaim, FetchState
from flare.http.cache.store import CacheStore, Figure, Lookup
from flare.http.message.body_reader import LentFeed
from flare.http.message.method import Method
from flare.http.message.owned_request import OwnedRequest, ReplacedFields
from flare.http.message.outcome import ResponseOutcome
from flare.http.message.request import Request
from flare.http.message.response import Response
from flare.http.middleware.cache_fetch import (
    CacheFetch,
    PassedBy,
    is_for_itself,
    may_fetch_for_many,
)
from flare.http.middleware.cache_keep import (
    is_too_long,
    keep_fetched,
    note_head,
    put_response,
)
from flare.http.middleware.cache_wait import FetchWait, WaitSteps
from flare.http.handler.failure import log_failure, refusal
from flare.http.handler.handler import ContentToCome, Handler, RequestPolicy
from flare.http.handler.later import (
    DeferredCall,
    finish_later,
    is_later,
    later,
    LaterStep,
)
from flare.http.routing.stack import Layer
from flare.runtime.worker_loop import WorkerLoop
from flare.sys.clock import Deadline, unix_seconds
from std.memory import ArcPointer

comptime _DRAIN_MS = 5_000
# How long a server waits at its end for what is fetched in the background.

comptime _PARTS: Array[StaticString, 2] = ["range", "if-range"]

comptime _CONDITIONS: Array[StaticString, 2] = [
    "if-none-match",
    "if-modified-since",
]


struct Cache[H: Handler](Layer):
    """Keeps responses of a handler, and answers with them (RFC 9111).

        var store = CacheStore(octet_max=256 << 20)
        router.get("/notes", Cache(FnHandler(show), store))

    What is kept, and how long, is said by the responses: `Cache-Control`,
    `Expires`, `CDN-Cache-Control`, `Vary`; a response that says nothing is not
    kept, unless the policy has a `default_ttl_s`. Hits have `Age`, all have
    `Cache-Status` (RFC 9211). Put it outside of what makes content (`Compress`,
    whose `Vary` it obeys), and inside of what is to happen for each request
    (`AccessLog`, guards).

    The key is scheme, Host and target, so handlers that answer by something
    else must name it in `Vary` or forbid keeping it.

    Parameters:
        H: The inner handler's type.
    """

    comptime Inner = Self.H
    comptime Around[I: Handler]: Handler = Cache[I]
    var handler: Self.H
    """What answers when nothing is kept: the origin."""
    var store: CacheStore
    """Where responses are kept; others may have it, too."""
    var policy: CachePolicy
    """What the cache may do beyond what responses say."""
    var _background: Background

    def __init__(
        out self,
        var handler: Self.H,
        store: CacheStore,
        var policy: CachePolicy = CachePolicy(),
    ) raises:
        """Wraps a handler.

        Raises:
            Error: If a number of the policy is out of its range, the policy is
                that of a private cache and the store is shared with others, or
                the system has no more locks.
        """
        policy.check()
        if store.has_shared() and not policy.is_shared:
            raise Error(
                "Cache: a private cache must not share its responses; give it a"
                " CacheStore without `shared`"
            )
        self._background = Background()
        self.handler = handler^
        self.store = store
        self.policy = policy^

    def __init__(out self, *, deinit move: Self):
        """Moves a cache, when nothing is fetched in the background.

        Args:
            move: The cache.
        """
        move._background.quiesce()
        self.handler = move.handler^
        self.store = move.store
        self.policy = move.policy^
        self._background = move._background^

    def __deinit__(deinit self):
        """Ends the cache, when nothing is fetched in the background."""
        self._background.close()
        var handler = self.handler^
        _ = handler^

    def serve(self, req: Request) raises -> Response:
        """Answers with what is kept, or lets the inner handler answer.

        Raises:
            Error: What the inner handler raises, unless a stale response may
                stand in for it.
        """
        if is_readable(req) and not _has_content_to_come(req):
            return self._read(req)
        var is_reading = req.method == Method.GET or req.method == Method.HEAD
        if is_reading and self._asked(req).only_if_cached:
            return _nothing_kept()
        var response = self.handler.serve(req)
        var forward = Forward.BYPASS if is_reading else Forward.METHOD
        var passed = PassedBy(
            self.store,
            request_key(req) if may_change(req.method) else String(),
            forward,
            self.policy.cache_name,
        )
        if not is_later(req, response):
            return passed.finish(response^)
        finish_later(req, response, passed^)
        return response^

    def policy_for(self, req: Request) -> RequestPolicy:
        """Gives what the inner handler says, on the worker's own thread if a
        response is kept: that takes no time."""
        var policy = self.handler.policy_for(req)
        if not policy.blocks or not is_readable(req):
            return policy
        if _has_content_to_come(req):
            # It goes to the inner handler, which may block.
            return policy
        # A second from now, so that it is still so when the handler is called.
        var found = self.store.look_up(
            request_key(req),
            req.headers,
            self._asked(req),
            self.policy,
            unix_seconds() + 1,
            counts=False,
        )
        policy.blocks = not _is_usable(found)
        return policy

    def drained(self):
        """Waits a little for what is fetched in the background."""
        self._background.quiesce(_DRAIN_MS)
        self.handler.drained()

    def _asked(self, req: Request) -> CacheControl:
        if self.policy.obeys_clients:
            return CacheControl.of_request(req.headers)
        return CacheControl()

    def _told(
        self, var response: Response, status: CacheStatus
    ) raises -> Response:
        """Says what the cache did, but not of what is no final response."""
        if response.status >= 200:
            status.add_to(response.headers, self.policy.cache_name)
        return response^

    def _read(self, req: Request) raises -> Response:
        var now_s = unix_seconds()
        var key = request_key(req)
        var asked = self._asked(req)
        var found = self.store.look_up(
            key, req.headers, asked, self.policy, now_s
        )
        if _is_usable(found):
            if (
                found.reuse == Reuse.STALE_WHILE_REVALIDATE
                and not asked.only_if_cached
            ):
                var claim = self._refresh_later(req, key)
                if claim:
                    var fetch = CacheFetch(key^, asked^, found^)
                    fetch.claim = claim^
                    return self._look_further(req, fetch^)
            return self._reply(req, found, CacheStatus(Forward.NONE))
        if asked.only_if_cached:
            return _nothing_kept()
        return self._fetch(req, CacheFetch(key^, asked^, found^))

    def _reply(
        self, req: Request, found: Lookup, var status: CacheStatus
    ) raises -> Response:
        var now_s = unix_seconds()
        ref stored = found.response.held()[]
        status.ttl_s = stored.lifetime_s - stored.age_s(now_s)
        return stored_reply(req, stored, self.policy, status, now_s)

    def _fetch(self, req: Request, var fetch: CacheFetch) raises -> Response:
        """Asks the inner handler, unless the same is being fetched already and
        the thread may wait for it."""
        if is_for_itself(req, fetch.asked, self.policy):
            return self._look_further(req, fetch^)
        fetch.is_for_many = may_fetch_for_many(req)
        fetch.begin(self.store)
        if not fetch.joined:
            return self._look_further(req, fetch^)
        if not req.is_cancellable():
            return self._forward(req, fetch^)
        var call = req.extension[DeferredCall]()
        if call:
            return self._await_later(req, fetch^, call.value()[].loop)
        var deadline = Deadline(self.policy.collapse_timeout_ms)
        while fetch.joined:
            var state = fetch.joined.held().wait(deadline.left_ms())
            if state == FetchState.RUNNING:
                break
            var answer = self._fetched_by_other(req, fetch)
            if answer:
                return answer.take()
            if state == FetchState.ANSWERED:
                break
            fetch.begin(self.store)
        return self._forward(req, fetch^)

    def _look_further(
        self, req: Request, var fetch: CacheFetch
    ) raises -> Response:
        """Looks in the store that many processes share, if there is one, and
        then asks the inner handler. A handler that is called on the worker's own
        thread is quicker than a look-up, which must not hold it anyway."""
        if not self.store.has_shared() or not req.is_cancellable():
            return self._forward(req, fetch^)
        if fetch.asked.no_cache or self.store.is_useless(
            fetch.key, unix_seconds()
        ):
            return self._forward(req, fetch^)
        var call = req.extension[DeferredCall]()
        if call:
            fetch.since = self.store.mark()
            fetch.ticket = self.store.find_shared_later(
                fetch.key, OwnedRequest(copy_of=req), self.policy
            )
            if fetch.ticket:
                return self._await_later(req, fetch^, call.value()[].loop)
            return self._forward(req, fetch^)
        if fetch.find_shared(self.store, req.headers, self.policy):
            var answer = self._answer_shared(req, fetch, may_refresh=True)
            if answer:
                return answer.take()
        return self._forward(req, fetch^)

    def _answer_shared(
        self, req: Request, mut fetch: CacheFetch, *, may_refresh: Bool
    ) raises -> Optional[Response]:
        """Answers with what came from the shared store, if it may be used."""
        var had_usable = _is_usable(fetch.found)
        fetch.look_again(self.store, req, self.policy)
        if not _is_usable(fetch.found):
            return None
        if fetch.found.reuse == Reuse.STALE_WHILE_REVALIDATE:
            if had_usable or not may_refresh:
                return None
            fetch.claim = None
            _ = self._refresh_later(req, fetch.key)
        var status = CacheStatus(Forward.NONE, is_shared=True)
        return self._reply(req, fetch.found, status^)

    def _await_later(
        self, req: Request, var fetch: CacheFetch, loop: ArcPointer[WorkerLoop]
    ) raises -> Response:
        """Waits for the fetch of another request, or for a look-up, on the
        worker's loop."""
        var timeout_ms = self.policy.collapse_timeout_ms
        if fetch.ticket:
            timeout_ms = self.store.shared_wait_ms()
        var wait = ArcPointer(
            FetchWait(
                _lasting_copy(req),
                fetch^,
                self.store,
                cache=self._erased(),
                look_again=_look_again[Self.H],
                go_on=_go_on[Self.H],
                loop=loop,
                timeout_ms=timeout_ms,
            )
        )
        var response = later(req, wait)
        finish_later(req, response, WaitSteps(wait[].inner))
        return response^

    def _fetched_by_other(
        self, req: Request, mut fetch: CacheFetch
    ) raises -> Optional[Response]:
        """Answers with what another request has fetched, if it may be used."""
        if not fetch.take_joined(req, self.policy):
            fetch.look_again(self.store, req, self.policy)
        if not _is_usable(fetch.found):
            return None
        self.store.count(fetch.key, Figure.COLLAPSED)
        var status = CacheStatus(Forward.NONE, is_collapsed=True)
        return self._reply(req, fetch.found, status^)

    def _forward(self, req: Request, var fetch: CacheFetch) raises -> Response:
        """Asks the inner handler: for a 304 if there is something to validate,
        else for the whole, which the conditions of the client are then held to.
        """
        fetch.times.request_s = unix_seconds()
        fetch.since = self.store.mark()
        var has_condition = is_conditional(req.headers)
        var has_range = "range" in req.headers
        fetch.validates = (
            fetch.found.response.__bool__()
            and fetch.found.response.held()[].has_validators()
            # A part of what is newer could not be held to the client's condition,
            # which comes first (RFC 9110 section 13.2.2).
            and not (has_condition and has_range)
        )
        fetch.is_plain = not fetch.validates and (
            not has_condition
            or has_range
            # Nor would the whole be kept.
            or self.store.is_useless(fetch.key, fetch.times.request_s)
        )
        var response: Response
        try:
            if fetch.validates:
                response = self._validate(req, fetch.found.response.held()[])
            elif fetch.is_plain:
                response = self.handler.serve(req)
            else:
                response = self._ask_for_all(req)
        except error:
            fetch.note_answer()
            if not self._may_stand_in(fetch):
                raise error^
            return self._stand_in(req, fetch, 0)
        if not is_later(req, response):
            return self._finish(req, fetch^, response^)
        fetch.is_later = True
        finish_later(
            req,
            response,
            _Fetched[Self.H](OwnedRequest(copy_of=req), fetch^, self._erased()),
        )
        return response^

    def _finish(
        self, req: Request, var fetch: CacheFetch, var response: Response
    ) raises -> Response:
        """Makes the answer of what the inner handler has answered."""
        fetch.times.response_s = unix_seconds()
        fetch.note_answer()
        var code = response.status.code
        if code < 200 or response.outcome() != ResponseOutcome.NOW:
            return response^
        if code == 500 or (code >= 502 and code <= 504):
            if self._may_stand_in(fetch):
                return self._stand_in(req, fetch, code)
        if fetch.validates and code == 304:
            return self._confirmed(req, fetch, response)
        if req.method == Method.HEAD:
            note_head(self.store, req.headers, fetch, response, self.policy)
            response = self._told(response^, CacheStatus(fetch.reason()))
            if fetch.is_plain:
                return response^
            return conditional_reply(req, response^, unix_seconds())
        return self._keep(req, fetch^, response^)

    def _may_stand_in(self, fetch: CacheFetch) -> Bool:
        return fetch.found.response.__bool__() and (
            fetch.found.response.held()[].may_stand_in(
                fetch.asked, self.policy, unix_seconds()
            )
        )

    def _stand_in(
        self, req: Request, fetch: CacheFetch, code: Int
    ) raises -> Response:
        """Answers with a stale response in place of an error."""
        self.store.count(fetch.key, Figure.STOOD_IN)
        var status = CacheStatus(fetch.reason(), forward_status=code)
        return self._reply(req, fetch.found, status^)

    def _validate(
        self, req: Request, stored: StoredResponse
    ) raises -> Response:
        """Asks whether a stored response is current (section 4.3.1). What the
        client has is compared with it afterwards."""
        var fields = ReplacedFields(req.headers, materialize[_CONDITIONS]())
        var tag = stored.headers.get("etag")
        if tag:
            fields.add("If-None-Match", tag.held())
        var modified = stored.headers.get("last-modified")
        if modified:
            fields.add("If-Modified-Since", modified.held())
        return self._ask(req, fields)

    def _ask_for_all(self, req: Request) raises -> Response:
        """Asks for the whole, though the client has something."""
        return self._ask(
            req, ReplacedFields(req.headers, materialize[_CONDITIONS]())
        )

    def _ask(self, req: Request, fields: ReplacedFields) raises -> Response:
        # SAFETY: the caller's fields live until the handler has returned.
        return self.handler.serve(req.unsafe_with_headers(fields.lend()))

    def _confirmed(
        self, req: Request, fetch: CacheFetch, confirming: Response
    ) raises -> Response:
        """Answers with a stored response that the origin says is current, as the
        304 has updated it."""
        ref stored = fetch.found.response.held()[]
        if not stored.is_confirmed_by(confirming.headers):
            # Of another response, which is not here.
            self.store.drop(fetch.key)
            var status = CacheStatus(fetch.reason())
            if not fetch.is_later:
                return self._told(self._ask_for_all(req), status)
            # The handler is not asked twice: what is kept is good, as it was asked
            # about that, but takes nothing over (RFC 9110 section 15.4.5).
            status.forward_status = 304
            return self._reply(req, fetch.found, status^)
        self.store.count(fetch.key, Figure.REVALIDATED)
        var fresh = stored.freshened(
            confirming.headers,
            req.headers,
            policy=self.policy,
            times=fetch.times,
        )
        var refusal = fresh.refusal(req.headers, self.policy, fetch.times)
        var is_stored = refusal == StoreRefusal.NONE
        var status = CacheStatus(
            fetch.reason(), forward_status=304, is_stored=is_stored
        )
        var newer = Lookup(ArcPointer(fresh^), Reuse.FRESH, True)
        if is_stored:
            keep_fetched(self.store, fetch, newer.response.held(), self.policy)
        elif refusal.is_of_origin():
            self.store.drop(fetch.key)
        return self._reply(req, newer, status^)

    def _keep(
        self, req: Request, var fetch: CacheFetch, var response: Response
    ) raises -> Response:
        """Keeps a response if it may be kept, and makes the answer of it."""
        var is_plain = fetch.is_plain
        var status = CacheStatus(fetch.reason())
        var refusal = store_refusal(
            req.headers,
            response.status,
            response.headers,
            self.policy,
            fetch.times,
        )
        if refusal == StoreRefusal.NONE and is_too_long(response, self.policy):
            refusal = StoreRefusal.USELESS
        if refusal == StoreRefusal.NONE:
            status.is_stored = True
            put_response(self.store, req.headers, fetch^, response, self.policy)
        else:
            # What it was to replace is out of date (section 4.3.3), be this a part.
            if fetch.validates and response.status < 500:
                self.store.drop(fetch.key)
            if refusal != StoreRefusal.STATUS:
                self.store.count(fetch.key, Figure.REFUSED)
                if not refusal.is_of_request(response.status):
                    self.store.note_useless(fetch.key, fetch.times.response_s)
        response = self._told(response^, status)
        # What is kept as it passes has to pass.
        if is_plain or (status.is_stored and response.body.is_stream()):
            return response^
        return conditional_reply(req, response^, unix_seconds())

    def _refresh_later(self, req: Request, key: String) -> Optional[FetchClaim]:
        """Has a newer response fetched on a thread, unless that is done already.
        Where the handler answers later, no thread can ask it: one request waits
        for the newer response then, and gets the claim."""
        var start = self.store.begin_fetch(key, unix_seconds())
        var claim = start^.take_claim()
        if not claim or req.extension[DeferredCall]():
            return claim^
        var job = Job(
            _lasting_copy(req), claim.take(), self._erased(), _refresh[Self.H]
        )
        try:
            _ = self._background.add(job^)
        except:
            # Without threads the response grows stale, and is fetched then.
            pass
        return None

    def _erased(self) -> Erased:
        # SAFETY: a cache that moves or ends waits for its threads before, and
        # workers end before their handlers do.
        return (
            Pointer(to=self)
            .unsafe_mut_cast[True]()
            .unsafe_origin_cast[MutUntrackedOrigin]()
            .unsafe_bitcast[NoneType]()
        )

    def _refresh(self, req: Request) raises:
        """Fetches a newer response for nobody; sources are run to their end."""
        var key = request_key(req)
        var found = self.store.look_up(
            key,
            req.headers,
            CacheControl(no_cache=True),
            self.policy,
            unix_seconds(),
            counts=False,
        )
        var fetch = CacheFetch(key^, CacheControl(), found^)
        if self.store.has_shared():
            # Another process may have fetched it.
            if fetch.find_shared(self.store, req.headers, self.policy):
                fetch.look_again(self.store, req, self.policy)
                if fetch.found.reuse == Reuse.FRESH and fetch.found.response:
                    return
        # What is fetched is to take the place of the whole, be a part given.
        var fields = ReplacedFields(req.headers, materialize[_PARTS]())
        # SAFETY: they live until the response has been made.
        run_to_end(
            self._forward(req.unsafe_with_headers(fields.lend()), fetch^)
        )
        _ = fields^


@fieldwise_init
struct _Fetched[H: Handler](LaterStep):
    """What is done with a response that the inner handler has made later."""

    var request: OwnedRequest
    var fetch: Optional[CacheFetch]
    # SAFETY: see `Cache._erased`.
    var cache: Erased

    def finish(mut self, var response: Response) raises -> Response:
        return self.cache.unsafe_bitcast[Cache[Self.H]]()[]._finish(
            self.request.view(), self.fetch.take(), response^
        )


def _nothing_kept() raises -> Response:
    """Answers `only-if-cached` where nothing can be used (section
    5.2.1.7). No Cache-Status tells of what is made here, and of nothing that
    is stored (RFC 9211 section 2)."""
    return refusal(504, "nothing is kept of this\n")


def _lasting_copy(req: Request) -> OwnedRequest:
    """Copies a request with what outlives it."""
    var owned = OwnedRequest(copy_of=req)
    # SAFETY: the cache ends, with all that it has begun, before the handlers
    # around it do.
    owned.view().route_params()[].extensions.unsafe_take_lasting(
        req.extensions()[]
    )
    return owned^


def _look_again[
    H: Handler
](
    cache: Erased, request: OwnedRequest, mut fetch: CacheFetch
) raises -> Optional[Response]:
    # SAFETY: see `Cache._erased`.
    ref known = cache.unsafe_bitcast[Cache[H]]()[]
    if not fetch.ticket:
        return known._fetched_by_other(request.view(), fetch)
    var ticket = fetch.ticket.take()
    if not fetch.adopt(known.store, ticket.take()):
        return None
    return known._answer_shared(request.view(), fetch, may_refresh=False)


def _go_on[
    H: Handler
](
    cache: Erased, request: OwnedRequest, var fetch: CacheFetch
) raises -> Response:
    # SAFETY: see `Cache._erased`.
    return cache.unsafe_bitcast[Cache[H]]()[]._forward(request.view(), fetch^)


def _refresh[H: Handler](target: Erased, var request: OwnedRequest):
    # SAFETY: `Cache[H]` made the pointer from itself, and waits for this call
    # before it moves or ends.
    try:
        target.unsafe_bitcast[Cache[H]]()[]._refresh(request.view())
    except error:
        # Nobody waits for it; the next request fetches it again.
        log_failure(request.view(), error)
    _ = request^


def _has_content_to_come(req: Request) -> Bool:
    """Tells whether content goes on arriving that the inner handler takes, or
    will, and that no field announces over HTTP/2."""
    if req.extension[ContentToCome]() or req.extension[LentFeed]():
        return True
    var call = req.extension[DeferredCall]()
    return call and call.held()[].content.__bool__()


def _is_usable(found: Lookup) -> Bool:
    if not found.response:
        return False
    return found.reuse != Reuse.VALIDATE and found.reuse != Reuse.REQUESTED

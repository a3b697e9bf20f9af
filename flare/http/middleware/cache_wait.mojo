"""Waiting for the fetch of another request, or for a look-up in the shared store,
where the inner handler answers later: on the worker's own loop, without a thread."""

from flare.bytes.checked import *
from flare.bytes.erased import Erased
from flare.http.cache.fetches import FetchState
from flare.http.cache.store import CacheStore
from flare.http.message.outcome import ResponseOutcome
from flare.http.message.extensions import ExtensionScope
from flare.http.message.header_map import HeaderMap
from flare.http.message.owned_request import OwnedRequest
from flare.http.message.response import Response
from flare.http.middleware.cache_fetch import CacheFetch
from flare.http.handler.failure import add_fields
from flare.http.handler.later import (
    AnyErrand,
    Completion,
    DeferredCall,
    Errand,
    LaterStep,
    LaterSteps,
)
from flare.runtime.event import Event, Interest
from flare.runtime.worker_loop import LoopTask, WorkerLoop
from std.memory import ArcPointer

comptime _PAUSE_MIN_MS = 2
comptime _PAUSE_MAX_MS = 50
# Between two looks: a quarter of what it has waited so far. The fetch may be
# another worker's, which rings nobody here.

comptime LookAgain = def(
    Erased, OwnedRequest, mut CacheFetch
) raises thin -> Optional[Response]
"""Answers with what is kept by now, if it may be used."""

comptime GoOn = def(
    Erased, OwnedRequest, var CacheFetch
) raises thin -> Response
"""Asks the inner handler."""


struct InnerAnswer(Movable):
    """What the inner handler has given, when it was asked after all."""

    var request: OwnedRequest
    """What it was asked."""
    var steps: LaterSteps
    """What middleware further in does with the response."""
    var fields: HeaderMap
    """What was set after the last step on what stands for it."""

    def __init__(out self, var request: OwnedRequest):
        self.request = request^
        self.steps = LaterSteps()
        self.fields = HeaderMap()


@fieldwise_init
struct WaitSteps(LaterStep):
    """Does what the cache does with a response for which another request was
    waited for in vain: known only when the handler was asked after all."""

    var inner: ArcPointer[InnerAnswer]

    def finish(mut self, var response: Response) raises -> Response:
        response = self.inner[].steps.finish(
            self.inner[].request.view(), response^
        )
        add_fields(response.headers, self.inner[].fields)
        return response^


struct FetchWait(Errand, LoopTask):
    """A request that waits for the response to another one, or for its own
    look-up."""

    var inner: ArcPointer[InnerAnswer]
    """Shared with a `WaitSteps`."""
    var _fetch: Optional[CacheFetch]
    var _store: CacheStore
    # SAFETY: the cache outlives the worker, see `Cache._erased`; the functions
    # were made for its type.
    var _cache: Erased
    var _look_again: LookAgain
    var _go_on: GoOn
    var _loop: ArcPointer[WorkerLoop]
    var _token: UInt64
    var _start_ms: Int
    var _end_ms: Int
    # Whether the end of a look-up rings here.
    var _is_watching: Bool
    var _completion: Optional[Completion]
    var _errand: AnyErrand

    def __init__(
        out self,
        var request: OwnedRequest,
        var fetch: CacheFetch,
        store: CacheStore,
        *,
        cache: Erased,
        look_again: LookAgain,
        go_on: GoOn,
        loop: ArcPointer[WorkerLoop],
        timeout_ms: Int,
    ):
        """Makes a wait for a response in `store`, for which `look_again` looks;
        `go_on` asks the inner handler."""
        self.inner = ArcPointer(InnerAnswer(request^))
        self._fetch = fetch^
        self._store = store
        self._cache = cache
        self._look_again = look_again
        self._go_on = go_on
        self._loop = loop.copy()
        self._token = 0
        self._start_ms = loop[].now_ms
        self._end_ms = loop[].now_ms + timeout_ms
        self._is_watching = False
        self._completion = None
        self._errand = AnyErrand()

    @staticmethod
    def begin(errand: ArcPointer[Self], var completion: Completion):
        ref wait = errand[]
        wait._completion = completion^
        var loop = wait._loop.copy()
        var token = loop[].add(errand.copy())
        wait._token = token
        wait._watch()
        wait._pause()

    @staticmethod
    def on_content(errand: ArcPointer[Self]):
        return

    @staticmethod
    def cancel(errand: ArcPointer[Self]):
        ref wait = errand[]
        wait._unwatch()
        wait._loop[].remove(wait._token)
        wait._errand.cancel()

    @staticmethod
    def on_event(task: ArcPointer[Self], event: Event):
        Self.on_deadline(task)

    @staticmethod
    def on_deadline(task: ArcPointer[Self]):
        ref wait = task[]
        try:
            wait._look()
        except error:
            wait._loop[].remove(wait._token)
            if wait._completion:
                wait._completion.take().fail(error^)

    def _watch(mut self):
        """Has a look-up ring when it ends."""
        ref fetch = self._fetch.held()
        if not fetch.ticket:
            return
        try:
            self._loop[].watch(
                fetch.ticket.held().fd(), self._token, Interest.READ
            )
            self._is_watching = True
        except:
            # Then it is looked for now and then.
            pass

    def _unwatch(mut self):
        if self._is_watching:
            self._is_watching = False
            self._loop[].unwatch(self._fetch.held().ticket.held().fd())

    def _pause(mut self):
        if self._is_watching:
            self._loop[].set_deadline(self._token, self._end_ms)
            return
        var waited_ms = self._loop[].now_ms - self._start_ms
        var pause_ms = min(max(waited_ms // 4, _PAUSE_MIN_MS), _PAUSE_MAX_MS)
        self._loop[].set_deadline(self._token, self._loop[].now_ms + pause_ms)

    def _finish(mut self, var response: Response):
        self._loop[].remove(self._token)
        if self._completion:
            self._completion.take().finish(response^)

    def _is_worth_waiting(self) -> Bool:
        if self._loop[].now_ms >= self._end_ms:
            return False
        ref fetch = self._fetch.held()
        if fetch.ticket:
            return not fetch.ticket.held().is_done()
        return fetch.has_joined(FetchState.RUNNING)

    def _look(mut self) raises:
        """Waits on, or answers, or asks the inner handler after all."""
        if self._is_worth_waiting():
            self._pause()
            return
        self._unwatch()
        var answer = self._look_again(
            self._cache, self.inner[].request, self._fetch.held()
        )
        if answer:
            self._finish(answer.take())
            return
        ref fetch = self._fetch.held()
        if (
            fetch.has_joined(FetchState.ABANDONED)
            and self._loop[].now_ms < self._end_ms
        ):
            fetch.begin(self._store)
            if fetch.joined:
                self._pause()
                return
        self._ask()

    def _ask(mut self) raises:
        self._loop[].remove(self._token)
        var call = DeferredCall(self._loop, None)
        var response = self._ask_with(call)
        if response.outcome() != ResponseOutcome.LATER or not call.errand:
            self._finish(response^)
            return
        swap(self.inner[].steps, call.steps)
        swap(self.inner[].fields, response.headers)
        swap(self._errand, call.errand)
        self._errand.begin(self._completion.take())

    def _ask_with(mut self, mut call: DeferredCall) raises -> Response:
        """Calls the inner handler as a worker does."""
        var scope = ExtensionScope(
            self.inner[].request.view().extensions(), call
        )
        var response = self._go_on(
            self._cache, self.inner[].request, self._fetch.take()
        )
        scope^.end()
        return response^

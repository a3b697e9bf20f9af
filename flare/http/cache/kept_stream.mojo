"""Content that goes to a client as it is made, and into a store when it is
complete."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.http.cache.core.stored_response import StoredResponse
from flare.http.cache.store import CacheStore, FetchClaim, FetchMark
from flare.http.message.body import (
    Body,
    BodySource,
    BodyStream,
    Poll,
    StreamWaker,
)
from flare.http.message.trailers import Trailers
from std.memory import ArcPointer


struct KeptStream(BodySource):
    """Passes a source's content on, and keeps a copy of it up to a bound.

    A source that fails, or whose client leaves, leaves nothing behind: what is
    not complete is not kept (RFC 9111 section 3.3). Trailers are passed on and
    not kept (section 3.1).
    """

    var _inner: ArcPointer[BodyStream]
    var _store: CacheStore
    var _key: String
    var _stored: Optional[StoredResponse]
    var _copy: List[UInt8]
    var _len_max: Int
    var _since: FetchMark
    # Who waits for the response waits until this goes.
    var _claim: Optional[FetchClaim]

    def __init__(
        out self,
        inner: ArcPointer[BodyStream],
        store: CacheStore,
        var key: String,
        var stored: StoredResponse,
        *,
        len_max: Int,
        since: FetchMark,
        var claim: Optional[FetchClaim],
    ):
        """Takes a source.

        Args:
            inner: Makes the content.
            store: Where the response goes.
            key: The key of its target.
            stored: The response, without its content.
            len_max: Longest content that is kept, in bytes.
            since: When the response was asked for.
            claim: The claim of the request that fetches it.
        """
        self._inner = inner.copy()
        self._store = store
        self._key = key^
        self._stored = stored^
        self._copy = []
        self._len_max = len_max
        self._since = since
        self._claim = claim^

    def begin(mut self, var waker: StreamWaker):
        self._inner[].begin(waker^)

    def fill(mut self, mut out: Buffer) raises -> Poll:
        var start = len(out)
        var poll = self._inner[].fill(out)
        if not self._stored:
            return poll
        var piece = out.span().after(start)
        if len(self._copy) + len(piece) > self._len_max:
            self._give_up()
            return poll
        self._copy.extend(piece)
        if poll == Poll.DONE:
            self._keep()
        return poll

    def _give_up(mut self):
        self._stored = None
        self._copy = []
        self._claim = None

    def _keep(mut self):
        """Keeps the response, unless it was to have another length."""
        var length = self._inner[].length
        if not length or length.held() == len(self._copy):
            var stored = self._stored.take()
            stored.body = Body(String(unsafe_from_utf8=self._copy))
            _ = self._store.put(self._key, stored^, since=self._since)
        self._give_up()

    def trailers(mut self) raises -> Trailers:
        return self._inner[].trailers()

    def is_endless(self) -> Bool:
        return self._inner[].is_endless()

    def end_early(mut self, mut out: Buffer) -> Poll:
        self._give_up()
        return self._inner[].end_early(out)

    def poll_interval_ms(self) -> Int:
        return self._inner[].poll_interval_ms()

    def has_given_up(self) -> Bool:
        return self._inner[].has_given_up()

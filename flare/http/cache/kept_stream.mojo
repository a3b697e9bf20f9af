"""Content that goes to a client as it is made, and into a store when it is
complete."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.copy import text_of
from flare.http.cache.core.policy import CachePolicy
from flare.http.cache.core.stored_response import StoredResponse
from flare.http.cache.fetches import FetchClaim
from flare.http.cache.store import CacheStore, CopyRoom, FetchMark, Figure
from flare.http.message.body import (
    Body,
    BodySource,
    BodyStream,
    HoldsSource,
    Poll,
)
from flare.sys.clock import unix_seconds
from std.memory import ArcPointer

comptime _COPY_LEN_MIN = 4_096
# Room for a copy is taken in steps that double, from this one on.


struct KeptStream(BodySource, HoldsSource):
    """Passes a source's content on, and keeps a copy of it up to a bound, as far
    as the store has room.

    A source that fails, or whose client leaves, leaves nothing behind: what is
    not complete is not kept (RFC 9111 section 3.3). Trailers are passed on and
    not kept (section 3.1).
    """

    var _inner: ArcPointer[BodyStream]
    var _store: CacheStore
    var _key: String
    var _stored: Optional[StoredResponse]
    var _copy: List[UInt8]
    var _room: Optional[CopyRoom]
    var _policy: CachePolicy
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
        policy: CachePolicy,
        since: FetchMark,
        var claim: Optional[FetchClaim],
    ):
        """Takes a source; `stored` is the response without its content, which
        goes to `store` under `key`."""
        self._inner = inner.copy()
        self._store = store
        self._key = key^
        self._stored = stored^
        self._copy = []
        self._room = CopyRoom(store)
        self._policy = policy.copy()
        self._since = since
        self._claim = claim^
        if self._claim:
            # Who waits for it goes on if its client leaves before the end.
            self._claim.held().is_answered = False

    def source(self) -> ArcPointer[BodyStream]:
        return self._inner

    def fill(mut self, mut out: Buffer) raises -> Poll:
        var start = len(out)
        var poll: Poll
        try:
            poll = self._inner[].fill(out)
        except error:
            self._refuse()
            raise error^
        if not self._stored:
            return poll
        self._copy_piece(out.span().after(start))
        if self._stored and poll == Poll.DONE:
            self._keep()
        return poll

    def _copy_piece(mut self, piece: Span[UInt8, _]):
        var length = len(self._copy) + len(piece)
        if length > self._policy.content_len_max:
            return self._refuse()
        if length > self._room.held().octet_count:
            var wanted = max(2 * len(self._copy), length, _COPY_LEN_MIN)
            wanted = min(wanted, self._len_max())
            if not self._room.held().grow(max(wanted, length)):
                # There may be room for the next one.
                return self._give_up()
            self._copy.reserve(self._room.held().octet_count)
        self._copy.extend(piece)

    def _len_max(self) -> Int:
        """Tells how long the copy may become."""
        var length = self._inner[].length
        return min(length.or_else(Int.MAX), self._policy.content_len_max)

    def _refuse(mut self):
        """Keeps nothing, and has nobody wait for the next one."""
        if self._stored:
            self._store.count(self._key, Figure.REFUSED)
            self._store.note_useless(self._key, unix_seconds())
            self._give_up()

    def _give_up(mut self):
        """Ends the copy, since there is an answer."""
        self._stored = None
        self._copy = []
        self._room = None
        if self._claim:
            self._claim.take().end()

    def _keep(mut self):
        """Keeps the response, unless it was to have another length."""
        var length = self._inner[].length
        if length and length.held() != len(self._copy):
            return self._refuse()
        var stored = self._stored.take()
        stored.body = Body(text_of(self._copy))
        # What is kept counts from now on.
        self._copy = []
        self._room = None
        keep_for_many(
            self._store,
            self._key,
            ArcPointer(stored^),
            self._claim,
            policy=self._policy,
            since=self._since,
        )
        self._give_up()

    def end_early(mut self, mut out: Buffer) -> Poll:
        self._give_up()
        return self._inner[].end_early(out)


def keep_for_many(
    store: CacheStore,
    key: String,
    response: ArcPointer[StoredResponse],
    claim: Optional[FetchClaim],
    *,
    policy: CachePolicy,
    since: FetchMark,
):
    """Keeps a response, gives it to who waits for it, and remembers if it is of
    no use to them."""
    if not store.put(key, response, since=since):
        return
    if claim:
        claim.held().share(response)
    if not response[].is_for_many(policy):
        store.note_useless(key, response[].response_s)

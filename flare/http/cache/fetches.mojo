"""Requests for one target that wait for the fetch of another (RFC 9111 section 4).

    begin --> claim --> answered: what came is shared, or all go on at once
      |         \\--> abandoned: one of those who wait takes it over
      +--> joined: waits for that fetch, and for no other
      +--> neither: what comes is known to be of use to nobody else

A fetch is held by who fetches and by those who wait for it, so that these see how
it has ended whatever others have begun meanwhile.
"""

from flare.bytes.checked import *
from flare.http.cache.core.stored_response import StoredResponse
from flare.sys.clock import Deadline
from flare.sys.errno import OsError
from flare.sys.mutex import Condvar, Mutex
from std.memory import ArcPointer

comptime _SHARD_BITS = 4
comptime _SHARD_COUNT = 1 << _SHARD_BITS

comptime _NOTE_COUNT_MAX = 4_096
# Most targets of a shard that are remembered to give nothing for others.

comptime _NOTE_S = 120
# How long a target whose response was of no use to others is fetched by each
# request alone.


@fieldwise_init
struct FetchState(Equatable, TrivialRegisterPassable):
    """How far a fetch is."""

    var code: UInt8

    comptime RUNNING = Self(0)
    """Its end is still to come."""
    comptime ANSWERED = Self(1)
    """The origin has answered, or failed to: no other fetch is worth waiting
    for."""
    comptime ABANDONED = Self(2)
    """Its client has gone, which says nothing of the origin."""


struct _Fetch(Movable):
    """What is shared by who fetches and who waits, under the lock of a shard."""

    var state: FetchState
    var response: Optional[ArcPointer[StoredResponse]]

    def __init__(out self):
        self.state = FetchState.RUNNING
        self.response = None


struct _Shard(Defaultable, Movable):
    """Fetches by the hash of their key."""

    # Those that others may still join.
    var running: Dict[UInt64, ArcPointer[_Fetch]]
    # Until when nobody waits for a key, in seconds.
    var notes: Dict[UInt64, Int]
    # Threads that wait for any of them.
    var waiter_count: Int

    def forget(mut self, hash: UInt64):
        """Lets nobody join the fetch of a key any more."""
        if hash in self.running:
            try:
                _ = self.running.pop(hash)
            except:
                debug_assert(False, "a fetch was not there")


struct FetchTable(Movable):
    """The fetches of a cache that are under way."""

    var _shards: List[Mutex[_Shard]]
    # Rung when a fetch ends, one for each shard.
    var _ended: List[Condvar]

    def __init__(out self) raises OsError:
        self._shards = []
        self._ended = []
        for _ in range(_SHARD_COUNT):
            self._shards.append(Mutex(_Shard()))
            self._ended.append(Condvar())

    @staticmethod
    def begin(
        table: ArcPointer[Self], hash: UInt64, now_s: Int, *, may_claim: Bool
    ) -> FetchStart:
        """Joins the fetch that is under way for a key, or begins one if
        `may_claim`: if the response may be of use to others. Returns a claim,
        or whom to wait for; neither if the one is not to be had and the other
        not worth it."""
        var shard = table[]._shards.at(_shard_index(hash)).lock()
        var start = FetchStart()
        var running = shard[].running.get(hash)
        if running:
            if shard[].notes.get(hash).or_else(0) <= now_s:
                start.joined = JoinedFetch(table, hash, running.take())
            return start^
        if may_claim:
            var fetch = ArcPointer(_Fetch())
            shard[].running[hash] = fetch.copy()
            start.claim = FetchClaim(table, hash, fetch^)
        return start^

    def detach(self, hash: UInt64):
        """Lets nobody join the fetch of a key any more, since what it brings is
        removed already.
        """
        self._shards.at(_shard_index(hash)).lock()[].forget(hash)

    def detach_all(self):
        """Lets nobody join any fetch that is under way."""
        for index in range(_SHARD_COUNT):
            self._shards.at(index).lock()[].running.clear()

    def note_useless(self, hash: UInt64, now_s: Int):
        """Remembers for a while that what comes for a key is of no use to
        others, so that nobody waits for it."""
        var shard = self._shards.at(_shard_index(hash)).lock()
        if len(shard[].notes) >= _NOTE_COUNT_MAX:
            shard[].notes.clear()
        shard[].notes[hash] = now_s + _NOTE_S

    def note_useful(self, hash: UInt64):
        """Forgets that, since something of use has come."""
        var shard = self._shards.at(_shard_index(hash)).lock()
        if hash in shard[].notes:
            shard[].notes[hash] = 0

    def is_useless(self, hash: UInt64, now_s: Int) -> Bool:
        """Tells whether what came for a key of late was of no use to others, so
        that nobody is to wait for it."""
        var shard = self._shards.at(_shard_index(hash)).lock()
        return shard[].notes.get(hash).or_else(0) > now_s

    def _end(self, hash: UInt64, fetch: ArcPointer[_Fetch], state: FetchState):
        var index = _shard_index(hash)
        var shard = self._shards.at(index).lock()
        var running = shard[].running.get(hash)
        if running and running.held() is fetch:
            shard[].forget(hash)
        fetch[].state = state
        if shard[].waiter_count > 0:
            self._ended.at(index).notify_all()

    def _share(
        self,
        hash: UInt64,
        fetch: ArcPointer[_Fetch],
        response: ArcPointer[StoredResponse],
    ):
        var shard = self._shards.at(_shard_index(hash)).lock()
        fetch[].response = response.copy()
        _ = shard^

    def _state(self, hash: UInt64, fetch: ArcPointer[_Fetch]) -> FetchState:
        var shard = self._shards.at(_shard_index(hash)).lock()
        var state = fetch[].state
        _ = shard^
        return state

    def _response(
        self, hash: UInt64, fetch: ArcPointer[_Fetch]
    ) -> Optional[ArcPointer[StoredResponse]]:
        var shard = self._shards.at(_shard_index(hash)).lock()
        var response = fetch[].response.copy()
        _ = shard^
        return response^

    def _wait(
        self, hash: UInt64, fetch: ArcPointer[_Fetch], timeout_ms: Int
    ) -> FetchState:
        var index = _shard_index(hash)
        var deadline = Deadline(timeout_ms)
        var shard = self._shards.at(index).lock()
        shard[].waiter_count += 1
        while fetch[].state == FetchState.RUNNING:
            var left_ms = deadline.left_ms()
            if left_ms <= 0:
                break
            _ = self._ended.at(index).wait_for(shard, left_ms)
        shard[].waiter_count -= 1
        return fetch[].state


struct FetchStart(Movable):
    """What becomes of a request that wants to fetch something."""

    var claim: Optional[FetchClaim]
    """It fetches, and others may wait for it."""
    var joined: Optional[JoinedFetch]

    def __init__(out self):
        """Makes the start of a request that fetches for itself."""
        self.claim = None
        self.joined = None

    def take_claim(deinit self) -> Optional[FetchClaim]:
        return self.claim^


struct FetchClaim(Movable):
    """One request fetches, others may wait for it until this goes."""

    var is_answered: Bool
    """Whether the origin has answered, or failed to, when this goes."""
    var _table: ArcPointer[FetchTable]
    var _hash: UInt64
    var _fetch: ArcPointer[_Fetch]

    def __init__(
        out self,
        table: ArcPointer[FetchTable],
        hash: UInt64,
        var fetch: ArcPointer[_Fetch],
    ):
        """Holds a fetch; see `FetchTable.begin`."""
        self.is_answered = False
        self._table = table.copy()
        self._hash = hash
        self._fetch = fetch^

    def __deinit__(deinit self):
        """Lets go who waits."""
        var state = FetchState.ABANDONED
        if self.is_answered:
            state = FetchState.ANSWERED
        self._table[]._end(self._hash, self._fetch, state)

    def share(self, response: ArcPointer[StoredResponse]):
        """Gives those who wait what has come, and is kept."""
        self._table[]._share(self._hash, self._fetch, response)

    def end(deinit self):
        """Lets go who waits, since there is an answer."""
        self._table[]._end(self._hash, self._fetch, FetchState.ANSWERED)


@fieldwise_init
struct JoinedFetch(Movable):
    """A fetch of another request, for which this one waits; see
    `FetchTable.begin`."""

    var _table: ArcPointer[FetchTable]
    var _hash: UInt64
    var _fetch: ArcPointer[_Fetch]

    def state(self) -> FetchState:
        return self._table[]._state(self._hash, self._fetch)

    def wait(self, timeout_ms: Int) -> FetchState:
        """Waits until it ends; RUNNING at the end of the time. Not for a
        worker's own thread, which others wait for."""
        return self._table[]._wait(self._hash, self._fetch, timeout_ms)

    def response(self) -> Optional[ArcPointer[StoredResponse]]:
        """Gives what has come; nothing if none was kept."""
        return self._table[]._response(self._hash, self._fetch)


def _shard_index(hash: UInt64) -> Int:
    return Int(hash >> (64 - _SHARD_BITS))

"""Responses in memory, for all workers of a process: found by key and Vary, bounded
by octets and number; before a store that many processes share, if there is one.
"""

from flare.bytes.checked import *
from flare.bytes.erased import Erased, destroy, erase
from flare.http.cache.core.cache_control import CacheControl
from flare.http.cache.core.key import cache_key, split_url
from flare.http.cache.core.policy import CachePolicy
from flare.http.cache.core.stored_response import Reuse, StoredResponse
from flare.http.cache.fetches import FetchStart, FetchTable
from flare.http.cache.removals import Removal, RemovalKind, RemovalLog
from flare.http.cache.shard import CacheShard, Room
from flare.http.cache.shared_keeper import SharedKeeper
from flare.http.cache.shared_responses import (
    AnyResponseStore,
    LookupTicket,
    RemovalTarget,
    ResponseStore,
    SharedStats,
)
from flare.http.message.fields import Fields
from flare.http.message.owned_request import OwnedRequest
from flare.sys.errno import OsError
from flare.sys.mutex import Mutex
from flare.sys.random import KeyedHasher
from std.atomic import Atomic
from std.memory import ArcPointer

comptime _SHARD_BITS = 4
comptime _SHARD_COUNT = 1 << _SHARD_BITS
# Locks, of which a worker holds one for a look: more of them than cores.
comptime _COPIES_SHARE = 2
# What part of the memory copies of streams under way may take: a half. The rest
# stays with what is kept, however many streams a client begins.


@fieldwise_init
struct Figure(TrivialRegisterPassable):
    """What is counted."""

    var index: Int
    """Place among the counts of a shard."""

    comptime HIT = Self(0)
    comptime STALE = Self(1)
    comptime MISS = Self(2)
    comptime REVALIDATED = Self(3)
    comptime COLLAPSED = Self(4)
    comptime STOOD_IN = Self(5)
    comptime STORED = Self(6)
    comptime EVICTED = Self(7)
    comptime PURGED = Self(8)
    comptime REFUSED = Self(9)


@fieldwise_init
struct CacheStats(Copyable, Movable):
    """Figures of a store since it was made, but for the last two."""

    var hit_count: Int
    """Requests that got a fresh response of the store."""
    var stale_count: Int
    """Requests that got a stale one, but for those of `error_count`."""
    var miss_count: Int
    """Requests that memory had nothing for."""
    var revalidated_count: Int
    """Of those, how many the origin answered with 304."""
    var collapsed_count: Int
    """Requests that waited for the response to another one, and got it."""
    var error_count: Int
    """Requests that got a stale response in place of an error."""
    var stored_count: Int
    """Responses that were kept."""
    var refused_count: Int
    """Responses that were not."""
    var evicted_count: Int
    """Responses that went because there was no more room."""
    var purged_count: Int
    """Responses that were purged."""
    var entry_count: Int
    """Responses that are there now."""
    var octet_count: Int
    """What they take, in bytes, about, with copies of streams under way."""


@fieldwise_init
struct Lookup(Copyable, Movable):

    var response: Optional[ArcPointer[StoredResponse]]
    """The response that it selects."""
    var reuse: Reuse
    """What the request may get of it."""
    var has_key: Bool
    """Whether there is anything for the same URI."""


@fieldwise_init
struct FetchMark(TrivialRegisterPassable):
    """A moment, by what was removed before it."""

    var local: Int
    """How many removals the memory had seen."""
    var shared: Int
    """How many removals of all processes were known."""


struct _Store(Movable):
    var shards: List[Mutex[CacheShard]]
    var fetches: ArcPointer[FetchTable]
    var octet_max: Int
    var entry_max: Int
    # Of what is kept, and of copies.
    var octet_count: Atomic[Int64]
    # Of copies of streams under way alone.
    var copy_octet_count: Atomic[Int64]
    var entry_count: Atomic[Int64]
    var turn: Atomic[Int64]
    var removals: Mutex[RemovalLog]

    def __init__(out self, octet_max: Int, entry_max: Int) raises OsError:
        self.shards = []
        self.fetches = ArcPointer(FetchTable())
        for _ in range(_SHARD_COUNT):
            self.shards.append(Mutex(CacheShard()))
        self.octet_max = octet_max
        self.entry_max = entry_max
        self.octet_count = Atomic[Int64](0)
        self.copy_octet_count = Atomic[Int64](0)
        self.entry_count = Atomic[Int64](0)
        self.turn = Atomic[Int64](0)
        self.removals = Mutex(RemovalLog())


def key_hash(key: StringSpan) -> UInt64:
    """Hashes a key; nobody outside can foretell it."""
    var hasher = KeyedHasher()
    hasher.update(key.as_bytes())
    return hasher.finish()


def _shard_index(hash: UInt64) -> Int:
    return Int(hash >> (64 - _SHARD_BITS))


struct CacheStore(ImplicitlyCopyable):
    """Responses in memory; copies are the same store.

        var store = CacheStore(octet_max=256 << 20)
        # The same for many processes:
        var redis = RedisConfig.from_url("redis://10.0.0.1")
        var all = CacheStore(octet_max=256 << 20, shared=RedisResponses(redis^))

    All workers of a process share it, and any number of `Cache`s. Worker
    processes have one each; what they share is found in `shared`. What a client
    can make it hold is bounded by `octet_max` and `entry_max`; what goes first is
    what was not used since it came, or since the last time that room was needed
    (SIEVE). Copies of streams under way count, and take half of it at most.
    """

    var _store: ArcPointer[_Store]
    var _shared: Optional[ArcPointer[SharedKeeper]]

    def __init__(
        out self,
        *,
        octet_max: Int = 64 << 20,
        entry_max: Int = 65_536,
    ) raises:
        """Makes an empty store.

        Args:
            octet_max: Most memory that responses take, in bytes, at least 4096.
            entry_max: Most responses, at least 1.

        Raises:
            Error: If a bound is out of its range, or the system has no more
                locks.
        """
        if octet_max < 4096:
            raise Error(
                "CacheStore: octet_max is ",
                octet_max,
                "; allowed is 4096 or more",
            )
        if entry_max < 1:
            raise Error(
                "CacheStore: entry_max is ", entry_max, "; allowed is 1 or more"
            )
        self._store = ArcPointer(_Store(octet_max, entry_max))
        self._shared = None

    def __init__[
        S: ResponseStore
    ](
        out self,
        *,
        octet_max: Int = 64 << 20,
        entry_max: Int = 65_536,
        var shared: S,
    ) raises:
        """Makes an empty store before one that many processes share.

        Parameters:
            S: The shared store's type.

        Args:
            shared: Where to look for what is not in memory, such as
                `RedisResponses`. It is asked once now, and need not be there.
        """
        self = Self(octet_max=octet_max, entry_max=entry_max)
        # The keeper has the memory alone, so that neither holds the other.
        var memory = RemovalTarget(
            erase(self.copy()), _apply, destroy[CacheStore]
        )
        self._shared = ArcPointer(
            SharedKeeper(AnyResponseStore(shared^), memory^)
        )

    @no_inline
    def __deinit__(deinit self):
        return

    def has_shared(self) -> Bool:
        """Tells whether there is a store behind the memory, which many
        processes share."""
        return Bool(self._shared)

    def shared_stats(self) -> Optional[SharedStats]:
        """Copies this process's figures of the store that many processes share;
        nothing without such a store."""
        if not self._shared:
            return None
        return self._shared.held()[].stats()

    def find_shared(
        self, key: String, fields: Fields, policy: CachePolicy
    ) -> Optional[StoredResponse]:
        """Finds a response in the shared store, and waits for it; it is not in
        memory yet.

        Args:
            key: The key of its target.
            fields: The request's fields.
            policy: Of the cache.
        """
        return self._shared.held()[].find(key, fields, policy)

    def find_shared_later(
        self, key: String, var request: OwnedRequest, policy: CachePolicy
    ) -> Optional[LookupTicket]:
        """Has a response looked up in the shared store by another thread, and
        gives what becomes of it; nothing if the store is away.

        Args:
            request: The request.
        """
        return self._shared.held()[].find_later(key, request^, policy)

    def shared_wait_ms(self) -> Int:
        """Tells how many milliseconds to wait for a look-up."""
        return self._shared.held()[].wait_ms()

    def mark(self) -> FetchMark:
        """Gives the moment before a fetch or a look-up begins, which `put`
        compares with: if the response's key is removed in between, it is not
        kept."""
        var known = self._shared.held()[].known() if self._shared else 0
        return FetchMark(self._store[].removals.lock()[].count, known)

    def _note(self, var removal: Removal):
        """Notes a removal before it is made: what was fetched before is dropped
        when it comes, or by the removal itself. The shared store comes first: a
        look-up whose mark is after the removal finds nothing of it there."""
        if self._shared:
            self._shared.held()[].remove(removal.copy())
        self._store[].removals.lock()[].add(removal^)

    def apply(self, removal: Removal):
        """Removes what another process has removed.

        Args:
            removal: Which responses.
        """
        self._store[].removals.lock()[].add(removal.copy())
        if removal.kind == RemovalKind.PREFIX:
            _ = self._remove_prefix(removal.text)
        elif removal.kind == RemovalKind.KEY:
            _ = self._remove(removal.text)
        else:
            _ = self._invalidate(removal.text)

    def look_up(
        self,
        key: StringSpan,
        fields: Fields,
        asked: CacheControl,
        policy: CachePolicy,
        now_s: Int,
        *,
        counts: Bool = True,
    ) -> Lookup:
        """Finds what a request may get.

        Args:
            fields: Its fields.
            asked: What it says to caches.
            now_s: The time, in seconds since 1970-01-01 00:00:00 UTC.
            counts: Whether it is a hit or a miss for the figures.
        """
        var hash = key_hash(key)
        ref store = self._store[]
        var shard = store.shards.at(_shard_index(hash)).lock()
        var found = shard[].select(key, hash, fields)
        if not found:
            shard[].counts[Figure.MISS.index] += Int(counts)
            return Lookup(None, Reuse.VALIDATE, shard[].has_key(key, hash))
        var reuse = found.held()[].reuse(asked, policy, now_s)
        var figure = Figure.MISS
        if reuse == Reuse.FRESH:
            figure = Figure.HIT
        elif reuse == Reuse.STALE or reuse == Reuse.STALE_WHILE_REVALIDATE:
            figure = Figure.STALE
        shard[].counts.at(figure.index) += Int(counts)
        return Lookup(found^, reuse, True)

    def put(
        self,
        key: String,
        var response: StoredResponse,
        *,
        since: Optional[FetchMark] = None,
        is_new: Bool = True,
    ) -> Bool:
        """Keeps a response that nobody else has, and gives False if it is too
        long for this store, or out of date; see the other `put`.

        Args:
            response: The response.
            since: When it was asked for.
            is_new: Whether the shared store is to have it, too.
        """
        return self.put(key, ArcPointer(response^), since=since, is_new=is_new)

    def put(
        self,
        key: String,
        kept: ArcPointer[StoredResponse],
        *,
        since: Optional[FetchMark] = None,
        is_new: Bool = True,
    ) -> Bool:
        """Keeps a response, drops others if there is no more room, and gives
        False as the other `put` does.

        Args:
            kept: The response.
            since: When it was asked for; if its key was removed in between, it
                is not kept.
        """
        var hash = key_hash(key)
        ref store = self._store[]
        var octet_count = kept[].octet_count() + 2 * key.byte_length()
        if octet_count > store.octet_max:
            self.count(key, Figure.REFUSED)
            return False
        _ = store.octet_count.fetch_add(Int64(octet_count))
        _ = store.entry_count.fetch_add(1)
        var shard = store.shards.at(_shard_index(hash)).lock()
        var freed = shard[].put(key, hash, kept.copy(), octet_count)
        shard[].counts[Figure.STORED.index] += 1
        _ = shard^
        store.fetches[].note_useful(hash)
        self._give_back(freed)
        self._make_room()
        if since:
            var mark = since.held()
            if store.removals.lock()[].was_removed(key, mark.local):
                _ = self._remove(key)
                return False
            if is_new and self._shared:
                self._shared.held()[].put(key, kept, mark.shared)
        return True

    def _take_copy_room(self, octet_count: Int) -> Bool:
        ref store = self._store[]
        var taken = store.copy_octet_count.fetch_add(Int64(octet_count))
        if Int(taken) + octet_count > store.octet_max // _COPIES_SHARE:
            _ = store.copy_octet_count.fetch_sub(Int64(octet_count))
            return False
        _ = store.octet_count.fetch_add(Int64(octet_count))
        self._make_room()
        return True

    def _give_copy_room(self, octet_count: Int):
        ref store = self._store[]
        _ = store.copy_octet_count.fetch_sub(Int64(octet_count))
        _ = store.octet_count.fetch_sub(Int64(octet_count))

    def _give_back(self, freed: Room):
        ref store = self._store[]
        _ = store.octet_count.fetch_sub(Int64(freed.octets))
        _ = store.entry_count.fetch_sub(Int64(freed.entries))

    def _is_over(self) -> Bool:
        ref store = self._store[]
        return Int(store.octet_count.load()) > store.octet_max or (
            Int(store.entry_count.load()) > store.entry_max
        )

    def _make_room(self):
        """Drops responses of one shard after the other."""
        ref store = self._store[]
        var empty_count = 0
        while self._is_over() and empty_count < _SHARD_COUNT:
            var turn = Int(store.turn.fetch_add(1)) & (_SHARD_COUNT - 1)
            var shard = store.shards.at(turn).lock()
            var freed = shard[].evict()
            shard[].counts[Figure.EVICTED.index] += freed.entries
            _ = shard^
            empty_count = empty_count + 1 if freed.entries == 0 else 0
            self._give_back(freed)

    def count(self, key: StringSpan, figure: Figure):
        """Counts something.

        Args:
            key: The key that it happened with.
            figure: What.
        """
        var shard = self._store[].shards.at(_shard_index(key_hash(key))).lock()
        shard[].counts.at(figure.index) += 1

    def purge(self, url: StringSpan) -> Int:
        """Drops the responses to a URL, and gives how many they were in this
        process.

        Args:
            url: Scheme, host and path, such as `http://example.com/a?b=c`, as
                the server sees them: behind a proxy that ends TLS the scheme is
                `http`.
        """
        var key = _key_of_url(url)
        self._note(Removal(RemovalKind.KEY, key))
        return self._remove(key, Figure.PURGED)

    def _remove(self, key: StringSpan, figure: Optional[Figure] = None) -> Int:
        var hash = key_hash(key)
        self._store[].fetches[].detach(hash)
        var shard = self._store[].shards.at(_shard_index(hash)).lock()
        var freed = shard[].remove(key, hash)
        if figure:
            shard[].counts.at(figure.held().index) += freed.entries
        _ = shard^
        self._give_back(freed)
        return freed.entries

    def purge_prefix(self, url: StringSpan) -> Int:
        """Drops the responses to all URLs that begin with a text, and gives how
        many they were. Each response that is there is looked at; those of a
        shared store when they are asked for.

        Args:
            url: Such as `http://example.com/images/`; empty for all. The host
                is always whole: `http://exam` means all of the host `exam`, and
                nothing of `example.com`.
        """
        var prefix = _key_of_url(url) if url.byte_length() > 0 else String()
        self._note(Removal(RemovalKind.PREFIX, prefix))
        return self._remove_prefix(prefix)

    def _remove_prefix(self, prefix: StringSpan) -> Int:
        var total = 0
        self._store[].fetches[].detach_all()
        for index in range(_SHARD_COUNT):
            var shard = self._store[].shards.at(index).lock()
            var freed = shard[].remove_prefix(prefix)
            shard[].counts[Figure.PURGED.index] += freed.entries
            _ = shard^
            self._give_back(freed)
            total += freed.entries
        return total

    def drop(self, key: StringSpan):
        """Drops what is kept under a key, since it is known to be out of date."""
        self._note(Removal(RemovalKind.KEY, key))
        _ = self._remove(key)

    def invalidate(self, url: StringSpan) -> Int:
        """Has the responses to a URL validated before they are used again, and
        gives how many they are: what is still the same costs the origin a 304
        alone."""
        var key = _key_of_url(url)
        return self.invalidate_key(key)

    def invalidate_key(self, key: StringSpan) -> Int:
        """Has the responses to a target validated before they are used again,
        and gives how many they are."""
        self._note(Removal(RemovalKind.INVALID, key))
        return self._invalidate(key)

    def _invalidate(self, key: StringSpan) -> Int:
        var hash = key_hash(key)
        self._store[].fetches[].detach(hash)
        var shard = self._store[].shards.at(_shard_index(hash)).lock()
        return shard[].invalidate(key, hash)

    def stats(self) -> CacheStats:
        """Gives all figures as they are now."""
        var sums = Array[Int, 10](fill=0)
        for index in range(_SHARD_COUNT):
            var shard = self._store[].shards.at(index).lock()
            for figure in range(10):
                sums.at(figure) += shard[].counts.at(figure)
            _ = shard^
        return CacheStats(
            hit_count=sums[Figure.HIT.index],
            stale_count=sums[Figure.STALE.index],
            miss_count=sums[Figure.MISS.index],
            revalidated_count=sums[Figure.REVALIDATED.index],
            collapsed_count=sums[Figure.COLLAPSED.index],
            error_count=sums[Figure.STOOD_IN.index],
            stored_count=sums[Figure.STORED.index],
            refused_count=sums[Figure.REFUSED.index],
            evicted_count=sums[Figure.EVICTED.index],
            purged_count=sums[Figure.PURGED.index],
            entry_count=Int(self._store[].entry_count.load()),
            octet_count=Int(self._store[].octet_count.load()),
        )

    def begin_fetch(
        self, key: StringSpan, now_s: Int, *, may_claim: Bool = True
    ) -> FetchStart:
        """Takes it upon a request to fetch a response for all who want it, or
        lets it wait for one that does so already; gives the claim, held until
        the fetch ends, or the fetch of the other; neither if it is not worth
        waiting for.

        Args:
            may_claim: Whether the response may be of use to others.
        """
        return FetchTable.begin(
            self._store[].fetches, key_hash(key), now_s, may_claim=may_claim
        )

    def is_useless(self, key: StringSpan, now_s: Int) -> Bool:
        """Tells whether the response to a target was of no use to others of
        late, and is not worth looking for elsewhere: not kept, or to be
        validated for each."""
        return self._store[].fetches[].is_useless(key_hash(key), now_s)

    def note_useless(self, key: StringSpan, now_s: Int):
        """Remembers that the response to a target is of no use to others, so
        that nobody waits for the next one."""
        self._store[].fetches[].note_useless(key_hash(key), now_s)


def _apply(memory: Erased, removal: Removal):
    # SAFETY: the initializer made the pointer from such a store.
    memory.unsafe_bitcast[CacheStore]()[].apply(removal)


struct CopyRoom(Movable):
    """Room of a store for the copy of a stream; given back when this goes."""

    var octet_count: Int
    """How much it is, in bytes."""
    var _store: CacheStore

    def __init__(out self, store: CacheStore):
        self.octet_count = 0
        self._store = store

    def __deinit__(deinit self):
        var store = self._store
        store._give_copy_room(self.octet_count)

    def grow(mut self, octet_count: Int) -> Bool:
        """Takes more, up to `octet_count` in all, from what was not used of
        late if there is no other. False if copies have as much as they may;
        nothing has changed then."""
        var more = octet_count - self.octet_count
        if not self._store._take_copy_room(more):
            return False
        self.octet_count = octet_count
        return True


def _key_of_url(url: StringSpan) -> String:
    var parts = split_url(url)
    return cache_key(parts.scheme, parts.authority, parts.target)

"""Where first answers are kept for requests that are repeated."""

from flare.bytes.erased import Erased, ErasedBox
from flare.http.handler.state import State
from flare.sys.clock import monotonic_ms
from flare.sys.errno import OsError
from flare.sys.random import KeyedHasher

comptime OCTETS_MAX = 16 * 1024 * 1024
"""Most octets of answers that `LocalIdempotency` keeps by default."""


@fieldwise_init
struct KeyState(Equatable, TrivialRegisterPassable):

    var value: UInt8

    comptime NEW = Self(0)
    """Nothing was; whoever asked carries the request out."""
    comptime BUSY = Self(1)
    """The request is carried out at this time."""
    comptime OTHER = Self(2)
    """It was used for another request."""
    comptime DONE = Self(3)
    """The request was carried out."""


@fieldwise_init
struct KeyRecord(Movable):
    """What a store says of a key."""

    var state: KeyState
    var answer: List[UInt8]
    """The first answer if it is done; empty if that was not kept."""


@fieldwise_init
struct KeyClaim(Copyable, Movable):
    """Who wants a key, for what. All three are characters of base64url."""

    var key: String
    """The key."""
    var fingerprint: String
    """Tells the request from others with the same key."""
    var owner: String
    """Tells one attempt from all others, also those of the same request: who
    holds a key for too long does not hold it any more."""


trait IdempotencyStore(Deinitable, Movable):
    """Keeps first answers by keys; called by several threads at once."""

    def begin(self, claim: KeyClaim, lock_ms: Int) raises -> KeyRecord:
        """Takes a key for a request, in one step with finding out about it, and
        tells what was known before.

        Args:
            claim: The key, and who wants it.
            lock_ms: How long it is `BUSY` if nothing more is heard of it.

        Raises:
            Error: If the store cannot be asked now.
        """
        ...

    def finish(self, claim: KeyClaim, answer: List[UInt8], keep_ms: Int) raises:
        """Keeps an answer, unless the key is somebody else's by now.

        Args:
            claim: What `begin` was given.
            answer: The answer; empty if it is too long to be kept.
            keep_ms: How long it is kept, in milliseconds.

        Raises:
            Error: If it could not be kept.
        """
        ...

    def forget(self, claim: KeyClaim) raises:
        """Lets a key be used again, since its request came to nothing, unless it
        is somebody else's by now.

        Raises:
            Error: If the store cannot be asked now.
        """
        ...


struct _Entry(Movable):
    var fingerprint: String
    var owner: String
    var answer: List[UInt8]
    var is_done: Bool
    var ends_ms: Int

    def __init__(out self, claim: KeyClaim, ends_ms: Int):
        self.fingerprint = claim.fingerprint
        self.owner = claim.owner
        self.answer = []
        self.is_done = False
        self.ends_ms = ends_ms


struct AnswerTable(Movable, Sized):
    """First answers in memory, in two halves: when the newer one is full, the
    older goes."""

    var _newer: Dict[String, _Entry, KeyedHasher]
    var _older: Dict[String, _Entry, KeyedHasher]
    var _newer_octets: Int
    var _octets_max: Int
    var _count_max: Int

    def __init__(out self, octets_max: Int, count_max: Int):
        """Makes an empty one of at most so many octets of answers."""
        self._newer = {}
        self._older = {}
        self._newer_octets = 0
        self._octets_max = max(octets_max, 0)
        self._count_max = count_max

    def __len__(self) -> Int:
        """Counts the keys, with those that have ended and are still there."""
        return len(self._newer) + len(self._older)

    def begin(
        mut self, claim: KeyClaim, ends_ms: Int, now_ms: Int
    ) raises -> KeyRecord:
        """Takes a key for a request, busy until `ends_ms`. Returns what was
        known before."""
        ref half = self._newer if claim.key in self._newer else self._older
        if claim.key in half:
            ref entry = half[claim.key]
            if entry.ends_ms > now_ms:
                return _told(entry, claim.fingerprint)
        self._put(claim.key, _Entry(claim, ends_ms))
        return KeyRecord(KeyState.NEW, [])

    def finish(
        mut self,
        claim: KeyClaim,
        answer: List[UInt8],
        ends_ms: Int,
        now_ms: Int,
    ) raises:
        """Keeps an answer until `ends_ms`, unless the key is somebody else's by
        now."""
        if self._is_of_another(claim, now_ms):
            return
        var entry = _Entry(claim, ends_ms)
        # One that fits into no half is not kept; that it was given is.
        if len(answer) <= self._octets_max // 2:
            entry.answer.extend(Span(answer))
        entry.is_done = True
        self._put(claim.key, entry^)

    def forget(mut self, claim: KeyClaim, now_ms: Int) raises:
        """Drops a key, unless it is somebody else's by now."""
        if not self._is_of_another(claim, now_ms):
            self._drop(claim.key)

    def _is_of_another(self, claim: KeyClaim, now_ms: Int) raises -> Bool:
        ref half = self._newer if claim.key in self._newer else self._older
        if claim.key not in half:
            return False
        ref entry = half[claim.key]
        return entry.owner != claim.owner and entry.ends_ms > now_ms

    def _drop(mut self, key: String) raises:
        if key in self._newer:
            self._newer_octets -= len(self._newer[key].answer)
            _ = self._newer.pop(key)
        if key in self._older:
            _ = self._older.pop(key)

    def _put(mut self, key: String, var entry: _Entry) raises:
        self._drop(key)
        var length = len(entry.answer)
        var is_full = len(self._newer) >= max(self._count_max // 2, 1)
        if is_full or self._newer_octets + length > self._octets_max // 2:
            self._older = {}
            swap(self._older, self._newer)
            self._newer_octets = 0
        self._newer[key] = entry^
        self._newer_octets += length


def _told(entry: _Entry, fingerprint: String) -> KeyRecord:
    if entry.fingerprint != fingerprint:
        return KeyRecord(KeyState.OTHER, [])
    if not entry.is_done:
        return KeyRecord(KeyState.BUSY, [])
    return KeyRecord(KeyState.DONE, entry.answer.copy())


@fieldwise_init
struct LocalIdempotency(Copyable, IdempotencyStore):
    """Keeps first answers in the memory of this process, which can always be
    asked: `begin`, `finish` and `forget` never raise."""

    var _table: State[AnswerTable]

    def __init__(
        out self, *, octets_max: Int = OCTETS_MAX, count_max: Int = 65_536
    ) raises OsError:
        """Keeps nothing yet.

        Args:
            octets_max: Most octets of answers that are kept; an answer of more
                than half of it is never.
            count_max: Most keys; both at the price of the oldest.

        Raises:
            OsError: If the system has no more locks.
        """
        self._table = State(AnswerTable(octets_max, count_max))

    def begin(self, claim: KeyClaim, lock_ms: Int) raises -> KeyRecord:
        var now_ms = monotonic_ms()
        var table = self._table.lock()
        return table[].begin(claim, now_ms + lock_ms, now_ms)

    def finish(self, claim: KeyClaim, answer: List[UInt8], keep_ms: Int) raises:
        var now_ms = monotonic_ms()
        var table = self._table.lock()
        table[].finish(claim, answer, now_ms + keep_ms, now_ms)

    def forget(self, claim: KeyClaim) raises:
        self._table.lock()[].forget(claim, monotonic_ms())


def _begin[
    S: IdempotencyStore
](store: Erased, claim: KeyClaim, lock_ms: Int) raises -> KeyRecord:
    # SAFETY: `AnyIdempotencyStore` made the pointer from an S of its own.
    return store.unsafe_bitcast[S]()[].begin(claim, lock_ms)


def _finish[
    S: IdempotencyStore
](store: Erased, claim: KeyClaim, answer: List[UInt8], keep_ms: Int) raises:
    # SAFETY: as for `_begin`.
    store.unsafe_bitcast[S]()[].finish(claim, answer, keep_ms)


def _forget[S: IdempotencyStore](store: Erased, claim: KeyClaim) raises:
    # SAFETY: as for `_begin`.
    store.unsafe_bitcast[S]()[].forget(claim)


struct AnyIdempotencyStore(Movable):

    # SAFETY: the functions were made for its type.
    var _store: ErasedBox
    var _begin: def(Erased, KeyClaim, Int) raises thin -> KeyRecord
    var _finish: def(Erased, KeyClaim, List[UInt8], Int) raises thin -> None
    var _forget: def(Erased, KeyClaim) raises thin -> None

    def __init__[S: IdempotencyStore](out self, var store: S):
        self._store = ErasedBox(store^)
        self._begin = _begin[S]
        self._finish = _finish[S]
        self._forget = _forget[S]

    def begin(self, claim: KeyClaim, lock_ms: Int) raises -> KeyRecord:
        return self._begin(self._store.at, claim, lock_ms)

    def finish(self, claim: KeyClaim, answer: List[UInt8], keep_ms: Int) raises:
        self._finish(self._store.at, claim, answer, keep_ms)

    def forget(self, claim: KeyClaim) raises:
        self._forget(self._store.at, claim)

"""A second level of a cache, in which many processes look: what such a store does,
and the way from a cache to one of any type.

    memory --miss--> SharedKeeper --find--> a store, such as RedisResponses
       ^                 |
       |                 +-- put, remove: queued, and done by a thread
       +-- what others have removed --+
"""

from flare.bytes.checked import *
from flare.bytes.erased import Erased, destroy, erase
from flare.http.cache.core.stored_response import StoredResponse
from flare.http.cache.removals import Removal
from flare.sys.descriptor import Pipe
from flare.sys.errno import OsError
from flare.sys.mutex import Mutex
from std.memory import ArcPointer


@fieldwise_init
struct SharedFind(Movable):
    """What a store has of a key."""

    var names: Optional[String]
    """What the Vary of its responses names; nothing if there are none."""
    var octets: Optional[List[UInt8]]
    """The response of the variant that was asked for."""


@fieldwise_init
struct SharedEntry(Movable):
    """A response on its way to a store."""

    var key: String
    """The key of its target, of any length."""
    var variant: List[UInt8]
    """Which requests select it, of any length."""
    var names: String
    """What its Vary names."""
    var octets: List[UInt8]
    var since: Int
    """How many removals there were, as far as was known, when it was asked for.
    """
    var keep_s: Int
    """How long it may be of use, in seconds."""


@fieldwise_init
struct RemovalNews(Movable):
    """What all processes have removed since a moment."""

    var count: Int
    """The number of the last removal. It never goes back, and a store that has
    lost its memory goes on with a number that nobody has seen."""
    var is_complete: Bool
    """Whether all of them are told."""
    var removals: List[Removal]
    """What was removed, in turn."""
    var senders: List[String]
    """By whom each was."""


trait ResponseStore(Copyable, Deinitable, Movable):
    """Where the responses of many processes are kept, such as `RedisResponses`.

    It is called by several threads at once, and no call takes much longer than
    `timeout_ms`. Each raises `Error` if the store cannot be asked now.
    """

    def timeout_ms(self) -> Int:
        """Tells how many milliseconds a call may take, about."""
        ...

    def octet_max(self) -> Int:
        """Tells how many bytes a response may have, fields included."""
        ...

    def renewed(self) raises -> Self:
        """Gives the same store without the connections of this one, for a
        process that was forked.

        Raises:
            Error: If it cannot be made.
        """
        ...

    def find(self, key: String, variant: List[UInt8]) raises -> SharedFind:
        """Finds a response.

        Args:
            key: The key of its target.
            variant: Which requests select it.
        """
        ...

    def put(self, entry: SharedEntry) raises -> Bool:
        """Keeps a response, and gives False if its key was removed after
        `entry.since`.

        Args:
            entry: The response.

        Raises:
            Error: If the store cannot be asked now, or has no room.
        """
        ...

    def remove(self, removal: Removal, sender: String) raises:
        """Drops responses, and lets all others know.

        Args:
            removal: Which.
            sender: Who says so.
        """
        ...

    def news(self, since: Int) raises -> RemovalNews:
        """Tells what was removed.

        Args:
            since: The number of the last removal that is known; negative for
                none.
        """
        ...


@fieldwise_init
struct SharedStats(Copyable, Movable):
    """Figures of a process about the store that it shares."""

    var found_count: Int
    """Look-ups that found a response."""
    var missed_count: Int
    """Look-ups that found none."""
    var failed_count: Int
    """Calls that had no answer in time, or were refused."""
    var skipped_count: Int
    """Requests that went on without a look-up, since the store was away, too
    many others waited for it, or it had not heard yet that this process has
    removed what was asked for."""
    var malformed_count: Int
    """What was found and was no response to the key."""
    var written_count: Int
    """Responses that were written."""
    var outdated_count: Int
    """Responses that were not, for something of the kind was removed while they
    were fetched, or may have been."""
    var dropped_count: Int
    """Responses that were not, for they were too long, too many waited, or the
    store was away."""
    var removed_count: Int
    """Removals that were passed on."""
    var heard_count: Int
    """Removals of other processes that were heard of."""
    var reset_count: Int
    """Times that removals were missed, so that memory was emptied."""
    var waiting_count: Int
    """Responses and removals that wait to be written now."""
    var is_away: Bool
    """Whether the store is left alone now, since it does not answer."""

    def __init__(out self):
        """Begins at zero."""
        self = Self(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, False)


struct _Outcome(Defaultable, Movable):
    var is_done: Bool
    var response: Optional[StoredResponse]


struct LookupTicket(Copyable, Movable):
    """A look-up that another thread does; copies are the same."""

    var _outcome: Mutex[_Outcome]
    var _rung: ArcPointer[Pipe]

    def __init__(out self) raises OsError:
        self._outcome = Mutex(_Outcome())
        self._rung = ArcPointer(Pipe())

    def fd(self) -> Int32:
        """Lends a descriptor that becomes readable when the look-up has ended,
        good while a copy of the ticket lives."""
        return self._rung[].reading_fd()

    def finish(self, var response: Optional[StoredResponse]):
        var outcome = self._outcome.lock()
        outcome[].is_done = True
        outcome[].response = response^
        self._rung[].notify()

    def is_done(self) -> Bool:
        return self._outcome.lock()[].is_done

    def take(self) -> Optional[StoredResponse]:
        """Takes what was found. A look-up that has not ended yet is of no use
        from then on.
        """
        var outcome = self._outcome.lock()
        var response = Optional[StoredResponse](None)
        swap(response, outcome[].response)
        outcome[].is_done = True
        return response^


def _timeout_ms[S: ResponseStore](store: Erased) -> Int:
    # SAFETY: `AnyResponseStore` made the pointer from an S of its own.
    return store.unsafe_bitcast[S]()[].timeout_ms()


def _octet_max[S: ResponseStore](store: Erased) -> Int:
    # SAFETY: as for `_timeout_ms`.
    return store.unsafe_bitcast[S]()[].octet_max()


def _renewed[S: ResponseStore](store: Erased) raises -> Erased:
    # SAFETY: as for `_timeout_ms`.
    return erase(store.unsafe_bitcast[S]()[].renewed())


def _find[
    S: ResponseStore
](store: Erased, key: String, variant: List[UInt8]) raises -> SharedFind:
    # SAFETY: as for `_timeout_ms`.
    return store.unsafe_bitcast[S]()[].find(key, variant)


def _put[S: ResponseStore](store: Erased, entry: SharedEntry) raises -> Bool:
    # SAFETY: as for `_timeout_ms`.
    return store.unsafe_bitcast[S]()[].put(entry)


def _remove[
    S: ResponseStore
](store: Erased, removal: Removal, sender: String) raises:
    # SAFETY: as for `_timeout_ms`.
    store.unsafe_bitcast[S]()[].remove(removal, sender)


def _news[S: ResponseStore](store: Erased, since: Int) raises -> RemovalNews:
    # SAFETY: as for `_timeout_ms`.
    return store.unsafe_bitcast[S]()[].news(since)


@fieldwise_init
struct _Calls(TrivialRegisterPassable):
    """The methods of a store whose type is forgotten."""

    # SAFETY: each takes what `AnyResponseStore` keeps.
    var timeout_ms: def(Erased) thin -> Int
    var octet_max: def(Erased) thin -> Int
    var renewed: def(Erased) raises thin -> Erased
    var find: def(Erased, String, List[UInt8]) raises thin -> SharedFind
    var put: def(Erased, SharedEntry) raises thin -> Bool
    var remove: def(Erased, Removal, String) raises thin -> None
    var news: def(Erased, Int) raises thin -> RemovalNews
    var drop: def(Erased) thin -> None


struct AnyResponseStore(Movable):
    """A `ResponseStore` of any type."""

    # SAFETY: owned; the functions were made for its type.
    var _store: Erased
    var _calls: _Calls

    def __init__[S: ResponseStore](out self, var store: S):
        self._store = erase(store^)
        self._calls = _Calls(
            _timeout_ms[S],
            _octet_max[S],
            _renewed[S],
            _find[S],
            _put[S],
            _remove[S],
            _news[S],
            destroy[S],
        )

    def __init__(out self, *, renewed: Self) raises:
        """Makes the same store without the connections of another one."""
        self._store = renewed._calls.renewed(renewed._store)
        self._calls = renewed._calls

    def __deinit__(deinit self):
        self._calls.drop(self._store)

    def timeout_ms(self) -> Int:
        return self._calls.timeout_ms(self._store)

    def octet_max(self) -> Int:
        return self._calls.octet_max(self._store)

    def find(self, key: String, variant: List[UInt8]) raises -> SharedFind:
        return self._calls.find(self._store, key, variant)

    def put(self, entry: SharedEntry) raises -> Bool:
        return self._calls.put(self._store, entry)

    def remove(self, removal: Removal, sender: String) raises:
        self._calls.remove(self._store, removal, sender)

    def news(self, since: Int) raises -> RemovalNews:
        return self._calls.news(self._store, since)


@fieldwise_init
struct RemovalTarget(Movable):
    """The memory before a store, which hears of the removals of others."""

    # SAFETY: owned; the functions were made for its type.
    var _memory: Erased
    var _apply: def(Erased, Removal) thin -> None
    var _drop: def(Erased) thin -> None

    def __deinit__(deinit self):
        self._drop(self._memory)

    def apply(self, removal: Removal):
        self._apply(self._memory, removal)

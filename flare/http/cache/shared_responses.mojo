"""A second level of a cache, in which many processes look: what such a store does,
and the way from a cache to one of any type.

    memory --miss--> SharedLevel --find--> a store, such as RedisResponses
       ^                 |
       |                 +-- put, remove: queued, and done by a thread
       +-- what others have removed --+
"""

from flare.bytes.checked import *
from flare.http.cache.core.policy import CachePolicy
from flare.http.cache.core.stored_response import StoredResponse
from flare.http.cache.removals import Removal
from flare.http.message.body import Erased, destroy, erase
from flare.http.message.fields import Fields
from flare.http.message.owned_request import OwnedRequest
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
    `timeout_ms`.
    """

    def timeout_ms(self) -> Int:
        """Tells how long a call may take, about.

        Returns:
            The time, in milliseconds.
        """
        ...

    def octet_max(self) -> Int:
        """Tells how long a response may be.

        Returns:
            Bytes, fields included.
        """
        ...

    def renewed(self) raises -> Self:
        """Makes the same store without the connections of this one, for a
        process that was forked.

        Returns:
            The store.

        Raises:
            Error: If it cannot be made.
        """
        ...

    def find(self, key: String, variant: List[UInt8]) raises -> SharedFind:
        """Looks a response up.

        Args:
            key: The key of its target.
            variant: Which requests select it.

        Returns:
            What there is.

        Raises:
            Error: If the store cannot be asked now.
        """
        ...

    def put(self, entry: SharedEntry) raises -> Bool:
        """Keeps a response, unless its key was removed after `entry.since`.

        Args:
            entry: The response.

        Returns:
            False if it was.

        Raises:
            Error: If the store cannot be asked now, or has no room.
        """
        ...

    def remove(self, removal: Removal, sender: String) raises:
        """Drops responses, and lets all others know.

        Args:
            removal: Which.
            sender: Who says so.

        Raises:
            Error: If the store cannot be asked now.
        """
        ...

    def news(self, since: Int) raises -> RemovalNews:
        """Asks what was removed.

        Args:
            since: The number of the last removal that is known; negative for
                none.

        Returns:
            What came behind it.

        Raises:
            Error: If the store cannot be asked now.
        """
        ...


trait RemovalTarget(Copyable, Deinitable, Movable):
    """What hears of the removals of other processes."""

    def apply(self, removal: Removal):
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


trait SharedUser(Deinitable, Movable):
    """What stands between a cache and a store."""

    def find(
        self,
        key: String,
        fields: Fields[ImmUntrackedOrigin],
        policy: CachePolicy,
    ) -> Optional[StoredResponse]:
        """Looks a response up, and waits for it; nothing if there is none, or
        the store is away."""
        ...

    def find_later(
        self, key: String, var request: OwnedRequest, policy: CachePolicy
    ) -> Optional[LookupTicket]:
        """Has a response looked up by another thread; nothing if the store is
        away."""
        ...

    def wait_ms(self) -> Int:
        ...

    def known(self) -> Int:
        """Tells the number of the last removal that is known."""
        ...

    def put(
        self, key: String, response: ArcPointer[StoredResponse], since: Int
    ):
        """Has a response written soon; `since` is what `known` was when it was
        asked for."""
        ...

    def remove(self, var removal: Removal):
        """Has responses removed soon, and by all."""
        ...

    def stats(self) -> SharedStats:
        ...


def _find[
    U: SharedUser
](
    user: Erased,
    key: String,
    fields: Fields[ImmUntrackedOrigin],
    policy: CachePolicy,
) -> Optional[StoredResponse]:
    # SAFETY: `SharedLevel` made the pointer from a U of its own; so below.
    return user.unsafe_bitcast[U]()[].find(key, fields, policy)


def _find_later[
    U: SharedUser
](
    user: Erased, key: String, var request: OwnedRequest, policy: CachePolicy
) -> Optional[LookupTicket]:
    # SAFETY: as for `_find`.
    return user.unsafe_bitcast[U]()[].find_later(key, request^, policy)


def _wait_ms[U: SharedUser](user: Erased) -> Int:
    # SAFETY: as for `_find`.
    return user.unsafe_bitcast[U]()[].wait_ms()


def _known[U: SharedUser](user: Erased) -> Int:
    # SAFETY: as for `_find`.
    return user.unsafe_bitcast[U]()[].known()


def _put[
    U: SharedUser
](user: Erased, key: String, response: ArcPointer[StoredResponse], since: Int):
    # SAFETY: as for `_find`.
    user.unsafe_bitcast[U]()[].put(key, response, since)


def _remove[U: SharedUser](user: Erased, var removal: Removal):
    # SAFETY: as for `_find`.
    user.unsafe_bitcast[U]()[].remove(removal^)


def _stats[U: SharedUser](user: Erased) -> SharedStats:
    # SAFETY: as for `_find`.
    return user.unsafe_bitcast[U]()[].stats()


struct SharedLevel(Movable):
    """The way to a store of any type; only programs that name one have its code."""

    # SAFETY: owned; the functions were made for its type.
    var _user: Erased
    var _find: def(
        Erased, String, Fields[ImmUntrackedOrigin], CachePolicy
    ) thin -> Optional[StoredResponse]
    var _find_later: def(
        Erased, String, var OwnedRequest, CachePolicy
    ) thin -> Optional[LookupTicket]
    var _wait_ms: def(Erased) thin -> Int
    var _known: def(Erased) thin -> Int
    var _put: def(Erased, String, ArcPointer[StoredResponse], Int) thin -> None
    var _remove: def(Erased, var Removal) thin -> None
    var _stats: def(Erased) thin -> SharedStats
    var _drop: def(Erased) thin -> None

    def __init__[U: SharedUser](out self, var user: U):
        """Takes what stands before a store."""
        self._user = erase(user^)
        self._find = _find[U]
        self._find_later = _find_later[U]
        self._wait_ms = _wait_ms[U]
        self._known = _known[U]
        self._put = _put[U]
        self._remove = _remove[U]
        self._stats = _stats[U]
        self._drop = destroy[U]

    def __deinit__(deinit self):
        self._drop(self._user)

    def find(
        self, key: String, fields: Fields, policy: CachePolicy
    ) -> Optional[StoredResponse]:
        """Looks a response up, and waits for it: not on a worker's own thread.
        Returns nothing if there is none, or the store is away."""
        # SAFETY: the fields are the caller's, and used during the call alone.
        var lent = fields.unsafe_outliving[ImmUntrackedOrigin]()
        return self._find(self._user, key, lent, policy)

    def find_later(
        self, key: String, var request: OwnedRequest, policy: CachePolicy
    ) -> Optional[LookupTicket]:
        """Has a response looked up by another thread; nothing if the store is
        away."""
        return self._find_later(self._user, key, request^, policy)

    def wait_ms(self) -> Int:
        return self._wait_ms(self._user)

    def known(self) -> Int:
        """Tells the number of the last removal that is known; negative before
        the first contact."""
        return self._known(self._user)

    def put(
        self, key: String, response: ArcPointer[StoredResponse], since: Int
    ):
        """Has a response written soon; `since` is what `known` was when it was
        asked for."""
        self._put(self._user, key, response, since)

    def remove(self, var removal: Removal):
        """Has responses removed soon, and by all."""
        self._remove(self._user, removal^)

    def stats(self) -> SharedStats:
        return self._stats(self._user)

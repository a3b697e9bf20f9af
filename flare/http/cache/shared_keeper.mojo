"""What stands between a cache and a store of many processes: a bounded queue to it,
the threads that write, remove and look up, and the rest after a failure."""

from flare.bytes.checked import *
from flare.bytes.text import Text
from flare.http.cache.core.policy import CachePolicy
from flare.http.cache.core.response_form import read_stored, write_stored
from flare.http.cache.core.stored_response import StoredResponse
from flare.http.cache.core.vary import selection_of
from flare.http.cache.removals import Removal, RemovalKind
from flare.http.cache.shared_responses import (
    AnyResponseStore,
    LookupTicket,
    RemovalTarget,
    SharedEntry,
    SharedStats,
)
from flare.http.message.fields import Fields
from flare.http.message.owned_request import OwnedRequest
from flare.sys.clock import Deadline, monotonic_ms, unix_seconds
from flare.sys.errno import OsError
from flare.sys.log import log_line
from flare.sys.mutex import Condvar, Mutex
from flare.sys.random import random_word
from flare.sys.signal import process_id
from flare.sys.thread import Task, Thread
from std.memory import ArcPointer

comptime NEWS_MS = 200
"""How often a process asks what others have removed, in milliseconds."""
comptime WRITE_COUNT_MAX = 1_024
"""Most responses that wait to be written; beyond it they are dropped."""
comptime WRITE_OCTET_MAX = 32 << 20
"""Most memory of those, in bytes."""
comptime REMOVAL_COUNT_MAX = 4_096
"""Most removals that wait to be passed on; beyond it everything is removed in
their place."""
comptime LOOKUP_COUNT_MAX = 256
"""Most look-ups that wait for a thread; beyond it requests go on without. Each
has two descriptors."""
comptime FINDER_COUNT_MAX = 4
"""Most threads that look up for requests which wait on a worker's loop."""
comptime _AWAY_MAX_MS = 1_000
# Longest pause between two questions whether the store is back.
comptime _IDLE_MS = 10_000
# How long a finder waits for more to do before it ends.
comptime _END_MS = 2_000
# How long the end waits for what was queued.


struct _Order(Movable):
    """What is to be done: a response to write, or else a removal."""

    var response: Optional[ArcPointer[StoredResponse]]
    var key: String
    var since: Int
    var removal: Removal

    def __init__(
        out self,
        key: String,
        response: ArcPointer[StoredResponse],
        since: Int,
    ):
        self.response = response.copy()
        self.key = key
        self.since = since
        self.removal = Removal(RemovalKind.KEY, "")

    def __init__(out self, var removal: Removal):
        self.response = None
        self.key = String()
        self.since = 0
        self.removal = removal^

    def octet_count(self) -> Int:
        return self.response.held()[].octet_count() if self.response else 0


@fieldwise_init
struct _Lookup(Movable):
    var key: String
    var request: OwnedRequest
    var policy: CachePolicy
    var ticket: LookupTicket


struct _Work(Movable):
    """What is under the lock."""

    var store: ArcPointer[AnyResponseStore]
    var orders: List[_Order]
    var lookups: List[_Lookup]
    var octet_count: Int
    var removal_count: Int
    # The removal that the keeper is about to pass on; it is among no orders.
    var passing: Optional[Removal]
    var finder_count: Int
    var busy_count: Int
    var has_keeper: Bool
    var is_closed: Bool
    # Which process the threads and the connections are of; 0 for none.
    var process: Int
    var known: Int
    var stats: SharedStats

    def __init__(out self, var store: AnyResponseStore, known: Int):
        self.store = ArcPointer(store^)
        self.orders = []
        self.lookups = []
        self.octet_count = 0
        self.removal_count = 0
        self.passing = None
        self.finder_count = 0
        self.busy_count = 0
        self.has_keeper = False
        self.is_closed = False
        self.process = 0
        self.known = known
        self.stats = SharedStats()

    def take(mut self) -> _Order:
        var order = self.orders.pop(0)
        self.octet_count -= order.octet_count()
        if not order.response:
            self.removal_count -= 1
            self.passing = order.removal.copy()
        return order^

    def is_being_removed(self, key: StringSpan) -> Bool:
        """Tells whether the store may have something of a key that this process
        has removed: the order is still on its way."""
        if self.passing and self.passing.held().concerns(key):
            return True
        if self.removal_count == 0:
            return False
        for index in range(len(self.orders)):
            ref order = self.orders.at(index)
            if not order.response and order.removal.concerns(key):
                return True
        return False


struct _Desk(Movable):
    """What all threads share."""

    var work: Mutex[_Work]
    var ordered: Condvar
    var asked: Condvar
    var ended: Condvar

    def __init__(
        out self, var store: AnyResponseStore, known: Int
    ) raises OsError:
        self.work = Mutex(_Work(store^, known))
        self.ordered = Condvar()
        self.asked = Condvar()
        self.ended = Condvar()

    def store(self) -> ArcPointer[AnyResponseStore]:
        return self.work.lock()[].store.copy()

    def note_failure(self, error: Error):
        """Has the store left alone until the keeper has heard of it again."""
        var work = self.work.lock()
        work[].stats.failed_count += 1
        if not work[].stats.is_away:
            work[].stats.is_away = True
            log_line(
                Text()
                .add("cache: the shared store cannot be asked: ")
                .add(error)
                .end()
            )

    def look(
        self,
        store: AnyResponseStore,
        key: String,
        fields: Fields,
        policy: CachePolicy,
    ) -> Optional[StoredResponse]:
        """Looks a response up, and counts what becomes of it."""
        var octets: Optional[List[UInt8]]
        try:
            octets = _octets(store, key, fields)
        except error:
            self.note_failure(error)
            return None
        var found = Optional[StoredResponse](None)
        if octets:
            found = read_stored(
                Span(octets.held()), key, policy, unix_seconds()
            )
        var work = self.work.lock()
        if octets and not found:
            work[].stats.malformed_count += 1
        elif found and found.held().vary.matches(fields):
            work[].stats.found_count += 1
            return found^
        else:
            work[].stats.missed_count += 1
        return None


def _octets(
    store: AnyResponseStore, key: String, fields: Fields
) raises -> Optional[List[UInt8]]:
    """Asks for the variant without Vary, and if there is none for the one that
    the request selects."""
    var first = store.find(key, List[UInt8]())
    if not first.names or first.names.held() == "":
        var octets = Optional[List[UInt8]](None)
        swap(octets, first.octets)
        return octets^
    var variant: List[UInt8]
    try:
        variant = selection_of(first.names.held(), fields)
    except:
        # Names that somebody else has written.
        return List[UInt8]()
    var second = store.find(key, variant)
    var octets = Optional[List[UInt8]](None)
    swap(octets, second.octets)
    return octets^


struct _Writing(Task):
    """The thread that writes, removes, and hears of removals."""

    var desk: ArcPointer[_Desk]
    var target: ArcPointer[RemovalTarget]
    var sender: String
    var news_ms: Int
    var rest_ms: Int
    var failure_count: Int
    var is_refused: Bool

    def __init__(
        out self, desk: ArcPointer[_Desk], target: ArcPointer[RemovalTarget]
    ):
        self.desk = desk.copy()
        self.target = target.copy()
        self.sender = hex(random_word(), prefix="")
        self.news_ms = 0
        self.rest_ms = 0
        self.failure_count = 0
        self.is_refused = False

    def run(mut self) raises:
        while True:
            var is_last = False
            var order = self._next(is_last)
            if is_last:
                break
            if order:
                self._carry_out(order.take())
            if monotonic_ms() >= self.news_ms:
                self._hear()
        var work = self.desk[].work.lock()
        work[].has_keeper = False
        self.desk[].ended.notify_all()

    def _next(mut self, mut is_last: Bool) -> Optional[_Order]:
        """Waits for something to do, or until it is time to ask for news."""
        var work = self.desk[].work.lock()
        while True:
            var now_ms = monotonic_ms()
            var may_do = not work[].stats.is_away and now_ms >= self.rest_ms
            if may_do and len(work[].orders) > 0:
                return work[].take()
            if work[].is_closed:
                is_last = True
                return None
            if now_ms >= self.news_ms:
                return None
            _ = self.desk[].ordered.wait_for(work, self.news_ms - now_ms)

    def _carry_out(mut self, var order: _Order):
        var store = self.desk[].store()
        if order.response:
            self._write(store[], order)
            return
        try:
            store[].remove(order.removal, self.sender)
        except error:
            self._put_back(order^, error)
            return
        # So that what is fetched from now on is known to be newer.
        self.news_ms = 0
        var work = self.desk[].work.lock()
        work[].passing = None
        work[].stats.removed_count += 1

    def _put_back(mut self, var order: _Order, error: Error):
        """Keeps a removal until it is passed on. The store may be there and
        refuse, for want of memory: then only removals wait."""
        self.rest_ms = monotonic_ms() + _AWAY_MAX_MS
        self._note_refusal(error)
        var work = self.desk[].work.lock()
        work[].passing = None
        work[].removal_count += 1
        work[].orders.insert(0, order^)

    def _write(mut self, store: AnyResponseStore, order: _Order):
        ref response = order.response.held()[]
        var keep_s = response.useful_s(unix_seconds())
        if keep_s <= 0:
            self.desk[].work.lock()[].stats.outdated_count += 1
            return
        var octets: List[UInt8]
        try:
            octets = write_stored(order.key, response)
        except:
            self.desk[].work.lock()[].stats.dropped_count += 1
            return
        var entry = SharedEntry(
            order.key,
            response.vary.selection(),
            response.vary.names(),
            octets^,
            order.since,
            keep_s,
        )
        try:
            var is_written = store.put(entry)
            var work = self.desk[].work.lock()
            work[].stats.written_count += Int(is_written)
            work[].stats.outdated_count += Int(not is_written)
            self.is_refused = False
        except error:
            self._note_refusal(error)

    def _note_refusal(mut self, error: Error):
        """Notes that the store has not taken something. The news tell whether it
        is away, or has no room."""
        self.news_ms = 0
        self.desk[].work.lock()[].stats.failed_count += 1
        if not self.is_refused:
            self.is_refused = True
            log_line(
                Text()
                .add("cache: the shared store does not take a response or a")
                .add(" removal: ")
                .add(error)
                .end()
            )

    def _hear(mut self):
        """Applies what others have removed; also the question whether a store
        that was away is back."""
        var store = self.desk[].store()
        var since = self.desk[].work.lock()[].known
        try:
            var news = store[].news(since)
            self.failure_count = 0
            self.news_ms = monotonic_ms() + NEWS_MS
            var is_reset = since < 0 or not news.is_complete
            var heard_count = 0
            if is_reset:
                self.target[].apply(Removal(RemovalKind.PREFIX, ""))
            else:
                heard_count = self._apply(news.removals, news.senders)
            var work = self.desk[].work.lock()
            work[].known = news.count
            work[].stats.heard_count += heard_count
            work[].stats.reset_count += Int(is_reset)
            if work[].stats.is_away:
                work[].stats.is_away = False
                log_line("cache: the shared store answers again")
        except error:
            self.desk[].note_failure(error)
            self.failure_count += 1
            var pause_ms = NEWS_MS << min(self.failure_count, 3)
            self.news_ms = monotonic_ms() + min(pause_ms, _AWAY_MAX_MS)

    def _apply(self, removals: List[Removal], senders: List[String]) -> Int:
        var count = 0
        for index in range(len(removals)):
            if senders.at(index) == self.sender:
                continue
            self.target[].apply(removals.at(index))
            count += 1
        return count


@fieldwise_init
struct _Finder(Task):
    """A thread that looks up."""

    var desk: ArcPointer[_Desk]

    def run(mut self) raises:
        while True:
            var lookup = self._next()
            if not lookup:
                return
            self._find(lookup.take())
            self.desk[].work.lock()[].busy_count -= 1

    def _next(self) -> Optional[_Lookup]:
        var pause = Deadline(_IDLE_MS)
        var work = self.desk[].work.lock()
        while True:
            if len(work[].lookups) > 0 and not work[].is_closed:
                work[].busy_count += 1
                return work[].lookups.pop(0)
            var left_ms = pause.left_ms()
            if work[].is_closed or left_ms <= 0:
                work[].finder_count -= 1
                self.desk[].ended.notify_all()
                return None
            _ = self.desk[].asked.wait_for(work, left_ms)

    def _find(self, var lookup: _Lookup):
        if lookup.ticket.is_done():
            return
        if self.desk[].work.lock()[].stats.is_away:
            lookup.ticket.finish(None)
            return
        var store = self.desk[].store()
        var found = self.desk[].look(
            store[], lookup.key, lookup.request.view().headers, lookup.policy
        )
        lookup.ticket.finish(found^)
        _ = lookup^


struct SharedKeeper(Movable):
    """Uses a store for a cache.

    A store that fails is left alone until it has answered the keeper, which asks
    after at most a second: no request waits meanwhile.
    """

    var _desk: ArcPointer[_Desk]
    var _target: ArcPointer[RemovalTarget]

    def __init__(
        out self, var store: AnyResponseStore, var target: RemovalTarget
    ) raises:
        """Takes a store, and asks it how many removals there were. Threads and
        connections are made after a fork, when there is something to do."""
        var known = -1
        var failure = Optional[Error](None)
        try:
            var first = AnyResponseStore(renewed=store)
            known = first.news(-1).count
            _ = first^
        except error:
            failure = error.copy()
        self._desk = ArcPointer(_Desk(store^, known))
        self._target = ArcPointer(target^)
        if failure:
            self._desk[].note_failure(failure.held())

    def __deinit__(deinit self):
        """Has what is queued done within a little time, and ends the threads."""
        # The desk outlives its lock, which it would not here.
        self._close()

    def _close(self):
        ref desk = self._desk[]
        var work = desk.work.lock()
        work[].is_closed = True
        desk.ordered.notify_all()
        desk.asked.notify_all()
        var end = Deadline(_END_MS)
        while work[].process == process_id() and (
            work[].has_keeper or work[].finder_count > 0
        ):
            if end.left_ms() <= 0:
                return
            _ = desk.ended.wait_for(work, end.left_ms())

    def _begin(self, mut work: _Work) -> Bool:
        """Sees that the keeper runs; in a process that was forked, anew."""
        try:
            if work.process != process_id():
                work.store = ArcPointer(AnyResponseStore(renewed=work.store[]))
                work.process = process_id()
                work.orders = []
                work.lookups = []
                work.octet_count = 0
                work.removal_count = 0
                work.passing = None
                work.finder_count = 0
                work.busy_count = 0
                work.has_keeper = False
            if not work.has_keeper:
                _ = Thread(_Writing(self._desk, self._target))
                work.has_keeper = True
            return True
        except:
            # Without threads this process is alone.
            return False

    def find(
        self, key: String, fields: Fields, policy: CachePolicy
    ) -> Optional[StoredResponse]:
        """Looks a response up, and waits for it: not on a worker's own thread.
        Returns nothing if there is none, or the store is away."""
        var store: ArcPointer[AnyResponseStore]
        var work = self._desk[].work.lock()
        if (
            not self._begin(work[])
            or work[].stats.is_away
            or work[].is_being_removed(key)
        ):
            work[].stats.skipped_count += 1
            return None
        store = work[].store.copy()
        _ = work^
        return self._desk[].look(store[], key, fields, policy)

    def find_later(
        self, key: String, var request: OwnedRequest, policy: CachePolicy
    ) -> Optional[LookupTicket]:
        """Has a response looked up by another thread; nothing if the store is
        away."""
        var work = self._desk[].work.lock()
        if (
            not self._begin(work[])
            or work[].stats.is_away
            or len(work[].lookups) >= LOOKUP_COUNT_MAX
            or work[].is_being_removed(key)
        ):
            work[].stats.skipped_count += 1
            return None
        try:
            var ticket = LookupTicket()
            var wanted = work[].busy_count + len(work[].lookups) + 1
            if work[].finder_count < min(wanted, FINDER_COUNT_MAX):
                _ = Thread(_Finder(self._desk.copy()))
                work[].finder_count += 1
            work[].lookups.append(
                _Lookup(key, request^, policy.copy(), ticket.copy())
            )
            self._desk[].asked.notify_one()
            return ticket^
        except:
            return None

    def wait_ms(self) -> Int:
        return self._desk[].store()[].timeout_ms()

    def known(self) -> Int:
        """Tells the number of the last removal that is known; negative before
        the first contact."""
        var work = self._desk[].work.lock()
        _ = self._begin(work[])
        return work[].known

    def put(
        self, key: String, response: ArcPointer[StoredResponse], since: Int
    ):
        """Has a response written soon; `since` is what `known` was when it was
        asked for."""
        var octet_count = response[].octet_count()
        var work = self._desk[].work.lock()
        if since < 0:
            work[].stats.outdated_count += 1
            return
        if (
            not self._begin(work[])
            or work[].stats.is_away
            or octet_count > work[].store[].octet_max()
            or len(work[].orders) - work[].removal_count >= WRITE_COUNT_MAX
            or work[].octet_count + octet_count > WRITE_OCTET_MAX
        ):
            work[].stats.dropped_count += 1
            return
        work[].octet_count += octet_count
        work[].orders.append(_Order(key, response, since))
        self._desk[].ordered.notify_one()

    def remove(self, var removal: Removal):
        """Has responses removed soon, and by all."""
        var work = self._desk[].work.lock()
        _ = self._begin(work[])
        if work[].removal_count >= REMOVAL_COUNT_MAX:
            work[].orders = []
            work[].octet_count = 0
            work[].removal_count = 0
            removal = Removal(RemovalKind.PREFIX, "")
        work[].removal_count += 1
        work[].orders.append(_Order(removal^))
        self._desk[].ordered.notify_one()

    def stats(self) -> SharedStats:
        var work = self._desk[].work.lock()
        var stats = work[].stats.copy()
        stats.waiting_count = len(work[].orders)
        return stats^

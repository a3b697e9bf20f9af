"""The connections of a client that threads share, under a lock that is held for
bookkeeping alone: never while a connection is looked at, opened or closed.

Those of HTTP/2 that several threads have at once are lent: each request has a
`SharedPlace`, and the connection is idle when the last one is dropped.
"""

from flare.bytes.checked import *
from flare.http.client.exchange.timeout_policy import shorter
from flare.http.client.connect.error import ClientError, Phase, PoolExhausted
from flare.http.client.exchange.http2_link import Http2Link, LinkHold
from flare.http.client.exchange.link_crowd import NOBODY
from flare.http.client.connect.connection import (
    ClientConnection,
    ConnectionSlot,
    Endpoint,
    SlotKeeper,
)
from flare.http.client.connect.shared_pool import (
    ConnectionLimits,
    Grant,
    Lendable,
    PoolFigures,
    SharedPool,
)
from flare.http.exchange.idle_pool import PoolLimits
from flare.net.error import NetworkError, Timeout
from flare.runtime.event import Waker
from flare.sys.clock import Deadline, coarse_monotonic_ms
from flare.sys.errno import OsError
from flare.sys.mutex import Mutex, MutexGuard
from flare.sys.poll import POLL_READ, PollEntry
from flare.sys.signal import process_id
from std.memory import alloc, ArcPointer, Layout, OwnedPointer

comptime _Pool = SharedPool[IdleConnection, Waker]
comptime _NOWHERE = -1
comptime _OWN = -1


struct SharedConnections(ImplicitlyCopyable, SlotKeeper):
    """A pool that threads share; copies are the same one."""

    var _pool: Mutex[_Pool]

    def __init__(
        out self, limits: ConnectionLimits, idle_limits: PoolLimits
    ) raises OsError:
        """Makes a pool without connections. Raises if the system has no more
        locks."""
        var pool = _Pool(limits, idle_limits)
        pool.process = process_id()
        self._pool = Mutex(pool^)

    def hold(self) -> PoolHold:
        return PoolHold(self._pool)

    def figures(self) -> PoolFigures:
        return self._pool.lock()[].figures()

    def expire(self) -> Int:
        """Closes connections that have waited too long, and tells when it has
        something to do again, in milliseconds of the coarse clock, or before
        that; `NEVER` if none is idle."""
        var hold = self.hold()
        hold[].expire(coarse_monotonic_ms())
        return hold[].first_end_ms()

    def put(self, var idle: IdleConnection, server_ms: Int):
        """Takes back a connection, which has a slot and is ready for a request.
        The server keeps it for `server_ms`, in milliseconds; negative if that
        is not known."""
        var slot = take_slot(idle)
        if not slot:
            return
        var host = slot.value().host
        slot.take().keep()
        self.hold()[].put(host, idle^, coarse_monotonic_ms(), server_ms)

    def release(self, host: Int):
        """Counts one connection less; its slot says so."""
        self.hold()[].release(host)

    def take(
        self, endpoint: Endpoint, wants_new: Bool, joins: Bool
    ) -> Optional[Grant[IdleConnection]]:
        """Asks for a connection, as `SharedPool.take` does."""
        return self.hold()[].take(
            endpoint, coarse_monotonic_ms(), wants_new=wants_new, joins=joins
        )


struct PoolHold(Movable):
    """The lock on the pool. After its end requests are woken that were given
    something, and connections closed that were dropped: TLS and HTTP/2 say
    goodbye."""

    var _pool: Mutex[_Pool]
    var _guard: MutexGuard[_Pool, ImmUntrackedOrigin]

    def __init__(out self, pool: Mutex[_Pool]):
        self._pool = pool
        # SAFETY: the lock is that of `_pool`, too, which goes after the guard.
        self._guard = (
            Pointer(to=pool).unsafe_origin_cast[ImmUntrackedOrigin]()[].lock()
        )
        _leave_to_parent(self._guard[])

    def __deinit__(deinit self):
        var dropped = List[IdleConnection]()
        var woken = List[Waker]()
        swap(dropped, self._guard[].dropped)
        swap(woken, self._guard[].woken)
        deinit(self._guard^)
        for index in range(len(woken)):
            woken.at(index).wake()
        _ = dropped^
        _ = self._pool^

    def __getitem__[
        o: ImmOrigin
    ](ref[o] self) -> ref[o.unsafe_mut_cast[True]()] _Pool:
        # SAFETY: nobody else reaches the pool while this holds the lock.
        return Pointer(to=self._guard[]).unsafe_origin_cast[
            o.unsafe_mut_cast[True]()
        ]()[]


def _leave_to_parent(mut pool: _Pool):
    """Forgets the connections of the process that this one was forked from, as
    `ClientState.leave_to_parent` does; they do not hear a goodbye either."""
    var process = process_id()
    if pool.process == process:
        return
    pool.process = process
    var all = pool.abandon()
    # SAFETY: the list stays in memory that nobody frees.
    alloc(Layout[List[IdleConnection]](count=1)).unsafe_leak().unsafe_write(
        all^
    )


struct SharedPlace(Movable):
    """A request's part in a connection that others have, too, as the pool counts
    it: until this is dropped."""

    var is_closing: Bool
    var seat_count: Int
    """How many requests it takes at once; 0 if that is not known."""
    var was_used: Bool
    """True if it was idle, or has carried a request."""
    var _connections: SharedConnections
    var _host: Int
    var _lent: Int

    def __init__(
        out self, connections: SharedConnections, host: Int, lent: Int
    ):
        """Takes what the pool has granted, by its numbers for where the
        connection leads, and for the connection."""
        self.is_closing = False
        self.seat_count = 0
        self.was_used = False
        self._connections = connections
        self._host = host
        self._lent = lent

    def __deinit__(deinit self):
        self._give_back()

    def _give_back(self):
        # Not in `__deinit__`, which each program has for itself.
        self._connections.hold()[].give_back(
            self._host,
            self._lent,
            coarse_monotonic_ms(),
            is_closing=self.is_closing,
            seat_count=self.seat_count,
        )


def take_slot(mut idle: IdleConnection) -> Optional[ConnectionSlot]:
    """Takes the slot off a connection of either version; nothing if it has
    none."""
    var slot = Optional[ConnectionSlot](None)
    if idle.link:
        swap(slot, idle.link.value()[].connection[].slot)
    else:
        swap(slot, idle.connection.value()[].slot)
    return slot^


def _give_slot(mut idle: IdleConnection, var slot: ConnectionSlot):
    if idle.link:
        idle.link.value()[].connection[].slot = slot^
    else:
        idle.connection.value()[].slot = slot^


def _is_good(mut idle: IdleConnection) -> Bool:
    """Tells whether a connection is still open, and nothing has come."""
    if idle.link:
        return idle.link.value()[].wake_up()
    return idle.connection.value()[].is_quiet()


struct ConnectionClaim(Movable):
    """What a request has of a pool before it has a connection: a place in the
    queue, or the right to open one."""

    var slot: Optional[ConnectionSlot]
    """The right to open a connection, which goes into the connection."""
    var place: Optional[SharedPlace]
    """Of a connection that others have, too, once there is one."""
    var joins: Bool
    """True if the request shares a connection with those of other threads."""
    # True while others wait for what comes of the slot.
    var _dials: Bool
    var _connections: SharedConnections
    var _endpoint: Endpoint
    var _deadline: Deadline
    # Its place in the queue.
    var _number: Int
    # Made when it has to wait.
    var _waker: Optional[Waker]

    def __init__(
        out self,
        connections: SharedConnections,
        endpoint: Endpoint,
        timeout_ms: Int,
        joins: Bool,
    ):
        """Makes one that has nothing; the time starts, with -1 for ever. It
        `joins` if it may share a connection with other threads."""
        self.slot = None
        self.place = None
        self.joins = joins
        self._dials = False
        self._connections = connections
        self._endpoint = endpoint.copy()
        self._deadline = Deadline(timeout_ms)
        self._number = _NOWHERE
        self._waker = None

    def __deinit__(deinit self):
        if self._number != _NOWHERE:
            self._leave(is_late=False)
        if self._dials:
            self._end_dial(is_http1=False)

    def _leave(self, *, is_late: Bool):
        self._connections.hold()[].leave(
            self._number, is_late=is_late, now_ms=coarse_monotonic_ms()
        )

    def _end_dial(self, *, is_http1: Bool):
        var host = self.slot.value().host if self.slot else -1
        self._connections.hold()[].end_dial(host, is_http1=is_http1)

    def take(
        mut self, may_reuse: Bool, queues: Bool = True
    ) raises ClientError -> Optional[IdleConnection]:
        """Asks for a connection that is open, once or again; unless it
        `may_reuse`, for one that was not used before. Nothing with a `slot`
        means to open one, and nothing without it to wait, if it `queues`.
        Raises if it has waited too long, or too many wait."""
        while not self.slot:
            var grant = self._ask(may_reuse, queues)
            if not grant:
                return None
            if grant.value().lent == _OWN:
                return self._use(grant^)
            var shared = self._share(grant^)
            if shared:
                return shared^
        return None

    def _share(
        mut self, var grant: Optional[Grant[IdleConnection]]
    ) -> Optional[IdleConnection]:
        """Joins a connection that others have, too; nothing if it takes no more
        requests."""
        var place = SharedPlace(
            self._connections, grant.value().host, grant.value().lent
        )
        var was_idle = grant.value().was_idle
        var idle = grant.take().take()
        var link = idle.value().link.value()
        var hold = LinkHold(link, True)
        if hold.crowd().leader == NOBODY:
            # Nobody has looked what became of it: whoever has a part in it is
            # busy elsewhere, such as with what has come.
            _ = link[].wake_up()
        place.was_used = was_idle or link[].connection[].request_count > 0
        place.is_closing = link[].is_closing()
        deinit(hold^)
        if place.is_closing:
            self._connections.hold()[].note_vain()
            return None
        self.place = place^
        return idle^

    def lend(mut self, var link: ArcPointer[Http2Link]) -> SharedPlace:
        """Lets others have the connection, too, that was opened with the slot,
        and has a lock. Returns the request's part in it."""
        var slot = self.slot.take()
        var host = slot.host
        slot^.keep()
        var has_dialed = self._dials
        self._dials = False
        var number = self._connections.hold()[].lend(
            host, IdleConnection(link^), has_dialed=has_dialed
        )
        return SharedPlace(self._connections, host, number)

    def take_slot(mut self, is_http1: Bool) -> Optional[ConnectionSlot]:
        """Takes the slot for a connection that nobody shares."""
        if self._dials:
            self._dials = False
            self._end_dial(is_http1=is_http1)
        var slot = Optional[ConnectionSlot](None)
        swap(slot, self.slot)
        return slot^

    def _use(
        mut self, var grant: Optional[Grant[IdleConnection]]
    ) -> Optional[IdleConnection]:
        var slot = ConnectionSlot(self._connections, grant.value().host)
        self._dials = grant.value().dials
        var idle = grant.take().take()
        if not idle:
            self.slot = slot^
            return None
        if not _is_good(idle.value()):
            self._connections.hold()[].note_stale()
            self.slot = slot^
            return None
        _give_slot(idle.value(), slot^)
        return idle^

    def _ask(
        mut self, may_reuse: Bool, queues: Bool
    ) raises ClientError -> Optional[Grant[IdleConnection]]:
        if self._number == _NOWHERE:
            var grant = self._connections.take(
                self._endpoint, not may_reuse, self.joins
            )
            if grant or not queues:
                return grant^
            self._queue(may_reuse)
        var grant = self._connections.hold()[].collect(self._number)
        if not grant and self._deadline.left_ms() == 0:
            # Others that open a connection may need longer than that.
            self._connections.hold()[].hurry(self._number)
            grant = self._connections.hold()[].collect(self._number)
        if grant:
            self._number = _NOWHERE
        elif self._deadline.left_ms() == 0:
            self._leave(is_late=True)
            self._number = _NOWHERE
            raise ClientError(
                Phase.QUEUE,
                Timeout,
                String(
                    "no connection came free within ",
                    self._deadline.timeout_ms,
                    " ms; ConnectionLimits.queue_timeout_ms allows more, and",
                    " max_per_host or max_connections more connections",
                ),
            )
        return grant^

    def _queue(mut self, may_reuse: Bool) raises ClientError:
        try:
            self._waker = Waker()
        except error:
            raise ClientError(Phase.QUEUE, NetworkError(error))
        self._number = self._connections.hold()[].wait(
            self._endpoint,
            self._waker.value().copy(),
            not may_reuse,
            self.joins,
        )
        if self._number == _NOWHERE:
            raise ClientError(
                Phase.QUEUE,
                PoolExhausted,
                (
                    "all connections are in use, and as many requests wait as"
                    " may; ConnectionLimits.max_waiting, max_per_host and"
                    " max_connections allow more"
                ),
            )

    def watch(self) -> PollEntry:
        """Tells what to wait for; good while this is."""
        if not self._waker:
            return PollEntry(-1, POLL_READ, 0)
        return PollEntry(self._waker.value().fd(), POLL_READ, 0)

    def wait_ms(self, total: Deadline) -> Int:
        """Tells for how many milliseconds it may be left alone, negative for
        ever, if the request has to be over at `total`."""
        return shorter(self._deadline.left_ms(), total.left_ms())


struct IdleConnection(Lendable):
    """What waits in the pool: a connection of either version."""

    var connection: Optional[OwnedPointer[ClientConnection]]
    var link: Optional[ArcPointer[Http2Link]]

    def __init__(out self, var connection: OwnedPointer[ClientConnection]):
        self.connection = connection^
        self.link = None

    def __init__(out self, var link: ArcPointer[Http2Link]):
        self.connection = None
        self.link = link^

    @no_inline
    def __deinit__(deinit self):
        return

    def another(self) -> Optional[Self]:
        """Makes another handle of a connection whose requests may be those of
        several threads; nothing for HTTP/1.1, and for a connection without a
        lock."""
        if not self.link or not self.link.value()[].crowd:
            return None
        return Self(self.link.value())

    def was_used(self) -> Bool:
        """Tells whether it had been used before a request got it: it was idle,
        or has carried a request."""
        if not self.link:
            return True
        ref link = self.link.value()[]
        return not link.is_in_use() or link.connection[].request_count > 0

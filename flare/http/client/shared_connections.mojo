"""The connections of a client that threads share, under a lock that is held for
bookkeeping alone: never while a connection is looked at, opened or closed."""

from flare.http.client.timeout_policy import shorter
from flare.http.client.error import ClientError, Phase, PoolExhausted
from flare.http.client.idle_connection import IdleConnection
from flare.http.client.pool import Endpoint
from flare.http.client.shared_pool import (
    ConnectionLimits,
    Grant,
    PoolFigures,
    SharedPool,
)
from flare.http.client.slot import ConnectionSlot, SlotKeeper
from flare.http.exchange.idle_pool import PoolLimits
from flare.net.error import NetworkError, Timeout
from flare.runtime.event import Waker
from flare.sys.clock import Deadline, coarse_monotonic_ms
from flare.sys.errno import OsError
from flare.sys.mutex import Mutex
from flare.sys.poll import POLL_READ, PollEntry

comptime _Pool = SharedPool[IdleConnection, Waker]
comptime _NOWHERE = -1


struct SharedConnections(ImplicitlyCopyable, SlotKeeper):
    """A pool that threads share; copies are the same one."""

    var _pool: Mutex[_Pool]

    def __init__(
        out self, limits: ConnectionLimits, idle_limits: PoolLimits
    ) raises OsError:
        """Makes a pool without connections.

        Args:
            limits: The limits of all connections.
            idle_limits: The limits of those that are idle.

        Raises:
            OsError: If the system has no more locks.
        """
        self._pool = Mutex(_Pool(limits, idle_limits))

    def figures(self) -> PoolFigures:
        """Tells what the connections do now."""
        return self._pool.lock()[].figures()

    def clear(self):
        var guard = self._pool.lock()
        guard[].clear()
        var news = _News(guard[])
        deinit(guard^)
        news^.tell()

    def put(self, var idle: IdleConnection, server_ms: Int):
        """Takes back a connection, which has a slot.

        Args:
            idle: The connection, ready for a request.
            server_ms: How long the server keeps it, in milliseconds; negative
                if that is not known.
        """
        var slot = take_slot(idle)
        if not slot:
            return
        var host = slot.value().host
        slot.take().keep()
        var guard = self._pool.lock()
        guard[].put(host, idle^, coarse_monotonic_ms(), server_ms)
        var news = _News(guard[])
        deinit(guard^)
        news^.tell()

    def release(self, host: Int):
        """Counts one connection less; its slot says so."""
        var guard = self._pool.lock()
        guard[].release(host)
        var news = _News(guard[])
        deinit(guard^)
        news^.tell()

    def take(
        self, endpoint: Endpoint, wants_new: Bool
    ) -> Optional[Grant[IdleConnection]]:
        """Asks for a connection, as `SharedPool.take` does."""
        var guard = self._pool.lock()
        var grant = guard[].take(
            endpoint, coarse_monotonic_ms(), wants_new=wants_new
        )
        var news = _News(guard[])
        deinit(guard^)
        news^.tell()
        return grant^

    def has_some(self, endpoint: Endpoint) -> Bool:
        """Tells whether `take` would give something now."""
        return self._pool.lock()[].has_some(endpoint)

    def wait(
        self, endpoint: Endpoint, var waker: Waker, wants_new: Bool
    ) -> Int:
        """Queues, as `SharedPool.wait` does."""
        var guard = self._pool.lock()
        var number = guard[].wait(endpoint, waker^, wants_new)
        var news = _News(guard[])
        deinit(guard^)
        news^.tell()
        return number

    def collect(self, number: Int) -> Optional[Grant[IdleConnection]]:
        """Takes what was given, as `SharedPool.collect` does."""
        return self._pool.lock()[].collect(number)

    def leave(self, number: Int, is_late: Bool):
        """Leaves the queue, as `SharedPool.leave` does."""
        var guard = self._pool.lock()
        guard[].leave(number, is_late=is_late)
        var news = _News(guard[])
        deinit(guard^)
        news^.tell()

    def note_stale(self):
        """Counts anew, as `SharedPool.note_stale` does."""
        self._pool.lock()[].note_stale()


struct _News(Movable):
    """What is to be done without the lock."""

    var dropped: List[IdleConnection]
    var woken: List[Waker]

    def __init__(out self, mut pool: _Pool):
        self.dropped = []
        self.woken = []
        swap(self.dropped, pool.dropped)
        swap(self.woken, pool.woken)

    def tell(deinit self):
        """Wakes requests, and closes connections: TLS and HTTP/2 say goodbye."""
        for index in range(len(self.woken)):
            self.woken[index].wake()


def take_slot(mut idle: IdleConnection) -> Optional[ConnectionSlot]:
    """Takes the slot off a connection of either version.

    Returns:
        The slot; nothing if it has none.
    """
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
    ):
        """Makes one that has nothing; the time starts.

        Args:
            endpoint: Where the connection has to lead.
            timeout_ms: Longest wait; -1 for ever.
        """
        self.slot = None
        self._connections = connections
        self._endpoint = endpoint.copy()
        self._deadline = Deadline(timeout_ms)
        self._number = _NOWHERE
        self._waker = None

    def __deinit__(deinit self):
        if self._number != _NOWHERE:
            self._connections.leave(self._number, is_late=False)

    def take(
        mut self, may_reuse: Bool
    ) raises ClientError -> Optional[IdleConnection]:
        """Asks for a connection, once or again.

        Args:
            may_reuse: False for one that was not used before.

        Returns:
            A connection that is open. Nothing with a `slot` to open one, and
            nothing without it to wait.

        Raises:
            ClientError: If it has waited too long, or too many wait.
        """
        if self.slot:
            return None
        var grant = self._ask(may_reuse)
        if not grant:
            return None
        return self._use(grant^)

    def take_at_once(mut self, may_reuse: Bool) -> Optional[IdleConnection]:
        """Asks for a connection, and does not queue.

        Args:
            may_reuse: False for one that was not used before.
        """
        var grant = self._connections.take(self._endpoint, not may_reuse)
        if not grant:
            return None
        return self._use(grant^)

    def _use(
        mut self, var grant: Optional[Grant[IdleConnection]]
    ) -> Optional[IdleConnection]:
        var slot = ConnectionSlot(self._connections, grant.value().host)
        var idle = grant.take().take()
        if not idle:
            self.slot = slot^
            return None
        if not _is_good(idle.value()):
            self._connections.note_stale()
            self.slot = slot^
            return None
        _give_slot(idle.value(), slot^)
        return idle^

    def _ask(
        mut self, may_reuse: Bool
    ) raises ClientError -> Optional[Grant[IdleConnection]]:
        if self._number == _NOWHERE:
            var grant = self._connections.take(self._endpoint, not may_reuse)
            if grant:
                return grant^
            self._queue(may_reuse)
        var grant = self._connections.collect(self._number)
        if grant:
            self._number = _NOWHERE
        elif self._deadline.left_ms() == 0:
            self._connections.leave(self._number, is_late=True)
            self._number = _NOWHERE
            raise _late(self._deadline.timeout_ms)
        return grant^

    def _queue(mut self, may_reuse: Bool) raises ClientError:
        try:
            self._waker = Waker()
        except error:
            raise ClientError(materialize[Phase.QUEUE](), NetworkError(error))
        self._number = self._connections.wait(
            self._endpoint, self._waker.value().copy(), not may_reuse
        )
        if self._number == _NOWHERE:
            raise ClientError(
                materialize[Phase.QUEUE](),
                materialize[PoolExhausted](),
                (
                    "all connections are in use, and as many requests wait as"
                    " may; ConnectionLimits.max_waiting, max_per_host and"
                    " max_connections allow more"
                ),
            )

    def watch(self) -> PollEntry:
        """Tells what to wait for.

        Returns:
            The descriptor; good while this is.
        """
        if not self._waker:
            return PollEntry(-1, POLL_READ, 0)
        return PollEntry(self._waker.value().fd(), POLL_READ, 0)

    def wait_ms(self, total: Deadline) -> Int:
        """Tells how long it may be left alone.

        Args:
            total: When the request has to be over.

        Returns:
            Milliseconds; negative for ever.
        """
        return shorter(self._deadline.left_ms(), total.left_ms())


def _late(timeout_ms: Int) -> ClientError:
    return ClientError(
        materialize[Phase.QUEUE](),
        materialize[Timeout](),
        String(
            "no connection came free within ",
            timeout_ms,
            " ms; ConnectionLimits.queue_timeout_ms allows more, and",
            " max_per_host or max_connections more connections",
        ),
    )

"""Which request gets which connection of a client that threads share: pure
bookkeeping, with no socket, no clock and no lock."""

from flare.http.client.pool import Endpoint
from flare.http.exchange.idle_pool import IdleConnections, PoolLimits


struct ConnectionLimits(ImplicitlyCopyable):
    """How many connections a client that threads share may have open, and who
    waits for one."""

    var max_connections: Int
    """Most connections open at once, to all hosts together, idle ones included:
    of those the oldest makes room."""
    var max_per_host: Int
    """Most connections open at once to one host, by one way (proxy, TLS)."""
    var queue_timeout_ms: Int
    """Longest wait of a request for a connection, in milliseconds; -1 for as
    long as its own times allow."""
    var max_waiting: Int
    """Most requests that wait at once; one more fails at once
    (`PoolExhausted`)."""

    def __init__(
        out self,
        *,
        max_connections: Int = 256,
        max_per_host: Int = 64,
        queue_timeout_ms: Int = 10_000,
        max_waiting: Int = 1_024,
    ):
        """Sets the limits.

        Args:
            max_connections: Most connections open at once.
            max_per_host: Most of them to one host.
            queue_timeout_ms: Longest wait for one; -1 for no limit of its own.
            max_waiting: Most requests that wait at once.
        """
        self.max_connections = max_connections
        self.max_per_host = max_per_host
        self.queue_timeout_ms = queue_timeout_ms
        self.max_waiting = max_waiting

    def problem(self) -> String:
        """Looks for values that cannot work.

        Returns:
            What is wrong and what would be right; empty if all is well.
        """
        if self.max_connections < 1 or self.max_per_host < 1:
            return "max_connections and max_per_host must be 1 or more"
        if self.queue_timeout_ms < -1:
            return "queue_timeout_ms must be 0 or more, or -1 for no limit"
        if self.max_waiting < 0:
            return "max_waiting must be 0 or more"
        return String()


@fieldwise_init
struct PoolFigures(ImplicitlyCopyable, Writable):
    """What a shared client's connections do, and have done since it was made."""

    var idle: Int
    """Connections that wait for a request."""
    var busy: Int
    """Connections with requests, and those that are being opened."""
    var waiting: Int
    """Requests that wait for a connection."""
    var opened: Int
    """How often a request had a connection opened."""
    var reused: Int
    """How often a request got one that was open already."""
    var waited: Int
    """How many requests had to wait for a connection."""
    var timed_out: Int
    """How many of them waited in vain."""
    var refused: Int
    """How many failed at once, since too many waited."""


struct Grant[C: Movable & Deinitable](Movable):
    """What a request is given.

    Parameters:
        C: What a connection is.
    """

    var host: Int
    """The number of where it leads, for `release` and `put`."""
    var connection: Optional[Self.C]
    """A connection that is open; nothing to open one."""

    def __init__(out self, host: Int, var connection: Optional[Self.C]):
        self.host = host
        self.connection = connection^

    def take(deinit self) -> Optional[Self.C]:
        return self.connection^


struct _Waiting[W: Movable & Deinitable](Movable):
    var number: Int
    var wants_new: Bool
    var waker: Self.W

    def __init__(out self, number: Int, wants_new: Bool, var waker: Self.W):
        self.number = number
        self.wants_new = wants_new
        self.waker = waker^

    def take(deinit self) -> Self.W:
        return self.waker^


struct _Granted[C: Movable & Deinitable](Movable):
    var number: Int
    var grant: Grant[Self.C]

    def __init__(out self, number: Int, var grant: Grant[Self.C]):
        self.number = number
        self.grant = grant^

    def take(deinit self) -> Grant[Self.C]:
        return self.grant^


struct _Host[C: Movable & Deinitable, W: Movable & Deinitable](Movable):
    """The connections to one endpoint, and who waits for one."""

    var number: Int
    var endpoint: Endpoint
    # All that are counted: being opened, with requests, idle.
    var open_count: Int
    var idle: IdleConnections[Self.C]
    var waiting: List[_Waiting[Self.W]]

    def __init__(out self, number: Int, var endpoint: Endpoint):
        self.number = number
        self.endpoint = endpoint^
        self.open_count = 0
        self.idle = IdleConnections[Self.C]()
        self.waiting = []


struct SharedPool[C: Movable & Deinitable, W: Movable & Deinitable](Movable):
    """Connections by endpoint, at most so many, and a queue for them.

    Who waits longest is served first, and nobody overtakes those who wait for
    the same endpoint. Those who wait for another one are no reason to wait. Each
    call may put connections into `dropped` and wakers into `woken`; the caller
    takes them out, and closes and rings without its lock.

    Parameters:
        C: What a connection is; dropping it closes it.
        W: What wakes a request.
    """

    var limits: ConnectionLimits
    """The limits of all connections."""
    var idle_limits: PoolLimits
    """The limits of those that are idle."""
    var dropped: List[Self.C]
    var woken: List[Self.W]
    """Wakers of requests that `collect` what they were given."""
    var _hosts: List[_Host[Self.C, Self.W]]
    var _granted: List[_Granted[Self.C]]
    var _next_number: Int
    var _open_count: Int
    var _figures: PoolFigures

    def __init__(out self, limits: ConnectionLimits, idle_limits: PoolLimits):
        """Makes a pool without connections.

        Args:
            limits: The limits of all connections.
            idle_limits: The limits of those that are idle.
        """
        self.limits = limits
        self.idle_limits = idle_limits
        self.dropped = []
        self.woken = []
        self._hosts = []
        self._granted = []
        self._next_number = 0
        self._open_count = 0
        self._figures = PoolFigures(0, 0, 0, 0, 0, 0, 0, 0)

    def figures(self) -> PoolFigures:
        """Tells what the connections do."""
        var figures = self._figures
        figures.busy = self._open_count - figures.idle
        return figures

    def take(
        mut self, endpoint: Endpoint, now_ms: Int, *, wants_new: Bool = False
    ) -> Optional[Grant[Self.C]]:
        """Asks for a connection.

        Args:
            endpoint: Where it has to lead.
            now_ms: What time it is.
            wants_new: True for one that was not used before.

        Returns:
            The connection that waited least, or the right to open one; nothing
            to `wait`.
        """
        self.expire(now_ms)
        var index = self._find(endpoint)
        if index < 0:
            index = self._add(endpoint)
        if len(self._hosts[index].waiting) == 0 and (
            self._can_grant(index, wants_new)
        ):
            return self._grant(index, wants_new)
        self._forget_unused(index)
        return None

    def has_some(self, endpoint: Endpoint) -> Bool:
        """Tells whether `take` would give something."""
        var index = self._find(endpoint)
        if index >= 0:
            return len(self._hosts[index].waiting) == 0 and (
                self._can_grant(index, False)
            )
        return (
            self._open_count < self.limits.max_connections
            or self._figures.idle > 0
        )

    def wait(
        mut self, endpoint: Endpoint, var waker: Self.W, wants_new: Bool = False
    ) -> Int:
        """Queues for a connection that `take` did not have.

        Args:
            endpoint: Where it has to lead.
            wants_new: True for one that was not used before.

        Returns:
            The place's number, for `collect` and `leave`; -1 if too many wait.
        """
        if self._figures.waiting >= self.limits.max_waiting:
            self._figures.refused += 1
            return -1
        var index = self._find(endpoint)
        if index < 0:
            index = self._add(endpoint)
        var number = self._number()
        self._figures.waiting += 1
        self._figures.waited += 1
        self._hosts[index].waiting.append(_Waiting(number, wants_new, waker^))
        # Something may have come since `take`.
        self._serve_waiting()
        return number

    def collect(mut self, number: Int) -> Optional[Grant[Self.C]]:
        """Takes what a request in the queue was given."""
        for index in range(len(self._granted)):
            if self._granted[index].number == number:
                return self._granted.pop(index).take()
        return None

    def leave(mut self, number: Int, *, is_late: Bool):
        """Leaves the queue; what was given already goes to others.

        Args:
            is_late: True to count a wait in vain.
        """
        if is_late:
            self._figures.timed_out += 1
        var grant = self.collect(number)
        if grant:
            var host = grant.value().host
            var connection = grant.take().take()
            if connection:
                self.dropped.append(connection.take())
            self.release(host)
            return
        for index in range(len(self._hosts)):
            ref waiting = self._hosts[index].waiting
            for place in range(len(waiting)):
                if waiting[place].number == number:
                    _ = waiting.pop(place)
                    self._figures.waiting -= 1
                    self._forget_unused(index)
                    return

    def note_stale(mut self):
        """Counts a connection that was closed while it waited as opened, since
        the request opens another one in its place."""
        self._figures.reused -= 1
        self._figures.opened += 1

    def release(mut self, host: Int):
        """Notes that a connection is no more."""
        var index = self._index_of(host)
        if index < 0:
            return
        self._hosts[index].open_count -= 1
        self._open_count -= 1
        self._serve_waiting()
        self._sweep()

    def put(
        mut self,
        host: Int,
        var connection: Self.C,
        now_ms: Int,
        server_ms: Int = -1,
    ):
        """Takes a connection back, ready for a request."""
        self.expire(now_ms)
        var index = self._index_of(host)
        var wait_ms = self.idle_limits.wait_ms(server_ms)
        if wait_ms < 1:
            self.dropped.append(connection^)
            self.release(host)
            return
        self._hosts[index].idle.put(connection^, now_ms + wait_ms)
        self._figures.idle += 1
        self._serve_waiting()
        if len(self._hosts[index].idle) > self.idle_limits.max_idle_per_host:
            self._drop_oldest(index)
        elif self._figures.idle > self.idle_limits.max_idle:
            self._drop_oldest(self._host_of_oldest())
        self._sweep()

    def expire(mut self, now_ms: Int):
        """Drops connections that have waited too long."""
        var dropped_count = len(self.dropped)
        for index in range(len(self._hosts)):
            ref idle = self._hosts[index].idle
            var count = len(idle)
            idle.expire(now_ms, self.dropped)
            self._count_dropped(index, count - len(idle))
        if len(self.dropped) > dropped_count:
            self._serve_waiting()
            self._sweep()

    def clear(mut self):
        """Drops all idle connections."""
        for index in range(len(self._hosts)):
            ref idle = self._hosts[index].idle
            var count = len(idle)
            idle.clear(self.dropped)
            self._count_dropped(index, count)
        self._serve_waiting()
        self._sweep()

    def _number(mut self) -> Int:
        self._next_number += 1
        return self._next_number

    def _find(self, endpoint: Endpoint) -> Int:
        for index in range(len(self._hosts)):
            if self._hosts[index].endpoint == endpoint:
                return index
        return -1

    def _index_of(self, host: Int) -> Int:
        for index in range(len(self._hosts)):
            if self._hosts[index].number == host:
                return index
        return -1

    def _add(mut self, endpoint: Endpoint) -> Int:
        self._hosts.append(
            _Host[Self.C, Self.W](self._number(), endpoint.copy())
        )
        return len(self._hosts) - 1

    def _can_grant(self, index: Int, wants_new: Bool) -> Bool:
        ref host = self._hosts[index]
        if len(host.idle) > 0:
            # One for use, or one that makes room for a new one.
            return True
        if host.open_count >= self.limits.max_per_host:
            return False
        return (
            self._open_count < self.limits.max_connections
            or self._figures.idle > 0
        )

    def _grant(mut self, index: Int, wants_new: Bool) -> Grant[Self.C]:
        ref host = self._hosts[index]
        var number = host.number
        if len(host.idle) > 0 and not wants_new:
            self._figures.idle -= 1
            self._figures.reused += 1
            return Grant(number, host.idle.take())
        if host.open_count >= self.limits.max_per_host:
            self._drop_oldest(index)
        elif self._open_count >= self.limits.max_connections:
            self._drop_oldest(self._host_of_oldest())
        self._hosts[index].open_count += 1
        self._open_count += 1
        self._figures.opened += 1
        return Grant[Self.C](number, None)

    def _serve_waiting(mut self):
        """Gives what is there to those who have waited longest."""
        while self._figures.waiting > 0:
            var first = -1
            for index in range(len(self._hosts)):
                ref waiting = self._hosts[index].waiting
                if len(waiting) == 0:
                    continue
                if not self._can_grant(index, waiting[0].wants_new):
                    continue
                if first < 0 or (
                    waiting[0].number < self._hosts[first].waiting[0].number
                ):
                    first = index
            if first < 0:
                return
            var next = self._hosts[first].waiting.pop(0)
            self._figures.waiting -= 1
            var number = next.number
            var grant = self._grant(first, next.wants_new)
            self._granted.append(_Granted(number, grant^))
            self.woken.append(next^.take())

    def _host_of_oldest(self) -> Int:
        """Finds the host of the idle connection that ends first."""
        var found = -1
        var end_ms = Int.MAX
        for index in range(len(self._hosts)):
            if self._hosts[index].idle.oldest_end_ms() < end_ms:
                end_ms = self._hosts[index].idle.oldest_end_ms()
                found = index
        return found

    def _drop_oldest(mut self, index: Int):
        if index >= 0 and len(self._hosts[index].idle) > 0:
            self._hosts[index].idle.drop_oldest(self.dropped)
            self._count_dropped(index, 1)

    def _count_dropped(mut self, index: Int, count: Int):
        self._hosts[index].open_count -= count
        self._open_count -= count
        self._figures.idle -= count

    def _forget_unused(mut self, index: Int):
        ref host = self._hosts[index]
        if host.open_count == 0 and len(host.waiting) == 0:
            _ = self._hosts.pop(index)

    def _sweep(mut self):
        """Forgets the hosts to which nothing is open; there are only as many as
        connections and requests that wait."""
        for index in range(len(self._hosts) - 1, -1, -1):
            self._forget_unused(index)

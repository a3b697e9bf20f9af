"""Which request gets which connection of a client that threads share: pure
bookkeeping, with no socket, no clock and no lock."""

from flare.bytes.checked import *
from flare.bytes.never import NEVER
from flare.http.client.connect.connection import Endpoint, Http1Endpoints
from flare.http.exchange.idle_pool import IdleConnections, PoolLimits

comptime SEAT_COUNT_MAX = 1 << 20
"""How many requests a connection that they share takes while it is not known."""


struct ConnectionLimits(ImplicitlyCopyable):
    """How many connections a client that threads share may have open, and who
    waits for one."""

    var max_connections: Int
    """Most connections open at once, to all hosts together, idle ones included:
    of those the oldest makes room. Default 256."""
    var max_per_host: Int
    """Most connections open at once to one host, by one way (proxy, TLS).
    Default 64."""
    var queue_timeout_ms: Int
    """Longest wait of a request for a connection, in milliseconds; -1 for as
    long as its own times allow. Who waits for one that it shares with nobody
    (HTTP/1.1, `send_all`, `fetch_later`) holds up those after it to the same
    host as long. Default 10 s."""
    var max_waiting: Int
    """Most requests that wait at once; one more fails at once
    (`PoolExhausted`). Default 1,024."""

    def __init__(
        out self,
        *,
        max_connections: Int = 256,
        max_per_host: Int = 64,
        queue_timeout_ms: Int = 10_000,
        max_waiting: Int = 1_024,
    ):
        """Sets the limits."""
        self.max_connections = max_connections
        self.max_per_host = max_per_host
        self.queue_timeout_ms = queue_timeout_ms
        self.max_waiting = max_waiting

    def problem(self) -> String:
        """Tells which values cannot work; the rest is as for
        `ClientConfig.problem`."""
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
    """Connections with requests, one or many, and those that are being opened.
    """
    var waiting: Int
    """Requests that wait for a connection, or for one that another opens."""
    var opened: Int
    """How often a request had a connection opened."""
    var reused: Int
    """How often a request got one that was open already, or a part in one."""
    var waited: Int
    """How many requests had to wait for a connection."""
    var timed_out: Int
    """How many of them waited in vain."""
    var refused: Int
    """How many failed at once, since too many waited."""


trait Lendable(Deinitable, Movable):
    """A connection that may carry requests of many threads at once."""

    def another(self) -> Optional[Self]:
        """Makes another handle; nothing if the connection carries one request
        at a time."""
        ...


struct Grant[C: Movable & Deinitable](Movable):
    """What a request is given; `C` is what a connection is."""

    var number: Int
    """Whose it is that has waited: the number of the place."""
    var host: Int
    """The number of where it leads, for `release` and `put`."""
    var connection: Optional[Self.C]
    """A connection that is open; nothing to open one."""
    var lent: Int
    """The number of a connection that other requests have, too, for
    `give_back`; -1 for one that is the request's own."""
    var was_idle: Bool
    """True if nobody had the connection before."""
    var dials: Bool
    """True if others wait for what becomes of the connection that is opened:
    `lend` or `end_dial` tells them."""

    def __init__(out self, host: Int, var connection: Optional[Self.C]):
        self.number = -1
        self.host = host
        self.connection = connection^
        self.lent = -1
        self.was_idle = False
        self.dials = False

    def take(deinit self) -> Optional[Self.C]:
        return self.connection^


struct _Waiting[W: Movable & Deinitable](Movable):
    var number: Int
    var wants_new: Bool
    var joins: Bool
    # True if the next connection to be opened is as good as one of its own.
    var awaits_dial: Bool
    var waker: Self.W

    def __init__(
        out self, number: Int, wants_new: Bool, joins: Bool, var waker: Self.W
    ):
        self.number = number
        self.wants_new = wants_new
        self.joins = joins
        self.awaits_dial = joins
        self.waker = waker^

    def take(deinit self) -> Self.W:
        return self.waker^


struct _Lent[C: Movable & Deinitable](Movable):
    """A connection in use that takes more requests."""

    var number: Int
    var user_count: Int
    var seat_count: Int
    var is_closing: Bool
    var connection: Self.C

    def __init__(
        out self, number: Int, seat_count: Int, var connection: Self.C
    ):
        self.number = number
        self.user_count = 1
        self.seat_count = seat_count
        self.is_closing = False
        self.connection = connection^

    def take(deinit self) -> Self.C:
        return self.connection^


struct _Host[C: Movable & Deinitable, W: Movable & Deinitable](Movable):
    """The connections to one endpoint, and who waits for one."""

    var number: Int
    var endpoint: Endpoint
    # All that are counted: being opened, with requests, idle.
    var open_count: Int
    var idle: IdleConnections[Self.C]
    # Each with a request or more, and counted as long as it has one.
    var lent: List[_Lent[Self.C]]
    # Connections being opened, that others may share.
    var dial_count: Int
    # How many requests one takes at once, as the last one has said.
    var seat_count: Int
    var is_http1: Bool
    var waiting: List[_Waiting[Self.W]]

    def __init__(out self, number: Int, var endpoint: Endpoint, is_http1: Bool):
        self.number = number
        self.endpoint = endpoint^
        self.open_count = 0
        self.idle = IdleConnections[Self.C]()
        self.lent = []
        self.dial_count = 0
        self.seat_count = SEAT_COUNT_MAX
        self.is_http1 = is_http1
        self.waiting = []

    def find_lent(self, number: Int) -> Int:
        for index in range(len(self.lent)):
            if self.lent.at(index).number == number:
                return index
        return -1

    def free_lent(self) -> Int:
        """Finds a connection in use that takes one more request; -1 if there is
        none."""
        for index in range(len(self.lent)):
            ref lent = self.lent.at(index)
            if not lent.is_closing and lent.user_count < lent.seat_count:
                return index
        return -1

    def coming_count(self) -> Int:
        """Counts who finds room on what is being opened, after those who open
        it."""
        return self.dial_count * (self.seat_count - 1)

    def is_served(self, place: Int) -> Bool:
        """Tells whether one in the queue waits for a connection that is being
        opened, and for none of its own."""
        return (
            self.waiting.at(place).awaits_dial and place < self.coming_count()
        )

    def is_free(self) -> Bool:
        """Tells whether who comes now overtakes nobody."""
        for place in range(len(self.waiting)):
            if not self.is_served(place):
                return False
        return True


struct SharedPool[C: Movable & Deinitable, W: Movable & Deinitable](Movable):
    """Connections by endpoint, at most so many, and a queue for them.

    Who waits longest is served first, and nobody overtakes those who wait for
    the same endpoint. Those who wait for another one are no reason to wait.
    Requests that may join get a connection that others have, as long as it has
    seats, and wait for one that is being opened rather than open another. Each
    call may put connections into `dropped` and wakers into `woken`; the caller
    takes them out, and closes and rings without its lock.

    Dropping a `C` closes the connection; a `W` wakes a request.
    """

    var limits: ConnectionLimits
    var idle_limits: PoolLimits
    var dropped: List[Self.C]
    var woken: List[Self.W]
    """Wakers of requests that `collect` what they were given."""
    var process: Int
    """The process whose threads have what is lent, as its owner notes it."""
    var _hosts: List[_Host[Self.C, Self.W]]
    # What those in the queue were given and have not collected.
    var _granted: List[Grant[Self.C]]
    var _http1: Http1Endpoints
    var _next_number: Int
    var _open_count: Int
    var _figures: PoolFigures

    def __init__(out self, limits: ConnectionLimits, idle_limits: PoolLimits):
        """Makes a pool without connections, with limits of all of them, and of
        those that are idle."""
        self.limits = limits
        self.idle_limits = idle_limits
        self.dropped = []
        self.woken = []
        self.process = 0
        self._hosts = []
        self._granted = []
        self._http1 = Http1Endpoints()
        self._next_number = 0
        self._open_count = 0
        self._figures = PoolFigures(0, 0, 0, 0, 0, 0, 0, 0)

    def figures(self) -> PoolFigures:
        var figures = self._figures
        figures.busy = self._open_count - figures.idle
        return figures

    def take(
        mut self,
        endpoint: Endpoint,
        now_ms: Int,
        *,
        wants_new: Bool = False,
        joins: Bool = False,
    ) -> Optional[Grant[Self.C]]:
        """Asks for a connection: gives the one that waited least, or the right
        to open one; nothing to `wait`. Who `wants_new` gets none that was used
        before, or is in use; who `joins` shares one with others."""
        self.expire(now_ms)
        var index = self._find(endpoint)
        if index < 0:
            index = self._add(endpoint)
        if (
            self._hosts.at(index).is_free()
            and self._can_grant(index, joins)
            and not (joins and self._waits_for_dial(index, wants_new))
        ):
            return self._grant(index, wants_new, joins)
        self._forget_unused(index)
        return None

    def _waits_for_dial(self, index: Int, wants_new: Bool) -> Bool:
        """Tells whether who joins had better wait for a connection that is
        being opened."""
        ref host = self._hosts.at(index)
        return (
            host.free_lent() < 0
            and (wants_new or len(host.idle) == 0)
            and host.coming_count() > len(host.waiting)
            and self._figures.waiting < self.limits.max_waiting
        )

    def has_some(self, endpoint: Endpoint) -> Bool:
        """Tells whether `take` would give something."""
        var index = self._find(endpoint)
        if index >= 0:
            return self._hosts.at(index).is_free() and (
                self._can_grant(index, joins=False)
            )
        return (
            self._open_count < self.limits.max_connections
            or self._figures.idle > 0
        )

    def wait(
        mut self,
        endpoint: Endpoint,
        var waker: Self.W,
        wants_new: Bool = False,
        joins: Bool = False,
    ) -> Int:
        """Queues for a connection that `take`, asked likewise, did not have.
        Returns the place's number, for `collect` and `leave`; -1 if too many
        wait."""
        if self._figures.waiting >= self.limits.max_waiting:
            self._figures.refused += 1
            return -1
        var index = self._find(endpoint)
        if index < 0:
            index = self._add(endpoint)
        var number = self._number()
        self._figures.waiting += 1
        self._figures.waited += 1
        self._hosts.at(index).waiting.append(
            _Waiting(number, wants_new, joins, waker^)
        )
        # Something may have come since `take`.
        self._serve_waiting()
        return number

    def collect(mut self, number: Int) -> Optional[Grant[Self.C]]:
        for index in range(len(self._granted)):
            if self._granted.at(index).number == number:
                return self._granted.pop(index)
        return None

    def hurry(mut self, number: Int):
        """Lets a request in the queue have a connection of its own rather than
        wait for one that another one opens."""
        for index in range(len(self._hosts)):
            ref waiting = self._hosts.at(index).waiting
            for place in range(len(waiting)):
                if waiting.at(place).number == number:
                    waiting.at(place).awaits_dial = False
                    self._serve_waiting()
                    return

    def leave(mut self, number: Int, *, is_late: Bool, now_ms: Int = 0):
        """Leaves the queue; what was given already goes to others. If it
        `is_late`, a wait in vain is counted."""
        if is_late:
            self._figures.timed_out += 1
        var grant = self.collect(number)
        if grant:
            var host = grant.value().host
            var lent = grant.value().lent
            var dials = grant.value().dials
            var connection = grant.take().take()
            if connection:
                self.dropped.append(connection.take())
            if lent >= 0:
                self.give_back(host, lent, now_ms)
                return
            if dials:
                self.end_dial(host, is_http1=False)
            self.release(host)
            return
        for index in range(len(self._hosts)):
            ref waiting = self._hosts.at(index).waiting
            for place in range(len(waiting)):
                if waiting.at(place).number == number:
                    _ = waiting.pop(place)
                    self._figures.waiting -= 1
                    # Who was after it may join what it could not.
                    self._serve_waiting()
                    self._sweep()
                    return

    def lend(
        mut self, host: Int, var connection: Self.C, *, has_dialed: Bool
    ) -> Int:
        """Lets others have a `Lendable` connection, too, that a request has
        opened; `has_dialed` if it was given the right to do so with `dials`.
        Returns the connection's number, for `give_back`."""
        var number = self._number()
        var index = self._index_of(host)
        if index < 0:
            return number
        ref found = self._hosts.at(index)
        found.dial_count -= Int(has_dialed)
        found.is_http1 = False
        found.lent.append(_Lent(number, found.seat_count, connection^))
        self._http1.remove(found.endpoint)
        self._serve_waiting()
        return number

    def end_dial(mut self, host: Int, *, is_http1: Bool):
        """Lets those go on who wait for a connection that nobody shares: each
        may open its own. `is_http1` if it is open and speaks HTTP/1.1."""
        var index = self._index_of(host)
        if index < 0:
            return
        ref found = self._hosts.at(index)
        found.dial_count -= 1
        for place in range(len(found.waiting)):
            found.waiting.at(place).awaits_dial = False
        if is_http1 and not found.is_http1:
            found.is_http1 = True
            self._http1.add(found.endpoint)
        self._serve_waiting()

    def give_back(
        mut self,
        host: Int,
        lent: Int,
        now_ms: Int,
        *,
        is_closing: Bool = False,
        seat_count: Int = 0,
    ):
        """Notes that a request has no part any more in a connection that it
        shared. The last one leaves it idle. `is_closing` if the connection
        takes no more requests; `seat_count` is how many it takes at once, 0 if
        that is not known."""
        var index = self._index_of(host)
        if index < 0:
            return
        ref found = self._hosts.at(index)
        var place = found.find_lent(lent)
        if place < 0:
            return
        if seat_count > 0:
            found.seat_count = seat_count
            found.lent.at(place).seat_count = seat_count
        found.lent.at(place).user_count -= 1
        found.lent.at(place).is_closing |= is_closing
        if found.lent.at(place).user_count > 0:
            self._serve_waiting()
            return
        var is_over = found.lent.at(place).is_closing
        var connection = found.lent.pop(place).take()
        if is_over:
            self.dropped.append(connection^)
            self.release(host)
        else:
            self.put(host, connection^, now_ms)

    def abandon(mut self) -> List[Self.C]:
        """Forgets all connections, and who waits: they are another process's.
        Returns those that are idle, given or lent; what comes back later is of
        no host that is known."""
        var all = List[Self.C]()
        while len(self._granted) > 0:
            var connection = self._granted.pop().take()
            if connection:
                all.append(connection.take())
        for index in range(len(self._hosts)):
            ref host = self._hosts.at(index)
            host.idle.clear(all)
            while len(host.lent) > 0:
                all.append(host.lent.pop().take())
        self._hosts.clear()
        self._open_count = 0
        self._figures.idle = 0
        self._figures.waiting = 0
        return all^

    def note_vain(mut self):
        """Counts a connection that takes no more requests as not given."""
        self._figures.reused -= 1

    def note_stale(mut self):
        """Counts a connection that was closed while it waited as opened, since
        the request opens another one in its place."""
        self._figures.reused -= 1
        self._figures.opened += 1

    def release(mut self, host: Int):
        var index = self._index_of(host)
        if index < 0:
            return
        self._hosts.at(index).open_count -= 1
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
        if wait_ms < 1 or index < 0:
            self.dropped.append(connection^)
            self.release(host)
            return
        self._hosts.at(index).idle.put(connection^, now_ms + wait_ms)
        self._figures.idle += 1
        self._serve_waiting()
        if len(self._hosts.at(index).idle) > self.idle_limits.max_idle_per_host:
            self._drop_oldest(index)
        elif self._figures.idle > self.idle_limits.max_idle:
            self._drop_oldest(self._host_of_oldest())
        self._sweep()

    def expire(mut self, now_ms: Int):
        var dropped_count = len(self.dropped)
        for index in range(len(self._hosts)):
            ref idle = self._hosts.at(index).idle
            var count = len(idle)
            idle.expire(now_ms, self.dropped)
            self._count_dropped(index, count - len(idle))
        if len(self.dropped) > dropped_count:
            self._serve_waiting()
            self._sweep()

    def first_end_ms(self) -> Int:
        """Tells when `expire` has something to do, or before; `NEVER` if no
        connection is idle."""
        var end_ms = NEVER
        for index in range(len(self._hosts)):
            end_ms = min(end_ms, self._hosts.at(index).idle.first_end_ms())
        return end_ms

    def clear(mut self):
        """Drops all that are idle."""
        self.expire(NEVER)

    def _number(mut self) -> Int:
        self._next_number += 1
        return self._next_number

    def _find(self, endpoint: Endpoint) -> Int:
        for index in range(len(self._hosts)):
            if self._hosts.at(index).endpoint == endpoint:
                return index
        return -1

    def _index_of(self, host: Int) -> Int:
        for index in range(len(self._hosts)):
            if self._hosts.at(index).number == host:
                return index
        return -1

    def _add(mut self, endpoint: Endpoint) -> Int:
        self._hosts.append(
            _Host[Self.C, Self.W](
                self._number(), endpoint.copy(), endpoint in self._http1
            )
        )
        return len(self._hosts) - 1

    def _can_grant(self, index: Int, joins: Bool) -> Bool:
        ref host = self._hosts.at(index)
        if joins and host.free_lent() >= 0:
            return True
        if len(host.idle) > 0:
            # One for use, or one that makes room for a new one.
            return True
        if host.open_count >= self.limits.max_per_host:
            return False
        return (
            self._open_count < self.limits.max_connections
            or self._figures.idle > 0
        )

    def _grant(
        mut self, index: Int, wants_new: Bool, joins: Bool
    ) -> Grant[Self.C]:
        ref host = self._hosts.at(index)
        var number = host.number
        var place = host.free_lent() if joins else -1
        if place >= 0:
            ref lent = host.lent.at(place)
            lent.user_count += 1
            self._figures.reused += 1
            var grant = Grant(number, _another(lent.connection))
            grant.lent = lent.number
            return grant^
        if len(host.idle) > 0 and not wants_new:
            self._figures.idle -= 1
            self._figures.reused += 1
            var idle = host.idle.take()
            var other = Optional[Self.C](None)
            if joins:
                other = _another(idle.value())
            if not other:
                return Grant(number, idle^)
            var grant = Grant(number, other^)
            grant.lent = self._number()
            grant.was_idle = True
            ref found = self._hosts.at(index)
            found.lent.append(_Lent(grant.lent, found.seat_count, idle.take()))
            return grant^
        if host.open_count >= self.limits.max_per_host:
            self._drop_oldest(index)
        elif self._open_count >= self.limits.max_connections:
            self._drop_oldest(self._host_of_oldest())
        self._hosts.at(index).open_count += 1
        self._open_count += 1
        self._figures.opened += 1
        var grant = Grant[Self.C](number, None)
        if joins and not self._hosts.at(index).is_http1:
            self._hosts.at(index).dial_count += 1
            grant.dials = True
        return grant^

    def _next_place(self, index: Int) -> Int:
        """Finds who of a host's queue is served next; -1 for nobody."""
        ref host = self._hosts.at(index)
        var has_free = host.free_lent() >= 0
        for place in range(len(host.waiting)):
            ref waiting = host.waiting.at(place)
            var is_better_off = (waiting.joins and has_free) or (
                len(host.idle) > 0 and not waiting.wants_new
            )
            if host.is_served(place) and not is_better_off:
                continue
            if self._can_grant(index, waiting.joins):
                return place
            return -1
        return -1

    def _serve_waiting(mut self):
        """Gives what is there to those who have waited longest."""
        while self._figures.waiting > 0:
            var first = -1
            var first_place = -1
            var first_number = Int.MAX
            for index in range(len(self._hosts)):
                var place = self._next_place(index)
                if place < 0:
                    continue
                var number = self._hosts.at(index).waiting.at(place).number
                if number < first_number:
                    first = index
                    first_place = place
                    first_number = number
            if first < 0:
                return
            var next = self._hosts.at(first).waiting.pop(first_place)
            self._figures.waiting -= 1
            var grant = self._grant(first, next.wants_new, next.joins)
            grant.number = next.number
            self._granted.append(grant^)
            self.woken.append(next^.take())

    def _host_of_oldest(self) -> Int:
        """Finds the host of the idle connection that ends first."""
        var found = -1
        var end_ms = NEVER
        for index in range(len(self._hosts)):
            if self._hosts.at(index).idle.oldest_end_ms() < end_ms:
                end_ms = self._hosts.at(index).idle.oldest_end_ms()
                found = index
        return found

    def _drop_oldest(mut self, index: Int):
        if index >= 0 and len(self._hosts.at(index).idle) > 0:
            self._hosts.at(index).idle.drop_oldest(self.dropped)
            self._count_dropped(index, 1)

    def _count_dropped(mut self, index: Int, count: Int):
        self._hosts.at(index).open_count -= count
        self._open_count -= count
        self._figures.idle -= count

    def _forget_unused(mut self, index: Int):
        ref host = self._hosts.at(index)
        if host.open_count == 0 and len(host.waiting) == 0:
            _ = self._hosts.pop(index)

    def _sweep(mut self):
        """Forgets the hosts to which nothing is open; there are only as many as
        connections and requests that wait."""
        for index in range(len(self._hosts) - 1, -1, -1):
            self._forget_unused(index)


def _another[C: Movable & Deinitable](connection: C) -> Optional[C]:
    """Makes another handle of a connection, if it can have several."""
    comptime if conforms_to(C, Lendable):
        return connection.another()
    return None

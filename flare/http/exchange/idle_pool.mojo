"""Connections that wait for the next request: pure bookkeeping, with no socket and
no clock."""

from flare.bytes.ascii import equals_ignore_case
from flare.bytes.checked import *
from flare.bytes.digits import read_digits
from flare.bytes.never import NEVER
from flare.http.message.fields import Fields, ListElements

comptime _TIMEOUT = StaticString("timeout=")
comptime _TIMEOUT_DIGITS_MAX = 9
comptime _FOR_EVER_MS = 1 << 52


@fieldwise_init
struct PoolLimits(ImplicitlyCopyable):
    """How many connections may wait, and for how long."""

    var max_idle: Int
    """Most connections that wait, to all hosts together."""
    var max_idle_per_host: Int
    """Most connections that wait to one endpoint; and of a batch, most that are
    open to a server which allows few requests at once on each (HTTP/2)."""
    var idle_timeout_ms: Int
    """How long one may wait; -1 for ever. Most servers close after 5 s to 75 s. A server
    that says less with `Keep-Alive: timeout=` is believed."""

    def wait_ms(self, server_ms: Int) -> Int:
        """Gives how many milliseconds one connection may wait; less than 1 for
        a connection that is not kept.

        Args:
            server_ms: How long the server keeps it, in milliseconds; negative
                if that is not known.
        """
        var wait_ms = self.idle_timeout_ms
        if wait_ms < 0:
            wait_ms = _FOR_EVER_MS
        return min(wait_ms, server_ms) if server_ms >= 0 else wait_ms


def keep_alive_ms(fields: Fields) -> Int:
    """Reads how long a server keeps a connection that is not used.

    The field is of RFC 2068 section 19.7.1.1 and has stayed in use. The server
    counts from when it has sent the response, and closes without asking, so the
    last second, or the last half, does not count.
    Negative if the server does not say.
    """
    var index = fields.find("keep-alive")
    while index >= 0:
        for element in ListElements(fields.value_bytes(index)):
            var timeout_ms = _timeout_ms(element)
            if timeout_ms >= 0:
                return max(timeout_ms - 1_000, timeout_ms // 2)
        index = fields.find("keep-alive", index + 1)
    return -1


def _timeout_ms(parameter: Span[UInt8, _]) -> Int:
    """Reads `timeout=5`; -1 if the parameter is another one."""
    var start = _TIMEOUT.byte_length()
    if len(parameter) <= start or not equals_ignore_case(
        parameter.before(start), _TIMEOUT.as_bytes()
    ):
        return -1
    # What is longer is long enough without the rest.
    var end = min(len(parameter), start + _TIMEOUT_DIGITS_MAX)
    var seconds = read_digits(
        parameter.between(start, end), _TIMEOUT_DIGITS_MAX
    )
    return seconds * 1_000 if seconds >= 0 else -1


@fieldwise_init
struct _Idle[C: Movable & Deinitable](Movable):
    var connection: Self.C
    var end_ms: Int

    def take(deinit self) -> Self.C:
        return self.connection^


struct IdleConnections[C: Movable & Deinitable](Movable, Sized):
    """Idle connections to one origin, each a `C`.

    The one that waited least goes out first, so that those that are not needed
    grow old and are closed. What does so is the caller, who gets them in the
    lists that it gives.
    """

    # In the order of arrival, so the oldest stands first.
    var _idle: List[_Idle[Self.C]]
    # When the first of them has waited long enough; no later than that.
    var _first_end_ms: Int

    def __init__(out self):
        self._idle = []
        self._first_end_ms = NEVER

    def __len__(self) -> Int:
        return len(self._idle)

    @always_inline
    def take(mut self) -> Optional[Self.C]:
        """Takes out the connection that waited least, which `expire` has left."""
        if len(self._idle) == 0:
            return None
        return self._idle.pop().take()

    @always_inline
    def put(mut self, var connection: Self.C, end_ms: Int):
        """Keeps a connection until it has waited too long, or is too old."""
        self._first_end_ms = min(self._first_end_ms, end_ms)
        self._idle.append(_Idle(connection^, end_ms))

    def oldest_end_ms(self) -> Int:
        """Tells when the oldest one ends; `NEVER` if there is none."""
        return self._idle.at(0).end_ms if len(self._idle) > 0 else NEVER

    def first_end_ms(self) -> Int:
        """Tells when `expire` has something to do, or before; `NEVER` if there
        is nothing."""
        return self._first_end_ms if len(self._idle) > 0 else NEVER

    def drop_oldest(mut self, mut ended: List[Self.C]):
        """Takes out the one that waited longest, if there is one."""
        if len(self._idle) > 0:
            ended.append(self._idle.pop(0).take())

    def expire(mut self, now_ms: Int, mut ended: List[Self.C]):
        """Takes out those that have waited too long."""
        if now_ms < self._first_end_ms:
            return
        self._first_end_ms = NEVER
        for index in range(len(self._idle) - 1, -1, -1):
            var end_ms = self._idle.at(index).end_ms
            if now_ms < end_ms:
                self._first_end_ms = min(self._first_end_ms, end_ms)
            else:
                ended.append(self._idle.pop(index).take())

    def clear(mut self, mut ended: List[Self.C]):
        """Takes out all of them, the oldest first."""
        self._idle.reverse()
        while len(self._idle) > 0:
            ended.append(self._idle.pop().take())

    def forget[is_gone: def(Self.C) thin -> Bool](mut self):
        """Drops those that are closed already."""
        var kept = List[_Idle[Self.C]](capacity=len(self._idle))
        self._idle.reverse()
        while len(self._idle) > 0:
            var last = self._idle.pop()
            if not is_gone(last.connection):
                kept.append(last^)
        self._idle = kept^


struct _Origin[K: Copyable & Equatable & Deinitable, C: Movable & Deinitable](
    Movable
):
    var key: Self.K
    var idle: IdleConnections[Self.C]

    def __init__(out self, var key: Self.K):
        self.key = key^
        self.idle = IdleConnections[Self.C]()


struct IdlePool[K: Copyable & Equatable & Deinitable, C: Movable & Deinitable](
    Movable, Sized
):
    """Idle connections, each a `C`, by origin; those that have waited too long,
    or are too many, are dropped, which closes them. A `K` tells where a
    connection leads."""

    # Those that have connections.
    var _origins: List[_Origin[Self.K, Self.C]]
    var limits: PoolLimits

    def __init__(out self, limits: PoolLimits):
        self._origins = []
        self.limits = limits

    def __len__(self) -> Int:
        """Counts the connections that wait, expired ones included."""
        var count = 0
        for index in range(len(self._origins)):
            count += len(self._origins.at(index).idle)
        return count

    def _find(self, key: Self.K) -> Int:
        for index in range(len(self._origins)):
            if self._origins.at(index).key == key:
                return index
        return -1

    def take(mut self, key: Self.K, now_ms: Int) -> Optional[Self.C]:
        """Takes out the connection that waited least, if there is one."""
        self.expire(now_ms)
        var index = self._find(key)
        if index < 0:
            return None
        var taken = self._origins.at(index).idle.take()
        if len(self._origins.at(index).idle) == 0:
            _ = self._origins.pop(index)
        return taken^

    def has(self, key: Self.K) -> Bool:
        """Tells whether a connection waits, which may have expired."""
        return self._find(key) >= 0

    def put(
        mut self,
        var key: Self.K,
        var connection: Self.C,
        now_ms: Int,
        server_ms: Int = -1,
    ):
        """Keeps a connection for the next request; may drop an older one.
        `server_ms` is as in `PoolLimits.wait_ms`."""
        self.expire(now_ms)
        var wait_ms = self.limits.wait_ms(server_ms)
        if (
            wait_ms < 1
            or self.limits.max_idle < 1
            or (self.limits.max_idle_per_host < 1)
        ):
            return
        var index = self._find(key)
        if index < 0:
            index = len(self._origins)
            self._origins.append(_Origin[Self.K, Self.C](key^))
        self._origins.at(index).idle.put(connection^, now_ms + wait_ms)
        if len(self._origins.at(index).idle) > self.limits.max_idle_per_host:
            self._drop_oldest(index)
        elif len(self) > self.limits.max_idle:
            self._drop_oldest(self._origin_of_oldest())

    def _origin_of_oldest(self) -> Int:
        """Finds whose oldest connection ends first."""
        var found = 0
        for index in range(1, len(self._origins)):
            if (
                self._origins.at(index).idle.oldest_end_ms()
                < self._origins.at(found).idle.oldest_end_ms()
            ):
                found = index
        return found

    def _drop_oldest(mut self, index: Int):
        var ended = List[Self.C]()
        self._origins.at(index).idle.drop_oldest(ended)
        if len(self._origins.at(index).idle) == 0:
            _ = self._origins.pop(index)

    def expire(mut self, now_ms: Int):
        """Drops connections that have waited too long."""
        var ended = List[Self.C]()
        for index in range(len(self._origins) - 1, -1, -1):
            self._origins.at(index).idle.expire(now_ms, ended)
            if len(self._origins.at(index).idle) == 0:
                _ = self._origins.pop(index)

    def clear(mut self):
        self._origins.clear()

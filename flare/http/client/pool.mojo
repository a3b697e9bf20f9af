"""Connections that wait for their next request."""

from flare.bytes.ascii import equals_ignore_case
from flare.http.client.endpoint import Endpoint
from flare.http.message.header_map import HeaderMap
from flare.http.message.list_elements import ListElements

comptime _TIMEOUT = StaticString("timeout=")
comptime _TIMEOUT_DIGITS_MAX = 9
comptime _FOR_EVER_MS = 1 << 52


@fieldwise_init
struct PoolLimits(ImplicitlyCopyable):
    """How many connections may wait, and for how long."""

    var max_idle: Int
    """Most connections that wait, to all hosts together."""
    var max_idle_per_host: Int
    """Most connections that wait to one endpoint."""
    var idle_timeout_ms: Int
    """How long one may wait; negative for ever. Most servers close after 5 s to 75 s. A server
    that says less with `Keep-Alive: timeout=` is believed."""


def keep_alive_ms(headers: HeaderMap) -> Int:
    """Reads how long a server keeps a connection that is not used.

    The field is of RFC 2068 section 19.7.1.1 and has stayed in use. The server
    counts from when it has sent the response, and closes without asking, so the
    last second, or the last half, does not count.

    Args:
        headers: The header fields of a response.

    Returns:
        Milliseconds; negative if the server does not say.
    """
    var index = headers.find("keep-alive")
    while index >= 0:
        var value = headers.value(index)
        for element in ListElements(value.as_bytes().as_imm()):
            var timeout_ms = _timeout_ms(element)
            if timeout_ms >= 0:
                return max(timeout_ms - 1_000, timeout_ms // 2)
        index = headers.find("keep-alive", index + 1)
    return -1


def _timeout_ms(parameter: Span[UInt8, _]) -> Int:
    """Reads `timeout=5`; -1 if the parameter is another one."""
    var start = _TIMEOUT.byte_length()
    if len(parameter) <= start or not equals_ignore_case(
        parameter[0:start], _TIMEOUT.as_bytes()
    ):
        return -1
    var seconds = 0
    for octet in parameter[
        start : min(len(parameter), start + _TIMEOUT_DIGITS_MAX)
    ]:
        if octet < 48 or octet > 57:
            return -1
        seconds = seconds * 10 + Int(octet) - 48
    return seconds * 1_000


struct _Idle[C: Movable & Deinitable](Movable):
    var endpoint: Endpoint
    var connection: Self.C
    var end_ms: Int

    def __init__(
        out self, var endpoint: Endpoint, var connection: Self.C, end_ms: Int
    ):
        self.endpoint = endpoint^
        self.connection = connection^
        self.end_ms = end_ms

    def take(deinit self) -> Self.C:
        return self.connection^


struct Pool[C: Movable & Deinitable](Movable, Sized):
    """Idle connections by endpoint: pure bookkeeping, with no socket and no
    clock.

    The connection that waited least goes out first, so that those that are not
    needed grow old and are closed.

    Parameters:
        C: What a connection is; dropping it closes it.
    """

    # In the order of arrival, so the oldest stands first.
    var _idle: List[_Idle[Self.C]]
    # When the first of them has waited long enough; no later than that.
    var _first_end_ms: Int
    var limits: PoolLimits
    """The limits."""

    def __init__(out self, limits: PoolLimits):
        """Makes an empty pool.

        Args:
            limits: The limits.
        """
        self._idle = []
        self._first_end_ms = Int.MAX
        self.limits = limits

    def __len__(self) -> Int:
        """Counts the connections that wait.

        Returns:
            How many there are, expired ones included.
        """
        return len(self._idle)

    def take(mut self, endpoint: Endpoint, now_ms: Int) -> Optional[Self.C]:
        """Takes out the connection that waited least.

        Args:
            endpoint: Where it has to lead.
            now_ms: What time it is.

        Returns:
            The connection, or nothing.
        """
        self.expire(now_ms)
        for index in range(len(self._idle) - 1, -1, -1):
            if self._idle[index].endpoint == endpoint:
                return self._idle.pop(index).take()
        return None

    def put(
        mut self,
        var endpoint: Endpoint,
        var connection: Self.C,
        now_ms: Int,
        server_ms: Int = -1,
    ):
        """Keeps a connection for the next request; may drop an older one.

        Args:
            endpoint: Where it leads.
            connection: The connection, ready for a request.
            now_ms: What time it is.
            server_ms: How long the server keeps it, in milliseconds; negative
                if that is not known.
        """
        self.expire(now_ms)
        var wait_ms = self.limits.idle_timeout_ms
        if wait_ms < 0:
            wait_ms = _FOR_EVER_MS
        if server_ms >= 0:
            wait_ms = min(wait_ms, server_ms)
        if wait_ms < 1:
            return
        if self.limits.max_idle < 1 or self.limits.max_idle_per_host < 1:
            return
        var replaced = self._replaced_by(endpoint)
        if replaced >= 0:
            _ = self._idle.pop(replaced)
        elif len(self._idle) >= self.limits.max_idle:
            _ = self._idle.pop(0)
        var end_ms = now_ms + wait_ms
        self._first_end_ms = min(self._first_end_ms, end_ms)
        self._idle.append(_Idle(endpoint^, connection^, end_ms))

    def _replaced_by(self, endpoint: Endpoint) -> Int:
        """Finds the oldest connection to an endpoint that has all it may have;
        -1 if it may have one more."""
        if len(self._idle) < self.limits.max_idle_per_host:
            # All of them may lead there: no need to compare any.
            return -1
        var count = 0
        var oldest = -1
        for index in range(len(self._idle)):
            if self._idle[index].endpoint == endpoint:
                count += 1
                if oldest < 0:
                    oldest = index
        return oldest if count >= self.limits.max_idle_per_host else -1

    def expire(mut self, now_ms: Int):
        """Drops connections that have waited too long.

        Args:
            now_ms: What time it is.
        """
        if now_ms < self._first_end_ms:
            return
        self._first_end_ms = Int.MAX
        for index in range(len(self._idle) - 1, -1, -1):
            var end_ms = self._idle[index].end_ms
            if now_ms < end_ms:
                self._first_end_ms = min(self._first_end_ms, end_ms)
            else:
                _ = self._idle.pop(index)

    def clear(mut self):
        """Drops all connections."""
        self._idle.clear()

"""Connections that wait for their next request."""

from flare.http.client.endpoint import Endpoint


@fieldwise_init
struct PoolLimits(ImplicitlyCopyable):
    """How many connections may wait, and for how long."""

    var max_idle: Int
    """Most connections that wait, to all hosts together."""
    var max_idle_per_host: Int
    """Most connections that wait to one endpoint."""
    var idle_timeout_ms: Int
    """How long one may wait; most servers close after 5 s to 75 s."""


struct _Idle[C: Movable & Deinitable](Movable):
    var endpoint: Endpoint
    var connection: Self.C
    var since_ms: Int

    def __init__(
        out self, var endpoint: Endpoint, var connection: Self.C, since_ms: Int
    ):
        self.endpoint = endpoint^
        self.connection = connection^
        self.since_ms = since_ms

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
    var limits: PoolLimits
    """The limits."""

    def __init__(out self, limits: PoolLimits):
        """Makes an empty pool.

        Args:
            limits: The limits.
        """
        self._idle = []
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
        mut self, var endpoint: Endpoint, var connection: Self.C, now_ms: Int
    ):
        """Keeps a connection for the next request; may drop an older one.

        Args:
            endpoint: Where it leads.
            connection: The connection, ready for a request.
            now_ms: What time it is.
        """
        self.expire(now_ms)
        if self.limits.max_idle < 1 or self.limits.max_idle_per_host < 1:
            return
        var count = 0
        var oldest = -1
        for index in range(len(self._idle)):
            if self._idle[index].endpoint == endpoint:
                count += 1
                if oldest < 0:
                    oldest = index
        if count >= self.limits.max_idle_per_host:
            _ = self._idle.pop(oldest)
        elif len(self._idle) >= self.limits.max_idle:
            _ = self._idle.pop(0)
        self._idle.append(_Idle(endpoint^, connection^, now_ms))

    def expire(mut self, now_ms: Int):
        """Drops connections that have waited too long.

        Args:
            now_ms: What time it is.
        """
        while len(self._idle) > 0:
            if now_ms - self._idle[0].since_ms < self.limits.idle_timeout_ms:
                return
            _ = self._idle.pop(0)

    def clear(mut self):
        """Drops all connections."""
        self._idle.clear()

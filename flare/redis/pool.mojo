"""Connections that threads share: bounded, lent to one at a time."""

from flare.bytes.checked import *
from flare.redis.client import RedisClient
from flare.redis.config import RedisConfig
from flare.redis.core.error import RedisError, RedisErrorKind
from flare.redis.link import client_context
from flare.sys.clock import Deadline
from flare.sys.mutex import Condvar, Mutex
from flare.sys.signal import process_id
from flare.tls.context import TlsClientContext
from std.memory import OwnedPointer


@fieldwise_init
struct RedisPoolConfig(Copyable, Movable):
    """How many connections a pool has, and how long callers wait for one."""

    var connections_max: Int
    """Most connections. Default 16."""
    var waiting_max: Int
    """Most callers that wait for one. Default 1,024."""
    var wait_ms: Int
    """How long a caller waits for one. Default 5 s."""

    def __init__(out self):
        """Makes the default configuration."""
        self.connections_max = 16
        self.waiting_max = 1_024
        self.wait_ms = 5_000


struct _Shelf(Movable):
    """What a pool has; under its lock."""

    var config: RedisConfig
    # What all connections trust, and their tickets; with TLS alone.
    var context: Optional[TlsClientContext]
    var bounds: RedisPoolConfig
    var idle: List[OwnedPointer[RedisClient]]
    var lent_count: Int
    # Who waits, in the order of their coming, by the numbers that they drew.
    var waiting: List[Int]
    var next_number: Int
    var is_closed: Bool
    # Whose threads have what is lent.
    var process: Int

    def __init__(
        out self, var config: RedisConfig, var bounds: RedisPoolConfig
    ) raises RedisError:
        self.context = client_context(config)
        self.config = config^
        self.bounds = bounds^
        self.idle = []
        self.lent_count = 0
        self.waiting = []
        self.next_number = 0
        self.is_closed = False
        self.process = process_id()

    def leave_to_parent(mut self):
        """Forgets what the process has that this one was forked from: its
        threads are not here to give anything back."""
        if self.process == process_id():
            return
        self.process = process_id()
        self.idle.clear()
        self.waiting.clear()
        self.lent_count = 0

    def has_free(self) -> Bool:
        return self.lent_count < self.bounds.connections_max

    def leave(mut self, number: Int):
        for index in range(len(self.waiting)):
            if self.waiting.at(index) == number:
                _ = self.waiting.pop(index)
                return


struct RedisPool(Copyable, Movable):
    """Clients for many threads; copies are the same pool.

        var pool = RedisPool(RedisConfig.from_url(url))
        # On any thread:
        var redis = pool.acquire()
        redis[].set("greeting", "hello")

    lends a client until the last use of `redis`. A connection that is not as it
    was, after commands such as SELECT or MULTI, is closed then. The one that
    was used last is lent first, so that those that are not needed stay idle. A
    process that was forked leaves the connections to its parent, and makes its
    own; no other thread may use the pool at that moment.
    """

    var _shelf: Mutex[_Shelf]
    var _returned: Condvar

    def __init__(
        out self,
        var config: RedisConfig,
        var bounds: RedisPoolConfig = RedisPoolConfig(),
    ) raises:
        """Makes a pool; connections are made when they are needed.

        Args:
            config: Where to, as whom, how long.
            bounds: How many connections, and how long callers wait.

        Raises:
            Error: If a value cannot work, or the system has no more locks.
        """
        config.check()
        if bounds.connections_max < 1 or bounds.waiting_max < 0:
            raise RedisError(
                RedisErrorKind.BAD_ARGUMENT,
                String(
                    "RedisPoolConfig: connections_max is ",
                    bounds.connections_max,
                    " and waiting_max ",
                    bounds.waiting_max,
                    "; at least 1 and 0 are allowed",
                ),
            )
        self._shelf = Mutex(_Shelf(config^, bounds^))
        self._returned = Condvar()

    def acquire(self) raises RedisError -> PooledRedis:
        """Lends a client, and waits for one if all are lent. Callers get one
        in the order in which they came.

        Returns:
            The client; it goes back when what is returned goes.

        Raises:
            RedisError: If none is free in time (`TIMEOUT`), too many wait
                (`POOL_EXHAUSTED`), or the pool is closed (`CLOSED`).
        """
        var shelf = self._shelf.lock()
        shelf[].leave_to_parent()
        if not shelf[].has_free() or len(shelf[].waiting) > 0:
            var number = shelf[].next_number
            if len(shelf[].waiting) >= shelf[].bounds.waiting_max:
                raise RedisError(
                    RedisErrorKind.POOL_EXHAUSTED,
                    String(
                        "all ",
                        shelf[].bounds.connections_max,
                        " connections are lent, and ",
                        len(shelf[].waiting),
                        " callers wait",
                    ),
                )
            shelf[].next_number += 1
            shelf[].waiting.append(number)
            var deadline = Deadline(shelf[].bounds.wait_ms)
            while not (
                shelf[].has_free() and shelf[].waiting.at(0) == number
            ) and (not shelf[].is_closed):
                var left_ms = deadline.left_ms()
                if left_ms == 0:
                    shelf[].leave(number)
                    # Who comes next may be first now.
                    self._returned.notify_all()
                    raise RedisError(
                        RedisErrorKind.TIMEOUT,
                        String(
                            "no connection of the pool was free within ",
                            shelf[].bounds.wait_ms,
                            " ms",
                        ),
                    )
                if left_ms < 0:
                    self._returned.wait(shelf)
                else:
                    _ = self._returned.wait_for(shelf, left_ms)
            shelf[].leave(number)
            if len(shelf[].waiting) > 0 and shelf[].has_free():
                self._returned.notify_all()
        if shelf[].is_closed:
            raise RedisError(
                RedisErrorKind.CLOSED, String("the pool of clients is closed")
            )
        if len(shelf[].idle) > 0:
            shelf[].lent_count += 1
            return PooledRedis(self.copy(), shelf[].idle.pop(), shelf[].process)
        var client = OwnedPointer(
            RedisClient(shelf[].config.copy(), shelf[].context)
        )
        shelf[].lent_count += 1
        return PooledRedis(self.copy(), client^, shelf[].process)

    def _give_back(self, var client: OwnedPointer[RedisClient], process: Int):
        # A failed one is not kept: its room is another's. Nor is one that is
        # special: what it watches, or its database, is nothing for whoever gets
        # it next.
        var is_kept = (
            client[].is_connected() and not client[]._link.is_special()
        )
        var shelf = self._shelf.lock()
        shelf[].leave_to_parent()
        if process == shelf[].process:
            shelf[].lent_count -= 1
            if len(shelf[].waiting) > 0:
                self._returned.notify_all()
        else:
            # It was lent in another process, where it counts.
            is_kept = False
        if is_kept and not shelf[].is_closed:
            shelf[].idle.append(client^)
            return
        # Not under the lock: a goodbye over TLS may wait for its server.
        deinit(shelf^)
        client[].close()

    def lent_count(self) -> Int:
        """Counts the clients that are lent."""
        return self._shelf.lock()[].lent_count

    def idle_count(self) -> Int:
        """Counts the connections that wait for work."""
        return len(self._shelf.lock()[].idle)

    def close(self):
        """Closes the connections: those that are lent when they come back."""
        var closed = List[OwnedPointer[RedisClient]]()
        var shelf = self._shelf.lock()
        shelf[].is_closed = True
        swap(closed, shelf[].idle)
        self._returned.notify_all()
        deinit(shelf^)
        closed.clear()


struct PooledRedis(Movable):
    """A client that was lent by a pool, and goes back with this value."""

    var _pool: RedisPool
    var _client: Optional[OwnedPointer[RedisClient]]
    var _process: Int

    def __init__(
        out self,
        var pool: RedisPool,
        var client: OwnedPointer[RedisClient],
        process: Int,
    ):
        """Takes a client; `RedisPool.acquire` does that.

        Args:
            pool: Where it goes back.
            client: The client.
            process: Whose client it is, by the process's number.
        """
        self._pool = pool^
        self._client = client^
        self._process = process

    def __deinit__(deinit self):
        """Gives the client back."""
        var client = self._client^
        self._pool._give_back(client.take(), self._process)

    def __getitem__(
        ref self,
    ) -> ref[self._client.value()[]] RedisClient:
        """Lends the client."""
        return self._client.held()[]

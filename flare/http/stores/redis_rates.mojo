"""Rates that all processes share, counted by Redis."""

from flare.http.middleware.rate_store import BucketVerdict, RateStore
from flare.redis.pool import RedisPool
from flare.redis.script import RedisScript


struct RedisRates(Copyable, RateStore):
    """Buckets of tokens in Redis or Valkey, for `RateLimit`.

        var redis = RedisPool(RedisConfig.from_url("redis://127.0.0.1"))
        server.serve(
            RateLimit(router^, rate=5, burst=10, store=RedisRates(redis^))
        )

    A bucket is one key with one number, the time when it will be full (the
    generic cell rate algorithm), by the clock of Redis; so it is a window that
    slides with each request, costs the same for any burst, and goes by itself
    when it is full. One script reads and writes it, so no two processes take
    the same token. What a clock that was ahead has left there, as before a
    fail-over, counts as an empty bucket. With a small `RedisConfig.timeout_ms` nobody waits long for
    a Redis that hangs.
    """

    var prefix: String
    """What its keys begin with; another one for each `RateLimit` that counts
    apart."""
    var _pool: RedisPool
    var _script: RedisScript

    def __init__(
        out self,
        var pool: RedisPool,
        *,
        var prefix: String = String("rate:"),
    ):
        """Counts in a server.

        Args:
            pool: Connections to it.
        """
        self.prefix = prefix^
        self._pool = pool^
        self._script = RedisScript(
            """
            local now = redis.call('TIME')
            now = now[1] * 1000000 + now[2]
            local interval, span = ARGV[1], ARGV[1] * ARGV[2]
            local full = tonumber(redis.call('GET', KEYS[1])) or 0
            if full > now + span then
                full = now + span
                redis.call('SET', KEYS[1], string.format('%.0f', full),
                    'PX', math.ceil(span / 1000))
            end
            local after = math.max(full, now) + interval
            if after - now > span then
                return {0, 0, after - now - span}
            end
            redis.call('SET', KEYS[1], string.format('%.0f', after),
                'PX', math.ceil((after - now) / 1000))
            return {1, math.floor((span - (after - now)) / interval), 0}
            """
        )

    def take(
        self, key: String, interval_us: Int, burst: Int
    ) raises -> BucketVerdict:
        """Takes a token, if there is one.

        Raises:
            Error: If Redis cannot be asked now.
        """
        var redis = self._pool.acquire()
        var keys: List[String] = [self.prefix + key]
        var reply = redis[].eval(self._script, keys, interval_us, burst)
        return BucketVerdict(
            reply[0].integer() == 1,
            reply[1].integer(),
            reply[2].integer() * 1_000,
        )

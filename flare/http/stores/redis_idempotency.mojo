"""First answers that all processes know of, kept by Redis."""

from flare.http.middleware.idempotency_store import (
    IdempotencyStore,
    KeyRecord,
    KeyState,
)
from flare.redis.core.error import RedisError, RedisErrorKind
from flare.redis.pipeline import Pipeline
from flare.redis.pool import RedisPool
from flare.redis.script import RedisScript


struct RedisIdempotency(Copyable, IdempotencyStore):
    """Keeps first answers in Redis or Valkey, for `Idempotency`.

        var redis = RedisPool(RedisConfig.from_url("redis://127.0.0.1"))
        router.post("/x", Idempotency(FnHandler(save), RedisIdempotency(redis^)))

    A key is a hash with the request's fingerprint and, when it was carried out,
    the answer. One script takes it, so of two processes one does.
    """

    var prefix: String
    """What its keys begin with."""
    var _pool: RedisPool
    var _script: RedisScript

    def __init__(
        out self,
        var pool: RedisPool,
        *,
        var prefix: String = String("idempotency:"),
    ):
        """Keeps answers in a server.

        Args:
            pool: Connections to it.
            prefix: What keys begin with.
        """
        self.prefix = prefix^
        self._pool = pool^
        self._script = RedisScript(
            """
            local known = redis.call('HMGET', KEYS[1], 'print', 'answer')
            if not known[1] then
                redis.call('HSET', KEYS[1], 'print', ARGV[1])
                redis.call('PEXPIRE', KEYS[1], ARGV[2])
                return {0}
            end
            if known[1] ~= ARGV[1] then return {2} end
            if not known[2] then return {1} end
            return {3, known[2]}
            """
        )

    def begin(
        self, key: String, fingerprint: String, lock_ms: Int
    ) raises -> KeyRecord:
        """Takes a key for a request.

        Args:
            key: The key.
            fingerprint: Of the request.
            lock_ms: How long it is busy, in milliseconds.

        Returns:
            What was known before.

        Raises:
            Error: If Redis cannot be asked now.
        """
        var redis = self._pool.acquire()
        var keys: List[String] = [self.prefix + key]
        var reply = redis[].eval(self._script, keys, fingerprint, lock_ms)
        var state = reply[0].integer()
        if state < 0 or state > 3:
            raise RedisError(
                RedisErrorKind.PROTOCOL,
                String("the script of RedisIdempotency returned ", state),
            )
        var answer = List[UInt8]()
        if state == 3:
            answer.extend(reply[1].octets())
        return KeyRecord(KeyState(UInt8(state)), answer^)

    def finish(
        self,
        key: String,
        fingerprint: String,
        answer: List[UInt8],
        keep_ms: Int,
    ) raises:
        """Keeps an answer.

        Args:
            key: The key.
            fingerprint: Of the request.
            answer: The answer.
            keep_ms: How long, in milliseconds.

        Raises:
            Error: If Redis cannot be asked now, or has no memory left.
        """
        var name = self.prefix + key
        var pipe = Pipeline()
        pipe.command("HSET", name, "print", fingerprint, "answer", Span(answer))
        pipe.command("PEXPIRE", name, keep_ms)
        var redis = self._pool.acquire()
        for reply in redis[].execute(pipe):
            reply.check()

    def forget(self, key: String) raises:
        """Lets a key be used again.

        Args:
            key: The key.

        Raises:
            Error: If Redis cannot be asked now.
        """
        var redis = self._pool.acquire()
        _ = redis[].delete(self.prefix + key)

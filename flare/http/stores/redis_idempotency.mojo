"""First answers that all processes know of, kept by Redis."""

from flare.http.middleware.idempotency_store import (
    IdempotencyStore,
    KeyClaim,
    KeyRecord,
    KeyState,
)
from flare.redis.client import RedisClient
from flare.redis.core.error import RedisError, RedisErrorKind
from flare.redis.pool import RedisPool
from flare.redis.script import RedisScript


struct RedisIdempotency(Copyable, IdempotencyStore):
    """Keeps first answers in Redis or Valkey, for `Idempotency`.

        var redis = RedisPool(RedisConfig.from_url("redis://127.0.0.1"))
        router.post("/x", Idempotency(FnHandler(save), RedisIdempotency(redis^)))

    A key is a hash with the request's fingerprint, who holds it and, when it was
    carried out, the answer. One script takes it, so of two processes one does,
    and only that one lets it go.
    """

    var prefix: String
    """What its keys begin with."""
    var _pool: RedisPool
    var _begin: RedisScript
    var _finish: RedisScript
    var _forget: RedisScript

    def __init__(
        out self,
        var pool: RedisPool,
        *,
        var prefix: String = String("idempotency:"),
    ):
        """Keeps answers in a server.

        Args:
            pool: Connections to it.
        """
        self.prefix = prefix^
        self._pool = pool^
        self._begin = RedisScript(
            """
            local known = redis.call('HMGET', KEYS[1], 'print', 'answer')
            if not known[1] then
                redis.call('HSET', KEYS[1], 'print', ARGV[1],
                    'owner', ARGV[3])
                redis.call('PEXPIRE', KEYS[1], ARGV[2])
                return {0}
            end
            if known[1] ~= ARGV[1] then return {2} end
            if not known[2] then return {1} end
            return {3, known[2]}
            """
        )
        self._finish = RedisScript(
            """
            local owner = redis.call('HGET', KEYS[1], 'owner')
            if owner and owner ~= ARGV[2] then return 0 end
            redis.call('HSET', KEYS[1], 'print', ARGV[1], 'owner', ARGV[2],
                'answer', ARGV[3])
            redis.call('PEXPIRE', KEYS[1], ARGV[4])
            return 1
            """
        )
        self._forget = RedisScript(
            """
            if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then
                return 0
            end
            return redis.call('DEL', KEYS[1])
            """
        )

    def begin(self, claim: KeyClaim, lock_ms: Int) raises -> KeyRecord:
        """Takes a key for a request.

        Raises:
            Error: If Redis cannot be asked now. A key that it may have given
                all the same is let go again, so that the request can come
                again.
        """
        var redis = self._pool.acquire()
        var keys: List[String] = [self.prefix + claim.key]
        try:
            return self._ask(redis[], keys, claim, lock_ms)
        except error:
            if error.may_have_run():
                self._try_to_forget(redis[], keys, claim)
            raise error.copy()

    def _ask(
        self,
        mut redis: RedisClient,
        keys: List[String],
        claim: KeyClaim,
        lock_ms: Int,
    ) raises RedisError -> KeyRecord:
        var reply = redis.eval(
            self._begin, keys, claim.fingerprint, lock_ms, claim.owner
        )
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

    def _try_to_forget(
        self, mut redis: RedisClient, keys: List[String], claim: KeyClaim
    ):
        """Lets a key go whose taking has failed. It is held for its time if
        that fails, too; the first failure says enough."""
        try:
            _ = redis.eval(self._forget, keys, claim.owner)
        except:
            return

    def finish(self, claim: KeyClaim, answer: List[UInt8], keep_ms: Int) raises:
        """Keeps an answer, unless the key is somebody else's by now.

        Raises:
            Error: If Redis cannot be asked now, or has no memory left.
        """
        var redis = self._pool.acquire()
        var keys: List[String] = [self.prefix + claim.key]
        _ = redis[].eval(
            self._finish,
            keys,
            claim.fingerprint,
            claim.owner,
            Span(answer),
            keep_ms,
        )

    def forget(self, claim: KeyClaim) raises:
        """Lets a key be used again, unless it is somebody else's by now.

        Raises:
            Error: If Redis cannot be asked now.
        """
        var redis = self._pool.acquire()
        var keys: List[String] = [self.prefix + claim.key]
        _ = redis[].eval(self._forget, keys, claim.owner)

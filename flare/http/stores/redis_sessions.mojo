"""Sessions in Redis: they end by themselves, or when somebody ends them."""

from flare.http.message.form import FormData
from flare.http.session.store import SessionStore
from flare.redis.pipeline import Pipeline
from flare.redis.pool import RedisPool
from flare.redis.script import RedisScript
from flare.sys.clock import unix_seconds


struct RedisSessions(Copyable, SessionStore):
    """Keeps the values of sessions in Redis or Valkey, for `Sessions`.

        var redis = RedisPool(RedisConfig.from_url("redis://127.0.0.1"))
        var sessions = RedisSessions(redis^, owner_name="user")
        # A lost telephone:
        _ = sessions.revoke_owner("ann")
        server.serve(Sessions(router^, keys^, store=sessions^))

    A session is a key that expires with it. Give the server a policy of memory
    that evicts nothing (`maxmemory-policy noeviction`), or sessions end early.
    """

    var prefix: String
    """What its keys begin with."""
    var owner_name: String
    """The value of a session that says whose it is; empty if nothing does."""
    var _pool: RedisPool
    var _revoke: RedisScript

    def __init__(
        out self,
        var pool: RedisPool,
        *,
        var prefix: String = String("session:"),
        var owner_name: String = String(),
    ):
        """Keeps sessions in a server.

        Args:
            pool: Connections to it.
            prefix: What keys begin with.
            owner_name: The value of a session that says whose it is, such as
                "user", for `revoke_owner`. A handler that changes it calls
                `Session.renew`.
        """
        self.prefix = prefix^
        self.owner_name = owner_name^
        self._pool = pool^
        self._revoke = RedisScript(
            """
            local count = 0
            for _, id in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
                count = count + redis.call('DEL', ARGV[1] .. id)
            end
            redis.call('DEL', KEYS[1])
            return count
            """
        )

    def load(self, id: String) raises -> Optional[String]:
        """Looks a session up.

        Args:
            id: Its id.

        Returns:
            Its values; nothing if it has ended.

        Raises:
            Error: If Redis cannot be asked now.
        """
        var redis = self._pool.acquire()
        return redis[].get(self.prefix + id)

    def save(self, id: String, values: String, max_age_s: Int) raises:
        """Keeps the values of a session.

        Args:
            id: Its id.
            values: The values, as an encoded form.
            max_age_s: How long to keep them, in seconds.

        Raises:
            Error: If Redis cannot be asked now, or has no memory left.
        """
        var pipe = Pipeline()
        pipe.command("SET", self.prefix + id, values, "EX", max_age_s)
        var owner = Optional[String](None)
        if self.owner_name != "":
            owner = FormData.parse(values).get(self.owner_name)
        if owner:
            var key = self._owner_key(owner.value())
            var now_s = unix_seconds()
            # By the time of their end, so that those that have can go.
            pipe.command("ZREMRANGEBYSCORE", key, "-inf", now_s)
            pipe.command("ZADD", key, now_s + max_age_s, id)
            pipe.command("EXPIRE", key, max_age_s)
        var redis = self._pool.acquire()
        for reply in redis[].execute(pipe):
            reply.check()

    def remove(self, id: String) raises:
        """Ends a session.

        Args:
            id: Its id.

        Raises:
            Error: If Redis cannot be asked now.
        """
        var redis = self._pool.acquire()
        _ = redis[].delete(self.prefix + id)

    def revoke_owner(self, owner: String) raises -> Int:
        """Ends all sessions of somebody.

        Args:
            owner: The value of `owner_name` in his sessions.

        Returns:
            How many were ended.

        Raises:
            Error: If Redis cannot be asked now.
        """
        var redis = self._pool.acquire()
        var keys: List[String] = [self._owner_key(owner)]
        return redis[].eval(self._revoke, keys, self.prefix).integer()

    def _owner_key(self, owner: String) -> String:
        # No id has a colon.
        return String(self.prefix, "owner:", owner)

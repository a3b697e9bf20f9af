"""Sessions in Redis: they end by themselves, or when somebody ends them."""

from flare.http.message.form import FormData
from flare.http.session.store import SessionStore
from flare.redis.core.error import RedisError, RedisErrorKind
from flare.redis.pool import RedisPool
from flare.redis.script import RedisScript


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
    """The value of a session that says whose it is, such as "user", for
    `revoke_owner`; empty if nothing does. A handler that changes it calls
    `Session.renew`."""
    var _pool: RedisPool
    var _revoke: RedisScript
    var _keep: RedisScript

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
        # The keys are the session's, its next one, and the owner's, if it has
        # one; a session that is new has no id yet. A key is there or not, and
        # changes, in one step, by the clock of Redis: those of workers differ.
        self._keep = RedisScript(
            """
            local id, new_id, values, age = unpack(ARGV)
            if id ~= '' then
                if redis.call('EXISTS', KEYS[1]) == 0 then
                    -- Unless this very change has ended it: its answer was
                    -- lost, and nobody else knows the new id.
                    if id == new_id or redis.call('GET', KEYS[2]) ~= values then
                        return 0
                    end
                elseif id ~= new_id then
                    redis.call('DEL', KEYS[1])
                end
            end
            redis.call('SET', KEYS[2], values, 'EX', age)
            if KEYS[3] then
                local now = redis.call('TIME')[1]
                redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now)
                redis.call('ZREM', KEYS[3], id)
                redis.call('ZADD', KEYS[3], now + age, new_id)
                -- Other sessions may last longer.
                if redis.call('TTL', KEYS[3]) < tonumber(age) then
                    redis.call('EXPIRE', KEYS[3], age)
                end
            end
            return 1
            """
        )

    def load(self, id: String) raises -> Optional[String]:
        """Finds the values of a session.

        Raises:
            Error: If Redis cannot be asked now.
        """
        var redis = self._pool.acquire()
        return redis[].get(self.prefix + id)

    def save(self, id: String, values: String, max_age_s: Int) raises:
        """Keeps the values of a new session.

        Raises:
            Error: If Redis cannot be asked now, or has no memory left.
        """
        _ = self.replace("", id, values, max_age_s)

    def replace(
        self, id: String, new_id: String, values: String, max_age_s: Int
    ) raises -> Bool:
        """Keeps other values of a session, if it is still there.

        If the connection is lost before the answer has come, Redis is asked once
        more: what it has kept already is kept in the same way.

        Args:
            id: Its id; empty for one that is new.
            new_id: The id that it has from now on, often the same; another one
                must be new.

        Raises:
            Error: If Redis cannot be asked now, or has no memory left. If it did
                not answer in time, the change may have been kept.
        """
        var keys: List[String] = [self.prefix + id, self.prefix + new_id]
        var owner = self._owner(values)
        if owner:
            keys.append(self._owner_key(owner.value()))
        try:
            return self._change(keys, id, new_id, values, max_age_s)
        except error:
            if error.kind != RedisErrorKind.ANSWER_LOST:
                raise error.copy()
        return self._change(keys, id, new_id, values, max_age_s)

    def _change(
        self,
        keys: List[String],
        id: String,
        new_id: String,
        values: String,
        max_age_s: Int,
    ) raises RedisError -> Bool:
        var redis = self._pool.acquire()
        return (
            redis[]
            .eval(self._keep, keys, id, new_id, values, max_age_s)
            .integer()
            == 1
        )

    def remove(self, id: String) raises:
        """Ends a session.

        Raises:
            Error: If Redis cannot be asked now.
        """
        var redis = self._pool.acquire()
        _ = redis[].delete(self.prefix + id)

    def revoke_owner(self, owner: String) raises -> Int:
        """Ends all sessions of somebody, and gives how many.

        Args:
            owner: The value of `owner_name` in his sessions.

        Raises:
            Error: If Redis cannot be asked now.
        """
        var redis = self._pool.acquire()
        var keys: List[String] = [self._owner_key(owner)]
        return redis[].eval(self._revoke, keys, self.prefix).integer()

    def _owner(self, values: String) raises -> Optional[String]:
        """Finds whose a session is, if the program has sessions of owners."""
        if self.owner_name == "":
            return None
        return FormData.parse(values).get(self.owner_name)

    def _owner_key(self, owner: String) -> String:
        # No id has a colon.
        return String(self.prefix, "owner:", owner)

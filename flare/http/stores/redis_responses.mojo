"""Responses that all processes share, kept by Redis."""

from flare.bytes.ascii import find_octet, hex_digit_text
from flare.bytes.checked import *
from flare.bytes.hash import sha256
from flare.bytes.utf8 import is_valid_utf8
from flare.http.cache.removals import (
    REMOVAL_LEN_MAX,
    Removal,
    RemovalKind,
)
from flare.http.cache.shared_responses import (
    RemovalNews,
    ResponseStore,
    SharedEntry,
    SharedFind,
)
from flare.redis.config import RedisConfig
from flare.redis.pool import RedisPool, RedisPoolConfig
from flare.redis.script import RedisScript

comptime _SENDER_LEN_MAX = 16
# Of the number of a process, in hex.

comptime _COMMON: StaticString = """
local function number(text)
    return tonumber(text or '') or 0
end
-- How many removals there were; after the loss of all keys a new number.
local function removals()
    local count = number(redis.call('GET', KEYS[1]))
    if count > 0 then return count end
    local now = redis.call('TIME')
    count = now[1] * 1000000 + now[2]
    redis.call('SET', KEYS[1], string.format('%.0f', count))
    return count
end
-- Whether a prefix of the key was purged behind that number.
local function is_purged(since)
    local purged = redis.call('HGETALL', KEYS[3])
    for index = 1, #purged, 2 do
        if number(purged[index + 1]) > number(since) and
                string.sub(ARGV[1], 1, #purged[index]) == purged[index] then
            return true
        end
    end
    return false
end
-- What is kept of the key; nil if that is purged, or no such thing.
local function entry(variant)
    local found = redis.pcall('HMGET', KEYS[4], 'since', 'names', variant)
    if not found.err and found[1] and not is_purged(found[1]) then
        return found
    end
    if found.err or found[1] then redis.call('DEL', KEYS[4]) end
    return nil
end
"""

comptime _FIND: StaticString = """
local found = entry(ARGV[2])
if not found then return {} end
return {found[2], found[3]}
"""

comptime _PUT: StaticString = """
local count = removals()
local since = number(ARGV[4])
if count ~= since then
    local behind = count - since
    if behind < 0 or behind > 4096 then return 0 end
    local log = redis.call('LRANGE', KEYS[2], 0, behind - 1)
    if #log < behind then return 0 end
    for _, line in ipairs(log) do
        local kind, _, text = string.match(line, '^(%u)(%x*) (.*)$')
        if kind == nil or text == ARGV[1] or (kind == 'P' and
                string.sub(ARGV[1], 1, #text) == text) then
            return 0
        end
    end
end
local found = entry(ARGV[2])
if found and (found[2] ~= ARGV[3] or redis.call('HLEN', KEYS[4]) > 33) then
    redis.call('DEL', KEYS[4])
end
redis.call('HSET', KEYS[4], 'since', string.format('%.0f', count),
    'names', ARGV[3], ARGV[2], ARGV[6])
local left = redis.call('PTTL', KEYS[4])
redis.call('PEXPIRE', KEYS[4], math.max(left, number(ARGV[5])))
return 1
"""

comptime _REMOVE: StaticString = """
-- What is kept goes first: that is allowed, and makes room, where memory is full.
if ARGV[3] ~= 'P' then redis.call('DEL', KEYS[4]) end
local count = string.format('%.0f', removals() + 1)
if ARGV[3] == 'P' then
    if redis.call('HLEN', KEYS[3]) >= 64 then
        redis.call('DEL', KEYS[3])
        ARGV[1] = ''
    end
    redis.call('HSET', KEYS[3], ARGV[1], count)
    redis.call('PEXPIRE', KEYS[3], ARGV[4])
end
redis.call('LPUSH', KEYS[2], ARGV[3] .. ARGV[2] .. ' ' .. ARGV[1])
redis.call('LTRIM', KEYS[2], 0, 4095)
redis.call('SET', KEYS[1], count)
return 1
"""

comptime _NEWS: StaticString = """
local count = removals()
local behind = count - number(ARGV[1])
if behind == 0 then return {count, 1} end
if behind < 0 or behind > redis.call('LLEN', KEYS[2]) then
    return {count, 0}
end
return {count, 1, redis.call('LRANGE', KEYS[2], 0, behind - 1)}
"""


struct RedisResponses(Copyable, ResponseStore):
    """Keeps responses in Redis or Valkey, behind the memory of a `CacheStore`.

        var responses = RedisResponses(RedisConfig.from_url("redis://10.0.0.1"))
        var store = CacheStore(octet_max=256 << 20, shared=responses^)

    The responses to a URL are one hash, whose name is a digest, and which
    expires with them. What is removed is counted, and the last 4,096 removals
    are in a list, by which every process hears of those of others.
    """

    var prefix: String
    """What its keys begin with."""
    var _config: RedisConfig
    var _bounds: RedisPoolConfig
    var _pool: RedisPool
    var _octet_max: Int
    var _keep_max_s: Int
    var _find: RedisScript
    var _put: RedisScript
    var _remove: RedisScript
    var _news: RedisScript

    def __init__(
        out self,
        var config: RedisConfig,
        *,
        var prefix: String = String("cache:"),
        timeout_ms: Int = 250,
        octet_max: Int = 1 << 20,
        keep_max_s: Int = 86_400,
        connections_max: Int = 8,
    ) raises:
        """Keeps responses in a server.

        Args:
            config: Where it is, and as whom to log in; of its times those of
                this call count where they are shorter.
            timeout_ms: How long a look-up may take before the request goes on
                without, in milliseconds, 1 or more; with a connection that has
                to be made, twice that.
            octet_max: Longest response, in bytes; a longer one is kept in memory
                alone.
            keep_max_s: Longest time that a response is kept, in seconds.
            connections_max: Most connections of a process.

        Raises:
            Error: If a value cannot work, or the system has no more locks.
        """
        if timeout_ms < 1 or octet_max < 1 or keep_max_s < 1:
            raise Error(
                "RedisResponses: timeout_ms is ",
                timeout_ms,
                ", octet_max ",
                octet_max,
                " and keep_max_s ",
                keep_max_s,
                "; allowed is 1 or more",
            )
        config.timeout_ms = _shorter(config.timeout_ms, timeout_ms)
        config.connect_timeout_ms = _shorter(
            config.connect_timeout_ms, timeout_ms
        )
        # One whose connection was closed while it was idle is asked again.
        config.retry_max = min(config.retry_max, 1)
        self.prefix = prefix^
        self._bounds = RedisPoolConfig()
        self._bounds.connections_max = connections_max
        self._bounds.wait_ms = timeout_ms
        self._pool = RedisPool(config.copy(), self._bounds.copy())
        self._config = config^
        self._octet_max = octet_max
        self._keep_max_s = keep_max_s
        self._find = _script(_FIND)
        self._put = _script(_PUT)
        self._remove = _script(_REMOVE)
        self._news = _script(_NEWS)

    @no_inline
    def __deinit__(deinit self):
        return

    def timeout_ms(self) -> Int:
        """Tells how long a call may take, about."""
        return self._bounds.wait_ms

    def octet_max(self) -> Int:
        """Tells how long a response may be, fields included, in bytes."""
        return self._octet_max

    def renewed(self) raises -> Self:
        """Gives the same store with connections of its own.

        Raises:
            Error: If the system has no more locks.
        """
        var other = self.copy()
        other._pool = RedisPool(self._config.copy(), self._bounds.copy())
        return other^

    def _keys(self, key: StringSpan) -> List[String]:
        var keys: List[String] = [
            self.prefix + "removals",
            self.prefix + "removed",
            self.prefix + "purged",
        ]
        keys.append(self.prefix + "of:" + _digest(key.as_bytes()))
        return keys^

    def find(self, key: String, variant: List[UInt8]) raises -> SharedFind:
        """Finds a response.

        Raises:
            Error: If Redis cannot be asked now.
        """
        var redis = self._pool.acquire()
        var reply = redis[].eval(
            self._find, self._keys(key), key, _digest(Span(variant))
        )
        var found = SharedFind(None, None)
        if len(reply) > 0 and not reply[0].is_null():
            found.names = String(reply[0].text())
        if len(reply) > 1 and not reply[1].is_null():
            found.octets = List[UInt8](reply[1].octets())
        return found^

    def put(self, entry: SharedEntry) raises -> Bool:
        """Keeps a response, and gives False if its key was removed since it was
        asked for.

        Raises:
            Error: If Redis cannot be asked now, or has no memory left.
        """
        var redis = self._pool.acquire()
        var reply = redis[].eval(
            self._put,
            self._keys(entry.key),
            entry.key,
            _digest(Span(entry.variant)),
            entry.names,
            entry.since,
            1_000 * min(entry.keep_s, self._keep_max_s),
            Span(entry.octets),
        )
        return reply.integer() == 1

    def remove(self, removal: Removal, sender: String) raises:
        """Drops responses, and lets all others know.

        Args:
            sender: Who says so, in hex.

        Raises:
            Error: If Redis cannot be asked now, or has no memory left.
        """
        var redis = self._pool.acquire()
        _ = redis[].eval(
            self._remove,
            self._keys(removal.text),
            removal.text,
            sender,
            String(chr(Int(removal.kind.octet))),
            1_000 * self._keep_max_s,
        )

    def news(self, since: Int) raises -> RemovalNews:
        """Tells what was removed since.

        Args:
            since: The number of the last removal that is known.

        Raises:
            Error: If Redis cannot be asked now.
        """
        var redis = self._pool.acquire()
        var reply = redis[].eval(self._news, self._keys(""), since)
        var news = RemovalNews(
            reply[0].integer(), reply[1].integer() == 1, [], []
        )
        if len(reply) > 2:
            # The last one comes first.
            for index in range(len(reply[2])):
                var line = reply[2][len(reply[2]) - 1 - index].octets()
                if not _add_line(news, line):
                    news.is_complete = False
        return news^


def _add_line(mut news: RemovalNews, line: Span[UInt8, _]) -> Bool:
    """Reads KIND SENDER SP TEXT; False if it is none, as others may write."""
    if len(line) == 0:
        return False
    var end = find_octet(line, 32, 1)
    if end == len(line) or end > 1 + _SENDER_LEN_MAX:
        return False
    var kind = RemovalKind(line.at(0))
    if (
        kind != RemovalKind.KEY
        and kind != RemovalKind.PREFIX
        and kind != RemovalKind.INVALID
    ):
        return False
    if len(line) - end - 1 > REMOVAL_LEN_MAX:
        return False
    if not is_valid_utf8(line):
        return False
    var text = StringSpan(unsafe_from_utf8=line.after(end + 1))
    news.removals.append(Removal(kind, text))
    news.senders.append(
        String(StringSpan(unsafe_from_utf8=line.between(1, end)))
    )
    return True


def _digest(octets: Span[UInt8, _]) -> String:
    """Names octets of any length by 32 hex digits."""
    var text = String()
    var digest = sha256(octets)
    for index in range(16):
        text += hex_digit_text(Int(digest[index] >> 4))
        text += hex_digit_text(Int(digest[index] & 15))
    return text^


def _script(source: StaticString) -> RedisScript:
    return RedisScript(String(_COMMON) + String(source))


def _shorter(configured_ms: Int, timeout_ms: Int) -> Int:
    """Negative is for ever."""
    if configured_ms < 0:
        return timeout_ms
    return min(configured_ms, timeout_ms)

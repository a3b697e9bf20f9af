"""A Redis client that does what it is told: a JSON object a line on standard
input, one a line on standard output."""

from flare.bytes.ascii import write_hex_octet
from flare.json import JsonValue, JsonWriter
from flare.redis import (
    Backoff,
    Pipeline,
    RedisClient,
    RedisCluster,
    RedisCommands,
    RedisConfig,
    RedisError,
    RedisPool,
    RedisPoolConfig,
    RedisScript,
    RedisSubscriber,
    Reply,
    ReplyKind,
    ScriptCommands,
    StreamCommands,
    StreamPosition,
)
from flare.sys.mutex import Mutex
from flare.sys.thread import Task, Thread
from flare.tls.config import TlsConfig
from tests.wire.clients.orders import Obedient, obey_all


struct Talker(Defaultable, Movable):
    """What was made so far."""

    var client: Optional[RedisClient]
    var cluster: Optional[RedisCluster]
    var subscriber: Optional[RedisSubscriber]


def _has(order: JsonValue, name: String) -> Bool:
    return order.contains(name)


def _number(order: JsonValue, name: String, default: Int) -> Int:
    try:
        return order[name].int_value()
    except:
        return default


def _text(order: JsonValue, name: String) -> String:
    try:
        return order[name].string_value()
    except:
        return ""


def _texts(order: JsonValue, name: String) -> List[String]:
    var texts = List[String]()
    try:
        for element in order[name].elements():
            texts.append(element.string_value())
    except:
        return []
    return texts^


def _config(order: JsonValue) raises RedisError -> RedisConfig:
    var config = RedisConfig()
    if _has(order, "url"):
        config = RedisConfig.from_url(_text(order, "url"))
    config.timeout_ms = _number(order, "timeout_ms", config.timeout_ms)
    config.connect_timeout_ms = _number(
        order, "connect_timeout_ms", config.connect_timeout_ms
    )
    config.retry_max = _number(order, "retry_max", config.retry_max)
    config.backoff = Backoff(
        _number(order, "backoff_ms", config.backoff.first_ms),
        _number(order, "backoff_max_ms", config.backoff.max_ms),
    )
    config.max_reply_size = _number(
        order, "max_reply_size", config.max_reply_size
    )
    config.max_reply_elements = _number(
        order, "max_reply_elements", config.max_reply_elements
    )
    config.sentinels = _texts(order, "sentinels")
    config.master_name = _text(order, "master_name")
    config.sentinel_username = _text(order, "sentinel_username")
    config.sentinel_password = _text(order, "sentinel_password")
    if _has(order, "ca_file"):
        config.tls = TlsConfig(ca_file=_text(order, "ca_file"))
    return config^


def _write(reply: Reply[_], mut answer: JsonWriter) raises:
    var kind = reply.kind()
    if kind == ReplyKind.NULL:
        answer.null()
    elif kind == ReplyKind.ERROR:
        answer.begin_object()
        answer.key("kind")
        answer.value(String(reply.error().kind))
        answer.key("error")
        answer.value(String(reply.error()))
        answer.key("may_have_run")
        answer.value(Int(reply.error().may_have_run()))
        answer.end_object()
    elif kind == ReplyKind.BOOLEAN:
        answer.value(reply.boolean())
    elif kind == ReplyKind.INTEGER:
        answer.value(reply.integer())
    elif kind == ReplyKind.DOUBLE:
        answer.value(reply.number())
    elif kind.is_aggregate():
        answer.begin_array()
        for item in reply:
            _write(item, answer)
        answer.end_array()
    else:
        answer.value(reply.text())


def _call[
    R: RedisCommands
](mut redis: R, order: JsonValue, mut answer: JsonWriter) raises RedisError:
    """A command of any length."""
    var words = _texts(order, "args")
    var name = words.pop(0)
    if _has(order, "key_index"):
        var index = _number(order, "key_index", -2)
        _note(redis.command(name, words, key_index=index), answer)
    elif _has(order, "as_octets"):
        var octets = List[List[UInt8]]()
        for word in words:
            octets.append(List(word.as_bytes()))
        _note(redis.command(name, octets), answer)
    else:
        _note(redis.command(name, words), answer)


def _note(reply: Reply[_], mut answer: JsonWriter):
    try:
        _note_whole(reply, answer)
    except:
        return


def _note_whole(reply: Reply[_], mut answer: JsonWriter) raises:
    answer.key("reply")
    _write(reply, answer)


def _note_kind(error: RedisError, mut answer: JsonWriter):
    _put(answer, "kind", error.kind.name)
    _put(answer, "error", String(error))
    _put(answer, "may_have_run", Int(error.may_have_run()))


def _put(mut answer: JsonWriter, name: StringSpan, value: Int):
    try:
        answer.key(name)
        answer.value(value)
    except:
        return


def _put(mut answer: JsonWriter, name: StringSpan, value: StringSpan):
    try:
        answer.key(name)
        answer.value(value)
    except:
        return


def _typed[
    R: StreamCommands & ScriptCommands
](mut redis: R, mut answer: JsonWriter) raises RedisError:
    """Every command with a typed answer, one after the other."""
    redis.ping()
    redis.set("{t}a", "hello")
    _put(answer, "get", redis.get("{t}a").value())
    _put(answer, "get_none", Int(Bool(redis.get("{t}none"))))
    var octets: List[UInt8] = [0xFF, 0x00, 0x0D, 0x0A]
    redis.set("{t}o", Span(octets))
    _put(answer, "get_octets", len(redis.get_octets("{t}o").value()))
    redis.set("{t}e", "x", expire_ms=60_000)
    _put(answer, "ttl", Int(redis.ttl_ms("{t}e").value() > 50_000))
    _put(answer, "ttl_none", Int(Bool(redis.ttl_ms("{t}a"))))
    _put(answer, "nx", Int(redis.set_if_absent("{t}a", "y", expire_ms=9_000)))
    _put(answer, "nx_new", Int(redis.set_if_absent("{t}n", "y")))
    _put(answer, "getdel", redis.getdel("{t}n").value().text())
    var many = redis.mget(["{t}a", "{t}none"])
    _put(answer, "mget", many[0].value())
    _put(answer, "mget_none", Int(Bool(many[1])))
    _put(answer, "incr", redis.incr("{t}i") + redis.incr("{t}i", -5))
    _put(answer, "exists", Int(redis.exists("{t}i")))
    _put(answer, "expire", Int(redis.expire_ms("{t}i", 60_000)))
    _put(answer, "hset", redis.hset("{t}h", "f", 1, "g", "two"))
    _put(answer, "hget", redis.hget("{t}h", "g").value())
    _put(answer, "hgetall", len(redis.hgetall("{t}h")))
    _put(answer, "hdel", Int(redis.hdel("{t}h", "f")))
    _put(
        answer, "push", redis.lpush("{t}l", "b", "a") + redis.rpush("{t}l", "c")
    )
    _put(answer, "lrange", String("").join(redis.lrange("{t}l", 0, -1)))
    var first = redis.lpop("{t}l").value().text()
    _put(answer, "pop", first + redis.rpop("{t}l").value().text())
    _put(
        answer,
        "blpop",
        redis.blpop(["{t}l"], wait_ms=1_000).value().value.text(),
    )
    _put(answer, "brpop", Int(Bool(redis.brpop(["{t}l"], wait_ms=50))))
    _put(answer, "sadd", redis.sadd("{t}s", "a", "b"))
    _put(answer, "srem", redis.srem("{t}s", "b", "c"))
    _put(answer, "smembers", redis.smembers("{t}s")[0])
    _put(answer, "sismember", Int(redis.sismember("{t}s", "a")))
    _put(answer, "zadd", Int(redis.zadd("{t}z", 1.5, "m")))
    _put(answer, "zscore", Int(redis.zscore("{t}z", "m").value() * 2))
    _put(answer, "zrange", redis.zrange("{t}z", 0, -1)[0].member)
    var script = RedisScript("return {KEYS[1], ARGV[1]}")
    _put(answer, "eval", redis.eval(script, ["{t}k"], 7)[1].text())
    _streams(redis, answer)


def _streams[
    R: StreamCommands
](mut redis: R, mut answer: JsonWriter) raises RedisError:
    var id = redis.xadd("{t}x", "f", "v", "g", 2)
    _ = redis.xadd("{t}x", "f", "w", max_len=1_000)
    _put(answer, "xlen", redis.xlen("{t}x"))
    _put(answer, "xrange", redis.xrange("{t}x")[0].get("g").value().text())
    var batch = redis.xread([StreamPosition("{t}x", id)], wait_ms=50)
    _put(answer, "xread", batch[0].entries[0].get("f").value().text())
    var last = batch[0].entries[0].id
    var none = redis.xread([StreamPosition("{t}x", last)], wait_ms=20)
    _put(answer, "xread_none", len(none))
    _put(answer, "group", Int(redis.xgroup_create("{t}x", "g", "0")))
    _put(answer, "group_again", Int(redis.xgroup_create("{t}x", "g", "0")))
    var mine = redis.xreadgroup("g", "me", [StreamPosition("{t}x", ">")])
    _put(answer, "xreadgroup", len(mine[0].entries))
    var other = redis.xautoclaim("{t}x", "g", "you", idle_ms=0)
    _put(answer, "xautoclaim", len(other.entries))
    _put(answer, "xack", redis.xack("{t}x", "g", id))


def _hex(octets: Span[UInt8, _]) -> String:
    var text = String()
    for octet in octets:
        write_hex_octet(octet, text)
    return text^


def _take(
    mut redis: RedisClient, order: JsonValue, mut answer: JsonWriter
) raises RedisError:
    """Takes values that Redis has no more then."""
    var what = _text(order, "how")
    if what == "lpop":
        _put(answer, "hex", _hex(redis.lpop("taken").value().octets))
    elif what == "rpop":
        _put(answer, "hex", _hex(redis.rpop("taken").value().octets))
    elif what == "blpop":
        var item = redis.blpop(["taken"], wait_ms=1_000)
        _put(answer, "hex", _hex(item.value().value.octets))
    elif what == "brpop":
        var item = redis.brpop(["taken"], wait_ms=1_000)
        _put(answer, "hex", _hex(item.value().value.octets))
    elif what == "getdel":
        _put(answer, "hex", _hex(redis.getdel("taken").value().octets))
    else:
        _ = redis.xgroup_create("taken", "g", "0")
        var batch = redis.xreadgroup("g", "me", [StreamPosition("taken", ">")])
        var hex = String()
        for ref entry in batch[0].entries:
            for ref field in entry.fields:
                hex += _hex(field.name.octets)
                hex += _hex(field.value.octets)
        _put(answer, "hex", hex)


def _lines(order: JsonValue) -> List[List[String]]:
    var lines = List[List[String]]()
    try:
        for element in order["commands"].elements():
            var line = List[String]()
            for part in element.elements():
                line.append(part.string_value())
            lines.append(line^)
    except:
        return []
    return lines^


def _pipeline(order: JsonValue) raises RedisError -> Pipeline:
    var pipe = Pipeline()
    for a in _lines(order):
        if len(a) == 2 and a[0] == "GET":
            pipe.get(a[1])
        elif len(a) == 3 and a[0] == "SET":
            pipe.set(a[1], a[2])
        elif len(a) == 2 and a[0] == "INCR":
            pipe.incr(a[1])
        else:
            var words = a.copy()
            var name = words.pop(0)
            if _has(order, "key_index"):
                var index = _number(order, "key_index", -2)
                pipe.command(name, words, key_index=index)
            else:
                pipe.command(name, words)
    return pipe^


@fieldwise_init
struct _Count(Copyable, Movable):
    var done: Int
    var failed: Int
    var kind: String


@fieldwise_init
struct _PoolTask(Task):
    """A thread that counts up with clients of a pool."""

    var pool: RedisPool
    var count: Mutex[_Count]
    var round_count: Int
    var block_ms: Int

    def run(mut self) raises:
        for _ in range(self.round_count):
            try:
                self._round()
                self.count.lock()[].done += 1
            except error:
                var count = self.count.lock()
                count[].failed += 1
                count[].kind = error.kind.name

    def _round(self) raises RedisError:
        var redis = self.pool.acquire()
        if self.block_ms > 0:
            _ = redis[].blpop(["nothing"], wait_ms=self.block_ms)
        _ = redis[].incr("pooled")


def _use_pool(order: JsonValue, mut answer: JsonWriter) raises:
    var bounds = RedisPoolConfig()
    bounds.connections_max = _number(order, "connections_max", 4)
    bounds.waiting_max = _number(order, "waiting_max", 1_024)
    bounds.wait_ms = _number(order, "wait_ms", 5_000)
    var pool = RedisPool(_config(order), bounds^)
    var count = Mutex(_Count(0, 0, String()))
    var threads = List[Thread]()
    for _ in range(_number(order, "threads", 8)):
        threads.append(
            Thread(
                _PoolTask(
                    pool.copy(),
                    count,
                    _number(order, "rounds", 50),
                    _number(order, "block_ms", 0),
                )
            )
        )
    while len(threads) > 0:
        threads.pop().join()
    _put(answer, "done", count.lock()[].done)
    _put(answer, "failed", count.lock()[].failed)
    _put(answer, "failed_kind", count.lock()[].kind)
    _put(answer, "idle", pool.idle_count())
    _put(answer, "lent", pool.lent_count())
    pool.close()
    try:
        _ = pool.acquire()
    except error:
        _put(answer, "closed_kind", error.kind.name)


def _watched(
    mut redis: RedisClient, order: JsonValue, mut answer: JsonWriter
) raises RedisError:
    var pipe = _pipeline(order)
    var replies = redis.transaction(pipe)
    if replies:
        _note(replies.value(), answer)
    else:
        _put(answer, "reply", "nothing")


def _listen(
    mut subscriber: RedisSubscriber, order: JsonValue, mut answer: JsonWriter
) raises RedisError:
    var what = _text(order, "do")
    for name in _texts(order, "names"):
        if what == "subscribe":
            subscriber.subscribe(name)
        elif what == "psubscribe":
            subscriber.psubscribe(name)
        elif what == "unsubscribe":
            subscriber.unsubscribe(name)
        elif what == "punsubscribe":
            subscriber.punsubscribe(name)
    if what == "receive":
        var timeout_ms = _number(order, "timeout_ms", 3_000)
        for index in range(_number(order, "count", 1)):
            var message = subscriber.receive(timeout_ms=timeout_ms)
            if message:
                var said = message.value()
                var line = String(said.pattern(), " ", said.channel())
                _put(
                    answer,
                    String("message", index),
                    String(line, " ", said.text()),
                )
    _put(answer, "gap_count", subscriber.gap_count())


def _obey_client(
    mut redis: RedisClient, order: JsonValue, mut answer: JsonWriter
) raises RedisError:
    var what = _text(order, "do")
    if what == "call":
        _call(redis, order, answer)
    elif what == "typed":
        _typed(redis, answer)
    elif what == "take":
        _take(redis, order, answer)
    elif what == "pipeline":
        var pipe = _pipeline(order)
        _note(redis.execute(pipe), answer)
    elif what == "transaction":
        _watched(redis, order, answer)
    elif what == "watch":
        redis.watch(_texts(order, "keys")[0])
    elif what == "eval":
        var script = RedisScript(_text(order, "source"))
        _note(redis.eval(script, _texts(order, "keys"), "x"), answer)
    elif what == "blpop":
        var item = redis.blpop(
            _texts(order, "keys"), wait_ms=_number(order, "wait_ms", 100)
        )
        _put(answer, "item", item.value().value.text() if item else String())


def _obey(
    mut talker: Talker, order: JsonValue, mut answer: JsonWriter
) raises RedisError:
    var what = _text(order, "do")
    if what == "connect":
        talker.client = RedisClient.connect(_config(order))
    elif what == "client":
        talker.client = RedisClient(_config(order))
    elif what == "cluster":
        talker.cluster = RedisCluster(_texts(order, "seeds"), _config(order))
    elif what == "subscriber":
        talker.subscriber = RedisSubscriber(_config(order))
    elif what == "cluster_call":
        _call(talker.cluster.value(), order, answer)
    elif what == "cluster_typed":
        _typed(talker.cluster.value(), answer)
    elif what == "cluster_pipeline":
        _note(talker.cluster.value().execute(_pipeline(order)), answer)
    elif what == "cluster_transaction":
        var replies = talker.cluster.value().transaction(_pipeline(order))
        _note(replies.value(), answer)
    elif "subscribe" in what or what == "receive":
        _listen(talker.subscriber.value(), order, answer)
    else:
        _obey_client(talker.client.value(), order, answer)


def _facts(talker: Talker, mut answer: JsonWriter):
    if talker.client:
        ref client = talker.client.value()
        _put(answer, "is_resp3", Int(client.is_resp3()))
        _put(answer, "is_connected", Int(client.is_connected()))
        _put(answer, "connect_count", client.connect_count())
        _put(answer, "port", Int(client.config().port))
    if talker.cluster:
        ref cluster = talker.cluster.value()
        _put(answer, "node_count", cluster.node_count())
        _put(answer, "redirection_count", cluster.redirection_count())


@fieldwise_init
struct Program(Obedient):
    var talker: Talker

    def obey(mut self, order: JsonValue, mut answer: JsonWriter) raises:
        if _text(order, "do") == "pool":
            _use_pool(order, answer)
            return
        try:
            _obey(self.talker, order, answer)
        except error:
            _note_kind(error, answer)
        _facts(self.talker, answer)


def main() raises:
    """Obeys until the input ends."""
    var program = Program(Talker())
    obey_all(program)

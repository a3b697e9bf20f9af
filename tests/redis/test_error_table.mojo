"""Every error of a server crossed with what a client does: what is sent again,
what the caller reads, and which connection is used behind it."""

from flare.redis.client import RedisClient
from flare.redis.core.error import RedisError, RedisErrorKind
from flare.redis.pipeline import Pipeline
from flare.redis.pool import RedisPool
from flare.sys.backoff import Backoff
from flare.sys.mutex import Mutex
from flare.sys.thread import Task, Thread
from flare.tcp.stream import TcpListener, TcpStream
from tests.support.assertions import assert_equal, assert_true
from tests.support.loopback import PATIENCE_MS
from tests.support.scripted_redis import Asking, config_of, listen

comptime _RETRY_MAX = 2


@fieldwise_init
struct _Row(Copyable, Movable):
    var code: StaticString
    var kind: StaticString
    # Whether nothing was carried out, and another attempt may fare better.
    var is_repeated: Bool
    # Whether the same connection serves on.
    var is_kept: Bool


# Redis, src/server.c and cluster.c: where each of them is written.
comptime _ROWS: List[_Row] = [
    _Row("MOVED 1 127.0.0.1:1", "Moved", False, True),
    _Row("ASK 1 127.0.0.1:1", "Ask", False, True),
    _Row("TRYAGAIN keys on their way", "TryAgain", True, True),
    _Row("LOADING the dataset", "Loading", True, True),
    _Row("CLUSTERDOWN no node", "ClusterDown", True, True),
    _Row("MASTERDOWN no link", "MasterDown", True, True),
    # What was the master is none; another connection may lead to the new one.
    _Row("READONLY a replica", "ReadOnly", False, False),
    _Row("NOAUTH first", "AuthRequired", False, True),
    _Row("WRONGPASS no", "AuthFailed", False, True),
    _Row("NOPERM no", "NoPermission", False, True),
    # A script may run for ever, and no client knows for how long.
    _Row("BUSY script", "Busy", False, True),
    _Row("OOM memory", "OutOfMemory", False, True),
    _Row("WRONGTYPE no list", "WrongType", False, True),
    _Row("NOSCRIPT none", "NoScript", False, True),
    _Row("CROSSSLOT apart", "CrossSlot", False, True),
    _Row("MISCONF disk", "Refused", False, True),
    _Row("ERR any", "Refused", False, True),
    _Row("UNKNOWNCODE any", "Refused", False, True),
]


@fieldwise_init
struct _Saying(Task):
    """Says one thing after the other, whatever it is asked, and the last one
    from then on; until a connection comes that asks nothing."""

    var _listener: TcpListener
    var _answers: List[String]
    var _asked: Mutex[List[String]]

    def run(mut self) raises:
        var count = 0
        var has_heard = True
        while has_heard:
            has_heard = False
            var client = Asking(self._listener)
            while client.asks():
                has_heard = True
                self._asked.lock()[].append(client.asked)
                client.say(self._answers[min(count, len(self._answers) - 1)])
                count += 1


struct _Stage(Movable):
    """A client, and the server that it asks."""

    var client: RedisClient
    var asked: Mutex[List[String]]
    var _port: UInt16
    var _server: Thread

    def __init__(out self, var answers: List[String]) raises:
        var listener = listen()
        var config = config_of(listener)
        config.retry_max = _RETRY_MAX
        config.backoff = Backoff(1, 1)
        self._port = config.port
        self.asked = Mutex(List[String]())
        self._server = Thread(_Saying(listener^, answers^, self.asked))
        self.client = RedisClient.connect(config^)

    def asked_count(self) -> Int:
        return len(self.asked.lock()[])

    def end(deinit self) raises:
        self.client.close()
        var last = TcpStream.connect("127.0.0.1", self._port, PATIENCE_MS)
        last.close()
        self._server^.join()


def _kind_of_get(mut client: RedisClient) raises -> String:
    try:
        _ = client.get("key")
        return String("none")
    except error:
        return String(error.kind)


def _kind_of_set(mut client: RedisClient) raises -> String:
    try:
        client.set("key", "value")
        return String("none")
    except error:
        return String(error.kind)


def _transacted(mut client: RedisClient) raises RedisError -> String:
    """Sets and counts in a transaction; gives the kind of the error, and what
    the second command gave if there was a reply."""
    var pipe = Pipeline()
    pipe.set("a", "1")
    pipe.incr("b")
    try:
        var replies = client.transaction(pipe).value()
        var number = replies[1].integer()
        return String(replies[0].error().kind, " ", number)
    except error:
        return String(error.kind)


def test_single_commands() raises:
    for row in materialize[_ROWS]():
        for is_write in [False, True]:
            var said = String("-", row.code, "\r\n")
            var stage = _Stage([said, said, said, String("+OK\r\n")])
            var kind: String
            if is_write:
                kind = _kind_of_set(stage.client)
            else:
                kind = _kind_of_get(stage.client)
            assert_equal(kind, row.kind, row.code)
            var attempts = 1 + (_RETRY_MAX if row.is_repeated else 0)
            assert_equal(stage.asked_count(), attempts, row.code)
            # The connection is whole: the next answer is the next command's.
            if row.is_repeated:
                assert_equal(_kind_of_set(stage.client), "none", row.code)
            else:
                assert_equal(_kind_of_set(stage.client), row.kind, row.code)
            assert_equal(
                stage.client.connect_count(),
                1 if row.is_kept else 2,
                row.code,
            )
            stage^.end()


def test_an_error_that_passes_is_not_seen() raises:
    for row in materialize[_ROWS]():
        if not row.is_repeated:
            continue
        var said = String("-", row.code, "\r\n")
        var stage = _Stage([said, said, String("+OK\r\n")])
        assert_equal(_kind_of_set(stage.client), "none", row.code)
        assert_equal(stage.asked_count(), 1 + _RETRY_MAX, row.code)
        assert_equal(stage.client.connect_count(), 1)
        stage^.end()


def test_errors_in_the_midst_of_a_pipeline() raises:
    """Redis, Pipelining: each command has its own reply, so one that is refused
    is no reason to send the others again."""
    for row in materialize[_ROWS]():
        var said = String("+OK\r\n-", row.code, "\r\n:7\r\n")
        var stage = _Stage([said^, String("$1\r\nv\r\n")])
        var pipe = Pipeline()
        pipe.set("a", "1")
        pipe.set("b", "2")
        pipe.incr("c")
        var replies = stage.client.execute(pipe)
        assert_equal(len(replies), 3)
        assert_equal(replies[0].text(), "OK")
        assert_equal(String(replies[1].error().kind), row.kind, row.code)
        assert_equal(replies[2].integer(), 7)
        assert_equal(stage.asked_count(), 1, row.code)
        # What follows reads its own answer, of the same server or a new one.
        assert_equal(stage.client.get("key").value(), "v", row.code)
        assert_equal(
            stage.client.connect_count(), 1 if row.is_kept else 2, row.code
        )
        stage^.end()


def test_errors_in_a_transaction() raises:
    """Redis, Transactions: one that is refused when it is queued aborts all
    (EXECABORT), and the client reads why; one that fails when it is carried out
    fails alone."""
    for row in materialize[_ROWS]():
        for is_queued in [False, True]:
            var said: String
            if is_queued:
                said = String(
                    "+OK\r\n-", row.code, "\r\n+QUEUED\r\n-EXECABORT no\r\n"
                )
            else:
                said = String(
                    "+OK\r\n+QUEUED\r\n+QUEUED\r\n*2\r\n-",
                    row.code,
                    "\r\n:7\r\n",
                )
            var stage = _Stage([said^, String("$1\r\nv\r\n")])
            var found = _transacted(stage.client)
            var expected = String(row.kind)
            if not is_queued:
                expected += " 7"
            assert_equal(found, expected, row.code)
            assert_equal(stage.asked_count(), 1, row.code)
            assert_equal(stage.client.get("key").value(), "v", row.code)
            stage^.end()


def test_what_a_pool_lends_behind_an_error() raises:
    for row in materialize[_ROWS]():
        var listener = listen()
        var config = config_of(listener)
        config.retry_max = 0
        var port = config.port
        var pool = RedisPool(config^)
        var said = String("-", row.code, "\r\n")
        var server = Thread(_Saying(listener^, [said^], Mutex(List[String]())))
        var redis = pool.acquire()
        assert_equal(_kind_of_set(redis[]), row.kind, row.code)
        _ = redis^
        assert_equal(pool.lent_count(), 0)
        assert_equal(pool.idle_count(), Int(row.is_kept), row.code)
        pool.close()
        var last = TcpStream.connect("127.0.0.1", port, PATIENCE_MS)
        last.close()
        server^.join()


def test_replies_that_are_cut_off() raises:
    """RESP: nothing says which answer belongs to what, so behind one that did
    not come whole in its time the connection is no good, wherever it was cut."""
    var whole = String("$5\r\nhello\r\n")
    for count in range(whole.byte_length()):
        var listener = listen()
        var config = config_of(listener)
        config.retry_max = 0
        config.timeout_ms = 30
        var port = config.port
        var pool = RedisPool(config^)
        var part = String(whole[byte=:count])
        var server = Thread(_Saying(listener^, [part^], Mutex(List[String]())))
        var redis = pool.acquire()
        assert_equal(
            _kind_of_get(redis[]), String(RedisErrorKind.TIMEOUT), String(count)
        )
        _ = redis^
        assert_equal(pool.idle_count(), 0, String(count))
        pool.close()
        var last = TcpStream.connect("127.0.0.1", port, PATIENCE_MS)
        last.close()
        server^.join()


def test_a_node_of_a_cluster_says_what_to_do() raises:
    """Redis Cluster specification: only a client of clusters follows these."""
    for code in ["MOVED 3999 127.0.0.1:6381", "ASK 3999 127.0.0.1:6381"]:
        var error = RedisError.of_reply(String(code).as_bytes())
        assert_true("use RedisCluster" in String(error), String(error))

"""A client of a cluster whose nodes do not answer."""

from flare.redis.cluster import RedisCluster
from flare.redis.config import RedisConfig
from flare.redis.core.error import RedisErrorKind
from flare.sys.backoff import Backoff
from flare.sys.clock import monotonic_ms
from flare.sys.mutex import Mutex
from flare.sys.thread import Task, Thread
from flare.tcp.stream import TcpListener
from tests.support.assertions import assert_equal, assert_raises, assert_true
from tests.support.loopback import PATIENCE_MS
from tests.support.scripted_redis import Asking, listen

comptime _TIMEOUT_MS = 900


def test_silent_nodes_share_the_time_of_a_command() raises:
    """`RedisConfig.timeout_ms` is for all of it, repetitions included."""
    var listeners = List[TcpListener]()
    var seeds = List[String]()
    for _ in range(4):
        # The kernel takes connections for it, and nobody answers.
        var listener = listen()
        seeds.append(String("127.0.0.1:", listener.local_addr().port))
        listeners.append(listener^)
    var config = RedisConfig()
    config.protocol = 2
    config.timeout_ms = _TIMEOUT_MS
    var cluster = RedisCluster(seeds^, config^)
    var began_ms = monotonic_ms()
    with assert_raises(contains="no answer within"):
        _ = cluster.get("key")
    var took_ms = monotonic_ms() - began_ms
    assert_true(took_ms < 2 * _TIMEOUT_MS, String(took_ms))
    _ = listeners^


struct _Node(Task):
    """Says where the slots are, and one thing to all else, and notes when its
    client ends the connection."""

    var _listener: TcpListener
    var _map: String
    var _answer: String
    var _has_ended: Mutex[Bool]

    def __init__(
        out self,
        var listener: TcpListener,
        owner: UInt16,
        var answer: String,
        has_ended: Mutex[Bool],
    ):
        self._listener = listener^
        self._has_ended = has_ended
        self._map = String(
            "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:",
            owner,
            "\r\n",
        )
        self._answer = answer^

    def run(mut self) raises:
        var client = Asking(self._listener)
        while client.asks():
            var is_map = "SLOTS" in client.asked
            client.say(self._map if is_map else self._answer)
        self._has_ended.lock()[] = True


def _config() -> RedisConfig:
    var config = RedisConfig()
    config.protocol = 2
    config.timeout_ms = PATIENCE_MS
    config.backoff = Backoff(1, 1)
    config.retry_max = 100
    return config^


def test_connections_to_nodes_that_left_are_closed() raises:
    """Redis, cluster specification: clients keep to the map of slots; a node
    without one serves no key."""
    var left = listen()
    var stays = listen()
    var owner = stays.local_addr().port
    var seeds: List[String] = [String("127.0.0.1:", left.local_addr().port)]
    var has_left = Mutex(False)
    var first = Thread(_Node(left^, owner, String(), has_left))
    var second = Thread(_Node(stays^, owner, String("$-1\r\n"), Mutex(False)))
    var cluster = RedisCluster(seeds^, _config())
    _ = cluster.get("key")
    _ = cluster.get("key")
    # It ends with its connection, or when its patience is over.
    first^.join()
    assert_true(has_left.lock()[], "its connection is open")
    _ = cluster.get("key")
    cluster.close()
    second^.join()


def test_the_last_cause_is_told() raises:
    """What keeps a command from being carried out is what the node says."""
    var listener = listen()
    var owner = listener.local_addr().port
    var seeds: List[String] = [String("127.0.0.1:", owner)]
    var server = Thread(
        _Node(listener^, owner, String("-LOADING from disk\r\n"), Mutex(False))
    )
    var cluster = RedisCluster(seeds^, _config())
    var kind = RedisErrorKind.REFUSED
    try:
        _ = cluster.get("key")
    except error:
        kind = error.kind
        assert_true("from disk" in error.message, error.message)
    assert_equal(String(kind), "Loading")
    cluster.close()
    server^.join()

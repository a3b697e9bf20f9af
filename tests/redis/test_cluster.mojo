"""A client of a cluster whose nodes do not answer."""

from flare.net.socket_addr import SocketAddr
from flare.redis.cluster import RedisCluster
from flare.redis.config import RedisConfig
from flare.sys.clock import monotonic_ms
from flare.tcp.stream import TcpListener
from tests.support.assertions import assert_raises, assert_true

comptime _TIMEOUT_MS = 900


def test_silent_nodes_share_the_time_of_a_command() raises:
    """`RedisConfig.timeout_ms` is for all of it, repetitions included."""
    var listeners = List[TcpListener]()
    var seeds = List[String]()
    for _ in range(4):
        # The kernel takes connections for it, and nobody answers.
        var listener = TcpListener.bind(SocketAddr.localhost(0))
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

"""The Redis client with a cluster of three, and with sentinels."""

import time

import pytest
from peer_servers import program
from raw_server import Fetcher
from redis_servers import PACKAGE, RedisServer, Sentinel, start_cluster
from test_redis import TYPED
from wire_programs import built

QUICK = {"backoff_ms": 20, "backoff_max_ms": 100}


@pytest.fixture(scope="module")
def talker():
    running = Fetcher(built("redis_talker", "clients"))
    yield running
    assert running.process.poll() is None, "the client died during the tests"
    assert running.close() == 0


@pytest.fixture(scope="module")
def nodes(tmp_path_factory):
    program("redis-server", PACKAGE)
    running = start_cluster(tmp_path_factory.mktemp("cluster"))
    yield running
    for node in running:
        node.stop()


@pytest.fixture
def cluster(talker, nodes):
    """A client that knows one node."""
    for node in nodes:
        node.ask("FLUSHALL")
    answer = talker.ask(do="cluster", seeds=[nodes[1].address], **QUICK)
    assert "error" not in answer, answer
    return talker


def call(talker, *words: str) -> object:
    answer = talker.ask(do="cluster_call", args=list(words))
    return answer.get("reply", answer)


def slot_of(node: RedisServer, key: str) -> int:
    return int(node.ask("CLUSTER", "KEYSLOT", key)[1:])


def ids(nodes: list[RedisServer]) -> list[str]:
    return [node.ask("CLUSTER", "MYID").split(b"\r\n")[1].decode() for node in nodes]


def test_commands_with_typed_answers(cluster):
    answer = cluster.ask(do="cluster_typed")
    assert {name: answer.get(name) for name in TYPED} == TYPED, answer


def test_each_key_goes_to_its_node(cluster, nodes):
    for number in range(100):
        assert call(cluster, "SET", f"key{number}", str(number)) == "OK"
    for number in range(100):
        assert call(cluster, "GET", f"key{number}") == str(number)
    answer = cluster.ask(do="cluster_call", args=["PING"])
    assert (answer["node_count"], answer["redirection_count"]) == (3, 0)
    counts = [int(node.ask("DBSIZE")[1:]) for node in nodes]
    assert sum(counts) == 100 and min(counts) > 10


def test_keys_of_two_slots(cluster):
    assert call(cluster, "MGET", "foo", "bar")["kind"] == "CrossSlot"
    assert call(cluster, "MSET", "{a}1", "x", "{a}2", "y") == "OK"
    assert call(cluster, "MGET", "{a}1", "{a}2") == ["x", "y"]


def test_a_slot_that_has_moved(cluster, nodes):
    slot = slot_of(nodes[0], "moved")
    source = slot * 3 // 16384
    target = (source + 1) % 3
    call(cluster, "SET", "moved", "1")
    call(cluster, "DEL", "moved")
    names = ids(nodes)
    for node in (nodes[target], nodes[source], nodes[3 - source - target]):
        node.ask("CLUSTER", "SETSLOT", str(slot), "NODE", names[target])
    assert call(cluster, "SET", "moved", "2") == "OK"
    answer = cluster.ask(do="cluster_call", args=["GET", "moved"])
    assert (answer["reply"], answer["redirection_count"]) == ("2", 1)
    assert nodes[target].ask("GET", "moved") == b"$1\r\n2\r\n"


def test_a_key_that_is_on_its_way(cluster, nodes):
    slot = slot_of(nodes[0], "asked")
    source = slot * 3 // 16384
    target = (source + 1) % 3
    names = ids(nodes)
    nodes[target].ask("CLUSTER", "SETSLOT", str(slot), "IMPORTING", names[source])
    nodes[source].ask("CLUSTER", "SETSLOT", str(slot), "MIGRATING", names[target])
    assert call(cluster, "SET", "asked", "1") == "OK"
    assert call(cluster, "GET", "asked") == "1"
    answer = cluster.ask(do="cluster_call", args=["GET", "asked"])
    assert answer["redirection_count"] == 3, "each time: the slot has not moved"
    nodes[target].ask("DEL", "asked")
    for node in (nodes[target], nodes[source]):
        node.ask("CLUSTER", "SETSLOT", str(slot), "STABLE")


def test_a_node_that_is_killed(cluster, nodes):
    call(cluster, "SET", "foo", "1")
    victim = nodes[slot_of(nodes[0], "foo") * 3 // 16384]
    victim.kill()
    start = time.monotonic()
    cluster.ask(do="cluster", seeds=[n.address for n in nodes], timeout_ms=600, **QUICK)
    answer = call(cluster, "SET", "foo", "2")
    assert answer["kind"] in ("ConnectFailed", "ClusterDown"), answer
    assert time.monotonic() - start < 3
    victim.start()
    end = time.monotonic() + 10
    while b"cluster_state:ok" not in victim.ask("CLUSTER", "INFO"):
        assert time.monotonic() < end
        time.sleep(0.02)
    cluster.ask(do="cluster", seeds=[n.address for n in nodes], **QUICK)
    assert call(cluster, "SET", "foo", "3") == "OK"


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """A master, its replica, and three sentinels that know both."""
    program("redis-server", PACKAGE)
    tmp_path = tmp_path_factory.mktemp("watched")
    master = RedisServer(tmp_path / "master")
    replica = RedisServer(
        tmp_path / "replica", replicaof=f"127.0.0.1 {master.port}"
    )
    sentinels = [
        Sentinel(tmp_path / f"sentinel{index}", master.port, 2) for index in range(3)
    ]
    end = time.monotonic() + 15
    while not all(
        b"num-slaves\r\n$1\r\n1" in (said := sentinel.ask("SENTINEL", "MASTER", "mymaster"))
        and b"num-other-sentinels\r\n$1\r\n2" in said
        for sentinel in sentinels
    ) or b"master_link_status:up" not in replica.ask("INFO", "replication"):
        assert time.monotonic() < end, "the sentinels do not find each other"
        time.sleep(0.02)
    yield master, replica, sentinels
    for server in (*sentinels, replica, master):
        server.stop()


def test_a_master_that_nobody_knows(talker, watched):
    _, _, sentinels = watched
    answer = talker.ask(
        do="connect", sentinels=[sentinels[0].address], master_name="other"
    )
    assert answer["kind"] == "NoMaster"
    assert "knows no master other" in answer["error"]


def test_a_master_that_dies(talker, watched):
    master, replica, sentinels = watched
    answer = talker.ask(
        do="connect",
        sentinels=["127.0.0.1:1", *(sentinel.address for sentinel in sentinels)],
        master_name="mymaster",
        timeout_ms=12_000,
        retry_max=1_000,
        **QUICK,
    )
    assert answer["port"] == master.port, answer
    assert talker.ask(do="call", args=["SET", "a", "1"])["reply"] == "OK"
    assert master.ask("WAIT", "1", "2000") == b":1\r\n"
    master.kill()
    answer = talker.ask(do="call", args=["GET", "a"])
    assert (answer.get("reply"), answer["port"]) == ("1", replica.port), answer
    assert talker.ask(do="call", args=["SET", "a", "2"])["reply"] == "OK"

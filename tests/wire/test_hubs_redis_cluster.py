"""Rooms of two masters over a Redis whose master dies, and over a cluster."""

import pytest
from hub_clients import connected, figures, say, two_machines
from peer_servers import program
from redis_servers import PACKAGE, start_cluster, start_watched

HISTORY = 1_000
COUNT = 20


@pytest.fixture
def watched(tmp_path):
    program("redis-server", PACKAGE)
    running = start_watched(tmp_path)
    yield running
    running.stop()


def test_a_master_dies_and_its_replica_takes_over(start, watched):
    """What waited for a stream goes to the new master; a channel has its messages
    again when all are connected there."""
    sentinels = ",".join(one.address for one in watched.sentinels)
    rooms = [two_machines(start, sentinels=sentinels, history=history) for history in (HISTORY, 0)]
    for _, (near, far) in rooms:
        connected(near, [near, far])
        connected(far, [near, far])
    assert watched.master.ask("WAIT", "1", "2000") == b":1\r\n"
    watched.master.kill()
    for index, (servers, (near, far)) in enumerate(rooms):
        texts = say(near, COUNT)
        assert near.hear_all(COUNT) == texts
        if index == 0:
            assert far.hear_all(COUNT) == texts
        connected(far, [near, far])
        connected(near, [near, far])
        for server, member in zip(servers, (near, far)):
            assert figures(server, member.pid)["gaps"] >= 1
    assert b"role:master" in watched.replica.ask("INFO", "replication")


@pytest.fixture
def cluster(tmp_path):
    program("redis-server", PACKAGE)
    nodes = start_cluster(tmp_path)
    yield nodes
    for node in nodes:
        node.stop()


def test_a_cluster(start, cluster):
    """Any node serves for a channel, and leads to that of a stream, also when that
    has moved."""
    slot = int(cluster[0].ask("CLUSTER", "KEYSLOT", "flare:room")[1:])
    source = slot * 3 // 16384
    other, target = cluster[(source + 1) % 3], cluster[(source + 2) % 3]
    _, (near, far) = two_machines(start, redis=other.url)
    connected(near, [near, far])
    servers, (near, far) = two_machines(start, redis=other.url, history=HISTORY)
    for sender in (near, far):
        connected(sender, [near, far])
    assert all("MOVED" not in server.stderr() for server in servers)
    ids = [node.ask("CLUSTER", "MYID").split(b"\r\n")[1].decode() for node in cluster]
    # Its entries stay behind: none is sent on that was heard already.
    cluster[source].ask("DEL", "flare:room")
    for node in (target, cluster[source], other):
        name = ids[cluster.index(target)]
        assert node.ask("CLUSTER", "SETSLOT", str(slot), "NODE", name) == b"+OK\r\n"
    texts = say(near, COUNT)
    assert near.hear_all(COUNT) == texts
    assert far.hear_all(COUNT) == texts
    assert int(target.ask("XLEN", "flare:room")[1:]) == COUNT


@pytest.mark.parametrize("rule", ["+multi", "-multi"])
def test_a_batch_for_a_stream_that_is_on_its_way(start, cluster, rule):
    """Redis Cluster specification, ASK redirection: ASKING holds for the next command,
    and for all of a transaction. Each message is in the stream once."""
    for node in cluster:
        words = ("ACL", "SETUSER", "hub", "on", ">word", "~*", "&*", "+@all", rule)
        assert node.ask(*words) == b"+OK\r\n"
    slot = cluster[0].ask("CLUSTER", "KEYSLOT", "flare:room")[1:].split(b"\r")[0].decode()
    at = int(slot) * 3 // 16384
    source, target = cluster[at], cluster[(at + 1) % 3]
    ids = [node.ask("CLUSTER", "MYID").split(b"\r\n")[1].decode() for node in (source, target)]
    url = f"redis://hub:word@{source.address}"
    _, (near, far) = two_machines(start, redis=url, history=HISTORY)
    for sender in (near, far):
        connected(sender, [near, far])
    assert target.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", ids[0]) == b"+OK\r\n"
    assert source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", ids[1]) == b"+OK\r\n"
    # What is not there any more is asked of the other node.
    source.ask("DEL", "flare:room")
    source.pause()
    texts = say(near, COUNT)
    assert near.hear_all(COUNT) == texts
    source.go_on()
    assert far.hear_all(COUNT) == texts
    for node in (target, source):
        assert node.ask("CLUSTER", "SETSLOT", slot, "NODE", ids[1]) == b"+OK\r\n"
    assert int(target.ask("XLEN", "flare:room")[1:]) == COUNT

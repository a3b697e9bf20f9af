"""The Redis client with a cluster of three, and with sentinels."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from conftest import running_client, wait_until
from peer_servers import program
from redis_servers import PACKAGE, RedisServer, Sentinel, start_cluster, start_watched
from test_redis import TYPED

QUICK = {"backoff_ms": 20, "backoff_max_ms": 100}


@pytest.fixture(scope="module")
def talker():
    yield from running_client("redis_talker")


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


def test_a_command_goes_where_its_caller_says(cluster, nodes):
    """Its name says nothing of a key."""
    keys = [f"k{number}" for number in range(30)]
    for key in keys:
        assert call(cluster, "SET", key, "x") == "OK"
    before = cluster.ask(do="cluster_call", args=["PING"])["redirection_count"]
    for key in keys:
        answer = cluster.ask(
            do="cluster_call", args=["MEMORY", "USAGE", key], key_index=1
        )
        assert answer["reply"] > 0
        assert answer["redirection_count"] == before
    answer = cluster.ask(
        do="cluster_pipeline",
        commands=[["MEMORY", "USAGE", key] for key in keys],
        key_index=1,
    )
    assert all(reply > 0 for reply in answer["reply"])
    assert answer["redirection_count"] == before


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


def pipeline(talker, *commands: list[str], do: str = "cluster_pipeline") -> object:
    answer = talker.ask(do=do, commands=list(commands))
    return answer.get("reply", answer)


def owner_of(nodes: list[RedisServer], key: str) -> RedisServer:
    """Finds the node that has a key's slot now."""
    slot = slot_of(nodes[0], key)
    for node in nodes:
        # CLUSTER COUNTKEYSINSLOT answers anywhere, a read only where the slot is.
        if not node.ask("GET", key).startswith(b"-MOVED"):
            return node
    raise AssertionError(f"nobody has slot {slot}")


def seen_by(node: RedisServer) -> dict[str, tuple[str, ...]]:
    """Reads which epoch and slots a node takes each of them to have."""
    text = node.ask("CLUSTER", "NODES").decode().split("\r\n", 1)[1]
    lines = [line.split() for line in text.split("\n") if line.strip()]
    return {words[0]: (words[6], *words[8:]) for words in lines}


def wait_until_agreed(nodes: list[RedisServer]) -> None:
    """Waits until what was said of the last move has reached all: a node that
    hears of an older one later takes the slot away again."""
    end = time.monotonic() + 20
    while True:
        views = [
            {name: [w for w in words if "[" not in w] for name, words in seen_by(node).items()}
            for node in nodes
        ]
        epochs = {words[0] for words in views[0].values()}
        if views[0] == views[1] == views[2] and len(epochs) == 3:
            return
        assert time.monotonic() < end, views
        time.sleep(0.01)


def move(nodes: list[RedisServer], key: str, target: RedisServer) -> None:
    """Moves the slot of a key with all that is in it, as redis-cli does."""
    wait_until_agreed(nodes)
    slot = str(slot_of(nodes[0], key))
    source = owner_of(nodes, key)
    if source is target:
        return
    names = dict(zip((node.port for node in nodes), ids(nodes), strict=True))
    target.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", names[source.port])
    source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", names[target.port])
    moved = source.ask("MIGRATE", "127.0.0.1", str(target.port), key, "0", "5000")
    assert moved in (b"+OK\r\n", b"+NOKEY\r\n"), moved
    third = next(node for node in nodes if node not in (target, source))
    for node in (target, source, third):
        node.ask("CLUSTER", "SETSLOT", slot, "NODE", names[target.port])


def test_replies_of_a_pipeline_in_its_order(cluster, nodes):
    keys = [f"key{number}" for number in range(200)]
    assert pipeline(cluster, *(["SET", key, key] for key in keys)) == ["OK"] * 200
    assert min(int(node.ask("DBSIZE")[1:]) for node in nodes) > 30
    mixed = [["GET", key] for key in keys] + [["INCR", "n"], ["LRANGE", "none", "0", "1"]]
    assert pipeline(cluster, *mixed) == [*keys, 1, []]
    assert pipeline(cluster, ["PUBLISH", "news", "x"], ["GET", "key0"]) == [0, "key0"]


def test_each_command_has_its_own_error(cluster):
    replies = pipeline(
        cluster,
        ["SET", "a", "x"],
        ["INCR", "a"],
        ["MGET", "foo", "bar"],
        ["GET", "a"],
    )
    assert (replies[0], replies[3]) == ("OK", "x")
    assert replies[1]["kind"] == "Refused" and "not an integer" in replies[1]["error"]
    assert replies[2]["kind"] == "CrossSlot"


def test_what_no_node_can_be_chosen_for(cluster, nodes):
    answer = pipeline(cluster, ["SET", "a", "x"], ["PING"])
    assert answer["kind"] == "BadArgument"
    assert "command 2 of the pipeline, PING, names no key" in answer["error"]
    assert sum(int(node.ask("DBSIZE")[1:]) for node in nodes) == 0, "nothing was sent"
    assert pipeline(cluster)["kind"] == "BadArgument"


def test_only_what_was_redirected_is_repeated(cluster, nodes):
    keys = ["wanders", *(f"key{number}" for number in range(30))]
    assert pipeline(cluster, *(["INCR", key] for key in keys)) == [1] * 31
    source = owner_of(nodes, "wanders")
    move(nodes, "wanders", nodes[(nodes.index(source) + 1) % 3])
    assert pipeline(cluster, *(["INCR", key] for key in keys)) == [2] * 31
    answer = cluster.ask(do="cluster_pipeline", commands=[["INCR", "wanders"]])
    assert answer["reply"] == [3]
    assert answer["redirection_count"] == 1, "the map was read again"
    move(nodes, "wanders", source)


@contextmanager
def on_its_way(nodes: list[RedisServer], key: str) -> Iterator[RedisServer]:
    """Holds the slot of a key halfway to another node, which it gives."""
    slot = str(slot_of(nodes[0], key))
    source = owner_of(nodes, key)
    target = nodes[(nodes.index(source) + 1) % 3]
    names = dict(zip((node.port for node in nodes), ids(nodes), strict=True))
    target.ask("CLUSTER", "SETSLOT", slot, "IMPORTING", names[source.port])
    source.ask("CLUSTER", "SETSLOT", slot, "MIGRATING", names[target.port])
    yield target
    target.ask("FLUSHALL")
    for node in (target, source):
        node.ask("CLUSTER", "SETSLOT", slot, "STABLE")


def test_a_pipeline_over_a_slot_that_is_on_its_way(cluster, nodes):
    assert pipeline(cluster, ["SET", "{w}stays", "1"], ["SET", "{w}goes", "2"]) == ["OK"] * 2
    with on_its_way(nodes, "{w}stays") as target:
        source = owner_of(nodes, "{w}stays")
        source.ask("MIGRATE", "127.0.0.1", str(target.port), "{w}goes", "0", "5000")
        answer = cluster.ask(
            do="cluster_pipeline",
            commands=[
                ["GET", "{w}goes"],
                ["GET", "{w}stays"],
                ["SET", "{w}new", "3"],
                ["SET", "elsewhere", "4"],
                ["INCR", "{w}goes"],
            ],
        )
        assert answer["reply"] == ["2", "1", "OK", "OK", 3]
        assert answer["redirection_count"] == 3
        # Two keys, one here and one there: TRYAGAIN, until both are there.
        rest = threading.Timer(
            0.3,
            source.ask,
            ("MIGRATE", "127.0.0.1", str(target.port), "{w}stays", "0", "5000"),
        )
        rest.start()
        asked = [["MGET", "{w}goes", "{w}stays"], ["GET", "elsewhere"]]
        assert pipeline(cluster, *asked) == [["3", "1"], "4"]
        rest.join(10)


def test_slots_that_move_during_pipelines(cluster, nodes):
    """Each command is carried out once, however often its slot moves."""
    keys = [f"count{number}" for number in range(24)]
    wanders = keys[:6]
    pipeline(cluster, *(["SET", key, "0"] for key in keys))
    homes = [owner_of(nodes, key) for key in wanders]
    is_over = threading.Event()
    moves = []

    def wander() -> None:
        while not is_over.is_set():
            for key in wanders:
                source = owner_of(nodes, key)
                move(nodes, key, nodes[(nodes.index(source) + 1) % 3])
                moves.append(key)

    mover = threading.Thread(target=wander)
    mover.start()
    try:
        rounds = 0
        end = time.monotonic() + 60
        while len(moves) < 20:
            assert time.monotonic() < end
            rounds += 1
            replies = pipeline(cluster, *(["INCR", key] for key in keys))
            assert replies == [rounds] * 24
    finally:
        is_over.set()
        mover.join(20)
    assert pipeline(cluster, *(["GET", key] for key in keys)) == [str(rounds)] * 24
    for key, home in zip(wanders, homes, strict=True):
        move(nodes, key, home)


def test_a_transaction_goes_to_one_node(cluster, nodes):
    answer = pipeline(
        cluster, ["SET", "{t}a", "1"], ["INCR", "{t}a"], do="cluster_transaction"
    )
    assert answer == ["OK", 2]
    apart = pipeline(cluster, ["SET", "foo", "1"], ["SET", "bar", "1"], do="cluster_transaction")
    assert apart["kind"] == "CrossSlot"
    assert "command 2 of the transaction" in apart["error"]
    assert call(cluster, "EXISTS", "foo") == 0
    wrong = pipeline(cluster, ["SET", "{t}b", "1"], ["GET", "{t}b", "x"], do="cluster_transaction")
    assert "wrong number of arguments" in wrong["error"]
    assert call(cluster, "EXISTS", "{t}b") == 0
    assert call(cluster, "GET", "{t}a") == "2", "the connection goes on"


def test_a_transaction_follows_its_slot(cluster, nodes):
    assert call(cluster, "SET", "{tx}a", "1") == "OK"
    incr = [["INCR", "{tx}a"], ["INCR", "{tx}a"]]
    source = owner_of(nodes, "{tx}a")
    move(nodes, "{tx}a", nodes[(nodes.index(source) + 1) % 3])
    assert pipeline(cluster, *incr, do="cluster_transaction") == [2, 3]
    move(nodes, "{tx}a", source)
    assert pipeline(cluster, *incr, do="cluster_transaction") == [4, 5]
    with on_its_way(nodes, "{tx}a") as target:
        source.ask("MIGRATE", "127.0.0.1", str(target.port), "{tx}a", "0", "5000")
        assert pipeline(cluster, *incr, do="cluster_transaction") == [6, 7]
        assert call(cluster, "GET", "{tx}a") == "7"


def test_a_master_that_is_killed_under_pipelines(cluster, nodes):
    """The others answer; what the dead one got has an error of its own."""
    keys = [f"key{number}" for number in range(60)]
    assert pipeline(cluster, *(["SET", key, "1"] for key in keys)) == ["OK"] * 60
    victim = owner_of(nodes, "key0")
    lost = {key for key in keys if owner_of(nodes, key) is victim}
    assert 5 < len(lost) < 55
    cluster.ask(do="cluster", seeds=[n.address for n in nodes], timeout_ms=1_500, **QUICK)
    assert len(pipeline(cluster, *(["GET", key] for key in keys))) == 60
    victim.pause()
    start = time.monotonic()
    replies = pipeline(cluster, *(["INCR", key] for key in keys))
    # One after the other they would take some thirty seconds.
    assert time.monotonic() - start < 15
    for key, reply in zip(keys, replies, strict=True):
        if key in lost:
            assert (reply["kind"], reply["may_have_run"]) == ("Timeout", 1), reply
            assert victim.address in reply["error"]
        else:
            assert reply == 2
    victim.kill()
    replies = pipeline(cluster, *(["INCR", key] for key in keys))
    for key, reply in zip(keys, replies, strict=True):
        if key in lost:
            assert reply["kind"] in ("ConnectFailed", "ClusterDown"), reply
            assert reply["may_have_run"] == 0
        else:
            # The others refuse, too, once they have noticed.
            assert reply == 3 or reply["kind"] == "ClusterDown"
    victim.start()
    assert wait_until(
        lambda: all(b"cluster_state:ok" in node.ask("CLUSTER", "INFO") for node in nodes), 40
    )
    cluster.ask(do="cluster", seeds=[n.address for n in nodes], **QUICK)
    assert pipeline(cluster, *(["SET", key, "3"] for key in keys)) == ["OK"] * 60


def test_a_node_that_is_killed(cluster, nodes):
    call(cluster, "SET", "foo", "1")
    victim = nodes[slot_of(nodes[0], "foo") * 3 // 16384]
    victim.kill()
    start = time.monotonic()
    cluster.ask(do="cluster", seeds=[n.address for n in nodes], timeout_ms=600, **QUICK)
    answer = call(cluster, "SET", "foo", "2")
    assert answer["kind"] in ("ConnectFailed", "ClusterDown"), answer
    assert time.monotonic() - start < 4.5
    victim.start()
    assert wait_until(lambda: b"cluster_state:ok" in victim.ask("CLUSTER", "INFO"), 40)
    cluster.ask(do="cluster", seeds=[n.address for n in nodes], **QUICK)
    assert call(cluster, "SET", "foo", "3") == "OK"


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    program("redis-server", PACKAGE)
    running = start_watched(tmp_path_factory.mktemp("watched"))
    yield running
    running.stop()


def test_a_master_that_nobody_knows(talker, watched):
    answer = talker.ask(
        do="connect", sentinels=[watched.sentinels[0].address], master_name="other"
    )
    assert answer["kind"] == "NoMaster"
    assert "knows no master other" in answer["error"]


def test_a_sentinel_that_knows_its_users(talker, tmp_path):
    """It takes nobody but a user of its own (ACL), whom the master does not know."""
    program("redis-server", PACKAGE)
    master = RedisServer(tmp_path / "master")
    sentinel = Sentinel(
        tmp_path / "sentinel",
        master.port,
        1,
        "user default off",
        "user watcher on >secret ~* &* +@all",
    )
    try:
        order = dict(
            do="connect",
            sentinels=[sentinel.address],
            master_name="mymaster",
            sentinel_password="secret",
        )
        answer = talker.ask(**order, sentinel_username="watcher")
        assert answer.get("port") == master.port, answer
        answer = talker.ask(**order, sentinel_username="stranger")
        assert answer["kind"] == "NoMaster"
        assert "WRONGPASS" in answer["error"]
    finally:
        sentinel.stop()
        master.stop()


def test_a_master_that_dies(talker, watched):
    master, replica = watched.master, watched.replica
    answer = talker.ask(
        do="connect",
        sentinels=["127.0.0.1:1", *(one.address for one in watched.sentinels)],
        master_name="mymaster",
        timeout_ms=25_000,
        retry_max=1_000,
        **QUICK,
    )
    assert answer["port"] == master.port, answer
    assert talker.ask(do="call", args=["SET", "a", "1"])["reply"] == "OK"
    # It waits for what the same connection has written, and for nothing else.
    assert talker.ask(do="call", args=["WAIT", "1", "2000"])["reply"] == 1
    master.kill()
    answer = talker.ask(do="call", args=["GET", "a"])
    assert (answer.get("reply"), answer["port"]) == ("1", replica.port), answer
    assert talker.ask(do="call", args=["SET", "a", "2"])["reply"] == "OK"

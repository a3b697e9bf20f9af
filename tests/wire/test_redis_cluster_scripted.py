"""The Redis client with clusters whose nodes answer as they are told."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable

import pytest
from conftest import running_client
from ports import claim_port
from ready import accepted
from redis_servers import encoded
from test_redis_failures import HELLO

QUICK = {"backoff_ms": 10, "backoff_max_ms": 50}
SLOT_COUNT = 16384
START_S = 0.4


@pytest.fixture(scope="module")
def talker():
    yield from running_client("redis_talker")


def slots(*owners: tuple[int, int, int]) -> bytes:
    """The answer to CLUSTER SLOTS: from, to, and the port of the master."""
    lines = b"".join(
        b"*3\r\n:%d\r\n:%d\r\n*3\r\n$9\r\n127.0.0.1\r\n:%d\r\n$2\r\nid\r\n" % owner
        for owner in owners
    )
    return b"*%d\r\n%s" % (len(owners), lines)


def commands_of(data: bytes) -> list[list[bytes]]:
    """Takes apart what came; tests send little enough to come in one piece."""
    lines = data.split(b"\r\n")
    commands = []
    while len(lines) > 1:
        count = int(lines.pop(0)[1:])
        commands.append([lines[2 * index + 1] for index in range(count)])
        del lines[: 2 * count]
    return commands


class Node:
    """Answers CLUSTER SLOTS with a map, and all else as it is told; None ends the
    connection."""

    def __init__(
        self, answer: Callable[[list[bytes]], bytes | None], port: int = 0
    ) -> None:
        self.listener = socket.create_server(("127.0.0.1", port))
        self.port = self.listener.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        self.map: bytes | None = slots((0, SLOT_COUNT - 1, self.port))
        self.answer = answer
        self.commands: list[list[bytes]] = []
        self.connections: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        for connection in accepted(self.listener):
            self.connections.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        # A client may leave whenever it likes.
        with connection, contextlib.suppress(OSError):
            while data := connection.recv(65536):
                answers = [self._answer(command) for command in commands_of(data)]
                if None in answers:
                    return
                connection.sendall(b"".join(answers))

    def _answer(self, command: list[bytes]) -> bytes | None:
        if command[0] == b"HELLO":
            return HELLO
        if command[0] == b"CLUSTER":
            return self.map
        self.commands.append(command)
        return self.answer(command)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for sock in (self.listener, *self.connections):
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                # The client has ended it.
                continue
        self.listener.close()


def fine(command: list[bytes]) -> bytes:
    return b":1\r\n"


def begin(talker, *nodes: Node, timeout_ms: int = 2000, **more: int) -> None:
    seeds = [node.address for node in nodes]
    answer = talker.ask(do="cluster", seeds=seeds, timeout_ms=timeout_ms, **QUICK, **more)
    assert "error" not in answer, answer


def call(talker, *words: str) -> dict:
    return talker.ask(do="cluster_call", args=list(words))


def pipeline(talker, *commands: list[str]) -> dict:
    return talker.ask(do="cluster_pipeline", commands=list(commands))


def test_the_stand_in_reads_commands():
    data = encoded("GET", "a") + encoded("ASKING")
    assert commands_of(data) == [[b"GET", b"a"], [b"ASKING"]]


@pytest.mark.parametrize("word", [b"MOVED", b"ASK"])
def test_redirections_do_not_extend_the_time(talker, word):
    """Two nodes, each of which says slowly that the other one has the key."""

    def send_on(other: list[Node]) -> Callable[[list[bytes]], bytes]:
        def answer(command: list[bytes]) -> bytes:
            if command[0] == b"ASKING":
                return b"+OK\r\n"
            time.sleep(0.2)
            return b"-%s 15495 %s\r\n" % (word, other[0].address.encode())

        return answer

    others = ([], [])
    with Node(send_on(others[0])) as first, Node(send_on(others[1])) as second:
        others[0].append(second)
        others[1].append(first)
        for ask in (
            lambda: call(talker, "GET", "a"),
            lambda: pipeline(talker, ["GET", "a"])["reply"][0],
        ):
            begin(talker, first, timeout_ms=500)
            start = time.monotonic()
            answer = ask()
            assert time.monotonic() - start < 1.5, answer
            assert answer["kind"] in ("Moved", "Ask", "Timeout"), answer


def without_room(sockets: list[socket.socket]) -> int:
    """A port where a connection is neither taken nor refused."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(0)
    sockets.append(listener)
    for _ in range(3):
        caller = socket.socket()
        caller.setblocking(False)
        caller.connect_ex(listener.getsockname())
        sockets.append(caller)
    return listener.getsockname()[1]


def test_nodes_that_cannot_be_reached_share_the_time(talker):
    sockets: list[socket.socket] = []
    with Node(fine) as node:
        far = [without_room(sockets) for _ in range(5)]
        size = SLOT_COUNT // 6
        owners = [(size * index, size * (index + 1) - 1, port) for index, port in enumerate(far)]
        node.map = slots(*owners, (5 * size, SLOT_COUNT - 1, node.port))
        begin(talker, node, timeout_ms=1000, connect_timeout_ms=1000)
        start = time.monotonic()
        replies = pipeline(talker, *(["INCR", f"key{number}"] for number in range(60)))
        duration = time.monotonic() - start
    for sock in sockets:
        sock.close()
    assert duration < 2.5, duration
    done = [reply for reply in replies["reply"] if reply == 1]
    failed = [reply for reply in replies["reply"] if reply != 1]
    assert len(done) == len(node.commands) > 3
    assert {reply["kind"] for reply in failed} == {"ConnectFailed"}


@pytest.mark.parametrize(
    "ask",
    [
        lambda talker: call(talker, "INCR", "a"),
        lambda talker: pipeline(talker, ["INCR", "a"]),
        lambda talker: call(talker, "PUBLISH", "news", "x"),
    ],
)
def test_all_nodes_come_late(talker, ask):
    """Nothing has left, so the command is repeated."""
    port = claim_port()
    answer = talker.ask(do="cluster", seeds=[f"127.0.0.1:{port}"], timeout_ms=5000, **QUICK)
    assert "error" not in answer, answer
    nodes = []
    start = threading.Timer(START_S, lambda: nodes.append(Node(fine, port)))
    start.start()
    answer = ask(talker)
    start.join()
    with nodes[0]:
        assert answer.get("reply") in (1, [1]), answer


def test_a_cluster_that_has_no_slots_yet(talker):
    with Node(fine) as node:
        ready, node.map = node.map, b"*0\r\n"
        begin(talker, node)
        start = threading.Timer(START_S, setattr, (node, "map", ready))
        start.start()
        assert call(talker, "INCR", "a").get("reply") == 1
        start.join()


def test_a_map_that_is_cut_off(talker):
    """What the caller wants has not left."""
    with Node(fine) as node:
        node.map = None
        begin(talker, node, timeout_ms=300)
        answer = call(talker, "INCR", "a")
        assert (answer["kind"], answer["may_have_run"]) == ("ConnectFailed", 0), answer
        answer = pipeline(talker, ["INCR", "a"])
        assert (answer["kind"], answer["may_have_run"]) == ("ConnectFailed", 0), answer
        assert node.commands == []


def test_a_command_without_a_key_goes_to_a_node_that_lives(talker):
    """The node that was asked last is dead, and has slot 0 by all maps."""
    with Node(fine) as alive:
        with Node(fine) as dead:
            half = SLOT_COUNT // 2
            dead.map = alive.map = slots(
                (0, half - 1, dead.port), (half, SLOT_COUNT - 1, alive.port)
            )
            begin(talker, dead, alive)
            # The slot of "b" is 3300.
            assert call(talker, "INCR", "b")["reply"] == 1
            assert dead.commands == [[b"INCR", b"b"]]
        for _ in range(2):
            assert call(talker, "PUBLISH", "news", "x").get("reply") == 1
        assert alive.commands == [[b"PUBLISH", b"news", b"x"]] * 2

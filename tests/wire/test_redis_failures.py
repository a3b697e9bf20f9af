"""What the Redis client does when the server or the way to it fails."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable

import pytest
from conftest import running_client, wait_until
from ports import claim_port
from processes import ESTABLISHED, tcp_sockets
from ready import accepted
from redis_servers import RedisServer, running_redis

QUICK = {"backoff_ms": 5, "backoff_max_ms": 50}
TIMEOUT_S = 10
HELLO = b"%1\r\n+server\r\n+redis\r\n"


@pytest.fixture(scope="module")
def talker():
    yield from running_client("redis_talker")


@pytest.fixture
def redis(tmp_path):
    yield from running_redis(tmp_path / "redis")


def call(talker, *words: str) -> object:
    answer = talker.ask(do="call", args=list(words))
    return answer.get("reply", answer)


class Scripted:
    """A server that answers HELLO, and then as it is told: each answer is for
    one connection's command; None ends the connection."""

    def __init__(self, answer: Callable[[socket.socket, bytes], bool]) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = "redis://127.0.0.1:%d" % self.listener.getsockname()[1]
        self.commands: list[bytes] = []
        self._answer = answer
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        for connection in accepted(self.listener):
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        # A client may leave whenever it likes.
        with connection, contextlib.suppress(OSError):
            while data := connection.recv(65536):
                if b"HELLO" in data:
                    connection.sendall(HELLO)
                    continue
                self.commands.append(data)
                if not self._answer(connection, data):
                    return

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()


def has_heard_the_end(redis: RedisServer) -> bool:
    """Tells whether the system has no open connection to a server any more."""
    return not any(
        row.peer_port == redis.port and row.state == ESTABLISHED for row in tcp_sockets()
    )


def test_a_server_that_was_started_again(talker, redis):
    talker.ask(do="connect", url=redis.url, **QUICK)
    assert call(talker, "INCR", "n") == 1
    redis.kill()
    redis.start()
    assert call(talker, "GET", "n") is None, "a read is repeated"
    redis.kill()
    assert wait_until(lambda: has_heard_the_end(redis), TIMEOUT_S)
    redis.start()
    assert call(talker, "INCR", "n") == 1, "its end was seen before it was sent"
    assert talker.ask(do="call", args=["PING"])["connect_count"] == 3


def test_an_idle_connection_that_the_server_has_ended(talker, redis):
    talker.ask(do="connect", url=redis.url, **QUICK)
    assert call(talker, "INCR", "n") == 1
    redis.ask("CLIENT", "KILL", "TYPE", "normal")
    assert wait_until(lambda: has_heard_the_end(redis), TIMEOUT_S)
    assert call(talker, "INCR", "n") == 2


def test_nobody_listens(talker):
    port = claim_port()
    start = time.monotonic()
    url = f"redis://127.0.0.1:{port}"
    talker.ask(do="client", url=url, timeout_ms=400, retry_max=1_000, **QUICK)
    answer = call(talker, "SET", "a", "1")
    assert (answer["kind"], answer["may_have_run"]) == ("ConnectFailed", 0)
    assert f"127.0.0.1:{port}" in answer["error"]
    assert 0.2 < time.monotonic() - start < 4, "it tries until its time is over"
    start = time.monotonic()
    talker.ask(do="client", url=url, retry_max=0)
    assert call(talker, "SET", "a", "1")["kind"] == "ConnectFailed"
    assert time.monotonic() - start < 4, "it tries once"


def test_a_server_that_comes_late(talker, redis):
    redis.kill()
    talker.ask(do="client", url=redis.url, retry_max=1_000, **QUICK)
    later = threading.Timer(0.3, redis.start)
    later.start()
    assert call(talker, "INCR", "n") == 1
    later.join()


def test_a_server_that_stands_still(talker, redis):
    talker.ask(do="connect", url=redis.url, timeout_ms=300, **QUICK)
    call(talker, "SET", "a", "first")
    redis.pause()
    start = time.monotonic()
    answer = call(talker, "INCR", "n")
    assert (answer["kind"], answer["may_have_run"]) == ("Timeout", 1), answer
    assert 0.2 < time.monotonic() - start < 4
    assert answer["is_connected"] == 0, "a late answer would be the next one's"
    redis.go_on()
    assert call(talker, "GET", "a") == "first"


def test_a_login_that_gets_no_answer(talker, redis):
    redis.pause()
    start = time.monotonic()
    answer = talker.ask(do="connect", url=redis.url, connect_timeout_ms=200)
    assert answer["kind"] == "ConnectFailed", answer
    assert time.monotonic() - start < 4
    redis.go_on()


def drip(connection: socket.socket, data: bytes, pause_s: float) -> bool:
    for octet in data:
        try:
            connection.sendall(bytes([octet]))
        except OSError:
            return False
        time.sleep(pause_s)
    return True


def test_a_slow_network(talker):
    with Scripted(lambda c, _: drip(c, b"*2\r\n$2\r\nab\r\n:7\r\n", 0.01)) as server:
        talker.ask(do="connect", url=server.url, timeout_ms=3_000)
        assert call(talker, "GET", "a") == ["ab", 7]


def test_a_deadline_is_for_the_whole_answer(talker):
    with Scripted(lambda c, _: drip(c, b"$600\r\n" + b"x" * 600, 0.05)) as server:
        talker.ask(do="connect", url=server.url, timeout_ms=400)
        start = time.monotonic()
        assert call(talker, "GET", "a")["kind"] == "Timeout"
        # All of it takes half a minute.
        assert 0.3 < time.monotonic() - start < 15


def half(connection: socket.socket, _: bytes) -> bool:
    connection.sendall(b"$5\r\nhe")
    return False


def test_an_answer_that_is_cut_off(talker):
    """Only what changes nothing is sent again."""
    with Scripted(half) as server:
        talker.ask(do="connect", url=server.url, retry_max=2, **QUICK)
        assert call(talker, "GET", "a")["kind"] == "AnswerLost"
        assert len(server.commands) == 3
        assert call(talker, "INCR", "a")["kind"] == "AnswerLost"
        assert len(server.commands) == 4
        answer = talker.ask(do="pipeline", commands=[["GET", "a"], ["INCR", "b"]])
        assert answer["kind"] == "AnswerLost"
        assert len(server.commands) == 5
        talker.ask(do="pipeline", commands=[["GET", "a"], ["GET", "b"]])
        assert len(server.commands) == 8


def test_a_server_that_still_loads(talker):
    answers = [b"-LOADING reads\r\n", b"-LOADING reads\r\n", b"+OK\r\n"]

    def answer(connection: socket.socket, _: bytes) -> bool:
        connection.sendall(answers.pop(0))
        return True

    with Scripted(answer) as server:
        talker.ask(do="connect", url=server.url, **QUICK)
        assert call(talker, "SET", "a", "1") == "OK"
        assert len(server.commands) == 3
        answers.append(b"-LOADING reads\r\n")
        talker.ask(do="connect", url=server.url, retry_max=0)
        assert call(talker, "SET", "a", "1")["kind"] == "Loading"


@pytest.mark.parametrize(
    "said", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"$5\r\nhelloXX", b"\x16\x03\x01"]
)
def test_what_is_no_redis(talker, said):
    def answer(connection: socket.socket, _: bytes) -> bool:
        connection.sendall(said)
        return True

    with Scripted(answer) as server:
        talker.ask(do="connect", url=server.url)
        answer = call(talker, "GET", "a")
        assert answer["kind"] == "ProtocolError", answer
        assert answer["is_connected"] == 0


def test_a_replica_takes_no_writes(talker, redis, tmp_path):
    other = RedisServer(tmp_path / "other")
    try:
        redis.ask("REPLICAOF", "127.0.0.1", str(other.port))
        talker.ask(do="connect", url=redis.url)
        assert call(talker, "SET", "a", "1")["kind"] == "ReadOnly"
    finally:
        other.stop()


@pytest.mark.parametrize("protocol", [2, 3])
def test_a_subscriber_comes_back(talker, redis, protocol):
    talker.ask(do="subscriber", url=f"{redis.url}?protocol={protocol}", **QUICK)
    talker.ask(do="subscribe", names=["news"])
    talker.ask(do="psubscribe", names=["w*"])
    redis.ask("PUBLISH", "news", "a")
    assert talker.ask(do="receive")["gap_count"] == 0
    redis.kill()
    later = threading.Timer(0.2, redis.start)
    later.start()
    assert "message0" not in talker.ask(do="receive", timeout_ms=100)
    sender = threading.Thread(target=publish_until_heard, args=(redis, later))
    sender.start()
    answer = talker.ask(do="receive", count=2, timeout_ms=5_000)
    sender.join()
    assert answer["gap_count"] == 1
    assert {answer["message0"], answer["message1"]} == {"news news b", "w* w1 c"}


def publish_until_heard(redis: RedisServer, started: threading.Thread) -> None:
    started.join()
    for channel, text in (("news", "b"), ("w1", "c")):
        assert wait_until(lambda: redis.ask("PUBLISH", channel, text) != b":0\r\n")

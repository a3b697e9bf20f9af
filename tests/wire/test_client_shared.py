"""One client that threads share: bounds, the queue, and what is in common."""

import json
import subprocess
import threading
import time
from collections import Counter

import pytest
from conftest import wait_until
from processes import next_line
from raw_http2 import MAX_STREAMS, Http2Peer, speaking
from raw_server import PIPE_LEN, Connection, RawServer, answering
from test_client_hostile import sized
from toolchain import environment
from wire_programs import built

ANSWER_TIMEOUT_S = 20


class Sharer:
    """The program whose threads share a client."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [str(built("sharer", "clients"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(),
            text=True,
            bufsize=1,
        )

        self._told: list[dict] = []
        self._lines: list[str] = []

    def tell(self, **command) -> dict:
        """Gives a command; threads may tell of requests before its answer."""
        self.process.stdin.write(json.dumps(command) + "\n")
        while not (line := self._next()).pop("ack", 0):
            self._told.append(line)
        return line

    def _next(self) -> dict:
        if not self._lines:
            text = next_line(self.process, ANSWER_TIMEOUT_S, PIPE_LEN)
            # Several threads may have written before it was read.
            self._lines = text.splitlines()
        return json.loads(self._lines.pop(0))

    def line(self) -> dict:
        """What became of the next request that is over."""
        return self._told.pop(0) if self._told else self._next()

    def client(self, **options) -> None:
        self.tell(do="client", **options)

    def start(self, url: str, **options) -> None:
        self.tell(do="start", url=url, **options)

    def lines(self, count: int) -> list[dict]:
        return [self.line() for _ in range(count)]

    def run(self, url: str, threads: int, **options) -> list[dict]:
        """Sends from so many threads, and waits for all of them."""
        self.start(url, threads=threads, **options)
        return self.lines(threads)

    def figures(self) -> dict:
        return self.tell(do="figures")


@pytest.fixture
def sharer():
    running = Sharer()
    yield running
    assert running.process.poll() is None, "the client died during the tests"
    running.process.stdin.close()
    assert running.process.wait(10) == 0


class Gate:
    """Answers when it is told to, and counts who waits for that."""

    def __init__(self, answer: bytes = sized(b"done")) -> None:
        self.answer = answer
        self.waiting = self.most = 0
        self._change = threading.Condition()
        self._passes = 0

    def handle(self, connection: Connection) -> None:
        while connection.head():
            with self._change:
                self.waiting += 1
                self.most = max(self.most, self.waiting)
                if not self._change.wait_for(lambda: self._passes > 0, 15):
                    return
                self._passes -= 1
                self.waiting -= 1
            connection.send(self.answer)

    def let(self, count: int) -> None:
        with self._change:
            self._passes += count
            self._change.notify_all()


def test_a_host_has_at_most_so_many_connections(sharer):
    gate = Gate()
    server = RawServer(gate.handle)
    sharer.client(per_host=2)
    sharer.start(server.url, threads=6)
    assert wait_until(lambda: gate.waiting == 2)
    assert wait_until(lambda: sharer.figures()["waiting"] == 4)
    gate.let(6)
    assert all(line["ok"] == 1 for line in sharer.lines(6))
    figures = sharer.figures()
    server.close()
    assert (gate.most, server.connection_count) == (2, 2)
    assert figures == {
        "idle": 2, "busy": 0, "waiting": 0, "opened": 2, "reused": 4,
        "waited": 4, "timed_out": 0, "refused": 0,
    }  # fmt: skip


def test_all_hosts_together_have_so_many(sharer):
    gates = [Gate(), Gate(), Gate()]
    servers = [RawServer(gate.handle) for gate in gates]
    sharer.client(most=2)
    for server in servers:
        sharer.start(server.url)
    assert wait_until(lambda: sharer.figures()["waiting"] == 1)
    assert wait_until(lambda: sum(gate.waiting for gate in gates) == 2)
    for gate in gates:
        gate.let(1)
    assert all(line["ok"] == 1 for line in sharer.lines(3))
    figures = sharer.figures()
    for server in servers:
        server.close()
    # An idle connection made room.
    assert (figures["opened"], figures["idle"]) == (3, 2)


def test_waiting_has_a_deadline_and_says_what_to_do(sharer):
    gate = Gate()
    server = RawServer(gate.handle)
    sharer.client(per_host=1, queue_ms=200)
    sharer.start(server.url, id=1)
    assert wait_until(lambda: gate.waiting == 1)
    began = time.monotonic()
    sharer.start(server.url, id=2)
    late = sharer.line()
    took_s = time.monotonic() - began
    gate.let(1)
    assert sharer.line()["ok"] == 1
    assert (late["phase"], late["kind"]) == ("queue", "Timeout")
    assert "no connection came free within 200 ms" in late["text"]
    assert "queue_timeout_ms" in late["text"]
    # By itself it would be 10 s.
    assert 0.15 < took_s < 8
    assert sharer.figures()["timed_out"] == 1
    # The place in the queue was left: the next request is served.
    gate.let(1)
    assert sharer.run(server.url, 1)[0]["ok"] == 1
    server.close()


def test_the_requests_own_time_counts_in_the_queue(sharer):
    """Its total time ends it in the queue, though the queue's own time goes on,
    and so does what holds the connection, and who waits behind it."""
    gate = Gate()
    server = RawServer(gate.handle)
    sharer.client(per_host=1)
    sharer.start(server.url, id=1)
    assert wait_until(lambda: gate.waiting == 1)
    began = time.monotonic()
    sharer.start(server.url, id=2, request_ms=300)
    sharer.start(server.url, id=3)
    late = sharer.line()
    took_s = time.monotonic() - began
    assert (late["id"], late["phase"], late["kind"]) == (2, "total", "Timeout")
    assert "not complete within 300 ms" in late["text"]
    assert "(it was at: queue)" in late["text"]
    # The queue allows 10 s.
    assert 0.29 < took_s < 5
    assert wait_until(lambda: sharer.figures()["waiting"] == 1)
    assert server.connection_count == 1
    gate.let(2)
    assert sorted(line["id"] for line in sharer.lines(2)) == [1, 3]
    assert gate.waiting == 0
    server.close()


def test_a_token_ends_its_requests(sharer):
    """For a response, in the queue, in a batch: at once, and no others."""
    gate, other = Gate(), Gate()
    server, other_server = RawServer(gate.handle), RawServer(other.handle)
    sharer.client(per_host=2)
    sharer.start(other_server.url, id=9)
    assert wait_until(lambda: other.waiting == 1)
    sharer.tell(do="new token")
    sharer.start(server.url, threads=3)
    assert wait_until(lambda: gate.waiting == 2)
    sharer.tell(do="batch", url=server.url, count=4)
    assert wait_until(lambda: sharer.figures()["waiting"] == 4)
    began = time.monotonic()
    sharer.tell(do="cancel")
    lines = sharer.lines(4)
    # None of them is answered, and those in the queue have 10 s.
    assert time.monotonic() - began < 8
    assert {"cancelled": 4} in lines
    lines.remove({"cancelled": 4})
    phases = sorted(line["phase"] for line in lines)
    assert phases == ["queue", "read head", "read head"], lines
    assert {line["kind"] for line in lines} == {"Cancelled"}
    figures = sharer.figures()
    assert (figures["busy"], figures["waiting"]) == (1, 0)
    other.let(1)
    assert sharer.line()["ok"] == 1
    other_server.close()
    # What comes later with this token is not sent; others are.
    count = server.connection_count
    assert sharer.run(server.url, 1)[0]["kind"] == "Cancelled"
    assert server.connection_count == count
    sharer.tell(do="new token")
    # The server still holds the two that were cancelled.
    gate.let(3)
    assert sharer.run(server.url, 1)[0]["ok"] == 1
    server.close()


def test_too_many_that_wait_fail_at_once(sharer):
    gate = Gate()
    server = RawServer(gate.handle)
    sharer.client(per_host=1, max_waiting=1)
    sharer.start(server.url)
    assert wait_until(lambda: gate.waiting == 1)
    sharer.start(server.url)
    assert wait_until(lambda: sharer.figures()["waiting"] == 1)
    refused = sharer.run(server.url, 1)[0]
    assert (refused["phase"], refused["kind"]) == ("queue", "PoolExhausted")
    assert "max_waiting" in refused["text"]
    gate.let(2)
    assert all(line["ok"] == 1 for line in sharer.lines(2))
    assert sharer.figures()["refused"] == 1
    server.close()


def test_connections_that_end_make_room(sharer):
    """Closed by the server, failed, or cut within an answer: none is counted
    any more, and who waits goes on."""

    def handle(connection: Connection) -> None:
        head = connection.head()
        if "/close" in head:
            connection.send(
                b"HTTP/1.1 200 OK\r\nConnection: close\r\n"
                b"Content-Length: 4\r\n\r\ndone"
            )
        elif "/cut" in head:
            connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nxx")
        elif "/from" in head:
            connection.send(
                b"HTTP/1.1 302 Found\r\nLocation: /close\r\n"
                b"Connection: close\r\nContent-Length: 0\r\n\r\n"
            )

    server = RawServer(handle)
    sharer.client(per_host=1, queue_ms=5_000)
    for path, count in [("/close", 3), ("/cut", 0), ("/none", 0), ("/from", 3)]:
        lines = sharer.run(server.url + path, 4, count=3)
        assert [line["ok"] for line in lines] == [count] * 4, (path, lines)
        if not count:
            kinds = {line["kind"] for line in lines}
            assert kinds <= {"TruncatedResponse", "NoResponse"}, lines
    lines = sharer.run("http://127.0.0.1:1/", 4)
    assert {line["kind"] for line in lines} == {"ConnectionRefused"}
    figures = sharer.figures()
    assert (figures["idle"], figures["busy"], figures["waiting"]) == (0, 0, 0)
    assert figures["timed_out"] == 0
    server.close()


def test_a_connection_that_went_stale_is_replaced(sharer):
    closing, closed = threading.Event(), threading.Event()

    def handle(connection: Connection) -> None:
        if connection.number > 1:
            answering(sized(b"new"))(connection)
            return
        connection.head()
        connection.send(sized(b"old"))
        closing.wait(10)
        connection.sock.close()
        closed.set()

    server = RawServer(handle)
    sharer.client(per_host=1)
    assert sharer.run(server.url, 1)[0]["body"] == "old"
    closing.set()
    assert closed.wait(5)
    assert sharer.run(server.url, 1, method="POST")[0]["body"] == "new"
    figures = sharer.figures()
    server.close()
    assert (figures["opened"], figures["idle"]) == (2, 1)


def test_a_408_makes_no_request_fail(sharer):
    """RFC 9110 section 15.5.9, while others wait for the same connections."""

    def handle(connection: Connection) -> None:
        for _ in range(2):
            if not connection.head():
                return
            connection.send(sized(b"ok"))
        if connection.head():
            connection.send(b"HTTP/1.1 408 Late\r\nConnection: close\r\n\r\n")

    server = RawServer(handle)
    sharer.client(per_host=2)
    lines = sharer.run(server.url, 6, count=20)
    assert [line["ok"] for line in lines] == [20] * 6, lines
    figures = sharer.figures()
    server.close()
    assert (figures["busy"], figures["waiting"]) == (0, 0)


def test_idle_connections_are_closed_when_told_to(sharer):
    ended = threading.Event()

    def handle(connection: Connection) -> None:
        answering(sized(b"x"))(connection)
        ended.set()

    server = RawServer(handle)
    sharer.client()
    assert sharer.run(server.url, 1)[0]["ok"] == 1
    assert not ended.is_set()
    sharer.tell(do="close")
    assert ended.wait(5)
    assert sharer.figures()["idle"] == 0
    # So they are when nobody has the client any more.
    ended.clear()
    assert sharer.run(server.url, 1)[0]["ok"] == 1
    sharer.client()
    assert ended.wait(5)
    server.close()


def test_cookies_are_in_common(sharer):
    def answer(head: str, _: bytes) -> bytes:
        if "/set" in head:
            return (
                b"HTTP/1.1 200 OK\r\nSet-Cookie: who=ann\r\n"
                b"Content-Length: 0\r\n\r\n"
            )
        return sized(head.encode())

    server = RawServer(answering(answer))
    sharer.client(cookies=1)
    sharer.run(server.url + "/set", 1)
    for line in sharer.run(server.url + "/see", 3):
        assert "Cookie: who=ann\r\n" in line["body"]
    server.close()


@pytest.mark.parametrize("h2c", [False, True])
def test_many_threads_lose_nothing(sharer, probe, h2c):
    """Each response is its request's, and none gets lost between threads."""
    sharer.client(per_host=4, **({"h2c": 1} if h2c else {}))
    lines = sharer.run(probe.url + "/", 16, count=100)
    assert [line["ok"] for line in lines] == [100] * 16, lines
    figures = sharer.figures()
    assert figures["opened"] + figures["reused"] == 1_600
    assert figures["opened"] <= 4
    assert (figures["busy"], figures["waiting"]) == (0, 0)
    assert figures["idle"] == figures["opened"]


@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("per_host", [1, 2])
def test_a_batch_waits_for_streams_within_the_bounds(sharer, most, per_host):
    """RFC 9113 section 9.1, and SETTINGS_MAX_CONCURRENT_STREAMS of few: what
    may have no other connection waits for a stream, and not for the end of all.
    """
    at_once = []

    def handle(peer: Http2Peer) -> None:
        streams = []
        while True:
            streams.append(peer.request())
            if len(streams) < most and 40 - handle.count > len(streams) + 6:
                # Until all streams are in use.
                continue
            at_once.append(len(streams))
            for stream in streams:
                handle.count += 1
                peer.answer(stream)
            streams = []

    handle.count = 0
    server = RawServer(speaking(handle, (MAX_STREAMS, most)))
    sharer.client(per_host=per_host, h2c=1)
    assert sharer.tell(do="all", url=server.url, count=40, parallel=20)["all"] == 40
    figures = sharer.figures()
    server.close()
    assert server.connection_count <= per_host
    assert max(at_once) == most
    assert (figures["busy"], figures["waiting"]) == (0, 0)


def test_tls_contexts_and_tickets_are_in_common(sharer, probe_tls, certs):
    url = f"https://localhost:{probe_tls.port}/"
    sharer.client(per_host=3, ca_file=str(certs / "root.pem"))
    lines = sharer.run(url, 6, count=20)
    assert [line["ok"] for line in lines] == [20] * 6, lines
    assert sharer.figures()["opened"] <= 3


def test_a_batch_keeps_to_the_bounds(sharer):
    counts = Counter()
    lock = threading.Lock()

    def handle(connection: Connection) -> None:
        while connection.head():
            with lock:
                counts["now"] += 1
                counts["most"] = max(counts["most"], counts["now"])
            time.sleep(0.005)
            with lock:
                counts["now"] -= 1
            connection.send(sized(b"x"))

    server = RawServer(handle)
    sharer.client(per_host=3)
    done = sharer.tell(do="all", url=server.url, count=40, parallel=10)
    assert done == {"all": 40}
    figures = sharer.figures()
    server.close()
    assert counts["most"] == 3
    assert (figures["opened"], figures["busy"]) == (3, 0)

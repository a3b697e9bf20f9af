"""Very many connections: what is counted, and the lines that are fitted."""

import socket
import threading
from contextlib import contextmanager, suppress

import pytest
from suite import c1m, cli
from suite.c1m import Step, counts_to, line_of, percentile, table, workers_for
from suite.many import HTTP2, Crowd, Holder, address_of, crowd, spoken


def step(count: int, user_len: int, kernel_len: int | None = 0, **more) -> Step:
    return Step("keep-alive", count, 1, user_len, kernel_len, 10_000.0, 20.0, 0.1, 0.5, **more)


def test_steps_double_up_to_all():
    assert counts_to(1_000_000) == [62_500, 125_000, 250_000, 500_000, 1_000_000]
    assert counts_to(1) == [1]


@pytest.mark.parametrize(
    ("count", "descriptors", "workers"),
    [(10, 20_000, 1), (14_800, 20_000, 1), (14_801, 20_000, 2), (1_000_000, 2_000_000, 1)],
)
def test_processes_have_descriptors_for_their_share(count, descriptors, workers):
    assert workers_for(count, descriptors) == workers


def test_the_line_through_steps_is_memory_each():
    steps = [step(count, 5_000 + 800 * count) for count in (100, 200, 400, 800)]
    each, start = line_of(steps, "user_len")
    assert each == pytest.approx(800) and start == pytest.approx(5_000)


def test_percentiles():
    assert percentile([3.0, 1.0, 2.0], 50) == 2.0
    assert percentile(list(map(float, range(100))), 99) == 99.0


def test_the_table_says_what_is_not_known():
    record = {"steps": [step(1_000, 900_000, None).__dict__], "models": {}}
    [row] = table(record)[2:]
    assert row == "| 1,000 keep-alive | 1 | 900 |  | 10,000 | 20 | 0.10, 0.50 |  |"


def test_options_reach_the_measuring(monkeypatch):
    found = []
    monkeypatch.setattr(cli, "measure_many", lambda *given: found.append(given) or 0)
    assert cli.main(["c1m", "--connections", "5", "--http2", "0", "--memory", "2"]) == 0
    assert found == [({"keep-alive": 5, "WebSocket": 100_000, "HTTP/2": 0}, 2_000_000_000)]


@pytest.mark.parametrize("option", ["--connections", "--websockets", "--http2", "--memory"])
def test_fewer_than_none_are_refused(monkeypatch, capsys, option):
    monkeypatch.setattr(cli, "measure_many", lambda *given: 0)
    assert cli.main(["c1m", option, "-1"]) == 2
    assert "greater than or equal to 0" in capsys.readouterr().err


def test_memory_that_is_not_there_is_not_taken(monkeypatch):
    """A step that would take more than is allowed is left out."""

    class Server:
        port = 1

        def __init__(self, workers):
            self.workers = workers

        def stop(self):
            return 0.0

        def kill(self):
            return None

    class Held:
        count, pipes, answer = 0, [], None

    free = [1000]

    def opened(service, held, kind, count):
        held.count = count
        free[0] = 1000 - count
        return step(count, count)

    @contextmanager
    def few(port, each_max):
        yield Held()

    monkeypatch.setattr(c1m, "Service", Server)
    monkeypatch.setattr(c1m, "crowd", few)
    monkeypatch.setattr(c1m, "available_len", lambda: free[0])
    monkeypatch.setattr(c1m, "measure_step", opened)
    steps, _, _ = c1m.measure_kind("keep-alive", [10, 20, 40, 80], 50)
    assert [one.connections for one in steps] == [10, 20, 40]


class Answering:
    """A server that answers a request of each connection, and sends what it is told."""

    def __init__(self, answer: bytes) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.listener.getsockname()[1]
        self.answer, self.sockets = answer, []
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            self.sockets.append(sock)
            # A client may leave whenever it likes.
            with suppress(ConnectionError):
                sock.recv(4096)
                sock.sendall(self.answer)

    def close(self) -> None:
        self.listener.close()
        for sock in self.sockets:
            sock.close()


@pytest.fixture
def answering():
    server = Answering(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone")
    yield server
    server.close()


def test_processes_open_connections_and_hold_them(answering):
    with crowd(answering.port, 20) as held:
        held.open_to("keep-alive", 50)
        assert held.count == 50 and len(answering.sockets) == 50
        assert len(held.pipes) >= 3
        assert sum(held.all("lost")) == 0
        for sock in answering.sockets[:7]:
            # The processes have been forked with some of them.
            sock.shutdown(socket.SHUT_RDWR)
        assert sum(held.all("lost")) == 7


def test_a_message_is_waited_for_by_all(answering):
    holder = Holder(answering.port, 0)
    holder.open("keep-alive", 5)
    for sock in answering.sockets:
        sock.sendall(b"\x81\x04news")
    assert holder.hear(b"news") > 0
    for sock in answering.sockets:
        sock.close()
    holder.drain()
    assert holder.sockets == []


def test_who_is_refused_says_so():
    server = Answering(b"HTTP/1.1 503 Service Unavailable\r\n\r\n")
    held = Crowd(server.port, 10)
    try:
        thread = threading.Timer(0.5, lambda: [sock.close() for sock in server.sockets])
        thread.start()
        with pytest.raises(ValueError, match="the server closed behind b'HTTP/1.1 503"):
            held.open_to("keep-alive", 1)
    finally:
        held.end()
        server.close()


def test_frames_are_whole():
    assert spoken(b"hi") == b"\x81\x82\0\0\0\0hi"
    assert HTTP2.endswith(b"\x41\x05bench")


def test_addresses_are_of_the_loopback_and_differ():
    found = {address_of(number) for number in range(0, 200_000, 7)}
    assert len(found) == len(range(0, 200_000, 7))
    assert all(name.startswith("127.") and name != "127.0.0.1" for name in found)
    for name in found:
        socket.inet_aton(name)

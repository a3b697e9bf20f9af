"""What a client within its limits costs the others of a worker: their waits, CPU
for each message, and memory. Figures are printed (`pytest -s`)."""

import socket
import sys
import threading
import time
from contextlib import ExitStack

import pytest
from conftest import Client, wait_until
from h2_client import (
    DATA, END_HEADERS, END_STREAM, HEADERS, INITIAL_WINDOW, LAST_ID, PREFACE,
    H2Client, frame, settings, window_update,
)  # fmt: skip
from h2_hpack import encode
from processes import anonymous_len, cpu_s

GET = b"GET %s HTTP/1.1\r\nHost: test\r\n\r\n"
WORD = b" news"
WAIT_S = 60


class Drain:
    """A client that counts the frames that it is sent, and reads as fast as it
    can, with windows that are never shut unless it is asked for that."""

    def __init__(self, server, is_open: bool = True) -> None:
        self.sock = server.connect(WAIT_S)
        self.count, self.heads, self.next_id = 0, 0, 1
        window = LAST_ID if is_open else 0
        self.send(PREFACE + settings({INITIAL_WINDOW: window}))
        self.send(window_update(0, LAST_ID - 65_535))

    def send(self, octets: bytes) -> None:
        self.sock.sendall(octets)

    def ask(self, path: str, count: int) -> None:
        """Sends requests, each on a stream of its own."""
        fields = [(":method", "GET"), (":scheme", "http"), (":path", path), (":authority", "a")]
        block = encode(fields)
        octets = b""
        for _ in range(count):
            octets += frame(HEADERS, END_HEADERS | END_STREAM, self.next_id, block)
            self.next_id += 2
        self.send(octets)

    def read(self, until) -> None:
        """Reads frames until so many have come."""
        octets = getattr(self, "rest", b"")
        while not until():
            octets += self.sock.recv(1 << 20)
            at = 0
            while len(octets) >= at + 9:
                length = int.from_bytes(octets[at : at + 3])
                if len(octets) < at + 9 + length:
                    break
                kind = octets[at + 3]
                self.heads += kind == HEADERS
                if kind == DATA:
                    self.count += octets.count(WORD, at + 9, at + 9 + length)
                at += 9 + length
            octets = octets[at:]
        self.rest = octets

    def segment_count(self) -> int:
        """Tells in how many segments it was sent all content so far: the server
        sends none later than it can, so in how many calls at least."""
        data_segs_in = 152
        info = self.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192)
        return int.from_bytes(info[data_segs_in : data_segs_in + 4], sys.byteorder)

    def close(self) -> None:
        self.sock.close()


class Healthy(threading.Thread):
    """A client of HTTP/1.1 that asks for little, again and again; how long it has
    waited for each answer, in milliseconds."""

    def __init__(self, server) -> None:
        super().__init__(daemon=True)
        self.client = Client(server, WAIT_S)
        self.waits_ms: list[float] = []
        self.is_over = False
        self.start()
        assert wait_until(lambda: len(self.waits_ms) > 20, 10)

    def run(self) -> None:
        while not self.is_over:
            began = time.monotonic()
            self.client.send(GET % b"/line")
            assert self.client.response().status == 200
            self.waits_ms.append((time.monotonic() - began) * 1_000)
            time.sleep(0.002)

    def count(self) -> int:
        """How many answers it has had so far."""
        return len(self.waits_ms)

    def longest_ms(self) -> float:
        """Ends, and tells the longest wait."""
        self.is_over = True
        self.join(WAIT_S)
        return max(self.waits_ms[20:])


def subscribers(server, stack, connections: int, streams: int, is_open: bool = True):
    clients = []
    for _ in range(connections):
        client = Drain(server, is_open)
        stack.callback(client.close)
        client.ask("/events", streams)
        client.read(lambda: client.heads == streams)
        clients.append(client)
    return clients


def publish(publisher: H2Client, count: int = 1) -> None:
    assert publisher.post(f"/publish?count={count}", WORD).status == 200


def test_an_event_costs_each_stream_the_same(start):
    """Of 99 streams of one connection, as of 11 connections with 9 each, or nearly:
    what rings of one connection is looked at once, and sent together."""
    message_count = 100
    costs, segments = {}, {}
    for name, connections, streams in [("99 streams", 1, 99), ("11 of 9", 11, 9)]:
        server = start("h2_server", handler_threads=0)
        with ExitStack() as stack:
            clients = subscribers(server, stack, connections, streams)
            publisher = stack.enter_context(H2Client(server))
            publish(publisher)
            for client in clients:
                client.read(lambda: client.count >= streams)
            before = cpu_s(server.process.pid)
            sent_before = sum(client.segment_count() for client in clients)
            for number in range(message_count):
                publish(publisher)
                for client in clients:
                    client.read(lambda: client.count >= streams * (number + 2))
            costs[name] = (cpu_s(server.process.pid) - before) * 1_000 / message_count
            sent = sum(client.segment_count() for client in clients) - sent_before
            segments[name] = sent / message_count / connections
    print(f"\nms of CPU for an event: {costs}; segments: {segments}")
    assert costs["99 streams"] < 2 * costs["11 of 9"] + 0.5
    assert segments["99 streams"] < 3


@pytest.mark.nightly
def test_events_to_many_streams_hold_nobody(start):
    server = start("h2_server", handler_threads=0)
    with ExitStack() as stack:
        clients = subscribers(server, stack, 10, 100)
        publisher = stack.enter_context(H2Client(server))
        healthy = Healthy(server)
        for number in range(10):
            publish(publisher)
            for client in clients:
                client.read(lambda: client.count >= 100 * (number + 1))
        longest_ms = healthy.longest_ms()
    print(f"\n10 connections of 100 streams: a healthy client waited {longest_ms:.0f} ms")
    assert longest_ms < 100


@pytest.mark.nightly
def test_events_for_shut_windows_hold_nobody(start):
    server = start("h2_server", handler_threads=0)
    with ExitStack() as stack:
        subscribers(server, stack, 1, 99, is_open=False)
        publisher = stack.enter_context(H2Client(server, timeout=WAIT_S))
        healthy = Healthy(server)
        began, worked = time.monotonic(), cpu_s(server.process.pid)
        for _ in range(500):
            publish(publisher)
        # All that has rung is looked at before this is answered.
        assert publisher.get("/counts").status == 200
        passed_s = time.monotonic() - began
        worked_s = cpu_s(server.process.pid) - worked
        longest_ms = healthy.longest_ms()
    print(
        f"\n500 events for 99 shut windows: {passed_s:.2f} s, {worked_s:.2f} s of CPU;"
        f" a healthy client waited {longest_ms:.0f} ms"
    )
    assert worked_s < 1 and longest_ms < 100


def hold(server, over: str, path: str, count: int) -> None:
    """Sends requests at once, and waits for all answers."""
    if over == "HTTP/1.1":
        with Client(server, WAIT_S) as client:
            client.send(GET % path.encode() * count)
            for _ in range(count):
                assert client.response().status == 200
        return
    client = Drain(server)
    client.ask(path, count)
    client.read(lambda: client.heads == count)
    client.close()


@pytest.mark.parametrize("over", ["HTTP/1.1", "HTTP/2"])
@pytest.mark.parametrize("path, threads", [("/holding/10", -1), ("/slow/10", 0)])
def test_a_turn_is_bounded_by_time(start, over, path, threads):
    """100 requests of 10 ms in some 7 KB, on the loop since their route says so or
    there are no threads: others wait for a few of them at most."""
    server = start("h2_server", handler_threads=threads)
    healthy = Healthy(server)
    before = healthy.count()
    hold(server, over, path, 100)
    answered = healthy.count() - before
    longest_ms = healthy.longest_ms()
    print(
        f"\n100 of {path} over {over}: a healthy client had {answered} answers, and"
        f" waited {longest_ms:.0f} ms"
    )
    # A second in all: without turns it would have one or two.
    assert answered >= 5


@pytest.mark.nightly
@pytest.mark.parametrize("over", ["HTTP/1.1", "HTTP/2"])
def test_a_route_that_has_held_the_loop_is_moved(start, over):
    """Whatever else is asked meanwhile: the second row of requests finds it on
    threads, each of which it has for itself."""
    server = start("h2_server")
    # None is timed by chance any more.
    with Client(server) as client:
        for _ in range(300):
            client.send(GET % b"/line")
            client.response()
    others = [Healthy(server) for _ in range(4)]
    for number in range(3):
        hold(server, over, "/slow/10", 30)
    longest_ms = max(other.longest_ms() for other in others)
    print(f"\n3 times 30 of 10 ms over {over}: others waited {longest_ms:.0f} ms")
    assert longest_ms < 150


def test_many_connections_with_a_slow_request_each(start):
    server = start("h2_server")
    with ExitStack() as stack:
        clients = [stack.enter_context(Client(server, WAIT_S)) for _ in range(100)]
        for client in clients:
            for _ in range(4):
                client.send(GET % b"/line")
                client.response()
        healthy = Healthy(server)
        for client in clients:
            client.send(GET % b"/slow/50")
        for client in clients:
            assert client.response().status == 200
        longest_ms = healthy.longest_ms()
    print(f"\n100 connections with one of 50 ms each: others waited {longest_ms:.0f} ms")
    # One behind the other they take 5 s.
    assert longest_ms < 1_500


@pytest.mark.parametrize(
    "length, connections, bound_mb", [(10_000_000, 1, 60), (1_000_000, 10, 60)]
)
def test_responses_that_nobody_takes_are_not_made(start, length, connections, bound_mb):
    """100 streams of a connection with shut windows, answered by threads."""
    server = start("h2_server")
    path = f"/heavy/{length}"
    with H2Client(server) as first:
        # It becomes known that the route is slow, and how much it makes.
        for _ in range(2):
            assert len(first.get(path).body) == length
    before = anonymous_len(server.process.pid)
    with ExitStack() as stack:
        clients = []
        for _ in range(connections):
            client = Drain(server, is_open=False)
            stack.callback(client.close)
            client.ask(path, 100)
            clients.append(client)
        for client in clients:
            client.read(lambda: client.heads >= 1)
        # Nothing more is begun, or all would be by then.
        with H2Client(server, timeout=WAIT_S) as other:
            assert other.get("/slow/1500").status == 200
        held_mb = (anonymous_len(server.process.pid) - before) / 1e6
        heads = sum(client.heads for client in clients)
    print(
        f"\n{connections} times 100 requests for {length / 1e6:.0f} MB, windows shut:"
        f" {held_mb:.0f} MB held, {heads} heads"
    )
    assert held_mb < bound_mb


def test_responses_that_are_taken_do_not_wait(start):
    """Calls of one connection run at once while what they make is taken."""
    server = start("h2_server")
    with H2Client(server) as client:
        client.get("/slow/50")
        began = time.monotonic()
        streams = [client.request("/slow/1000") for _ in range(60)]
        for stream in streams:
            assert client.answer(stream).status == 200
        passed_s = time.monotonic() - began
    print(f"\n60 calls of 1 s: {passed_s:.2f} s")
    # One after the other they take a minute.
    assert passed_s < 20

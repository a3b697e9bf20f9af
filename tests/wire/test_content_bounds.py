"""What content may hold: memory, threads, and the time of others.

A request whose answer needs no content is answered by its head; unfinished
content has a bound for all of it; and clients that stall do not hold what
others need.
"""

import base64
import socket
import threading
import time

import pytest
from conftest import Client, wait_until, wait_until_read
from processes import AnonymousPeak, stopped
from ready import ready

FAST = b"GET /fast HTTP/1.1\r\nHost: test\r\n\r\n"
SLOW = b"GET /slow/%d HTTP/1.1\r\nHost: test\r\n\r\n"
PATIENT = b"GET /patient HTTP/1.1\r\nHost: test\r\n\r\n"
MIB = 1 << 20
CHUNKED = "Transfer-Encoding: chunked"
SKIPPED_LEN_MAX = 65_536


@pytest.fixture(params=[0, 4], ids=["no threads", "handler threads"])
def server(start, request):
    return start("workers_server", workers=1, handler_threads=request.param)


def head(target: str, *fields: str) -> bytes:
    lines = [f"POST {target} HTTP/1.1", "Host: test", *fields]
    return "\r\n".join([*lines, "", ""]).encode()


def sized(length: int) -> str:
    return f"Content-Length: {length}"


def credentials(text: str) -> str:
    return "Authorization: Basic " + base64.b64encode(text.encode()).decode()


REFUSED = [
    ("/nowhere", 404, []),
    ("/%zz", 400, []),
    ("/fast", 405, []),
    ("/guarded", 401, []),
    ("/guarded", 401, [credentials("ann:wrong")]),
]


@pytest.mark.parametrize("target, status, fields", REFUSED)
def test_what_needs_no_content_is_answered_by_the_head(server, target, status, fields):
    """9110-15.5: a request that fails by its head; 9112-9.3: content that will
    not be read ends the connection, so that none of it becomes a request."""
    with Client(server) as client:
        client.send(head(target, sized(1_000_000), *fields))
        response = client.response()
        assert response.status == status
        assert response.fields["connection"] == "close"
        try:
            client.send(FAST * 10)
        except OSError:
            pass
        assert client.is_closed()


@pytest.mark.parametrize("target, status, fields", REFUSED)
def test_no_continue_for_what_needs_no_content(server, target, status, fields):
    """9110-10.1.1: a final status in place of 100, also for little content; it
    may come or not, so the connection ends."""
    with Client(server) as client:
        client.send(head(target, sized(5), "Expect: 100-continue", *fields))
        response = client.response()
        assert response.status == status
        assert response.fields["connection"] == "close"
        assert client.is_closed()


def chunk(octets: bytes) -> bytes:
    return b"%x;a=b\r\n%s\r\n" % (len(octets), octets)


LITTLE = {
    "sized": (sized(20 * len(FAST)), FAST * 20),
    "chunked": (CHUNKED, chunk(FAST) * 20 + b"0\r\nA: b\r\n\r\n"),
}


@pytest.mark.parametrize("step", [1, 7, 100_000])
@pytest.mark.parametrize("framing, content", LITTLE.values(), ids=LITTLE)
@pytest.mark.parametrize("target, status, fields", REFUSED)
def test_little_content_is_skipped_and_the_connection_goes_on(
    server, target, status, fields, framing, content, step
):
    """9112-6.3: the next request starts where the content ends, though the
    content looks like requests."""
    with Client(server) as client:
        for arrived in (0, 30):
            client.send(head(target, framing, *fields) + content[:arrived])
            response = client.response()
            assert response.status == status
            assert "connection" not in response.fields
            rest = content[arrived:] + b"GET / HTTP/1.1\r\nHost: test\r\n\r\n"
            for start in range(0, len(rest), step):
                client.send(rest[start : start + step])
            response = client.response()
            assert response.status == 200
            assert response.body == b"Hello, World!"


BAD_RESTS = {
    "much": chunk(bytes(SKIPPED_LEN_MAX)) + chunk(b"a"),
    "a large chunk": b"%x\r\n" % (SKIPPED_LEN_MAX + 1),
    "no chunk": b"x",
}


@pytest.mark.parametrize("rest", BAD_RESTS.values(), ids=BAD_RESTS)
def test_chunks_that_are_not_skipped_end_the_connection(server, rest):
    """9112-9.3: nothing of them becomes a request, and what was answered is not
    answered again."""
    with Client(server) as client:
        client.send(head("/nowhere", CHUNKED))
        response = client.response()
        assert response.status == 404
        assert "connection" not in response.fields
        client.send(rest)
        try:
            client.send(FAST)
        except OSError:
            pass
        assert client.is_closed()


def test_content_that_comes_with_its_head_keeps_the_connection(server):
    content = FAST * 20
    with Client(server) as client:
        client.send((head("/nowhere", sized(len(content))) + content + FAST) * 3)
        for _ in range(3):
            assert client.response().status == 404
            assert client.response().status == 200


def test_content_of_who_may_enter_is_taken(server):
    with Client(server) as client:
        client.send(head("/guarded", sized(9), credentials("ann:secret")) + b"abc")
        wait_until_read(server, client)
        client.send(b"defghi" + FAST)
        assert client.response().body == b"9"
        assert client.response().status == 200


def test_skipped_content_has_a_time(start):
    server = start("workers_server", workers=1, body_timeout_ms=300)
    with Client(server) as client:
        client.send(head("/nowhere", sized(50)))
        assert client.response().status == 404
        # It was answered: nothing is said when the rest does not come.
        assert client.is_closed()


def test_next_request_has_its_own_time(start):
    """What was left of the time for skipped content is not that of the content
    behind it, also if both come together."""
    server = start("workers_server", workers=1, body_timeout_ms=3_000)
    with Client(server, 10) as client:
        client.send(head("/nowhere", sized(50)))
        assert client.response().status == 404
        time.sleep(2)
        client.send(bytes(50) + head("/length", sized(3)) + b"a")
        time.sleep(2)
        client.send(b"bc")
        assert client.response().body == b"3"


class Others(threading.Thread):
    """A client that asks again and again while an attack goes on."""

    def __init__(self, server, request: bytes) -> None:
        super().__init__(daemon=True)
        self.client = Client(server, 30)
        self.request = request
        self.times = []
        self.has_ended = threading.Event()

    def run(self) -> None:
        while not self.has_ended.is_set():
            began = time.monotonic()
            self.client.send(self.request)
            assert self.client.response().status == 200
            self.times.append(time.monotonic() - began)
            time.sleep(0.002)

    def worst(self) -> float:
        """Ends it; gives the longest time in seconds."""
        self.has_ended.set()
        self.join(30)
        assert self.times, "nothing was answered"
        self.client.sock.close()
        return max(self.times)


class _Sender(threading.Thread):
    """Sends octets to a server that may refuse them before all are sent."""

    def __init__(self, client: Client, octets: bytes) -> None:
        super().__init__(daemon=True)
        self.client, self.octets = client, octets
        self.start()

    def run(self) -> None:
        try:
            self.client.send(self.octets)
        except OSError:
            pass


def settled(clients: list[Client], others: Others) -> list[Client]:
    """Waits until there are no more answers though the loop goes round and round;
    those that have one."""
    for _ in range(100):
        sockets = ready([client.sock for client in clients], 0)
        rounds = len(others.times)
        assert wait_until(lambda: len(others.times) > rounds + 50, 60)
        if sockets and sockets == ready([client.sock for client in clients], 0):
            return [client for client in clients if client.sock in sockets]
    raise AssertionError("nobody was answered")


@pytest.mark.parametrize("threads", [0, 4])
def test_unfinished_content_has_a_bound_for_all(start, threads):
    """64 clients send all but the last octet of 2 MiB each: 128 MiB."""
    server = start(
        "workers_server",
        workers=1,
        handler_threads=threads,
        max_body_size=2 * MIB,
        max_buffered_bodies_size=16 * MIB,
    )
    others = Others(server, FAST)
    others.start()
    peak = AnonymousPeak(server.process.pid)
    content = bytes(2 * MIB)
    refused = 0
    with stopped(server.process.pid):
        # All of it is there when the server looks: that takes the most memory, for
        # all of them grow side by side.
        clients = [Client(server, 30) for _ in range(64)]
        octets = head("/length", sized(len(content))) + content[:-1]
        senders = [_Sender(client, octets) for client in clients]
        until = time.monotonic() + 2
        for sender in senders:
            # One waits for the server only if the system takes less than that.
            sender.join(max(until - time.monotonic(), 0))
    for sender in senders:
        sender.join(30)
        assert not sender.is_alive()
    answered = settled(clients, others)
    grown = peak.end()
    worst = others.worst()
    held = [client for client in clients if client not in answered]
    for client in answered:
        response = client.response()
        refused += 1
        assert response.status == 503
        assert response.fields["retry-after"] == "1"
        assert response.fields["connection"] == "close"
    print(
        f"128 MiB of unfinished content: {grown / MIB:.1f} MiB more memory,"
        f" {refused} refused, {len(held)} held; others waited"
        f" {worst * 1e3:.0f} ms at most"
    )
    # What is counted, and what the allocator keeps of the rooms that they grew out
    # of: up to 38 MiB were seen.
    assert grown < 48 * MIB
    assert 3 <= len(held) <= 8
    # What is held is served, and then there is room again.
    for client in held:
        client.sock.settimeout(10)
        client.send(b"\0")
        assert client.response().body == b"%d" % len(content)
    for _ in range(20):
        with Client(server, 10) as client:
            client.send(head("/length", sized(len(content))) + content[:-1])
            wait_until_read(server, client)
            client.send(b"\0")
            assert client.response().body == b"%d" % len(content)
    for client in clients:
        client.sock.close()


def test_bound_counts_what_handlers_read_while_it_arrives(start):
    server = start(
        "workers_server",
        workers=1,
        handler_threads=8,
        max_body_size=MIB,
        max_buffered_bodies_size=MIB,
    )
    clients = [Client(server, 10) for _ in range(12)]
    for client in clients:
        # Nothing is read, so 256 KiB and more wait for each handler.
        client.send(head("/upload?pause=6000", sized(900_000)) + bytes(400_000))
    others = Others(server, FAST)
    others.start()
    refused = settled(clients, others)
    others.worst()
    for client in refused:
        assert client.response().status == 503
    assert 4 <= len(refused) < 12
    for client in clients:
        client.sock.close()

    def is_taken() -> bool:
        with Client(server, 10) as client:
            client.send(head("/length", sized(500_000)) + bytes(400_000))
            time.sleep(0.05)
            try:
                client.send(bytes(100_000))
                return client.response().body == b"500000"
            except OSError:
                return False

    # What they held is free again when their handlers have ended.
    assert wait_until(is_taken, 40)


def test_content_that_can_never_be_had_is_413(start):
    server = start(
        "workers_server",
        workers=1,
        max_body_size=MIB,
        max_buffered_bodies_size=MIB,
    )
    with Client(server) as client:
        client.send(head("/length", sized(MIB + 1)))
        assert client.response().status == 413


def test_stalled_uploads_leave_threads_to_others(start):
    """Sixteen of one octet each, and as many behind them, on 16 threads."""
    server = start("workers_server", workers=1, handler_threads=16)
    stalled = [Client(server, 30) for _ in range(32)]
    for client in stalled:
        client.send(head("/upload", sized(1_000_000)) + b"a")
    wait_until_read(server, *stalled)
    others = Others(server, SLOW % 1)
    others.start()
    small = Others(server, head("/upload", sized(3)) + b"abc")
    small.start()
    with Client(server, 30) as client:
        # It comes in pieces and is complete before there is a thread for it.
        client.send(head("/upload", sized(100_000)) + b"a")
        wait_until_read(server, client)
        began = time.monotonic()
        client.send(bytes(99_999))
        assert client.response().body.startswith(b"100000 ")
        medium_s = time.monotonic() - began
    began = time.monotonic()
    with Client(server, 30) as client:
        content = bytes(3_000_000)
        client.send(head("/upload", sized(len(content))) + content)
        assert client.response().body.startswith(b"3000000 ")
    large_s = time.monotonic() - began
    slow_s, small_s = others.worst(), small.worst()
    print(
        f"32 stalled uploads on 16 threads: others waited {slow_s * 1e3:.0f} ms"
        f" at most, uploads of 3 octets {small_s * 1e3:.0f} ms, of 100 kB"
        f" {medium_s * 1e3:.0f} ms, of 3 MB {large_s:.1f} s"
    )
    # Who stalls has 30 s.
    assert slow_s < 10 and small_s < 10 and medium_s < 10
    # Those that stall give their threads up to those that wait for one.
    assert large_s < 20
    assert stalled[0].response().status == 408
    for client in stalled:
        client.sock.close()


def test_stalled_uploads_take_no_place_in_the_queue_of_others(start):
    server = start("workers_server", workers=1, handler_threads=4, handler_queue=2)
    stalled = [Client(server, 30) for _ in range(8)]
    for client in stalled:
        client.send(head("/upload", sized(1_000_000)) + b"a")
    # Three run and two wait.
    assert wait_until(lambda: len(ready([c.sock for c in stalled], 0)) == 3)
    for client in [c for c in stalled if ready([c.sock], 0)]:
        response = client.response()
        assert response.status == 503
        assert response.fields["connection"] == "close"
    with Client(server) as client:
        for _ in range(3):
            client.send(SLOW % 1)
            assert client.response().status == 200
    for client in stalled:
        client.sock.close()


def test_handlers_of_clients_that_hung_up_do_not_run(start):
    """They waited for a thread; one tells of itself when it runs."""
    server = start("workers_server", workers=1, handler_threads=1)
    with Client(server) as first:
        first.send(PATIENT)
        assert wait_until(lambda: "patient at work" in server.stderr())
        gone = [Client(server) for _ in range(8)]
        for client in gone:
            client.send(PATIENT)
        for client in gone[1:]:
            client.sock.close()
        # One that may still read is told.
        gone[0].sock.shutdown(socket.SHUT_WR)
        assert gone[0].response().status == 503
        gone[0].sock.close()
        first.sock.shutdown(socket.SHUT_WR)
        assert first.response().body == b"cancelled"
    with Client(server) as last:
        last.send(SLOW % 1)
        assert last.response().body == b"slept 1 "
    assert server.stderr().count("patient at work") == 1


def test_places_in_the_queue_are_free_when_clients_hang_up(start):
    server = start("workers_server", workers=1, handler_threads=1, handler_queue=2)
    with Client(server) as first:
        first.send(PATIENT)
        assert wait_until(lambda: "patient at work" in server.stderr())
        for _ in range(5):
            waiting = [Client(server) for _ in range(2)]
            for client in waiting:
                client.send(SLOW % 1)
            # Of its end the server hears before that of the other, which it tells.
            waiting[0].sock.close()
            waiting[1].sock.shutdown(socket.SHUT_WR)
            assert waiting[1].response().status == 503
            waiting[1].sock.close()
        with Client(server) as last:
            last.send(SLOW % 1)
            # It waits, and is not refused.
            assert not ready([last.sock], 0.2)
            first.sock.shutdown(socket.SHUT_WR)
            assert first.response().status == 200
            assert last.response().status == 200

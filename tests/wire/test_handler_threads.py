"""Handlers that block, on threads of their own."""

import json
import signal
import socket
import subprocess
import threading
import time

import pytest
from conftest import Client, read_all, wait_until, wait_until_full, wait_until_read
from load import answers_at_once
from ready import ready

GET = b"GET %s HTTP/1.1\r\nHost: test\r\n\r\n"


@pytest.fixture
def pool(start):
    def launch(**config):
        config.setdefault("handler_threads", 4)
        return start("workers_server", workers=1, **config)

    return launch


def ask(server, path: bytes) -> bytes:
    with Client(server, 20) as client:
        client.send(GET % path)
        return client.response().body


def open_connections(server) -> int:
    """Counts connections, with the one that asks."""
    return json.loads(ask(server, b"/stats"))["open"]


def test_blocking_handler_delays_nobody_else(pool):
    server = pool()
    with Client(server) as slow:
        # Longer than anybody here waits.
        slow.send(GET % b"/slow/60000")
        assert ask(server, b"/slow/1") == b"slept 1 "
        assert ask(server, b"/fast") == b"Hello, World!"


def test_sixty_four_at_once_and_a_fast_route_beside(pool):
    """As many as there are threads are at work together, with one worker."""
    server = pool(handler_threads=64)
    clients = [Client(server) for _ in range(64)]
    for client in clients:
        client.send(GET % b"/patient")
    assert wait_until(lambda: server.stderr().count("patient at work") == 64)
    for _ in range(20):
        assert ask(server, b"/fast") == b"Hello, World!"
    # None made room for another.
    assert not ready([client.sock for client in clients], 0)
    for client in clients:
        client.sock.close()


@pytest.mark.parametrize("how", ["close", "reset", "half-close"])
def test_client_that_hangs_up_is_seen(pool, how):
    server = pool()
    client = Client(server)
    client.send(GET % b"/patient")
    assert wait_until(lambda: "patient at work" in server.stderr())
    if how == "reset":
        client.sock.setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0"
        )
    if how == "half-close":
        client.sock.shutdown(socket.SHUT_WR)
        # It may still read: the handler decided to answer early.
        assert client.response().body == b"cancelled"
    client.sock.close()
    assert wait_until(lambda: "cancelled after" in server.stderr())


def test_client_that_is_gone_before_the_handler_begins(pool):
    server = pool()
    with server.connect() as sock:
        sock.sendall(GET % b"/patient")
        sock.shutdown(socket.SHUT_WR)
        assert read_all(sock).endswith(b"cancelled")


def test_flag_is_seen_by_a_loop_without_pause(pool):
    server = pool()
    client = Client(server)
    client.send(GET % b"/spinning")
    ask(server, b"/fast")
    client.sock.close()
    # False if the client had gone before the handler began.
    assert wait_until(lambda: "spun " in server.stderr())


def test_handler_that_takes_too_long_is_answered_for(pool):
    server = pool(handler_timeout_ms=300)
    with Client(server) as client:
        began = time.monotonic()
        client.send(GET % b"/patient")
        response = client.response()
        assert time.monotonic() - began > 0.25
        assert response.status == 503
        assert response.fields["connection"] == "close"
        assert response.fields["retry-after"] == "1"
        assert client.is_closed()
    assert wait_until(lambda: "cancelled after" in server.stderr())
    # What it answered too late reached nobody.
    assert ask(server, b"/slow/1") == b"slept 1 "


def test_route_has_a_time_of_its_own(pool):
    server = pool()
    with Client(server) as other, Client(server) as client:
        other.send(GET % b"/slow/600")
        began = time.monotonic()
        client.send(GET % b"/timed")
        response = client.response()
        assert time.monotonic() - began > 0.15
        assert response.status == 503
        assert client.is_closed()
        assert other.response().body == b"slept 600 "
    assert wait_until(lambda: "cancelled after" in server.stderr())


def test_full_queue_is_answered_at_once_and_kept_alive(pool):
    server = pool(handler_threads=1, handler_queue=2)
    clients = [Client(server) for _ in range(6)]
    # One is with the thread, two wait, and the rest are refused while it works.
    clients[0].send(GET % b"/patient")
    assert wait_until(lambda: "patient at work" in server.stderr())
    for client in clients[1:]:
        client.send(GET % b"/slow/1")
    assert wait_until(lambda: len(ready([c.sock for c in clients], 0)) == 3)
    refused = [c for c in clients if ready([c.sock], 0)]
    assert [c.response().status for c in refused] == [503] * 3
    clients[0].sock.shutdown(socket.SHUT_WR)
    waited = [c for c in clients if c not in refused]
    assert [c.response().status for c in waited] == [200] * 3
    refused = refused[0]
    refused.send(GET % b"/fast")
    assert refused.response().status == 200
    refused.send(GET % b"/slow/1")
    assert refused.response().status == 200


def test_burst_for_idle_threads_does_not_fill_the_queue(pool):
    server = pool(handler_threads=16, handler_queue=1)
    for _ in range(3):
        clients = [Client(server) for _ in range(16)]
        for client in clients:
            client.send(GET % b"/slow/50")
        assert [client.response().status for client in clients] == [200] * 16
        for client in clients:
            client.sock.close()


def test_pipelined_requests_are_answered_in_order(pool):
    server = pool()
    with Client(server) as client:
        client.send(
            b"".join(
                GET % path
                for path in [
                    b"/slow/50?tag=a",
                    b"/fast",
                    b"/slow/1?tag=b",
                    b"/fast",
                    b"/fail",
                    b"/slow/1?tag=c",
                ]
            )
        )
        bodies = [client.response() for _ in range(6)]
        assert [b.status for b in bodies] == [200, 200, 200, 200, 500, 200]
        assert bodies[0].body == b"slept 50 a"
        assert bodies[2].body == b"slept 1 b"
        assert bodies[5].body == b"slept 1 c"
    assert "it failed" in server.stderr()


def test_request_keeps_all_of_its_parts(pool):
    server = pool()
    request = (
        b"POST /whole/a%20b?q=1 HTTP/1.1\r\nHost: test\r\nX-A: field\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n"
        b"3\r\nabc\r\n2\r\nde\r\n0\r\nX-T: trailer\r\n\r\n"
    )
    wanted = b"POST /whole/a%20b?q=1 a b field abcde trailer"
    with Client(server) as client:
        client.send(request + request)
        assert client.response().body == wanted
        assert client.response().body == wanted
        for octet in request:
            client.send(bytes([octet]))
        assert client.response().body == wanted


def test_octets_that_come_meanwhile_wait_for_the_answer(pool):
    server = pool()
    with Client(server) as client:
        client.send(GET % b"/slow/200?tag=x" + b"GET /fa")
        wait_until_read(server, client)
        client.send(b"st HTTP/1.1\r\nHost: test\r\n\r\n")
        assert client.response().body == b"slept 200 x"
        assert client.response().body == b"Hello, World!"


def test_large_response_reaches_a_slow_reader_whole(pool):
    server = pool()
    with Client(server) as client:
        client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        client.send(GET % b"/size/9000000" + GET % b"/slow/1?tag=after")
        wait_until_full(server, client.sock)
        assert len(client.response().body) == 9_000_000
        assert client.response().body == b"slept 1 after"


def test_answers_do_not_overtake_what_the_client_has_not_taken(pool):
    """Pipelined requests for both kinds of threads, and a slow reader."""
    server = pool()
    unit = GET % b"/fast" * 100 + GET % b"/size/20000"
    with socket.socket() as sock:
        sock.settimeout(20)
        # Before it connects, or the window would shrink and open by crumbs.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
        sock.connect(("127.0.0.1", server.port))
        feeder = threading.Thread(target=sock.sendall, args=(unit * 300,))
        feeder.start()
        wait_until_full(server, sock)
        received = sock.makefile("rb")
        for number in range(300):
            for wanted in [b"Hello, World!"] * 100 + [b"x" * 20_000]:
                while line := received.readline().strip().lower():
                    if line.startswith(b"content-length: "):
                        length = int(line[16:])
                assert received.read(length) == wanted, number
        feeder.join(5)


def test_reader_that_stops_is_cut_off(pool):
    server = pool(write_timeout_ms=300)
    with Client(server) as client:
        client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        client.send(GET % b"/size/50000000")
        assert wait_until(lambda: "is cut off" in server.stderr())
        assert wait_until(lambda: open_connections(server) == 1)
        assert len(read_all(client.sock)) < 50_000_000


@pytest.mark.parametrize("version", [b"1.0", b"1.1"])
def test_connection_ends_where_it_should(pool, version):
    server = pool()
    with Client(server) as client:
        client.send(
            b"GET /slow/1 HTTP/"
            + version
            + b"\r\nHost: test\r\nConnection: close\r\n\r\n"
        )
        assert client.response().body == b"slept 1 "
        assert client.is_closed()


def test_head_is_answered_without_content(pool):
    server = pool()
    with Client(server) as client:
        client.send(b"HEAD /slow/1 HTTP/1.1\r\nHost: test\r\n\r\n")
        assert client.response(is_head=True).fields["content-length"] == "8"
        client.send(GET % b"/fast")
        assert client.response().body == b"Hello, World!"


def test_head_is_answered_without_content_when_it_is_late(pool):
    server = pool(handler_timeout_ms=100)
    with server.connect() as sock:
        sock.sendall(b"HEAD /patient HTTP/1.1\r\nHost: test\r\n\r\n")
        answer = read_all(sock)
        assert answer.startswith(b"HTTP/1.1 503 ")
        assert answer.index(b"\r\n\r\n") + 4 == len(answer)


def test_shutdown_waits_for_handlers(pool):
    server = pool()
    with Client(server) as client:
        client.send(GET % b"/slow/400")
        ask(server, b"/fast")
        server.process.send_signal(signal.SIGTERM)
        response = client.response()
        assert response.body == b"slept 400 "
        assert response.fields["connection"] == "close"
    assert server.process.wait(5) == 0


def test_shutdown_cancels_handlers_that_take_too_long(pool):
    server = pool(shutdown_timeout_ms=200)
    with Client(server) as client:
        client.send(GET % b"/patient")
        assert wait_until(lambda: "patient at work" in server.stderr())
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(5) == 0
    assert "cancelled after" in server.stderr()


def test_shutdown_leaves_a_handler_that_never_ends(pool):
    server = pool(shutdown_timeout_ms=200)
    with Client(server) as client:
        client.send(GET % b"/slow/60000")
        # With the one that asks.
        under_way = b"http_requests_in_flight 2\n"
        assert wait_until(lambda: under_way in ask(server, b"/metrics"))
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(10) == 0
    assert "1 handlers have not ended" in server.stderr()


def test_every_worker_has_handler_threads(start):
    server = start("workers_server", workers=2, handler_threads=8)
    clients = [Client(server, 30) for _ in range(16)]
    # One after the other they take eight seconds at each of two workers.
    assert answers_at_once(clients, 1_000) < 6


def test_many_connections_come_and_go_while_handlers_work(pool):
    server = pool(handler_threads=8)
    for round_number in range(30):
        clients = [Client(server) for _ in range(20)]
        for index, client in enumerate(clients):
            client.send(GET % b"/slow/5")
            if index % 2:
                client.sock.close()
        for client in clients[::2]:
            assert client.response().body == b"slept 5 "
            client.sock.close()
    assert ask(server, b"/slow/1") == b"slept 1 "
    server.process.send_signal(signal.SIGTERM)
    try:
        assert server.process.wait(5) == 0
    except subprocess.TimeoutExpired:
        raise AssertionError(server.stderr())

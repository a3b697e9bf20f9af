"""Clients of a `ReverseProxy` that end their own side behind pipelined requests, and
those that leave: RFC 9112 section 9.6."""

import socket
import struct
import threading
import time
from collections.abc import Callable

import pytest
from conftest import Client, read_all
from processes import stopped
from raw_server import Connection, answering, reset_at_close

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n"
PAUSED = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1234"
WAIT_S = 10


def send_together(server, sock: socket.socket, octets: bytes) -> None:
    """Has requests and the end behind them seen at the same time."""
    with stopped(server.process.pid):
        sock.sendall(octets)
        sock.shutdown(socket.SHUT_WR)


@pytest.mark.parametrize(
    "requests, count",
    [(GET, 1), (POST + b"123456789", 1), (2 * GET, 2), (5 * GET, 5), (GET + POST + b"123456789" + GET, 3)],
)
def test_requests_with_the_end_behind_them_are_answered(proxied, requests, count):
    _, server = proxied(answering(OK))
    with server.connect(WAIT_S) as sock:
        send_together(server, sock, requests)
        got = read_all(sock)
    assert got.count(b"HTTP/1.1 200 OK\r\n") == count and b" 503 " not in got
    assert got.endswith(b"ok")


@pytest.mark.parametrize("first, rest", [(GET, b""), (POST + b"1234", b"56789")])
def test_a_single_request_with_the_end_behind_it_is_answered(proxied, first, rest):
    """Though the server has begun with the request when it sees the end."""
    _, server = proxied(answering(OK))
    for _ in range(20):
        with server.connect(WAIT_S) as sock:
            sock.sendall(first)
            if rest:
                # The proxy waits for it.
                ask_own(server)
                sock.sendall(rest)
            sock.shutdown(socket.SHUT_WR)
            assert read_all(sock).startswith(b"HTTP/1.1 200 OK\r\n")


def pausing(go_on: threading.Semaphore) -> Callable[[Connection], None]:
    """Answers a part, and the rest once it may go on."""

    def handle(connection: Connection) -> None:
        while connection.head():
            connection.send(PAUSED)
            assert go_on.acquire(timeout=WAIT_S)
            connection.send(b"56789")

    return handle


def read_paused(sock: socket.socket) -> bytes:
    """Reads as far as `PAUSED` goes."""
    got = b""
    while not got.endswith(b"1234"):
        piece = sock.recv(65_536)
        assert piece, got
        got += piece
    return got


def test_content_behind_the_end_of_a_client_comes_whole(proxied):
    """Of a single request, though there is nothing for a while."""
    go_on = threading.Semaphore(0)
    _, server = proxied(pausing(go_on))
    with server.connect(WAIT_S) as sock:
        send_together(server, sock, GET)
        got = read_paused(sock)
        ask_own(server)
        go_on.release()
        got += read_all(sock)
    assert got.endswith(b"\r\n\r\n123456789")


def test_an_end_within_content_that_pauses_is_waited_for(proxied):
    go_on = threading.Semaphore(0)
    _, server = proxied(pausing(go_on))
    with server.connect(WAIT_S) as sock:
        sock.sendall(GET)
        got = read_paused(sock)
        sock.shutdown(socket.SHUT_WR)
        ask_own(server)
        go_on.release()
        got += read_all(sock)
    assert got.endswith(b"\r\n\r\n123456789")


@pytest.mark.parametrize("comes", ["before the head", "within content"])
def test_an_end_and_nothing_more_for_some_time_is_a_client_that_leaves(proxied, comes):
    asked, go_on, ended = (threading.Event() for _ in range(3))

    def handle(connection: Connection) -> None:
        connection.head()
        asked.set()
        assert go_on.wait(WAIT_S)
        connection.send(PAUSED)
        with pytest.raises(ConnectionResetError):
            connection.sock.recv(1)
        ended.set()

    _, server = proxied(handle)
    with server.connect(WAIT_S) as sock:
        sock.sendall(GET)
        assert asked.wait(WAIT_S)
        if comes == "before the head":
            sock.shutdown(socket.SHUT_WR)
            ask_own(server)
        go_on.set()
        read_paused(sock)
        if comes == "within content":
            sock.shutdown(socket.SHUT_WR)
        assert ended.wait(WAIT_S)
        assert read_all(sock) == b""


@pytest.mark.parametrize("hops", [1, 2])
@pytest.mark.parametrize("way", ["reset", "end"])
def test_content_that_nobody_wants_any_more_is_broken_off(proxied, start, way, hops):
    """The upstream sees that it is no half-closed client: another gateway there
    does not wait for anything more."""
    ended, seen = threading.Event(), []

    def handle(connection: Connection) -> None:
        connection.head()
        connection.send(PAUSED)
        try:
            seen.append(connection.sock.recv(1))
        except ConnectionResetError:
            seen.append("reset")
        ended.set()

    _, server = proxied(handle)
    for _ in range(1, hops):
        server = start("proxy_server", upstream=server.url)
    sock = server.connect(WAIT_S)
    sock.sendall(GET)
    read_paused(sock)
    began = time.monotonic()
    if way == "reset":
        reset_at_close(sock)
    sock.close()
    assert ended.wait(WAIT_S)
    assert seen == ["reset"]
    # A half-closed client is waited for once, and one that resets never.
    assert time.monotonic() - began < (1.5 if way == "reset" else 3.5)


def test_a_request_that_is_not_answered_is_no_more_than_ended(proxied):
    """A reset could take octets of it with it that the upstream has not read."""
    asked, ended = threading.Event(), threading.Event()

    def handle(connection: Connection) -> None:
        connection.head()
        asked.set()
        assert connection.sock.recv(1) == b""
        ended.set()

    _, server = proxied(handle)
    sock = server.connect(WAIT_S)
    sock.sendall(GET)
    assert asked.wait(WAIT_S)
    reset_at_close(sock)
    sock.close()
    assert ended.wait(WAIT_S)


def ask_own(server) -> None:
    """Has the server do all that came before."""
    with Client(server) as other:
        other.send(b"GET /own HTTP/1.1\r\nHost: a\r\n\r\n")
        assert other.response().status == 200


def test_an_end_that_comes_while_others_wait_cancels_nothing(proxied):
    asked, go_on = threading.Event(), threading.Event()

    def handle(connection: Connection) -> None:
        while connection.head():
            asked.set()
            assert go_on.wait(WAIT_S)
            connection.send(OK)

    _, server = proxied(handle)
    with server.connect(WAIT_S) as sock:
        sock.sendall(3 * GET)
        assert asked.wait(WAIT_S)
        sock.shutdown(socket.SHUT_WR)
        # The server has seen the end when it answers another client.
        ask_own(server)
        go_on.set()
        got = read_all(sock)
    assert got.count(b"HTTP/1.1 200 OK\r\n") == 3 and b" 503 " not in got


def test_content_of_responses_comes_whole(proxied):
    """Though there is nothing for a while, of the last one, too."""
    go_on = threading.Semaphore(0)
    _, server = proxied(pausing(go_on))
    with server.connect(WAIT_S) as sock:
        send_together(server, sock, 2 * GET)
        got = b""
        for number in range(1, 3):
            # The next one may come with the end of the one before.
            while got.count(b"\r\n\r\n1234") < number:
                piece = sock.recv(65_536)
                assert piece, got
                got += piece
            go_on.release()
        got += read_all(sock)
    assert got.count(b"\r\n\r\n123456789") == 2


class Waiting:
    """An upstream that answers nothing, and notes that its client goes."""

    def __init__(self) -> None:
        self.asked, self.ended = threading.Event(), threading.Event()

    def __call__(self, connection: Connection) -> None:
        connection.head()
        self.asked.set()
        if connection.sock.recv(1) == b"":
            self.ended.set()


@pytest.mark.parametrize("requests", [GET, 2 * GET])
def test_a_client_that_resets_is_gone(proxied, requests):
    upstream = Waiting()
    _, server = proxied(upstream)
    sock = server.connect(WAIT_S)
    sock.sendall(requests)
    assert upstream.asked.wait(WAIT_S)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()
    assert upstream.ended.wait(WAIT_S)


def test_an_end_with_nothing_behind_it_is_a_client_that_leaves(proxied):
    upstream = Waiting()
    _, server = proxied(upstream)
    sock = server.connect(WAIT_S)
    sock.sendall(GET)
    assert upstream.asked.wait(WAIT_S)
    sock.close()
    assert upstream.ended.wait(WAIT_S)

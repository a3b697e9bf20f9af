"""The attacks of test_hostile.py with a ReverseProxy between client and upstream:
what the server refuses never gets there, and what does is framed in one way."""

import signal
import socket
import threading
import time

import pytest
from conftest import Client, read_all, wait_until
from half_closed import assert_cheap
from processes import anonymous_len, cpu_s, descriptor_count
from raw_server import RawServer, answering
from test_framing import get
from test_proxy_smuggling import Recorder

HEAD = get(b"/")
CHUNKED = b"POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
WAIT_S = 20


@pytest.fixture
def recorder():
    recording = Recorder()
    yield recording
    recording.server.close()


@pytest.fixture
def proxy(start, recorder):
    return start("proxy_server", upstream=recorder.server.url, max_body_size=1 << 24)


@pytest.mark.parametrize("size", [b"1", b"000000000000001"])
def test_framing_of_tiny_chunks_is_not_passed_on(proxy, recorder, size):
    """RFC 9112 section 7.1: up to 20 octets of framing for each octet of content."""
    count = 100_000
    with Client(proxy, WAIT_S) as client:
        client.send(HEAD)
        client.response()
        before = anonymous_len(proxy.process.pid)
        client.send(CHUNKED)
        for _ in range(count // 10_000):
            client.send((size + b"\r\na\r\n") * 10_000)
        client.send(b"0\r\nX-End: yes\r\n\r\n" + HEAD)
        assert client.response().body == client.response().body == b"OK"
    assert recorder.faults == []
    assert recorder.requests[1][3] == b"a" * count
    assert len(recorder.octets) < 5 * count
    assert anonymous_len(proxy.process.pid) - before < 4_000_000


@pytest.mark.parametrize("step", [1, 7, 1023, 1025, 65536])
def test_chunks_in_any_pieces_are_the_same_content(proxy, recorder, step):
    words = [b"%d-" % n + b"x" * (n % 11) for n in range(600)]
    body = b"".join(b"%x;e=1\r\n%s\r\n" % (len(w), w) for w in words)
    wire = CHUNKED + body + b"0\r\nX-T: end\r\n\r\n"
    with Client(proxy, WAIT_S) as client:
        client.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for at in range(0, len(wire), step):
            client.send(wire[at : at + step])
        client.send(get(b"/next"))
        assert client.response().body == client.response().body == b"OK"
    assert recorder.faults == []
    assert [request[1] for request in recorder.requests] == [b"/a", b"/next"]
    assert recorder.requests[0][3] == b"".join(words)
    assert b";e=1" not in recorder.octets and b"X-T: end\r\n" in recorder.octets


def test_endless_trailers_never_get_there(proxy, recorder):
    with Client(proxy, WAIT_S) as client:
        try:
            client.send(CHUNKED + b"0\r\n" + b"X: yyyyyyyyyy\r\n" * 50_000)
        except OSError:
            pass
        assert client.response().status == 431
    assert recorder.requests == [] and b"yyyyyyyyyy" not in recorder.octets


def test_unread_responses_stop_the_reading(start):
    """A client that only sends gets one response of memory, not thousands."""
    asked = 0

    def answer(_head: str, _content: bytes) -> bytes:
        nonlocal asked
        asked += 1
        return b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + bytes(1_000_000)

    upstream = RawServer(answering(answer))
    proxy = start("proxy_server", upstream=upstream.url)
    clients = []
    for _ in range(10):
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.connect(("127.0.0.1", proxy.port))
        sock.setblocking(False)
        try:
            while True:
                sock.send(get(b"/large") * 99)
        except BlockingIOError:
            pass
        clients.append(sock)
    assert wait_until(lambda: asked >= 10, WAIT_S)
    time.sleep(0.2)
    assert asked < 100
    assert anonymous_len(proxy.process.pid) < 40_000_000
    before = cpu_s(proxy.process.pid)
    time.sleep(0.5)
    assert cpu_s(proxy.process.pid) - before < 0.2
    for sock in clients:
        sock.close()
    upstream.close()


def test_half_closed_connections_neither_spin_nor_leak(start, recorder):
    proxy = start(
        "proxy_server", upstream=recorder.server.url, server_linger_timeout_ms=3000,
        max_idle_connections=0,
    )
    with Client(proxy) as client:
        client.send(HEAD)
        client.response()
    assert wait_until(lambda: descriptor_count(proxy.process.pid) < 30)
    descriptors = descriptor_count(proxy.process.pid)
    assert_cheap(proxy, descriptors)
    # What was never complete never is behind it.
    assert {request[1] for request in recorder.requests} == {b"/"}
    assert all(request[3] == b"" for request in recorder.requests)


def test_many_pipelined_requests_get_there_one_by_one(proxy, recorder):
    count = 5_000
    with Client(proxy, WAIT_S) as client:

        def send() -> None:
            requests = [get(b"/%d" % number) for number in range(count - 1)]
            last = get(b"/%d" % (count - 1), b"Connection: close\r\n")
            client.send(b"".join(requests) + last)

        thread = threading.Thread(target=send)
        thread.start()
        data = read_all(client.sock)
        thread.join()
    assert data.count(b"HTTP/1.1 200 OK\r\n") == count
    assert recorder.faults == []
    assert [request[1] for request in recorder.requests] == [b"/%d" % n for n in range(count)]


def test_what_is_refused_lingers_here_and_not_behind(start, recorder):
    """Neither is it prolonged by octets that follow, nor does it outlast the drain."""
    proxy = start(
        "proxy_server", upstream=recorder.server.url, server_linger_timeout_ms=300,
    )
    with Client(proxy) as client:
        client.send(b"BAD\r\n\r\n")
        with pytest.raises(OSError):
            for _ in range(500):
                client.send(b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n")
                time.sleep(0.02)
    proxy = start(
        "proxy_server", upstream=recorder.server.url, server_linger_timeout_ms=60_000,
        server_shutdown_timeout_ms=500,
    )
    with Client(proxy) as client:
        client.send(b"BAD\r\n\r\n")
        assert client.response().status == 400
        proxy.process.send_signal(signal.SIGTERM)
        assert proxy.process.wait(5) == 0
    assert recorder.octets == b""

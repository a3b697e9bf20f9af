"""Attacks on memory, time and framing that a hostile client would try."""

import signal
import socket
import threading
import time

import pytest
from conftest import Client, read_all, wait_until
from half_closed import CHUNKED, HEAD, assert_cheap
from processes import anonymous_len, cpu_s, descriptor_count


@pytest.mark.parametrize("size", [b"1", b"000000000000001"])
def test_framing_of_tiny_chunks_is_not_kept(start, size):
    """9112-7.1: up to 20 octets of framing for each octet of content."""
    server = start()
    count = 1_000_000
    with Client(server, timeout=20) as client:
        client.send(HEAD)
        client.response()
        before = anonymous_len(server.process.pid)
        client.send(CHUNKED)
        for _ in range(count // 10_000):
            client.send((size + b"\r\na\r\n") * 10_000)
        time.sleep(0.1)
        grown = anonymous_len(server.process.pid) - before
        client.send(b"0\r\nX-End: yes\r\n\r\n" + HEAD)
        assert client.response().body == b"a" * count
        assert client.response().body == b"OK"
    assert grown < 5 * count, grown


@pytest.mark.parametrize("step", [1, 7, 1023, 1024, 1025, 4096, 65536])
def test_chunks_in_any_pieces_give_the_same_content(probe, step):
    """9112-7.1: closing gaps must not depend on where the reads end."""
    words = [b"%d-" % n + b"x" * (n % 11) for n in range(600)]
    body = b"".join(b"%x;e=1\r\n%s\r\n" % (len(w), w) for w in words)
    wire = (
        CHUNKED.replace(b"/ ", b"/trailers ", 1)
        + body
        + b"0\r\nX-T: end\r\n\r\n"
    )
    with Client(probe, timeout=10) as client:
        client.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for at in range(0, len(wire), step):
            client.send(wire[at : at + step])
        client.send(HEAD)
        response = client.response()
        assert response.body == b"".join(words) + b"|X-T=end"
        assert client.response().body == b"OK"


def test_endless_trailers_are_refused(probe):
    with Client(probe) as client:
        try:
            client.send(CHUNKED + b"0\r\n" + b"X: yyyyyyyyyy\r\n" * 50_000)
        except OSError:
            pass
        assert client.response().status == 431


def test_unread_responses_stop_the_reading(start):
    """A client that only sends gets one response of memory, not thousands."""
    server = start()
    clients = []
    for _ in range(10):
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.connect(("127.0.0.1", server.port))
        sock.setblocking(False)
        try:
            while True:
                sock.send(b"GET /size/1000000 HTTP/1.1\r\nHost: a\r\n\r\n" * 99)
        except BlockingIOError:
            pass
        clients.append(sock)
    time.sleep(0.2)
    assert anonymous_len(server.process.pid) < 40_000_000
    for sock in clients[:5]:
        sock.shutdown(socket.SHUT_WR)
    before = cpu_s(server.process.pid)
    time.sleep(0.5)
    assert cpu_s(server.process.pid) - before < 0.1
    for sock in clients:
        sock.close()


def test_no_state_of_a_half_closed_connection_spins_or_leaks(start):
    server = start(linger_timeout_ms=3000)
    with Client(server) as client:
        client.send(HEAD)
        client.response()
        descriptors = descriptor_count(server.process.pid) - 1
    # Without that connection.
    assert wait_until(lambda: descriptor_count(server.process.pid) == descriptors)
    assert_cheap(server, descriptors)


def test_a_hundred_thousand_pipelined_requests(probe):
    count = 100_000
    with Client(probe, timeout=20) as client:

        def send() -> None:
            client.send(HEAD * count)
            client.sock.shutdown(socket.SHUT_WR)

        thread = threading.Thread(target=send)
        thread.start()
        data = read_all(client.sock)
        thread.join()
    assert data.count(b"HTTP/1.1 200 OK\r\n") == count


def test_lingering_cannot_be_prolonged(start):
    server = start(linger_timeout_ms=300)
    with Client(server) as client:
        client.send(b"BAD\r\n\r\n")
        with pytest.raises(OSError):
            for _ in range(500):
                client.send(b"x")
                time.sleep(0.02)


def test_an_answer_before_the_end_of_an_upload_arrives(start):
    """However much a client sends in one go before it reads (RFC 9112 section 9.6)."""
    server = start(linger_timeout_ms=20_000)
    length = 32 << 20
    for _ in range(10):
        with Client(server, timeout=20) as client:
            client.send(b"POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % length)
            client.send(bytes(length))
            assert client.response().status == 413


def test_lingering_does_not_outlast_the_drain(start):
    server = start(linger_timeout_ms=60000, shutdown_timeout_ms=500)
    with Client(server) as client:
        client.send(b"BAD\r\n\r\n")
        assert client.response().status == 400
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(5) == 0

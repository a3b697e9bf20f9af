"""Content that handlers read while it arrives."""

import random
import signal
import socket
import struct
import threading
import time

import pytest
from conftest import Client, is_refused, read_all, wait_until, wait_until_read
from h2_client import H2Client
from https_client import HttpsClient, trusting
from processes import memory_len

GET = b"GET /fast HTTP/1.1\r\nHost: test\r\n\r\n"
CONTENT = bytes(range(251)) * 2_000


@pytest.fixture
def server(pool):
    return pool()


@pytest.fixture
def pool(start):
    def launch(**config):
        config.setdefault("handler_threads", 16)
        return start("workers_server", workers=1, **config)

    return launch


def head(
    target: str = "/upload", length: int | None = None, *fields: str
) -> bytes:
    """A POST's head; chunked without a length."""
    framing = f"Content-Length: {length}"
    if length is None:
        framing = "Transfer-Encoding: chunked"
    lines = [f"POST {target} HTTP/1.1", "Host: test", framing, *fields]
    return "\r\n".join([*lines, "", ""]).encode()


def chunked(content: bytes, size: int, trailers: bytes = b"") -> bytes:
    pieces = []
    for start in range(0, len(content), size):
        piece = content[start : start + size]
        pieces.append(b"%x\r\n%s\r\n" % (len(piece), piece))
    return b"".join([*pieces, b"0\r\n", trailers, b"\r\n"])


def taken(content: bytes) -> bytes:
    """What the handler tells of content."""
    checksum = 0
    for octet in content:
        checksum = (checksum * 31 + octet) & 0xFFFFFFFF
    return b"%d %d" % (len(content), checksum)


TAKEN = taken(CONTENT)


@pytest.mark.parametrize("size", [None, 1, 1000, 65_536, 400_000])
def test_whole_content_and_the_request_behind_it(server, size):
    """The next request starts exactly where the content ends."""
    content = CONTENT[:20_000] if size == 1 else CONTENT
    if size is None:
        data = head(length=len(content)) + content
    else:
        data = head() + chunked(content, size, b"X-T: seen\r\n")
    wanted = taken(content) + (b"" if size is None else b" seen")
    with Client(server, 20) as client:
        feeder = threading.Thread(
            target=client.send, args=((data + GET) * 3,), daemon=True
        )
        feeder.start()
        for _ in range(3):
            assert client.response().body == wanted
            assert client.response().body == b"Hello, World!"
        feeder.join(5)


def test_what_comes_behind_content_before_the_answer_is_read(server):
    """No event tells a second time of octets that came while a handler had the
    request, also if its content ended among them."""
    behind = bytes(300_000)
    with Client(server, 20) as client:
        client.send(head("/upload?pause=150", 2) + b"a")
        wait_until_read(server, client)
        data = b"b" + head("/length", len(behind)) + behind + GET
        feeder = threading.Thread(target=client.send, args=(data,), daemon=True)
        feeder.start()
        assert client.response().body == taken(b"ab")
        assert client.response().body == b"300000"
        assert client.response().body == b"Hello, World!"
        feeder.join(5)


@pytest.mark.parametrize("target", ["/upload", "/upload/quick"])
@pytest.mark.parametrize("is_whole", [True, False])
def test_streaming_handler_never_runs_on_the_loop(server, target, is_whole):
    """Also of a request in one segment, and of a route said not to block: this
    one waits until its client has gone."""
    data = head(f"{target}?then=wait", 6) + b"abcdef"
    with Client(server) as slow, Client(server) as client:
        if not is_whole:
            slow.send(data[:-1])
            wait_until_read(server, slow)
            data = data[-1:]
        slow.send(data)
        wait_until_read(server, slow)
        client.send(GET)
        assert client.response().body == b"Hello, World!"


@pytest.mark.parametrize("mode", ["threads", "prefork"])
def test_streaming_without_handler_threads_is_refused(start, mode):
    server = start("workers_server", workers=1, mode=mode, streams=1, handler_threads=0)
    assert server.process.wait(10) != 0
    assert "set handler_threads" in server.stderr()
    assert "handler_threads is 0" in server.stderr()


def test_slow_client_octet_by_octet(server):
    data = head() + chunked(b"abcdefg", 3, b"X-T: slow\r\n")
    with Client(server) as client:
        client.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for octet in data + GET:
            client.send(bytes([octet]))
            time.sleep(0.001)
        assert client.response().body == taken(b"abcdefg") + b" slow"
        assert client.response().body == b"Hello, World!"


def test_http_1_0(server):
    with Client(server) as client:
        client.send(b"POST /upload HTTP/1.0\r\nContent-Length: 5\r\n\r\nab")
        wait_until_read(server, client)
        client.send(b"cde")
        assert client.response().body == taken(b"abcde")
        assert client.is_closed()


def test_fast_client_of_a_slow_handler_is_held_up(pool):
    """Memory stays small, the client's window closes, others are served."""
    server = pool()
    with Client(server) as client:
        client.send(head("/upload/large", 64 << 20))
        before = memory_len(server.process.pid, "VmRSS")
        with Client(server, 30) as slow:
            slow.send(head("/upload/large?pause=20&read=60000000", 64 << 20))
            slow.sock.settimeout(0.3)
            sent = 0
            with pytest.raises(TimeoutError):
                while sent < 64 << 20:
                    sent += slow.sock.send(bytes(1 << 20))
                    assert sent < 48 << 20, "nothing holds the client up"
            resident = memory_len(server.process.pid, "VmRSS")
            assert resident - before < 8_000_000
            # Others go on.
            with Client(server) as other:
                other.send(GET)
                assert other.response().body == b"Hello, World!"
    assert wait_until(lambda: "upload failed: 400" in server.stderr())


def test_held_up_client_goes_on(pool):
    server = pool()
    content = CONTENT * 6
    with Client(server, 30) as client:
        client.send(head("/upload/large?pause=10", len(content)) + content)
        client.send(GET)
        assert client.response().body == taken(content)
        assert client.response().body == b"Hello, World!"


@pytest.mark.parametrize("how", ["close", "reset", "half-close"])
@pytest.mark.parametrize("framing", ["sized", "chunked"])
def test_client_that_hangs_up_within_its_content(server, how, framing):
    data = head(length=1000) + b"abc"
    if framing == "chunked":
        data = head() + b"3\r\nabc\r\n"
    client = Client(server)
    client.send(data)
    wait_until_read(server, client)
    if how == "reset":
        client.sock.setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0"
        )
    if how == "half-close":
        client.sock.shutdown(socket.SHUT_WR)
        assert read_all(client.sock) == b""
    client.sock.close()
    assert wait_until(lambda: "upload failed: 400" in server.stderr())
    assert wait_until(lambda: has_one_connection(server))
    assert "error" not in server.stderr()


def has_one_connection(server) -> bool:
    """Tells whether there is none but the one that asks."""
    with Client(server) as client:
        client.send(b"GET /stats HTTP/1.1\r\nHost: test\r\n\r\n")
        return b'"open": 1,' in client.response().body


RESET = struct.pack("ii", 1, 0)


def reset_of_a_held_up_client(server, connection, upload) -> None:
    """Sends until the handler, which reads nothing, holds the client up, and
    resets the connection."""
    connection.settimeout(0.3)
    sent = 0
    with pytest.raises(TimeoutError):
        while sent < 64 << 20:
            sent += upload()
    assert "cancelled" not in server.stderr()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    connection.close()
    # By itself it would work for 10 s.
    assert wait_until(lambda: "cancelled after" in server.stderr(), 5)


def test_reset_of_a_client_that_is_held_up_is_noticed(server):
    """A handler that does not read would not find it, and neither does a server
    that reads only what there is room for."""
    client = Client(server)
    client.send(head("/upload/patient", 64 << 20))
    reset_of_a_held_up_client(
        server, client.sock, lambda: client.sock.send(bytes(1 << 20))
    )
    assert wait_until(lambda: has_one_connection(server))


def test_reset_of_a_client_that_is_held_up_over_tls(start_tls, certs):
    server = start_tls(server="workers_server", workers=1, handler_threads=4)
    client = HttpsClient(server, trusting(certs))
    client.send(head("/upload/patient", 64 << 20))
    reset_of_a_held_up_client(
        server, client.sock, lambda: client.sock.send(bytes(1 << 14))
    )


def test_reset_of_a_client_that_is_held_up_over_http2(server):
    client = H2Client(server)
    stream = client.request("/upload/patient", "POST", ends=False)
    assert wait_until(lambda: "patient at work" in server.stderr())
    client.data(stream, bytes(1 << 14))
    client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    client.sock.close()
    assert wait_until(lambda: "cancelled after" in server.stderr(), 5)


def test_half_close_behind_the_content_is_no_error(server):
    with Client(server) as client:
        client.send(head(length=5) + b"ab")
        wait_until_read(server, client)
        client.send(b"cde")
        client.sock.shutdown(socket.SHUT_WR)
        assert client.response().body == taken(b"abcde")


def test_continue_is_sent_when_the_handler_reads(server):
    with Client(server) as client:
        began = time.monotonic()
        client.send(head("/upload?pause=300", 5, "Expect: 100-continue"))
        assert client.response().status == 100
        assert time.monotonic() - began > 0.25
        client.send(b"abcde")
        assert client.response().body == taken(b"abcde")
        client.send(GET)
        assert client.response().body == b"Hello, World!"


def test_no_continue_for_a_handler_that_does_not_read(server):
    with Client(server) as client:
        client.send(head("/upload?read=0", 5, "Expect: 100-continue"))
        response = client.response()
        assert response.status == 200
        assert response.fields["connection"] == "close"
        assert client.is_closed()


def test_content_that_is_not_read_is_dropped_if_it_is_here(server):
    with Client(server) as client:
        client.send(head("/upload?pause=1000&read=3", 100_000) + b"abc")
        wait_until_read(server, client)
        client.send(bytes(100_000 - 3) + GET)
        assert client.response().body == taken(b"abc")
        assert client.response().body == b"Hello, World!"


def test_content_that_is_not_read_and_not_here_ends_the_connection(server):
    with Client(server) as client:
        client.send(head("/upload?read=3", 1_000_000) + b"abc")
        response = client.response()
        assert response.body == taken(b"abc")
        assert response.fields["connection"] == "close"
        # It may be sent nevertheless; nothing of it is a request.
        client.send(GET * 100)
        assert client.is_closed()


@pytest.mark.parametrize(
    "data, status",
    [
        (head(length=20 << 20) + b"abc", 413),
        (head() + b"3\r\nabc\r\nx\r\n", 400),
        (head() + b"3\r\nabc\r\n0\r\nBad Name: x\r\n\r\n", 400),
        (head() + chunked(bytes(11 << 20), 1 << 20)[: 11 << 20], 413),
    ],
    ids=["length", "chunk size", "trailer", "chunks"],
)
def test_content_that_breaks_a_rule(server, data, status):
    with Client(server) as client:
        client.send(data[:200])
        wait_until_read(server, client)
        try:
            client.send(data[200:] + GET)
        except OSError:
            pass  # It was answered before all was sent.
        response = client.response()
        assert response.status == status
        assert response.fields["connection"] == "close"
        assert client.is_closed()
    assert "it failed" not in server.stderr()


def test_handler_that_fails_within_the_content(server):
    with Client(server) as client:
        client.send(head("/upload?read=3&then=fail", 1_000) + b"abc")
        assert client.response().status == 500
        assert client.is_closed()
    assert "it failed" in server.stderr()


def test_content_has_a_time_in_all(pool):
    server = pool(body_timeout_ms=400, min_body_rate=0)
    with Client(server) as client:
        began = time.monotonic()
        client.send(head(length=1_000))
        client.sock.settimeout(0.02)
        answer = b""
        # All of it would take 20 s, and has 30 s where nothing is set.
        for _ in range(999):
            try:
                client.send(b"x")
                answer = client.sock.recv(65536)
                break
            except TimeoutError:
                pass
        assert answer and time.monotonic() - began > 0.3
        client.sock.settimeout(5)
        assert (answer + read_all(client.sock)).startswith(b"HTTP/1.1 408 ")
    assert wait_until(lambda: "upload failed: 503" in server.stderr())


def test_time_of_the_handler_is_not_the_clients(pool):
    """The handler takes longer than the client may."""
    server = pool(body_timeout_ms=500, min_body_rate=0)
    content = CONTENT * 4
    with Client(server, 10) as client:
        client.send(head("/upload?pause=40", len(content)) + content)
        assert client.response().body == taken(content)


def test_handler_that_stops_reading_is_answered_for(pool):
    server = pool(handler_timeout_ms=400)
    with Client(server, 10) as client:
        began = time.monotonic()
        client.send(head("/upload?read=3&then=wait", 9 << 20))
        client.sock.settimeout(1)
        try:
            client.send(bytes(9 << 20))
        except OSError:
            pass
        client.sock.settimeout(20)
        assert client.response().status == 503
        assert time.monotonic() - began > 0.3


def test_handler_timeout_counts_from_the_end_of_the_content(pool):
    server = pool(handler_timeout_ms=300)
    with Client(server) as client:
        client.send(head("/upload?then=wait", 4) + b"a")
        for octet in b"bcd":
            time.sleep(0.2)
            began = time.monotonic()
            client.send(bytes([octet]))
        assert client.response().status == 503
        assert time.monotonic() - began > 0.25


def test_full_queue_is_refused_and_the_connection_ends(pool):
    server = pool(handler_threads=1, handler_queue=1)
    first, second, *others = [Client(server) for _ in range(4)]
    # The thread has the first when it asks for its content.
    first.send(head("/upload", 3, "Expect: 100-continue"))
    assert first.response().status == 100
    second.send(head(length=3) + b"a")
    wait_until_read(server, second)
    for client in others:
        client.send(head(length=3) + b"a")
        refused = client.response()
        assert refused.status == 503 and refused.fields["connection"] == "close"
        assert client.is_closed()
    first.send(b"abc")
    second.send(b"bc")
    for client in (first, second):
        assert client.response().body == taken(b"abc")


def test_stop_waits_for_content(server):
    with Client(server) as client:
        client.send(GET)
        assert client.response().status == 200
        client.send(head(length=5) + b"ab")
        server.process.send_signal(signal.SIGTERM)
        assert wait_until(lambda: is_refused(server))
        client.send(b"cde")
        response = client.response()
        assert response.body == taken(b"abcde")
        assert response.fields["connection"] == "close"
    assert server.process.wait(5) == 0


def test_stop_that_takes_too_long_ends_the_read(pool):
    server = pool(shutdown_timeout_ms=200)
    with Client(server) as client:
        client.send(GET)
        assert client.response().status == 200
        client.send(head(length=5) + b"ab")
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(5) == 0
    assert "upload failed: 503" in server.stderr()


@pytest.mark.parametrize("size", [None, 10_000])
def test_over_tls(start_tls, certs, size):
    server = start_tls(server="workers_server", workers=1, handler_threads=4)
    data = head("/upload?pause=1", len(CONTENT)) + CONTENT
    if size:
        data = head("/upload?pause=1") + chunked(CONTENT, size)
    with HttpsClient(server, trusting(certs)) as client:
        client.send(data + GET)
        assert client.response().body == TAKEN
        assert client.response().body == b"Hello, World!"
        client.send(head(length=5, target="/upload") + b"abc")
    assert wait_until(lambda: "upload failed: 400" in server.stderr())


@pytest.mark.parametrize("seed", range(6))
def test_random_requests_in_random_pieces(server, seed):
    """Whatever content says and handlers leave unread, no octet of it becomes
    a request."""
    rng = random.Random(seed)
    data, wanted = b"", []
    for _ in range(40):
        if rng.random() < 0.3:
            data += GET
            wanted.append(b"Hello, World!")
            continue
        content = (GET * 900)[: rng.choice([1, 30, 500, 20_000, 60_000])]
        read = rng.choice([0, 1, 700, 1 << 20])
        target = f"/upload?read={read}&pause={rng.choice([0, 0, 2])}"
        if rng.random() < 0.5:
            data += head(target, len(content)) + content
        else:
            size = max(rng.choice([1, 50, 30_000]), len(content) // 200)
            data += head(target) + chunked(content, size, b"X-T: t\r\n")
        wanted.append(b"%d " % min(read, len(content)))
    with Client(server, 20) as client:
        while data:
            piece = data[: rng.choice([1, 7, 90, 3_000, 70_000, 300_000])]
            data = data[len(piece) :]
            try:
                client.send(piece)
            except OSError:
                break
        for prefix in wanted:
            response = client.response()
            assert response.status == 200
            assert response.body.startswith(prefix)
            if response.fields.get("connection") == "close":
                # Content that had not arrived was left unread.
                assert client.is_closed()
                return


def test_many_streams_at_once(pool):
    server = pool(handler_threads=4)
    clients = [Client(server, 20) for _ in range(24)]
    data = head(length=len(CONTENT)) + CONTENT
    for _ in range(2):
        threads = [
            threading.Thread(target=client.send, args=(data,), daemon=True)
            for client in clients
        ]
        for thread in threads:
            thread.start()
        for client in clients:
            assert client.response().body == TAKEN
        for thread in threads:
            thread.join(5)

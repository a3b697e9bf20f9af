"""Content that a source makes, and events for many clients."""

import selectors
import signal
import socket
import ssl
import threading
import time

import httpx
import pytest
from conftest import (
    Client,
    Server,
    is_refused,
    read_all,
    shown,
    wait_until,
    wait_until_full,
)
from https_client import HttpsClient, trusting
from wire_programs import built

GET = b"GET %s HTTP/1.1\r\nHost: test\r\n\r\n"
WAITS = b"/pieces?count=3&length=9&how=waits"
LETTERS = b"abcdefghijklmnopqrstuvwxyz" * 4000


@pytest.fixture(scope="module")
def streams():
    server = Server(built("stream_server"), ["write_timeout_ms=600"])
    yield server
    assert server.is_alive(), "the server died during the tests"
    assert server.stop() == 0


def expected(count: int, length: int) -> bytes:
    pieces = (LETTERS[number % 26 : number % 26 + length] for number in reversed(range(count)))
    return b"".join(pieces)


def counts(server) -> tuple[int, int, int]:
    """Gives open sources, pieces made, and subscribers."""
    with Client(server) as client:
        client.send(GET % b"/counts")
        return tuple(int(part) for part in client.response().body.split())


def ask(server, path: str, version: bytes = b"1.1") -> bytes:
    """Gives all that comes until the connection closes."""
    with server.connect() as sock:
        sock.sendall(
            b"GET %s HTTP/%s\r\nHost: test\r\nConnection: close\r\n\r\n"
            % (path.encode(), version)
        )
        return read_all(sock)


@pytest.mark.parametrize("how", ["", "waits"])
@pytest.mark.parametrize("count,length", [(0, 0), (1, 1), (3, 16), (40, 70_000), (200, 1)])
def test_content_arrives_whole(streams, how, count, length):
    path = f"/pieces?count={count}&length={length}&how={how}"
    with httpx.Client(base_url=streams.url, trust_env=False) as client:
        for announced in ("", f"&announced={count * length}"):
            response = client.get(path + announced)
            assert response.content == expected(count, length)
            is_chunked = response.headers.get("transfer-encoding") == "chunked"
            assert is_chunked == (announced == "")
            assert ("content-length" in response.headers) == (announced != "")


@pytest.mark.parametrize("how", ["", "waits"])
@pytest.mark.parametrize("count,length", [(0, 0), (1, 1), (3, 16), (40, 70_000), (200, 10)])
def test_content_is_compressed_on_its_way(streams, how, count, length):
    """RFC 9110 section 8.4.1.3, and 8.6: how long it gets is not known before."""
    path = f"/compressed/pieces?count={count}&length={length}&how={how}"
    with httpx.Client(base_url=streams.url, trust_env=False) as client:
        for announced in ("", f"&announced={count * length}"):
            response = client.get(path + announced)
            assert response.content == expected(count, length)
            is_coded = not announced or count * length >= 1_024
            assert ("content-encoding" in response.headers) == is_coded
            assert ("content-length" in response.headers) == (not is_coded)
            plain = client.get(path + announced, headers={"accept-encoding": "identity"})
            assert plain.content == expected(count, length)
            assert "content-encoding" not in plain.headers


def test_chunks_on_the_wire(streams):
    """RFC 9112 section 7.1: sizes in hexadecimal, and an empty chunk last."""
    head, body = ask(streams, "/pieces?count=2&length=26").split(b"\r\n\r\n", 1)
    assert b"Transfer-Encoding: chunked" in head
    first, second = expected(2, 26)[:26], expected(2, 26)[26:]
    assert body == b"1a\r\n" + first + b"\r\n1a\r\n" + second + b"\r\n0\r\n\r\n"


def test_http_1_0_gets_content_until_the_connection_closes(streams):
    head, body = ask(streams, "/pieces?count=3&length=9", b"1.0").split(b"\r\n\r\n", 1)
    assert b"Transfer-Encoding" not in head and b"Connection: close" in head
    assert body == expected(3, 9)


def test_head_has_the_fields_and_no_content(streams):
    with Client(streams) as client:
        client.send(b"HEAD /pieces?count=3&length=9 HTTP/1.1\r\nHost: a\r\n\r\n")
        assert client.response(is_head=True).fields["transfer-encoding"] == "chunked"
        client.send(GET % b"/counts")
        assert client.response().body.startswith(b"0 ")


@pytest.mark.parametrize(
    "query", ["count=2&length=10&how=fails", "count=2&length=10&announced=21", "count=2&length=10&announced=19"]
)
def test_content_that_fails_is_seen_to_be_incomplete(streams, query):
    with httpx.Client(base_url=streams.url, trust_env=False) as client:
        for path in ("/pieces", "/compressed/pieces"):
            with pytest.raises(httpx.RemoteProtocolError):
                client.get(f"{path}?{query}")
    assert counts(streams)[0] == 0


def test_requests_behind_a_stream_wait_their_turn(streams):
    with streams.connect() as sock:
        sock.sendall(
            GET % b"/pieces?count=30&length=50000"
            + GET % b"/pieces?count=2&length=5&announced=10&how=waits"
            + b"GET /counts HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        )
        wait_until_full(streams, sock)
        data = read_all(sock)
    assert data.count(b"HTTP/1.1 200 OK\r\n") == 3
    assert expected(2, 5) in data and data.rstrip().endswith(b" 0")


def test_no_more_is_made_than_the_client_takes(start):
    streams = start("stream_server")
    before = counts(streams)[1]
    with streams.connect() as sock:
        sock.sendall(GET % b"/pieces?count=10000&length=60000")
        assert wait_until(lambda: counts(streams)[1] > before)
        wait_until_full(streams, sock)
        made = counts(streams)[1]
        assert made - before < 400
        assert counts(streams)[0] == 1
    assert wait_until(lambda: counts(streams)[0] == 0)


def test_client_that_reads_nothing_is_given_up(start):
    """Each piece has the write timeout, so a slow client lives on."""
    streams = start("stream_server", write_timeout_ms=600)
    with streams.connect() as sock:
        began = time.monotonic()
        sock.sendall(GET % b"/pieces?count=10000&length=60000")
        # Half a gibibyte, had it been taken.
        assert wait_until(lambda: "is cut off" in streams.stderr())
        assert wait_until(lambda: counts(streams)[0] == 0)
        assert time.monotonic() - began > 0.5


def test_slow_client_is_not_given_up(streams):
    with streams.connect() as sock:
        sock.sendall(
            b"GET /pieces?count=200&length=60000 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        )
        began, size = time.monotonic(), 0
        while piece := sock.recv(200_000):
            size += len(piece)
            time.sleep(0.02)
        assert time.monotonic() - began > 0.7
        assert size > 200 * 60_000


@pytest.mark.parametrize("how", ["close", "reset", "half-close"])
def test_client_that_hangs_up_frees_a_silent_stream(streams, how):
    sock = streams.connect()
    sock.sendall(GET % b"/silence")
    assert wait_until(lambda: counts(streams)[0] == 1)
    if how == "reset":
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    if how == "half-close":
        sock.shutdown(socket.SHUT_WR)
    else:
        sock.close()
    assert wait_until(lambda: counts(streams)[0] == 0)
    sock.close()


@pytest.mark.parametrize(
    "paths", [(WAITS, WAITS, WAITS), (b"/counts", WAITS), (WAITS, b"/counts")]
)
def test_who_ends_its_side_behind_a_row_of_requests_gets_all_answers(streams, paths):
    # RFC 9112 section 9.6: one side may end before the other.
    with streams.connect() as sock:
        sock.sendall(b"".join(GET % path for path in paths))
        sock.shutdown(socket.SHUT_WR)
        octets = b"".join(iter(lambda: sock.recv(1 << 16), b""))
    assert octets.count(b"HTTP/1.1 200") == len(paths)
    assert octets.count(b"\r\n0\r\n\r\n") == paths.count(WAITS)


def test_who_ends_its_side_within_content_gets_what_comes_soon(streams):
    # RFC 9112 section 9.6: one side may end before the other.
    with streams.connect() as sock:
        sock.sendall(GET % b"/events")
        assert wait_until(lambda: counts(streams)[2] == 1)
        sock.shutdown(socket.SHUT_WR)
        # The server has seen the end when it answers another client.
        counts(streams)
        publish(streams, 1)
        octets = b""
        while b"data:" not in octets:
            piece = sock.recv(1 << 16)
            assert piece, octets
            octets += piece
    assert wait_until(lambda: counts(streams)[2] == 0)


def test_answers_before_one_that_breaks_off_arrive_whole(streams):
    # A reset would destroy what is on its way (RFC 9112 section 9.6).
    with streams.connect() as sock:
        sock.sendall(GET % b"/counts" + GET % b"/pieces?count=3&length=9&how=fails")
        sock.sendall(b"POST /counts HTTP/1.1\r\nHost: a\r\nContent-Length: 300000\r\n\r\n")
        sock.sendall(b"x" * 300_000)
        octets = b"".join(iter(lambda: sock.recv(1 << 16), b""))
    assert octets.count(b"HTTP/1.1 200 OK") == 2
    assert octets.endswith(b"9\r\nabcdefghi\r\n")


def test_stream_does_not_keep_others_waiting(streams):
    with streams.connect() as greedy:
        greedy.sendall(GET % b"/pieces?count=20000&length=60000")
        selector = selectors.DefaultSelector()
        greedy.setblocking(False)
        selector.register(greedy, selectors.EVENT_READ)
        for _ in range(30):
            for _ in range(20):
                if selector.select(0):
                    greedy.recv(1 << 20)
            # Whoever waits for all of the other one is not answered in time.
            assert counts(streams)[0] == 1


def test_streams_of_handlers_on_other_threads(start):
    server = start("stream_server", handler_threads=2)
    body = ask(server, "/pieces?count=3&length=9&how=waits", b"1.0").split(b"\r\n\r\n", 1)[1]
    assert body == expected(3, 9)


def test_streams_over_tls(start, certs):
    server = start("stream_server", **shown(certs), heartbeat_ms=300)
    url = f"https://localhost:{server.port}"
    with httpx.Client(base_url=url, trust_env=False, verify=trusting(certs)) as client:
        for how in ("", "waits"):
            path = f"/pieces?count=300&length=30000&how={how}"
            assert client.get(path).content == expected(300, 30_000)
        with client.stream("GET", "/events") as response:
            lines = response.iter_lines()
            assert client.post("/publish?count=2").content == b"0 600 1"
            assert [next(lines) for _ in range(6)] == events(2).decode().splitlines()
            assert next(lines) == ":"
        with client.stream("GET", "/pieces?count=9000&length=30000") as response:
            pieces = response.iter_bytes()
            next(pieces)
            assert client.get("/counts").content.startswith(b"1 ")
        assert wait_until(lambda: client.get("/counts").content.startswith(b"0 "))


UPGRADE = b"GET /echo HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n"


def upgraded(client, early: bytes = b""):
    client.send(UPGRADE + early)
    response = client.response()
    assert response.status == 101
    assert response.fields["upgrade"] == "echo"
    assert response.fields["connection"] == "upgrade"
    return client


def say(client, octets: bytes) -> None:
    """Sends and hears at once; over TLS in turns, as Python's sockets want it."""
    if isinstance(client, HttpsClient) and len(octets) > 50_000:
        for start in range(0, len(octets), 50_000):
            say(client, octets[start : start + 50_000])
        return
    sender = threading.Thread(target=client.sock.sendall, args=(octets,))
    sender.start()
    if isinstance(client, HttpsClient):
        sender.join()
    while len(client.buffer) < len(octets):
        client._more()
    sender.join()
    assert client.buffer == octets
    client.buffer = b""


@pytest.fixture(params=["plain", "tls"])
def talker(request, start, certs):
    """A client of a conversation, and its server."""
    if request.param == "plain":
        server = start("stream_server")
        return server, lambda: Client(server)
    server = start("stream_server", **shown(certs))
    return server, lambda: HttpsClient(server, trusting(certs))


def test_conversation(talker):
    """RFC 9110 section 7.8: what follows a 101 is the other protocol."""
    server, connect = talker
    with connect() as client:
        upgraded(client, b"early")
        while len(client.buffer) < 5:
            client._more()
        assert client.buffer == b"early"
        client.buffer = b""
        for size in (1, 1000, 70_000, 5_000_000):
            say(client, LETTERS[1:1000] * (size // 999 + 1))
        client.send(b"!end")
        assert read_all(client.sock) == b"!end"


def test_conversation_ends_with_the_server(talker):
    server, connect = talker
    with connect() as client:
        upgraded(client)
        say(client, b"hello")
        server.process.send_signal(signal.SIGTERM)
        assert read_all(client.sock) == b"bye"
    assert server.process.wait(5) == 0


def test_conversation_that_fails_or_is_left(talker):
    server, connect = talker
    with connect() as client:
        upgraded(client)
        client.send(b"?")
        with pytest.raises((EOFError, ConnectionError, ssl.SSLError)):
            client._more()
    assert "a conversation failed: what?" in server.stderr()
    with connect() as client:
        upgraded(client)
        # Nothing of what the other one said is left.
        say(client, b"hello")
    with connect() as client:
        client.send(b"GET /wrong HTTP/1.1\r\nHost: a\r\n\r\n")
        assert client.response().status == 500


def test_conversation_does_not_read_what_nobody_takes(start):
    server = start("stream_server", write_timeout_ms=60_000)
    with Client(server) as client:
        upgraded(client)
        client.sock.setblocking(False)
        sent, quiet_since = 0, time.monotonic()
        while time.monotonic() - quiet_since < 0.3:
            try:
                sent += client.sock.send(LETTERS[1:])
                quiet_since = time.monotonic()
            except BlockingIOError:
                time.sleep(0.01)
        assert sent < 40_000_000
        client.sock.settimeout(5)
        received = 0
        while received < sent:
            received += len(client.sock.recv(1 << 20))


class Listener:
    """A client of an event stream."""

    def __init__(self, server, last_id: str = "") -> None:
        self.sock = server.connect(10)
        field = f"Last-Event-ID: {last_id}\r\n" if last_id else ""
        self.sock.sendall(f"GET /events HTTP/1.0\r\n{field}\r\n".encode())
        self.data = b""
        while b"\r\n\r\n" not in self.data:
            self.data += self.sock.recv(4096)
        self.head, self.data = self.data.split(b"\r\n\r\n", 1)

    def read_until(self, end: bytes) -> bytes:
        while not self.data.endswith(end):
            piece = self.sock.recv(65536)
            assert piece, self.data[-100:]
            self.data += piece
        return self.data


def publish(server, count: int, text: bytes = b"") -> None:
    with Client(server) as client:
        client.send(
            b"POST /publish?count=%d HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%s"
            % (count, len(text), text)
        )
        assert client.response().status == 200


def events(count: int, start: int = 0) -> bytes:
    return b"".join(b"id: %d\ndata: %d\n\n" % (n, n) for n in range(start, count))


def test_event_stream_on_the_wire(start):
    server = start("stream_server", heartbeat_ms=200)
    listener = Listener(server)
    assert b"Content-Type: text/event-stream" in listener.head
    assert b"Cache-Control: no-cache" in listener.head
    publish(server, 1, b" a\r\nb\rc\nd")
    assert listener.read_until(b"d\n\n") == b"id: 0\ndata: 0 a\ndata: b\ndata: c\ndata: d\n\n"
    assert listener.read_until(b":\n\n").endswith(b"\n\n:\n\n")


def test_client_that_comes_back_gets_what_it_missed(start):
    server = start("stream_server", history=5)
    publish(server, 8)
    assert Listener(server, "5").read_until(b"7\n\n") == events(8, 6)
    assert Listener(server, "forgotten").read_until(b"7\n\n") == events(8, 3)


def test_closed_hub_and_drain_end_streams(start):
    server = start("stream_server")
    listener = Listener(server)
    publish(server, 2)
    with Client(server) as client:
        client.send(GET % b"/close")
        client.response()
    assert listener.data + read_all(listener.sock) == events(2)
    server = start("stream_server")
    listener = Listener(server)
    server.process.send_signal(signal.SIGTERM)
    assert read_all(listener.sock) == b""
    # By itself it would be 30 s.
    assert server.process.wait(20) == 0


def test_drain_ends_the_stream_of_a_client_that_is_behind(start):
    """Whose last event it has not taken yet: RFC 9112 section 7.1, the last
    chunk tells it that this was all."""
    # No heartbeat comes while its client waits, nor the end of the drain's 30 s.
    server = start("stream_server", max_body_size=20_000_000, heartbeat_ms=120_000)
    with Client(server, 20) as behind:
        behind.send(GET % b"/events")
        while b"\r\n\r\n" not in behind.buffer:
            behind._more()
        # More than sockets hold, in one event.
        publish(server, 1, b" " + b"x" * 16_000_000)
        server.process.send_signal(signal.SIGTERM)
        assert wait_until(lambda: is_refused(server))
        data = read_all(behind.sock)
        assert len(data) > 10_000_000
        assert data.endswith(b"x\n\n\r\n0\r\n\r\n"), data[-40:]
    assert server.process.wait(20) == 0


def test_events_published_before_the_drain_arrive(start):
    server = start("stream_server", workers=2)
    listeners = [Listener(server) for _ in range(20)]
    publish(server, 500)
    server.process.send_signal(signal.SIGTERM)
    for listener in listeners:
        assert listener.data + read_all(listener.sock) == events(500)
    assert server.process.wait(5) == 0


def test_thousand_subscribers_on_two_workers_get_all_events_in_order(start):
    """And one that does not read is cut off, without harm to the others."""
    server = start("stream_server", workers=2, buffer_max=20_000_000)
    listeners = [Listener(server) for _ in range(1000)]
    assert counts(server)[2] == 1000
    for _ in range(10):
        publish(server, 100)
    wanted = events(100) * 10
    for listener in listeners:
        while len(listener.data) < len(wanted):
            piece = listener.sock.recv(1 << 20)
            assert piece, "a stream ended early"
            listener.data += piece
        assert listener.data == wanted
        listener.sock.close()
    assert wait_until(lambda: counts(server)[2] == 0)


def test_subscriber_that_falls_behind_is_cut_off(start):
    server = start("stream_server", workers=2, buffer_max=200_000)
    stalled, reader = Listener(server), Listener(server)
    text = b" " + b"x" * 2000
    for round in range(200):
        publish(server, 50, text)
        reader.data = b""
        reader.read_until(b"data: 49%s\n\n" % text)
        if counts(server)[2] == 1:
            break
    assert counts(server)[2] == 1, "the stalled one was not cut off"
    reader.data = b""
    publish(server, 1)
    assert reader.read_until(b"\n\n") == events(1)
    # What it has not read is bounded by what sockets hold.
    assert len(read_all(stalled.sock)) < 20_000_000

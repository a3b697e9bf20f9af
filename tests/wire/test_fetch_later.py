"""Handlers that answer with what another server answers (`fetch_later`)."""

import gzip
import http.client
import threading
from collections.abc import Callable

import pytest
from conftest import Client, wait_until
from ports import claim_port
from processes import descriptor_count, memory_len
from raw_http2 import Http2Peer, answering_all, speaking
from raw_server import Connection, RawServer, answering

WAIT_S = 20


def response(content: bytes, status: str = "200 OK", fields: bytes = b"") -> bytes:
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n%s\r\n%s" % (
        status.encode(), len(content), fields, content,
    )


def path_of(head: str) -> str:
    return head.split(" ")[1]


@pytest.fixture
def fetching(start):
    """Starts an upstream and a server whose handlers ask it; gives both."""
    upstreams = []

    def launch(handle, **config):
        upstream = RawServer(handle)
        upstreams.append(upstream)
        return upstream, start("fetch_server", upstream=upstream.url, **config)

    yield launch
    for upstream in upstreams:
        upstream.close()


def ask(server, path: str, method: str = "GET", content: bytes | None = None):
    """Asks on a connection of its own: status, type, content."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=WAIT_S)
    connection.request(method, path, content)
    answer = connection.getresponse()
    octets = answer.read()
    connection.close()
    return answer.status, answer.getheader("Content-Type"), octets


def ask_at_once(server, path: str, count: int) -> list[bytes]:
    """Asks on many connections at the same time; the contents."""
    clients = [Client(server, WAIT_S) for _ in range(count)]
    for client in clients:
        client.send(b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n" % path.encode())
    found = [client.response().body for client in clients]
    for client in clients:
        client.sock.close()
    return found


def test_a_response_is_relayed(fetching):
    def answer(head: str, content: bytes) -> bytes:
        seen.append((head, content))
        return response(b"not here", "404 Not Found", b"Content-Type: text/x\r\n")

    seen = []
    upstream, server = fetching(answering(answer))
    for _ in range(3):
        assert ask(server, "/relay?path=/a%3Fb") == (404, "text/x", b"not here")
    assert path_of(seen[0][0]) == "/a?b"
    assert upstream.connection_count == 1
    status, _, octets = ask(server, "/length")
    assert (status, octets) == (200, b"404 8")


def test_idle_connections_are_closed_in_time(fetching):
    """RFC 9112 section 9.5: also where no other request comes."""

    def handle(connection: Connection) -> None:
        while connection.head():
            # Of that the client leaves the last half out.
            connection.send(response(b"ok", fields=b"Keep-Alive: timeout=1\r\n"))
        has_ended.set()

    has_ended = threading.Event()
    _, server = fetching(handle)
    assert ask(server, "/relay")[0] == 200
    assert has_ended.wait(WAIT_S)


@pytest.mark.parametrize(
    "status, sent, relayed",
    [
        # Section 8.4: the client cannot undo it, so its own client is told.
        ("200 OK", ["Content-Encoding: x-own", "Content-Encoding: x-two"], True),
        ("206 P", ["Content-Range: bytes 0-1/9"], True),
        ("416 R", ["Content-Range: bytes */9"], True),
        ("401 U", ['WWW-Authenticate: Basic realm="a"', 'WWW-Authenticate: X b="c"'], True),
        ("405 M", ["Allow: GET, HEAD"], True),
        ("201 C", ["Location: /new"], True),
        ("200 OK", ["Location: /new"], False),
        ("200 OK", ["Set-Cookie: a=b"], False),
        ("200 OK", ["WWW-Authenticate: Basic"], False),
    ],
)
def test_fields_that_a_status_needs_are_relayed(fetching, status, sent, relayed):
    """RFC 9110 sections 8.4, 15.3.7, 15.5.2, 15.5.6 and 15.5.17."""
    fields = b"".join(line.encode() + b"\r\n" for line in sent)
    _, server = fetching(answering(response(b"ab", status, fields)))
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=WAIT_S)
    connection.request("GET", "/relay")
    answer = connection.getresponse()
    assert (answer.status, answer.read()) == (int(status.split()[0]), b"ab")
    name = sent[0].split(":")[0]
    found = [f"{name}: {value}" for value in answer.headers.get_all(name) or []]
    assert found == (sent if relayed else [])
    connection.close()


def test_what_was_decoded_is_relayed_as_such(fetching):
    """RFC 9110 section 8.4."""
    packed = gzip.compress(b"plain")
    _, server = fetching(
        answering(response(packed, fields=b"Content-Encoding: gzip\r\n"))
    )
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=WAIT_S)
    connection.request("GET", "/relay")
    answer = connection.getresponse()
    assert answer.read() == b"plain"
    assert answer.getheader("Content-Encoding") is None
    connection.close()


@pytest.mark.parametrize("status", [600, 999])
def test_a_status_of_no_class_is_not_relayed(fetching, status):
    """RFC 9110 section 15."""
    _, server = fetching(answering(response(b"ab", f"{status} X")))
    assert ask(server, "/relay")[0] == 502
    assert ask(server, "/length")[2] == b"%d 2" % status


@pytest.mark.parametrize("length", [0, 5, 300_000])
def test_content_is_there_when_the_handler_wants_it(fetching, length):
    """RFC 9112 section 6: whole, by its length or in chunks, in many pieces."""
    upstream, server = fetching(answering(lambda _, content: response(content)))
    content = b"x" * length
    assert ask(server, "/relay", "POST", content)[::2] == (200, content)
    with Client(server, WAIT_S) as client:
        client.send(
            b"POST /relay HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        for at in range(0, length, 50_000):
            piece = content[at : at + 50_000]
            client.send(b"%x\r\n%s\r\n" % (len(piece), piece))
        client.send(b"0\r\n\r\n")
        assert client.response().body == content


def test_requests_of_one_response_are_sent_at_once(fetching):
    """None is answered before all have come; results keep their order."""
    count = 8
    together = threading.Barrier(count)

    def handle(connection: Connection) -> None:
        while head := connection.head():
            together.wait(WAIT_S)
            connection.send(response(path_of(head).encode()))

    _, server = fetching(handle)
    wanted = " ".join(f"/{number}" for number in range(count)).encode()
    for _ in range(3):
        assert ask(server, f"/fan?count={count}")[2] == wanted


def test_further_requests_need_what_came_first(fetching):
    def answer(head: str, _: bytes) -> bytes:
        heads.append(head)
        return response(
            {"/token": b"sesame", "/with": b"a", "/a": b"A", "/b": b"B"}[path_of(head)]
        )

    heads = []
    _, server = fetching(answering(answer))
    assert ask(server, "/steps")[::2] == (200, b"AB")
    assert [path_of(head) for head in heads[:2]] == ["/token", "/with"]
    assert "token: sesame" in heads[1].lower()
    assert sorted(map(path_of, heads[2:])) == ["/a", "/b"]


def test_a_continuation_without_end_is_stopped(fetching):
    upstream, server = fetching(answering(response(b"ok")))
    assert ask(server, "/endless")[0] == 500
    assert "wanted requests 100 times" in server.stderr()
    assert ask(server, "/endless?path=")[0] == 500
    assert "neither a response nor requests" in server.stderr()
    # A request that fails at once, in the midst of sending.
    assert ask(server, "/endless?path=nonsense://x")[0] == 500
    assert ask(server, "/relay")[0] == 200


def silent(connection: Connection) -> None:
    connection.head()
    connection.sock.recv(1)


@pytest.mark.parametrize(
    "handle, status, words",
    [
        (Connection.head, 502, "NoResponse"),
        (answering(b"HTTP/1.1 2x0 OK\r\n\r\n"), 502, "MalformedResponse"),
        (answering(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"), 504, "Timeout"),
        (silent, 504, "Timeout"),
    ],
)
def test_what_is_no_response(fetching, handle: Callable, status: int, words: str):
    """RFC 9110 sections 15.6.3 and 15.6.5; strangers are not told why."""
    _, server = fetching(handle, read_timeout_ms=300)
    found, _, octets = ask(server, "/relay")
    assert (found, words.encode() in octets) == (status, False)
    assert words in server.stderr()
    assert ask(server, "/fan?count=2")[2] == f"{words} {words}".encode()


def test_an_upstream_that_is_not_there(start):
    port = claim_port()
    server = start("fetch_server", upstream=f"http://127.0.0.1:{port}")
    assert ask(server, "/relay")[0] == 502
    assert ask(server, "/fan?count=3")[2] == b" ".join([b"ConnectionRefused"] * 3)


def test_what_the_program_does_wrong(fetching):
    _, server = fetching(answering(response(b"ok")))
    for path, words in [
        ("/fail", "no use for 200"),
        ("/processing", "a handler answered with status 102"),
        ("/switching", "a handler answered with status 101"),
        ("/no-requests", "given no requests"),
        ("/not-deferred", "put it into Deferred"),
    ]:
        assert ask(server, path)[0] == 500
        assert words in server.stderr()
    assert ask(server, "/relay?path=nonsense://x")[0] == 500
    assert ask(server, "/relay")[0] == 200


def test_policies_of_the_client_hold(fetching):
    answers = iter([503, 503, 200])
    _, server = fetching(
        answering(lambda *_: response(b"done", f"{next(answers)} X")), retries=3
    )
    assert ask(server, "/relay")[::2] == (200, b"done")


def test_the_bound_of_connections_holds(fetching):
    """Who finds all in use waits in turn, no longer than it may; what may not
    even wait is refused."""
    go_on = threading.Semaphore(0)
    asked = threading.Semaphore(0)

    def handle(connection: Connection) -> None:
        while connection.head():
            asked.release()
            go_on.acquire(timeout=WAIT_S)
            connection.send(response(b"ok"))

    upstream, server = fetching(handle, max_per_host=2, max_waiting=3)
    clients = [Client(server, WAIT_S) for _ in range(6)]
    for client in clients:
        client.send(b"GET /relay HTTP/1.1\r\nHost: a\r\n\r\n")
    for _ in range(2):
        assert asked.acquire(timeout=WAIT_S)
    # Two are asked, three wait, and one may not.
    for _ in range(5):
        go_on.release()
    found = sorted(client.response().status for client in clients)
    assert found == [200] * 5 + [503]
    assert upstream.connection_count == 2
    for client in clients:
        client.sock.close()


def test_a_place_that_never_comes(fetching):
    go_on = threading.Event()
    asked = threading.Event()

    def handle(connection: Connection) -> None:
        while connection.head():
            asked.set()
            go_on.wait(WAIT_S)
            connection.send(response(b"ok"))

    _, server = fetching(handle, max_per_host=1, queue_timeout_ms=200)
    with Client(server, WAIT_S) as first:
        first.send(b"GET /relay HTTP/1.1\r\nHost: a\r\n\r\n")
        assert asked.wait(WAIT_S)
        assert ask(server, "/relay")[0] == 503
        go_on.set()
        assert first.response().body == b"ok"


def test_a_client_that_leaves_ends_the_request(fetching):
    asked = threading.Semaphore(0)
    left = threading.Semaphore(0)

    def handle(connection: Connection) -> None:
        connection.head()
        asked.release()
        if connection.sock.recv(1) == b"":
            left.release()

    _, server = fetching(handle)
    client = Client(server, WAIT_S)
    client.send(b"GET /fan?count=5 HTTP/1.1\r\nHost: a\r\n\r\n")
    for _ in range(5):
        assert asked.acquire(timeout=WAIT_S)
    client.sock.close()
    for _ in range(5):
        assert left.acquire(timeout=WAIT_S)


def test_a_token_ends_the_requests_that_have_it(fetching):
    asked = threading.Semaphore(0)

    def handle(connection: Connection) -> None:
        while head := connection.head():
            if path_of(head) == "/never":
                asked.release()
                connection.sock.recv(1)
                return
            connection.send(response(b"ok"))

    _, server = fetching(handle)
    clients = [Client(server, WAIT_S) for _ in range(3)]
    for client in clients:
        client.send(b"GET /cancellable HTTP/1.1\r\nHost: a\r\n\r\n")
        assert asked.acquire(timeout=WAIT_S)
    assert ask(server, "/cancel")[2] == b"cancelled"
    for client in clients:
        assert client.response().body == b"Cancelled"
        client.sock.close()
    # What begins with it later is not sent; others are.
    assert ask(server, "/cancellable")[2] == b"Cancelled"
    assert ask(server, "/relay")[2] == b"ok"


def test_one_connection_carries_all_over_http2(fetching):
    count = 50
    together = []

    def handle(peer: Http2Peer) -> None:
        while True:
            together.append(peer.request())
            if len(together) == count:
                for stream in together:
                    peer.answer(stream)
                together.clear()

    upstream, server = fetching(speaking(handle), prior_knowledge=1)
    for _ in range(3):
        assert ask_at_once(server, "/relay", count) == [b"ok"] * count
    assert upstream.connection_count == 1
    assert ask_at_once(server, f"/fan?count={count}", 1) == [
        b" ".join([b"ok"] * count)
    ]


def test_large_responses_over_http2(fetching):
    length = 3_000_000

    def handle(peer: Http2Peer) -> None:
        while True:
            stream = peer.request()
            peer.head(stream)
            peer.stream_out(stream, length)

    _, server = fetching(speaking(handle), prior_knowledge=1)
    for _ in range(2):
        assert len(ask(server, "/relay")[2]) == length


def test_http2_connections_that_end(fetching):
    """RFC 9113 sections 6.8 and 5.4.1: what was begun fails, what comes then has
    another connection."""

    def handle(peer: Http2Peer) -> None:
        stream = peer.request()
        peer.answer(stream)
        stream = peer.request()
        peer.goaway(stream)
        peer.answer(stream)
        peer.drain()

    upstream, server = fetching(speaking(handle), prior_knowledge=1)
    for _ in range(6):
        assert ask(server, "/relay")[2] == b"ok"
    assert upstream.connection_count == 3


def test_tls_upstreams(start, start_tls, certs):
    upstream = start_tls("good_chain")
    server = start(
        "fetch_server",
        upstream=f"https://localhost:{upstream.port}",
        ca=certs / "root.pem",
    )
    assert ask_at_once(server, "/relay", 20) == [b"OK"] * 20
    distrusting = start("fetch_server", upstream=f"https://localhost:{upstream.port}")
    assert ask(distrusting, "/relay")[0] == 502


@pytest.mark.parametrize("prior_knowledge", [0, 1])
def test_workers_share_the_client(fetching, prior_knowledge):
    handle = speaking(answering_all) if prior_knowledge else answering(response(b"ok"))
    upstream, server = fetching(handle, workers=2, prior_knowledge=prior_knowledge)
    for _ in range(20):
        assert ask_at_once(server, "/relay", 10) == [b"ok"] * 10
    assert upstream.connection_count <= 10


def test_clients_for_one_request_do_not_pile_up(fetching):
    _, server = fetching(answering(response(b"ok")))
    for _ in range(20):
        assert ask(server, "/fresh")[2] == b"ok"
    before = descriptor_count(server.process.pid)
    for _ in range(100):
        assert ask(server, "/fresh")[2] == b"ok"
    assert wait_until(lambda: descriptor_count(server.process.pid) <= before + 2)


def test_a_thousand_that_wait_hold_no_thread(fetching):
    count = 1000
    asked = threading.Semaphore(0)
    go_on = threading.Event()

    def handle(connection: Connection) -> None:
        while connection.head():
            asked.release()
            go_on.wait(WAIT_S)
            connection.send(response(b"ok"))

    _, server = fetching(handle)
    go_on.set()
    assert ask(server, "/relay")[2] == b"ok"
    assert asked.acquire(timeout=WAIT_S)
    go_on.clear()
    status = f"/proc/{server.process.pid}/status"

    def threads() -> int:
        with open(status) as lines:
            return next(int(line.split()[1]) for line in lines if "Threads" in line)

    before, memory = threads(), memory_len(server.process.pid, "VmRSS")
    clients = [Client(server, WAIT_S) for _ in range(count)]
    for client in clients:
        client.send(b"GET /relay HTTP/1.1\r\nHost: a\r\n\r\n")
    for _ in range(count):
        assert asked.acquire(timeout=WAIT_S)
    assert threads() == before
    each = (memory_len(server.process.pid, "VmRSS") - memory) / count
    print(f"{each:.0f} octets for each that waits")
    go_on.set()
    for client in clients:
        assert client.response().body == b"ok"
        client.sock.close()


def test_drain_waits_for_responses(fetching):
    asked, go_on = threading.Event(), threading.Event()

    def handle(connection: Connection) -> None:
        connection.head()
        asked.set()
        go_on.wait(WAIT_S)
        connection.send(response(b"ok"))

    _, server = fetching(handle)
    with Client(server, WAIT_S) as client:
        client.send(b"GET /relay HTTP/1.1\r\nHost: a\r\n\r\n")
        assert asked.wait(WAIT_S)
        server.process.terminate()
        go_on.set()
        assert client.response().body == b"ok"
    assert server.process.wait(WAIT_S) == 0

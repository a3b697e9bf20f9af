"""ReverseProxy to upstreams that speak HTTP/2, frame by frame: RFC 9113 sections 5
to 8, RFC 8297."""

import contextlib
import re
import socket
import ssl
import threading
import time

import pytest
from conftest import Client, read_all, read_to, wait_until
from h2_client import H2Client
from h2_hpack import Decoder
from processes import cpu_s
from raw_http2 import *
from raw_server import Connection, RawServer, answering

GET = b"GET /items?page=1 HTTP/1.1\r\nHost: shop.example\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"
OPEN_POST = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhe"
PLAIN = answering(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
WAIT_S = 10


class Upstream(Http2Peer):
    """The upstream's side of a connection, which reads what it is asked."""

    def __init__(self, connection) -> None:
        super().__init__(connection)
        self.decoder = Decoder()
        self.asked: dict[int, list[tuple[str, str]]] = {}

    def request(self) -> int:
        got = self.until(HEADERS)
        block = got.payload
        while not got.flags & END_HEADERS:
            got = self.until(CONTINUATION)
            block += got.payload
        self.asked[got.stream] = self.decoder.decode(block)
        return got.stream

    def answer(self, stream: int, content: bytes = b"ok", *fields) -> None:
        super().answer(stream, content, ("content-length", str(len(content))), *fields)


def serve_h2(handle, *pairs):
    """Makes of what an upstream does with its side of a connection what a server does
    with a connection."""

    def run(connection) -> None:
        peer = Upstream(connection)
        peer.begin(*pairs)
        handle(peer)

    return run


@pytest.fixture
def proxied_h2(start):
    """Starts an upstream of HTTP/2 without TLS, and a proxy that knows; gives both."""
    upstreams = []

    def launch(handle, *pairs, others=(), **config):
        upstream = RawServer(serve_h2(handle, *pairs))
        upstreams.append(upstream)
        options = {"http2_prior_knowledge": 1, **config}
        urls = ",".join([upstream.url, *others])
        return upstream, start("proxy_server", upstream=urls, **options)

    yield launch
    for upstream in upstreams:
        upstream.close()


def ask(server, request: bytes = GET, is_head: bool = False):
    with Client(server, WAIT_S) as client:
        client.send(request)
        return client.response(is_head)


def test_fields_of_many_requests_under_way_take_no_more_room_each(proxied_h2):
    """A map of fields is filled anew while copies of it are under way: its room
    for the Content-Type was twice as large with each of them."""
    count = 64

    def handle(peer: Upstream) -> None:
        streams = [peer.request() for _ in range(count)]
        for stream in streams:
            assert ("content-type", "application/octet-stream") in peer.asked[stream]
            peer.answer(stream)
        peer.drain()

    _, server = proxied_h2(handle)
    typed = POST.replace(b"\r\n\r\n", b"\r\nContent-Type: application/octet-stream\r\n\r\n", 1)
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(Client(server, WAIT_S)) for _ in range(count)]
        for client in clients:
            client.send(typed)
        assert [client.response().status for client in clients] == count * [200]
    assert server.is_alive()


def test_request_and_response_are_written_anew(proxied_h2):
    seen = []

    def handle(peer: Upstream) -> None:
        stream = peer.request()
        seen.extend(peer.asked[stream])
        peer.head(stream, ("x-one", "1"), ("content-type", "text/plain"), ("set-cookie", "a=1"),
                  ("content-length", "3"), status=201)
        peer.data(stream, b"yes")
        peer.drain()

    _, server = proxied_h2(handle)
    response = ask(
        server,
        b"GET /items?page=1 HTTP/1.1\r\nhost:shop.example\r\nConnection: X-Own, TE\r\n"
        b"X-Own: 1\r\nX-Kept:  a b \r\nTE: trailers, deflate\r\nCookie: c=d\r\n\r\n",
    )
    # RFC 9113 section 8.3: pseudo-header fields come first.
    assert dict(seen[:4]) == {
        ":method": "GET", ":scheme": "http", ":authority": "shop.example",
        ":path": "/items?page=1",
    }
    fields = dict(seen[4:])
    assert fields["x-kept"] == "a b" and fields["x-forwarded-for"] == "127.0.0.1"
    assert fields["via"] == "1.1 flare" and fields["cookie"] == "c=d"
    # RFC 9113 section 8.2.2: of TE only trailers, and nothing of the connection.
    assert fields["te"] == "trailers"
    assert not {"connection", "x-own", "host", "transfer-encoding"} & set(fields)
    assert response.status == 201 and response.body == b"yes"
    assert response.head.startswith(b"HTTP/1.1 201 Created\r\n")
    assert response.fields["x-one"] == "1" and response.fields["set-cookie"] == "a=1"
    assert response.fields["content-type"] == "text/plain"
    assert response.fields["content-length"] == "3"

def test_octets_of_fields_pass_as_they_are(proxied_h2):
    """RFC 9110 section 5.5: octets from 0x80 up are opaque."""

    def handle(peer: Upstream) -> None:
        stream = peer.request()
        peer.answer(stream, b"ok", ("x-name", "caf\xe9"))
        peer.drain()

    _, server = proxied_h2(handle)
    assert b"x-name: caf\xe9\r\n" in ask(server).head.lower() + b"\r\n"


def test_many_requests_share_a_connection(proxied_h2):
    count = 20

    def handle(peer: Upstream) -> None:
        streams = [peer.request() for _ in range(count)]
        for stream in reversed(streams):
            peer.answer(stream, dict(peer.asked[stream])[":path"].encode())
        peer.drain()

    upstream, server = proxied_h2(handle, (MAX_STREAMS, 100))
    clients = [Client(server, WAIT_S) for _ in range(count)]
    for number, client in enumerate(clients):
        client.send(b"GET /%d HTTP/1.1\r\nHost: x\r\n\r\n" % number)
    for number, client in enumerate(clients):
        assert client.response().body == b"/%d" % number
        client.sock.close()
    assert upstream.connection_count == 1


def test_streams_that_the_upstream_allows(proxied_h2):
    """RFC 9113 section 5.1.2: what is too much for one connection takes another."""
    waiting = threading.Semaphore(0)
    go_on = threading.Event()
    most = []

    def handle(peer: Upstream) -> None:
        streams = [peer.request(), peer.request()]
        most.append(len(streams))
        for _ in streams:
            waiting.release()
        go_on.wait(WAIT_S)
        for stream in streams:
            peer.answer(stream)
        peer.drain()

    upstream, server = proxied_h2(handle, (MAX_STREAMS, 2))
    clients = [Client(server, WAIT_S) for _ in range(6)]
    for client in clients:
        client.send(GET)
    for _ in clients:
        assert waiting.acquire(timeout=WAIT_S)
    go_on.set()
    for client in clients:
        assert client.response().body == b"ok"
        client.sock.close()
    assert upstream.connection_count == 3 and most == [2, 2, 2]


def test_no_stream_at_all(proxied_h2):
    asked = threading.Event()

    def handle(peer: Upstream) -> None:
        peer.request()
        asked.set()
        peer.drain()

    _, server = proxied_h2(handle, (MAX_STREAMS, 0), connect_timeout_ms=500, max_attempts=1)
    # The first goes before SETTINGS have come; it is never answered.
    with Client(server, WAIT_S) as first:
        first.send(GET)
        assert asked.wait(WAIT_S)
        assert ask(server).status == 504


@pytest.mark.parametrize("request_octets", [GET, POST])
def test_a_refused_stream_is_sent_again(proxied_h2, request_octets):
    """RFC 9113 section 8.7, whatever the method; on the same connection."""

    def handle(peer: Upstream) -> None:
        peer.reset(peer.request(), REFUSED_STREAM)
        answering_all(peer)

    upstream, server = proxied_h2(handle)
    for _ in range(3):
        assert ask(server, request_octets).body == b"ok"
    assert upstream.connection_count == 1


@pytest.mark.parametrize("is_chunked", [False, True])
@pytest.mark.parametrize("way", ["refused", "over HTTP/1.1"])
def test_content_that_comes_late_is_sent_again(start, certs, is_chunked, way):
    """As long as it is short: all of it, and what follows behind it."""
    code = REFUSED_STREAM if way == "refused" else HTTP_1_1_REQUIRED
    got, agreed, went_on = [], [], threading.Event()

    def speak(peer: Upstream) -> None:
        stream = peer.request()
        if not got:
            got.append(peer.until(DATA).payload)
            peer.reset(stream, code)
            went_on.set()
            stream = peer.request()
        content = b""
        while True:
            found = peer.until(DATA)
            content += found.payload
            if found.flags & END_STREAM:
                break
        got.append(content)
        peer.answer(stream)
        peer.drain()

    def over_http1(head: str, content: bytes) -> bytes:
        got.append(content)
        return b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    upstream = RawServer(
        over_tls(certs, ["h2", "http/1.1"], agreed, speak, answering(over_http1))
    )
    server = start(
        "proxy_server", upstream=f"https://localhost:{upstream.port}", ca=certs / "root.pem"
    )
    framing = b"Transfer-Encoding: chunked" if is_chunked else b"Content-Length: 10"
    piece = b"5\r\nhello\r\n" if is_chunked else b"hello"
    with Client(server, WAIT_S) as client:
        client.send(b"POST / HTTP/1.1\r\nHost: x\r\n%s\r\n\r\n" % framing)
        client.send(piece)
        assert went_on.wait(WAIT_S)
        client.send(piece + (b"0\r\n\r\n" if is_chunked else b""))
        assert client.response().body == b"ok"
    upstream.close()
    assert got == [b"hello", b"hellohello"]


class Refusing:
    """An upstream that has not begun with any request, as it says."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, peer: Upstream) -> None:
        while True:
            stream = peer.request()
            # Counted before the proxy can give up and answer.
            self.count += 1
            peer.reset(stream, REFUSED_STREAM)


def test_an_upstream_that_refuses_for_ever(proxied_h2):
    refusing = Refusing()
    _, server = proxied_h2(refusing)
    response = ask(server, POST)
    assert response.status == 502
    assert response.fields["proxy-status"] == "flare; error=connection_terminated"
    # Once, five times more, and as often in each of three attempts.
    assert refusing.count == 18, server.stderr()


def test_content_that_is_gone_is_why_a_refused_stream_ends(proxied_h2):
    """RFC 9113 section 8.7 would allow it, also for this method."""
    length, got = 200_000, 0

    def handle(peer: Upstream) -> None:
        nonlocal got
        stream = peer.request()
        more = struct.pack(">I", 1 << 20)
        peer.send(frame(WINDOW_UPDATE, 0, 0, more) + frame(WINDOW_UPDATE, 0, stream, more))
        while got < length:
            got += len(peer.until(DATA).payload)
        peer.reset(stream, REFUSED_STREAM)
        peer.drain()

    _, server = proxied_h2(handle)
    with Client(server, WAIT_S) as client:
        head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
        client.send(head % (length + 1) + bytes(length))
        assert client.response().status == 502
    assert "not sent again: content_gone" in server.stderr()


def test_what_one_upstream_refuses_for_ever_goes_to_another(proxied_h2):
    """RFC 9113 section 8.7: it may be repeated, whatever its method is."""
    refusing = Refusing()
    other = RawServer(serve_h2(answering_all))
    _, server = proxied_h2(refusing, others=[other.url])
    for _ in range(4):
        response = ask(server, POST)
        assert (response.status, response.body) == (200, b"ok")
    assert refusing.count > 0 and refusing.count % 6 == 0
    figures = ask(server, b"GET /figures HTTP/1.1\r\nHost: x\r\n\r\n").body.decode()
    assert re.search(r'outcome="refused".* [1-9]', figures), figures
    other.close()


def test_goaway_ends_a_connection_for_new_requests(proxied_h2):
    """RFC 9113 section 6.8: what is above the last stream was not begun with."""

    def handle(peer: Upstream) -> None:
        first = peer.request()
        if peer.connection.number == 1:
            second = peer.request()
            peer.goaway(first)
            peer.answer(first, b"old")
            assert second > first
            peer.drain()
            return
        peer.answer(first, b"new")
        answering_all(peer)

    upstream, server = proxied_h2(handle)
    clients = [Client(server, WAIT_S) for _ in range(2)]
    for client in clients:
        client.send(POST)
    assert sorted(client.response().body for client in clients) == [b"new", b"old"]
    assert ask(server, POST).body == b"ok"
    assert upstream.connection_count == 2
    for client in clients:
        client.sock.close()


@pytest.mark.parametrize("code", [INTERNAL_ERROR, CANCEL, ENHANCE_YOUR_CALM])
def test_resets_of_the_upstream(proxied_h2, code):
    """Before a head: 502 for what must not be repeated; the connection goes on."""

    def handle(peer: Upstream) -> None:
        while True:
            stream = peer.request()
            if dict(peer.asked[stream])[":method"] == "POST":
                peer.reset(stream, code)
            else:
                peer.answer(stream)

    upstream, server = proxied_h2(handle)
    response = ask(server, POST)
    assert response.status == 502
    assert response.fields["proxy-status"] == "flare; error=connection_terminated"
    assert "not sent again: not_idempotent" in server.stderr()
    assert ask(server).body == b"ok"
    assert upstream.connection_count == 1


def test_a_reset_within_content_breaks_off(proxied_h2):
    def handle(peer: Upstream) -> None:
        while True:
            stream = peer.request()
            peer.head(stream, ("content-length", "9"))
            peer.data(stream, b"ok", ends=False)
            peer.reset(stream, INTERNAL_ERROR)

    _, server = proxied_h2(handle)
    with Client(server, WAIT_S) as client:
        client.send(GET)
        data = read_all(client.sock)
    assert b"Content-Length: 9" in data and data.endswith(b"\r\n\r\nok")
    with H2Client(server) as client:
        answer = client.get("/")
    assert answer.reset is not None and not answer.ended


@pytest.mark.parametrize("phase", ["head", "content", "upload"])
def test_clients_that_go_away(proxied_h2, phase):
    """Their streams are reset at once; the connection and others go on."""
    reached, left = threading.Event(), threading.Event()

    def handle(peer: Upstream) -> None:
        stream = peer.request()
        if phase == "content":
            peer.head(stream)
            peer.data(stream, b"some", ends=False)
        reached.set()
        got = peer.until(RST_STREAM)
        assert (got.stream, got.code) == (stream, CANCEL)
        left.set()
        answering_all(peer)

    upstream, server = proxied_h2(handle)
    with Client(server, WAIT_S) as client:
        client.send(OPEN_POST if phase == "upload" else GET)
        assert reached.wait(WAIT_S)
        if phase == "content":
            read_to(client.sock, b"some\r\n")
    assert left.wait(WAIT_S)
    assert ask(server).body == b"ok"
    assert upstream.connection_count == 1


@pytest.mark.parametrize(
    ("method", "status", "fields", "length", "coding"),
    [
        # RFC 9110 section 9.3.2: HEAD has the fields of GET.
        (b"HEAD", 200, [("content-length", "50")], "50", None),
        (b"HEAD", 200, [], None, None),
        # RFC 9110 sections 15.3.5 and 15.4.5.
        (b"GET", 204, [], None, None),
        (b"GET", 304, [("etag", '"a"')], None, None),
        (b"GET", 200, [("content-length", "0")], "0", None),
    ],
)
@pytest.mark.parametrize("ends", [True, False])
def test_responses_without_content(proxied_h2, method, status, fields, length, coding, ends):
    def handle(peer: Upstream) -> None:
        while True:
            stream = peer.request()
            peer.head(stream, *fields, status=status, ends=ends)
            if not ends:
                peer.data(stream, b"")

    upstream, server = proxied_h2(handle)
    with Client(server, WAIT_S) as client:
        for _ in range(2):
            client.send(method + b" / HTTP/1.1\r\nHost: x\r\n\r\n")
            response = client.response(is_head=True)
            assert response.status == status
            assert response.fields.get("transfer-encoding") == coding
            if not (method == b"GET" and status == 200 and not ends):
                assert response.fields.get("content-length") == length
    assert upstream.connection_count == 1


@pytest.mark.parametrize(("method", "status"), [(b"HEAD", 200), (b"DELETE", 204), (b"GET", 304)])
@pytest.mark.parametrize("breaks", ["reset", "content", "close"])
def test_responses_without_content_that_break_off(proxied_h2, method, status, breaks):
    """RFC 9113 section 8.1.1: what fails before its end is no response, and that
    is said at once, not when the time for the head is over."""

    def handle(peer: Upstream) -> None:
        # What may be repeated comes again.
        while True:
            stream = peer.request()
            peer.head(stream, status=status)
            if breaks == "reset":
                peer.reset(stream, INTERNAL_ERROR)
            elif breaks == "content":
                peer.data(stream, b"octets that have no place")
            else:
                raise EOFError

    _, server = proxied_h2(handle)
    response = ask(server, method + b" / HTTP/1.1\r\nHost: x\r\n\r\n", is_head=True)
    assert response.status == 502


def test_an_answer_without_content_does_not_end_the_request(proxied_h2):
    """RFC 9113 section 8.1: the upstream reads on, and ends the stream behind it."""
    length = 300_000
    taken = []

    def handle(peer: Upstream) -> None:
        stream = peer.request()
        peer.head(stream, status=204)
        taken.append(peer.content(stream, window=65_535))
        peer.data(stream, b"")
        peer.drain()

    _, server = proxied_h2(handle)
    head = b"PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % length
    assert ask(server, head + b"x" * length).status == 204
    assert taken == [length]


def test_interim_responses_are_passed_on(proxied_h2):
    """RFC 9110 section 15.2, over HTTP/2 to HTTP/1.1."""

    def handle(peer: Upstream) -> None:
        stream = peer.request()
        for status in (100, 102, 103, 199):
            peer.head(stream, ("x-note", str(status)), status=status)
        peer.answer(stream)
        # To close with octets unread is a reset, which may overtake what was sent.
        peer.drain()

    _, server = proxied_h2(handle)
    with Client(server, WAIT_S) as client:
        client.send(GET)
        data = read_to(client.sock, b"\r\n\r\nok")
    *interim, head, _ = data.split(b"\r\n\r\n")
    assert [line.split(b" ")[1] for line in interim] == [b"100", b"102", b"103", b"199"]
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")


CLOSING_POST = (
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
)


@pytest.mark.parametrize("count, status", [(16, 200), (17, 502)])
def test_interim_responses_are_bounded(proxied_h2, count, status):
    """RFC 9110 section 15.2 sets no limit, so an upstream could go on for ever."""

    def handle(peer: Upstream) -> None:
        stream = peer.request()
        for _ in range(count):
            peer.head(stream, ("link", "</a>"), status=103)
        if status == 200:
            peer.answer(stream)
        peer.drain()

    _, server = proxied_h2(handle)
    with Client(server, WAIT_S) as client:
        # Not repeated: each attempt has a bound of its own.
        client.send(CLOSING_POST)
        data = read_all(client.sock)
    # The one too many may be on its way before it is counted.
    assert data.count(b"HTTP/1.1 103 ") in (16, count)
    assert b"HTTP/1.1 %d " % status in data


def test_hints_and_trailers_both_ways(proxied_h2):
    seen = []

    def handle(peer: Upstream) -> None:
        stream = peer.request()
        content = b""
        while not content.endswith(b"abc"):
            content += peer.until(DATA).payload
        trailers = peer.until(HEADERS)
        assert trailers.flags & END_STREAM
        seen.extend(peer.decoder.decode(trailers.payload))
        peer.head(stream, ("link", "</a.css>; rel=preload"), status=103)
        peer.head(stream, ("trailer", "x-sum"))
        peer.data(stream, b"abc", ends=False)
        peer.send(frame(HEADERS, END_HEADERS | END_STREAM, stream, block(("x-sum", "17"))))
        peer.drain()

    _, server = proxied_h2(handle)
    with Client(server, WAIT_S) as client:
        client.send(
            b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"3\r\nabc\r\n0\r\nX-Own: 18\r\n\r\n"
        )
        data = read_to(client.sock, b"17\r\n\r\n")
    assert ("x-own", "18") in seen
    hints, head, body = data.split(b"\r\n\r\n", 2)
    assert hints.startswith(b"HTTP/1.1 103 ") and b"</a.css>; rel=preload" in hints
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert body.lower() == b"3\r\nabc\r\n0\r\nx-sum: 17\r\n\r\n"


def test_asking_before_content_is_passed_on(proxied_h2):
    """RFC 9110 section 10.1.1: the upstream decides."""

    def handle(peer: Upstream) -> None:
        stream = peer.request()
        assert ("expect", "100-continue") in peer.asked[stream]
        # It is asked first, and waits for a second.
        peer.connection.sock.settimeout(0.2)
        with pytest.raises(TimeoutError):
            while peer.read().kind != DATA:
                pass
        peer.connection.sock.settimeout(WAIT_S)
        peer.head(stream, status=100)
        assert peer.content(stream) == 5
        peer.answer(stream)
        stream = peer.request()
        peer.head(stream, status=403, ends=True)
        peer.drain()

    _, server = proxied_h2(handle)
    ask_first = (
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"
    )
    with Client(server, WAIT_S) as client:
        client.send(ask_first)
        assert client.response().status == 100
        client.send(b"hello")
        assert client.response().body == b"ok"
    with Client(server, WAIT_S) as client:
        client.send(ask_first)
        assert client.response().status == 403


def test_drips_arrive_as_they_drip(proxied_h2):
    go_on = threading.Semaphore(1)

    def handle(peer: Upstream) -> None:
        stream = peer.request()
        peer.head(stream, ("content-type", "text/event-stream"))
        for _ in range(10):
            assert go_on.acquire(timeout=WAIT_S)
            peer.data(stream, b"data: x\n\n", ends=False)
        assert go_on.acquire(timeout=WAIT_S)
        peer.data(stream, b"")
        peer.drain()

    _, server = proxied_h2(handle)
    with Client(server, WAIT_S) as client:
        client.send(GET)
        for _ in range(10):
            read_to(client.sock, b"data: x\n\n\r\n")
            go_on.release()
        assert read_to(client.sock, b"0\r\n\r\n") == b"0\r\n\r\n"


def test_shut_windows_hold_the_client_back(proxied_h2):
    """An upload goes no further than the upstream's windows, and less is taken
    from the client then."""
    go_on = threading.Event()
    got = 0

    def handle(peer: Upstream) -> None:
        nonlocal got
        stream = peer.request()
        while got < DEFAULT_WINDOW:
            got += len(peer.until(DATA).payload)
        go_on.wait(WAIT_S)
        more = struct.pack(">I", 1 << 30)
        peer.send(frame(WINDOW_UPDATE, 0, 0, more) + frame(WINDOW_UPDATE, 0, stream, more))
        while True:
            found = peer.until(DATA)
            got += len(found.payload)
            if found.flags & END_STREAM:
                break
        peer.answer(stream)
        peer.drain()

    _, server = proxied_h2(handle, max_body_size=1 << 30)
    length = 64 << 20
    with Client(server, WAIT_S) as client:
        client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % length)
        client.sock.settimeout(1.5)
        sent = 0
        with pytest.raises(TimeoutError):
            while sent < length:
                sent += client.sock.send(bytes(65_536))
        assert wait_until(lambda: got == DEFAULT_WINDOW) and sent < 32 << 20
        client.sock.settimeout(WAIT_S)
        go_on.set()
        while sent < length:
            sent += client.sock.send(bytes(min(65_536, length - sent)))
        assert client.response().body == b"ok"
    assert got == length


def fill(peer: Upstream, stream: int, count: int) -> None:
    """Sends so much content, which does not end."""
    while count:
        piece = bytes(min(16_384, count))
        peer.data(stream, piece, ends=False)
        count -= len(piece)


def test_slow_clients_hold_their_stream_back_alone(proxied_h2):
    """What a client does not take shuts the window of its stream, no other."""
    sent = 0
    slow_is_stuck = threading.Event()

    def handle(peer: Upstream) -> None:
        nonlocal sent
        slow = peer.request()
        peer.head(slow)
        sent = peer.windows[slow]
        fill(peer, slow, sent)
        peer.connection.sock.settimeout(2)
        try:
            while True:
                got = peer.read()
                if got.kind == WINDOW_UPDATE and got.stream == slow:
                    sent += got.number
                    fill(peer, slow, got.number)
        except TimeoutError:
            slow_is_stuck.set()
        peer.connection.sock.settimeout(WAIT_S)
        answering_all(peer)

    upstream, server = proxied_h2(handle)
    with Client(server, WAIT_S) as client:
        client.send(GET)
        assert slow_is_stuck.wait(WAIT_S)
        assert DEFAULT_WINDOW < sent < 32 << 20
        assert ask(server).body == b"ok"
    assert upstream.connection_count == 1


@pytest.mark.parametrize("says_end", [False, True])
def test_a_client_that_waits_behind_an_upstream_that_has_gone(proxied_h2, says_end):
    """Nobody is to be asked by PING any more, again and again."""

    def handle(peer: Upstream) -> None:
        stream = peer.request()
        peer.head(stream)
        peer.data(stream, bytes(1_000), ends=False)
        if says_end:
            # Closing over what is unread would reset, and lose what waits to go.
            peer.connection.sock.shutdown(socket.SHUT_WR)
            return peer.drain()
        # What it does not answer is PING.
        peer.until(GOAWAY)

    _, server = proxied_h2(handle, http2_ping_after_ms=100, http2_ping_timeout_ms=100)
    with H2Client(server, {INITIAL_WINDOW: 100}) as client:
        client.grants = False
        stream = client.request()
        client.until(lambda: stream in client.answers)
        client.until(lambda: len(client.answers[stream].body) == 100)
        # Both times of PING are over then.
        time.sleep(0.5)
        before = cpu_s(server.process.pid)
        time.sleep(1)
        assert cpu_s(server.process.pid) - before < 0.1


def test_times_of_each_phase(proxied_h2):
    ended = threading.Event()

    def silent(peer: Upstream) -> None:
        stream = peer.request()
        assert peer.until(RST_STREAM).stream == stream
        answering_all(peer)

    upstream, server = proxied_h2(silent, head_timeout_ms=200)
    response = ask(server)
    assert response.status == 504 and "no answer within 200 ms" in server.stderr()
    assert ask(server).body == b"ok" and upstream.connection_count == 1

    def stuck(peer: Upstream) -> None:
        stream = peer.request()
        peer.head(stream, ("content-length", "9"))
        peer.data(stream, b"ok", ends=False)
        ended.wait(WAIT_S)

    _, server = proxied_h2(stuck, idle_timeout_ms=200)
    with Client(server, WAIT_S) as client:
        client.send(GET)
        assert read_all(client.sock).endswith(b"\r\n\r\nok")
    assert wait_until(lambda: "sent nothing for 200 ms" in server.stderr())

    def deaf(peer: Upstream) -> None:
        peer.request()
        ended.wait(WAIT_S)

    _, server = proxied_h2(deaf, write_timeout_ms=300, max_body_size=1 << 30)
    with Client(server, WAIT_S) as client:
        client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n")
        client.send(bytes(200_000))
        assert wait_until(lambda: "took nothing for 300 ms" in server.stderr())
        assert client.response().status == 504
    ended.set()


def test_a_dead_connection_is_found_by_ping(proxied_h2):
    """RFC 9113 section 6.7; what was under way on it is sent again if that is safe."""
    pinged = threading.Event()

    def handle(peer: Upstream) -> None:
        if peer.connection.number > 1:
            answering_all(peer)
        peer.answer(peer.request())
        peer.request()
        peer.until(PING)
        pinged.set()
        peer.drain()

    upstream, server = proxied_h2(
        handle, http2_ping_after_ms=500, http2_ping_timeout_ms=1_000, head_timeout_ms=20_000
    )
    assert ask(server).body == b"ok"
    assert ask(server).body == b"ok"
    assert pinged.is_set() and upstream.connection_count == 2


def hangs(after: int):
    """Answers so many requests of the first connection, and then takes octets
    without a word, whatever connection they come on."""

    def handle(peer: Upstream) -> None:
        if peer.connection.number == 1:
            for _ in range(after):
                peer.answer(peer.request())
        peer.drain()

    return handle


def attempts(server) -> dict[str, int]:
    """How many attempts have ended in each way."""
    found = {}
    for line in ask(server, b"GET /figures HTTP/1.1\r\nHost: x\r\n\r\n").body.decode().split("\n"):
        if line.startswith("flare_upstream_attempts_total{"):
            outcome = line.split('outcome="')[1].split('"')[0]
            found[outcome] = found.get(outcome, 0) + int(line.rsplit(" ", 1)[1])
    return found


TIMED_OUT = "flare; error=http_response_timeout"


def test_the_time_for_the_head_counts_from_when_the_request_is_sent(proxied_h2):
    """A connection that PING finds dead is replaced within that time, and does not
    begin it anew."""
    handle, arrived = hangs(1), []

    def noting(peer: Upstream) -> None:
        if peer.connection.number == 2:
            arrived.append(time.monotonic())
        handle(peer)

    upstream, server = proxied_h2(
        noting, http2_ping_after_ms=1_000, http2_ping_timeout_ms=1_000, head_timeout_ms=4_000
    )
    assert ask(server).body == b"ok"
    began = time.monotonic()
    answer = ask(server)
    now = time.monotonic()
    assert answer.status == 504 and answer.fields["proxy-status"] == TIMED_OUT
    assert now - began > 3.9 and upstream.connection_count == 2
    # Half is over when PING has had no answer; begun anew it would be all of it.
    assert now - arrived[0] < 3.9
    assert attempts(server) == {"answered": 1, "head_timeout": 1}


@pytest.mark.parametrize(("after", "request_octets"), [(0, GET), (0, POST), (1, POST)])
def test_an_unanswered_ping_counts_against_the_upstream(proxied_h2, after, request_octets):
    """It is no more sent again than what is not answered in time over HTTP/1.1."""
    upstream, server = proxied_h2(
        hangs(after), http2_ping_after_ms=200, http2_ping_timeout_ms=200, head_timeout_ms=20_000
    )
    for _ in range(after):
        assert ask(server).body == b"ok"
    answer = ask(server, request_octets)
    assert answer.status == 504 and answer.fields["proxy-status"] == TIMED_OUT
    assert "not answered PING within 200 ms" in server.stderr()
    assert upstream.connection_count == 1
    assert attempts(server).get("head_timeout") == 1 and "cancelled" not in attempts(server)


def test_an_upstream_that_hangs_is_spared(proxied_h2):
    _, server = proxied_h2(
        hangs(0), http2_ping_after_ms=100, http2_ping_timeout_ms=100,
        failures_to_open=1, open_ms=60_000,
    )
    assert ask(server).status == 504
    assert ask(server).status == 503


def test_a_connection_that_ends_is_replaced(proxied_h2):
    """That an idle connection ends says nothing of the upstream."""

    def handle(peer: Upstream) -> None:
        peer.answer(peer.request())
        # What was sent would be lost if it closed with octets unread.
        peer.connection.sock.shutdown(socket.SHUT_WR)
        peer.drain()

    upstream, server = proxied_h2(handle)
    for _ in range(4):
        assert ask(server).body == b"ok"
    assert 1 < upstream.connection_count <= 4


def test_idle_connections_say_goodbye(proxied_h2):
    said = threading.Event()

    def handle(peer: Upstream) -> None:
        peer.answer(peer.request())
        frames = peer.drain()
        assert frames[-1].kind == GOAWAY and frames[-1].code == NO_ERROR
        said.set()

    _, server = proxied_h2(handle, keep_idle_ms=100)
    assert ask(server).body == b"ok"
    assert said.wait(WAIT_S)


def test_a_proxy_that_ends_says_goodbye(proxied_h2):
    last = []

    def handle(peer: Upstream) -> None:
        peer.answer(peer.request())
        last.append(peer.drain()[-1])

    _, server = proxied_h2(handle)
    assert ask(server).body == b"ok"
    server.process.terminate()
    assert server.process.wait(WAIT_S) == 0
    assert wait_until(lambda: last)
    assert last[0].kind == GOAWAY and last[0].code == NO_ERROR


def test_fields_that_the_upstream_does_not_take(proxied_h2):
    """RFC 9113 section 6.5.2: the client is told, and the others are served."""
    _, server = proxied_h2(answering_all, (MAX_HEADER_LIST_SIZE, 2_000))
    assert ask(server).body == b"ok"
    large = GET.replace(b"\r\n\r\n", b"\r\nX-Large: %s\r\n\r\n" % (b"x" * 3_000))
    assert ask(server, large).status == 431
    assert ask(server).body == b"ok"


def test_health_checks_speak_http2(proxied_h2):
    asked = threading.Semaphore(0)

    def handle(peer: Upstream) -> None:
        while True:
            stream = peer.request()
            if dict(peer.asked[stream])[":path"] == "/health":
                asked.release()
                peer.head(stream, status=503, ends=True)
            else:
                peer.answer(stream)

    _, server = proxied_h2(
        handle, health_path="/health", health_interval_ms=50, unhealthy_after=2
    )
    assert ask(server).body == b"ok"
    for _ in range(3):
        assert asked.acquire(timeout=WAIT_S)
    assert wait_until(
        lambda: ask(server, GET.replace(b"/items?page=1", b"/upstreams")).body.startswith(b"down")
    )


@pytest.mark.parametrize(
    "octets",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        settings() + frame(DATA, 0, 0, b"x"),
        settings() + frame(HEADERS, END_HEADERS, 2, block((":status", "200"))),
        settings() + frame(HEADERS, END_HEADERS, 1, block(("x", "y"))),
        settings() + frame(HEADERS, END_HEADERS, 1, block((":status", "101"))),
        settings() + frame(HEADERS, END_HEADERS, 1, block((":status", "200"), ("Connection", "x"))),
        settings() + frame(PUSH_PROMISE, END_HEADERS, 1, struct.pack(">I", 2)),
        settings() + frame(HEADERS, END_HEADERS | END_STREAM, 1, block((":status", "900"))),
        settings() + frame(HEADERS, END_HEADERS | END_STREAM, 1,
                           block((":status", "200"), ("content-length", "5"))),
    ],
)
def test_bad_upstreams_are_a_502(start, octets):
    def handle(connection) -> None:
        if connection.take(len(PREFACE)) == PREFACE:
            connection.send(octets)
            time.sleep(0.3)

    upstream = RawServer(handle)
    server = start("proxy_server", upstream=upstream.url, http2_prior_knowledge=1)
    response = ask(server)
    upstream.close()
    assert response.status == 502, response.head
    assert response.fields["proxy-status"] == "flare; error=http_protocol_error"
    assert "answered with 502" in server.stderr()


def over_tls(certs, protocols: list[str], agreed: list, speak=answering_all, plain=PLAIN):
    """Makes a handler that speaks, within TLS, what was agreed on by ALPN."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certs / "good_chain.pem", certs / "good.key")
    if protocols:
        context.set_alpn_protocols(protocols)

    def handle(connection: Connection) -> None:
        with context.wrap_socket(connection.sock, server_side=True) as stream:
            agreed.append(stream.selected_alpn_protocol())
            inner = Connection(stream, connection.number)
            if agreed[-1] == "h2":
                peer = Upstream(inner)
                peer.begin()
                return speak(peer)
            plain(inner)

    return handle


@pytest.mark.parametrize(
    ("protocols", "options", "spoken"),
    [
        (["h2", "http/1.1"], {}, "h2"),
        (["h2", "http/1.1"], {"http2": 0}, None),
        (["http/1.1"], {}, "http/1.1"),
        # RFC 7301 section 3.2: a server that knows no ALPN answers none.
        ([], {}, None),
    ],
)
@pytest.mark.parametrize("request_octets", [GET, POST])
def test_what_is_spoken_is_agreed_on(start, certs, protocols, options, spoken, request_octets):
    """RFC 9113 section 3.2; of HTTP/1.1 the connection is used, and remembered."""
    agreed = []
    upstream = RawServer(over_tls(certs, protocols, agreed))
    server = start(
        "proxy_server", upstream=f"https://localhost:{upstream.port}", ca=certs / "root.pem",
        **options,
    )
    for _ in range(3):
        assert ask(server, request_octets).body == b"ok"
    upstream.close()
    if options:
        assert agreed in ([None], ["http/1.1"])
    else:
        assert agreed == [spoken]


def test_many_at_once_to_what_speaks_http1(start, certs):
    """All that wait for the first connection go on, each on one of its own."""
    agreed = []
    upstream = RawServer(over_tls(certs, ["http/1.1"], agreed))
    server = start(
        "proxy_server", upstream=f"https://localhost:{upstream.port}", ca=certs / "root.pem"
    )
    clients = [Client(server, WAIT_S) for _ in range(10)]
    for client in clients:
        client.send(GET)
    for client in clients:
        assert client.response().body == b"ok"
        client.sock.close()
    upstream.close()


def test_an_upstream_that_wants_http1(start, certs):
    """HTTP_1_1_REQUIRED (RFC 9113 section 7): the request goes so."""
    agreed = []

    def refuse(peer: Upstream) -> None:
        while True:
            peer.reset(peer.request(), HTTP_1_1_REQUIRED)

    upstream = RawServer(over_tls(certs, ["h2", "http/1.1"], agreed, refuse))
    server = start(
        "proxy_server", upstream=f"https://localhost:{upstream.port}", ca=certs / "root.pem"
    )
    assert ask(server, POST).body == b"ok"
    assert ask(server, POST).body == b"ok"
    upstream.close()
    assert agreed[0] == "h2" and set(agreed[1:]) <= {None, "http/1.1"} and len(agreed) == 2


def test_drain_waits_for_streams(proxied_h2):
    asked, go_on = threading.Event(), threading.Event()

    def handle(peer: Upstream) -> None:
        stream = peer.request()
        asked.set()
        go_on.wait(WAIT_S)
        peer.answer(stream)
        peer.drain()

    _, server = proxied_h2(handle)
    with Client(server, WAIT_S) as client:
        client.send(GET)
        assert asked.wait(WAIT_S)
        server.process.terminate()
        go_on.set()
        assert client.response().body == b"ok"
    assert server.process.wait(WAIT_S) == 0

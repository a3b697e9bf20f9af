"""The HTTP client over HTTP/2, against servers that end streams and connections,
announce small limits, break rules, or say nothing: frames by hand."""

import json
import socket
import ssl
import threading
import time

import pytest
from conftest import wait_until
from raw_http2 import (
    ENHANCE_YOUR_CALM,
    CANCEL,
    CONTINUATION,
    DATA,
    END_STREAM,
    END_HEADERS,
    ACK,
    GOAWAY,
    HEADERS,
    HTTP_1_1_REQUIRED,
    INITIAL_WINDOW,
    INTERNAL_ERROR,
    MAX_HEADER_LIST_SIZE,
    MAX_STREAMS,
    NO_ERROR,
    PING,
    PUSH_PROMISE,
    REFUSED_STREAM,
    RST_STREAM,
    SETTINGS,
    HEADER_TABLE_SIZE,
    WINDOW_UPDATE,
    Http2Peer,
    answering_all,
    block,
    frame,
    settings,
    speaking,
)
from raw_server import Connection, RawServer, end_has_arrived
from test_client_hostile import sized

POST = {"method": "POST", "octets": "content"}
OPENED = 1 << 20
READ_LEN = 65_536


def send_all(fetcher, requests: list[dict], parallel: int = 10) -> list[dict]:
    texts = [json.dumps(request) for request in requests]
    return fetcher.ask(do="all", requests=texts, parallel=parallel)["results"]


def meet(fetcher, handle, *pairs, **config) -> RawServer:
    """Starts a server, and a client that knows that it speaks HTTP/2."""
    server = RawServer(speaking(handle, *pairs))
    own = {"read_timeout_ms": 2_000, "total_timeout_ms": 10_000}
    fetcher.client(**{"base": server.url, "h2c": 1, **own, **config})
    return server


def failure(answer: dict) -> tuple[str, str]:
    assert "phase" in answer, answer
    return answer["phase"], answer["kind"]


def test_goaway_in_the_middle_of_a_batch(fetcher):
    """RFC 9113 section 6.8: streams above the last one were not begun with, so
    even POST is sent again; those below are answered all the same."""

    def handle(peer: Http2Peer) -> None:
        streams = [peer.request() for _ in range(6 if is_first(peer) else 4)]
        if is_first(peer):
            peer.goaway(streams[1])
            streams = streams[:2]
        for stream in reversed(streams):
            peer.answer(stream)
        peer.drain()

    server = meet(fetcher, handle)
    many = send_all(fetcher, [{"url": "/", **POST}] * 6, 6)
    server.close()
    assert [answer.get("status") for answer in many] == [200] * 6, many
    assert server.connection_count == 2


def test_who_answers_without_asking_is_not_sent_the_content(fetcher):
    """RFC 9110 section 10.1.1; the stream ends, and the connection goes on."""
    ends = []

    def handle(peer: Http2Peer) -> None:
        for _ in range(2):
            stream = peer.request()
            peer.answer(stream)
            ends.append(peer.until(DATA, RST_STREAM).kind)
        peer.drain()

    server = meet(fetcher, handle)
    for _ in range(2):
        assert fetcher.get("/", **POST, expect=1)["body"] == "ok"
    assert wait_until(lambda: len(ends) == 2)
    server.close()
    assert ends == [RST_STREAM] * 2
    assert server.connection_count == 1


def is_first(peer: Http2Peer) -> bool:
    return peer.connection.number == 1


def test_goaway_ends_a_connection_for_new_requests(fetcher):
    def handle(peer: Http2Peer) -> None:
        stream = peer.request()
        peer.goaway((1 << 31) - 1)
        peer.goaway(stream)
        peer.answer(stream)
        peer.drain()

    server = meet(fetcher, handle)
    for number in range(1, 4):
        answer = fetcher.get("/", **POST)
        assert (answer.get("status"), answer.get("idle")) == (200, 0), answer
        assert server.connection_count == number
    server.close()


def test_a_server_that_always_says_goaway(fetcher):
    """Requests that no server begins with are sent again so often, not for
    ever."""

    def handle(peer: Http2Peer) -> None:
        peer.request()
        peer.goaway(0, ENHANCE_YOUR_CALM)
        peer.drain()

    server = meet(fetcher, handle)
    answer = fetcher.get("/")
    server.close()
    assert failure(answer) == ("read head", "StreamReset")
    assert "ENHANCE_YOUR_CALM" in answer["text"]
    assert server.connection_count == 3


def test_a_server_that_refuses_for_ever(fetcher):
    streams = []

    def handle(peer: Http2Peer) -> None:
        while True:
            streams.append(peer.request())
            peer.reset(streams[-1], REFUSED_STREAM)

    server = meet(fetcher, handle)
    answer = fetcher.get("/", **POST)
    server.close()
    assert failure(answer) == ("read head", "StreamReset")
    assert "REFUSED_STREAM" in answer["text"] and len(streams) == 3


def test_an_upload_that_was_read_is_not_sent_again(fetcher):
    def handle(peer: Http2Peer) -> None:
        stream = peer.request()
        peer.until(DATA)
        peer.reset(stream, REFUSED_STREAM)
        peer.drain()

    server = meet(fetcher, handle)
    answer = fetcher.ask(
        do="upload", method="PUT", url="/", length=OPENED, announced=OPENED
    )
    server.close()
    assert failure(answer) == ("read head", "StreamReset"), answer
    assert server.connection_count == 1


def long_head(peer: Http2Peer, stream: int) -> None:
    """Few fields, which are longer than 32 KiB together."""
    octets = block((":status", "200"), *[(f"a{n}", "b" * 900) for n in range(43)])
    peer.send(
        frame(HEADERS, 0, stream, octets[:16_000])
        + frame(CONTINUATION, 0, stream, octets[16_000:32_000])
        + frame(CONTINUATION, END_HEADERS, stream, octets[32_000:])
    )


# (what the server does with a stream, phase, kind, text)
STREAM_ROWS = [
    (lambda p, s: p.reset(s, INTERNAL_ERROR), "read head", "StreamReset",
     "INTERNAL_ERROR"),
    (lambda p, s: (p.head(s), p.reset(s, CANCEL)), "read body", "StreamReset",
     "CANCEL"),
    (lambda p, s: (p.head(s), p.reset(s, REFUSED_STREAM)), "read body", "StreamReset",
     "REFUSED_STREAM"),
    (lambda p, s: p.answer(s, b"abc", ("content-length", "2")), "read body",
     "MalformedResponse", "content-length"),
    (lambda p, s: p.answer(s, b"abc", ("content-length", "4")), "read body",
     "MalformedResponse", "content-length"),
    (lambda p, s: p.head(s, ("content-length", "4"), ends=True), "read head",
     "MalformedResponse", "content-length"),
    (lambda p, s: p.head(s, ("A", "b"), ends=True), "read head",
     "MalformedResponse", "lower case"),
    (lambda p, s: p.head(s, ("connection", "close"), ends=True), "read head",
     "MalformedResponse", "HTTP/1.1"),
    (lambda p, s: p.head(s, ("a", "b\r\nc: d"), ends=True), "read head",
     "MalformedResponse", "NUL, CR or LF"),
    (lambda p, s: p.head(s, (":path", "/"), ends=True), "read head",
     "MalformedResponse", "pseudo-header"),
    (lambda p, s: p.head(s, status=101), "read head", "MalformedResponse",
     "final status"),
    (lambda p, s: p.head(s, status=99), "read head", "MalformedResponse", ""),
    (lambda p, s: p.head(s, status=103, ends=True), "read head",
     "MalformedResponse", "final status"),
    (lambda p, s: p.data(s, b"early"), "read head", "MalformedResponse",
     "final status"),
    (lambda p, s: [p.head(s, status=103) for _ in range(17)], "read head",
     "ResponseTooLarge", "interim"),
    (lambda p, s: p.head(s, *[(f"a{n}", "b") for n in range(201)]), "read head",
     "ResponseTooLarge", "ClientConfig.head_limits.max_fields allows more"),
    (lambda p, s: long_head(p, s), "read head", "ResponseTooLarge",
     "ClientConfig.head_limits.max_header_size allows more"),
    (lambda p, s: p.send(frame(WINDOW_UPDATE, 0, s, bytes(4))), "read head",
     "MalformedResponse", "WINDOW_UPDATE"),
]


@pytest.mark.parametrize("row", range(len(STREAM_ROWS)))
def test_what_ends_a_stream_ends_it_alone(fetcher, row):
    act, phase, kind, text = STREAM_ROWS[row]

    def handle(peer: Http2Peer) -> None:
        act(peer, peer.request())
        answering_all(peer)

    server = meet(fetcher, handle)
    answer = fetcher.get("/")
    assert failure(answer) == (phase, kind), answer
    assert text in answer["text"], answer
    assert fetcher.get("/").get("status") == 200
    server.close()
    assert server.connection_count == 1


# (what the server sends after a request, kind, text)
CONNECTION_ROWS = [
    (frame(HEADERS, END_HEADERS, 1, b"\xff\xff\xff\xff\xff\xff\xff"),
     "MalformedResponse", "COMPRESSION_ERROR"),
    (frame(PUSH_PROMISE, END_HEADERS, 1, b"\0\0\0\2\x88"), "MalformedResponse",
     "nothing may be pushed"),
    (frame(DATA, 0, 0, b"x"), "MalformedResponse", "PROTOCOL_ERROR"),
    (frame(HEADERS, END_HEADERS, 9, b"\x88"), "MalformedResponse",
     "odd numbers that grow"),
    (frame(DATA, 0, 1, bytes(16_385)), "MalformedResponse", "FRAME_SIZE_ERROR"),
    (frame(WINDOW_UPDATE, 0, 0, b"\x7f\xff\xff\xff"), "MalformedResponse",
     "below 2^31"),
    (settings((2, 1)), "MalformedResponse", "SETTINGS_ENABLE_PUSH"),
    (frame(HEADERS, 0, 1, b"\x88") + frame(CONTINUATION, 0, 1, b"") * 9,
     "MalformedResponse", "ENHANCE_YOUR_CALM"),
    (frame(HEADERS, 0, 1, b"\x88") + frame(CONTINUATION, 0, 1, bytes(16_000)) * 4,
     "ResponseTooLarge", "field block"),
    (frame(HEADERS, 0, 1, b"\x88") + frame(PING, 0, 0, bytes(8)),
     "MalformedResponse", "field block must be complete"),
    (frame(PING, 0, 0, bytes(8)) * 15_000, "MalformedResponse",
     "ENHANCE_YOUR_CALM"),
]


@pytest.mark.parametrize("row", range(len(CONNECTION_ROWS)))
def test_what_ends_a_connection(fetcher, row):
    """Its peer is told why; the next request gets another one."""
    octets, kind, text = CONNECTION_ROWS[row]
    seen = []

    def handle(peer: Http2Peer) -> None:
        if is_first(peer):
            peer.request()
            peer.send(octets)
            seen.extend(peer.drain())
            told.set()
        answering_all(peer)

    told = threading.Event()
    server = meet(fetcher, handle)
    answer = fetcher.get("/")
    assert (answer.get("kind"), text in answer["text"]) == (kind, True), answer
    assert fetcher.get("/").get("status") == 200
    server.close()
    assert told.wait(5)
    if len(octets) < READ_LEN:
        # Else the client closes on what it has not read: the kernel resets.
        assert seen[-1].kind == GOAWAY, seen


@pytest.mark.parametrize("most", [1, 3])
def test_few_streams(fetcher, most):
    """Further requests take connections of their own, as over HTTP/1.1."""
    counts = []

    def handle(peer: Http2Peer) -> None:
        while True:
            stream = peer.request()
            opened = {got.stream for got in peer.seen if got.kind == HEADERS}
            counts.append(len(opened) - handle.done.setdefault(peer, 0))
            handle.done[peer] += 1
            peer.answer(stream)

    handle.done = {}
    server = meet(fetcher, handle, (MAX_STREAMS, most))
    many = send_all(fetcher, [{"url": "/"}] * 40, 8)
    server.close()
    assert {answer.get("status") for answer in many} == {200}, many
    assert 1 < server.connection_count <= 8
    assert max(counts) <= most


@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("connections", [1, 2])
def test_few_streams_on_few_connections(fetcher, most, connections):
    """Requests wait for a stream where there may be no other connection."""
    counts = []

    def handle(peer: Http2Peer) -> None:
        done = 0
        while True:
            stream = peer.request()
            opened = {got.stream for got in peer.seen if got.kind == HEADERS}
            counts.append(len(opened) - done)
            done += 1
            peer.answer(stream)

    server = meet(fetcher, handle, (MAX_STREAMS, most), max_idle_per_host=connections)
    for _ in range(2):
        many = send_all(fetcher, [{"url": "/"}] * 40, 20)
        assert {answer.get("status") for answer in many} == {200}, many
    server.close()
    assert server.connection_count == connections
    assert max(counts) <= most


def test_who_waits_for_a_stream_takes_one_of_another_connection(fetcher):
    """A connection that is held by one request does not hold the others."""
    held = threading.Event()

    def handle(peer: Http2Peer) -> None:
        stream = peer.request()
        if is_first(peer):
            held.wait(5)
        peer.answer(stream)
        if not is_first(peer):
            handle.count += 1
        while True:
            peer.answer(peer.request())
            handle.count += not is_first(peer)
            if handle.count == 9:
                held.set()

    handle.count = 0
    server = meet(fetcher, handle, (MAX_STREAMS, 1), max_idle_per_host=2)
    many = send_all(fetcher, [{"url": "/"}] * 10, 10)
    server.close()
    assert {answer.get("status") for answer in many} == {200}, many
    assert held.is_set() and server.connection_count == 2


def test_many_streams_are_waited_for(fetcher):
    """Twelve at once, and the others wait: no second connection."""
    waves = []

    def handle(peer: Http2Peer) -> None:
        peer.answer(peer.request())
        while True:
            wave = [peer.request() for _ in range(12)]
            waves.append(len(wave))
            for stream in wave:
                peer.answer(stream)

    server = meet(fetcher, handle, (MAX_STREAMS, 12))
    assert fetcher.get("/")["status"] == 200
    many = send_all(fetcher, [{"url": "/"}] * 60, 60)
    server.close()
    assert {answer.get("status") for answer in many} == {200}, many
    assert server.connection_count == 1 and sum(waves) == 60


def test_no_streams_at_all(fetcher):
    """The first request is on its way before the server can say so."""

    def handle(peer: Http2Peer) -> None:
        peer.reset(peer.request(), REFUSED_STREAM)
        peer.drain()

    server = meet(fetcher, handle, (MAX_STREAMS, 0), write_timeout_ms=300)
    for answer in [fetcher.get("/", **POST), *send_all(fetcher, [{"url": "/"}] * 3)]:
        assert failure(answer) == ("queue", "Timeout"), answer
        assert "no stream within 300 ms" in answer["text"], answer
        assert "SETTINGS_MAX_CONCURRENT_STREAMS is 0" in answer["text"], answer
        assert "write_timeout_ms allows more" in answer["text"], answer
    answer = fetcher.get("/", timeout_ms=100, **POST)
    assert failure(answer) == ("total", "Timeout"), answer
    assert "it was at: queue" in answer["text"], answer
    assert "SETTINGS_MAX_CONCURRENT_STREAMS is 0" in answer["text"], answer
    server.close()


def test_who_waits_for_the_connection_of_another_waits_in_a_queue(fetcher):
    """A server that never shakes hands: one opens the connection for both."""
    server = RawServer(lambda connection: connection.take(1 << 20))
    fetcher.client(total_timeout_ms=1_500)
    url = f"https://127.0.0.1:{server.port}/"
    answers = send_all(fetcher, [{"url": url}, {"url": url, "timeout_ms": 300}])
    assert server.connection_count == 1
    server.close()
    assert {failure(answer) for answer in answers} == {("total", "Timeout")}, answers
    told = [answer["text"].rpartition("it was at: ")[2] for answer in answers]
    assert told == ["tls)", "queue)"], answers


def test_streams_that_are_allowed_later(fetcher):
    def handle(peer: Http2Peer) -> None:
        peer.reset(peer.request(), REFUSED_STREAM)
        # The acknowledgement of what forbids them.
        peer.until(SETTINGS)
        peer.send(settings((MAX_STREAMS, 5)))
        answering_all(peer)

    server = meet(fetcher, handle, (MAX_STREAMS, 0))
    assert fetcher.get("/", **POST).get("status") == 200
    server.close()
    assert server.connection_count == 1


@pytest.mark.parametrize("way", ["settings", "update"])
def test_a_window_that_is_shut_and_opened(fetcher, way):
    lengths = []

    def handle(peer: Http2Peer) -> None:
        # What knows nothing of the server's SETTINGS yet does not wait for them.
        peer.answer(peer.request())
        stream = peer.request()
        peer.send(frame(PING, 0, 0, bytes(8)))
        peer.until(PING)
        assert not [got for got in peer.seen if got.kind == DATA]
        if way == "settings":
            peer.send(settings((INITIAL_WINDOW, 100)))
        else:
            peer.send(frame(WINDOW_UPDATE, 0, stream, b"\0\0\0\x64"))
        lengths.append(peer.content(stream, window=1))
        peer.answer(stream)
        peer.drain()

    server = meet(fetcher, handle, (INITIAL_WINDOW, 0))
    assert fetcher.get("/").get("status") == 200
    answer = fetcher.get("/", method="POST", octets="x" * 5_000)
    server.close()
    assert answer.get("status") == 200, answer
    assert lengths == [5_000]


def test_a_window_that_stays_shut(fetcher):
    def handle(peer: Http2Peer) -> None:
        stream = peer.request()
        if stream == 1:
            peer.answer(stream)
            stream = peer.request()
        assert peer.until(RST_STREAM).stream == stream
        answering_all(peer)

    server = meet(fetcher, handle, (INITIAL_WINDOW, 0), write_timeout_ms=200)
    assert fetcher.get("/")["status"] == 200
    answer = fetcher.get("/", **POST)
    assert failure(answer) == ("write", "Timeout"), answer
    assert fetcher.get("/").get("status") == 200
    server.close()
    assert server.connection_count == 1


def test_what_arrives_gives_windows_back(fetcher):
    """The server keeps to the windows, and sends more than they are."""
    length = 12 << 20

    def handle(peer: Http2Peer) -> None:
        while True:
            stream = peer.request()
            peer.head(stream)
            peer.stream_out(stream, length)

    server = meet(fetcher, handle)
    answer = fetcher.ask(do="download", url="/")
    assert answer.get("sink_count") == length, answer
    assert fetcher.get("/").get("body_len") == length
    server.close()


def test_what_a_stream_leaves_behind_gives_windows_back(fetcher):
    """Of responses that are too long, one after the other: 8 MiB in all, which
    is twice the window of the connection."""

    def handle(peer: Http2Peer) -> None:
        while True:
            stream = peer.request()
            peer.head(stream)
            for _ in range(32):
                while peer.window < 16_384:
                    peer.until(WINDOW_UPDATE)
                peer.window -= 16_384
                peer.data(stream, bytes(16_384), ends=False)
            peer.until(RST_STREAM)

    server = meet(fetcher, handle, max_response_size=1_000)
    for _ in range(16):
        answer = fetcher.get("/")
        assert failure(answer) == ("read body", "ResponseTooLarge"), answer
        assert "max_response_size" in answer["text"]
    server.close()
    assert server.connection_count == 1


@pytest.mark.parametrize("more", [{}, POST])
def test_an_idle_connection_that_is_dead(fetcher, more):
    """PING shows it, and the request goes out again: POST, too, for it waits
    for the answer."""
    heads = []

    def handle(peer: Http2Peer) -> None:
        peer.answer(peer.request())
        if not is_first(peer):
            answering_all(peer)
        heads.append([got.kind for got in peer.drain()])
        done.set()

    done = threading.Event()
    server = meet(fetcher, handle, ping_after_ms=0, ping_timeout_ms=150)
    assert fetcher.get("/")["status"] == 200
    answer = fetcher.get("/", **more)
    assert answer.get("status") == 200, answer
    assert done.wait(5)
    server.close()
    assert server.connection_count == 2
    assert PING in heads[0]
    assert heads[0].count(HEADERS) == (1 if more else 2)


def test_a_server_that_dies_while_it_is_awaited(fetcher):
    def handle(peer: Http2Peer) -> None:
        peer.request()
        peer.drain()

    times = {"ping_after_ms": 100, "ping_timeout_ms": 100}
    server = meet(fetcher, handle, **times)
    for answer in [fetcher.get("/"), *send_all(fetcher, [{"url": "/"}] * 3)]:
        assert failure(answer) == ("read head", "NoResponse"), answer
        assert "PING" in answer["text"]
    server.close()


def test_a_connection_that_died_under_a_request(fetcher):
    """The request that met it has run out of time; the next one has not."""

    def handle(peer: Http2Peer) -> None:
        if not is_first(peer):
            answering_all(peer)
        peer.drain()

    server = meet(fetcher, handle, read_timeout_ms=300, ping_timeout_ms=200)
    assert failure(fetcher.get("/")) == ("read head", "Timeout")
    for _ in range(2):
        assert fetcher.get("/").get("status") == 200
    server.close()
    assert server.connection_count == 2


def test_a_slow_server_that_answers_ping(fetcher):
    def handle(peer: Http2Peer) -> None:
        stream = peer.request()
        for _ in range(3):
            peer.send(frame(PING, ACK, 0, peer.until(PING).payload))
        peer.answer(stream)
        peer.drain()

    times = {"ping_after_ms": 50, "ping_timeout_ms": 1_000}
    server = meet(fetcher, handle, **times)
    assert fetcher.get("/").get("status") == 200
    server.close()


@pytest.mark.parametrize(
    "config",
    [{"read_timeout_ms": 100}, {"ping_after_ms": 20, "ping_timeout_ms": 100}],
)
def test_a_slow_sink_is_not_the_servers_fault(fetcher, config):
    """Neither its silence nor its answer to PING is counted meanwhile."""

    def handle(peer: Http2Peer) -> None:
        stream = peer.request()
        peer.head(stream)
        peer.data(stream, b"x" * 16_384, ends=False)
        peer.send(frame(PING, 0, 0, bytes(8)))
        while True:
            got = peer.until(PING)
            if not got.flags & ACK:
                peer.send(frame(PING, ACK, 0, got.payload))
                continue
            peer.data(stream, b"x")
            answering_all(peer)

    server = meet(fetcher, handle, **config)
    answer = fetcher.ask(do="download", url="/", sink_pause_ms=400)
    server.close()
    assert answer.get("sink_count") == 16_385, answer


def test_a_slow_source_is_sent_as_it_comes(fetcher):
    """What is there does not wait for what is still to come."""
    pieces = []

    def handle(peer: Http2Peer) -> None:
        stream = peer.request()
        while True:
            got = peer.until(DATA)
            pieces.append((len(got.payload), time.monotonic()))
            if got.flags & END_STREAM:
                break
        peer.answer(stream)
        peer.drain()

    server = meet(fetcher, handle, write_timeout_ms=100)
    answer = fetcher.ask(
        do="upload", method="PUT", url="/", length=40, announced=40,
        source_pause_ms=200,
    )
    server.close()
    assert answer.get("status") == 200, answer
    assert [length for length, _ in pieces] == [10, 10, 10, 10]
    assert pieces[-1][1] - pieces[0][1] > 0.3


def test_ping_of_the_server_is_answered(fetcher):
    def handle(peer: Http2Peer) -> None:
        stream = peer.request()
        peer.send(frame(PING, 0, 0, b"question"))
        got = peer.until(PING)
        assert (got.flags, got.payload) == (ACK, b"question")
        peer.answer(stream)
        peer.drain()

    server = meet(fetcher, handle)
    assert fetcher.get("/").get("status") == 200
    server.close()


@pytest.mark.parametrize("when", ["idle", "before", "within"])
def test_a_server_that_closes_without_goaway(fetcher, when):
    ended = threading.Semaphore(0)

    def handle(peer: Http2Peer) -> None:
        stream = peer.request()
        if when == "idle":
            peer.answer(stream)
        elif when == "within":
            peer.head(stream)
            peer.data(stream, b"half", ends=False)
        # All that the client sends is read: else the kernel resets.
        peer.connection.sock.shutdown(socket.SHUT_WR)
        if when == "idle":
            assert wait_until(lambda: end_has_arrived(peer.connection.sock))
            ended.release()
        peer.drain()

    server = meet(fetcher, handle)
    wanted = {"before": ("read head", "NoResponse"),
              "within": ("read body", "TruncatedResponse")}
    for _ in range(3):
        answer = fetcher.get("/", **POST)
        if when == "idle":
            assert answer.get("status") == 200, answer
            # A request that crosses the end may be lost.
            assert ended.acquire(timeout=10)
        else:
            assert failure(answer) == wanted[when], answer
    many = send_all(fetcher, [{"url": "/"}] * 3, 1)
    assert [failure(answer) if "phase" in answer else None for answer in many] == [
        wanted.get(when)
    ] * 3
    server.close()


def test_a_large_request_is_not_sent(fetcher):
    """SETTINGS_MAX_HEADER_LIST_SIZE, whether it is known before or waited for."""
    requests = []

    def handle(peer: Http2Peer) -> None:
        while True:
            requests.append(peer.request())
            peer.answer(requests[-1])

    server = meet(fetcher, handle, (MAX_HEADER_LIST_SIZE, 1_000))
    for length in [9_000, 1_000]:
        began = time.monotonic()
        answer = fetcher.get("/", headers={"A": "x" * length})
        # It is our own error, which no server makes good.
        assert time.monotonic() - began < 10, answer
        assert failure(answer) == ("request", "BadRequest"), answer
        assert "no more than 1000" in answer["text"]
        assert fetcher.get("/").get("status") == 200
    server.close()
    assert len(requests) == 2 and server.connection_count <= 2


def test_a_table_that_shrinks(fetcher):
    """RFC 7541 section 4.2: the next block begins with the new size."""
    blocks = []

    def handle(peer: Http2Peer) -> None:
        for size in [0, 4_096]:
            stream = peer.request()
            blocks.append(peer.seen[-1].payload)
            peer.send(settings((HEADER_TABLE_SIZE, size)))
            while not peer.until(SETTINGS).flags & ACK:
                pass
            peer.answer(stream)
        stream = peer.request()
        blocks.append(peer.seen[-1].payload)
        peer.answer(stream)
        peer.drain()

    server = meet(fetcher, handle)
    for _ in range(3):
        assert fetcher.get("/").get("status") == 200
    server.close()
    assert blocks[1][0] == 0x20
    # 4,096 in five bits and what is left.
    assert b"\x3f\xe1\x1f" in blocks[2][:4]


def test_a_reset_behind_the_whole_response(fetcher):
    """RFC 9113 section 8.1: NO_ERROR asks for no more of the request."""

    def handle(peer: Http2Peer) -> None:
        stream = peer.request()
        peer.until(DATA)
        peer.answer(stream, b"enough")
        peer.reset(stream, NO_ERROR)
        answering_all(peer)

    server = meet(fetcher, handle)
    answer = fetcher.ask(
        do="upload", method="PUT", url="/", length=OPENED, announced=OPENED
    )
    assert (answer.get("status"), answer.get("body")) == (200, "enough"), answer
    assert fetcher.get("/").get("status") == 200
    server.close()
    assert server.connection_count == 1


def test_a_request_that_is_given_up_is_reset(fetcher):
    resets = []

    def handle(peer: Http2Peer) -> None:
        peer.request()
        resets.append(peer.until(RST_STREAM))
        answering_all(peer)

    server = meet(fetcher, handle, read_timeout_ms=150)
    assert failure(fetcher.get("/")) == ("read head", "Timeout")
    assert fetcher.get("/").get("status") == 200
    server.close()
    assert (resets[0].stream, resets[0].number) == (1, CANCEL)
    assert server.connection_count == 1


def test_a_server_that_does_not_speak_it(fetcher):
    def handle(connection: Connection) -> None:
        connection.head()
        connection.send(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

    server = RawServer(handle)
    fetcher.client(base=server.url, h2c=1)
    answer = fetcher.get("/")
    server.close()
    assert answer.get("kind") == "MalformedResponse", answer
    assert "http2_prior_knowledge" in answer["text"]


@pytest.mark.parametrize("way", ["reset", "goaway"])
def test_a_server_that_wants_http_1_1(fetcher, certs, way):
    """RFC 9113 section 7: HTTP_1_1_REQUIRED; ALPN then offers nothing else."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certs / "good_chain.pem", certs / "good.key")
    context.set_alpn_protocols(["h2", "http/1.1"])
    chosen = []

    def handle(connection: Connection) -> None:
        with context.wrap_socket(connection.sock, server_side=True) as stream:
            chosen.append(stream.selected_alpn_protocol())
            inside = Connection(stream, 0)
            if chosen[-1] == "http/1.1":
                inside.body(inside.head())
                inside.send(sized(b"old"))
                return
            peer = Http2Peer(inside)
            peer.begin()
            number = peer.request()
            if way == "reset":
                peer.reset(number, HTTP_1_1_REQUIRED)
            else:
                peer.goaway(0, HTTP_1_1_REQUIRED)
            peer.drain()

    server = RawServer(handle)
    fetcher.client(ca_file=str(certs / "root.pem"))
    answer = fetcher.get(f"https://localhost:{server.port}/", **POST)
    server.close()
    assert (answer.get("body"), answer.get("version")) == ("old", "HTTP/1.1"), answer
    assert chosen == ["h2", "http/1.1"]


def test_end_stream_on_the_head_alone(fetcher):
    """An answer without content, and a HEAD that announces some."""

    def handle(peer: Http2Peer) -> None:
        peer.head(peer.request(), ("content-length", "5"), ends=True)
        peer.head(peer.request(), status=204, ends=True)
        stream = peer.request()
        peer.head(stream, ends=False)
        peer.data(stream, b"", ends=True)
        peer.drain()

    server = meet(fetcher, handle)
    head = fetcher.get("/", method="HEAD")
    assert (head["status"], head["body_len"]) == (200, 0), head
    assert fetcher.get("/")["status"] == 204
    assert fetcher.get("/")["body_len"] == 0
    server.close()
    assert server.connection_count == 1


def test_a_redirection_that_is_reset_is_followed(fetcher):
    """RFC 9110 section 15.4: its head has said where to; nobody wants its content."""

    def handle(peer: Http2Peer) -> None:
        peer.head(stream := peer.request(), ("location", "/there"), status=302)
        peer.reset(stream, INTERNAL_ERROR)
        peer.answer(peer.request())

    server = meet(fetcher, handle)
    answer = fetcher.get("/")
    server.close()
    assert (answer.get("body"), server.connection_count) == ("ok", 1), answer

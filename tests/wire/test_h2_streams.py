"""Content over HTTP/2, both ways: streams, files, events, uploads, and what becomes
of them when windows shut or a client leaves (RFC 9113 sections 5.2 and 5.4, RFC 9218)."""

import contextlib
import threading
import time

import pytest
from conftest import Server, wait_until
from h2_client import (
    END_HEADERS, END_STREAM, HEADERS, INITIAL_WINDOW, INTERNAL_ERROR, NO_ERROR, PRIORITY_UPDATE, REFUSED_STREAM, Closed,
    H2Client, frame, reset, settings,
)  # fmt: skip
from h2_hpack import encode
from processes import anonymous_len
from wire_programs import built

DIGITS = bytes(48 + n % 10 for n in range(1_000_000))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("files")
    (found / "digits.txt").write_bytes(DIGITS)
    return found


@pytest.fixture(scope="module")
def server(folder):
    """A server whose handlers run at once, so that all is answered in order."""
    running = Server(built("h2_server"), [f"root={folder}"])
    yield running
    assert running.is_alive(), "the server died during the tests"
    assert running.stop() == 0


@pytest.fixture(scope="module")
def threaded():
    """A server with handler threads."""
    options = ["handler_threads=4", "body_timeout_ms=5000"]
    running = Server(built("h2_server"), options)
    yield running
    assert running.is_alive(), "the server died during the tests"
    assert running.stop() == 0


@pytest.fixture
def uploader(threaded):
    with H2Client(threaded) as connection:
        yield connection


@pytest.fixture
def client(server):
    with H2Client(server) as connection:
        yield connection


def counts(client) -> list[int]:
    """Sources that are open, pieces that were made, subscribers of the hub."""
    return [int(n) for n in client.get("/counts").body.split()]


# Responses.


@pytest.mark.parametrize("query, size", [
    ("count=0&length=1", 0), ("count=3&length=7", 21), ("count=5&length=100000", 500_000),
    ("count=4&length=10&how=waits", 40), ("count=2&length=50&announced=100", 100),
])  # fmt: skip
def test_streamed_content(client, query, size):
    answer = client.get(f"/pieces?{query}")
    assert (answer.status, len(answer.body), answer.reset) == (200, size, None)
    assert "transfer-encoding" not in answer.fields
    assert answer.fields.get("content-length") == ("100" if "announced" in query else None)


@pytest.mark.parametrize("query", [
    "count=3&length=7&how=fails", "count=3&length=7&announced=22", "count=3&length=7&announced=20",
])  # fmt: skip
def test_content_that_fails_is_no_whole_answer(server, client, query):
    # RFC 9113 section 8.1: what is cut off must not look complete.
    answer = client.get(f"/pieces?{query}")
    assert (answer.ended, answer.reset) == (False, INTERNAL_ERROR)
    assert client.get("/").status == 200


def test_a_source_makes_no_more_than_the_window_takes(server):
    with H2Client(server, {INITIAL_WINDOW: 0}) as client, H2Client(server) as other:
        client.grants = False
        before = counts(other)[1]
        stream = client.request("/pieces?count=100&length=10000")
        client.settle()
        client.grant(stream, 5)
        client.settle()
        assert len(client.answers[stream].body) == 5
        made = counts(other)[1] - before
        assert made <= 2, made
        client.grants = True
        client.grant(stream, 60_000)
        assert len(client.answer(stream).body) == 1_000_000
        assert counts(other)[1] - before == 100


def test_both_windows_hold(server):
    """The least of both is what goes out, to the octet."""
    with H2Client(server, {INITIAL_WINDOW: 50_000}) as client:
        client.grants = False
        first, second = client.request("/size/60000"), client.request("/size/60000")
        client.settle()
        lengths = [len(client.answers[s].body) for s in (first, second)]
        assert sum(lengths) == 65_535 and max(lengths) == 50_000
        client.grant(0, 60_000)
        client.settle()
        assert [len(client.answers[s].body) for s in (first, second)] == [50_000, 50_000]
        client.grant(first, 10_000)
        client.grant(second, 10_000)
        client.settle()
        assert [len(client.answers[s].body) for s in (first, second)] == [60_000, 60_000]


def test_initial_window_that_shrinks_and_grows(server):
    # RFC 9113 section 6.9.2: a window may become negative.
    with H2Client(server, {INITIAL_WINDOW: 10_000}) as client:
        client.grants = False
        stream = client.request("/size/30000")
        client.settle()
        assert len(client.answers[stream].body) == 10_000
        client.send(settings({INITIAL_WINDOW: 1_000}))
        client.windows[stream] = -9_000
        client.grant(stream, 9_000)
        client.settle()
        assert len(client.answers[stream].body) == 10_000
        client.send(settings({INITIAL_WINDOW: 6_000}))
        client.windows[stream] += 5_000
        client.settle()
        assert len(client.answers[stream].body) == 15_000
        client.grant(stream, 15_000)
        assert len(client.answer(stream).body) == 30_000


@pytest.mark.parametrize("fields, status, body", [
    ([], 200, DIGITS),
    ([("range", "bytes=10-99")], 206, DIGITS[10:100]),
    ([("range", "bytes=-5")], 206, DIGITS[-5:]),
    ([("range", "bytes=300000-")], 206, DIGITS[300_000:]),
])  # fmt: skip
def test_files(client, fields, status, body):
    answer = client.get("/files/digits.txt", fields=fields)
    assert (answer.status, answer.body) == (status, body)
    assert answer.fields["content-length"] == str(len(body))


def test_file_has_not_changed(client):
    tag = client.get("/files/digits.txt", "HEAD").fields["etag"]
    answer = client.get("/files/digits.txt", fields=[("if-none-match", tag)])
    assert (answer.status, answer.body) == (304, b"")


def test_events(server):
    with H2Client(server) as client, H2Client(server) as other:
        streams = [client.request("/events") for _ in range(20)]
        client.until(lambda: all(s in client.answers for s in streams))
        assert client.answers[1].fields["content-type"].startswith("text/event-stream")
        assert counts(other)[2] == 20
        other.post("/publish?count=3", b"!")
        client.until(lambda: all(client.answers[s].body.count(b"data:") == 3 for s in streams))
        client.send(reset(streams[0]))
        client.settle()
        assert wait_until(lambda: counts(other)[2] == 19)
    with H2Client(server) as other:
        assert wait_until(lambda: counts(other)[2] == 0)


def test_a_source_ends_with_its_stream(server):
    with H2Client(server) as client, H2Client(server) as other:
        stream = client.request("/silence")
        client.until(lambda: stream in client.answers)
        before = counts(other)[0]
        client.send(reset(stream))
        client.settle()
        assert counts(other)[0] == before - 1


def priority(urgency: int, is_incremental: bool = False) -> list[tuple[str, str]]:
    return [("priority", f"u={urgency}" + (", i" if is_incremental else ""))]


def order_of(client, paths_and_fields) -> list[int]:
    """Asks for all while the connection's window is shut; gives the streams of
    DATA in the order in which they come when it opens."""
    client.grants = False
    client.settle()
    client.answer(client.request("/size/65535"))
    assert client.window == 0
    client.order.clear()
    streams = [client.request(path, fields=fields) for path, fields in paths_and_fields]
    client.settle()
    client.grant(0, 1 << 20)
    for stream in streams:
        client.answer(stream)
    return [streams.index(stream) for stream, _ in client.order]


def test_the_most_urgent_goes_first(server):
    # RFC 9218 section 10.
    with H2Client(server, {INITIAL_WINDOW: 1 << 20}) as client:
        asked = [("/size/50000", priority(u)) for u in (7, 0, 3, 5)]
        order = order_of(client, asked)
        assert order == sorted(order, key=[3, 0, 1, 2].__getitem__)
        assert order[0] == 1 and order[-1] == 0


def test_what_is_not_incremental_goes_one_after_the_other(server):
    with H2Client(server, {INITIAL_WINDOW: 1 << 20}) as client:
        order = order_of(client, [("/size/50000", priority(3)) for _ in range(3)])
        assert order == sorted(order)


def test_what_is_incremental_shares(server):
    with H2Client(server, {INITIAL_WINDOW: 1 << 20}) as client:
        order = order_of(client, [("/size/50000", priority(3, True)) for _ in range(3)])
        assert order[:6] == [0, 1, 2, 0, 1, 2]


def test_without_a_field_the_urgency_is_three(server):
    with H2Client(server, {INITIAL_WINDOW: 1 << 20}) as client:
        order = order_of(client, [("/size/50000", priority(4)), ("/size/50000", []), ("/size/50000", priority(2))])
        assert (order[0], order[-1]) == (2, 0)


def test_priority_update(server):
    # RFC 9218 section 7.1.
    with H2Client(server, {INITIAL_WINDOW: 1 << 20}) as client:
        client.grants = False
        client.answer(client.request("/size/65535"))
        client.order.clear()
        first, second = client.request("/size/40000"), client.request("/size/40000")
        client.settle()
        client.send(frame(PRIORITY_UPDATE, 0, 0, second.to_bytes(4) + b"u=1"))
        client.grant(0, 1 << 20)
        client.answer(first)
        client.answer(second)
        assert client.order[0][0] == second and client.order[-1][0] == first


def test_a_fast_client_gives_way(server):
    """A response that is sent as fast as it is made keeps nobody waiting."""
    with H2Client(server, {INITIAL_WINDOW: (1 << 31) - 1}) as client:
        client.grants = False
        client.window += 1 << 30
        client.grant(0, 1 << 30)
        stream = client.request("/pieces?count=3000&length=100000")
        client.until(lambda: stream in client.answers)

        def read():
            with contextlib.suppress(Closed, OSError):
                client.answer(stream)

        reader = threading.Thread(target=read)
        reader.start()
        with H2Client(server, timeout=5) as other:
            for _ in range(20):
                assert other.get("/").status == 200
        assert reader.is_alive()
        client.sock.shutdown(2)
        reader.join(10)


def test_many_requests_at_once_give_way(server):
    """A client that sends more requests than may be under way at once keeps
    nobody waiting for all of them."""
    with H2Client(server, timeout=20) as client, H2Client(server) as other:
        client.settle()
        other.settle()
        block = encode(client.fields("HEAD", "/holding/1"))
        count = 1_000
        client.send(b"".join(frame(HEADERS, END_HEADERS | END_STREAM, 2 * n + 1, block) for n in range(count)))
        client.next_id = 2 * count + 1
        client.until(lambda: 1 in client.answers)
        assert other.get("/").status == 200
        client.sock.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                client.take_frame()
        answered = len(client.answers)
        client.sock.settimeout(20)
        client.answer(2 * count - 1)
        assert answered < count


# Requests.


def checksum(content: bytes) -> int:
    value = 0
    for octet in content:
        value = (value * 31 + octet) & 0xFFFFFFFF
    return value


@pytest.mark.parametrize("size", [0, 1, 70_000, 600_000])
def test_an_upload_that_a_handler_reads(uploader, size):
    content = bytes(n % 251 for n in range(size))
    answer = uploader.post("/upload", content)
    assert answer.body == b"%d %d" % (size, checksum(content))


def test_trailers_of_an_upload(uploader):
    stream = uploader.request("/upload", "POST", ends=False)
    uploader.data(stream, b"abc")
    uploader.headers(encode([("x-t", "sum")]), True, stream)
    assert uploader.answer(stream).body == b"3 %d sum" % checksum(b"abc")


def test_an_upload_is_read_before_it_is_complete(uploader):
    stream = uploader.request("/upload?read=5", "POST", ends=False)
    uploader.data(stream, b"12345")
    answer = uploader.reset_of(stream)
    assert (answer.body, answer.reset) == (b"5 %d" % checksum(b"12345"), NO_ERROR)


def test_a_slow_reader_keeps_its_window_shut(threaded):
    """Only as much waits as the windows say; other streams go on."""
    with H2Client(threaded) as client:
        stream = client.request("/upload?pause=100", "POST", ends=False)
        client.until(lambda: client.room_of(stream) == 262_144)
        before = anonymous_len(threaded.process.pid)
        sent = 0
        while sent < 262_144:
            client.data(stream, bytes(min(16_384, client.room_of(stream))))
            sent += 16_384
        assert client.get("/").status == 200
        assert anonymous_len(threaded.process.pid) - before < 2 << 20
        client.upload(stream, bytes(300_000))
        assert client.answer(stream).body.startswith(b"%d " % (262_144 + 300_000))


def test_a_handler_that_waits_for_content_learns_of_a_reset(threaded, uploader):
    stream = uploader.request("/upload", "POST", ends=False)
    uploader.data(stream, b"x" * 1_000)
    uploader.settle()
    uploader.send(reset(stream))
    assert wait_until(lambda: "upload failed: 400" in threaded.stderr())
    assert uploader.get("/").status == 200


def test_a_handler_learns_of_a_reset(threaded, uploader):
    # RFC 9113 section 5.4.2.
    stream = uploader.request("/patient")
    assert wait_until(lambda: "patient at work" in threaded.stderr())
    uploader.send(reset(stream))
    assert wait_until(lambda: "cancelled after" in threaded.stderr())


def test_a_handler_learns_that_the_connection_is_gone(start):
    server = start("h2_server", handler_threads=1)
    with H2Client(server) as client:
        client.request("/patient")
        assert wait_until(lambda: "patient at work" in server.stderr())
    assert wait_until(lambda: "cancelled after" in server.stderr())


@pytest.mark.parametrize("how", ["reset", "late", "refused"])
def test_room_of_content_that_nobody_reads_comes_back(start, how):
    """Of streams that end early (RFC 9113 section 6.9.1): else a few of them
    shut the connection's window for good."""
    config = {"body_timeout_ms": 200, "min_body_rate": 0} if how == "late" else {}
    server = start("h2_server", handler_threads=8, handler_timeout_ms=60_000, **config)
    path = "/upload?pause=400" if how != "refused" else "/upload/small?pause=400"
    with H2Client(server) as client:
        for _ in range(6):
            stream = client.request(path, "POST", ends=False)
            if how == "refused":
                client.data(stream, bytes(900))
                client.data(stream, bytes(16_384))
                client.data(stream, bytes(16_384))
                client.reset_of(stream)
                continue
            client.until(lambda: client.room_of(stream) == 262_144)
            while client.room_of(stream) > 16_384:
                client.data(stream, bytes(16_384))
            client.settle()
            if how == "reset":
                client.send(reset(stream))
            else:
                client.reset_of(stream)
        client.settle()
        # Whatever is not given back yet is less than half of the window.
        assert client.room >= (1 << 19)
        assert client.post("/large", bytes(300_000)).body == b"300000"


def test_an_upload_beyond_the_routes_limit(uploader):
    stream = uploader.request("/upload/small", "POST", ends=False)
    uploader.data(stream, bytes(1_001))
    answer = uploader.reset_of(stream)
    assert (answer.status, answer.reset) == (413, NO_ERROR)


def test_an_upload_that_the_handler_asks_for(uploader):
    # RFC 9110 section 10.1.1: when it reads, and not before.
    stream = uploader.request("/upload", "POST", [("expect", "100-continue")], ends=False)
    uploader.until(lambda: stream in uploader.answers and uploader.answers[stream].informational)
    uploader.data(stream, b"abc", True)
    assert uploader.answer(stream).body == b"3 %d" % checksum(b"abc")


def test_a_quiet_stream_has_its_heartbeat_beside_busy_ones(start):
    server = start("stream_server", heartbeat_ms=200)
    with H2Client(server) as client:
        quiet = client.request("/events")
        client.until(lambda: quiet in client.answers)
        end = time.monotonic() + 10
        while not client.answers[quiet].body:
            assert time.monotonic() < end, "it was put off by what others asked for"
            assert client.get("/counts").status == 200
        assert client.answers[quiet].body == b":\n\n"


def test_handlers_run_beside_each_other(uploader):
    streams = [uploader.request(f"/slow/{ms}?tag=t{ms}") for ms in (300, 200, 100)]
    order = []
    while len(order) < 3:
        uploader.take_frame()
        order += [s for s in streams if s not in order and uploader.answers.get(s) and uploader.answers[s].is_over]
    assert order == streams[::-1]
    assert uploader.answers[streams[1]].body == b"slept 200 t200"


def test_streams_that_were_reset_count_until_their_handlers_end(start):
    """Rapid reset: a handler that goes on holds its stream's place (http2.md 3)."""
    server = start("h2_server", handler_threads=3, http2_limits_max_streams=3)
    with H2Client(server) as client, H2Client(server) as other:
        streams = [client.request("/slow/600") for _ in range(3)]
        client.settle()
        for stream in streams:
            client.send(reset(stream))
        assert client.reset_of(client.request("/fast")).reset == REFUSED_STREAM
        # They hold all threads.
        assert other.get("/slow/1").status == 200
        assert client.get("/").status == 200


def test_a_slow_handler_on_the_loop_is_warned_of(threaded, uploader):
    assert uploader.get("/holding/150").status == 200
    assert wait_until(lambda: "/holding/:ms" in threaded.stderr() and "slow" in threaded.stderr())


def test_a_crash_names_the_request(start):
    server = start("h2_server")
    with H2Client(server) as client:
        client.request("/abort/5", fields=[("x-request-id", "fatal-1")])
        client.end()
    assert server.process.wait(5) != 0
    assert "[GET /abort/5, id fatal-1]" in server.stderr()

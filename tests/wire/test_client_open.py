"""Responses that a client reads while they arrive, against servers that follow
the rules and servers that do not."""

import gzip
import threading
import time

import pytest
from conftest import running_client
from raw_http2 import CANCEL, RST_STREAM, WINDOW_UPDATE, Http2Peer, speaking
from raw_server import Connection, RawServer, answering

MIB = 1 << 20
OK = b"HTTP/1.1 200 OK\r\n"


@pytest.fixture(scope="module")
def program():
    yield from running_client("reader")


@pytest.fixture
def reader(program):
    """The client under test, new for each test."""
    program.client()
    return program


def sized(content: bytes, more: bytes = b"") -> bytes:
    return OK + more + b"Content-Length: %d\r\n\r\n" % len(content) + content


def chunk(content: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(content), content)


CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


class Scripted:
    """A server that sends pieces as the test gives the word."""

    def __init__(self, *pieces: bytes, stays: bool = True) -> None:
        self.word = threading.Semaphore(0)
        self.pieces, self.stays = pieces, stays
        self.gone = threading.Event()
        self.server = RawServer(self.handle)
        self.url = self.server.url

    def handle(self, connection: Connection) -> None:
        while head := connection.head():
            connection.body(head)
            for piece in self.pieces:
                assert self.word.acquire(timeout=20)
                connection.send(piece)
            if not self.stays:
                return
            try:
                connection.sock.settimeout(20)
                connection.buffer = connection.sock.recv(65_536)
            finally:
                self.gone.set()

    def go(self, count: int = 1) -> None:
        for _ in range(count):
            self.word.release()

    def close(self) -> None:
        self.go(len(self.pieces))
        self.server.close()


def opened(reader, url: str, **more) -> dict:
    answer = reader.ask(do="open", url=url, **more)
    assert "error" not in answer, answer
    return answer


def on(reader, what: str, answer: dict, **more) -> dict:
    return reader.ask(do=what, id=answer["id"], **more)


def read(reader, answer: dict, **more) -> str:
    got = on(reader, "read", answer, **more)
    assert "error" not in got, got
    return got["text"]


def test_the_head_comes_before_the_content(reader):
    server = Scripted(OK + b"Content-Length: 6\r\nX-Y: z\r\n\r\n", b"abc", b"def")
    server.go()
    answer = opened(reader, server.url + "/p")
    assert (answer["status"], answer["content_len"]) == (200, 6)
    assert "X-Y: z" in answer["headers"]
    server.go()
    assert read(reader, answer) == "abc"
    server.go()
    assert read(reader, answer, limit=2) == "de"
    assert read(reader, answer) == "f"
    got = on(reader, "read", answer)
    assert (got["count"], got["received"], got["is_complete"]) == (0, 6, True)
    assert got["idle"] == 1
    assert on(reader, "read", answer)["count"] == 0
    server.close()


def test_redirections_are_followed(reader):
    def handle(head: str, _: bytes) -> bytes:
        if head.startswith("GET /a"):
            return b"HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 2\r\n\r\nno"
        return sized(b"yes")

    server = RawServer(answering(handle))
    answer = opened(reader, server.url + "/a")
    assert (answer["redirects"], answer["url"]) == (1, server.url + "/b")
    assert on(reader, "all", answer)["text"] == "yes"
    assert server.connection_count == 1
    server.close()


def test_content_of_any_status_is_read(reader):
    server = RawServer(
        answering(b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nwhat")
    )
    answer = opened(reader, server.url)
    assert answer["status"] == 404
    assert "404 Not Found" in on(reader, "raise", answer)["error"]
    assert on(reader, "all", answer)["text"] == "what"
    server.close()


@pytest.mark.parametrize("status", [204, 304])
def test_no_content(reader, status):
    server = RawServer(answering(b"HTTP/1.1 %d X\r\n\r\n" % status))
    answer = opened(reader, server.url)
    assert (answer["status"], answer["content_len"]) == (status, 0)
    got = on(reader, "read", answer)
    assert (got["count"], got["is_complete"], got["idle"]) == (0, True, 1)
    server.close()


def test_content_to_the_end_of_the_connection(reader):
    server = Scripted(OK + b"\r\nab", b"c", stays=False)
    server.go(2)
    answer = opened(reader, server.url)
    assert answer["content_len"] == -1
    got = on(reader, "all", answer)
    assert (got["text"], got["idle"]) == ("abc", 0)
    server.close()


@pytest.mark.parametrize("raw", [0, 1])
def test_coded_content(reader, raw):
    plain = b"so many words " * 50_000
    coded = gzip.compress(plain)
    server = RawServer(answering(sized(coded, b"Content-Encoding: gzip\r\n")))
    answer = opened(reader, server.url, raw=raw)
    got = on(reader, "count", answer, limit=10 * MIB)
    assert got["count"] == len(coded if raw else plain)
    assert (got["received"], got["idle"]) == (len(coded), 1)
    server.close()


def test_trailers_come_behind_the_content(reader):
    server = RawServer(
        answering(CHUNKED + chunk(b"ab") + b"0\r\nX-Sum: 7\r\n\r\n")
    )
    answer = opened(reader, server.url)
    assert on(reader, "read", answer)["trailers"] == []
    assert on(reader, "read", answer)["trailers"] == ["X-Sum: 7"]
    server.close()


def test_lines(reader):
    """CRLF and LF end lines, wherever the content is cut; CR alone does not."""
    pieces = [b"one\r", b"\ntwo\n\nfo", b"ur\rx", b"\r\n", b"last"]
    server = Scripted(CHUNKED, *map(chunk, pieces), b"0\r\n\r\n")
    server.go(9)
    answer = opened(reader, server.url)
    lines = []
    while not (got := on(reader, "line", answer))["is_end"]:
        lines.append(got["text"])
    assert lines == ["one", "two", "", "four\rx", "last"]
    server.close()


def test_a_line_comes_as_soon_as_it_is_whole(reader):
    server = Scripted(CHUNKED + chunk(b"one\ntw"), chunk(b"o\n"), b"0\r\n\r\n")
    server.go()
    answer = opened(reader, server.url)
    assert on(reader, "line", answer)["text"] == "one"
    server.go()
    assert on(reader, "line", answer)["text"] == "two"
    server.go()
    assert on(reader, "line", answer)["is_end"]
    server.close()


def test_a_line_has_a_bound(reader):
    server = RawServer(answering(sized(b"12345\n1234567\r\nx")))
    answer = opened(reader, server.url)
    assert "longer than 4 bytes" in on(reader, "line", answer, limit=4)["error"]
    assert on(reader, "line", answer, limit=5)["text"] == "12345"
    assert "longer than 6" in on(reader, "line", answer, limit=6)["error"]
    assert on(reader, "line", answer, limit=7)["text"] == "1234567"
    # What was looked at is still there for another kind of reading.
    assert read(reader, answer) == "x"
    server.close()


def test_a_bound_is_the_same_wherever_a_line_is_cut(reader):
    server = Scripted(CHUNKED + chunk(b"12345\r"), chunk(b"\n") + b"0\r\n\r\n")
    server.go()
    answer = opened(reader, server.url)
    threading.Timer(0.2, server.go).start()
    assert on(reader, "line", answer, limit=5)["text"] == "12345"
    server.close()


def test_an_endless_line_stops_at_its_bound(reader):
    def handle(connection: Connection) -> None:
        connection.head()
        connection.send(OK + b"\r\n")
        while True:
            connection.send(b"x" * 65_536)

    server = RawServer(handle)
    answer = opened(reader, server.url)
    before = reader.memory_kib()
    got = on(reader, "line", answer, limit=4 * MIB)
    assert "longer than 4194304 bytes" in got["error"]
    assert reader.memory_kib() - before < 16 * 1024
    on(reader, "close", answer)
    server.close()


def test_a_line_that_is_no_text_is_passed_over(reader):
    server = RawServer(answering(sized(b"a\n\xff\nb\n")))
    answer = opened(reader, server.url)
    assert on(reader, "line", answer)["text"] == "a"
    assert "UTF-8" in on(reader, "line", answer)["error"]
    assert on(reader, "line", answer)["text"] == "b"
    server.close()


def test_json_lines(reader):
    content = b'{"x": 1, "name": "a"}\r\n\n{"x": "no"}\n{"x"\n{"x":2,"name":"b"}'
    server = RawServer(answering(sized(content)))
    answer = opened(reader, server.url)
    got = on(reader, "point", answer)
    assert (got["x"], got["name"]) == (1, "a")
    assert "BadContent" in on(reader, "point", answer)["error"]
    assert "no JSON" in on(reader, "point", answer)["error"]
    assert on(reader, "point", answer)["name"] == "b"
    assert on(reader, "json", answer)["is_end"]
    server.close()


@pytest.mark.parametrize("what", ["close", "forget"])
@pytest.mark.parametrize(
    "content, kept",
    [
        (b"x" * 10_000, True),  # Short, and here.
        (b"x" * 200_000, False),  # Longer than it is worth.
    ],
)
def test_what_is_not_read_to_its_end(reader, what, content, kept):
    server = RawServer(answering(sized(content)))
    answer = opened(reader, server.url)
    # All of the short one is here: it came with the head, or just behind it.
    assert read(reader, answer, limit=1) == "x"
    assert on(reader, what, answer)["idle"] == int(kept)
    assert reader.ask(do="send", url=server.url)["status"] == 200
    assert server.connection_count == (1 if kept else 2)
    server.close()


def test_closing_does_not_wait(reader):
    server = Scripted(OK + b"Content-Length: 6\r\n\r\nabc", b"def")
    server.go()
    answer = opened(reader, server.url)
    began = time.monotonic()
    assert on(reader, "close", answer)["idle"] == 0
    # The rest never comes, and is waited for 30 s.
    assert time.monotonic() - began < 15
    got = on(reader, "read", answer)
    assert "the response was closed" in got["error"]
    server.close()


def test_a_response_outlives_its_client(reader):
    server = Scripted(OK + b"Content-Length: 6\r\n\r\nabc", b"def")
    server.go()
    answer = opened(reader, server.url)
    reader.ask(do="forget_client")
    server.go()
    assert on(reader, "all", answer)["text"] == "abcdef"
    server.close()


@pytest.mark.parametrize(
    "sent, kind",
    [
        (OK + b"Content-Length: 10\r\n\r\nabc", "TruncatedResponse"),
        (CHUNKED + b"5\r\nabc", "TruncatedResponse"),
        (CHUNKED + chunk(b"abc"), "TruncatedResponse"),
        (CHUNKED + b"3\r\nabcX", "MalformedResponse"),
        (
            OK + b"Content-Encoding: gzip\r\nContent-Length: 20\r\n\r\n"
            + gzip.compress(b"abc" * 1000, mtime=0)[:20],
            "BadContent",
        ),
    ],
)
def test_content_that_is_cut_or_broken(reader, sent, kind):
    server = Scripted(sent, stays=False)
    server.go()
    answer = opened(reader, server.url)
    errors = [on(reader, "all", answer)["error"] for _ in range(2)]
    assert kind in errors[0] and errors[0] == errors[1]
    assert server.url in errors[0]
    server.close()


def test_more_than_was_announced_is_not_read(reader):
    server = RawServer(answering(OK + b"Content-Length: 3\r\n\r\nabcdef"))
    answer = opened(reader, server.url)
    got = on(reader, "all", answer)
    assert (got["text"], got["idle"]) == ("abc", 0)
    server.close()


def test_time_to_the_head(reader):
    server = Scripted(b"HTTP/1.1 200 ", b"OK\r\nContent-Length: 0\r\n\r\n")
    server.go()
    began = time.monotonic()
    answer = reader.ask(do="open", url=server.url, head_timeout_ms=300)
    assert time.monotonic() - began > 0.25
    assert "head_timeout_ms allows more" in answer["error"]
    server.close()


def test_a_head_may_have_more_time_than_silence(reader):
    reader.client(read_timeout_ms=100)
    server = Scripted(sized(b"abc"))
    threading.Timer(0.4, server.go).start()
    answer = opened(reader, server.url, head_timeout_ms=10_000)
    assert on(reader, "all", answer)["text"] == "abc"
    server.close()


def test_silence_ends_a_response_and_dripping_does_not(reader):
    def handle(connection: Connection) -> None:
        connection.head()
        connection.send(OK + b"Content-Length: 100\r\n\r\n")
        for _ in range(8):
            time.sleep(0.3)
            connection.send(b"x")
        connection.sock.recv(1)

    server = RawServer(handle)
    reader.client(read_timeout_ms=20_000)
    answer = opened(reader, server.url, idle_timeout_ms=2_000)
    for _ in range(8):
        assert read(reader, answer) == "x"
    began = time.monotonic()
    got = on(reader, "read", answer)
    assert 1.5 < time.monotonic() - began < 15
    assert "nothing within 2000 ms; idle_timeout_ms allows more" in got["error"], got
    server.close()


def test_a_total_counts_for_reading_too(reader):
    server = Scripted(OK + b"Content-Length: 6\r\n\r\n", b"abc", b"def")
    server.go(2)
    answer = opened(reader, server.url, timeout_ms=2_000)
    assert read(reader, answer) == "abc"
    got = on(reader, "read", answer)
    assert "not complete within 2000 ms" in got["error"]
    server.close()


def test_the_callers_own_time_is_not_silence(reader):
    reader.client(read_timeout_ms=1_500)
    server = Scripted(OK + b"Content-Length: 6\r\n\r\nabc", b"def")
    server.go(2)
    answer = opened(reader, server.url)
    assert read(reader, answer, limit=3) == "abc"
    time.sleep(2)
    assert read(reader, answer) == "def"
    server.close()


def test_an_upload_goes_on_while_its_response_is_read(reader):
    """More than both sides' buffers take: who writes all first never ends."""
    length = 24 * MIB

    def handle(connection: Connection) -> None:
        connection.head()
        connection.send(OK + b"Content-Length: %d\r\n\r\n" % length)
        got = 0
        while got < length:
            size = int(connection._line(), 16)
            got += size
            connection.send(connection.take(size))
            connection.take(2)
        assert connection._line() == b"0"
        connection.take(2)
        connection.sock.recv(1)

    server = RawServer(handle)
    answer = opened(reader, server.url, method="POST", length=length)
    got = on(reader, "count", answer, limit=2 * length)
    assert (got.get("count"), got["is_complete"]) == (length, True), got
    server.close()


def test_a_refusal_ends_an_upload(reader):
    def handle(connection: Connection) -> None:
        connection.head()
        connection.take(100_000)
        connection.send(b"HTTP/1.1 413 No\r\nContent-Length: 4\r\n\r\nstop")
        connection.sock.recv(1)

    server = RawServer(handle)
    answer = opened(
        reader, server.url, method="POST", length=1 << 40, announced=1 << 40
    )
    assert answer["status"] == 413
    got = on(reader, "all", answer)
    assert (got["text"], got["idle"]) == ("stop", 0)
    server.close()


def test_a_response_before_its_upload_is_through(reader):
    """A slow source: the head is there long before the upload has ended."""

    def handle(connection: Connection) -> None:
        connection.head()
        connection.take(10)
        connection.send(CHUNKED + chunk(b"first"))
        connection.take(4_000)
        connection.send(chunk(b"second") + b"0\r\n\r\n")
        connection.sock.recv(1)

    server = RawServer(handle)
    answer = opened(
        reader, server.url, method="POST", length=1 << 20, announced=1 << 20,
        piece_len=100, source_pause_ms=5,
    )
    assert read(reader, answer) == "first"
    assert read(reader, answer) == "second"
    server.close()


def test_content_that_waits_for_100(reader):
    def handle(connection: Connection) -> None:
        head = connection.head()
        assert "Expect: 100-continue" in head
        connection.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        connection.send(sized(b"got %d" % len(connection.body(head))))
        connection.sock.recv(1)

    server = RawServer(handle)
    answer = opened(
        reader, server.url, method="POST", length=5_000, announced=5_000, expect=1
    )
    assert on(reader, "all", answer)["text"] == "got 5000"
    server.close()


def test_what_nobody_reads_waits_at_the_server(reader):
    sent = [0]

    def handle(connection: Connection) -> None:
        connection.head()
        connection.send(OK + b"\r\n")
        for _ in range(200):
            connection.send(b"x" * MIB)
            sent[0] += MIB

    server = RawServer(handle)
    answer = opened(reader, server.url)
    before = reader.memory_kib()
    assert on(reader, "count", answer, limit=MIB)["count"] >= MIB
    # The kernel's buffers, and no more.
    time.sleep(0.3)
    assert sent[0] < 40 * MIB
    got = on(reader, "count", answer, limit=1 << 40)
    assert got["received"] == 200 * MIB
    assert reader.memory_kib() - before < 1024
    server.close()


# Over HTTP/2.


def meet(reader, handle) -> RawServer:
    server = RawServer(speaking(handle))
    reader.client(h2c=1, read_timeout_ms=2_000)
    return server


def test_http2_head_content_and_trailers(reader):
    word = threading.Semaphore(0)

    def handle(peer: Http2Peer) -> None:
        stream = peer.request()
        peer.head(stream, ("content-length", "6"))
        for piece, ends in ((b"abc", False), (b"def", True)):
            assert word.acquire(timeout=20)
            peer.data(stream, piece, ends)
        peer.drain()

    server = meet(reader, handle)
    answer = opened(reader, server.url)
    assert (answer["version"], answer["content_len"]) == ("HTTP/2.0", 6)
    word.release()
    assert read(reader, answer) == "abc"
    word.release()
    got = on(reader, "all", answer)
    assert (got["text"], got["received"], got["idle"]) == ("def", 6, 1)
    server.close()


@pytest.mark.parametrize("what", ["close", "forget"])
def test_http2_closing_early_ends_the_stream_alone(reader, what):
    """RFC 9113 section 8.1: CANCEL, and the connection goes on."""
    seen = []

    def handle(peer: Http2Peer) -> None:
        stream = peer.request()
        peer.head(stream)
        peer.data(stream, b"abc", ends=False)
        end = peer.until(RST_STREAM)
        seen.append((end.stream, end.number, stream))
        peer.answer(peer.request())
        peer.drain()

    server = meet(reader, handle)
    answer = opened(reader, server.url)
    assert read(reader, answer) == "abc"
    assert on(reader, what, answer)["idle"] == 1
    assert reader.ask(do="send", url=server.url)["body"] == "ok"
    assert server.connection_count == 1
    server.close()
    [(reset, code, stream)] = seen
    assert (reset, code) == (stream, CANCEL)


def test_http2_windows_hold_back_what_nobody_reads(reader):
    length = 48 * MIB

    def handle(peer: Http2Peer) -> None:
        stream = peer.request()
        peer.head(stream)
        peer.stream_out(stream, length)
        peer.drain()

    server = meet(reader, handle)
    answer = opened(reader, server.url)
    before = reader.memory_kib()
    got = on(reader, "count", answer, limit=1 << 40)
    assert got.get("count") == length, got
    assert reader.memory_kib() - before < 6 * 1024
    server.close()


def test_http2_two_responses_are_read_in_turn(reader):
    """What comes for the one while the other is read waits for its reader."""

    def handle(peer: Http2Peer) -> None:
        first = peer.request()
        peer.head(first)
        second = peer.request()
        peer.head(second)
        for number in range(3):
            for stream in (second, first):
                peer.data(stream, b"%d" % number, ends=number == 2)
        peer.drain()

    server = meet(reader, handle)
    answers = [opened(reader, server.url) for _ in range(2)]
    for answer in answers:
        assert on(reader, "all", answer)["text"] == "012"
    assert server.connection_count == 1
    server.close()


def test_http2_an_upload_goes_on_while_its_response_is_read(reader):
    length = MIB

    def handle(peer: Http2Peer) -> None:
        stream = peer.request()
        peer.head(stream)
        # The first piece is answered before the last one is sent.
        peer.data(stream, b"early", ends=False)
        got = peer.content(stream, window=1)
        peer.data(stream, b"%d" % got, ends=True)
        peer.drain()

    server = meet(reader, handle)
    answer = opened(reader, server.url, method="POST", length=length)
    assert read(reader, answer) == "early"
    assert on(reader, "all", answer)["text"] == str(length)
    server.close()


def test_http2_a_stream_that_is_reset(reader):
    def handle(peer: Http2Peer) -> None:
        stream = peer.request()
        peer.head(stream)
        peer.data(stream, b"abc", ends=False)
        peer.reset(stream, CANCEL)
        peer.answer(peer.request())
        peer.drain()

    server = meet(reader, handle)
    answer = opened(reader, server.url)
    assert read(reader, answer) == "abc"
    errors = [on(reader, "all", answer).get("error", "") for _ in range(2)]
    assert "StreamReset" in errors[0] and errors[0] == errors[1]
    assert reader.ask(do="send", url=server.url)["body"] == "ok"
    assert server.connection_count == 1
    server.close()


def test_http2_responses_that_nobody_reads_stop_no_other(reader):
    """Each fills its own window; together they are more than the connection's
    first one."""

    def handle(peer: Http2Peer) -> None:
        for _ in range(6):
            stream = peer.request()
            peer.head(stream)
            length = peer.windows[stream]
            while length:
                room = min(length, peer.window, 16_384)
                if room == 0:
                    peer.until(WINDOW_UPDATE)
                    continue
                peer.window -= room
                length -= room
                peer.data(stream, b"x" * room, ends=False)
        peer.answer(peer.request())
        peer.drain()

    server = meet(reader, handle)
    answers = [opened(reader, server.url) for _ in range(6)]
    assert reader.ask(do="send", url=server.url)["body"] == "ok"
    # And what waits is still there.
    for answer in answers:
        assert on(reader, "count", answer, limit=MIB)["count"] == MIB
        on(reader, "close", answer)
    server.close()

"""Requests whose caller writes their content while it reads the response, over
HTTP/1.1 and HTTP/2: `OpenRequest`."""

import threading
import time

import pytest
from both_ways import Chunks
from conftest import running_client
from h2_frames import *
from raw_http2 import Http2Peer, Tunnel, block, speaking
from raw_server import Connection, RawServer

WAIT_S = 20


@pytest.fixture(scope="module", params=["own", "shared"])
def program(request):
    yield from running_client("reader", request.param)


@pytest.fixture
def reader(program):
    """The client under test, new for each test."""
    program.client(h2c=1)
    return program


class Talk:
    """A request that is under way."""

    def __init__(self, reader, url: str, **more) -> None:
        self.reader = reader
        answer = reader.ask(do="begin", url=url, method="POST", **more)
        assert "error" not in answer, answer
        self.id = answer["id"]

    def ask(self, **more) -> dict:
        return self.reader.ask(do="converse", id=self.id, **more)

    def say(self, **more) -> dict:
        answer = self.ask(**more)
        assert "error" not in answer, answer
        return answer


def trailers(peer: Http2Peer, stream: int, *fields) -> None:
    flags = END_HEADERS | END_STREAM
    peer.send(frame(HEADERS, flags, stream, block(*fields)))


def echo(peer: Http2Peer) -> None:
    """Gives back what comes, piece by piece; the head comes with the first."""
    stream = peer.request()
    tunnel = Tunnel(peer, stream)
    has_head = False
    while not tunnel.has_end:
        tunnel.read()
        if not has_head:
            has_head = True
            peer.head(stream)
        if tunnel.buffer:
            tunnel.send(tunnel.buffer)
            tunnel.buffer = b""
    trailers(peer, stream, ("x-end", "yes"))
    peer.drain()


def echo_in_chunks(connection: Connection) -> None:
    assert "chunked" in connection.head()
    chunks = Chunks(connection.sock, connection.buffer)
    connection.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while piece := chunks.chunk():
        connection.send(b"%x\r\n%s\r\n" % (len(piece), piece))
    connection.send(b"0\r\nX-End: yes\r\n\r\n")


@pytest.mark.parametrize("h2c", [1, 0])
def test_a_conversation(program, h2c):
    """Each message waits for the answer to the one before it."""
    program.client(h2c=h2c)
    server = RawServer(speaking(echo) if h2c else echo_in_chunks)
    talk = Talk(program, server.url)
    for number in range(20):
        text = f"message {number}"
        got = talk.say(write=text, read=100)
        assert (got["text"], got["status"]) == (text, 200)
    got = talk.say(finish=1, read=100)
    assert (got["text"], got["is_complete"]) == ("", True)
    assert [line.lower() for line in got["trailers"]] == ["x-end: yes"]
    server.close()


def test_the_head_alone_is_waited_for(reader):
    def handle(peer: Http2Peer) -> None:
        stream = peer.request()
        peer.head(stream)
        echoed = peer.until(DATA)
        peer.data(stream, echoed.payload)
        peer.drain()

    server = RawServer(speaking(handle))
    talk = Talk(reader, server.url)
    assert talk.say(head=1)["status"] == 200
    got = talk.say(write="late", last=1, read=10)
    assert (got["wants_more"], got["text"]) == (True, "late")
    server.close()


def test_last_octets_and_the_end_go_together(reader):
    seen = []

    def handle(peer: Http2Peer) -> None:
        stream = peer.request()
        got = peer.until(DATA)
        seen.append((got.payload, got.flags & END_STREAM))
        peer.answer(stream)
        peer.drain()

    server = RawServer(speaking(handle))
    talk = Talk(reader, server.url)
    assert talk.say(write="all", last=1, count=1)["count"] == 2
    assert seen == [(b"all", END_STREAM)]
    assert "ended" in talk.ask(write="more")["error"]
    server.close()


def test_writing_does_not_wait_for_who_reads(reader):
    """The server sends until its window is shut, and takes all meanwhile: what
    is not read waits in the stream's window."""
    length = 1 << 20

    def handle(peer: Http2Peer) -> None:
        stream = peer.request()
        peer.head(stream)
        room = min(peer.window, peer.windows[stream])
        while room:
            peer.data(stream, b"y" * min(room, 16_384), ends=False)
            room -= min(room, 16_384)
        assert peer.content(stream, window=1) == 4 * length
        peer.data(stream, b"", ends=True)
        peer.drain()

    server = RawServer(speaking(handle))
    talk = Talk(reader, server.url)
    got = talk.say(write="x" * 1024, times=4 * 1024, last=1)
    assert got["wants_more"]
    assert talk.say(count=1)["count"] >= 65_535
    server.close()


def test_what_comes_while_it_writes_is_bounded_over_http1(program):
    program.client(h2c=0)

    def handle(connection: Connection) -> None:
        connection.head()
        connection.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            connection.send(b"10000\r\n" + b"z" * 65_536 + b"\r\n")

    server = RawServer(handle)
    talk = Talk(program, server.url)
    assert talk.say(head=1)["status"] == 200
    error = talk.ask(write="x" * 1024, times=64 * 1024)["error"]
    assert "1048576 bytes of the response" in error
    server.close()


def test_who_wants_no_more_is_sent_no_more(reader):
    def handle(peer: Http2Peer) -> None:
        stream = peer.request()
        peer.head(stream, status=413)
        peer.data(stream, b"too much")
        peer.drain()

    server = RawServer(speaking(handle))
    talk = Talk(reader, server.url)
    got = talk.say(head=1, write="x", read=0)
    assert talk.say(head=1)["status"] == 413
    got = talk.say(write="more")
    assert got["wants_more"] is False
    assert talk.say(read=100)["text"] == "too much"
    server.close()


@pytest.mark.parametrize("how", ["close", "drop"])
def test_closing_resets_the_stream(reader, how):
    seen = threading.Event()

    def handle(peer: Http2Peer) -> None:
        stream = peer.request()
        peer.head(stream)
        got = peer.until(RST_STREAM)
        assert (got.stream, got.code) == (stream, CANCEL)
        seen.set()
        peer.answer(peer.request())
        peer.drain()

    server = RawServer(speaking(handle))
    talk = Talk(reader, server.url)
    talk.say(head=1)
    if how == "drop":
        reader.ask(do="drop", id=talk.id)
    else:
        talk.say(close=1)
        assert "closed by its caller" in talk.ask(read=1)["error"]
    assert seen.wait(WAIT_S)
    assert reader.get(server.url)["body"] == "ok"
    assert server.connection_count == 1
    server.close()


def test_a_reset_has_its_code_in_words(reader):
    def handle(peer: Http2Peer) -> None:
        peer.reset(peer.request(), CANCEL)
        peer.drain()

    server = RawServer(speaking(handle))
    talk = Talk(reader, server.url)
    error = talk.ask(head=1)["error"]
    assert "StreamReset" in error and "CANCEL" in error
    assert talk.ask(write="x")["error"] == error
    server.close()


def test_what_was_not_begun_is_sent_once_more(reader):
    """RFC 9113 section 8.7; as long as nothing was written."""

    def handle(peer: Http2Peer) -> None:
        peer.reset(peer.request(), REFUSED_STREAM)
        stream = peer.request()
        peer.head(stream)
        peer.data(stream, peer.until(DATA).payload)
        peer.drain()

    server = RawServer(speaking(handle))
    talk = Talk(reader, server.url)
    assert talk.say(head=1)["status"] == 200
    assert talk.say(write="again", last=1, read=10)["text"] == "again"
    server.close()


def test_an_end_that_was_not_begun_is_sent_once_more(reader):
    """The same if there was nothing to write: the end is there again."""

    def handle(peer: Http2Peer) -> None:
        for number in (1, 2):
            stream = peer.request()
            ended = peer.until(DATA)
            assert (ended.payload, ended.flags & END_STREAM) == (b"", END_STREAM)
            if number == 1:
                peer.reset(stream, REFUSED_STREAM)
        peer.head(stream)
        peer.data(stream, b"done", ends=True)
        peer.drain()

    server = RawServer(speaking(handle))
    reader.client(h2c=1, read_timeout_ms=2_000)
    talk = Talk(reader, server.url)
    talk.say(finish=1)
    got = talk.say(read=10)
    assert (got["status"], got["text"]) == (200, "done")
    server.close()


def test_silence_is_the_servers_alone(reader):
    """A caller that does not write is no server that does not read."""

    def handle(peer: Http2Peer) -> None:
        peer.request()
        peer.drain()

    server = RawServer(speaking(handle))
    reader.client(h2c=1, read_timeout_ms=300, write_timeout_ms=60_000)
    talk = Talk(reader, server.url)
    start = time.monotonic()
    error = talk.ask(write="x", head=1)["error"]
    assert "Timeout" in error and "read_timeout_ms" in error
    assert time.monotonic() - start < 10
    server.close()


def test_a_shut_window_is_not_waited_for_without_end(reader):
    def handle(peer: Http2Peer) -> None:
        peer.request()
        peer.drain()

    server = RawServer(speaking(handle))
    reader.client(h2c=1, read_timeout_ms=60_000, write_timeout_ms=300)
    talk = Talk(reader, server.url)
    error = talk.ask(write="x" * 1024, times=256)["error"]
    assert "Timeout" in error and "write_timeout_ms" in error
    server.close()


def test_content_in_memory_is_sent_by_itself(reader):
    server = RawServer(speaking(echo))
    talk = Talk(reader, server.url, octets="by itself")
    assert talk.say(count=1)["count"] == 9
    assert "ended" in talk.ask(write="more")["error"]
    server.close()

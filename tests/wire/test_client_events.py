"""Server-sent events that a client reads: of one response, and of a stream that
goes on when its connection breaks (WHATWG HTML section 9.2)."""

import gzip
import json
import threading
import time

import pytest
from conftest import Server
from raw_server import Connection, RawServer
from test_client_open import CHUNKED, MIB, OK, Scripted, chunk, on, opened
from test_client_open import program, reader, sized
from wire_programs import built

__all__ = ["program", "reader"]
STREAM = OK + b"Content-Type: text/event-stream\r\n\r\n"


def listening(reader, url: str, **more) -> int:
    return reader.ask(do="listen", url=url, **more)["id"]


def following(reader, number: int, do: str = "next") -> dict:
    return reader.ask(do=do, id=number)


def test_events_of_one_response(reader):
    """As a language model answers: an event for each token, and the end."""
    tokens = [
        b"data: " + json.dumps({"token": word}).encode() + b"\n\n"
        for word in ("Hel", "lo")
    ]
    server = Scripted(CHUNKED + chunk(tokens[0]), chunk(tokens[1]),
                      chunk(b"event: end\nid: 9\nretry: 5\ndata: [DONE]\n\n"),
                      chunk(b"data: cut") + b"0\r\n\r\n")
    server.go()
    answer = opened(reader, server.url, method="POST", octets="{}")
    assert on(reader, "event", answer)["data"] == '{"token":"Hel"}'.replace(":", ": ")
    server.go(2)
    assert json.loads(on(reader, "event", answer)["data"]) == {"token": "lo"}
    got = on(reader, "event", answer)
    assert (got["data"], got["name"], got["event_id"]) == ("[DONE]", "end", "9")
    assert (got["last_id"], got["retry_ms"]) == ("9", 5)
    server.go()
    got = on(reader, "event", answer)
    assert (got["is_end"], got["is_complete"], got["idle"]) == (True, True, 1)
    server.close()


def test_an_endless_event_stops_at_its_bound(reader):
    def handle(connection: Connection) -> None:
        connection.head()
        connection.send(STREAM)
        while True:
            connection.send(b"data: xxxxxxxxxx\n" * 4_000)

    server = RawServer(handle)
    answer = opened(reader, server.url)
    before = reader.memory_kib()
    got = on(reader, "event", answer, limit=2 * MIB)
    assert "the event is longer than 2097152 bytes" in got["error"]
    assert reader.memory_kib() - before < 8 * 1024
    server.close()


class Stream:
    """A server of events whose connections end when they have said theirs."""

    def __init__(self, *answers: bytes) -> None:
        self.answers, self.heads, self.times = list(answers), [], []
        self.server = RawServer(self.handle)
        self.url = self.server.url + "/events"

    def handle(self, connection: Connection) -> None:
        self.heads.append(connection.head())
        self.times.append(time.monotonic())
        connection.send(self.answers.pop(0))

    def field(self, index: int, name: str) -> str | None:
        for line in self.heads[index].split("\r\n"):
            if line.lower().startswith(name + ":"):
                return line.split(":", 1)[1].strip()
        return None


def assert_comes_back(reader, first: bytes) -> None:
    """Follows a stream whose first response has the event `a` with the id 1, and
    breaks off; the second has `b`, and the third is its end."""
    stream = Stream(
        first,
        STREAM + b"data: b\n\n",
        b"HTTP/1.1 204 No Content\r\n\r\n",
    )
    number = listening(reader, stream.url)
    got = [following(reader, number) for _ in range(3)]
    stream.server.close()
    assert [one.get("data") for one in got] == ["a", "b", None], got
    assert stream.field(1, "last-event-id") == "1"


def test_a_stream_goes_on_behind_its_last_event(reader):
    stream = Stream(
        STREAM + b"retry: 20\nid: 1\ndata: a\n\nid: 2\ndata: lost",
        STREAM + b"data: b\n\n",
        STREAM + b"id\ndata: c\n\n",
        b"HTTP/1.1 204 No Content\r\n\r\n",
    )
    number = listening(reader, stream.url)
    got = [following(reader, number) for _ in range(4)]
    stream.server.close()
    assert [one.get("data") for one in got] == ["a", "b", "c", None], got
    assert [one["is_end"] for one in got] == [False, False, False, True]
    assert [one["event_id"] for one in got[:3]] == ["1", "1", ""]
    ids = [stream.field(index, "last-event-id") for index in range(4)]
    # An id that was emptied is not sent.
    assert ids == [None, "1", "1", None]
    for index in range(4):
        assert stream.field(index, "accept") == "text/event-stream"
        assert stream.field(index, "cache-control") == "no-store"
    # Nothing more is asked of a stream that is over.
    assert following(reader, number)["connects"] == 4


def test_an_id_that_no_field_can_hold(reader):
    """WHATWG HTML section 9.2.6: all but NUL may stand in an id. RFC 9110 section
    5.5: a field has no control octet, so that one is not named, and the stream goes
    on without it."""
    stream = Stream(
        STREAM + b"retry: 20\nid: 1\ndata: a\n\nid: 2\0\ndata: b\n\n",
        STREAM + b"id: x\x01y\ndata: c\n\n",
        STREAM + b"data: d\n\nid: 5\ndata: e\n\n",
        b"HTTP/1.1 204 No Content\r\n\r\n",
    )
    number = listening(reader, stream.url)
    got = [following(reader, number) for _ in range(6)]
    stream.server.close()
    assert [one.get("data") for one in got] == ["a", "b", "c", "d", "e", None], got
    ids = ["1", "1", "x\x01y", "x\x01y", "5"]
    assert [one["event_id"] for one in got[:5]] == ids
    sent = [stream.field(index, "last-event-id") for index in range(4)]
    assert sent == [None, "1", None, "5"]


def test_an_id_of_the_program_that_no_field_can_hold(reader):
    number = listening(reader, "http://127.0.0.1:9/", last_id="x\x01y")
    assert "field value" in following(reader, number)["error"]


def test_a_coded_stream_goes_on_when_it_is_cut_off(reader):
    """A fetch whose content cannot be decoded any further has failed as one whose
    connection has: section 9.2.2 has it made anew."""
    coded = STREAM.replace(b"Type", b"Encoding: gzip\r\nContent-Type")
    whole = gzip.compress(b"retry: 20\nid: 1\ndata: a\n\n" + bytes(range(256)) * 40)
    assert_comes_back(reader, coded + whole[:-20])


def test_a_stream_begins_where_the_caller_says(reader):
    stream = Stream(STREAM + b"data: a\n\n")
    number = listening(reader, stream.url, last_id="41")
    got = following(reader, number)
    assert (got["data"], got["event_id"], got["last_id"]) == ("a", "41", "41")
    assert stream.field(0, "last-event-id") == "41"
    following(reader, number, "stop")
    stream.server.close()


def test_a_server_says_how_long_to_wait(reader):
    stream = Stream(
        STREAM + b"retry: 300\ndata: a\n\n", STREAM + b"data: b\n\n"
    )
    number = listening(reader, stream.url)
    assert following(reader, number)["data"] == "a"
    assert following(reader, number)["data"] == "b"
    following(reader, number, "stop")
    stream.server.close()
    # No sooner, and with half as much again at random; of itself it is 3 s.
    assert 0.29 < stream.times[1] - stream.times[0] < 2.9


def test_a_server_asks_for_no_wait(reader):
    """WHATWG HTML section 9.2.3: a client may wait longer, so as not to overload a
    server. Each event counts as a success, so no failure makes the waits longer."""
    answers = [STREAM + b"retry: 0\ndata: %d\n\n" % index for index in range(4)]
    stream = Stream(*answers)
    number = listening(reader, stream.url)
    got = [following(reader, number).get("data") for _ in answers]
    following(reader, number, "stop")
    stream.server.close()
    assert got == ["0", "1", "2", "3"]
    waits = [later - one for one, later in zip(stream.times, stream.times[1:])]
    assert len(waits) == 3 and min(waits) > 0.09, waits


def test_a_busy_server_is_asked_again(reader):
    busy = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"
    stream = Stream(
        STREAM + b"retry: 10\ndata: a\n\n", busy, busy, STREAM + b"data: b\n\n"
    )
    number = listening(reader, stream.url, max_attempts=4)
    assert following(reader, number)["data"] == "a"
    got = following(reader, number)
    assert (got.get("data"), got.get("connects")) == ("b", 4), got
    following(reader, number, "stop")
    stream.server.close()


@pytest.mark.parametrize("status", [429, 503])
def test_a_busy_server_says_when_to_come_back(reader, status):
    """RFC 9110 section 10.2.3, for one answer."""
    stream = Stream(
        STREAM + b"retry: 10\ndata: a\n\n",
        b"HTTP/1.1 %d Busy\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n" % status,
        STREAM + b"data: b\n\n",
        STREAM + b"data: c\n\n",
    )
    number = listening(reader, stream.url)
    got = [following(reader, number).get("data") for _ in range(3)]
    following(reader, number, "stop")
    stream.server.close()
    assert got == ["a", "b", "c"]
    _, busy, back, again = stream.times
    assert back - busy >= 1 > again - back


def test_attempts_are_bounded(reader):
    busy = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"
    stream = Stream(STREAM + b"retry: 10\ndata: a\n\n", *[busy] * 9)
    number = listening(reader, stream.url, max_attempts=3)
    assert following(reader, number)["data"] == "a"
    assert "503 Busy" in following(reader, number)["error"]
    assert len(stream.heads) == 3
    assert following(reader, number)["is_end"]
    stream.server.close()


def test_a_stream_without_an_event_is_a_failure(reader):
    empty = STREAM + b"retry: 10\n: nothing\n\n"
    stream = Stream(*[empty] * 9)
    number = listening(reader, stream.url, max_attempts=3)
    assert "has ended 3 times in turn" in following(reader, number)["error"]
    assert len(stream.heads) == 3
    stream.server.close()


def test_nobody_is_there(reader):
    number = listening(reader, "http://127.0.0.1:1/", max_attempts=1)
    assert "ConnectionRefused" in following(reader, number)["error"]
    assert following(reader, number)["is_end"]


@pytest.mark.parametrize(
    "answer, said",
    [
        (sized(b"<p>", b"Content-Type: text/html\r\n"), "200 OK with the type 'text/html'"),
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "404 Not Found"),
        (OK + b"Content-Type: text/event-streams\r\n\r\n", "text/event-streams"),
    ],
)
def test_what_is_no_stream_of_events(reader, answer, said):
    stream = Stream(answer, answer)
    number = listening(reader, stream.url)
    got = following(reader, number)["error"]
    assert said in got and "UnexpectedResponse" in got
    assert len(stream.heads) == 1
    stream.server.close()


def test_a_silent_stream_is_had_anew(reader):
    def handle(connection: Connection) -> None:
        connection.head()
        connection.send(STREAM + b"retry: 10\n")
        if connection.number == 1:
            connection.sock.recv(1)
        connection.send(b"data: %d\n\n" % connection.number)

    server = RawServer(handle)
    number = listening(reader, server.url, idle_timeout_ms=200)
    assert following(reader, number)["data"] == "2"
    following(reader, number, "stop")
    server.close()


def test_a_total_time_ends_with_the_head(reader):
    """What goes on has no end that a client could wait for; silence has."""
    ended = threading.Event()

    def handle(connection: Connection) -> None:
        connection.head()
        connection.send(STREAM)
        for _ in range(8):
            connection.send(b": still there\n\n")
            ended.wait(0.1)
        connection.send(b"data: late\n\n")

    server = RawServer(handle)
    reader.ask(do="client", total_timeout_ms=300)
    number = listening(reader, server.url, max_attempts=1)
    assert following(reader, number).get("data") == "late"
    following(reader, number, "stop")
    reader.ask(do="client")
    server.close()


def test_parameters_of_the_type_do_not_matter(reader):
    stream = Stream(OK + b"Content-Type: TEXT/Event-Stream;charset=utf-8\r\n\r\n"
                    b"data: a\n\n")
    number = listening(reader, stream.url)
    assert following(reader, number)["data"] == "a"
    following(reader, number, "stop")
    stream.server.close()


def test_streams_of_our_own_server(reader):
    """Its hub of events, over HTTP/1.1 and HTTP/2; and a stream that ends."""
    server = Server(built("stream_server"), [])
    try:
        for h2c in (0, 1):
            reader.client(h2c=h2c)
            url = f"http://127.0.0.1:{server.port}/events"
            answer = opened(reader, url)
            assert answer["status"] == 200, answer
            on(reader, "close", answer)
    finally:
        server.process.kill()
        server.process.wait(5)

"""Calls of gRPC whose other side breaks rules, or goes away, in ways that are no
cell of the tables."""

import struct
import time
from contextlib import suppress

import pytest
from conftest import running_client
from grpc_support import frame as message
from h2_client import H2Client, reset
from h2_frames import *
from h2_hpack import encode
from raw_http2 import block, speaking
from raw_server import RawServer
from test_grpc_client import (
    CLIENT, GRPC, OK, SERVER, UNARY, GrpcCaller, Server, trailers,
)  # fmt: skip

CALL = "/routeguide.RouteGuide/"
HEAD = [("content-type", "application/grpc"), ("te", "trailers")]


@pytest.fixture(scope="module")
def program():
    yield from running_client("grpc_caller")


@pytest.fixture
def caller(program):
    return GrpcCaller(program)


def served(handle, *pairs):
    return RawServer(speaking(handle, *pairs))


def answer(peer, stream, text=b"done"):
    peer.head(stream, GRPC)
    peer.data(stream, message(text), ends=False)
    trailers(peer, stream, OK)


def test_frames_without_content_are_no_messages(caller):
    def handle(peer):
        while True:
            stream = peer.request()
            peer.head(stream, GRPC)
            for octet in message(b"abc"):
                for _ in range(20):
                    peer.data(stream, b"", ends=False)
                peer.data(stream, bytes([octet]), ends=False)
            trailers(peer, stream, OK)

    server = served(handle)
    caller.channel(server.url)
    got = caller.unary()
    assert (got["code"], got["message"]) == ("OK", "abc"), got
    server.close()


@pytest.mark.parametrize("ends", ["status", "reset"])
def test_who_waits_for_room_hears_the_end(caller, ends):
    def handle(peer):
        stream = peer.request()
        length = 0
        while length < DEFAULT_WINDOW:
            length += len(peer.until(DATA).payload)
        if ends == "status":
            peer.head(stream, GRPC, ("grpc-status", "8"), ("grpc-message", "full"), ends=True)
        peer.reset(stream, NO_ERROR if ends == "status" else ENHANCE_YOUR_CALM)
        peer.drain()

    server = served(handle)
    caller.channel(server.url)
    id = caller.begin("/t.T/Sum", CLIENT)
    start = time.monotonic()
    assert caller.ask(do="send", id=id, message="m", times=1_000_000)["sent"] == 0
    got = caller.ask(do="next", id=id)
    assert got["code"] == "RESOURCE_EXHAUSTED", got
    assert time.monotonic() - start < 10
    server.close()


def test_no_stream_is_allowed(caller):
    server = served(lambda peer: peer.drain(), (MAX_STREAMS, 0))
    caller.channel(server.url)
    start = time.monotonic()
    got = caller.unary(timeout_ms=700)
    assert got["code"] == "DEADLINE_EXCEEDED", got
    assert time.monotonic() - start < 5
    server.close()


def test_one_stream_at_once(caller):
    def handle(peer):
        while True:
            stream = peer.request()
            if peer.connection.number == 1:
                peer.head(stream, GRPC)
                peer.data(stream, message(b"first"), ends=False)
            else:
                answer(peer, stream)

    server = served(handle, (MAX_STREAMS, 1))
    caller.channel(server.url)
    id = caller.begin("/t.T/Chat")
    caller.ask(do="send", id=id, message="m")
    assert caller.ask(do="next", id=id)["message"] == "first"
    assert caller.unary()["message"] == "done"
    assert server.connection_count == 2
    server.close()


@pytest.mark.parametrize("kind", [UNARY, SERVER])
def test_a_request_goes_when_it_is_sent(caller, kind):
    """And not when its answer is asked for, behind that of another call."""

    def handle(peer):
        for stream in reversed([peer.request() for _ in range(3)]):
            answer(peer, stream, b"%d" % stream)
        peer.drain()

    server = served(handle)
    caller.channel(server.url)
    ids = [caller.begin("/t.T/M", kind) for _ in range(3)]
    for id in ids:
        assert caller.ask(do="send", id=id, message="m")["sent"] == 1
    assert [caller.ask(do="next", id=id).get("message") for id in ids] == ["1", "3", "5"]
    server.close()


@pytest.mark.parametrize("kind", [UNARY, SERVER])
def test_goaway_while_several_are_under_way(caller, kind):
    def handle(peer):
        if peer.connection.number == 1:
            streams = [peer.request() for _ in range(3)]
            peer.goaway(streams[0])
            answer(peer, streams[0], b"first")
            peer.drain()
            return
        while True:
            answer(peer, peer.request(), b"second")

    server = served(handle)
    caller.channel(server.url)
    ids = [caller.begin("/t.T/M", kind) for _ in range(3)]
    for id in ids:
        caller.ask(do="send", id=id, message="m")
    got = [caller.ask(do="next", id=id) for id in ids]
    assert [one.get("message") for one in got] == ["first", "second", "second"], got
    server.close()


def first_wrong(wrong):
    """Answers a call on each connection but the first, of which `wrong` takes the
    request."""

    def handle(peer):
        stream = peer.request()
        if peer.connection.number == 1:
            wrong(peer, stream)
            return
        answer(peer, stream)
        peer.drain()

    return handle


def test_goaway_for_too_many_pings(caller):
    def refuse_pings(peer, stream):
        peer.head(stream, GRPC)
        peer.data(stream, message(b"first"), ends=False)
        peer.send(frame(GOAWAY, 0, 0, struct.pack(">II", 2**31 - 1, ENHANCE_YOUR_CALM)
                        + b"too_many_pings"))

    server = served(first_wrong(refuse_pings))
    caller.channel(server.url)
    id = caller.begin("/t.T/Chat")
    caller.ask(do="send", id=id, message="m")
    got = caller.ask(do="count", id=id)
    assert (got["count"], got["code"]) == (1, "UNAVAILABLE"), got
    assert caller.unary()["message"] == "done"
    server.close()


def test_a_server_that_answers_no_ping(caller):
    """keepalive.md of gRPC: the connection is closed, so that its calls fail."""

    def fall_silent(peer, stream):
        peer.head(stream, GRPC)
        peer.drain()

    server = served(first_wrong(fall_silent))
    caller.channel(server.url, keepalive_ms=200)
    id = caller.begin("/t.T/Chat")
    caller.ask(do="send", id=id, message="m")
    start = time.monotonic()
    got = caller.ask(do="next", id=id)
    assert got["code"] == "UNAVAILABLE" and "PING" in got["text"], got
    assert time.monotonic() - start < 15
    assert caller.unary()["message"] == "done"
    server.close()


def long_trailers(peer, stream):
    peer.head(stream, GRPC)
    peer.data(stream, message(b"m"), ends=False)
    octets = block(*[(f"x-{at}", "v" * 1_000) for at in range(200)], OK)
    peer.send(frame(HEADERS, END_STREAM, stream, octets[:16_384]))
    for at in range(16_384, len(octets), 16_384):
        rest = octets[at : at + 16_384]
        flags = END_HEADERS if at + 16_384 >= len(octets) else 0
        peer.send(frame(CONTINUATION, flags, stream, rest))


def open_trailers(peer, stream):
    peer.head(stream, GRPC)
    peer.data(stream, message(b"m"), ends=False)
    peer.send(frame(HEADERS, END_HEADERS, stream, block(OK)))


def short(peer, stream):
    peer.head(stream, GRPC, ("content-length", "100"))
    peer.data(stream, message(b"m"), ends=False)
    trailers(peer, stream, OK)


def pseudo(peer, stream):
    peer.head(stream, GRPC)
    peer.data(stream, message(b"m"), ends=False)
    trailers(peer, stream, (":status", "200"), OK)


def no_status(peer, stream):
    peer.send(frame(HEADERS, END_HEADERS, stream, block(GRPC)))


def twice(peer, stream):
    answer(peer, stream)
    peer.data(stream, b"more", ends=False)


def status_before_content(peer, stream):
    peer.head(stream, GRPC, OK)
    peer.data(stream, message(b"m"), ends=True)


def head_then_empty(peer, stream):
    peer.head(stream, GRPC, ("grpc-status", "5"))
    peer.data(stream, b"", ends=True)


def status_in_both(peer, stream):
    peer.head(stream, GRPC, OK)
    trailers(peer, stream, ("grpc-status", "5"))


def interim_with_status(peer, stream):
    peer.send(frame(HEADERS, END_HEADERS, stream, block((":status", "103"), ("grpc-status", "5"))))
    answer(peer, stream)


@pytest.mark.parametrize(
    ("says", "codes"),
    [
        (long_trailers, ["RESOURCE_EXHAUSTED", "INTERNAL", "UNAVAILABLE"]),
        (open_trailers, ["INTERNAL"]),
        (short, ["INTERNAL"]),
        (pseudo, ["INTERNAL"]),
        (no_status, ["INTERNAL"]),
        (twice, ["OK"]),
        (status_before_content, ["INTERNAL"]),
        (head_then_empty, ["NOT_FOUND"]),
        (status_in_both, ["NOT_FOUND"]),
        (interim_with_status, ["OK"]),
    ],
)
def test_what_breaks_http2(caller, says, codes):
    """The call ends at once, and the next one is served."""

    def say(peer, stream):
        says(peer, stream)
        with suppress(EOFError, OSError):
            while True:
                answer(peer, peer.request())

    server = served(first_wrong(say))
    caller.channel(server.url)
    start = time.monotonic()
    got = caller.unary()
    assert got["code"] in codes, got
    assert time.monotonic() - start < 5
    assert caller.unary()["message"] == "done"
    server.close()


def test_hosts_that_vanish_and_come_back(caller):
    service = '{"loadBalancingConfig": [{"round_robin": {}}]}'
    one, two = Server(), Server()
    caller.channel(one.url, two.url, service=service)
    for _ in range(4):
        assert caller.unary(message="a")["code"] == "OK"
    two.stop()
    failed = [got for _ in range(40) if (got := caller.unary(message="b"))["code"] != "OK"]
    assert not failed, failed
    one.stop()
    assert caller.unary(message="c")["code"] == "UNAVAILABLE"


def test_a_host_that_falls_silent_is_left_to_few(caller):
    """load-balancing.md of gRPC, "round_robin": calls go to what is there."""

    def handle(peer):
        answer(peer, peer.request(), b"last words")
        peer.drain()

    service = '{"loadBalancingConfig": [{"round_robin": {}}]}'
    silent, other = served(handle), Server()
    caller.channel(silent.url, other.url, service=service)
    codes = [caller.unary(message="a", timeout_ms=500)["code"] for _ in range(20)]
    assert set(codes) == {"OK", "DEADLINE_EXCEEDED"}
    # One, and one more for each second.
    assert codes.count("DEADLINE_EXCEEDED") <= 4, codes
    silent.close()
    other.stop()


# A hostile client.


@pytest.fixture
def server(start):
    return start("grpc_server")


def status(answer):
    fields = dict(answer.trailers if answer.trailers is not None else answer.lines)
    return int(fields.get("grpc-status", -1))


def test_frames_without_content_to_a_server(server):
    content = message(b"\x12\x03abc") * 3
    for method in ("RouteChat", "GetFeature"):
        with H2Client(server) as client:
            stream = client.request(CALL + method, "POST", HEAD, ends=False)
            octets = content if method == "RouteChat" else message(b"")
            for octet in octets:
                client.data(stream, b"")
                client.data(stream, bytes([octet]))
            client.data(stream, b"", ends=True)
            got = client.answer(stream)
            assert status(got) == 0


def test_request_trailers(server):
    for method in ("RouteChat", "GetFeature", "RecordRoute", "ListFeatures"):
        with H2Client(server) as client:
            stream = client.request(CALL + method, "POST", HEAD, ends=False)
            client.data(stream, message(b""))
            client.headers(encode([("x-late", "1"), ("grpc-status", "5")]), True, stream)
            got = client.answer(stream)
            assert status(got) == 0, (method, got)


@pytest.mark.parametrize("value", ["A", "A===", "AA=A", "====", "A=", "AAA=A", "!!", "AAE=,A", ",", "\xff"])
@pytest.mark.parametrize("method", ["GetFeature", "RouteChat"])
def test_octets_in_no_base64(server, method, value):
    with H2Client(server) as client:
        got = client.post(CALL + method, message(b""), [*HEAD, ("some-bin", value)])
        assert (got.status, status(got)) == (200, 0)


def test_resets_race_with_answers(server):
    """Nothing is left of calls that are cancelled as they are answered."""
    for method in ("GetFeature", "RouteChat", "RecordRoute", "ListFeatures"):
        with H2Client(server) as client:
            for at in range(90):
                stream = client.request(CALL + method, "POST", HEAD, ends=False)
                client.data(stream, message(b""), ends=at % 2 == 0)
                if at % 3:
                    client.ping(b"%08d" % at)
                client.send(reset(stream))
            client.settle()
            assert status(client.post(CALL + "GetFeature", message(b""), HEAD)) == 0

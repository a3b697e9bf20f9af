"""Calls of gRPC: by the client of grpcio, and by one that breaks the rules."""

import gzip
import socket
import subprocess
import sys
import threading
import time

import grpc
import pytest
from conftest import ROOT, Client, built, wait_until
from grpc_support import frame as message, varint
from h2_client import H2Client, reset
from h2_frames import CANCEL
from processes import anonymous_len

sys.path.insert(0, str(ROOT / "cli"))

CALL = "/routeguide.RouteGuide/"
TIMEOUT_S = 10
HEAD = [("content-type", "application/grpc"), ("te", "trailers")]


@pytest.fixture(scope="module")
def pb(tmp_path_factory):
    """The messages of the tests, as protobuf of Python has them."""
    folder = tmp_path_factory.mktemp("pb")
    source = ROOT / "tests" / "grpc" / "route_guide.proto"
    subprocess.run(
        [sys.executable, "-m", "grpc_tools.protoc", f"-I{source.parent}",
         f"--python_out={folder}", str(source)],
        check=True,
    )  # fmt: skip
    sys.path.insert(0, str(folder))
    import route_guide_pb2

    return route_guide_pb2


@pytest.fixture
def server(start):
    return start("grpc_server")


class Guide:
    """The methods of the service, over a channel."""

    def __init__(self, channel, pb) -> None:
        self.channel = channel
        octets = lambda message: message.SerializeToString()  # noqa: E731
        way = lambda kind, name, reply: getattr(channel, kind)(  # noqa: E731
            CALL + name, octets, reply.FromString
        )
        self.get_feature = way("unary_unary", "GetFeature", pb.Feature)
        self.list_features = way("unary_stream", "ListFeatures", pb.Feature)
        self.record_route = way("stream_unary", "RecordRoute", pb.RouteSummary)
        self.route_chat = way("stream_stream", "RouteChat", pb.RouteNote)
        self._ping = channel.unary_unary(CALL + "Ping", lambda none: b"", lambda octets: octets)

    def counts(self) -> dict[str, int]:
        _, call = self._ping.with_call(None, timeout=TIMEOUT_S)
        return {name: int(value) for name, value in call.trailing_metadata()}


@pytest.fixture
def guide(server, pb):
    with grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        yield Guide(channel, pb)


def refused(call) -> grpc.RpcError:
    """What a call ends with that fails."""
    with pytest.raises(grpc.RpcError) as raised:
        result = call()
        if hasattr(result, "__next__"):
            list(result)
    return raised.value


def test_unary(guide, pb):
    for length in (0, 1, 100, 100_000):
        reply = guide.get_feature(pb.Point(latitude=length, longitude=7), timeout=TIMEOUT_S)
        assert reply.name == "x" * length
        assert reply.location.longitude == 7


def test_replies_as_a_stream(guide, pb):
    call = guide.list_features(pb.Rectangle(lo=pb.Point(latitude=5_000)), timeout=TIMEOUT_S)
    assert [reply.name for reply in call] == [f"feature {n}" for n in reversed(range(5_000))]
    assert dict(call.initial_metadata())["kind"] == "listing"
    assert dict(call.trailing_metadata())["left"] == "none"


def test_requests_as_a_stream(guide, pb):
    points = (pb.Point(latitude=n) for n in range(3_000))
    assert guide.record_route(points, timeout=TIMEOUT_S).point_count == 3_000
    assert guide.record_route(iter([]), timeout=TIMEOUT_S).point_count == 0


@pytest.mark.parametrize("length", [1, 100_000])
def test_both_as_streams(guide, pb, length):
    notes = (pb.RouteNote(message=f"{n} " + "y" * length) for n in range(200))
    replies = guide.route_chat(notes, timeout=TIMEOUT_S)
    assert [int(reply.message.split()[0]) for reply in replies] == list(range(200))


def test_each_note_is_answered_before_the_next_is_sent(guide, pb):
    answered = threading.Semaphore(1)

    def notes():
        for n in range(50):
            assert answered.acquire(timeout=TIMEOUT_S)
            yield pb.RouteNote(message=str(n))

    count = 0
    for reply in guide.route_chat(notes(), timeout=TIMEOUT_S):
        assert reply.message == str(count)
        count += 1
        answered.release()
    assert count == 50


def test_a_conversation_ends_before_its_requests_do(guide, pb):
    ends = threading.Event()

    def notes():
        yield pb.RouteNote(message="end")
        ends.wait(TIMEOUT_S)

    call = guide.route_chat(notes(), timeout=TIMEOUT_S)
    assert [reply.message for reply in call] == ["end"]
    assert call.code() == grpc.StatusCode.OK
    ends.set()


def test_a_status_with_details(guide, pb):
    error = refused(lambda: guide.get_feature(pb.Point(latitude=-1), timeout=TIMEOUT_S))
    assert error.code() == grpc.StatusCode.NOT_FOUND
    assert error.details() == "nothing at\nthe pl\u00e4ce, 100%"
    fields = dict(error.trailing_metadata())
    assert fields["why"] == "asked for"
    from google.protobuf.any_pb2 import Any

    octets = fields["grpc-status-details-bin"]
    assert octets[:2] == b"\x08\x05"
    point = pb.Point()
    assert Any.FromString(octets[octets.index(b"\x1a") + 2 :]).Unpack(point)
    assert point.latitude == -1


def test_what_a_method_raises_is_logged_and_not_sent(server, guide, pb):
    error = refused(lambda: guide.get_feature(pb.Point(latitude=-2), timeout=TIMEOUT_S))
    assert error.code() == grpc.StatusCode.UNKNOWN
    assert error.details() == ""
    assert wait_until(lambda: "a secret of the server" in server.stderr())


def test_a_stream_fails(guide, pb):
    def notes(*messages):
        return iter([pb.RouteNote(message=one) for one in messages])

    call = guide.route_chat(notes("a", "fail", "b"), timeout=TIMEOUT_S)
    got = []
    with pytest.raises(grpc.RpcError) as raised:
        for reply in call:
            got.append(reply.message)
    assert got == ["a"] and raised.value.code() == grpc.StatusCode.ABORTED
    points = iter([pb.Point(latitude=-1)])
    error = refused(lambda: guide.record_route(points, timeout=TIMEOUT_S))
    assert error.code() == grpc.StatusCode.OUT_OF_RANGE
    metadata = [("no-chat", "1")]
    error = refused(lambda: guide.route_chat(notes("a"), metadata=metadata, timeout=TIMEOUT_S))
    assert error.code() == grpc.StatusCode.UNAVAILABLE


@pytest.mark.parametrize("latitude", [-2, -3])
def test_a_method_with_one_reply_is_held_to_it(guide, pb, latitude):
    points = iter([pb.Point(latitude=latitude)])
    error = refused(lambda: guide.record_route(points, timeout=TIMEOUT_S))
    assert error.code() == grpc.StatusCode.INTERNAL


def test_metadata_both_ways(guide, pb):
    octets = bytes(range(256))
    metadata = [("text", "a text, of course"), ("some-bin", octets)]
    _, call = guide.get_feature.with_call(
        pb.Point(latitude=-5), metadata=metadata, timeout=TIMEOUT_S
    )
    assert dict(call.initial_metadata())["text-back"] == "a text, of course"
    assert dict(call.trailing_metadata())["back-bin"] == octets


def test_interceptors_see_each_call(guide, pb):
    before = guide.counts()
    guide.get_feature(pb.Point(), timeout=TIMEOUT_S)
    list(guide.route_chat(iter([pb.RouteNote()]), timeout=TIMEOUT_S))
    error = refused(
        lambda: guide.get_feature(pb.Point(), metadata=[("refuse", "1")], timeout=TIMEOUT_S)
    )
    assert error.code() == grpc.StatusCode.PERMISSION_DENIED
    assert error.details() == "as you wish"
    after = guide.counts()
    assert after["before"] - before["before"] == 4
    assert after["after"] - before["after"] == 4
    assert after["failed"] - before["failed"] == 1


@pytest.mark.parametrize("coding", [grpc.Compression.Gzip, grpc.Compression.NoCompression])
def test_gzip_both_ways(guide, pb, coding):
    notes = (pb.RouteNote(message="z" * 50_000) for _ in range(20))
    replies = list(guide.route_chat(notes, compression=coding, timeout=TIMEOUT_S))
    assert [len(reply.message) for reply in replies] == [50_000] * 20
    reply = guide.get_feature(
        pb.Point(latitude=-6, longitude=50_000), compression=coding, timeout=TIMEOUT_S
    )
    assert len(reply.name) == 50_000


def test_over_tls(start_tls, certs, pb):
    server = start_tls("good_chain", server="grpc_server")
    credentials = grpc.ssl_channel_credentials((certs / "root.pem").read_bytes())
    with grpc.secure_channel(f"localhost:{server.port}", credentials) as channel:
        guide = Guide(channel, pb)
        assert guide.get_feature(pb.Point(latitude=3), timeout=TIMEOUT_S).name == "x" * 3
        notes = (pb.RouteNote(message=str(n)) for n in range(100))
        assert len(list(guide.route_chat(notes, timeout=TIMEOUT_S))) == 100


def test_many_calls_of_one_connection(start, pb):
    server = start("grpc_server", handler_threads=4)
    with grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        guide = Guide(channel, pb)
        calls = [
            guide.get_feature.future(pb.Point(latitude=n), timeout=TIMEOUT_S) for n in range(300)
        ]
        streams = [
            guide.route_chat(iter([pb.RouteNote(message=str(n))] * 3), timeout=TIMEOUT_S)
            for n in range(50)
        ]
        assert [len(call.result().name) for call in calls] == list(range(300))
        for n, stream in enumerate(streams):
            assert [reply.message for reply in stream] == [str(n)] * 3


def test_a_deadline_reaches_the_method_and_ends_it(start, pb):
    server = start("grpc_server", handler_threads=4)
    with grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        guide = Guide(channel, pb)
        left_ms = int(guide.get_feature(pb.Point(latitude=-7), timeout=TIMEOUT_S).name)
        # grpcio rounds the time up to three digits: 10.1 s.
        assert 0 < left_ms <= TIMEOUT_S * 1_010
        assert guide.get_feature(pb.Point(latitude=-7)).name == "-1"
        error = refused(lambda: guide.get_feature(pb.Point(latitude=-3), timeout=2))
        assert error.code() == grpc.StatusCode.DEADLINE_EXCEEDED
        assert wait_until(lambda: guide.counts()["cancelled"] == 1)


def test_a_method_hears_that_its_caller_has_gone(start, pb):
    server = start("grpc_server", handler_threads=4)
    with grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        guide = Guide(channel, pb)
        before = guide.counts()["before"]
        call = guide.get_feature.future(pb.Point(latitude=-3), timeout=60)
        assert wait_until(lambda: guide.counts()["before"] >= before + 2)
        call.cancel()
        assert wait_until(lambda: guide.counts()["cancelled"] == 1)


def test_streams_hear_that_their_caller_has_gone(guide, pb):
    call = guide.list_features(pb.Rectangle(lo=pb.Point(latitude=-1)), timeout=60)
    for _ in range(1_000):
        next(call)
    call.cancel()
    assert wait_until(lambda: guide.counts()["cancelled"] == 1)
    ends = threading.Event()

    def notes():
        yield pb.RouteNote(message="a")
        ends.wait(TIMEOUT_S)

    chat = guide.route_chat(notes(), timeout=60)
    assert next(chat).message == "a"
    chat.cancel()
    ends.set()
    assert wait_until(lambda: guide.counts()["cancelled"] == 2)


@pytest.fixture
def threads(server, pb):
    """A conversation whose code blocks."""
    with grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        yield talk_of(channel, pb)


def talk_of(channel, pb, kind="stream_stream", name="Chat"):
    way = getattr(channel, kind)
    return way(
        f"/threads.Threads/{name}",
        lambda note: note.SerializeToString(),
        pb.RouteNote.FromString,
    )


def notes_of(pb, *messages):
    return iter([pb.RouteNote(message=one) for one in messages])


def test_code_that_blocks(threads, pb):
    for length in (1, 100_000):
        sent = [f"{n} " + "y" * length for n in range(100)]
        replies = threads(notes_of(pb, *sent), timeout=TIMEOUT_S)
        assert [reply.message for reply in replies] == sent
    replies = list(threads(notes_of(pb, "a", "sleep", "many", "b"), timeout=TIMEOUT_S))
    assert len(replies) == 1_003 and replies[-1].message == "b"
    assert list(threads(notes_of(pb), timeout=TIMEOUT_S)) == []
    error = refused(lambda: threads(notes_of(pb, "fail"), timeout=TIMEOUT_S))
    assert error.code() == grpc.StatusCode.ABORTED
    metadata = [("no-chat", "1")]
    error = refused(lambda: threads(notes_of(pb), metadata=metadata, timeout=TIMEOUT_S))
    assert error.code() == grpc.StatusCode.UNAVAILABLE


def test_code_that_blocks_and_replies_once(server, pb):
    with grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        count = channel.stream_unary(
            "/threads.Threads/Count",
            lambda point: point.SerializeToString(),
            pb.RouteSummary.FromString,
        )
        points = [pb.Point(latitude=n) for n in range(100)]
        reply, said = count.with_call(iter(points), timeout=TIMEOUT_S)
        assert reply.point_count == 100
        assert dict(said.initial_metadata())["counted"] == "100"
        assert dict(said.trailing_metadata())["threads"] == "one"
        points.append(pb.Point(latitude=-1))
        error = refused(lambda: count(iter(points), timeout=TIMEOUT_S))
        assert error.code() == grpc.StatusCode.DATA_LOSS


def test_code_that_blocks_hears_that_its_caller_has_gone(server, guide, threads, pb):
    ends = threading.Event()

    def notes(first):
        yield pb.RouteNote(message=first)
        ends.wait(TIMEOUT_S)

    for number, first in enumerate(["a", "many"], 1):
        call = threads(notes(first), timeout=60)
        assert next(call).message == first
        call.cancel()
        assert wait_until(lambda: guide.counts()["cancelled"] == number)
    error = refused(lambda: threads(notes_of(pb, "wait"), timeout=2))
    assert error.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    assert wait_until(lambda: guide.counts()["cancelled"] == 3)
    ends.set()


def test_calls_wait_for_a_thread_if_all_have_one(start, pb):
    server = start("grpc_server", stream_threads=2)
    with grpc.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        talk = talk_of(channel, pb)
        calls = [talk(notes_of(pb, "sleep", str(n)), timeout=TIMEOUT_S) for n in range(20)]
        for n, call in enumerate(calls):
            assert [reply.message for reply in call] == ["sleep", str(n)]
        # The threads of a process are few; ordinary calls need none.
        assert Guide(channel, pb).get_feature(pb.Point(), timeout=TIMEOUT_S).name == ""


def test_a_caller_that_takes_nothing_holds_the_thread_alone(server):
    # A field that nobody knows makes the note long, and comes back behind the others.
    note = b"\x0a\x02\x08\x01\x12\x04many\x7a\xe8\x07" + b"z" * 1_000
    with H2Client(server) as client:
        client.grants = False
        stream = client.request("/threads.Threads/Listen", "POST", HEAD, ends=False)
        client.data(stream, message(note), ends=True)
        client.until(lambda: client.answers.get(stream) and client.answers[stream].body)
        # The window of this connection is shut, or will be soon.
        with H2Client(server) as other:
            assert other.get("/").body == b"beside gRPC\n"
        client.grants = True
        client.grant(0, 1 << 24)
        client.grant(stream, 1 << 24)
        answer = client.answer(stream)
        assert answer.body == message(note) * 1_000 and status(answer)[0] == 0


def test_code_that_does_not_read_keeps_little(server):
    """However few messages wait for it, and however small they came."""
    note = b"\x12" + varint(4_000_000) + b"z" * 4_000_000
    packed = message(gzip.compress(note), 1)
    fields = [*HEAD, ("grpc-encoding", "gzip")]
    with H2Client(server) as client:
        stream = client.request("/threads.Threads/Chat", "POST", fields, ends=False)
        client.data(stream, message(b"\x12\x04wait"))
        client.settle()
        before = anonymous_len(server.process.pid)
        for _ in range(12):
            client.data(stream, packed)
        client.settle()
        assert anonymous_len(server.process.pid) - before < 24 << 20
        client.send(reset(stream))


def status(answer) -> tuple[int, str]:
    """The status of an answer, in its trailers or in its head."""
    fields = dict(answer.lines) | dict(answer.trailers or [])
    return int(fields["grpc-status"]), fields.get("grpc-message", "")


def call(server, content: bytes, *fields, method: str = "GetFeature"):
    with H2Client(server) as client:
        return client.post(CALL + method, content, [*HEAD, *fields])


def test_what_a_reply_looks_like(server):
    answer = call(server, message(b"\x08\x02"))
    assert answer.status == 200
    assert answer.fields["content-type"] == "application/grpc"
    assert answer.body == message(b"\x0a\x02xx\x12\x02\x08\x02")
    assert dict(answer.trailers)["grpc-status"] == "0"


def test_what_has_a_status_alone_has_no_trailers(server):
    answer = call(server, message(b""), method="Nope")
    assert answer.trailers is None and answer.body == b""
    assert status(answer) == (12, "the service has no such method")


WISH = b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"  # latitude -1


@pytest.mark.parametrize(
    ("rule", "content", "fields", "code", "words"),
    [
        ("no message", b"", [], 12, "none came"),
        ("cut prefix", b"\0\0\0", [], 13, "3 bytes into"),
        ("cut message", message(b"\x08", length=2), [], 13, "6 bytes into"),
        ("two messages", message(b"") * 2, [], 12, "more came"),
        ("over-long prefix", message(b"", length=2**32 - 1), [], 8, "4294967295"),
        ("wrong flag", message(b"", 2), [], 13, "first octet is 2"),
        ("no coding", message(b"x", 1), [], 13, "names no coding"),
        ("no coding", message(b"x", 1), [("grpc-encoding", "identity")], 13, "names no"),
        ("no gzip", message(b"xx", 1), [("grpc-encoding", "gzip")], 13, "compressed"),
        ("unknown coding", message(b""), [("grpc-encoding", "snappy")], 12, "grpc-encoding"),
        ("unit", message(b""), [("grpc-timeout", "1s")], 13, "grpc-timeout"),
        ("digits", message(b""), [("grpc-timeout", "123456789S")], 13, "grpc-timeout"),
        ("over", message(b""), [("grpc-timeout", "1n")], 4, "deadline"),
        ("field", message(b"\x08"), [], 3, "routeguide.Point.latitude (field 1), octet"),
        ("wire type", message(b"\x0f"), [], 3, "octet"),
        ("cut varint", message(b"\x08\xff"), [], 3, "latitude"),
    ],
)
def test_bad_input_has_a_status(server, rule, content, fields, code, words):
    answer = call(server, content, *fields)
    found, text = status(answer)
    assert (answer.status, found) == (200, code), (rule, text)
    assert words in text, rule
    if rule == "unknown coding":
        assert answer.fields["grpc-accept-encoding"] == "identity, gzip"


@pytest.mark.parametrize("method", ["ListFeatures", "RecordRoute", "RouteChat"])
@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"\0\0\0", 13),
        (message(b"\x08", length=2), 13),
        (message(b"", length=2**32 - 1), 8),
        (message(b"", 2), 13),
        (message(b"x", 1), 13),
        (message(b"\x0f"), 3),
    ],
)
def test_bad_input_ends_streams(server, method, content, code):
    assert status(call(server, content, method=method))[0] == code


def test_a_stream_with_one_request_is_held_to_it(server):
    assert status(call(server, b"", method="ListFeatures"))[0] == 12
    assert status(call(server, message(b"") * 2, method="ListFeatures"))[0] == 12


def test_messages_beyond_the_limits(start, pb):
    server = start("grpc_server", receive_len_max=1_000, send_len_max=500)
    point = pb.Point(latitude=400).SerializeToString()
    assert status(call(server, message(point)))[0] == 0
    point = pb.Point(latitude=600).SerializeToString()
    assert status(call(server, message(point)))[0] == 8
    long = pb.RouteNote(message="x" * 1_001).SerializeToString()
    assert status(call(server, message(long)))[0] == 8
    assert status(call(server, message(long), method="RouteChat"))[0] == 8
    bomb = gzip.compress(b"\0" * 10_000_000)[:900]
    coded = [("grpc-encoding", "gzip")]
    for method in ("GetFeature", "RouteChat"):
        answer = call(server, message(bomb, 1), *coded, method=method)
        assert status(answer)[0] == 8
    # The content alone is more than a message may have.
    with H2Client(server) as client:
        stream = client.request(CALL + "GetFeature", "POST", HEAD, ends=False)
        for _ in range(10):
            client.data(stream, b"\0" * 10_000)
        answer = client.answer(stream)
        assert answer.status == 413 and status(answer)[0] == 8
    # If it is little more, the status is that of any message.
    answer = call(server, message(b"\0" * 2_000))
    assert answer.status == 200 and status(answer)[0] == 8


@pytest.mark.parametrize(
    "type", ["application/xml", "application/grpcweb", "application/grpc+cbor", "text/plain"]
)
def test_another_content_type(server, type):
    with H2Client(server) as client:
        answer = client.post(CALL + "GetFeature", message(b""), [("content-type", type)])
        assert answer.status == 415
        answer = client.post(CALL + "GetFeature", message(b""))
        assert answer.status == 415
        assert "application/grpc, application/grpc+proto" in answer.fields["accept-post"]


@pytest.mark.parametrize("type", ["application/grpc+proto", "application/grpc;a=b"])
def test_content_types_of_grpc(server, type):
    with H2Client(server) as client:
        answer = client.post(CALL + "GetFeature", message(b""), [("content-type", type)])
        assert answer.status == 200 and status(answer)[0] == 0


def test_unknown_methods_and_other_ways_to_ask(server):
    with H2Client(server) as client:
        for path in ("/routeguide.RouteGuide/", "/nobody/Has", "/", "/routeguide.RouteGuide"):
            answer = client.post(path, message(b""), HEAD)
            assert answer.status == 200 and status(answer)[0] == 12, path
        answer = client.get(CALL + "GetFeature", fields=HEAD)
        assert answer.status == 405 and answer.fields["allow"] == "POST"
        assert client.get("/").body == b"beside gRPC\n"
        assert client.post("/upload", b"x" * 100).body == b"beside gRPC\n"
        assert client.get(CALL + "Nope").status == 404


def test_http1_is_told_what_it_needs(server):
    with Client(server) as client:
        head = f"POST {CALL}GetFeature HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n"
        client.send(f"{head}Content-Type: application/grpc\r\n\r\n".encode() + message(b""))
        assert client.response().status == 505
    with Client(server) as client:
        client.send(f"{head}Content-Type: application/xml\r\n\r\n".encode() + message(b""))
        assert client.response().status == 415
    with Client(server) as client:
        client.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert client.response().body == b"beside gRPC\n"


def test_pieces_of_any_length_are_the_same_stream(server):
    content = message(b"\x12\x03abc") * 3
    with H2Client(server) as client:
        stream = client.request(CALL + "RouteChat", "POST", HEAD, ends=False)
        for octet in content:
            client.data(stream, bytes([octet]))
        client.data(stream, b"", ends=True)
        answer = client.answer(stream)
        assert answer.body == content and status(answer) == (0, "")


def test_a_caller_that_takes_nothing_is_not_read(server):
    """What waits is bounded by the windows, whatever is sent."""
    note = message(b"\x12\xe8\x07" + b"x" * 1_000)
    with H2Client(server) as client:
        client.grants = False
        client.settle()
        stream = client.request(CALL + "RouteChat", "POST", HEAD, ends=False)
        sent = 0
        while True:
            client.settle()
            if min(client.room, client.room_of(stream)) < len(note):
                break
            client.data(stream, note)
            sent += 1
            assert sent < 5_000, "it reads on and on"
        client.grants = True
        client.grant(0, 1 << 24)
        client.grant(stream, 1 << 24)
        client.until(lambda: len(client.answers[stream].body) == sent * len(note))
        client.data(stream, b"", ends=True)
        assert status(client.answer(stream)) == (0, "")


@pytest.mark.parametrize("method", ["ListFeatures", "RecordRoute", "RouteChat"])
def test_a_deadline_ends_a_stream_by_itself(server, method):
    with H2Client(server) as client:
        fields = [*HEAD, ("grpc-timeout", "200m")]
        began = time.monotonic()
        stream = client.request(CALL + method, "POST", fields, ends=False)
        endless = b"\x0a\x0b" + WISH if method == "ListFeatures" else b""
        client.data(stream, message(endless), ends=method == "ListFeatures")
        assert status(client.answer(stream))[0] == 4
        assert time.monotonic() - began > 0.1


@pytest.mark.parametrize("method", ["ListFeatures", "RouteChat", "Listen"])
def test_a_deadline_ends_a_call_whose_caller_takes_nothing(server, guide, method):
    """The windows are shut before it, and the status does not get through."""
    before = guide.counts()["cancelled"]
    note = b"\x0a\x02\x08\x01\x12\x04many\x7a\xe8\x07" + b"z" * 1_000
    path = "/threads.Threads/Listen" if method == "Listen" else CALL + method
    with H2Client(server) as client:
        client.grants = False
        client.settle()
        # Long enough for windows to be full.
        fields = [*HEAD, ("grpc-timeout", "2S")]
        stream = client.request(path, "POST", fields, ends=False)
        if method == "RouteChat":
            while min(client.room, client.room_of(stream)) > len(note):
                client.data(stream, message(note))
                client.settle()
        else:
            asked = b"\x0a\x0b" + WISH if method == "ListFeatures" else note
            client.data(stream, message(asked), ends=True)
        assert wait_until(lambda: guide.counts()["cancelled"] == before + 1)
        assert client.reset_of(stream).reset == CANCEL
        # The connection is as good as before.
        client.grant(0, 1 << 20)
        client.grants = True
        assert status(client.post(CALL + "GetFeature", message(b""), HEAD))[0] == 0


def test_a_deadline_ends_a_call_over_http1_whose_caller_takes_nothing(server, guide):
    before = guide.counts()["cancelled"]
    content = message(b"\x0a\x0b" + WISH)
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.connect(("127.0.0.1", server.port))
        # Long enough for the server to fill what its kernel keeps.
        sock.sendall(
            b"POST /routeguide.RouteGuide/ListFeatures HTTP/1.1\r\nHost: a\r\n"
            b"Content-Type: application/connect+proto\r\nConnect-Timeout-Ms: 2000\r\n"
            b"Content-Length: %d\r\n\r\n%s" % (len(content), content)
        )
        assert wait_until(lambda: guide.counts()["cancelled"] == before + 1)


def test_a_stream_that_is_reset_is_heard_of(server, guide):
    before = guide.counts()["cancelled"]
    with H2Client(server) as client:
        stream = client.request(CALL + "RecordRoute", "POST", HEAD, ends=False)
        client.data(stream, message(b""))
        client.settle()
        client.send(reset(stream))
        assert wait_until(lambda: guide.counts()["cancelled"] == before + 1)
        assert status(client.post(CALL + "GetFeature", message(b""), HEAD))[0] == 0


def test_open_streams_hold_the_end_no_longer_than_allowed(start):
    server = start("grpc_server", shutdown_timeout_ms=300)
    with H2Client(server) as client:
        stream = client.request(CALL + "RouteChat", "POST", HEAD, ends=False)
        client.until(lambda: stream in client.answers)
        began = time.monotonic()
        assert server.stop() == 0
        # By itself it would be 30 s.
        assert time.monotonic() - began < 20


def health(server, service: str, method: str):
    name = service.encode()
    with H2Client(server) as client:
        path = f"/grpc.health.v1.Health/{method}"
        stream = client.request(path, "POST", HEAD, ends=False)
        client.data(stream, message(bytes([10, len(name)]) + name), ends=True)
        if method == "Watch":
            client.until(lambda: stream in client.answers and client.answers[stream].body)
            return client.answers[stream]
        return client.answer(stream)


@pytest.mark.parametrize(
    ("service", "number"), [("", 1), ("routeguide.RouteGuide", 1), ("broken", 2)]
)
def test_health(server, service, number):
    body = message(bytes([8, number]))
    assert health(server, service, "Check").body == body
    assert health(server, service, "Watch").body == body


def test_health_of_what_is_not_there(server):
    assert status(health(server, "nobody", "Check"))[0] == 5
    assert health(server, "nobody", "Watch").body == message(b"\x08\x03")


def test_what_flare_proto_makes_calls_what_it_makes(server):
    """All four kinds, by the caller and the trait of one `.proto` file."""
    program = built("route_guide_caller", "clients")
    said = subprocess.run(
        [program, f"http://127.0.0.1:{server.port}"],
        capture_output=True, text=True, timeout=TIMEOUT_S,
    )  # fmt: skip
    assert said.stdout.splitlines() == [
        "unary xxxx 2",
        "server stream 3",
        "client stream 3",
        "both one",
        "both two",
        "end False",
        "empty True",
        "status NOT_FOUND",
    ], said

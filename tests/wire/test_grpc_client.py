"""The gRPC client against grpcio, and against servers that break every rule."""

import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from conftest import running_client
from google.protobuf import any_pb2, wrappers_pb2
from grpc_support import Caller
from grpc_support import frame as message
from h2_frames import *
from h2_hpack import Decoder
from raw_http2 import Http2Peer, Tunnel, block, speaking
from raw_server import RawServer, answering

WAIT_S = 20
UNARY, SERVER, CLIENT, BOTH = range(4)
GRPC = ("content-type", "application/grpc")


@pytest.fixture(scope="module")
def program():
    yield from running_client("grpc_caller")


class GrpcCaller(Caller):
    """The client under test."""

    def channel(self, *addresses: str, **config) -> None:
        self.ask(do="channel", addresses=addresses, **config)

    def unary(self, path: str = "/t.T/Echo", message: str = "", **more) -> dict:
        return self.ask(do="unary", path=path, message=message, **more)

    def begin(self, path: str, kind: int = BOTH, **more) -> int:
        return super().begin(path, kind, **more)


@pytest.fixture
def caller(program):
    return GrpcCaller(program)


class Service(grpc.GenericRpcHandler):
    """Methods whose messages are octets."""

    def __init__(self) -> None:
        self.ended = threading.Event()
        self.seen: list[tuple] = []

    def service(self, details):
        self.seen = list(details.invocation_metadata)
        name = details.method.rsplit("/", 1)[1].lower()
        method = getattr(self, name, None)
        if not method:
            return None
        if name in ("sum", "early", "strict"):
            return grpc.stream_unary_rpc_method_handler(method)
        if name in ("count", "stall", "deaf"):
            return grpc.unary_stream_rpc_method_handler(method)
        if name in ("chat", "reverse"):
            return grpc.stream_stream_rpc_method_handler(method)
        return grpc.unary_unary_rpc_method_handler(method)

    def echo(self, message, context):
        context.send_initial_metadata((("x-first", "1"), ("x-octets-bin", b"\1\2")))
        context.set_trailing_metadata((("x-last", "2"),))
        return message

    def fail(self, message, context):
        context.set_trailing_metadata((("x-why", "so"),))
        context.abort(grpc.StatusCode.NOT_FOUND, "niemand da: 100 %, wirklich ☂")

    def details(self, message, context):
        detail = any_pb2.Any()
        detail.Pack(wrappers_pb2.StringValue(value="more"))
        body = detail.SerializeToString()
        status = b"\x08\x09\x12\x03why" + b"\x1a" + bytes([len(body)]) + body
        context.set_code(grpc.StatusCode.FAILED_PRECONDITION)
        context.set_details("why")
        context.set_trailing_metadata((("grpc-status-details-bin", status),))
        return b""

    def crash(self, message, context):
        raise ValueError("on purpose")

    def left(self, message, context):
        return str(context.time_remaining()).encode()

    def packed(self, message, context):
        context.set_compression(grpc.Compression.Gzip)
        return message * 1000

    def sum(self, messages, context):
        return b",".join(messages)

    def early(self, messages, context):
        context.abort(grpc.StatusCode.ABORTED, "enough")

    def count(self, message, context):
        for number in range(int(message)):
            yield str(number).encode()

    def stall(self, message, context):
        context.add_callback(self.ended.set)
        yield b"first"
        self.ended.wait(WAIT_S)

    def deaf(self, message, context):
        context.add_callback(self.ended.set)
        self.ended.wait(WAIT_S)
        yield b"late"

    def chat(self, messages, context):
        for message in messages:
            yield message

    def reverse(self, messages, context):
        for message in reversed(list(messages)):
            yield message


class Server:
    """grpcio on a free port."""

    def __init__(self, credentials=None, **options) -> None:
        self.service = Service()
        self.server = grpc.server(
            ThreadPoolExecutor(16), (self.service,), options=list(options.items())
        )
        if credentials:
            self.port = self.server.add_secure_port("localhost:0", credentials)
            self.url = f"https://localhost:{self.port}"
        else:
            self.port = self.server.add_insecure_port("127.0.0.1:0")
            self.url = f"http://127.0.0.1:{self.port}"
        self.server.start()

    def stop(self) -> None:
        self.server.stop(0).wait(WAIT_S)


@pytest.fixture(scope="module")
def running():
    server = Server()
    yield server
    server.stop()


@pytest.fixture
def server(running, caller):
    """A server of grpcio, to which the client has a new channel."""
    running.service.ended.clear()
    caller.channel(running.url)
    return running


# What goes well.


def test_a_message_each_way(server, caller):
    got = caller.unary(message="hello")
    assert (got["message"], got["code"]) == ("hello", "OK")
    assert "x-first: 1" in got["headers"] and "x-octets-bin: AQI" in got["headers"]
    assert got["trailers"] == ["x-last: 2"]


@pytest.mark.parametrize("length", [0, 1, 65_530, 65_536, 4_000_000])
def test_lengths_of_messages(server, caller, length):
    got = caller.begin("/t.T/Chat")
    assert caller.ask(do="send", id=got, message="x", times=length)["sent"] == 1
    caller.ask(do="finish", id=got)
    counted = caller.ask(do="count", id=got)
    assert (counted["count"], counted["length"], counted["code"]) == (1, length, "OK")


def test_metadata_goes(server, caller):
    caller.unary(metadata={"x-text": "a b", "x-octets-bin": "\x01é"})
    seen = dict(server.service.seen)
    assert seen["x-text"] == "a b"
    assert seen["x-octets-bin"] == "\x01é".encode()
    assert seen["user-agent"].startswith("grpc-mojo-flare")


def test_calls_share_a_connection(server, caller):
    for _ in range(5):
        got = caller.unary(message="again")
    assert got["opened"] == 1


def test_a_server_streams(server, caller):
    id = caller.begin("/t.T/Count", SERVER)
    assert caller.ask(do="send", id=id, message="1000")["sent"] == 1
    assert caller.ask(do="next", id=id)["message"] == "0"
    got = caller.ask(do="count", id=id)
    assert (got["count"], got["code"]) == (999, "OK")
    assert caller.ask(do="next", id=id)["is_end"]


def test_a_client_streams(server, caller):
    id = caller.begin("/t.T/Sum", CLIENT)
    assert caller.ask(do="send", id=id, message="a", count=300)["sent"] == 300
    caller.ask(do="finish", id=id)
    assert caller.ask(do="next", id=id)["message"] == ",".join("a" * 300)
    assert caller.ask(do="status", id=id)["code"] == "OK"


def test_both_stream_in_turn(server, caller):
    id = caller.begin("/t.T/Chat")
    for number in range(50):
        assert caller.ask(do="send", id=id, message=f"m{number}")["sent"] == 1
        assert caller.ask(do="next", id=id)["message"] == f"m{number}"
    caller.ask(do="finish", id=id)
    got = caller.ask(do="next", id=id)
    assert got["is_end"] and "code" not in got


def test_a_server_that_answers_at_the_end(server, caller):
    id = caller.begin("/t.T/Reverse")
    assert caller.ask(do="send", id=id, message="x" * 1000, count=500)["sent"] == 500
    caller.ask(do="finish", id=id)
    assert caller.ask(do="count", id=id)["count"] == 500


def test_streams_beside_each_other(server, caller):
    ids = [caller.begin("/t.T/Chat") for _ in range(10)]
    for id in ids:
        assert caller.ask(do="send", id=id, message=f"call {id}")["sent"] == 1
    for id in reversed(ids):
        assert caller.ask(do="next", id=id)["message"] == f"call {id}"
    got = caller.unary(message="beside")
    assert (got["message"], got["opened"]) == ("beside", 1)


def test_threads_share_a_channel(server, caller):
    got = caller.ask(do="crowd", path="/t.T/Echo", threads=8, count=50)
    assert (got["right"], got["opened"]) == (400, 1)


@pytest.mark.parametrize(
    "way, path, texts",
    [
        ("unary", "/t.T/Echo", ["text"]),
        ("both", "/t.T/Chat", ["text"] * 3),
    ],
)
def test_messages_of_protocol_buffers(server, caller, way, path, texts):
    got = caller.ask(do="typed", way=way, path=path, message="text")
    assert (got["texts"], got["code"]) == (texts, "OK")


@pytest.mark.parametrize("gzip", [{}, {"gzip": 1}])
def test_compression(server, caller, gzip):
    got = caller.unary("/t.T/Echo", "abc" * 1000, **gzip)
    assert got["message"] == "abc" * 1000
    got = caller.unary("/t.T/Packed", "0123456789", **gzip)
    assert got["message"] == "0123456789" * 1000


def test_the_deadline_is_sent(server, caller):
    left = float(caller.unary("/t.T/Left", timeout_ms=5_000)["message"])
    assert 3 < left <= 5.1
    # grpcio says a year and more for none.
    assert float(caller.unary("/t.T/Left", timeout_ms=-1)["message"]) > 1e6


def test_over_tls(caller, certs):
    credentials = grpc.ssl_server_credentials(
        [((certs / "good.key").read_bytes(), (certs / "good_chain.pem").read_bytes())]
    )
    server = Server(credentials)
    caller.channel(server.url, ca_file=str(certs / "root.pem"), token="secret")
    got = caller.unary(message="hidden")
    assert got["message"] == "hidden", got
    seen = dict(server.service.seen)
    assert seen["authorization"] == "Bearer secret"
    assert seen["x-asked-for"] == f"{server.url}/t.T /t.T/Echo"
    caller.channel(server.url, ca_file=str(certs / "root.pem"), token="none")
    got = caller.unary()
    assert (got["code"], got["text"]) == ("UNAUTHENTICATED", "the token is over")
    # Nobody vouches for it.
    caller.channel(server.url)
    assert caller.unary()["code"] == "UNAVAILABLE"
    server.stop()


def test_credentials_need_tls(server, caller):
    caller.channel(server.url, token="secret")
    got = caller.unary()
    assert got["code"] == "UNAUTHENTICATED" and "TLS" in got["text"]


# What fails at a server that follows the rules.


def test_a_status_and_its_message(server, caller):
    got = caller.unary("/t.T/Fail")
    assert (got["code"], got["text"]) == ("NOT_FOUND", "niemand da: 100 %, wirklich ☂")
    assert got["trailers"] == ["x-why: so"]


def test_details(server, caller):
    got = caller.unary("/t.T/Details")
    assert (got["code"], got["text"]) == ("FAILED_PRECONDITION", "why")
    assert got["details"] == ["type.googleapis.com/google.protobuf.StringValue 6"]


def test_a_method_that_raises(server, caller):
    assert caller.unary("/t.T/Crash")["code"] == "UNKNOWN"


def test_a_method_that_is_not_there(server, caller):
    assert caller.unary("/t.T/Nothing")["code"] == "UNIMPLEMENTED"


def test_the_server_has_heard_enough(server, caller):
    """It ends the call while messages go: `send` tells, and `next` says why."""
    id = caller.begin("/t.T/Early", CLIENT)
    for _ in range(10_000):
        if not caller.ask(do="send", id=id, message="m" * 1000, count=10)["sent"]:
            break
    else:
        raise AssertionError("the client sends on")
    got = caller.ask(do="next", id=id)
    assert (got["code"], got["text"]) == ("ABORTED", "enough")
    assert caller.ask(do="next", id=id)["code"] == "ABORTED"


def test_a_deadline_here(server, caller):
    start = time.monotonic()
    id = caller.begin("/t.T/Stall", SERVER, timeout_ms=2_000)
    caller.ask(do="send", id=id)
    assert caller.ask(do="next", id=id)["message"] == "first"
    assert caller.ask(do="next", id=id)["code"] == "DEADLINE_EXCEEDED"
    assert time.monotonic() - start < 10
    assert server.service.ended.wait(WAIT_S)


def test_time_that_is_over_before(server, caller):
    assert caller.unary(timeout_ms=0)["code"] == "DEADLINE_EXCEEDED"


def test_cancelled_by_its_caller(server, caller):
    id = caller.begin("/t.T/Stall", SERVER)
    caller.ask(do="send", id=id)
    assert caller.ask(do="next", id=id)["message"] == "first"
    caller.ask(do="cancel", id=id)
    assert server.service.ended.wait(WAIT_S)
    assert caller.ask(do="next", id=id)["code"] == "CANCELLED"


def test_cancelled_from_another_thread(server, caller):
    id = caller.begin("/t.T/Deaf", SERVER)
    caller.ask(do="send", id=id)
    got = caller.ask(do="next", id=id, cancel_after_ms=200)
    assert got["code"] == "CANCELLED"
    assert server.service.ended.wait(WAIT_S)


def test_a_call_that_is_dropped_ends(server, caller):
    id = caller.begin("/t.T/Stall", SERVER)
    caller.ask(do="send", id=id)
    assert caller.ask(do="next", id=id)["message"] == "first"
    caller.ask(do="drop", id=id)
    assert server.service.ended.wait(WAIT_S)
    assert caller.unary(message="goes on")["message"] == "goes on"


def test_messages_that_are_too_long(server, caller):
    got = caller.unary(message="x", times=5_000_000, max_receive_len=100)
    # The server's own bound, of 4 MiB, is met first.
    assert got["code"] == "RESOURCE_EXHAUSTED"
    got = caller.unary("/t.T/Echo", "x" * 101, max_receive_len=100)
    assert got["code"] == "RESOURCE_EXHAUSTED" and "101 bytes" in got["text"]
    # Compressed it is short.
    got = caller.unary("/t.T/Packed", "0123456789", max_receive_len=1_000)
    assert got["code"] == "RESOURCE_EXHAUSTED" and "decompressed" in got["text"]
    caller.channel(server.url, max_send_len=10)
    got = caller.unary(message="x" * 11)
    assert got["code"] == "RESOURCE_EXHAUSTED" and "11 bytes" in got["text"]


def test_nobody_listens(caller):
    caller.channel("http://127.0.0.1:1")
    got = caller.unary()
    assert got["code"] == "UNAVAILABLE" and "refused" in got["text"]


def test_a_call_waits_until_the_server_is_ready(caller):
    """The port is free until the server is there."""
    with socket.create_server(("127.0.0.1", 0)) as first:
        port = first.getsockname()[1]
    caller.channel(f"http://127.0.0.1:{port}")
    late = []

    def start() -> None:
        service = Service()
        server = grpc.server(ThreadPoolExecutor(2), (service,))
        assert server.add_insecure_port(f"127.0.0.1:{port}") == port
        server.start()
        late.append(server)

    timer = threading.Timer(0.5, start)
    timer.start()
    got = caller.unary(message="at last", wait_for_ready=True, timeout_ms=15_000)
    timer.join()
    assert got["code"] == "OK" and got["message"] == "at last", got
    late[0].stop(0).wait(WAIT_S)


def test_waiting_for_a_server_ends(caller):
    caller.channel("http://127.0.0.1:1")
    start = time.monotonic()
    got = caller.unary(wait_for_ready=True, timeout_ms=400)
    assert got["code"] == "DEADLINE_EXCEEDED"
    assert 0.3 < time.monotonic() - start < 10


def test_waiting_for_a_server_is_cancelled(caller):
    caller.channel("http://127.0.0.1:1")
    id = caller.begin("/t.T/Chat", wait_for_ready=True)
    got = caller.ask(do="next", id=id, cancel_after_ms=200)
    assert got["code"] == "CANCELLED", got


def test_the_first_address_that_answers(server, caller):
    caller.channel("http://127.0.0.1:1", server.url)
    for _ in range(3):
        got = caller.unary(message="second")
        # The other one is not tried again: one connection, and one that failed.
        assert (got["message"], got["opened"]) == ("second", 2)


def test_a_host_that_is_silent_is_left_for_the_next(server, caller):
    """load-balancing.md of gRPC, "pick_first": a call whose time is over before there
    is a connection takes the next one elsewhere."""
    silent = socket.socket()
    silent.bind(("127.0.0.1", 0))
    silent.listen(0)
    # Its queue is full with one: who connects waits.
    with silent, socket.create_connection(silent.getsockname()):
        caller.channel(f"http://127.0.0.1:{silent.getsockname()[1]}", server.url)
        assert caller.unary(message="one", timeout_ms=500)["code"] == "DEADLINE_EXCEEDED"
        # Less than the ten seconds that it takes to give a host up.
        got = caller.unary(message="two", timeout_ms=9_000)
    assert (got["code"], got["message"]) == ("OK", "two"), got


def test_each_address_in_turn(server, caller):
    other = Server()
    service = '{"loadBalancingConfig": [{"round_robin": {}}]}'
    caller.channel(server.url, other.url, "http://127.0.0.1:1", service=service)
    counts = []
    for _ in range(9):
        server.service.seen, other.service.seen = [], []
        assert caller.unary(message="turn")["message"] == "turn"
        counts.append(bool(server.service.seen))
    # The turns of the one that is not there go to the others.
    assert min(counts.count(True), counts.count(False)) >= 3
    other.stop()


# Servers that break every rule.


def trailers(peer: Http2Peer, stream: int, *fields) -> None:
    peer.send(frame(HEADERS, END_HEADERS | END_STREAM, stream, block(*fields)))


def said(*fields, octets: bytes = b"", head=(GRPC,), status: int = 200):
    """Makes a handler that answers every call so."""

    def handle(peer: Http2Peer) -> None:
        while True:
            stream = peer.request()
            peer.head(stream, *head, status=status)
            if octets:
                peer.data(stream, octets, ends=not fields)
            if fields:
                trailers(peer, stream, *fields)

    return handle


OK = ("grpc-status", "0")
ROWS = {
    "good": (said(OK, octets=message(b"m")), "OK", ""),
    "cut prefix": (said(OK, octets=b"\0\0\0"), "INTERNAL", "3 bytes into a message"),
    "cut message": (said(OK, octets=message(b"abc")[:-1]), "INTERNAL", "7 bytes into"),
    "long message": (said(octets=b"\0\xff\xff\xff\xff"), "RESOURCE_EXHAUSTED", "4294967295"),
    "flag of two": (said(OK, octets=message(b"m", 2)), "INTERNAL", "first octet is 2"),
    "flag without coding": (said(OK, octets=message(b"m", 1)), "INTERNAL", "no coding"),
    "no gzip": (
        said(OK, octets=message(b"m", 1), head=(GRPC, ("grpc-encoding", "gzip"))),
        "INTERNAL", "compressed message",
    ),
    "unknown coding": (
        said(OK, octets=message(b"m"), head=(GRPC, ("grpc-encoding", "br"))),
        "INTERNAL", "'br'",
    ),
    "no trailers": (said(octets=message(b"m")), "INTERNAL", "without a status"),
    "no status": (said(("x-y", "z"), octets=message(b"m")), "UNKNOWN", "no grpc-status"),
    "garbage status": (said(("grpc-status", "zero"), octets=message(b"m")), "UNKNOWN", ""),
    "status of 99": (said(("grpc-status", "99"), octets=message(b"m")), "UNKNOWN", ""),
    "garbage message": (
        said(("grpc-status", "3"), ("grpc-message", "%zz%4")), "INVALID_ARGUMENT", "%zz%4",
    ),
    "garbage details": (
        said(("grpc-status", "3"), ("grpc-status-details-bin", "!!")), "INVALID_ARGUMENT", "",
    ),
    "no message": (said(OK), "UNIMPLEMENTED", "without the message"),
    "two messages": (said(OK, octets=message(b"m") * 2), "UNIMPLEMENTED", "more than the one"),
    "404": (said(octets=b"<p>", head=(("content-type", "text/html"),), status=404),
            "UNIMPLEMENTED", "404"),
    "503": (said(octets=b"<p>", head=(("content-type", "text/html"),), status=503),
            "UNAVAILABLE", "503"),
    "302": (said(octets=b"<p>", head=(("location", "/x"),), status=302), "UNKNOWN", "302"),
    "wrong type": (said(octets=b"{}", head=(("content-type", "application/json"),)),
                   "UNKNOWN", "application/json"),
}  # fmt: skip


@pytest.mark.parametrize("kind", ["unary", "stream"])
@pytest.mark.parametrize("name", ROWS)
def test_what_a_server_may_not_say(caller, name, kind):
    handle, code, text = ROWS[name]
    server = RawServer(speaking(handle))
    caller.channel(server.url)
    if kind == "unary":
        got = caller.unary()
        assert got["code"] == code and text in got["text"], got
    else:
        id = caller.begin("/t.T/Chat")
        caller.ask(do="send", id=id, message="m")
        got = caller.ask(do="count", id=id)
        # Any number of messages is good there.
        if name in ("no message", "two messages"):
            code, text = "OK", ""
        assert got["code"] == code and text in got["text"], got
    server.close()


def test_trailers_only(caller):
    def handle(peer: Http2Peer) -> None:
        while True:
            stream = peer.request()
            fields = [GRPC, ("grpc-status", "7"), ("grpc-message", "no"), ("x-y", "z")]
            peer.head(stream, *fields, ends=True)

    server = RawServer(speaking(handle))
    caller.channel(server.url)
    got = caller.unary()
    assert (got["code"], got["text"], got["trailers"]) == (
        "PERMISSION_DENIED", "no", ["x-y: z"],
    )  # fmt: skip
    server.close()


@pytest.mark.parametrize(
    "number, code",
    [
        (NO_ERROR, "INTERNAL"),
        (PROTOCOL_ERROR, "INTERNAL"),
        (INTERNAL_ERROR, "INTERNAL"),
        (REFUSED_STREAM, "UNAVAILABLE"),
        (CANCEL, "CANCELLED"),
        (ENHANCE_YOUR_CALM, "RESOURCE_EXHAUSTED"),
        (12, "PERMISSION_DENIED"),
    ],
)
def test_streams_that_are_reset(caller, number, code):
    """Amid the response, where nothing is repeated."""

    def handle(peer: Http2Peer) -> None:
        while True:
            stream = peer.request()
            peer.head(stream, GRPC)
            peer.data(stream, message(b"first"), ends=False)
            peer.reset(stream, number)

    server = RawServer(speaking(handle))
    caller.channel(server.url)
    id = caller.begin("/t.T/Chat")
    caller.ask(do="send", id=id, message="m")
    got = caller.ask(do="count", id=id)
    assert (got["count"], got["code"]) == (1, code), got
    server.close()


def test_goaway_amid_a_stream(caller):
    """What the server has begun with goes on; the next call has a new
    connection."""

    def handle(peer: Http2Peer) -> None:
        stream = peer.request()
        peer.head(stream, GRPC)
        peer.data(stream, message(b"first"), ends=False)
        peer.goaway(stream)
        peer.data(stream, message(b"second"), ends=False)
        trailers(peer, stream, OK)
        peer.drain()

    server = RawServer(speaking(handle))
    caller.channel(server.url)
    for _ in range(2):
        id = caller.begin("/t.T/Chat")
        caller.ask(do="send", id=id, message="m")
        got = caller.ask(do="count", id=id)
        assert (got["count"], got["code"]) == (2, "OK"), got
    assert server.connection_count == 2
    server.close()


def test_goaway_before_a_call_was_begun(caller):
    """Nothing was done with it: it goes to a new connection."""

    def handle(peer: Http2Peer) -> None:
        stream = peer.request()
        if peer.connection.number == 1:
            peer.goaway(0)
            peer.drain()
            return
        peer.head(stream, GRPC)
        peer.data(stream, message(b"second"), ends=False)
        trailers(peer, stream, OK)
        peer.drain()

    server = RawServer(speaking(handle))
    caller.channel(server.url)
    assert caller.unary()["message"] == "second"
    server.close()


@pytest.mark.parametrize("at", ["head", "message"])
def test_connections_that_break(caller, at):
    def handle(peer: Http2Peer) -> None:
        stream = peer.request()
        if at == "message":
            peer.head(stream, GRPC)
            peer.data(stream, message(b"abc")[:-1], ends=False)

    server = RawServer(speaking(handle))
    caller.channel(server.url)
    assert caller.unary()["code"] == "UNAVAILABLE"
    server.close()


@pytest.mark.parametrize("at", ["preface", "head", "message", "status"])
def test_a_server_that_stalls(caller, at):
    """The deadline is kept here, and the stream is ended."""
    ended = threading.Event()

    def run(connection) -> None:
        if at == "preface":
            connection.sock.recv(1 << 16)
            connection.sock.recv(1 << 16)
            return
        peer = Http2Peer(connection)
        peer.begin()
        stream = peer.request()
        if at != "head":
            peer.head(stream, GRPC)
            octets = message(b"abc")
            peer.data(stream, octets if at == "status" else octets[:6], ends=False)
        assert peer.until(RST_STREAM).code == CANCEL
        ended.set()

    server = RawServer(run)
    caller.channel(server.url)
    start = time.monotonic()
    # Time to get so far.
    got = caller.unary(timeout_ms=1_500)
    assert got["code"] == "DEADLINE_EXCEEDED", got
    assert time.monotonic() - start < 10
    if at != "preface":
        assert ended.wait(WAIT_S)
    server.close()


def test_silence_without_a_deadline_ends(caller):
    def handle(peer: Http2Peer) -> None:
        peer.head(peer.request(), GRPC)
        peer.drain()

    server = RawServer(speaking(handle))
    caller.channel(server.url, idle_timeout_ms=300)
    id = caller.begin("/t.T/Chat")
    caller.ask(do="send", id=id, message="m")
    got = caller.ask(do="next", id=id)
    assert got["code"] == "DEADLINE_EXCEEDED", got
    server.close()


def test_a_server_that_takes_nothing(caller):
    """Its window is shut, and stays so."""

    def handle(peer: Http2Peer) -> None:
        peer.request()
        peer.drain()

    server = RawServer(speaking(handle))
    caller.channel(server.url)
    id = caller.begin("/t.T/Chat", timeout_ms=400)
    assert caller.ask(do="send", id=id, message="m", times=100_000)["sent"] == 0
    assert caller.ask(do="next", id=id)["code"] == "DEADLINE_EXCEEDED"
    server.close()


def test_no_http2(caller):
    server = RawServer(answering(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
    caller.channel(server.url)
    got = caller.unary()
    assert got["code"] in ("UNAVAILABLE", "INTERNAL"), got
    server.close()


# Calls that begin anew (A6).


def policy(**more) -> str:
    retry = {
        "maxAttempts": 4, "initialBackoff": "0.01s", "maxBackoff": "0.05s",
        "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE"], **more,
    }  # fmt: skip
    method = {"name": [{"service": "t.T"}], "retryPolicy": retry}
    return json.dumps({"methodConfig": [method]})


class Flaky:
    """Answers by a script, and notes the content and the fields of each call."""

    def __init__(self, *answers) -> None:
        self.answers = list(answers)
        self.contents: list[bytes] = []
        self.attempts: list[str | None] = []
        self.server = RawServer(speaking(self.handle))
        self.url = self.server.url

    def handle(self, peer: Http2Peer) -> None:
        decoder = Decoder()
        while True:
            stream = peer.request()
            fields = dict(decoder.decode(peer.seen[-1].payload))
            self.attempts.append(fields.get("grpc-previous-rpc-attempts"))
            tunnel = Tunnel(peer, stream)
            while not tunnel.has_end:
                tunnel.read()
            self.contents.append(tunnel.buffer)
            number = min(len(self.contents), len(self.answers)) - 1
            self.answers[number](peer, stream)


def refuses(*fields):
    def answer(peer: Http2Peer, stream: int) -> None:
        peer.head(stream, GRPC, ("grpc-status", "14"), *fields, ends=True)

    return answer


def succeeds(peer: Http2Peer, stream: int) -> None:
    peer.head(stream, GRPC)
    peer.data(stream, message(b"done"), ends=False)
    trailers(peer, stream, OK)


def fails_late(peer: Http2Peer, stream: int) -> None:
    peer.head(stream, GRPC)
    trailers(peer, stream, ("grpc-status", "14"))


def resets(peer: Http2Peer, stream: int) -> None:
    peer.reset(stream, REFUSED_STREAM)


def test_what_is_refused_begins_anew(caller):
    flaky = Flaky(refuses(), refuses(), succeeds)
    caller.channel(flaky.url, service=policy())
    got = caller.unary(message="m")
    assert (got["code"], got["message"]) == ("OK", "done")
    assert flaky.contents == [message(b"m")] * 3
    assert flaky.attempts == [None, "1", "2"]


def test_a_stream_begins_anew_with_all_messages(caller):
    flaky = Flaky(refuses(), succeeds)
    caller.channel(flaky.url, service=policy())
    id = caller.begin("/t.T/Sum", CLIENT)
    for text in ("a", "b", "c"):
        assert caller.ask(do="send", id=id, message=text)["sent"] == 1
    caller.ask(do="finish", id=id)
    assert caller.ask(do="next", id=id)["message"] == "done"
    whole = message(b"a") + message(b"b") + message(b"c")
    assert flaky.contents == [whole, whole]


def test_attempts_end(caller):
    flaky = Flaky(refuses())
    caller.channel(flaky.url, service=policy())
    assert caller.unary()["code"] == "UNAVAILABLE"
    assert len(flaky.contents) == 4


def test_no_policy_no_repetition(caller):
    flaky = Flaky(refuses(), succeeds)
    caller.channel(flaky.url)
    assert caller.unary()["code"] == "UNAVAILABLE"
    assert len(flaky.contents) == 1


def test_a_head_commits(caller):
    """Behind a response's head nothing begins anew, whatever follows."""
    flaky = Flaky(fails_late, succeeds)
    caller.channel(flaky.url, service=policy())
    assert caller.unary()["code"] == "UNAVAILABLE"
    assert len(flaky.contents) == 1


def test_much_commits(caller):
    """More than 256 KiB are not kept."""
    flaky = Flaky(refuses(), succeeds)
    caller.channel(flaky.url, service=policy())
    id = caller.begin("/t.T/Sum", CLIENT)

    for _ in range(3):
        caller.ask(do="send", id=id, message="x" * 1000, times=100)
    caller.ask(do="finish", id=id)
    assert caller.ask(do="next", id=id)["code"] == "UNAVAILABLE"
    assert len(flaky.contents) == 1


@pytest.mark.parametrize("value, count", [("0", 4), ("5", 4), ("-1", 1), ("x", 1)])
def test_the_server_says_when_to_come_again(caller, value, count):
    flaky = Flaky(refuses(("grpc-retry-pushback-ms", value)))
    caller.channel(flaky.url, service=policy())
    assert caller.unary()["code"] == "UNAVAILABLE"
    assert len(flaky.contents) == count


def test_a_pause_beyond_the_deadline_is_not_begun(caller):
    flaky = Flaky(refuses(("grpc-retry-pushback-ms", "60000")))
    caller.channel(flaky.url, service=policy())
    start = time.monotonic()
    assert caller.unary(timeout_ms=30_000)["code"] == "UNAVAILABLE"
    assert time.monotonic() - start < 20
    assert len(flaky.contents) == 1


def test_connections_that_are_lost_count(caller):
    flaky = Flaky(lambda peer, stream: peer.connection.sock.shutdown(2), succeeds)
    caller.channel(flaky.url, service=policy())
    assert caller.unary()["message"] == "done"
    assert len(flaky.contents) == 2


def test_what_was_not_begun_needs_no_policy(caller):
    flaky = Flaky(resets, succeeds)
    caller.channel(flaky.url)
    assert caller.unary()["message"] == "done"

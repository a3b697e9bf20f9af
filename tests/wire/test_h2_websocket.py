"""WebSocket over HTTP/2 (RFC 8441): the same routes, each on a stream."""

import os
import signal
import struct
import zlib

import pytest
from conftest import Server, shown, wait_until
from h2_client import (
    CANCEL,
    ENABLE_CONNECT,
    INITIAL_WINDOW,
    NO_ERROR,
    PROTOCOL_ERROR,
    STREAM_CLOSED,
    H2Client,
    encode,
    reset,
)
from raw_ws import frame
from wire_programs import built

TEXT, BINARY, CLOSE, PING, PONG, FIN, RSV1 = 1, 2, 8, 9, 10, 0x80, 0x40


def running(*arguments: str):
    server = Server(built("ws_server"), ["close_timeout_ms=500", "compression=1", *arguments])
    yield server
    assert server.is_alive(), "the server died during the tests"
    assert server.stop() == 0


@pytest.fixture(scope="module")
def echo():
    yield from running()


@pytest.fixture(scope="module")
def threads():
    yield from running("handler_threads=2")


@pytest.fixture
def start():
    servers = []

    def begin(*arguments: str) -> Server:
        servers.append(Server(built("ws_server"), list(arguments)))
        return servers[-1]

    yield begin
    for server in servers:
        assert server.is_alive(), "the server died during the test"
        assert server.stop() == 0


class Socket:
    """A WebSocket on a stream."""

    def __init__(self, client: H2Client, path: str = "/ws", fields=(), early: bytes = b"") -> None:
        self.client = client
        self.stream = open_stream(client, path, fields)
        if early:
            client.data(self.stream, early)
        client.until(lambda: self.answer.status or self.answer.is_over)

    @property
    def answer(self):
        from h2_client import Answer

        return self.client.answers.get(self.stream) or Answer()

    def send(self, octets: bytes, ends: bool = False) -> None:
        """Sends octets as the windows allow."""
        sent = 0
        while sent < len(octets) or (ends and not octets):
            room = min(self.client.room, self.client.room_of(self.stream), 16_384)
            if room <= 0:
                if self.answer.is_over:
                    # Nobody opens a window any more for what nobody hears.
                    return
                self.client.take_frame()
                continue
            piece = octets[sent : sent + room]
            sent += len(piece)
            self.client.data(self.stream, piece, ends and sent == len(octets))
            if not octets:
                return

    def receive(self) -> tuple[int, bytes]:
        """First octet and payload of the next frame."""
        head = self._take(2)
        length = head[1]
        assert length < 128, "a server does not mask"
        if length == 126:
            (length,) = struct.unpack("!H", self._take(2))
        elif length == 127:
            (length,) = struct.unpack("!Q", self._take(8))
        return head[0], self._take(length)

    def _take(self, count: int) -> bytes:
        self.client.until(lambda: len(self.answer.body) >= count or self.answer.is_over)
        taken, self.answer.body = self.answer.body[:count], self.answer.body[count:]
        assert len(taken) == count, "the stream is over"
        return taken


def open_stream(client: H2Client, path: str, fields=(), protocol: str = "websocket") -> int:
    # RFC 8441 section 3: not before the server has said so.
    client.until(lambda: client.settings)
    pseudo = [
        (":method", "CONNECT"), (":protocol", protocol), (":scheme", "http"),
        (":path", path), (":authority", "test"), ("sec-websocket-version", "13"),
    ]  # fmt: skip
    return client.headers(encode([*pseudo, *fields]), ends=False)


def close_frame(code: int, reason: bytes = b"") -> bytes:
    return frame(FIN | CLOSE, struct.pack("!H", code) + reason)


def closed_lines(server) -> list[str]:
    return [line for line in server.stderr().splitlines() if line.startswith("closed")]


def test_it_is_offered_where_a_route_speaks_it(echo, probe):
    with H2Client(echo) as client:
        client.settle()
        assert client.settings[ENABLE_CONNECT] == 1
    with H2Client(probe) as client:
        client.settle()
        assert ENABLE_CONNECT not in client.settings
        # RFC 9113 section 8.1.1: there the field makes the request malformed.
        assert client.answer(open_stream(client, "/")).reset == PROTOCOL_ERROR


@pytest.mark.parametrize("path", ["/ws", "/blocking"])
@pytest.mark.parametrize("server", ["echo", "threads"])
def test_echo_of_all_sizes(request, server, path):
    with H2Client(request.getfixturevalue(server)) as client:
        ws = Socket(client, path)
        assert ws.answer.status == 200
        # RFC 8441 section 5: these belong to HTTP/1.1.
        assert not {"upgrade", "connection", "sec-websocket-accept"} & set(ws.answer.fields)
        for size in (0, 1, 125, 126, 65_535, 65_536, 70_000, 1_000_000):
            octets = os.urandom(size)
            ws.send(frame(FIN | BINARY, octets))
            assert ws.receive() == (FIN | BINARY, octets)
        ws.send(frame(FIN | PING, b"p"))
        assert ws.receive() == (FIN | PONG, b"p")


def test_octet_by_octet_and_in_fragments(echo):
    with H2Client(echo) as client:
        ws = Socket(client)
        octets = frame(TEXT, b"in ") + frame(0, b"frag") + frame(FIN | PING, b"p") + frame(FIN, b"ments")
        for octet in octets:
            ws.send(bytes([octet]))
        assert ws.receive() == (FIN | PONG, b"p")
        assert ws.receive() == (FIN | TEXT, b"in fragments")


def test_compressed(echo):
    with H2Client(echo) as client:
        ws = Socket(client, fields=[("sec-websocket-extensions", "permessage-deflate")])
        assert ws.answer.fields["sec-websocket-extensions"].startswith("permessage-deflate")
        packer = zlib.compressobj(wbits=-15)
        unpacker = zlib.decompressobj(wbits=-15)
        for text in (b"hello " * 100, b"hello " * 1000):
            packed = packer.compress(text) + packer.flush(zlib.Z_SYNC_FLUSH)
            ws.send(frame(FIN | RSV1 | TEXT, packed.removesuffix(b"\0\0\xff\xff")))
            first, payload = ws.receive()
            assert first == FIN | RSV1 | TEXT and len(payload) < 200
            assert unpacker.decompress(payload + b"\0\0\xff\xff") == text


def test_subprotocol(start):
    server = start("subprotocol=chat")
    with H2Client(server) as client:
        ws = Socket(client, fields=[("sec-websocket-protocol", "soap, chat")])
        assert ws.answer.fields["sec-websocket-protocol"] == "chat"


@pytest.mark.parametrize(
    "origin, status", [("http://test", 200), ("http://evil", 403), ("https://test", 403)]
)
def test_origins(echo, origin, status):
    with H2Client(echo) as client:
        assert Socket(client, fields=[("origin", origin)]).answer.status == status


@pytest.mark.parametrize(
    "path, protocol, version, status",
    [
        ("/ws", "connect-udp", "13", 501),  # RFC 8441 section 5
        ("/", "websocket", "13", 501),  # a route that does not speak it
        ("/none", "websocket", "13", 404),
        ("/ws", "websocket", "8", 426),  # RFC 6455 section 4.2.2
        ("/ws", "WebSocket", "13", 200),  # RFC 9110 section 7.8
    ],
)
def test_what_is_refused(echo, path, protocol, version, status):
    with H2Client(echo) as client:
        client.until(lambda: client.settings)
        pseudo = [
            (":method", "CONNECT"), (":protocol", protocol), (":scheme", "http"),
            (":path", path), (":authority", "test"), ("sec-websocket-version", version),
        ]  # fmt: skip
        stream = client.headers(encode(pseudo), ends=False)
        client.until(lambda: stream in client.answers and client.answers[stream].status)
        assert client.answers[stream].status == status
        if status == 426:
            assert client.answers[stream].fields["sec-websocket-version"] == "13"


def test_a_plain_get_opens_nothing(echo):
    with H2Client(echo) as client:
        assert client.get("/ws", fields=[("sec-websocket-version", "13")]).status == 400
        # RFC 9113 section 8.2.2: this field makes a request malformed.
        assert client.get("/ws", fields=[("upgrade", "websocket")]).reset == PROTOCOL_ERROR


@pytest.mark.parametrize("code", [1000, 1001, 4999])
def test_a_client_closes(echo, code):
    with H2Client(echo) as client:
        ws = Socket(client)
        ws.send(close_frame(code, b"bye"))
        assert ws.receive() == (FIN | CLOSE, struct.pack("!H", code))
        client.until(lambda: ws.answer.ended)
        assert ws.answer.reset is None
        assert wait_until(lambda: f"closed {code} bye" in echo.stderr())
        # The client may end the other direction whenever it likes.
        ws.send(b"", ends=True)
        assert client.get("/").body == b"hello"


def test_the_server_closes(echo):
    with H2Client(echo) as client:
        ws = Socket(client)
        ws.send(frame(FIN | TEXT, b"close"))
        assert ws.receive() == (FIN | CLOSE, struct.pack("!H", 4001) + b"as you say")
        ws.send(close_frame(4001))
        client.until(lambda: ws.answer.ended)


def test_a_broken_rule_closes(echo):
    with H2Client(echo) as client:
        ws = Socket(client)
        ws.send(frame(FIN | TEXT, b"\xff"))
        assert ws.receive()[1][:2] == struct.pack("!H", 1007)
        client.until(lambda: ws.answer.ended)


def test_a_handler_that_fails(echo):
    with H2Client(echo) as client:
        ws = Socket(client)
        ws.send(frame(FIN | TEXT, b"fail"))
        assert ws.receive() == (FIN | CLOSE, struct.pack("!H", 1011))
    assert "a WebSocket handler failed: it failed" in echo.stderr()
    with H2Client(echo) as client:
        assert Socket(client, "/ws?refuse").answer.status == 500


@pytest.mark.parametrize("how", ["reset", "end", "connection"])
def test_a_client_that_goes_without_closing(start, how):
    server = start()
    with H2Client(server) as client:
        ws = Socket(client)
        ws.send(frame(FIN | TEXT, b"hello"))
        assert ws.receive() == (FIN | TEXT, b"hello")
        if how == "reset":
            client.send(reset(ws.stream))
        elif how == "end":
            ws.send(b"", ends=True)
            client.until(lambda: ws.answer.ended)
        if how != "connection":
            assert wait_until(lambda: closed_lines(server) == ["closed 1006 "])
            assert client.get("/").body == b"hello"
    assert wait_until(lambda: closed_lines(server) == ["closed 1006 "])


def test_content_behind_a_reset_ends_the_connection(echo):
    """RFC 9113 section 5.1: a stream that its own peer has closed."""
    with H2Client(echo) as client, H2Client(echo) as other:
        ws, second = Socket(client), Socket(other)
        client.send(reset(ws.stream))
        client.data(ws.stream, frame(FIN | TEXT, b"x"))
        assert client.end().code == STREAM_CLOSED
        second.send(frame(FIN | TEXT, b"hello"))
        assert second.receive() == (FIN | TEXT, b"hello")


def test_fields_on_an_open_tunnel_end_it(echo):
    """RFC 9113 section 8.5: nothing but DATA."""
    with H2Client(echo) as client:
        ws = Socket(client)
        client.headers(encode([("x-a", "b")]), ends=True, stream=ws.stream)
        client.until(lambda: ws.answer.reset is not None)
        assert ws.answer.reset == PROTOCOL_ERROR
        assert client.get("/").body == b"hello"


def test_what_comes_before_the_answer_is_heard(threads):
    with H2Client(threads) as client:
        ws = Socket(client, "/blocking", early=frame(FIN | TEXT, b"early"))
        assert ws.receive() == (FIN | TEXT, b"early")


def test_a_refusal_ends_the_stream(echo):
    with H2Client(echo) as client:
        ws = Socket(client, "/none")
        client.until(lambda: ws.answer.is_over)
        assert ws.answer.reset in (None, NO_ERROR)


def test_many_on_one_connection_and_rooms(echo):
    with H2Client(echo) as client, H2Client(echo) as other:
        members = [Socket(client, "/ws?room") for _ in range(20)]
        members.append(Socket(other, "/ws?room"))
        members[0].send(frame(FIN | TEXT, b"all:news"))
        for ws in members:
            assert ws.receive() == (FIN | TEXT, b"news")
        assert members[0].receive() == (FIN | TEXT, b"sent to 21")
        assert client.get("/").body == b"hello"


def test_a_slow_reader_is_not_heard_until_it_reads(start):
    """Answers wait for the windows, and the client with them."""
    server = start()
    with H2Client(server, {INITIAL_WINDOW: 1000}) as client:
        client.grants = False
        ws = Socket(client)
        message = frame(FIN | BINARY, b"y" * 3000)
        ws.send(message)
        client.settle()
        assert len(ws.answer.body) == 1000
        room = client.room_of(ws.stream)
        for _ in range(15):
            client.data(ws.stream, message)
        client.settle()
        # It is not heard: the server has not given the room back.
        assert client.room_of(ws.stream) == room - 15 * len(message)
        assert len(ws.answer.body) == 1000
        # Others are served meanwhile.
        assert client.get("/").body == b"hello"
        client.grants = True
        client.grant(0, 100_000)
        client.grant(ws.stream, 100_000)
        for _ in range(16):
            assert ws.receive() == (FIN | BINARY, b"y" * 3000)
        assert client.room_of(ws.stream) > room - 32_768


def test_a_shut_window_does_not_keep_a_close_from_being_heard(start):
    server = start()
    with H2Client(server, {INITIAL_WINDOW: 0}) as client:
        ws = Socket(client)
        ws.send(close_frame(1000))
        assert wait_until(lambda: closed_lines(server) == ["closed 1000 "])


def test_a_client_that_takes_nothing_is_cut_off(start):
    """stall_timeout_ms, of a client with more to be answered."""
    server = start("stall_timeout_ms=300", "write_timeout_ms=60000")
    with H2Client(server, {INITIAL_WINDOW: 1000}) as client:
        client.grants = False
        ws = Socket(client)
        # 64 KiB are made for each.
        ws.send(frame(FIN | TEXT, b"*") * 10)
        client.until(lambda: ws.answer.reset is not None)
        assert ws.answer.reset == CANCEL
        assert client.get("/").body == b"hello"


def test_a_flood_cuts_off_who_does_not_read(start):
    server = start("max_queue_size=100000")
    with H2Client(server, {INITIAL_WINDOW: 1000}) as client:
        client.grants = False
        ws = Socket(client)
        ws.send(frame(FIN | TEXT, b"flood"))
        client.until(lambda: ws.answer.reset is not None)
        assert ws.answer.reset == CANCEL
        assert client.get("/").body == b"hello"


def test_pings_of_a_silent_client(start):
    server = start("ping_interval_ms=100", "pong_timeout_ms=200")
    with H2Client(server) as client:
        ws = Socket(client)
        assert ws.receive() == (FIN | PING, b"")
        ws.send(frame(FIN | PONG, b""))
        assert ws.receive() == (FIN | PING, b"")
        # No pong: the server gives it up.
        client.until(lambda: ws.answer.is_over)
        assert wait_until(lambda: closed_lines(server) == ["closed 1006 "])


def test_a_server_that_stops_says_so(start):
    server = start()
    with H2Client(server) as client:
        ws = Socket(client)
        server.process.send_signal(signal.SIGTERM)
        assert ws.receive() == (FIN | CLOSE, struct.pack("!H", 1001) + b"the server stops")
        ws.send(close_frame(1001))
        client.until(lambda: ws.answer.ended)
        assert client.end().code == NO_ERROR
    assert server.process.wait(5) == 0
    server.is_alive = lambda: True


def test_messages_amid_the_end(start):
    """RFC 6455 section 5.5.1: none goes behind the close frame. What was answered
    before are the first of them, without a gap."""
    server = start()
    with H2Client(server) as client:
        ws = Socket(client)
        texts = [b"%05d" % number + b"x" * 1_000 for number in range(300)]
        for number, text in enumerate(texts):
            if number == 150:
                server.process.send_signal(signal.SIGTERM)
            ws.send(frame(FIN | TEXT, text))
        got = []
        while (found := ws.receive())[0] == FIN | TEXT:
            got.append(found[1])
        assert found == (FIN | CLOSE, struct.pack("!H", 1001) + b"the server stops")
        assert got == texts[: len(got)] and got
        ws.send(close_frame(1001))
        client.until(lambda: ws.answer.is_over)
        assert (ws.answer.ended, ws.answer.reset) == (True, None)
        assert client.end().code == NO_ERROR
    assert server.process.wait(5) == 0
    server.is_alive = lambda: True


def test_over_tls(start, certs):
    options = [f"{name}={value}" for name, value in shown(certs).items()]
    server = start(*options)
    with H2Client(server, tls=True) as client:
        ws = Socket(client, fields=[("origin", "https://test")])
        octets = os.urandom(200_000)
        ws.send(frame(FIN | BINARY, octets))
        assert ws.receive() == (FIN | BINARY, octets)


def test_rooms_of_both_versions_are_one(echo):
    from raw_ws import raw

    with H2Client(echo) as client, raw(echo, b"room") as old:
        ws = Socket(client, "/ws?room")
        ws.send(frame(FIN | TEXT, b"all:x"))
        assert ws.receive() == (FIN | TEXT, b"x")
        wanted = frame(FIN | TEXT, b"x", None)
        while len(old.buffer) < len(wanted):
            old._more()
        assert old.buffer == wanted


def test_streams_that_are_over_leave_nothing(start):
    """The windows of a connection come back from any number of them."""
    server = start()
    with H2Client(server) as client:
        for number in range(150):
            ws = Socket(client)
            client.data(ws.stream, frame(FIN | BINARY, b"x" * 10_000)[:9_000])
            if number % 2:
                client.send(reset(ws.stream))
            else:
                ws.send(b"", ends=True)
                client.until(lambda: ws.answer.ended)
        for _ in range(150):
            ws = Socket(client, "/none", early=b"x" * 9_000)
            assert ws.answer.status == 404
        assert client.get("/").body == b"hello"
    assert wait_until(lambda: len(closed_lines(server)) == 150)


def test_a_conversation_that_never_rests_leaves_others_their_turns(start):
    server = start("max_queue_size=1000000")
    with H2Client(server) as client:
        client.grants = False
        ws = Socket(client)
        ws.send(frame(FIN | TEXT, b"*") * 100)
        other = Socket(client)
        for _ in range(20):
            other.send(frame(FIN | TEXT, b"hi"))
            client.grant(0, 5_000)
            client.grant(ws.stream, 2_500)
            assert other.receive() == (FIN | TEXT, b"hi")

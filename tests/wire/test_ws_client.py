"""The WebSocket client against Python's websockets, and against servers that
break the rules."""

import asyncio
import base64
import hashlib
import socket
import ssl
import struct
import threading
import time
import zlib

import pytest
from conftest import wait_until
from raw_server import Connection, RawServer
from websockets.asyncio.server import serve

GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def connect(talker, url: str, **more) -> dict:
    return talker.ask(do="connect", url=url, **more)


def talk(talker, do: str, **more) -> dict:
    return talker.ask(do=do, **more)


class Echo:
    """A server of the websockets library on a thread, which echoes."""

    def __init__(self, **options) -> None:
        self.closes: list[tuple[int, str]] = []
        self.requests = []
        self.port = 0
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._options = options
        threading.Thread(target=self._run, daemon=True).start()
        assert self._ready.wait(10)

    def _run(self) -> None:
        self._loop.run_until_complete(self._serve())

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        async with serve(
            self._echo, "127.0.0.1", 0, max_size=None, **self._options
        ) as server:
            self.port = server.sockets[0].getsockname()[1]
            self._ready.set()
            await self._stop.wait()

    async def _echo(self, ws) -> None:
        self.requests.append(ws.request)
        try:
            async for message in ws:
                await ws.send(message)
        finally:
            self.closes.append((ws.close_code, ws.close_reason))

    def request(self):
        assert wait_until(lambda: self.requests)
        return self.requests[0]

    def wait_for_close(self) -> tuple[int, str]:
        assert wait_until(lambda: self.closes)
        return self.closes[-1]

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)


@pytest.fixture
def echo():
    running = []

    def start(**options) -> Echo:
        running.append(Echo(**options))
        return running[-1]

    yield start
    for server in running:
        server.close()


@pytest.mark.parametrize("compresses", [0, 1])
def test_echo(talker, echo, compresses):
    server = echo(compression="deflate")
    url = f"ws://127.0.0.1:{server.port}/chat?x=y"
    opened = connect(talker, url, compresses=compresses)
    assert "websockets" in opened["server"], opened
    request = server.request()
    assert request.path == "/chat?x=y"
    offered = request.headers.get("Sec-WebSocket-Extensions", "")
    assert ("permessage-deflate" in offered) == bool(compresses)
    for text in ["", "a", "ä€💩", "x" * 125, "y" * 126, "z" * 70_000, "w" * 3_000_000]:
        talk(talker, "send", text=text)
        assert talk(talker, "recv")["text"] == text
    for count in [0, 1, 65_535, 65_536, 1_000_000]:
        talk(talker, "send_binary", count=count)
        answer = talk(talker, "recv")
        assert (answer["is_text"], answer["length"]) == (False, count)
    talk(talker, "ping", text="are you there")
    frame = talk(talker, "frame")
    assert (frame["opcode"], frame["text"]) == ("pong", "are you there")
    talk(talker, "fragment", text="one ", code=1, count=0)
    talk(talker, "fragment", text="two ", code=0, count=0)
    talk(talker, "fragment", text="three", code=0, count=1)
    assert talk(talker, "recv")["text"] == "one two three"
    closed = talk(talker, "close", code=4001, text="enough")
    assert not closed["is_open"] and closed["closed_with"] == 4001
    assert server.wait_for_close() == (4001, "enough")
    # A second close is none, and nothing can be sent any more.
    assert "kind" not in talk(talker, "close")
    assert talk(talker, "send", text="x")["kind"] == "WsClosed"


@pytest.mark.parametrize("length", [0, 20_000])
def test_a_thread_sends_while_another_receives(talker, echo, length):
    """Also more than its queue holds."""
    server = echo()
    connect(talker, f"ws://127.0.0.1:{server.port}/")
    assert talk(talker, "type", text="n" * length, count=300)["text"] == "typed"
    talk(talker, "close")
    assert server.wait_for_close()[0] == 1000


def test_small_windows_and_no_context(talker, echo):
    server = echo(compression="deflate")
    url = f"ws://127.0.0.1:{server.port}/"
    for bits in [9, 12, 15]:
        connect(talker, url, window_bits=bits)
        for text in ["abc" * 20_000, "abc" * 20_000, "def" * 7]:
            talk(talker, "send", text=text)
            assert talk(talker, "recv")["text"] == text
        talk(talker, "close")


def test_headers_subprotocol_and_credentials(talker, echo):
    server = echo(subprotocols=["chat.v1", "other"])
    opened = connect(
        talker,
        f"ws://us%20er:secret@127.0.0.1:{server.port}/",
        subprotocols=["chat.v2", "chat.v1"],
        headers={"Origin": "http://example.com", "X-Token": "7"},
    )
    assert opened["subprotocol"] == "chat.v1"
    fields = server.request().headers
    assert (fields["Origin"], fields["X-Token"]) == ("http://example.com", "7")
    assert fields["Host"] == f"127.0.0.1:{server.port}"
    basic = base64.b64encode(b"us er:secret").decode()
    assert fields["Authorization"] == f"Basic {basic}"
    assert len(base64.b64decode(fields["Sec-WebSocket-Key"])) == 16
    # A client that is dropped says goodbye.
    talk(talker, "drop")
    assert server.wait_for_close() == (1000, "")


def test_a_with_block_closes_and_lets_errors_out(talker, echo):
    server = echo()
    url = f"ws://127.0.0.1:{server.port}/"
    assert talk(talker, "block", url=url, text="7") == {}
    assert server.wait_for_close() == (1000, "")
    server.closes.clear()
    assert "not convertible" in talk(talker, "block", url=url, text="x")["error"]
    assert server.wait_for_close() == (1001, "")


def test_tls(talker, echo, certs):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certs / "good_chain.pem", certs / "good.key")
    server = echo(ssl=context)
    url = f"wss://localhost:{server.port}/"
    refused = connect(talker, url)
    assert refused["kind"] == "TlsFailed", refused
    opened = connect(talker, url, ca_file=str(certs / "root.pem"))
    assert "kind" not in opened, opened
    for text in ["x", "y" * 300_000]:
        talk(talker, "send", text=text)
        assert talk(talker, "recv")["text"] == text
    assert talk(talker, "close")["closed_with"] == 1000
    assert server.wait_for_close() == (1000, "")


def test_a_tunnel_for_ws_too(talker, echo):
    """RFC 6455 section 4.1: CONNECT, also without TLS."""
    server = echo()
    asked = []

    def tunnel(connection: Connection) -> None:
        asked.append(connection.head())
        connection.send(b"HTTP/1.1 200 OK\r\n\r\n")
        inner = socket.create_connection(("127.0.0.1", server.port))
        pump = threading.Thread(target=copy, args=(inner, connection.sock))
        pump.start()
        copy(connection.sock, inner)
        pump.join()

    proxy = RawServer(tunnel)
    opened = connect(
        talker,
        "ws://far.test:81/",
        proxy=f"http://u:p@127.0.0.1:{proxy.port}",
    )
    assert "kind" not in opened, opened
    assert asked[0].startswith("CONNECT far.test:81 HTTP/1.1\r\n")
    assert "Proxy-Authorization: Basic dTpw" in asked[0]
    talk(talker, "send", text="through")
    assert talk(talker, "recv")["text"] == "through"
    talk(talker, "close")
    proxy.close()


def copy(source: socket.socket, dest: socket.socket) -> None:
    try:
        while piece := source.recv(65536):
            dest.sendall(piece)
        dest.shutdown(socket.SHUT_WR)
    except OSError:
        return


def accept(head: str) -> str:
    fields = dict(
        line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if line
    )
    key = next(
        line.split(": ", 1)[1]
        for line in head.split("\r\n")
        if line.lower().startswith("sec-websocket-key")
    )
    assert fields["upgrade"] == "websocket"
    digest = hashlib.sha1((key + GUID).encode()).digest()
    return base64.b64encode(digest).decode()


def switch(connection: Connection, more: str = "") -> None:
    """Answers the handshake."""
    value = accept(connection.head())
    connection.send(
        (
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Accept: {value}\r\n{more}\r\n"
        ).encode()
    )


def read_frame(connection: Connection) -> tuple[int, bytes]:
    """Reads a client's frame: its first octet, and the payload unmasked."""
    first, second = connection.take(2)
    assert second & 128, "a client masks"
    length = second & 127
    if length == 126:
        (length,) = struct.unpack(">H", connection.take(2))
    elif length == 127:
        (length,) = struct.unpack(">Q", connection.take(8))
    key = connection.take(4)
    payload = connection.take(length)
    return first, bytes(x ^ key[i % 4] for i, x in enumerate(payload))


def serving(handle):
    """Makes a server that shakes hands, then does what a test says."""

    def run(connection: Connection) -> None:
        switch(connection)
        handle(connection)

    return RawServer(run)


HOSTILE = [
    ("6455-5.2 reserved bit", b"\xc1\x00", 1002),
    ("6455-5.2 opcode", b"\x83\x00", 1002),
    ("6455-5.1 masked", b"\x81\x80\0\0\0\0", 1002),
    ("6455-5.5 long ping", b"\x89\x7e\x00\x7e" + bytes(126), 1002),
    ("6455-5.5 cut ping", b"\x09\x00", 1002),
    ("6455-5.2 overlong length", b"\x81\x7e\x00\x01a", 1002),
    ("6455-5.4 continues nothing", b"\x80\x01a", 1002),
    ("6455-5.4 text in a text", b"\x01\x01a\x81\x01b", 1002),
    ("6455-8.1 UTF-8", b"\x81\x02\xc3(", 1007),
    ("6455-8.1 UTF-8 before the frame ends", b"\x81\x7e\xff\xff\xff", 1007),
    ("6455-7.4 code", b"\x88\x02\x03\xed", 1002),
    ("6455-5.5.1 half a code", b"\x88\x01\x03", 1002),
    ("6455-10.4 frame", b"\x82\x7f" + struct.pack(">Q", (1 << 20) + 1), 1009),
    ("6455-10.4 63 bits", b"\x82\x7f" + b"\x7f" + b"\xff" * 7, 1009),
]


@pytest.mark.parametrize(
    ("octets", "code"), [row[1:] for row in HOSTILE], ids=[r[0] for r in HOSTILE]
)
def test_a_broken_rule_is_answered(talker, octets, code):
    frames = []

    def handle(connection: Connection) -> None:
        connection.send(octets)
        frames.append(read_frame(connection))

    server = serving(handle)
    connect(talker, f"ws://127.0.0.1:{server.port}/", max_frame_size=1 << 20)
    answer = talk(talker, "recv")
    assert answer["kind"] == "WsProtocolBroken", answer
    assert answer["close_code"] == code and not answer["is_open"]
    first, payload = frames[0]
    assert first == 0x88 and struct.unpack(">H", payload[:2])[0] == code
    server.close()


REFUSED = [
    ("403", "HTTP/1.1 403 Forbidden\r\nContent-Length: 3\r\n\r\nno!", "WsRefused", 403),
    ("302", "HTTP/1.1 302 Found\r\nLocation: /x\r\n\r\n", "WsRefused", 302),
    ("no HTTP", "SSH-2.0-OpenSSH\r\n\r\n", "MalformedResponse", 0),
    ("nothing", "", "NoResponse", 0),
    ("a wrong key", "HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n", "WsBadHandshake", 101),
]


@pytest.mark.parametrize(
    ("answer", "kind", "status"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED]
)
def test_a_handshake_that_fails(talker, answer, kind, status):
    def handle(connection: Connection) -> None:
        connection.head()
        connection.send(answer.encode())

    server = RawServer(handle)
    refused = connect(talker, f"ws://127.0.0.1:{server.port}/")
    assert (refused["kind"], refused["status"]) == (kind, status), refused
    server.close()


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1/", "ws://127.0.0.1/#part", "ws:", "127.0.0.1", "ws://[::1/"],
)
def test_bad_urls(talker, url):
    assert connect(talker, url)["kind"] == "BadUrl"


def test_frames_right_behind_the_response(talker):
    """RFC 6455 section 4.2.2: a server may send at once."""

    def handle(connection: Connection) -> None:
        value = accept(connection.head())
        connection.send(
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 101 X\r\nupgrade: WebSocket\r\n"
            b"connection: upgrade\r\nSec-WebSocket-Accept: "
            + value.encode()
            + b"\r\n\r\n\x81\x02hi\x88\x06\x0f\xa1later"[:-1]
        )
        read_frame(connection)

    server = RawServer(handle)
    assert "kind" not in connect(talker, f"ws://127.0.0.1:{server.port}/")
    assert talk(talker, "recv")["text"] == "hi"
    closed = talk(talker, "recv")
    assert (closed["kind"], closed["close_code"]) == ("WsClosed", 4001)
    assert closed["close_reason"] == "late"
    # It stays closed, and says the same again.
    assert talk(talker, "recv")["close_code"] == 4001
    server.close()


def test_time_is_bounded_and_a_timeout_is_not_the_end(talker):
    gate = threading.Event()

    def handle(connection: Connection) -> None:
        gate.wait(10)
        connection.send(b"\x81\x04la")
        connection.send(b"te")
        read_frame(connection)

    server = serving(handle)
    connect(talker, f"ws://127.0.0.1:{server.port}/", read_timeout_ms=150)
    began = time.monotonic()
    answer = talk(talker, "recv")
    assert answer["kind"] == "Timeout" and answer["is_open"], answer
    assert 0.1 < time.monotonic() - began < 9
    gate.set()
    while "kind" in (answer := talk(talker, "recv")):
        assert answer["kind"] == "Timeout"
    assert answer["text"] == "late"
    talk(talker, "close")
    server.close()


def test_a_server_that_does_not_answer_the_close(talker):
    done = threading.Event()
    server = serving(lambda connection: done.wait(10))
    connect(talker, f"ws://127.0.0.1:{server.port}/", close_timeout_ms=100)
    began = time.monotonic()
    closed = talk(talker, "close")
    assert "kind" not in closed and closed["closed_with"] == 1006
    assert time.monotonic() - began < 9
    done.set()
    server.close()


def test_a_server_that_vanishes(talker):
    server = serving(lambda connection: connection.send(b"\x81\x05hal"))
    connect(talker, f"ws://127.0.0.1:{server.port}/")
    answer = talk(talker, "recv")
    assert (answer["kind"], answer["close_code"]) == ("WsClosed", 1006)
    server.close()


def test_a_server_that_does_not_read(talker):
    done = threading.Event()
    server = serving(lambda connection: done.wait(20))
    connect(talker, f"ws://127.0.0.1:{server.port}/", write_timeout_ms=200)
    answer = talk(talker, "send_binary", count=12_000_000)
    assert answer["kind"] == "Timeout", answer
    done.set()
    talk(talker, "drop")
    server.close()


def test_a_server_that_writes_before_it_reads(talker):
    """Both send more than the sockets hold; nobody waits for ever."""
    big = bytes(6_000_000)

    def handle(connection: Connection) -> None:
        for _ in range(8):
            connection.send(b"\x82\x7f" + struct.pack(">Q", 100_000) + big[:100_000])
        while True:
            first, payload = read_frame(connection)
            if first == 0x88:
                connection.send(b"\x88\x02\x03\xe8")
                return

    server = serving(handle)
    connect(talker, f"ws://127.0.0.1:{server.port}/", compresses=0)
    assert "kind" not in talk(talker, "send_binary", count=300_000)
    for _ in range(8):
        assert talk(talker, "recv")["length"] == 100_000
    assert talk(talker, "close")["closed_with"] == 1000
    server.close()


def test_a_flood_of_pings_costs_no_memory(talker):
    pongs = []

    def handle(connection: Connection) -> None:
        connection.send((b"\x89\x04ping" * 1000 + b"\x8a\x00") * 100)
        connection.send(b"\x81\x04done")
        while (frame := read_frame(connection))[0] != 0x88:
            pongs.append(frame)
        connection.send(b"\x88\x00")

    server = serving(handle)
    connect(talker, f"ws://127.0.0.1:{server.port}/")
    before = talker.memory_kib()
    assert talk(talker, "recv")["text"] == "done"
    talk(talker, "close")
    assert talker.memory_kib() - before < 4_096
    assert pongs and all(frame == (0x8A, b"ping") for frame in pongs)
    server.close()


@pytest.fixture(scope="module")
def bomb() -> bytes:
    """Zeros as permessage-deflate sends them, made before anybody waits for them."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(bytes(200_000_000)) + packer.flush(zlib.Z_SYNC_FLUSH)
    return packed.removesuffix(b"\0\0\xff\xff")


def test_a_bomb_is_refused(talker, bomb):
    def handle(connection: Connection) -> None:
        switch(connection, "Sec-WebSocket-Extensions: permessage-deflate\r\n")
        connection.send(b"\xc2\x7f" + struct.pack(">Q", len(bomb)) + bomb)
        frames.append(read_frame(connection))

    frames: list[tuple[int, bytes]] = []
    server = RawServer(handle)
    connect(talker, f"ws://127.0.0.1:{server.port}/", max_message_size=1 << 20)
    before = talker.memory_kib()
    answer = talk(talker, "recv")
    assert (answer["kind"], answer["close_code"]) == ("WsProtocolBroken", 1009)
    assert talker.memory_kib() - before < 8_192
    assert wait_until(lambda: frames)
    assert struct.unpack(">H", frames[0][1][:2])[0] == 1009
    server.close()


def test_masking_keys_differ(talker):
    """RFC 6455 section 5.3: a new key for each frame, that nobody foretells."""
    keys = []

    def handle(connection: Connection) -> None:
        for _ in range(200):
            first, second = connection.take(2)
            keys.append(connection.take(4))
            connection.take(second & 127)

    server = serving(handle)
    connect(talker, f"ws://127.0.0.1:{server.port}/", compresses=0)
    talk(talker, "send", text="same", count=200)
    assert wait_until(lambda: len(keys) == 200)
    assert len(set(keys)) >= 199
    talk(talker, "drop")
    server.close()

"""What a request and a connection cost over HTTP/2: nothing is allocated in
steady state, and who waits takes little."""

import re
import struct
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from raw_http2 import (
    ACK,
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    PING,
    PREFACE,
    WINDOW_UPDATE,
    block,
    frame,
    settings,
)
from raw_server import Connection

pytestmark = pytest.mark.unsanitized
REQUEST_COUNT = 1600
CONNECTION_COUNT = 400
IDLE_LEN_MAX = 8192
# Fields of each request, beside method and path, and two that change.
FIELDS = [
    (":scheme", "http"),
    (":authority", "localhost:8080"),
    ("user-agent", "a client with a name of some length/1.0"),
    ("accept", "*/*"),
]
WINDOW = frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", 1 << 30))


class H2Client:
    """A client that asks one thing after the other. From its second request on
    the table of the connection has what stays the same."""

    def __init__(self, server, fields=()) -> None:
        self.fields = [*FIELDS, *fields]
        self.socket = server.connect()
        self.connection = Connection(self.socket, 0)
        self.stream = -1
        self.long_len = 0
        self.socket.sendall(PREFACE + settings() + settings(flags=ACK) + WINDOW)

    def __enter__(self) -> "H2Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def request(self, path: str, content: bytes) -> bytes:
        """Gives the frames of a request."""
        self.stream += 2
        if self.stream == 1:
            # To be kept (RFC 7541 section 6.2.1).
            same = b"".join(b"\x40" + block(pair)[1:] for pair in self.fields)
        else:
            last = 61 + len(self.fields)
            same = bytes(0x80 | last - at for at in range(len(self.fields)))
        method = ("POST" if content else "GET", path)
        fields = block((":method", method[0]), (":path", path)) + same
        fields += block(("x-number", str(self.stream)))
        if self.long_len:
            fields += block(("x-long", "x" * self.long_len))
        flags = END_HEADERS | (0 if content else END_STREAM)
        head = frame(HEADERS, flags, self.stream, fields)
        if not content:
            return head
        return head + frame(DATA, END_STREAM, self.stream, content)

    def ask(
        self, path: str, count: int = 1, content: bytes = b"", cut: float = 0
    ) -> bytes:
        """Sends requests at once, or in two parts, of which the server has read the
        first before the second comes; gives the content of the last answer."""
        requests = b"".join(self.request(path, content) for _ in range(count))
        if cut:
            place = int(len(requests) * cut)
            self.socket.sendall(frame(PING, 0, 0, bytes(8)) + requests[:place])
            while self._frame()[0] != PING:
                pass
            requests = requests[place:]
        self.socket.sendall(requests)
        got = b""
        while count:
            kind, flags, payload = self._frame()
            if kind == DATA:
                got = payload
            if kind in (DATA, HEADERS) and flags & END_STREAM:
                count -= 1
        return got

    def _frame(self) -> tuple[int, int, bytes]:
        head = self.connection.take(9)
        kind, flags = head[3], head[4]
        assert kind in (DATA, HEADERS, 4, PING, WINDOW_UPDATE), head
        return kind, flags, self.connection.take(int.from_bytes(head[:3], "big"))


def allocations(meter: H2Client, ask, batch: int) -> tuple[int, float]:
    """Asks as often as there are requests, so many at once. Gives how many allocations
    that took, and how many are none of a request: the Date is another each second,
    and is kept by the table; and a server that a busy machine interrupts gives way
    to others, and keeps what it has read and what it owes until its next turn."""
    meter.ask("/allocations")
    own = int(meter.ask("/allocations"))
    began = time.monotonic()
    for _ in range(REQUEST_COUNT // batch):
        ask()
    count = int(meter.ask("/allocations")) - own
    return count, REQUEST_COUNT / 100 + time.monotonic() - began


@pytest.mark.parametrize(
    "path, content",
    [
        ("/", b""),
        ("/users/42", b""),
        ("/upload", b"x" * 100),
        ("/upload", b"x" * 4000),
    ],
    ids=["get", "parameter", "post", "post of 4 KB"],
)
@pytest.mark.parametrize("batch", [1, 16], ids=["one stream", "16 streams"])
def test_no_allocation_per_request(start, path, content, batch):
    with H2Client(start("counting_server")) as client:
        # What comes in parts is kept in room of its own, from the first time on.
        for at in range(20):
            client.ask(path, batch, content, cut=at / 20)
        count, rest = allocations(client, lambda: client.ask(path, batch, content), batch)
    print(f"\n{path}: {count} allocations in {REQUEST_COUNT} requests")
    assert count <= rest


@pytest.mark.parametrize("batch", [1, 16], ids=["one stream", "16 streams"])
def test_a_call_of_grpc_allocates_its_reply_alone(start, batch):
    """Octets of requests stand in the same memory, one after the other."""
    server = start("counting_server")
    message = b"\x0a\x64" + b"x" * 100
    content = struct.pack(">BI", 0, len(message)) + message
    fields = [("content-type", "application/grpc"), ("te", "trailers")]
    path = "/count.Count/Echo"
    with H2Client(server, fields) as client, H2Client(server) as other:
        for at in range(20):
            assert client.ask(path, batch, content, cut=at / 20) == content
        count, rest = allocations(other, lambda: client.ask(path, batch, content), batch)
        # What one has had is not in the next.
        empty = bytes(5)
        assert client.ask(path, content=empty) == empty
        assert client.ask(path, content=content) == content
    print(f"\n{count} allocations in {REQUEST_COUNT} calls")
    assert count <= REQUEST_COUNT + rest


def private_len(pid: int) -> int:
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(int(kb) * 1024 for kb in re.findall(r"Private_\w+:\s+(\d+)", text))


@pytest.mark.parametrize("long_len", [0, 7000])
def test_an_idle_connection_is_small(start, long_len):
    """Fields that came last are kept with their room, since they may come again;
    what came of a frame before its rest is not."""
    server = start()
    with ExitStack() as stack:
        with H2Client(server) as first:
            first.ask("/")
        before = private_len(server.process.pid)
        for _ in range(CONNECTION_COUNT):
            client = stack.enter_context(H2Client(server))
            client.ask("/")
            client.long_len = long_len
            client.ask("/", cut=long_len and 0.9)
            client.long_len = 0
            client.ask("/")
        after = private_len(server.process.pid)
    each = (after - before) / CONNECTION_COUNT
    print(f"\n{each:.0f} bytes for each idle connection")
    assert each < IDLE_LEN_MAX + long_len

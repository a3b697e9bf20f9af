"""What a crowd gets of a cache whose upstream is slow, and what memory its copies
take. Figures are printed: `-s` shows them.

The upstream takes `PAUSE_S` for each request, so requests that are served one
after the other take as often as long as there are clients.
"""

import asyncio
import re
import socket
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import Server
from wire_programs import built

PAUSE_S = 0.05
CLIENTS = 30
LOAD_S = 2.0
STREAMS = 300
STREAM_LEN = 950_000
LARGE_LEN = 900_000
WAITERS = 100
PIECE = b"x" * 50_000
STORE_LEN = 16 << 20
TIMEOUT_S = 30
HEAD_END = b"\r\n\r\n"
BREAKS = b"4000\r\nit breaks here"


class Upstream:
    """Answers by the path of a request, on a loop of its own."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.server = self.run(asyncio.start_server(self.serve, "127.0.0.1", 0))
        self.port = self.server.sockets[0].getsockname()[1]
        self.asked = self.under_way = self.most_at_once = 0
        self.pause_s = PAUSE_S

    def run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(10)

    def close(self) -> None:
        self.run(self.end())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)
        self.loop.close()

    async def end(self) -> None:
        self.server.close()
        mine = asyncio.current_task()
        tasks = [task for task in asyncio.all_tasks() if task is not mine]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def serve(self, reader, writer) -> None:
        try:
            while True:
                head = await reader.readuntil(HEAD_END)
                self.asked += 1
                self.under_way += 1
                self.most_at_once = max(self.most_at_once, self.under_way)
                try:
                    await self.answer(head.lower(), writer)
                finally:
                    self.under_way -= 1
        except (
            asyncio.CancelledError, asyncio.IncompleteReadError, ConnectionError
        ):
            pass
        finally:
            writer.close()

    async def answer(self, head: bytes, writer) -> None:
        path = head.split(b" ", 2)[1]
        if path.startswith(b"/stops"):
            return await self.stop_before_the_end(writer)
        await asyncio.sleep(self.pause_s)
        if path.startswith(b"/breaks"):
            writer.write(
                b"HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n"
                b"Transfer-Encoding: chunked\r\n\r\n" + BREAKS
            )
            await writer.drain()
            raise ConnectionError("as it should")
        control = path.partition(b"?")[2] or b"max-age=60"
        fields = b'ETag: "v1"\r\nCache-Control: ' + control + b"\r\n"
        if path.startswith(b"/varies"):
            fields += b"Vary: X-Client\r\n"
        if b"if-none-match" in head:
            writer.write(b"HTTP/1.1 304 Not Modified\r\n" + fields + b"\r\n")
        elif b"\r\nrange:" in head:
            writer.write(
                b"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-2/9\r\n"
                b"Content-Length: 3\r\n" + fields + b"\r\nabc"
            )
        elif path.startswith(b"/large"):
            length = b"Content-Length: %d\r\n" % LARGE_LEN
            writer.write(b"HTTP/1.1 200 OK\r\n" + length + fields + b"\r\n")
            writer.write(b"x" * LARGE_LEN)
        else:
            length = b"Content-Length: 3\r\n"
            writer.write(b"HTTP/1.1 200 OK\r\n" + length + fields + b"\r\nabc")
        await writer.drain()

    async def stop_before_the_end(self, writer) -> None:
        """Sends most of the content, and then nothing for as long as it takes."""
        writer.write(
            b"HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        for _ in range(STREAM_LEN // len(PIECE)):
            writer.write(b"%x\r\n%s\r\n" % (len(PIECE), PIECE))
            await writer.drain()
        await asyncio.sleep(600)


@pytest.fixture
def upstream():
    upstream = Upstream()
    yield upstream
    upstream.close()


@pytest.fixture
def gateway(upstream):
    url = f"http://127.0.0.1:{upstream.port}"
    server = Server(built("cached_proxy"), [f"upstream={url}", "workers=2"])
    yield server
    assert server.is_alive(), "the server died during the tests"
    assert server.stop() == 0


@dataclass
class Load:
    """What became of the requests of a crowd."""

    waits_s: list[float]
    elapsed_s: float

    def rate(self) -> float:
        return len(self.waits_s) / self.elapsed_s

    def p99_ms(self) -> float:
        ordered = sorted(self.waits_s)
        return 1000 * ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)]


async def ask(stream, request: bytes) -> bytes:
    """Sends a request and reads its response up to the end, or where it breaks."""
    reader, writer = stream
    writer.write(request)
    head = await reader.readuntil(HEAD_END)
    length = re.search(rb"content-length: (\d+)", head.lower())
    if length:
        await reader.readexactly(int(length[1]))
    elif b"chunked" in head.lower():
        await reader.read()
    return head


def request_of(path: str, number: int, fields: str) -> bytes:
    lines = [f"GET {path} HTTP/1.1", "Host: test", f"X-Client: {number}"]
    return "\r\n".join(lines + [fields] * bool(fields)).encode() + HEAD_END


async def one_client(port: int, request: bytes, end: float, waits: list) -> None:
    stream = None
    while time.monotonic() < end:
        if stream is None:
            stream = await asyncio.open_connection("127.0.0.1", port)
        start = time.monotonic()
        head = await asyncio.wait_for(ask(stream, request), TIMEOUT_S)
        waits.append(time.monotonic() - start)
        if b"chunked" in head.lower():
            stream[1].close()
            stream = None
    if stream:
        stream[1].close()


def load(port: int, path: str, fields: str = "", seconds=LOAD_S) -> Load:
    """Has many clients ask for one thing again and again."""

    async def crowd() -> Load:
        start = time.monotonic()
        waits: list[float] = []
        clients = [
            one_client(
                port, request_of(path, number, fields), start + seconds, waits
            )
            for number in range(CLIENTS)
        ]
        await asyncio.gather(*clients)
        return Load(waits, time.monotonic() - start)

    return asyncio.run(crowd())


# What nobody but the client that has fetched it may get without asking.
OF_NO_USE_TO_OTHERS = [
    ("9111-5.2.2.4 no-cache", "/a?no-cache", ""),
    ("9111-5.2.2.1 max-age=0", "/a?max-age=0", ""),
    ("9111-3.3 content that breaks", "/breaks", ""),
    ("9111-4.1 a variant for each", "/varies?no-cache", ""),
    ("9111-3.3 a part", "/a?max-age=60", "Range: bytes=0-2"),
    ("9111-3.5 credentials", "/a?max-age=60", "Authorization: Basic eA=="),
    ("9111-5.2.1.5 no-store of clients", "/a?max-age=0", "Cache-Control: no-store"),
]


@pytest.mark.parametrize(
    "rule, path, fields", OF_NO_USE_TO_OTHERS, ids=[r[0] for r in OF_NO_USE_TO_OTHERS]
)
def test_nobody_waits_for_what_is_of_no_use(upstream, gateway, rule, path, fields):
    """Nobody waits for more than one fetch, whose end sends all on at once."""
    found = load(gateway.port, path, fields)
    print(
        f"\n{rule}: {found.rate():.0f} requests/s, p99 {found.p99_ms():.0f} ms,"
        f" {upstream.most_at_once} fetches at once"
    )
    assert upstream.most_at_once > CLIENTS / 2, "one after the other"


def test_those_who_waited_share_what_was_slow(upstream, gateway):
    """RFC 9111 section 4.2.3: it is stale when it has come, by the time that its
    fetch took, for which those who share it have waited themselves."""
    upstream.pause_s = 1.5
    found = load(gateway.port, "/a?max-age=1", seconds=3)
    print(
        f"\nmax-age=1 of 1.5 s: {found.rate():.0f} requests/s,"
        f" p99 {found.p99_ms():.0f} ms, {upstream.asked} fetches"
    )
    assert found.p99_ms() < 3500, "one after the other"
    assert upstream.asked < CLIENTS, "each has fetched it alone"


def resident_len(server: Server) -> int:
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) * 1024


@pytest.mark.unsanitized
def test_those_who_waited_share_memory(upstream, gateway):
    """Clients that take little of what they have waited for hold it once."""
    upstream.pause_s = 1.0

    async def wait(number: int):
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.connect(("127.0.0.1", gateway.port))
        reader, writer = await asyncio.open_connection(sock=sock, limit=4096)
        writer.write(request_of("/large", number, ""))
        head = await asyncio.wait_for(reader.readuntil(HEAD_END), TIMEOUT_S)
        assert head.startswith(b"HTTP/1.1 200 ")
        return writer

    async def crowd() -> int:
        before = resident_len(gateway)
        # One that takes all of it, or nobody would get it from another.
        stream = await asyncio.open_connection("127.0.0.1", gateway.port)
        first = asyncio.create_task(ask(stream, request_of("/large", -1, "")))
        while upstream.asked == 0:
            await asyncio.sleep(0.01)
        writers = await asyncio.gather(*(wait(number) for number in range(WAITERS)))
        grown = resident_len(gateway) - before
        await first
        for writer in [stream[1], *writers]:
            writer.close()
        return grown

    grown = asyncio.run(crowd())
    asked = upstream.asked
    print(f"\n{WAITERS} of {LARGE_LEN} octets: +{grown / 2**20:.0f} MiB, {asked} fetches")
    assert asked < WAITERS / 10, "each has fetched it alone"
    # A fifth of what copies would take; buffers of the connections come on top.
    assert grown < WAITERS * LARGE_LEN / 5


@pytest.mark.unsanitized
def test_copies_under_way_count(upstream, gateway):
    """Streams that stop before their end are copied as far as the store has room."""

    async def open_stream(number: int):
        stream = await asyncio.open_connection("127.0.0.1", gateway.port)
        stream[1].write(request_of(f"/stops?{number}", number, ""))
        got = 0
        while got < STREAM_LEN:
            piece = await asyncio.wait_for(stream[0].read(65_536), TIMEOUT_S)
            assert piece, "it ends"
            got += len(piece)
        return stream

    async def open_streams() -> int:
        before = resident_len(gateway)
        streams = []
        for start in range(0, STREAMS, 10):
            streams += await asyncio.gather(
                *(open_stream(start + number) for number in range(10))
            )
        grown = resident_len(gateway) - before
        for _, writer in streams:
            writer.close()
        return grown

    grown = asyncio.run(open_streams())
    print(f"\n{STREAMS} streams that stop: +{grown / 2**20:.0f} MiB")
    # What 300 connections of both sides take themselves comes on top.
    assert grown < 6 * STORE_LEN

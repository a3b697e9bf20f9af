"""Many requests under way at the same time, each with fields and content of other lengths:
every answer is that of its own request, and no memory grows with their number.

What is kept from one request to the next (memory, tables, whole objects) is right for
the first, and for requests one after the other; what two of them share shows here.
"""

import contextlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

import pytest
from both_ways import Chunks
from conftest import Client
from grpc_support import frame, varint
from h2_client import Answer, H2Client
from h2_frames import CANCEL
from processes import anonymous_len

# What a text of its own, kept room, a table's entry, a frame and a window have for
# their bounds, and beside them.
FIELD_LENGTHS = [1, 22, 23, 24, 40, 127, 128, 129, 300, 2_047, 2_048, 2_049]
CONTENT_LENGTHS = [0, 1, 23, 24, 128, 1_024, 1_025, 2_048, 4_096, 4_097, 16_384, 65_535, 70_000]
METHODS = ["POST", "PUT", "GET", "POST", "DELETE", "GET"]
WINDOW = 1 << 20
# Requests under way at the same time.
COUNT = 60
# What an allocator may keep more from one look to the next, and each request, in bytes.
GROWTH_MAX, LEAK_MAX = 2_000_000, 1_000


@dataclass
class Ask:
    """A request, and with it the answer."""

    id: str
    method: str
    way: str
    fields: list[tuple[str, str]]
    content: bytes
    has_trailer: bool

    @property
    def path(self) -> str:
        return f"/{self.way}/{self.id}" + "?trailer" * self.has_trailer

    def check(self, status: int, fields: dict[str, str], body: bytes, end: str | None) -> None:
        assert status == 200, (self.path, status, body[:200])
        wanted = {"x-own": self.id, **dict(self.fields)}
        got = {name: fields.get(name) for name in wanted}
        assert got == wanted, self.path
        assert body == self.content, (self.path, len(body), len(self.content))
        if self.has_trailer:
            assert end == self.id, self.path


def choices_of_turn(
    random: Random, ways: list[str], turn: int
) -> tuple[list[str], list[int]]:
    """What the requests of a turn choose from: any way and length, or in every other
    turn one way and one length for all, since what grows with each copy may begin anew
    where something else comes between."""
    if turn & 1:
        return [ways[turn // 2 % len(ways)]], [random.choice(FIELD_LENGTHS[3:7])]
    return ways, FIELD_LENGTHS


def some_ask(
    random: Random, serial: int, ways: list[str], lengths: list[int]
) -> Ask:
    """Any request: each has an id of its own, which content and fields are made of."""
    id = f"{serial}-{random.getrandbits(40):x}"
    method = random.choice(METHODS)
    way = random.choice(ways)
    has_trailer = random.random() < 0.3
    if way.startswith("kept") and method == "GET":
        # What many ask for, and is kept.
        id, has_trailer = f"shared-{serial % 5}-{lengths[0]}", False
        random = Random(id)
    fields = [
        (name, (prefix + id * 100)[: random.choice(lengths)])
        for name, prefix in (("content-type", "a/"), ("x-one", ""), ("x-two", "="))
        if random.random() < 0.7
    ]
    if id.startswith("shared"):
        fields.append(("cache-control", "max-age=60"))
    content = b""
    if method in ("POST", "PUT"):
        length = random.choice(CONTENT_LENGTHS)
        content = (id.encode() * (length // len(id) + 1))[:length]
    return Ask(id, method, way, fields, content, has_trailer)


def sent(ask: Ask) -> bytes:
    """The request over HTTP/1.1."""
    lines = [f"{ask.method} {ask.path} HTTP/1.1", "Host: x", "TE: trailers"]
    lines += [f"{name}: {value}" for name, value in ask.fields]
    lines.append(f"Content-Length: {len(ask.content)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + ask.content


def take_chunks(client: Client) -> tuple[bytes, str | None]:
    """Content in chunks, and the field that follows it."""
    chunks = Chunks(client.sock, client.buffer)
    body = b"".join(iter(chunks.chunk, b""))
    client.buffer, end = chunks.buffer, None
    for line in chunks.trailers:
        end = line.decode().split(":")[1].strip()
    return body, end


def take(client: Client, ask: Ask) -> None:
    answer = client.response()
    body, end = answer.body, ask.id
    if "transfer-encoding" in answer.fields:
        body, end = take_chunks(client)
    ask.check(answer.status, answer.fields, body, end)


def run_http1(server, random: Random, ways: list[str], count: int, rounds: int) -> None:
    """Connections that are kept, and ask for something else each time; some leave in
    the midst of a request, or before its answer."""
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(Client(server, 20)) for _ in range(count)]
        for turn in range(rounds):
            choices = choices_of_turn(random, ways, turn)
            asks = [some_ask(random, turn * count + at, *choices) for at in range(count)]
            for at, (client, ask) in enumerate(zip(clients, asks)):
                octets = sent(ask)
                fate = random.random()
                if fate < 0.1:
                    cut = random.randrange(len(octets))
                    client.send(octets if fate < 0.05 else octets[:cut])
                    client.sock.close()
                    clients[at] = stack.enter_context(Client(server, 20))
                    asks[at] = None
                else:
                    client.send(octets)
            for client, ask in zip(clients, asks):
                if ask:
                    take(client, ask)


def asked_by_turn(
    server, random: Random, ways: list[str], count: int, rounds: int
) -> Iterator[list[tuple["Forgetful", Ask]]]:
    """What a few connections of HTTP/2 are to ask, turn by turn."""
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(opened(server)) for _ in range(4)]
        for turn in range(rounds):
            choices = choices_of_turn(random, ways, turn)
            yield [
                (random.choice(clients), some_ask(random, turn * count + at, *choices))
                for at in range(count)
            ]


def run_http2(server, random: Random, ways: list[str], count: int, rounds: int) -> None:
    """Streams of a few connections, of which some are reset in the midst."""
    for asked in asked_by_turn(server, random, ways, count, rounds):
        begun = []
        for client, ask in asked:
            has_content = ask.method in ("POST", "PUT")
            fields = [("te", "trailers"), *ask.fields]
            stream = client.request(ask.path, ask.method, fields, ends=not has_content)
            if random.random() < 0.1:
                give_up(client, stream)
                continue
            if has_content:
                client.upload(stream, ask.content)
            if random.random() < 0.05:
                give_up(client, stream)
                continue
            begun.append((client, stream, ask))
        random.shuffle(begun)
        for client, stream, ask in begun:
            answer = client.answer(stream)
            assert answer.reset is None or answer.ended, (ask.path, answer.reset)
            end = dict(answer.trailers or []).get("x-end", None if ask.has_trailer else "")
            ask.check(answer.status, answer.fields, answer.body, end)


class Forgetful(H2Client):
    """A client whose own resets are no fault of what comes on such a stream."""

    def __init__(self, *arguments, **options) -> None:
        super().__init__(*arguments, **options)
        self.given_up: set[int] = set()

    def _open(self, stream: int):
        if stream in self.given_up:
            return self.answers.setdefault(stream, Answer())
        return super()._open(stream)

    def _take_data(self, found) -> None:
        if found.stream in self.given_up:
            self.window -= len(found.payload)
            if found.payload:
                self.grant(0, len(found.payload))
            return
        super()._take_data(found)

    def _take_reset(self, found) -> None:
        if found.stream not in self.given_up:
            super()._take_reset(found)


def opened(server) -> Forgetful:
    client = Forgetful(server, {0x4: WINDOW}, timeout=20)
    client.grant(0, 16 * WINDOW)
    client.until(lambda: client.settings)
    return client


def give_up(client: Forgetful, stream: int) -> None:
    client.send(b"\0\0\x04\x03\0" + struct.pack(">II", stream, CANCEL))
    client.given_up.add(stream)


def run_grpc(server, random: Random, ways: list[str], count: int, rounds: int) -> None:
    """Unary calls with metadata of all lengths."""
    for asked in asked_by_turn(server, random, ways, count, rounds):
        begun = []
        for client, ask in asked:
            fields = [(n, v) for n, v in ask.fields if n != "content-type"]
            length = random.choice(CONTENT_LENGTHS)
            octets = (ask.id.encode() * (length // len(ask.id) + 1))[:length]
            message = b"\x0a" + varint(length) + octets if length else b""
            stream = client.request(
                f"/mirror.Mirror/{ask.way}", "POST",
                [("content-type", "application/grpc"), ("te", "trailers"), *fields],
                ends=False,
            )
            client.upload(stream, frame(message))
            if random.random() < 0.05:
                give_up(client, stream)
                continue
            begun.append((client, stream, fields, message))
        random.shuffle(begun)
        for client, stream, fields, message in begun:
            answer = client.answer(stream)
            wanted = {**dict(fields), "content-type": "application/grpc"}
            assert answer.status == 200
            assert {name: answer.fields.get(name) for name in wanted} == wanted
            assert answer.body == frame(message)
            trailers = {f"{name}-end": value for name, value in fields}
            assert dict(answer.trailers) == {"grpc-status": "0", **trailers}


LOCAL = ["loop", "thread", "later"]
BEHIND = [f"{way}/{place}" for way in ("one", "two", "kept") for place in LOCAL]
TABLE = [
    ("http1", run_http1, LOCAL), ("http2", run_http2, LOCAL),
    ("http1-gateway", run_http1, BEHIND), ("http2-gateway", run_http2, BEHIND),
    ("grpc", run_grpc, ["Loop", "Thread"]),
]  # fmt: skip


@pytest.mark.parametrize("run, ways", [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_each_answer_is_its_requests_own(start, run, ways):
    upstream = start("mirror_server", threads=4)
    server = start("mirror_server", threads=4, upstream=upstream.url)
    some = Random(7)
    turns = 2 * len(ways)
    held = []
    for _ in range(3):
        run(server, some, ways, COUNT, turns)
        held.append([anonymous_len(one.process.pid) for one in (server, upstream)])
    assert server.is_alive() and upstream.is_alive()
    # The first turns make what is kept.
    for before, after in zip(*held[1:]):
        assert after - before < GROWTH_MAX + LEAK_MAX * COUNT * turns

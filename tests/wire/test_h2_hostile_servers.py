"""Servers that abuse HTTP/2, to the client and to the gateway: one table for both. Each
attack comes to an error of its own or to nothing, takes no more than its share of
memory, and keeps nobody else waiting. What ends a stream or a connection by one frame
is in `test_client_http2_hostile.py`."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from conftest import Client, Server, wait_until
from h2_hpack import Decoder, literal, reference, table_size
from processes import AnonymousPeak, descriptor_count
from raw_http2 import *
from raw_server import Connection, RawServer
from test_client_http2_hostile import STREAM_ROWS
from test_framing import get
from wire_programs import built

# More than a client forgives at once, and earns meanwhile.
FLOOD = 15_000
LONGEST_S = 5
WAITS_S = 2
HELD_LEN_MAX = 2 << 20
OK_HEAD = b"\x88"
MOST = (1 << 31) - 1
LARGE = literal("x-large", "v" * 3_900, True)


@dataclass
class Attack:
    """What a server sends behind a request, and what the client calls it: kind and
    a part of the text; nothing where it is answered all the same."""

    name: str
    act: Callable[[Http2Peer, int], None]
    kind: str = "MalformedResponse"
    text: str = "ENHANCE_YOUR_CALM"


def flood(name: str, octets: bytes, **more) -> Attack:
    return Attack(name, lambda peer, _: peer.send(octets * FLOOD), **more)


def stream_flood(name: str, of: Callable[[int], bytes], begins: bool = True, **more) -> Attack:
    def act(peer: Http2Peer, stream: int) -> None:
        if begins:
            peer.head(stream)
        peer.send(of(stream) * FLOOD)

    return Attack(name, act, **more)


def sent(name: str, of: Callable[[int], bytes], text: str, kind="MalformedResponse") -> Attack:
    return Attack(name, lambda peer, stream: peer.send(of(stream)), kind, text)


def answer(peer: Http2Peer, stream: int) -> None:
    peer.answer(stream, b"ok", ("content-length", "2"))


def harmless(name: str, before: Callable[[Http2Peer, int], None]) -> Attack:
    def act(peer: Http2Peer, stream: int) -> None:
        before(peer, stream)
        answer(peer, stream)

    return Attack(name, act, "", "")


def section(*parts: bytes, flags: int = END_HEADERS | END_STREAM):
    return lambda stream: frame(HEADERS, flags, stream, OK_HEAD + b"".join(parts))


def grows(peer: Http2Peer, stream: int) -> None:
    peer.goaway(stream)
    peer.goaway(stream + 2)


def again_and_again(peer: Http2Peer, stream: int) -> None:
    """GOAWAY for a stream that counts, without end: then an answer."""
    for _ in range(20):
        peer.goaway(stream)


def trickled_block(peer: Http2Peer, stream: int) -> None:
    """A field block whose pieces come one by one, and never end."""
    peer.send(frame(HEADERS, 0, stream, OK_HEAD))
    for _ in range(20):
        peer.send(frame(CONTINUATION, 0, stream, literal("a", "b")))


def resets_behind_the_end(peer: Http2Peer, stream: int) -> None:
    answer(peer, stream)
    peer.send(frame(RST_STREAM, 0, stream, bytes(4)) * 100)


def table_games(peer: Http2Peer, stream: int) -> None:
    """The client may keep 4 GiB of what it says, then nothing, then that again."""
    for size in ((1 << 32) - 1, 0) * 500:
        peer.send(settings((HEADER_TABLE_SIZE, size)))


def windows_that_swing(peer: Http2Peer, stream: int) -> None:
    for size in (0, MOST) * 500:
        peer.send(settings((INITIAL_WINDOW, size)))


def hints(peer: Http2Peer, stream: int) -> None:
    for _ in range(FLOOD):
        peer.head(stream, ("link", "</a>"), status=103)


ATTACKS = [
    # Floods (CVE-2019-9512, -9515, -9513).
    flood("PING", frame(PING, 0, 0, bytes(8))),
    flood("PING answers", frame(PING, ACK, 0, bytes(8))),
    flood("SETTINGS", settings((MAX_STREAMS, 9))),
    flood("empty SETTINGS", settings()),
    flood("SETTINGS acknowledged again", settings(flags=ACK)),
    flood("PRIORITY", frame(2, 0, 1, b"\0\0\0\3\x10")),
    flood("unknown frames", frame(0xFA, 0, 0, bytes(20))),
    flood("WINDOW_UPDATE of the connection", frame(WINDOW_UPDATE, 0, 0, b"\0\0\0\1")),
    stream_flood("WINDOW_UPDATE of a stream", lambda s: frame(WINDOW_UPDATE, 0, s, b"\0\0\0\1")),
    sent("many settings in a frame", lambda _: settings(*[(0x7700 + n, 1) for n in range(33)]),
         "ENHANCE_YOUR_CALM"),
    # Frames of nothing (CVE-2019-9518).
    stream_flood("empty DATA", lambda s: frame(DATA, 0, s)),
    stream_flood("DATA of an octet", lambda s: frame(DATA, 0, s, b"x")),
    stream_flood("DATA of padding", lambda s: frame(DATA, PADDED, s, b"\x05" + bytes(5))),
    # Interim responses (CVE-2023-26964's kin).
    Attack("interim responses", hints, "ResponseTooLarge", "interim"),
    # CONTINUATION (CVE-2024-27316).
    sent("CONTINUATION of nothing", lambda s: frame(HEADERS, 0, s, OK_HEAD)
         + frame(CONTINUATION, 0, s) * 40, "ENHANCE_YOUR_CALM"),
    Attack("CONTINUATION one by one", trickled_block),
    sent("CONTINUATION of trailers", lambda s: frame(HEADERS, END_HEADERS, s, OK_HEAD)
         + frame(HEADERS, END_STREAM, s) + frame(CONTINUATION, 0, s) * 40, "ENHANCE_YOUR_CALM"),
    # HPACK (CVE-2016-6581, CVE-2022-41723, CVE-2019-9516).
    sent("some references to a large field", section(LARGE, reference(62) * 20), "", "ResponseTooLarge"),
    sent("thousands of references", section(LARGE, reference(62) * 12_000), "ENHANCE_YOUR_CALM",
         "ResponseTooLarge"),
    sent("names of nothing", section(literal("", "v") * 50), ""),
    sent("a table above what is allowed", lambda s: frame(HEADERS, END_HEADERS, s,
         table_size(4_097) + OK_HEAD), "COMPRESSION_ERROR"),
    sent("a table's size within a block", section(table_size(0)), "COMPRESSION_ERROR"),
    sent("an integer without end", section(b"\xff" * 12), "COMPRESSION_ERROR"),
    # Windows (CVE-2019-9511, CVE-2019-9517, CVE-2020-11080).
    sent("a window of 2^31", lambda _: settings((INITIAL_WINDOW, 1 << 31)), "FLOW_CONTROL_ERROR"),
    sent("overflow by SETTINGS", lambda s: frame(WINDOW_UPDATE, 0, s, (MOST - 65_535).to_bytes(4))
         + settings((INITIAL_WINDOW, 65_536)), "below 2^31"),
    sent("a window of the connection of 0", lambda _: frame(WINDOW_UPDATE, 0, 0, bytes(4)),
         "PROTOCOL_ERROR"),
    sent("frames of 2^14-1", lambda _: settings((MAX_FRAME_SIZE, (1 << 14) - 1)), "PROTOCOL_ERROR"),
    sent("frames of 2^24", lambda _: settings((MAX_FRAME_SIZE, 1 << 24)), "PROTOCOL_ERROR"),
    # Pushed (CVE-2023-35945's kin), and on streams of nobody.
    sent("PUSH_PROMISE", lambda s: frame(PUSH_PROMISE, END_HEADERS, s, b"\0\0\0\2" + OK_HEAD),
         "nothing may be pushed"),
    sent("PUSH_PROMISE in pieces", lambda s: frame(PUSH_PROMISE, 0, s, b"\0\0\0\2")
         + frame(CONTINUATION, 0, s) * 40, "nothing may be pushed"),
    sent("a stream of the server's", lambda _: frame(HEADERS, END_HEADERS, 2, OK_HEAD), ""),
    # GOAWAY.
    Attack("GOAWAY that grows", grows, text="PROTOCOL_ERROR"),
    stream_flood("GOAWAY", lambda s: frame(GOAWAY, 0, 0, s.to_bytes(4) + bytes(4)), False),
    # What an honest server may do, too.
    harmless("GOAWAY again", again_and_again),
    harmless("tables of 4 GiB", table_games),
    harmless("windows that swing", windows_that_swing),
    harmless("hints", lambda peer, stream: [peer.head(stream, status=103) for _ in range(10)]),
    Attack("resets behind the end", resets_behind_the_end, "", ""),
]
IDS = [attack.name for attack in ATTACKS]
# What ends one stream, of which the client has a test of its own.
FAULTS = [Attack(f"fault {n} {row[3]}", row[0], *row[2:]) for n, row in enumerate(STREAM_ROWS)]


class Hostile:
    """Attacks whoever asks for /bad/N, and answers all others."""

    def __init__(self) -> None:
        self.server = RawServer(self._serve)
        self.attacks = 0

    def _serve(self, connection: Connection) -> None:
        peer, decoder = Http2Peer(connection), Decoder()
        peer.begin()
        while True:
            got = peer.until(HEADERS)
            path = dict(decoder.decode(got.payload))[":path"]
            if not path.startswith("/bad/"):
                answer(peer, got.stream)
                continue
            self.attacks += 1
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                (ATTACKS + FAULTS)[int(path.rpartition("/")[2])].act(peer, got.stream)


@pytest.fixture(scope="module")
def hostile():
    running = Hostile()
    yield running
    running.server.close()


@pytest.fixture(scope="module")
def proxy(hostile):
    options = {"http2_prior_knowledge": 1, "head_timeout_ms": 2_000, "idle_timeout_ms": 2_000}
    arguments = [f"{name}={value}" for name, value in options.items()]
    server = Server(built("proxy_server"), [f"upstream={hostile.server.url}", *arguments])
    yield server
    assert server.is_alive(), "the proxy died during the tests"
    assert server.stop() == 0


def times_of_others(proxy: Server, until: threading.Event) -> list[float]:
    """Asks the proxy for what it answers itself, again and again."""
    took = []
    with Client(proxy, timeout=LONGEST_S) as client:
        while True:
            began = time.monotonic()
            client.send(get(b"/own"))
            assert client.response().body == b"answered here"
            took.append(time.monotonic() - began)
            if until.wait(0.002):
                return took


def meet(fetcher, hostile: Hostile) -> None:
    times = {"read_timeout_ms": 2_000, "total_timeout_ms": 10_000}
    fetcher.client(base=hostile.server.url, h2c=1, **times)


@pytest.mark.parametrize("number", range(len(ATTACKS)), ids=IDS)
def test_the_client_ends_it(fetcher_of_module, hostile, number):
    fetcher, attack = fetcher_of_module, ATTACKS[number]
    meet(fetcher, hostile)
    # What a process allocates the first time.
    fetcher.get("/good")
    before = hostile.attacks
    peak = AnonymousPeak(fetcher.process.pid)
    began = time.monotonic()
    answer = fetcher.get(f"/bad/{number}")
    took = time.monotonic() - began
    assert peak.end() < HELD_LEN_MAX
    assert answer.get("kind", "") == attack.kind, answer
    assert attack.text in answer.get("text", ""), answer
    assert bool(attack.kind) or answer["status"] == 200, answer
    assert took < LONGEST_S
    # Nobody asks an attacker for more without end.
    assert 1 <= hostile.attacks - before <= 3
    assert fetcher.get("/good").get("status") == 200


@pytest.mark.parametrize(
    "number", range(len(ATTACKS + FAULTS)), ids=IDS + [fault.name for fault in FAULTS]
)
def test_the_gateway_ends_it(proxy, number):
    attack = (ATTACKS + FAULTS)[number]
    done, others = threading.Event(), []
    watch = threading.Thread(target=lambda: others.append(times_of_others(proxy, done)))
    watch.start()
    peak = AnonymousPeak(proxy.process.pid)
    try:
        with Client(proxy, timeout=LONGEST_S) as client:
            client.send(get(b"/bad/%d" % number, b"Connection: close\r\n"))
            data = b""
            with contextlib.suppress(ConnectionResetError):
                while piece := client.sock.recv(65_536):
                    data += piece
    finally:
        done.set()
        watch.join()
        held = peak.end()
    assert others and max(others[0]) < WAITS_S, others
    assert held < HELD_LEN_MAX
    # Interim responses are passed on before the one that counts.
    while data.startswith(b"HTTP/1.1 1"):
        data = data.partition(b"\r\n\r\n")[2]
    status = int(data.split(b" ")[1])
    if not attack.kind:
        assert status == 200 and data.endswith(b"ok"), data[:200]
    elif status == 502:
        assert b"\r\nProxy-Status: flare; error=" in data, data[:200]
    else:
        # Its head was there: then it ends before its last chunk.
        assert status == 200 and not data.endswith(b"0\r\n\r\n"), data[-200:]
    with Client(proxy, timeout=LONGEST_S) as client:
        client.send(get(b"/good"))
        assert client.response().body == b"ok"


def test_content_beyond_the_windows_is_not_kept(start):
    """RFC 9113 section 6.9.1: of a client that takes nothing, by an upstream that
    heeds no window. Its stream ends; the connection does when the client has gone,
    whom it may have something for."""
    peers, seen = [], []

    def handle(connection: Connection) -> None:
        peer = Http2Peer(connection)
        peer.begin()
        stream = peer.request()
        peers.append(peer)
        peer.head(stream)
        reading = threading.Thread(target=lambda: seen.extend(peer.drain()))
        reading.start()
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            while True:
                peer.data(stream, bytes(16_384), ends=False)
        reading.join()
        done.set()

    done = threading.Event()
    upstream = RawServer(handle)
    proxy = start("proxy_server", upstream=upstream.url, http2_prior_knowledge=1)
    peak = AnonymousPeak(proxy.process.pid)
    with Client(proxy, timeout=LONGEST_S) as client:
        client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        client.send(get(b"/bad"))
        assert wait_until(
            lambda: any(got.kind == RST_STREAM for peer in peers for got in peer.seen)
        )
    assert done.wait(LONGEST_S)
    assert peak.end() < HELD_LEN_MAX
    ends = [(got.kind, got.code) for got in seen if got.kind in (RST_STREAM, GOAWAY)]
    assert ends[0] == (RST_STREAM, FLOW_CONTROL_ERROR)
    assert ends[1:] in ([], [(GOAWAY, STREAM_CLOSED)])
    upstream.close()


def test_nothing_is_left_of_them(proxy):
    assert wait_until(lambda: descriptor_count(proxy.process.pid) < 30)

"""Clients of all kinds for the soak, each of which knows what its answers must be."""

import random
import selectors
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from conftest import Client
from h2_client import Closed, H2Client
from raw_ws import UPGRADE, frame

TIMEOUT_S = 20.0
# How long the server waits for a head (`header_timeout_ms`).
HEAD_TIMEOUT_S = 10.0
# How long after a fault has ended a request may still fail because of it.
AFTER_S = 5.0
KEY_COUNT = 500
LATE_STATUSES = (502, 503, 504)
GATEWAY = ("/passed", "/passed2", "/kept")
LOST = (OSError, EOFError, Closed)


class Wrong(Exception):
    """An answer that is not what was asked for."""


@dataclass
class Tally:
    """What has become of all requests; every client adds to it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    answered: Counter = field(default_factory=Counter)
    times_ms: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    # When, and what.
    lost: list[tuple[float, str]] = field(default_factory=list)
    # When faults began and ended, and what they were.
    faults: list[tuple[float, float, str]] = field(default_factory=list)
    # How many messages each speaker of the room has said.
    said: dict[str, int] = field(default_factory=dict)

    def note(self, kind: str, began_s: float) -> None:
        with self.lock:
            self.answered[kind] += 1
            self.times_ms.append(1000 * (time.monotonic() - began_s))

    def note_wrong(self, kind: str, what: object) -> None:
        with self.lock:
            self.wrong.append(f"{kind}: {what}"[:500])

    def note_lost(self, kind: str, began_s: float, what: object) -> None:
        with self.lock:
            self.lost.append((began_s, f"{kind}: {type(what).__name__} {what}"[:200]))

    def take_times(self) -> list[float]:
        with self.lock:
            taken, self.times_ms = self.times_ms, []
            return taken

    def is_explained(self, began_s: float) -> bool:
        """Tells whether a fault can be why what began then was lost."""
        return any(
            began_s <= end_s + AFTER_S and began_s + TIMEOUT_S >= begin_s
            for begin_s, end_s, _ in self.faults
        )

    def unexplained(self) -> list[str]:
        return [what for began_s, what in self.lost if not self.is_explained(began_s)]


def expected_pieces(count: int, length: int) -> bytes:
    """What `/pieces` sends."""
    return b"".join(
        bytes(ord("a") + (left + index) % 26 for index in range(length))
        for left in range(count - 1, -1, -1)
    )


def expected_upload(content: bytes) -> bytes:
    """What `/upload` tells of content."""
    checksum = 0
    for octet in content:
        checksum = (checksum * 31 + octet) & 0xFFFF_FFFF
    return f"{len(content)} {checksum}".encode()


UPLOADS = [bytes((at * step) & 255 for at in range(length))
           for step, length in ((7, 100), (11, 5_000), (13, 70_000))]
UPLOAD_ANSWERS = [expected_upload(content) for content in UPLOADS]
PIECES = [(3, 10), (20, 500), (8, 9_000)]
PIECE_ANSWERS = [expected_pieces(*row) for row in PIECES]


@dataclass(frozen=True)
class Ask:
    """A request, and what its answer must be."""

    method: str
    path: str
    content: bytes | None
    wanted: bytes
    own: str = ""

    @property
    def is_gateway(self) -> bool:
        return self.path.startswith(GATEWAY)

    def check(self, status: int, own: str, body: bytes) -> None:
        """Raises Wrong, or OSError if a gateway says that nobody answered it."""
        if status in LATE_STATUSES and self.is_gateway:
            raise OSError(f"{status} for {self.path}")
        if (status, own, body) != (200, self.own, self.wanted):
            raise Wrong(
                f"{self.method} {self.path} gave {status} with X-Own {own!r} and"
                f" {len(body)} octets {body[:80]!r}; expected {self.wanted[:80]!r}"
            )


def some_ask(random: random.Random) -> Ask:
    """Any request, of this client alone but for what is cached."""
    prefix = random.choice(("", "", *GATEWAY))
    what = "own" if prefix == "/kept" else random.choice(("own", "echo", "pieces", "upload"))
    id = str(random.randrange(KEY_COUNT) if prefix == "/kept" else random.getrandbits(60))
    if what == "pieces":
        at = random.randrange(len(PIECES))
        count, length = PIECES[at]
        return Ask("GET", f"{prefix}/pieces?count={count}&length={length}", None, PIECE_ANSWERS[at])
    if what == "upload":
        at = random.randrange(len(UPLOADS))
        return Ask("POST", f"{prefix}/upload", UPLOADS[at], UPLOAD_ANSWERS[at])
    if what == "echo":
        content = random.randbytes(random.choice((0, 10, 3_000)))
        return Ask("POST", f"{prefix}/own/{id}", content, content, id)
    # The cache's key is the whole URL, so a key has one length.
    more = int(id) % 2_000 if prefix == "/kept" else random.choice((0, 50, 5_000))
    wanted = f"own {id} ".encode() + b"o" * more
    return Ask("GET", f"{prefix}/own/{id}?more={more}", None, wanted, id)


class Traffic(threading.Thread):
    """One client that does something so often, until it is told to end."""

    kind = ""

    def __init__(self, server, tally: Tally, rate: float, seed: int) -> None:
        super().__init__(daemon=True)
        self.server, self.tally, self.rate = server, tally, rate
        self.random = random.Random(seed)
        self.ended = threading.Event()

    def run(self) -> None:
        due_s = time.monotonic() + self.random.random() / self.rate
        while not self.ended.wait(max(0.0, due_s - time.monotonic())):
            due_s = max(due_s + 1 / self.rate, time.monotonic() - 1)
            began_s = time.monotonic()
            try:
                self.once()
            except LOST as error:
                self.tally.note_lost(self.kind, began_s, error)
                self.close()
                self.ended.wait(0.05)
            except Exception as error:
                self.tally.note_wrong(self.kind, f"{type(error).__name__}: {error}")
                self.close()
        self.close()

    def once(self) -> None:
        raise NotImplementedError

    def close(self) -> None:
        pass


class Http1(Traffic):
    """Requests on a connection that is kept, some of them pipelined."""

    kind = "http1"
    client: Client | None = None

    def once(self) -> None:
        if self.client is None:
            self.client = Client(self.server, TIMEOUT_S)
        asks = [some_ask(self.random) for _ in range(self.random.choice((1, 1, 1, 3)))]
        began_s = time.monotonic()
        self.client.send(b"".join(map(self._request, asks)))
        for ask in asks:
            self._take(ask)
            self.tally.note(self.kind, began_s)

    def _request(self, ask: Ask) -> bytes:
        head = f"{ask.method} {ask.path} HTTP/1.1\r\nHost: test\r\n"
        if ask.content is None:
            return head.encode() + b"\r\n"
        if self.random.random() < 0.5:
            return f"{head}Content-Length: {len(ask.content)}\r\n\r\n".encode() + ask.content
        chunks = [ask.content[at : at + 4_000] for at in range(0, len(ask.content), 4_000)]
        body = b"".join(b"%x\r\n%s\r\n" % (len(x), x) for x in chunks)
        return f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + body + b"0\r\n\r\n"

    def _take(self, ask: Ask) -> None:
        response = self.client.response()
        body = response.body
        if "transfer-encoding" in response.fields:
            body = self._chunks()
        self._check(ask, response.status, response.fields.get("x-own", ""), body)
        if response.fields.get("connection") == "close":
            self.close()

    def _check(self, ask: Ask, status: int, own: str, body: bytes) -> None:
        ask.check(status, own, body)

    def _chunks(self) -> bytes:
        found = b""
        while True:
            while b"\r\n" not in self.client.buffer:
                self.client._more()
            line, self.client.buffer = self.client.buffer.split(b"\r\n", 1)
            length = int(line, 16)
            while len(self.client.buffer) < length + 2:
                self.client._more()
            found += self.client.buffer[:length]
            assert self.client.buffer[length : length + 2] == b"\r\n"
            self.client.buffer = self.client.buffer[length + 2 :]
            if length == 0:
                return found

    def close(self) -> None:
        if self.client is not None:
            self.client.sock.close()
        self.client = None


class HalfClosed(Http1):
    """A connection for each request, which says that there is no more: at once, or
    a little later, when a part of the answer may be there.

    One whose request had to wait for a thread is taken for one who has left, and
    gets 503 in place of the handler's answer.
    """

    kind = "half-closed"

    def _check(self, ask: Ask, status: int, own: str, body: bytes) -> None:
        if (status, body) == (503, b"the server is busy\n"):
            with self.tally.lock:
                self.tally.answered["half-closed and not begun with"] += 1
            return
        ask.check(status, own, body)

    def once(self) -> None:
        self.client = Client(self.server, TIMEOUT_S)
        ask, began_s = some_ask(self.random), time.monotonic()
        self.client.send(self._request(ask))
        self.ended.wait(self.random.choice((0, 0, 0.001, 0.005)))
        self.client.sock.shutdown(socket.SHUT_WR)
        self._take(ask)
        self.tally.note(self.kind, began_s)
        self.close()


class Resetting(Http1):
    """Asks for much, reads a little, and resets the connection."""

    kind = "resetting"

    def once(self) -> None:
        self.client = Client(self.server, TIMEOUT_S)
        prefix = self.random.choice(("", "/passed", "/passed2"))
        path = f"{prefix}/pieces?count=50&length=9000"
        self.client.send(f"GET {path} HTTP/1.1\r\nHost: test\r\n\r\n".encode())
        self.client.sock.recv(self.random.choice((10, 5_000)))
        self.client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()


class Slow(Http1):
    """Sends a head octet by octet, and takes its time to read the answer."""

    kind = "slow"
    was_too_slow = False

    def once(self) -> None:
        began_s = time.monotonic()
        self.client = Client(self.server, TIMEOUT_S)
        ask = Ask("GET", "/pieces?count=8&length=9000", None, PIECE_ANSWERS[2])
        for octet in self._request(ask):
            self.client.send(bytes([octet]))
            if self.ended.wait(0.03):
                return
        # On a machine that has no time for it, it is slower than it means to be.
        self.was_too_slow = time.monotonic() - began_s >= HEAD_TIMEOUT_S
        self.ended.wait(0.5)
        self._take(ask)
        # Its time is its own doing.
        with self.tally.lock:
            self.tally.answered[self.kind] += 1
        self.close()

    def _check(self, ask: Ask, status: int, own: str, body: bytes) -> None:
        if not (self.was_too_slow and status == 408):
            super()._check(ask, status, own, body)


class Http2(Traffic):
    """Some streams at once, again and again on one connection."""

    kind = "http2"
    client: H2Client | None = None

    def once(self) -> None:
        if self.client is None or self.client.goaways:
            self.close()
            self.client = H2Client(self.server, timeout=TIMEOUT_S)
        asks, began_s = [some_ask(self.random) for _ in range(3)], time.monotonic()
        streams = [
            self.client.request(ask.path, ask.method, ends=ask.content is None) for ask in asks
        ]
        for ask, stream in zip(asks, streams):
            if ask.content is not None:
                self.client.upload(stream, ask.content)
        for ask, stream in zip(asks, streams):
            answer = self.client.answer(stream)
            if answer.reset is not None:
                raise OSError(f"{ask.path} was reset with {answer.reset}")
            ask.check(answer.status, answer.fields.get("x-own", ""), answer.body)
            self.tally.note(self.kind, began_s)
        self.client.answers.clear()
        self.client.order.clear()

    def close(self) -> None:
        if self.client is not None:
            self.client.sock.close()
        self.client = None


class Seat:
    """A client of the room."""

    def __init__(self, server) -> None:
        self.client = Client(server, TIMEOUT_S)
        self.client.send(UPGRADE % (b"/ws", b""))
        if self.client.response().status != 101:
            raise OSError("no WebSocket")
        self.waiting, self.client.buffer = self.client.buffer, b""
        # The last message that it heard of each speaker.
        self.last: dict[str, int] = {}

    def texts(self) -> list[str]:
        """Takes the messages that have come."""
        piece = self.client.sock.recv(65_536)
        if not piece:
            raise EOFError("the room is closed")
        self.waiting += piece
        found = []
        while len(self.waiting) >= 2 and len(self.waiting) >= 2 + self.waiting[1]:
            first, length = self.waiting[:2]
            if first == 0x88:
                raise EOFError("closed")
            if first not in (0x81, 0x89) or length > 125:
                raise Wrong(f"a frame begins with {self.waiting[:2]!r}")
            payload = self.waiting[2 : 2 + length]
            if first == 0x89:
                self.client.send(frame(0x8A, payload))
            else:
                found.append(payload.decode())
            self.waiting = self.waiting[2 + length :]
        return found


class Room(Traffic):
    """Clients of a room: each message of one is heard by all, once and in order."""

    kind = "room"

    def __init__(self, *given, count: int = 12) -> None:
        super().__init__(*given)
        self.count = count
        self.seats: list[Seat] = []
        self.mark = f"{self.random.getrandbits(32):08x}"
        self.tally.said[self.mark] = 0

    def once(self) -> None:
        while len(self.seats) < self.count:
            self.seats.append(Seat(self.server))
        number, began_s = self.tally.said[self.mark], time.monotonic()
        self.tally.said[self.mark] += 1
        speaker = self.random.choice(self.seats)
        speaker.client.send(frame(0x81, f"{self.mark} {number}".encode()))
        with selectors.DefaultSelector() as selector:
            for seat in self.seats:
                selector.register(seat.client.sock, selectors.EVENT_READ, seat)
            while missing := [x for x in self.seats if x.last.get(self.mark, -1) < number]:
                left_s = began_s + 5 - time.monotonic()
                if left_s <= 0:
                    raise OSError(f"message {number} is not heard by {len(missing)}")
                for key, _ in selector.select(left_s):
                    self._hear(key.data)
        self.tally.note(self.kind, began_s)

    def _hear(self, seat: Seat) -> None:
        for text in seat.texts():
            mark, _, number = text.partition(" ")
            if not number.isdigit() or int(number) >= self.tally.said.get(mark, 0):
                raise Wrong(f"nobody said {text!r}")
            last = seat.last.get(mark, -1)
            if int(number) <= last:
                raise Wrong(f"{text!r} came behind {last}")
            seat.last[mark] = int(number)

    def close(self) -> None:
        for seat in self.seats:
            seat.client.sock.close()
        self.seats = []


def all_traffic(server, tally: Tally, rate: float) -> list[Traffic]:
    """Clients of every kind that ask so often a second in sum, about."""
    unit = rate / 20
    plan: list[tuple[Callable[..., Traffic], int, float]] = [
        (Http1, 5, 1.3), (Http2, 4, 0.7), (HalfClosed, 2, 0.6), (Resetting, 1, 0.4),
        (Slow, 4, 0.02), (Room, 2, 0.3),
    ]
    return [
        kind(server, tally, max(0.2, unit * share), 100 * at + number)
        for at, (kind, count, share) in enumerate(plan)
        for number in range(count)
    ]

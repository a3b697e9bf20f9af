"""Server-sent events as a table: what a stream may hold and how its server may end it,
met by our client; and our hub, met by clients, each on every way between them. What is
to come of each follows from the rule in its row: sections of the HTML standard (WHATWG)
unless an RFC is named."""

import ssl
from dataclasses import dataclass, field
from typing import NamedTuple

import pytest
from cell_server import Answer, CellServer
from conftest import Server, shown, wait_until
from h2_client import INITIAL_WINDOW, Answer as Http2Answer, reset
from https_client import Sealer
from raw_server import reset_at_close
from test_client_open import on, opened, program, reader
from wire_programs import built
from ws_ways import WAIT_S, WAYS, Way, Ways

__all__ = ["program", "reader"]
TYPE = ("Content-Type", "text/event-stream")


class Event(NamedTuple):
    data: str
    name: str = ""
    id: str = ""


@dataclass
class Stream:
    """Octets of a stream, and the events in them."""

    rule: str
    octets: bytes
    events: list[Event] = field(default_factory=list)
    last_id: str = ""
    retry_ms: int = -1


STREAMS = [
    Stream("9.2.6 lines", b"data: YHOO\ndata: +2\ndata: 10\n\n", [Event("YHOO\n+2\n10")]),
    Stream(
        "9.2.6 the second example",
        b": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
        [Event("first event", id="1"), Event("second event"), Event(" third event")],
    ),
    Stream("9.2.6 the third example", b"data\n\ndata\ndata\n\ndata:", [Event(""), Event("\n")]),
    Stream("9.2.6 one space", b"data:test\n\ndata: test\n\n", [Event("test")] * 2),
    Stream("9.2.5 CR", b"data: a\rdata: b\r\rdata: c\r\r", [Event("a\nb"), Event("c")]),
    Stream("9.2.5 CRLF", b"data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", [Event("a\nb"), Event("c")]),
    Stream("9.2.5 all of them", b"data: a\r\n\rdata: b\n\r\ndata: c\r\n\n", [Event("a"), Event("b"), Event("c")]),
    Stream("9.2.5 a mark", b"\xef\xbb\xbfdata: a\n\n", [Event("a")]),
    Stream("9.2.5 one mark alone", b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\ndata: b\n\n", [Event("b")]),
    Stream("9.2.5 half a mark", b"\xef\xbbdata: a\n\ndata: b\n\n", [Event("b")]),
    Stream("9.2.6 comments", b":\n: data: x\n:data: y\n\ndata: a\n:b\n\n", [Event("a")]),
    Stream("9.2.6 names", b"event: add\ndata: 7\n\ndata: 8\n\n", [Event("7", "add"), Event("8")]),
    Stream("9.2.6 the last name counts", b"event: a\nevent: b\ndata: 7\n\n", [Event("7", "b")]),
    Stream("9.2.6 a name without data", b"event: a\n\ndata: 7\n\n", [Event("7")]),
    Stream("9.2.6 unknown fields", b"Data: x\ndata : x\nother: y\nother\ndata: a\n\n", [Event("a")]),
    Stream("9.2.6 colons", b"data: a: b\ndata::c\n\n", [Event("a: b\n:c")]),
    Stream("9.2.6 an id stays", b"id: 7\ndata: a\n\ndata: b\n\n", [Event("a", id="7"), Event("b", id="7")], "7"),
    Stream("9.2.6 an id without data", b"data: a\n\nid: 9\n\n", [Event("a")], "9"),
    Stream("9.2.6 an id in what is cut", b"id: 1\ndata: a\n\nid: 2\ndata: b\n", [Event("a", id="1")], "1"),
    Stream("9.2.6 an id with NUL", b"id: 1\nid: 2\0\ndata: a\n\n", [Event("a", id="1")], "1"),
    Stream("9.2.6 retry", b"retry: 1500\ndata: a\n\n", [Event("a")], retry_ms=1500),
    Stream("9.2.6 retry that is no number", b"retry: 15\nretry: 1x\nretry:\nretry: -1\nretry: +1\ndata: a\n\n", [Event("a")], retry_ms=15),
    Stream("9.2.5 characters", "data: ä€\U0001f4a9\nevent: ß\nid: é\n\n".encode(), [Event("ä€\U0001f4a9", "ß", "é")], "é"),
    Stream("9.2.5 what is no UTF-8", b"data: a\xffb\n\n", [Event("a\ufffdb")]),
    Stream("9.2.5 NUL in data", b"data: a\0b\n\n", [Event("a\0b")]),
    Stream("9.2.6 nothing", b""),
    Stream("9.2.6 only line ends", b"\n\r\r\n\n"),
    Stream("9.2.6 many", b"".join(b"id: %d\ndata: %d\n\n" % (n, n) for n in range(300)),
           [Event(str(n), id=str(n)) for n in range(300)], "299"),
    Stream("9.2.6 a long one", b"data: " + b"x" * 200_000 + b"\n\n", [Event("x" * 200_000)]),
]  # fmt: skip
# The gateway offers both versions over TLS, and the client takes the better one.
READ_WAYS = [way for way in WAYS if way.version == 2 or not way.is_tls or not way.upstream]


class Readable:
    """Servers of streams, one for each version over TLS, and gateways in front."""

    def __init__(self, certs) -> None:
        self.root = str(certs / "root.pem")
        self.plain = CellServer()
        self.sealed = {}
        for version, protocol in ((1, "http/1.1"), (2, "h2")):
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certs / "good_chain.pem", certs / "good.key")
            context.set_alpn_protocols([protocol])
            self.sealed[version] = CellServer(context)
        more = [f"{name}={path}" for name, path in shown(certs).items()]
        self.gateways = {
            (is_tls, upstream): Server(
                built("proxy_server"),
                [f"upstream={self.plain.url}", f"http2_prior_knowledge={upstream - 1}"]
                + ["failures_to_eject=0"] + (more if is_tls else []),
            )
            for is_tls in (False, True)
            for upstream in (1, 2)
        }  # fmt: skip
        self.count = 0

    def cell(self, way: Way, answers: list) -> tuple[str, list]:
        """A stream on a way: its URL, and the requests that come for it."""
        server = self.sealed[way.version] if way.is_tls and not way.upstream else self.plain
        self.count += 1
        name = f"cell{self.count}"
        url = server.cell(name, answers)
        if way.upstream:
            gateway = self.gateways[way.is_tls, way.upstream]
            host = f"https://localhost:{gateway.port}" if way.is_tls else gateway.url
            url = f"{host}/{name}/"
        return url, server.cells[name].asked

    def tell(self, reader, way: Way) -> None:
        """Has the client speak the way's version."""
        h2c = int(way.version == 2 and not way.is_tls)
        reader.client(h2c=h2c, **({"ca_file": self.root} if way.is_tls else {}))

    def close(self) -> None:
        for gateway in self.gateways.values():
            assert gateway.is_alive(), "a gateway died during the tests"
            assert gateway.stop() == 0
        for server in (self.plain, *self.sealed.values()):
            server.close()


@pytest.fixture(scope="module")
def readable(certs):
    running = Readable(certs)
    yield running
    running.close()


def events_of(reader, url: str) -> tuple[list[Event], dict]:
    """Reads a response to its end."""
    answer, found = opened(reader, url), []
    while "error" not in (got := on(reader, "event", answer)) and not got["is_end"]:
        found.append(Event(got["data"], got["name"], got["event_id"]))
    return found, got


@pytest.mark.parametrize("way", READ_WAYS, ids=str)
def test_each_stream(readable, reader, way):
    readable.tell(reader, way)
    faults = []
    for stream in STREAMS:
        for piece_len in (0, 1):
            if piece_len and len(stream.octets) > 400:
                continue
            answer = Answer(content=stream.octets, fields=(TYPE,), framing="chunked", piece_len=piece_len)
            found, last = events_of(reader, readable.cell(way, [answer])[0])
            told = (found, last.get("last_id"), last.get("retry_ms"))
            wanted = (stream.events, stream.last_id, stream.retry_ms)
            if told != wanted:
                faults.append(f"{stream.rule}, pieces of {piece_len}: {told}, not {wanted} ({last})")
    assert not faults, "\n".join(faults)


@dataclass
class Follow:
    """How a server may end a stream, or answer in place of it, and what follows: the
    data of all events up to the end, or a part of the error."""

    rule: str
    answers: list
    events: list[str] = field(default_factory=list)
    # The id that each request names.
    ids: list = field(default_factory=list)
    error: str = ""


SOON = b"retry: 1\n"
A = Answer(content=SOON + b"id: 1\ndata: a\n\n", fields=(TYPE,))
B = Answer(content=b"data: b\n\n", fields=(TYPE,))
OVER = Answer(204, b"", ())


def of_type(value: str) -> Answer:
    return Answer(content=SOON + b"id: 1\ndata: a\n\n", fields=(("Content-Type", value),))


def led(status: int) -> list:
    def lead(far, at, asked) -> str:
        place = Answer(status, b"moved", (("Location", asked.target + "there"),))
        if hasattr(far, "answer_with"):
            far.answer_with(at, place, asked.method)
        else:
            far.send(place.octets(asked.method))
        return ""

    return [lead, A, lead, OVER]


FOLLOWS = [
    Follow("9.2.3 204 is the end", [A, B, OVER], ["a", "b"], [None, "1", "1"]),
    Follow("9.2.2 the end of the response", [A, OVER], ["a"], [None, "1"]),
    Follow(
        "9.2.6 what is cut is no event",
        [Answer(content=SOON + b"id: 1\ndata: a\n\nid: 2\ndata: lost\n", fields=(TYPE,)), B, OVER],
        ["a", "b"], [None, "1", "1"],
    ),
    Follow(
        "9112-8 content that breaks off",
        [Answer(content=SOON + b"id: 1\ndata: a\n\n", fields=(TYPE,), framing="chunked", end="close"), B, OVER],
        ["a", "b"], [None, "1", "1"],
    ),
    Follow(
        "9112-8 content that is reset",
        [Answer(content=SOON + b"id: 1\ndata: a\n\n", fields=(TYPE,), framing="chunked", end="reset"), B, OVER],
        ["a", "b"], [None, "1", "1"],
    ),
    Follow(
        "9.2.6 an id that is taken back",
        [A, Answer(content=b"id\ndata: b\n\n", fields=(TYPE,)), OVER], ["a", "b"], [None, "1", None],
    ),
    *[Follow(f"9110-15.4 {status}", led(status), ["a"], [None, None, "1", "1"])
      for status in (301, 302, 303, 307, 308)],
    Follow("9.2.3 another type", [of_type("text/html")], error="UnexpectedResponse"),
    Follow("9.2.3 no type", [Answer(content=b"data: a\n\n", fields=())], error="UnexpectedResponse"),
    Follow("9.2.3 404", [Answer(404, b"no", (TYPE,))], error="UnexpectedResponse"),
    Follow("9.2.3 206", [Answer(206, b"data: a\n\n", (TYPE,))], error="UnexpectedResponse"),
    *[Follow(f"9110-8.3.1 {value!r}", [of_type(value), OVER], ["a"], [None, "1"])
      for value in ("Text/Event-Stream", "text/event-stream;charset=utf-8", "text/event-stream ;a=b",
                    "text/event-stream\t; charset=UTF-8", "text/event-stream; a=\"b;c\"")],
]  # fmt: skip


@pytest.mark.parametrize("way", READ_WAYS, ids=str)
def test_each_end_of_a_stream(readable, reader, way):
    readable.tell(reader, way)
    faults = []
    for follow in FOLLOWS:
        url, asked = readable.cell(way, follow.answers)
        number = reader.ask(do="listen", url=url)["id"]
        found = []
        while "error" not in (got := reader.ask(do="next", id=number)) and not got["is_end"]:
            found.append(got["data"])
        said = got.get("error", "")
        ids = [one.fields.get("last-event-id") for one in asked]
        if found != follow.events or (ids != follow.ids and not follow.error):
            faults.append(f"{follow.rule}: {found} {ids}, {got}")
        elif bool(said) != bool(follow.error) or follow.error not in said:
            faults.append(f"{follow.rule}: {got}")
        for one in asked:
            if one.fields.get("accept") != "text/event-stream":
                faults.append(f"{follow.rule}: 9.2.2 Accept: {one.fields}")
    assert not faults, "\n".join(faults)


@pytest.fixture(scope="module")
def hubs(certs):
    running = Ways(certs, "stream_server", "history=5", "heartbeat_ms=60000")
    yield running
    running.close()


class Subscriber:
    """A client of the hub on a way."""

    def __init__(self, hubs: Ways, way: Way, path: str = "/events", last_id: str = "", **options) -> None:
        self.version, self.data = way.version, b""
        fields = [("last-event-id", last_id)] if last_id else []
        self.client = None
        if way.version == 2:
            self.client = hubs.http2(way, **options)
            self.stream = self.client.request(path, fields=fields)
            self.client.until(lambda: self.answer.status)
            self.fields = self.answer.fields
            assert self.answer.status == 200
            return
        self.sock = hubs.entry(way).connect(WAIT_S)
        self.sealer = Sealer(self.sock, hubs.context) if way.is_tls else None
        if self.sealer:
            self.sealer.shake()
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields)
        octets = f"GET {path} HTTP/1.1\r\nHost: a\r\n{lines}\r\n".encode()
        self.sock.sendall(self.sealer.seal(octets) if self.sealer else octets)
        self.raw = b""
        while b"\r\n\r\n" not in self.raw:
            self._more()
        head, self.raw = self.raw.split(b"\r\n\r\n", 1)
        lines = head.decode().lower().split("\r\n")[1:]
        self.fields = dict(line.split(": ", 1) for line in lines)

    @property
    def answer(self) -> Http2Answer:
        return self.client.answers.get(self.stream) or Http2Answer()

    def _more(self) -> None:
        if self.sealer:
            self.raw += self.sealer.read(1)
        else:
            piece = self.sock.recv(65536)
            assert piece, "the end"
            self.raw += piece

    def read_to(self, length: int) -> bytes:
        """Content up to a length."""
        if self.client:
            self.client.until(lambda: len(self.answer.body) >= length or self.answer.is_over)
            return self.answer.body
        while len(self.data) < length:
            while b"\r\n" not in self.raw:
                self._more()
            size, _, rest = self.raw.partition(b"\r\n")
            count = int(size, 16)
            while len(rest) < count + 2:
                self._more()
                rest = self.raw.partition(b"\r\n")[2]
            self.data, self.raw = self.data + rest[:count], rest[count + 2 :]
            if count == 0:
                break
        return self.data

    def leave(self, how: str = "close") -> None:
        if self.client and how == "reset":
            self.client.send(reset(self.stream))
            return
        sock = self.client.sock if self.client else self.sock
        if how == "reset":
            reset_at_close(sock)
        sock.close()


def publish(hubs: Ways, way: Way, count: int, text: bytes = b"") -> None:
    with Straight(hubs, way) as client:
        client.post(f"/publish?count={count}", text)


class Straight:
    """Asks the server of a way, whatever gateway stands in between."""

    def __init__(self, hubs: Ways, way: Way) -> None:
        straight = Way(2, way.is_tls and not way.upstream, 0)
        self.client = hubs.http2(straight)

    def post(self, path: str, text: bytes) -> bytes:
        return self.client.post(path, text).body

    def get(self, path: str, method: str = "GET"):
        return self.client.get(path, method)

    def __enter__(self) -> "Straight":
        return self

    def __exit__(self, *_) -> None:
        self.client.sock.close()


def subscriber_count(hubs: Ways, way: Way) -> int:
    with Straight(hubs, way) as client:
        return int(client.get("/counts").body.split()[2])


def written(start: int, end: int, text: bytes = b"") -> bytes:
    return b"".join(b"id: %d\ndata: %d%s\n\n" % (n, n, text) for n in range(start, end))


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("path", ["/events", "/cached/events", "/compressed/events"])
def test_events_come_at_once_to_each(hubs, way, path):
    """Section 9.2.7: nobody on the way collects them; two that ask for the same have
    a stream each (RFC 9111 section 4: what is not complete answers nobody)."""
    first, second = Subscriber(hubs, way, path), Subscriber(hubs, way, path)
    for one in (first, second):
        assert one.fields["content-type"] == "text/event-stream"
        assert "content-encoding" not in one.fields
    publish(hubs, way, 1)
    assert first.read_to(len(written(0, 1))) == written(0, 1)
    publish(hubs, way, 3)
    for one in (first, second):
        wanted = written(0, 1) + written(0, 3)
        assert one.read_to(len(wanted)) == wanted
        one.leave()


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("how", ["close", "reset"])
def test_a_client_that_leaves_is_noticed(hubs, way, how):
    """Though nothing is said: the hub forgets it when its connection has ended, which
    is soon: RFC 9112 section 9.6 allows half a connection, which is not waited for
    long."""
    gone = [Subscriber(hubs, way) for _ in range(3)]
    assert wait_until(lambda: subscriber_count(hubs, way) == 3)
    for one in gone:
        one.leave(how)
    assert wait_until(lambda: subscriber_count(hubs, way) == 0)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_who_comes_back_goes_on_behind_its_last(hubs, way):
    publish(hubs, way, 8)
    for last_id, start in (("5", 6), ("7", 8), ("forgotten", 3)):
        one = Subscriber(hubs, way, last_id=last_id)
        publish(hubs, way, 1, b" more")
        wanted = written(start, 8) + written(0, 1, b" more")
        assert one.read_to(len(wanted)) == wanted, last_id
        one.leave()
        publish(hubs, way, 8)


@pytest.mark.parametrize("way", [way for way in WAYS if way.version == 2], ids=str)
def test_a_window_that_is_shut_keeps_events(hubs, way):
    """RFC 9113 section 5.2: they wait, and come when it opens."""
    one = Subscriber(hubs, way, values={INITIAL_WINDOW: 10})
    one.client.grants = False
    publish(hubs, way, 5)
    assert one.read_to(10) == written(0, 5)[:10]
    one.client.settle()
    assert one.answer.body == written(0, 5)[:10]
    one.client.grant(one.stream, 100_000)
    assert one.read_to(len(written(0, 5))) == written(0, 5)
    one.leave()


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("path", ["/events", "/cached/events", "/compressed/events"])
def test_head_has_the_fields_alone(hubs, way, path):
    """RFC 9110 section 9.3.2: and it ends."""
    if way.version == 2:
        with hubs.http2(way) as client:
            answer = client.get(path, "HEAD")
            assert (answer.status, answer.body, answer.ended) == (200, b"", True)
            assert answer.fields["content-type"] == "text/event-stream"
    else:
        sock = hubs.entry(way).connect(WAIT_S)
        sealer = Sealer(sock, hubs.context) if way.is_tls else None
        if sealer:
            sealer.shake()
        octets = f"HEAD {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode()
        sock.sendall(sealer.seal(octets) if sealer else octets)
        data = sealer.read_all()[0] if sealer else b"".join(iter(lambda: sock.recv(65536), b""))
        sock.close()
        assert data.startswith(b"HTTP/1.1 200") and data.endswith(b"\r\n\r\n"), data
        assert b"text/event-stream" in data
    assert wait_until(lambda: subscriber_count(hubs, way) == 0)

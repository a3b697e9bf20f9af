"""Messages over more than one hop: through nginx, haproxy and our gateway to our server,
and from upstreams that mean no good. What the last one counts is what the first one was
sent, and nobody gets the answer of another one (RFC 9112 sections 9.3 and 11)."""

import contextlib
import re
import socket
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import Client, Server, read_all, read_to, wait_until
from h2_client import Closed, H2Client
from hop_fronts import FRONTS, fronts
from raw_server import RawServer
from test_framing import get
from wire_programs import built

sys.path.insert(0, str(Path(__file__).parent / "h2_attacks"))

from attack import cases_of  # noqa: E402

WAIT_S = 5
FINAL = re.compile(rb"HTTP/1\.1 [2-5]\d\d ")
ECHO = re.compile(rb"[A-Z]+\|(/line/\S*?)\|/line/")
HIDDEN = b"GET /line/hidden HTTP/1.1\r\nHost: evil\r\n\r\n"
NEXT = get(b"/line/next", b"Connection: close\r\n")
POST = b"POST /line/a HTTP/1.1\r\nHost: a\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
CHUNK_OF_HIDDEN = b"%x\r\n%s\r\n" % (len(HIDDEN), HIDDEN)
LENGTH_OF_HIDDEN = b"Content-Length: %d\r\n" % len(HIDDEN)


def coded(value: bytes, more: bytes = b"") -> bytes:
    """Content whose coding one reader may see and another not: what is a chunk for the
    one is a request for the other."""
    content = b"0\r\n\r\n" + HIDDEN
    length = b"Content-Length: %d\r\n" % len(content)
    return POST + b"Transfer-Encoding:" + value + b"\r\n" + more + length + b"\r\n" + content


# What a client sends before it asks for /line/next.
ROWS = {
    # Trailers (RFC 9112 section 7.1.2).
    "a trailer without a colon": CHUNKED + b"1\r\na\r\n0\r\n" + HIDDEN,
    "a trailer with a space before its colon": CHUNKED + b"0\r\nX : y\r\n\r\n",
    "a trailer with a bare LF": CHUNKED + b"0\r\nX: y\nGET /line/hidden HTTP/1.1\r\nHost: b\r\n\r\n",
    "a trailer with a bare CR": CHUNKED + b"0\r\nX: y\rGET /line/hidden HTTP/1.1\r\nHost: b\r\n\r\n",
    "a trailer with NUL": CHUNKED + b"0\r\nX: a\0b\r\n\r\n",
    "a folded trailer": CHUNKED + b"0\r\nX: y\r\n GET /line/hidden HTTP/1.1\r\nHost: b\r\n\r\n",
    "a trailer that frames": CHUNKED + b"0\r\nContent-Length: 40\r\n\r\n",
    "a trailer that is a coding": CHUNKED + b"0\r\nTransfer-Encoding: chunked\r\n\r\n",
    "a trailer that is a host": CHUNKED + b"0\r\nHost: evil\r\n\r\n",
    "trailers that are good": CHUNKED + b"1\r\na\r\n0\r\nX-Sum: 1\r\n\r\n",
    # Folded lines (RFC 9112 section 5.2).
    "a folded field": get(b"/line/a", b"X: a\r\n GET /line/hidden HTTP/1.1\r\n"),
    "a folded length": POST + b"Content-Length:\r\n %d\r\n\r\n" % len(HIDDEN) + HIDDEN,
    "a folded coding": coded(b"\r\n chunked"),
    "a folded first field": b"POST /line/a HTTP/1.1\r\n X: y\r\nHost: a\r\n\r\n",
    # Codings, twice and within each other (RFC 9112 sections 6.1 and 6.3).
    "chunked and a length": coded(b" chunked"),
    "chunked twice": coded(b" chunked, chunked"),
    "chunked on two lines": coded(b" chunked", b"Transfer-Encoding: chunked\r\n"),
    "another one on a line of its own": coded(b" chunked", b"Transfer-Encoding: identity\r\n"),
    "chunked within gzip": coded(b" gzip, chunked"),
    "gzip within chunked": coded(b" chunked, gzip"),
    "identity": coded(b" identity"),
    "a parameter": coded(b" chunked;q=1"),
    "a vertical tab": coded(b" \x0bchunked"),
    "quoted": coded(b' "chunked"'),
    "capitals": coded(b" CHUNKED"),
    "a tab before the colon": POST + b"Transfer-Encoding\t: chunked\r\n" + LENGTH_OF_HIDDEN + b"\r\n" + HIDDEN,
    "two lengths in one": POST + b"Content-Length: %d, 0\r\n\r\n" % len(HIDDEN) + HIDDEN,
    "a length with a plus": POST + b"Content-Length: +%d\r\n\r\n" % len(HIDDEN) + HIDDEN,
    "a length of two words": POST + b"Content-Length: %d 0\r\n\r\n" % len(HIDDEN) + HIDDEN,
    # Chunks (RFC 9112 section 7.1).
    "a chunk that is a request": CHUNKED + CHUNK_OF_HIDDEN + b"0\r\n\r\n",
    "an extension": CHUNKED + b"1;a=b\r\na\r\n0;c\r\n\r\n",
    "an extension with LF": CHUNKED + b"2;\nxx\r\n%x\r\n0\r\n\r\n" % len(HIDDEN) + HIDDEN,
    "a quoted extension over lines": CHUNKED + b'1;a="\r\na\r\n0\r\n\r\n' + HIDDEN,
    "a chunk that ends with other octets": CHUNKED + b"1\r\naXX0\r\n\r\n" + HIDDEN,
    "a chunk that ends with LF": CHUNKED + b"1\na\n0\n\n" + HIDDEN,
    "a size behind a space": CHUNKED + b" 1\r\na\r\n0\r\n\r\n",
    "a size of 2^64": CHUNKED + b"10000000000000000\r\n" + HIDDEN,
    "a size below 0": CHUNKED + b"-1\r\n" + HIDDEN,
    "a size as others write it": CHUNKED + b"0x%x\r\n" % len(HIDDEN) + HIDDEN + b"\r\n0\r\n\r\n",
    # Other protocols that are refused, with octets behind them (RFC 9110 section 7.8).
    "a WebSocket that is refused": get(
        b"/line/a", b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"),
    "h2c that is refused": get(
        b"/line/a", b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n"),
    "CONNECT": b"CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n" + LENGTH_OF_HIDDEN + b"\r\n" + HIDDEN,
    # Expectations (RFC 9110 section 10.1.1).
    "Expect, and content at once": POST + b"Expect: 100-continue\r\n" + LENGTH_OF_HIDDEN + b"\r\n" + HIDDEN,
    "Expect without content": get(b"/line/a", b"Expect: 100-continue\r\n"),
    "another expectation": POST + b"Expect: a-miracle\r\n" + LENGTH_OF_HIDDEN + b"\r\n" + HIDDEN,
    # Answers before the content is there (RFC 9112 section 9.3).
    "refused by the head": b"POST /guarded HTTP/1.1\r\nHost: a\r\n" + LENGTH_OF_HIDDEN + b"\r\n" + HIDDEN,
    "refused by the head, in chunks": b"POST /guarded HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    + CHUNK_OF_HIDDEN + b"0\r\n\r\n",
    "refused for its length": b"POST /small HTTP/1.1\r\nHost: a\r\nContent-Length: 2000\r\n\r\n"
    + bytes(2000 - len(HIDDEN)) + HIDDEN,
    "refused for its chunks": b"POST /small HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"7d0\r\n" + bytes(2000 - len(HIDDEN)) + HIDDEN + b"\r\n0\r\n\r\n",
    "refused, with Expect": b"POST /guarded HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
    + LENGTH_OF_HIDDEN + b"\r\n" + HIDDEN,
    # Content of what has none.
    "GET with content": get(b"/line/a", LENGTH_OF_HIDDEN) + HIDDEN,
    "HEAD with content": b"HEAD /line/a HTTP/1.1\r\nHost: a\r\n" + LENGTH_OF_HIDDEN + b"\r\n" + HIDDEN,
    "GET with chunks": get(b"/line/a", b"Transfer-Encoding: chunked\r\n") + CHUNK_OF_HIDDEN + b"0\r\n\r\n",
    "HTTP/1.0 with chunks": b"POST /line/a HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n"
    + LENGTH_OF_HIDDEN + b"\r\n" + HIDDEN,
    "204 and what follows": get(b"/status/204"),
    "304 and what follows": get(b"/status/304"),
    "HEAD and what follows": b"HEAD /size/5000 HTTP/1.1\r\nHost: a\r\n\r\n",
    # What is behind an error (RFC 9112 section 9.6).
    "an error": b"GET /line/a HTTP/1.1\r\n\r\n" + HIDDEN,
    "an error of a field": get(b"/line/a", b"X Y: z\r\n") + HIDDEN,
    "an error of a target": b"GET /a b HTTP/1.1\r\nHost: a\r\n\r\n" + HIDDEN,
    "an error of a version": b"GET /line/a HTTP/9.9\r\nHost: a\r\n\r\n" + HIDDEN,
}


@dataclass
class Hop:
    """A server behind somebody, and what it has counted."""

    server: Server
    port: int
    is_strict: bool
    seen: int = 0

    def connect(self, timeout: float = WAIT_S) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout)

    def counted(self, mark: str) -> list[str]:
        """The targets of all requests that came since it was asked last, before that
        with a mark, which has been answered."""
        assert wait_until(lambda: f" /line/own{mark} " in self._new())
        found = re.findall(r"\d \S+ (/\S*) HTTP/", self._new())
        self.seen += len(self._new())
        return [target for target in found if "/line/own" not in target]

    def _new(self) -> str:
        return self.server.log.read_text()[self.seen :]


@pytest.fixture(scope="module")
def hop(request):
    start, _, is_strict = FRONTS[request.param]
    server = Server(built("h2_server"), ["handler_threads=2", "logs_errors=false"])
    front = start(server.port) if start else server
    yield Hop(server, front.port, is_strict)
    if front is not server:
        front.stop()
    assert server.is_alive(), "the server died during the tests"
    assert server.stop() == 0


def assert_nobody_is_confused(hop: Hop, mark: str) -> None:
    """Requests, on whatever connection they go on, get their own answers."""
    for turn in range(3):
        with Client(hop, WAIT_S) as client:
            client.send(get(b"/line/own%d%s" % (turn, mark.encode())))
            body = client.response().body
            assert b"|/line/own%d%s|" % (turn, mark.encode()) in body, body


@pytest.mark.parametrize("hop", fronts("1.1"), indirect=True)
@pytest.mark.parametrize("number", range(len(ROWS)), ids=ROWS)
def test_what_is_sent_is_what_is_counted(hop, number):
    mark = f"-{number}"
    with Client(hop, WAIT_S) as client:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            client.send(list(ROWS.values())[number] + NEXT)
        data = read_all(client.sock)
    assert_nobody_is_confused(hop, mark)
    targets = hop.counted(f"2{mark}")
    # Who stands in front may read what is broken as one more request: then it is one
    # for both. By our own reading it never is.
    answered = [target.decode() for target in ECHO.findall(data)]
    for target in ("/line/hidden", "/line/next"):
        assert targets.count(target) == answered.count(target) <= 1, (targets, data)
    assert not (hop.is_strict and "/line/hidden" in targets), (targets, data)
    assert len(FINAL.findall(data)) >= len(targets), (targets, data)


H2_ROWS = cases_of("malformed_requests")


@pytest.mark.parametrize("hop", fronts("2"), indirect=True)
@pytest.mark.parametrize("number", range(len(H2_ROWS)), ids=H2_ROWS)
def test_what_is_malformed_over_http2_is_no_request(hop, number):
    with H2Client(hop, timeout=WAIT_S) as client:
        with contextlib.suppress(Closed, OSError):
            stream = list(H2_ROWS.values())[number].act(client)
            client.until(lambda: client.answers.get(stream) or client.goaways)
    with H2Client(hop, timeout=WAIT_S) as client:
        own = f"/line/own-h2-{number}"
        assert f"|{own}|".encode() in client.get(own).body
    targets = hop.counted(f"-h2-{number}")
    assert not {"/admin", "/other"} & set(targets) and len(targets) <= 1, targets
    assert not (hop.is_strict and targets), targets


POISON = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison"
OK = b"HTTP/1.1 200 OK\r\n"
OK_CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
WHOLE = OK + b"Content-Length: 2\r\n\r\nok"
LENGTH_OF_POISON = b"Content-Length: %d\r\n" % len(POISON)
CHUNK_OF_POISON = b"%x\r\n%s\r\n" % (len(POISON), POISON)
UPGRADE = b"Connection: Upgrade\r\nUpgrade: x\r\n"

# (method and fields of the request, what the upstream answers, statuses that may come of it)
ANSWERS = {
    "HEAD with content": (b"HEAD", b"", OK + LENGTH_OF_POISON + b"\r\n" + POISON, {200}),
    "HEAD with chunks": (b"HEAD", b"", OK_CHUNKED + CHUNK_OF_POISON + b"0\r\n\r\n", {200}),
    "304 with content": (b"GET", b"", b"HTTP/1.1 304 X\r\n" + LENGTH_OF_POISON + b"\r\n" + POISON, {304}),
    "304 with chunks": (
        b"GET", b"", b"HTTP/1.1 304 X\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNK_OF_POISON
        + b"0\r\n\r\n", {304, 502}),
    "204 with content": (b"GET", b"", b"HTTP/1.1 204 X\r\n" + LENGTH_OF_POISON + b"\r\n" + POISON, {204, 502}),
    "205 with content": (b"GET", b"", b"HTTP/1.1 205 X\r\n" + LENGTH_OF_POISON + b"\r\n" + POISON, {205, 502}),
    "two responses": (b"GET", b"", WHOLE + POISON, {200}),
    "two responses, in chunks": (b"GET", b"", OK_CHUNKED + b"2\r\nok\r\n0\r\n\r\n" + POISON, {200}),
    "an interim response before": (b"GET", b"", b"HTTP/1.1 103 X\r\n\r\n" + WHOLE, {200}),
    "an interim response with a length": (
        b"GET", b"", b"HTTP/1.1 103 X\r\n" + LENGTH_OF_POISON + b"\r\n" + WHOLE, {200, 502}),
    "an interim response with chunks": (
        b"GET", b"", b"HTTP/1.1 103 X\r\nTransfer-Encoding: chunked\r\n\r\n" + WHOLE, {200, 502}),
    "an interim response within content": (
        b"GET", b"", OK + b"Content-Length: 27\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nok", {200}),
    "an interim response behind": (b"GET", b"", WHOLE + b"HTTP/1.1 100 Continue\r\n\r\n", {200}),
    "100 that nobody has asked for": (b"GET", b"", b"HTTP/1.1 100 Continue\r\n\r\n" + WHOLE, {200}),
    "101 that nobody has asked for": (b"GET", b"", b"HTTP/1.1 101 X\r\n" + UPGRADE + b"\r\n" + POISON, {502}),
    "101 to another protocol": (b"GET", UPGRADE, b"HTTP/1.1 101 X\r\n" + UPGRADE.replace(b"x", b"y")
                                + b"\r\n" + POISON, {502, 101}),
    "a change that is refused": (b"GET", UPGRADE, WHOLE + POISON, {200}),
    "a change that is refused, with Upgrade": (
        b"GET", UPGRADE, OK + UPGRADE + b"Content-Length: 2\r\n\r\nok" + POISON, {200}),
    "an expectation that is refused": (
        b"POST", b"Expect: 100-continue\r\nContent-Length: 2\r\n",
        b"HTTP/1.1 417 X\r\nContent-Length: 0\r\n\r\n" + POISON, {417, 200}),
    "a whole response before the content": (
        b"POST", b"Content-Length: 2\r\n", WHOLE + POISON, {200}),
    "a length and chunks": (b"GET", b"", OK + LENGTH_OF_POISON + b"Transfer-Encoding: chunked\r\n\r\n"
                            b"0\r\n\r\n" + POISON, {502}),
    "two lengths": (b"GET", b"", OK + b"Content-Length: 2\r\n" + LENGTH_OF_POISON + b"\r\nok" + POISON, {502}),
    "two lengths in one": (b"GET", b"", OK + b"Content-Length: 2, %d\r\n\r\nok" % len(POISON) + POISON, {502}),
    "chunked twice": (b"GET", b"", OK + b"Transfer-Encoding: chunked, chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"
                      + POISON, {502}),
    "chunked within gzip": (b"GET", b"", OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n" + POISON, {502}),
    "a folded coding": (b"GET", b"", OK + b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n" + POISON, {502}),
    "a folded field": (b"GET", b"", OK + b"X: a\r\n b\r\nContent-Length: 2\r\n\r\nok", {502, 200}),
    "a vertical tab": (b"GET", b"", OK + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n" + POISON, {502}),
    "a bad trailer": (b"GET", b"", OK_CHUNKED + b"2\r\nok\r\n0\r\nX y\r\n\r\n" + POISON, {200, 502}),
    "a folded trailer": (b"GET", b"", OK_CHUNKED + b"2\r\nok\r\n0\r\nX: y\r\n z\r\n\r\n" + POISON, {200, 502}),
    "a trailer that frames": (b"GET", b"", OK_CHUNKED + b"2\r\nok\r\n0\r\n" + LENGTH_OF_POISON + b"\r\n"
                              + POISON, {200, 502}),
    "an extension with LF": (b"GET", b"", OK_CHUNKED + b"2;\nok\r\n0\r\n\r\n" + POISON, {200, 502}),
    "a chunk that ends with LF": (b"GET", b"", OK_CHUNKED + b"2\nok\n0\n\n" + POISON, {200, 502}),
}


class Poisoner:
    """An upstream that answers /bad/N by row N, and goes on as if nothing were; it
    counts what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.server = RawServer(self._serve)

    def _serve(self, connection) -> None:
        while head := connection.head():
            target = head.split(" ")[1]
            self.asked.append(target)
            if target.startswith("/bad/"):
                _, _, answer, _ = list(ANSWERS.values())[int(target[5:])]
                connection.send(answer)
                continue
            connection.body(head)
            own = target.encode()
            connection.send(OK + b"Content-Length: %d\r\n\r\n" % len(own) + own)


@pytest.fixture(scope="module")
def poisoner():
    running = Poisoner()
    yield running
    running.server.close()


@pytest.fixture(scope="module")
def gateway(poisoner):
    options = ["head_timeout_ms=1000", "idle_timeout_ms=1000", "server_logs_errors=0"]
    server = Server(built("proxy_server"), [f"upstream={poisoner.server.url}", *options])
    yield server
    assert server.is_alive(), "the gateway died during the tests"
    assert server.stop() == 0


def ask_in_plain(gateway: Server, number: int, method: bytes, fields: bytes) -> int:
    with Client(gateway, WAIT_S) as client:
        head = b"%s /bad/%d HTTP/1.1\r\nHost: a\r\n%s\r\n" % (method, number, fields)
        client.send(head + (b"hi" if method == b"POST" else b""))
        while (answer := client.response(method == b"HEAD")).status in (100, 103):
            pass
        assert answer.body != b"poison"
        client.send(get(b"/mine"))
        with contextlib.suppress(OSError, EOFError):
            # What is left of a response that broke off is the end.
            assert b"\r\n\r\npoison" not in read_to(client.sock, b"/mine")
        return answer.status


def ask_over_http2(gateway: Server, number: int, method: bytes, fields: bytes) -> int:
    lines = [tuple(line.lower().split(": ")) for line in fields.decode().splitlines()]
    lines = [line for line in lines if line[0] not in ("connection", "upgrade")]
    with H2Client(gateway, timeout=WAIT_S) as client:
        ends = method != b"POST"
        stream = client.request(f"/bad/{number}", method.decode(), lines, ends=ends)
        if not ends:
            client.data(stream, b"hi", ends=True)
        answer = client.answer(stream)
        assert answer.body != b"poison"
        assert client.get("/mine").body == b"/mine"
        return answer.status


ASKING = {"1.1": ask_in_plain, "2": ask_over_http2}


@pytest.mark.parametrize("version", ASKING)
@pytest.mark.parametrize("number", range(len(ANSWERS)), ids=ANSWERS)
def test_what_is_answered_is_the_answer_of_nobody_else(gateway, poisoner, version, number):
    method, fields, _, statuses = list(ANSWERS.values())[number]
    if version == "2" and fields == UPGRADE:
        # There is no such request.
        statuses = {200, 502}
    poisoner.asked.clear()
    status = ASKING[version](gateway, number, method, fields)
    assert status in statuses, status
    for turn in range(3):
        with Client(gateway, WAIT_S) as client:
            client.send(get(b"/mine%d" % turn))
            assert client.response().body == b"/mine%d" % turn
    asked = [target for target in poisoner.asked if target != "/mine"]
    bad = asked.count(f"/bad/{number}")
    # What an upstream breaks off may be asked for once more, if that is safe.
    assert 1 <= bad <= (1 if method == b"POST" else 3), asked
    assert asked[bad:] == ["/mine0", "/mine1", "/mine2"], asked


@pytest.mark.parametrize("number", range(len(ANSWERS)), ids=ANSWERS)
def test_what_is_answered_to_a_client_is_no_other_answer(fetcher, poisoner, number):
    method, fields, _, _ = list(ANSWERS.values())[number]
    fetcher.client(base=poisoner.server.url, read_timeout_ms=1_000, total_timeout_ms=3_000)
    more = {"octets": "hi"} if method == b"POST" else {}
    if b"Expect" in fields:
        more["expect"] = 1
    answer = fetcher.get(f"/bad/{number}", method=method.decode(), **more)
    assert answer.get("body") != "poison", answer
    for turn in range(2):
        assert fetcher.get(f"/mine{turn}")["body"] == f"/mine{turn}"

"""A cache in front of a `ReverseProxy`: the upstream's responses are made later,
on the worker's own loop."""

import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest
from conftest import Client, Server, wait_until
from wire_programs import built

GET = b"GET %s HTTP/1.1\r\nHost: test\r\n\r\n"
PIECE = b"p" * 10_000
CLOSES = -1


class Origin(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        asked = self.server.asked
        asked.append((self.command, self.path, dict(self.headers)))
        if self.server.status == CLOSES:
            self.close_connection = True
        elif self.server.status:
            self.answer(self.server.status, {}, b"down")
        elif self.path.startswith("/pieces"):
            self.pieces()
        elif self.headers.get("If-None-Match") == '"v1"':
            self.answer(304, {"ETag": '"v1"', "Cache-Control": self.control()})
        else:
            body = f"call {len(asked)}".encode()
            fields = {"ETag": '"v1"', "Cache-Control": self.control()}
            self.answer(200, fields, body)

    do_HEAD = do_POST = do_GET

    def control(self) -> str:
        return self.path.partition("?")[2] or "max-age=60"

    def answer(self, status: int, fields: dict[str, str], body: bytes = b""):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, value)
        if status != 304:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def pieces(self):
        """Ten chunks, the second half of them when the test says so."""
        self.send_response(200)
        self.send_header("Cache-Control", "max-age=60")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number in range(10):
            if number == 5:
                self.server.goes_on.wait(10)
            self.wfile.write(b"%x\r\n%s\r\n" % (len(PIECE), PIECE))
        self.wfile.write(b"0\r\n\r\n")


@pytest.fixture
def origin():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Origin)
    server.asked = []
    server.status = 0
    server.goes_on = threading.Event()
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.goes_on.set()
    server.shutdown()
    server.server_close()


@pytest.fixture
def gateway(origin):
    url = f"http://127.0.0.1:{origin.server_address[1]}"
    server = Server(built("cached_proxy"), [f"upstream={url}", "workers=2"])
    yield server
    assert server.is_alive(), "the server died during the tests"
    assert server.stop() == 0


def state(answer: httpx.Response) -> str:
    """What the cache did; how long it holds depends on the clock."""
    return re.sub(r"; ttl=-?\d+", "", answer.headers["cache-status"])


def test_hits_do_not_reach_the_upstream(origin, gateway):
    first = httpx.get(f"{gateway.url}/a")
    assert state(first) == "flare; fwd=uri-miss; stored"
    for _ in range(3):
        again = httpx.get(f"{gateway.url}/a")
        assert (again.text, state(again)) == (first.text, "flare; hit")
    assert httpx.head(f"{gateway.url}/a").headers["age"]
    assert len(origin.asked) == 1


def test_validation(origin, gateway):
    url = f"{gateway.url}/a?no-cache"
    first = httpx.get(url)
    second = httpx.get(url)
    assert second.text == first.text
    assert "fwd=stale; fwd-status=304" in state(second)
    assert origin.asked[1][2]["If-None-Match"] == '"v1"'
    assert httpx.get(url, headers={"If-None-Match": '"v1"'}).status_code == 304


def test_errors_of_the_upstream(origin, gateway):
    url = f"{gateway.url}/a?max-age=0,stale-if-error=60"
    first = httpx.get(url)
    origin.status = 503
    stale = httpx.get(url)
    assert (stale.status_code, stale.text) == (200, first.text)
    assert "fwd=stale; fwd-status=503" in state(stale)
    assert httpx.get(f"{gateway.url}/b").status_code == 503
    origin.status = CLOSES
    gone = httpx.get(url)
    assert (gone.status_code, gone.text) == (200, first.text)
    assert "fwd-status=502" in state(gone)


def test_unsafe_methods(origin, gateway):
    httpx.get(f"{gateway.url}/a")
    changed = httpx.post(f"{gateway.url}/a", content=b"x" * 100_000)
    assert state(changed) == "flare; fwd=method"
    assert "fwd=stale" in state(httpx.get(f"{gateway.url}/a"))
    assert [method for method, *_ in origin.asked] == ["GET", "POST", "GET"]


def test_stale_while_revalidate(origin, gateway):
    """One request waits for the newer response, since no thread can fetch it."""
    url = f"{gateway.url}/a?max-age=0,stale-while-revalidate=60"
    httpx.get(url)
    second = httpx.get(url)
    assert "fwd=stale; fwd-status=304" in state(second)


def test_streams_pass_as_they_come(origin, gateway):
    with httpx.stream("GET", f"{gateway.url}/pieces") as answer:
        pieces = answer.iter_raw()
        got = b""
        while len(got) < 5 * len(PIECE):
            got += next(pieces)
        origin.goes_on.set()
        got += b"".join(pieces)
    assert got == PIECE * 10
    kept = httpx.get(f"{gateway.url}/pieces")
    assert kept.content == got
    assert "hit" in state(kept)
    assert len(origin.asked) == 1


def test_a_client_that_leaves(origin, gateway):
    client = Client(gateway)
    client.send(GET % b"/pieces")
    assert client.sock.recv(100)
    client.sock.close()
    origin.goes_on.set()
    whole = httpx.get(f"{gateway.url}/pieces")
    assert whole.content == PIECE * 10
    assert "fwd=" in state(whole)


def test_many_at_once(origin, gateway):
    clients = [Client(gateway) for _ in range(40)]
    for client in clients:
        client.send(GET % b"/a" * 5)
    for client in clients:
        for _ in range(5):
            assert client.response().status == 200
        client.sock.close()
    asked = len(origin.asked)
    assert asked <= 40
    assert wait_until(lambda: "hit" in state(httpx.get(f"{gateway.url}/a")))

"""A cache in front of a `ReverseProxy`: the upstream's responses are made later,
on the worker's own loop."""

import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest
from conftest import Client, Server, wait_until_read
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
        number = len(asked)
        with self.server.counting:
            self.server.busy += 1
            self.server.busiest = max(self.server.busiest, self.server.busy)
        time.sleep(self.server.pause_s)
        assert self.server.may_answer.wait(15)
        with self.server.counting:
            self.server.busy -= 1
        if self.server.status == CLOSES:
            self.close_connection = True
        elif self.server.status:
            self.answer(self.server.status, {}, b"down")
        elif self.path.startswith("/pieces"):
            self.pieces()
        elif self.path.startswith("/other"):
            self.other()
        elif self.headers.get("If-None-Match") == '"v1"':
            self.answer(304, {"ETag": '"v1"', "Cache-Control": self.control()})
        else:
            body = f"call {number}".encode()
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

    def other(self):
        """Says that what is asked about is current, and means another one."""
        if "If-None-Match" in self.headers or "If-Modified-Since" in self.headers:
            self.answer(304, {"ETag": '"v2"', "X-Of": "another"})
        else:
            body = f"call {len(self.server.asked)}".encode()
            name = "Last-Modified" if "dated" in self.path else "ETag"
            value = "Fri, 01 Jan 2021 00:00:00 GMT" if "dated" in self.path else '"v1"'
            self.answer(200, {name: value, "Cache-Control": "max-age=0"}, body)

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


def serving(origin: type[Origin]):
    """For a fixture: an origin, what it was asked, and how it answers."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), origin)
    server.asked = []
    server.status = 0
    server.pause_s = 0.0
    server.may_answer = threading.Event()
    server.may_answer.set()
    # How many requests it has at the same time, and had at most.
    server.busy = server.busiest = 0
    server.counting = threading.Lock()
    server.goes_on = threading.Event()
    server.daemon_threads = True
    # It looks whether it is to end every so many seconds.
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield server
    server.goes_on.set()
    server.shutdown()
    server.server_close()


@pytest.fixture
def origin():
    yield from serving(Origin)


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


@pytest.mark.parametrize("path", ["/other/tagged", "/other/dated"])
def test_a_304_of_another_response(origin, gateway, path):
    """RFC 9110 section 15.4.5: what was asked about is current. RFC 9111 section
    4.3.4: it takes nothing over of a 304 with a validator that is not its own."""
    first, second, third = (httpx.get(gateway.url + path) for _ in range(3))
    assert (second.status_code, second.text) == (200, "call 1")
    assert "fwd=stale; fwd-status=304" in state(second)
    assert "x-of" not in second.headers
    assert second.headers.get("etag") == first.headers.get("etag")
    # It is not asked about again.
    assert (third.status_code, third.text) == (200, "call 3")


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


def test_nobody_gets_the_page_of_another(origin, gateway):
    """RFC 9111 section 4.1, by a Vary that the handler behind the cache has set."""
    first, other, again = (
        httpx.get(f"{gateway.url}/own", headers={"X-User": user})
        for user in ("ann", "ben", "ann")
    )
    assert first.headers["vary"] == other.headers["vary"] == "X-User"
    assert other.text != first.text
    assert (again.text, state(again)) == (first.text, "flare; hit")


def test_nobody_who_waits_gets_the_page_of_another(origin, gateway):
    """The same where a fetch for another one was waited for in vain."""
    origin.may_answer.clear()
    clients = [Client(gateway, 15) for _ in range(6)]
    for number, client in enumerate(clients):
        client.send(GET[:-2] % b"/own" + b"X-User: %d\r\n\r\n" % number)
    wait_until_read(gateway, *clients)
    origin.may_answer.set()
    answers = [client.response() for client in clients]
    for client in clients:
        client.sock.close()
    assert len({answer.body for answer in answers}) == 6
    assert {answer.fields.get("vary") for answer in answers} == {"X-User"}


def test_an_answer_to_content_is_not_kept(origin, gateway):
    """RFC 9110 section 9.3.1: an origin may look at content of GET, which HTTP/2 need
    not announce."""

    def late():
        time.sleep(0.1)
        yield b"evil"

    with httpx.Client(http1=False, http2=True) as client:
        said = client.request("GET", f"{gateway.url}/a", content=late())
        assert said.http_version == "HTTP/2"
    assert state(said) == "flare; fwd=bypass"
    plain = httpx.get(f"{gateway.url}/a")
    assert state(plain) == "flare; fwd=uri-miss; stored"
    assert plain.text != said.text


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


def ask_at_once(origin, server, path: bytes, count: int) -> list:
    """The origin answers when all requests have been read."""
    clients = [Client(server, 15) for _ in range(count)]
    origin.may_answer.clear()
    for client in clients:
        client.send(GET % path)
    wait_until_read(server, *clients)
    origin.may_answer.set()
    answers = [client.response() for client in clients]
    for client in clients:
        client.sock.close()
    return answers


def test_one_fetch_for_many(origin, gateway):
    """On either worker's loop, and without a thread for any of them."""
    answers = ask_at_once(origin, gateway, b"/a", 40)
    assert len({answer.body for answer in answers}) == 1
    assert len(origin.asked) == 1
    states = [answer.fields["cache-status"] for answer in answers]
    assert sum("collapsed" in state for state in states) >= 20


@pytest.mark.parametrize(
    "fields",
    [{"Authorization": "Basic eA=="}, {"Cache-Control": "no-store"}],
    ids=["9111-3.5", "9111-5.2.1.5"],
)
def test_no_client_keeps_others_from_sharing(origin, gateway, fields):
    """What a request forbids says nothing of the next one."""
    fields = {"Host": "test", **fields}
    assert httpx.get(f"{gateway.url}/a", headers=fields).status_code == 200
    answers = ask_at_once(origin, gateway, b"/a", 20)
    assert len(origin.asked) == 2
    assert len({answer.body for answer in answers}) == 1


def test_only_if_cached_does_not_reach_the_upstream(origin, gateway):
    """RFC 9111 section 5.2.1.7."""
    asks = {"Cache-Control": "only-if-cached"}
    swr = f"{gateway.url}/a?max-age=0,stale-while-revalidate=60"
    assert httpx.get(swr).status_code == 200
    assert httpx.get(swr, headers=asks).status_code == 200
    kept = f"{gateway.url}/a?max-age=0"
    assert httpx.get(kept).status_code == 200
    asked = len(origin.asked)
    for url in (kept, f"{gateway.url}/b"):
        for method in ("GET", "HEAD"):
            answer = httpx.request(method, url, headers=asks)
            assert answer.status_code == 504, url
    for_origin = {**asks, "If-Match": '"v1"'}
    assert httpx.get(kept, headers=for_origin).status_code == 504
    assert len(origin.asked) == asked


def test_what_is_not_kept_is_not_waited_for(origin, gateway):
    """All but the first ask at the same time, and not one after the other of those
    of a worker, of which there are two."""
    origin.pause_s = 0.2
    httpx.get(f"{gateway.url}/a?no-store")
    answers = ask_at_once(origin, gateway, b"/a?no-store", 12)
    assert {answer.status for answer in answers} == {200}
    assert origin.busiest > 2
    assert len({answer.body for answer in answers}) == 12


def test_those_who_wait_ask_when_a_fetch_fails(origin, gateway):
    origin.status = 500
    answers = ask_at_once(origin, gateway, b"/a", 5)
    assert {answer.status for answer in answers} == {500}
    assert len(origin.asked) == 5


def test_a_client_that_leaves_while_it_waits(origin, gateway):
    origin.may_answer.clear()
    clients = [Client(gateway, 15) for _ in range(6)]
    for client in clients:
        client.send(GET % b"/a")
    wait_until_read(gateway, *clients)
    for client in clients[:5]:
        client.sock.close()
    origin.may_answer.set()
    assert clients[5].response().status == 200
    clients[5].sock.close()
    assert httpx.get(f"{gateway.url}/a").status_code == 200

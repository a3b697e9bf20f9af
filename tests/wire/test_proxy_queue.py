"""Requests that wait in front of `GroupConfig.max_requests`: first come first
served, with a bound and a time; each test fails if its option is ignored."""

import threading
import time

import pytest
from conftest import Client, read_to, wait_until
from h2_client import H2Client
from raw_server import Connection, RawServer, reset_at_close
from test_proxy_http2_upstream import Upstream

WAIT_S = 10
LONG_MS = 30_000
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
FULL = "flare; error=connection_limit_reached"


class Desk:
    """An upstream that answers when it is told, and notes who was asked for."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.hosts: list[str] = []
        self.asked = threading.Semaphore(0)
        self.answers = threading.Semaphore(0)
        self.most = self._now = 0
        self._lock = threading.Lock()

    def _begin(self, path: str) -> None:
        with self._lock:
            self.paths.append(path)
            self._now += 1
            self.most = max(self.most, self._now)
        self.asked.release()
        assert self.answers.acquire(timeout=WAIT_S)
        with self._lock:
            self._now -= 1

    def http1(self, connection: Connection) -> None:
        while head := connection.head():
            self.hosts.append(head.split("Host: ")[1].split("\r\n")[0])
            connection.body(head)
            self._begin(head.split(" ")[1])
            if "websocket" in head:
                connection.send(
                    b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
                    b"Upgrade: websocket\r\n\r\nhi"
                )
                connection.sock.recv(1)
                return
            connection.send(OK)

    def http2(self, connection: Connection) -> None:
        peer = Upstream(connection)
        peer.begin()
        while True:
            stream = peer.request()
            fields = dict(peer.asked[stream])
            self.hosts.append(fields[":authority"])
            self._begin(fields[":path"])
            peer.answer(stream)

    def hold(self, server, path: str = "/first") -> Client:
        """Has a request take the one place."""
        client = ask(server, path)
        assert self.asked.acquire(timeout=WAIT_S)
        return client


@pytest.fixture
def queued(start):
    """Starts an upstream and a proxy in front of it; gives all three."""
    upstreams = []

    def launch(version: str = "http1", **config):
        desk = Desk()
        upstream = RawServer(getattr(desk, version))
        upstreams.append(upstream)
        options = {"max_requests": 1, "queue_timeout_ms": LONG_MS, **config}
        if version == "http2":
            options["http2_prior_knowledge"] = 1
        return desk, upstream, start("proxy_server", upstream=upstream.url, **options)

    yield launch
    for upstream in upstreams:
        upstream.close()


def ask(server, path: str) -> Client:
    client = Client(server, WAIT_S)
    client.send(b"GET %s HTTP/1.1\r\nHost: shop.example\r\n\r\n" % path.encode())
    return client


def waiting(server) -> int:
    with ask(server, "/figures") as client:
        text = client.response().body.decode()
    return int(text.split('flare_gateway_queued_requests{group="x"} ')[1].split("\n")[0])


def line_up(server, *paths: str) -> list[Client]:
    """Has requests wait, one behind the other."""
    clients = []
    for path in paths:
        count = waiting(server)
        clients.append(ask(server, path))
        assert wait_until(lambda wanted=count + 1: waiting(server) == wanted)
    return clients


@pytest.mark.parametrize("version", ["http1", "http2"])
def test_first_come_first_served(queued, version):
    desk, _, server = queued(version)
    clients = [desk.hold(server), *line_up(server, "/1", "/2", "/3")]
    for client in clients:
        desk.answers.release()
        assert client.response().body == b"ok"
    assert desk.paths == ["/first", "/1", "/2", "/3"] and desk.most == 1
    assert set(desk.hosts) == {"shop.example"} and waiting(server) == 0


@pytest.mark.parametrize("version", ["http1", "http2"])
def test_who_waits_is_asked_for_by_the_upstreams_host(queued, version):
    """The upstream is not known yet when the request is written."""
    desk, upstream, server = queued(version, host_of_upstream=1)
    clients = [desk.hold(server), *line_up(server, "/1")]
    for client in clients:
        desk.answers.release()
        assert client.response().body == b"ok"
    assert desk.hosts == [f"127.0.0.1:{upstream.port}"] * 2


def test_time(queued):
    desk, _, server = queued(queue_timeout_ms=300)
    first = desk.hold(server)
    began = time.monotonic()
    answer = ask(server, "/late").response()
    assert answer.status == 503 and answer.fields["retry-after"] == "1"
    assert answer.fields["proxy-status"] == FULL
    assert 0.25 < time.monotonic() - began < 5
    desk.answers.release()
    assert first.response().body == b"ok" and desk.paths == ["/first"]


def test_no_time_is_no_queue(queued):
    desk, _, server = queued(queue_timeout_ms=0)
    first = desk.hold(server)
    assert ask(server, "/refused").response().status == 503
    desk.answers.release()
    assert first.response().body == b"ok"


def test_bound(queued):
    desk, _, server = queued(max_queued_requests=2)
    clients = [desk.hold(server), *line_up(server, "/1", "/2")]
    answer = ask(server, "/3").response()
    assert answer.status == 503 and answer.fields["proxy-status"] == FULL
    for client in clients:
        desk.answers.release()
        assert client.response().body == b"ok"


def test_a_client_that_leaves_is_taken_out(queued):
    desk, _, server = queued()
    first = desk.hold(server)
    gone, last = line_up(server, "/gone", "/last")
    reset_at_close(gone.sock)
    gone.sock.close()
    assert wait_until(lambda: waiting(server) == 1)
    for client in (first, last):
        desk.answers.release()
        assert client.response().body == b"ok"
    assert desk.paths == ["/first", "/last"]


def test_streams_of_one_client_wait(queued):
    desk, _, server = queued("http2")
    with H2Client(server) as client:
        streams = [client.request(f"/{number}") for number in range(3)]
        desk.answers.release(len(streams))
        assert [client.answer(stream).body for stream in streams] == [b"ok"] * 3
    assert desk.paths == ["/0", "/1", "/2"]


def test_content_waits_too(queued):
    desk, _, server = queued()
    first = desk.hold(server)
    client = Client(server, WAIT_S)
    client.send(b"POST /post HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhe")
    assert wait_until(lambda: waiting(server) == 1)
    client.send(b"llo")
    desk.answers.release(2)
    assert first.response().body == client.response().body == b"ok"


def test_a_websocket_waits_too(queued):
    desk, _, server = queued()
    first = desk.hold(server)
    client = Client(server, WAIT_S)
    client.send(
        b"GET /chat HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    )
    assert wait_until(lambda: waiting(server) == 1)
    desk.answers.release(2)
    assert first.response().body == b"ok"
    assert read_to(client.sock, b"\r\n\r\nhi").startswith(b"HTTP/1.1 101 ")


@pytest.mark.parametrize("version", ["http1", "http2"])
def test_a_crowd_over_all_workers(queued, version):
    """An end on one worker places what waits on another."""
    count = 60
    desk, _, server = queued(version, max_requests=4, workers=3)
    clients = [ask(server, f"/{number}") for number in range(count)]
    desk.answers.release(count)
    assert [client.response().status for client in clients] == [200] * count
    assert desk.most <= 4 and len(desk.paths) == count


def test_a_circuit_that_is_open_is_not_waited_for(queued):
    """Who waits hears so at once when the upstream breaks off."""
    desk, upstream, server = queued(failures_to_open=1, open_ms=LONG_MS, max_attempts=1)
    ended = threading.Event()

    def ends(connection: Connection) -> None:
        connection.head()
        desk.asked.release()
        ended.wait(WAIT_S)
        connection.reset()

    upstream.handle = ends
    first = desk.hold(server)
    (second,) = line_up(server, "/second")
    ended.set()
    assert first.response().status == 502
    assert second.response().status == 503


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize(
    "rule",
    [
        {"failures_to_eject": 1, "ejection_ms": 1_000},
        {"failures_to_open": 1, "open_ms": 1_000},
    ],
    ids=["ejection", "circuit"],
)
def test_time_alone_makes_room(start, rule, workers):
    """No other request ends meanwhile."""
    desk = Desk()
    failures = 1

    def fails_once(connection: Connection) -> None:
        nonlocal failures
        while connection.head():
            if failures > 0:
                failures -= 1
                return connection.reset()
            connection.send(OK)

    upstreams = [RawServer(desk.http1), RawServer(fails_once)]
    server = start(
        "proxy_server", upstream=",".join(one.url for one in upstreams), workers=workers,
        max_requests=1, queue_timeout_ms=LONG_MS, max_attempts=1, **rule,
    )
    first = desk.hold(server)
    assert ask(server, "/fails").response().status == 502
    assert ask(server, "/waits").response().body == b"ok"
    desk.answers.release()
    assert first.response().body == b"ok" and desk.paths == ["/first"]
    for upstream in upstreams:
        upstream.close()


BUSY = b"HTTP/1.1 503 Busy\r\nX-Own: 1\r\nContent-Length: 4\r\n\r\nbusy"


def busy(connection: Connection) -> None:
    while connection.head():
        connection.send(BUSY)


def busy_http2(connection: Connection) -> None:
    peer = Upstream(connection)
    peer.begin()
    while True:
        stream = peer.request()
        peer.head(stream, ("x-own", "1"), ("content-length", "4"), status=503)
        peer.data(stream, b"busy")


def breaks_off(connection: Connection) -> None:
    connection.head()
    connection.reset()


def counted(server, name: str) -> dict[str, int]:
    """The figures of a name: by their labels but for the group's."""
    with ask(server, "/figures") as client:
        lines = client.response().body.decode().split("\n")
    found = {}
    for line in lines:
        if line.startswith(name + '{group="x"'):
            labels, value = line.rsplit(" ", 1)
            found[labels.split('group="x"')[1].strip(",}")] = int(value)
    return found


@pytest.fixture
def beside_a_full_one(start):
    """A proxy to one upstream that is full, and one with the given handler, which is
    spared after a failure; gives desk, the client that it has, and the proxy."""
    upstreams = []

    def launch(handle, version: str = "http1", **config):
        desk = Desk()
        upstreams.extend([RawServer(getattr(desk, version)), RawServer(handle)])
        urls = ",".join(one.url for one in upstreams)
        server = start(
            "proxy_server", upstream=urls, max_requests=1, queue_timeout_ms=0,
            failures_to_open=1, open_ms=LONG_MS, http2_prior_knowledge=int(version == "http2"),
            **config,
        )
        return desk, desk.hold(server), server

    yield launch
    for upstream in upstreams:
        upstream.close()


@pytest.mark.parametrize(("handle", "version"), [(busy, "http1"), (busy_http2, "http2")])
def test_an_answer_is_passed_on_where_nobody_else_has_room(beside_a_full_one, handle, version):
    """An upstream's own 503 tells more than one that is made up here."""
    desk, first, server = beside_a_full_one(handle, version, retried_statuses=503)
    answer = ask(server, "/busy").response()
    assert (answer.status, answer.body, answer.fields["x-own"]) == (503, b"busy", "1")
    assert "proxy-status" not in answer.fields
    assert counted(server, "flare_gateway_retries_total") == {"": 0}
    assert counted(server, "flare_gateway_failed_requests_total") == {
        'outcome="answered",why="no_upstream"': 1
    }
    desk.answers.release()
    assert first.response().body == b"ok"


def test_a_repetition_that_nobody_takes_is_told_as_none(beside_a_full_one):
    desk, first, server = beside_a_full_one(breaks_off)
    answer = ask(server, "/lost").response()
    assert answer.status == 502
    assert answer.fields["proxy-status"] == "flare; error=connection_terminated"
    assert counted(server, "flare_gateway_retries_total") == {"": 0}
    assert counted(server, "flare_gateway_failed_requests_total") == {
        'outcome="reset",why="no_upstream"': 1
    }
    assert "; not sent again: no_upstream; answered with 502" in server.stderr()
    desk.answers.release()
    assert first.response().body == b"ok"

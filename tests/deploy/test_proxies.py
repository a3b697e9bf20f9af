"""What a client sees of the service through nginx and haproxy, as deployed."""

import contextlib
import http.client
import re
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Running, Started
from fronts import start_haproxy, start_nginx
from websockets.sync.client import connect

WAIT_S = 8
FRONTS = {"nginx": start_nginx, "haproxy": start_haproxy}
# For documentation (RFC 5737): nobody has it.
SOMEBODY = "192.0.2.7"


@pytest.fixture(params=FRONTS)
def front(
    request: pytest.FixtureRequest, started: Started, tmp_path: Path, bundle: Path
) -> tuple[Running, Running]:
    """A proxy, and the service behind it."""
    service = started.service(bundle)
    proxy = FRONTS[request.param](started, tmp_path, service)
    until_answered(proxy)
    return proxy, service


def ask(
    port: int, target: str, method: str = "GET", body: bytes | None = None, **fields: str
) -> tuple[int, str]:
    """Asks once on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_S)
    try:
        names = {name.replace("_", "-"): value for name, value in fields.items()}
        connection.request(method, target, body, names)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def until(condition: Callable[[], bool], what: str) -> None:
    """Waits for something, with a deadline."""
    end = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < end, f"{what} has not happened within {WAIT_S} s"
        time.sleep(0.02)


def until_answered(proxy: Running) -> None:
    """Waits until a proxy has seen that its server is there."""

    def is_there() -> bool:
        assert proxy.process.poll() is None, "the proxy has ended; see its log"
        return reaches(proxy.port)

    until(is_there, "an answer")


def connection_count(service: Running) -> int:
    """Reads how many connections the service has taken."""
    figures = ask(service.port, "/metrics")[1]
    return int(re.search(r"^\w*connections\w*_total (\d+)", figures, re.MULTILINE)[1])


def test_the_service_answers(front):
    proxy, _ = front
    assert ask(proxy.port, "/") == (200, "Hello from flare!\n")


def test_the_peer_is_the_proxys_client(front):
    proxy, service = front
    assert ask(proxy.port, "/peer") == (200, "127.0.0.1 http\n")
    # Through the proxy what a client says of itself is of no use ...
    assert ask(proxy.port, "/peer", X_Forwarded_Proto="https") == (200, "127.0.0.1 http\n")
    # ... and the service believes the proxy, which is on this machine.
    told = ask(service.port, "/peer", X_Forwarded_For=SOMEBODY, X_Forwarded_Proto="https")
    assert told == (200, f"{SOMEBODY} https\n")


def test_the_field_that_tells_of_clients_can_be_chosen(started, bundle):
    """RFC 7239 in place of X-Forwarded-For, which is then any client's word."""
    service = started.service(bundle, "field=forwarded")
    told = ask(
        service.port, "/peer",
        Forwarded=f"for={SOMEBODY};proto=https", X_Forwarded_For="192.0.2.9",
    )
    assert told == (200, f"{SOMEBODY} https\n")
    assert ask(service.port, "/peer", X_Forwarded_For="192.0.2.9") == (200, "127.0.0.1 \n")


def test_probes_and_figures_are_not_for_clients(front):
    proxy, service = front
    for target in ("/metrics", "/live", "/ready"):
        assert ask(proxy.port, target)[0] == 404
        assert ask(service.port, target)[0] == 200


def test_connections_to_the_service_are_kept(front):
    proxy, service = front
    before = connection_count(service)
    for _ in range(20):
        assert ask(proxy.port, "/")[0] == 200
    # One for the question itself, one for a check of haproxy's, and a new one
    # at most for the twenty requests.
    assert connection_count(service) - before <= 3


def test_websocket_passes_both_ways(front):
    proxy, _ = front
    # A page of the same site: Origin is compared with Host, which must be kept.
    with connect(f"ws://127.0.0.1:{proxy.port}/ws", origin=proxy.url) as client:
        for message in ("one", "x" * 100_000):
            client.send(message)
            assert client.recv(timeout=WAIT_S) == message


def test_pages_of_other_sites_are_refused_behind_the_proxy(front):
    proxy, _ = front
    with pytest.raises(Exception, match="HTTP 403"):
        connect(f"ws://127.0.0.1:{proxy.port}/ws", origin="http://evil.example")


def test_events_arrive_while_the_stream_is_open(front):
    proxy, _ = front
    connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=WAIT_S)
    connection.request("GET", "/events")
    stream = connection.getresponse()
    assert stream.getheader("Content-Type").startswith("text/event-stream")
    for text in ("first", "second"):
        assert ask(proxy.port, "/events", "POST", text.encode())[0] == 204
        line = b""
        while line != f"data: {text}\n".encode():
            line = stream.fp.readline()
            assert line, "the stream ended"
    connection.close()


def test_a_restart_behind_haproxy_is_seen_by_its_check(started, tmp_path, bundle):
    service = started.service(bundle)
    proxy = start_haproxy(started, tmp_path, service)
    until_answered(proxy)
    assert service.stop() == 0
    until(lambda: ask(proxy.port, "/")[0] == 503, "haproxy's own 503")


class Passed:
    """Passes octets on, with an address of the test's own towards the service."""

    def __init__(self, port: int, source: str) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self._to, self._source = port, source
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        inner, _ = self.listener.accept()
        outer = socket.create_connection(
            ("127.0.0.1", self._to), WAIT_S, (self._source, 0)
        )
        threading.Thread(target=self._pass, args=(outer, inner), daemon=True).start()
        self._pass(inner, outer)

    @staticmethod
    def _pass(source: socket.socket, sink: socket.socket) -> None:
        # Either side may be gone before the other.
        with contextlib.suppress(ConnectionError):
            while octets := source.recv(65536):
                sink.sendall(octets)


def test_haproxy_announces_clients_by_the_proxy_protocol(started, tmp_path, bundle):
    # A client at 127.0.0.9, so that it is told apart from haproxy at 127.0.0.1;
    # only haproxy's own network may announce.
    service = started.service(bundle, "proxy_protocol=127.0.0.1/32")
    proxy = start_haproxy(started, tmp_path, service, "haproxy-tcp.cfg")
    passed = Passed(proxy.port, "127.0.0.9")
    until_answered(proxy)
    # In mode tcp nobody says which scheme it was.
    assert ask(passed.port, "/peer") == (200, "127.0.0.9 \n")
    passed.listener.close()


def reaches(port: int) -> bool:
    try:
        return ask(port, "/")[0] == 200
    except (OSError, http.client.HTTPException):
        return False

"""The gateway of the examples: upstreams that are killed, come back and are drained
under load. Only what could not be repeated fails, and each failure is explained."""

import http.client
import json
import re
import subprocess
import sys
import threading
import urllib.parse
import urllib.request
from pathlib import Path

import pytest
from conftest import wait_until
from processes import next_line
from raw_server import Connection, RawServer
from toolchain import ROOT, environment
from wire_programs import built_example

# In place of the status of an answer that ends within its content.
BROKEN_OFF = 0
THREAD_COUNT = 6
TIMEOUT_S = 10
EJECTION_S = 10
PEER = ROOT / "tests" / "wire" / "peers" / "named_upstream.py"


class Upstream:
    """A process that can be killed, and started again at the same port."""

    def __init__(self, name: str) -> None:
        self.name, self.port = name, 0
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(PEER), str(self.port), self.name], stdout=subprocess.PIPE
        )
        self.port = int(next_line(self.process, TIMEOUT_S).rsplit(":", 1)[1])

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(TIMEOUT_S)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


class Gateway:
    """The example, with a configuration of its own."""

    def __init__(self, folder: Path, upstreams: list, **route) -> None:
        route |= {"prefix": "/api", "strip_prefix": True}
        route["upstreams"] = [{"url": one.url} for one in upstreams]
        config = {"listen": "127.0.0.1:0", "admin": "127.0.0.1:0", "routes": [route]}
        path = folder / "gateway.json"
        path.write_text(json.dumps(config))
        self.process = subprocess.Popen(
            [str(built_example("37_gateway")), str(path)],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment(),
        )
        ports = [int(next_line(self.process, TIMEOUT_S).rsplit(":", 1)[1]) for _ in range(2)]
        self.port, self.admin = ports

    def ask_admin(self, path: str, method: str = "GET") -> str:
        request = urllib.request.Request(f"http://127.0.0.1:{self.admin}{path}", method=method)
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
            return answer.read().decode()

    def drain(self, upstream: Upstream) -> str:
        query = urllib.parse.urlencode({"route": "/api", "upstream": upstream.url})
        return self.ask_admin(f"/drain?{query}", "POST")

    def failed(self) -> dict[tuple[str, str], int]:
        """Counts failed requests, by outcome and by why they were not repeated."""
        found = re.findall(
            r'flare_gateway_failed_requests_total\{.*outcome="(\w+)",why="(\w+)"\} (\d+)',
            self.ask_admin("/metrics"),
        )
        return {(outcome, why): int(count) for outcome, why, count in found}


@pytest.fixture
def upstreams():
    running = [Upstream("one"), Upstream("two")]
    yield running
    for one in running:
        one.kill()


@pytest.fixture
def gateway(tmp_path, upstreams):
    running = Gateway(tmp_path, upstreams)
    yield running
    assert running.process.poll() is None, "the gateway died during the test"
    running.process.terminate()
    assert running.process.wait(TIMEOUT_S) == 0


class Load:
    """Clients that ask one request after the other, by GET and by POST."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway, self.ends = gateway, threading.Event()
        self.answers: list[tuple[str, int, str]] = []
        self._threads = [threading.Thread(target=self._run) for _ in range(THREAD_COUNT)]
        for thread in self._threads:
            thread.start()

    def _run(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.gateway.port, timeout=TIMEOUT_S)
        while not self.ends.is_set():
            for method in ("GET", "POST"):
                connection.request(method, "/api/x", b"hi" if method == "POST" else None)
                answer = connection.getresponse()
                told = answer.headers.get("Proxy-Status", "")
                try:
                    body = answer.read().decode()
                    self.answers.append((method, answer.status, told or body))
                except http.client.IncompleteRead:
                    # Its upstream was killed between head and content.
                    self.answers.append((method, BROKEN_OFF, ""))
                    connection.close()
        connection.close()

    def more(self, name: str, count: int = 40, timeout_s: float = TIMEOUT_S) -> None:
        """Waits until an upstream has answered so many more times."""
        seen = len(self.answers)
        assert wait_until(
            lambda: sum(one[2] == name for one in self.answers[seen:]) >= count, timeout_s
        )

    def stop(self) -> list[tuple[str, int, str]]:
        self.ends.set()
        for thread in self._threads:
            thread.join(TIMEOUT_S)
        return self.answers


def test_killed_restarted_and_drained_under_load(gateway, upstreams):
    one, two = upstreams
    load = Load(gateway)
    try:
        load.more("one")
        one.kill()
        load.more("two")
        one.start()
        # It is left out for ten seconds, by default.
        load.more("one", timeout_s=EJECTION_S + TIMEOUT_S)
        before = len(load.answers)
        assert gateway.drain(two) in ("draining\n", "drained\n")
        assert wait_until(lambda: gateway.drain(two) == "drained\n")
        two.kill()
        load.more("one")
    finally:
        answers = load.stop()
    failed = [answer for answer in answers if answer[1] != 200]
    broken = [answer for answer in failed if answer[1] == BROKEN_OFF]
    refused = [answer for answer in failed if answer[1] != BROKEN_OFF]
    # What was on its way when its upstream was killed: a request that is not
    # idempotent, or one whose answer had begun; one for each client at most.
    assert all(method == "POST" and status == 502 for method, status, _ in refused), failed
    assert len(failed) <= THREAD_COUNT
    # A drained one is missed by nobody.
    assert [answer for answer in answers[before + THREAD_COUNT :] if answer[1] != 200] == []
    wanted = {
        ("reset", "not_idempotent"): len(refused),
        ("content_failed", "response_begun"): len(broken),
    }
    assert gateway.failed() == {kind: count for kind, count in wanted.items() if count}
    assert all(told == "flare; error=connection_terminated" for _, _, told in refused)


def test_the_page_shows_its_upstreams(gateway, upstreams):
    for _ in range(2):
        urllib.request.urlopen(f"http://127.0.0.1:{gateway.port}/api/x", timeout=TIMEOUT_S)
    page = gateway.ask_admin("/")
    assert page.count("<td class=up>up") == 2
    assert all(one.url in page for one in upstreams)
    gateway.drain(upstreams[0])
    assert "<td class=draining>draining" in gateway.ask_admin("/")


def test_a_bad_configuration_is_told(tmp_path):
    path = tmp_path / "bad.json"
    path.write_text('{"listen": "127.0.0.1:0", "admin": "127.0.0.1:0", "routes": []}')
    result = subprocess.run(
        [str(built_example("37_gateway")), str(path)],
        capture_output=True, text=True, env=environment(), timeout=TIMEOUT_S,
    )
    assert result.returncode != 0
    assert "bad.json: there is no route" in result.stdout + result.stderr


def test_health_checks_take_an_upstream_out_and_back(tmp_path):
    """What answers requests well is left out while its health path says 503."""
    health = {b"one": b"200", b"two": b"200"}

    def serving(name: bytes):
        def handle(connection: Connection) -> None:
            while head := connection.head():
                if head.startswith("GET /health "):
                    # An interim response, then the head in pieces.
                    connection.send(b"HTTP/1.1 103 Early Hints\r\n\r\n")
                    for octet in b"HTTP/1.1 %s X\r\nContent-Length: 0\r\n\r\n" % health[name]:
                        connection.send(bytes([octet]))
                else:
                    connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n" + name)

        return RawServer(handle)

    upstreams = [serving(b"one"), serving(b"two")]
    running = Gateway(tmp_path, upstreams, health_path="/health", health_interval_ms=50)

    def answering() -> set[str]:
        url = f"http://127.0.0.1:{running.port}/api/x"
        return {urllib.request.urlopen(url, timeout=TIMEOUT_S).read().decode() for _ in range(8)}

    try:
        assert answering() == {"one", "two"}
        health[b"one"] = b"503"
        assert wait_until(lambda: answering() == {"two"}, TIMEOUT_S)
        health[b"one"] = b"200"
        assert wait_until(lambda: answering() == {"one", "two"}, TIMEOUT_S)
    finally:
        running.process.terminate()
        assert running.process.wait(TIMEOUT_S) == 0
        for one in upstreams:
            one.close()

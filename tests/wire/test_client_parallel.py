"""Many requests at once on one reactor: `HttpClient.send_all`."""

import json
import mmap
import os
import socket
import ssl
import struct
import subprocess
import threading
import time
from pathlib import Path

import pytest
from conftest import wait_until
from processes import SYN_SENT, stopped, tcp_sockets
from raw_server import Connection, Fetcher, RawServer, answering, once
from test_client_hostile import ROWS, sized
from wire_programs import built, compile_preloaded

# One client serves all rows, so those that need limits of their own are out.
COMMON_ROWS = [row for row in ROWS if not row[2]]


def send_all(fetcher, requests: list[dict], parallel: int = 10) -> list[dict]:
    texts = [json.dumps(request) for request in requests]
    answer = fetcher.ask(do="all", requests=texts, parallel=parallel)
    assert len(answer["results"]) == len(requests), answer
    return answer["results"]


class Gauge:
    """Counts how many requests are being answered, and the most so far. None is
    answered before so many are there `together`."""

    def __init__(self, together: int) -> None:
        self.now = self.most = 0
        self._lock = threading.Lock()
        self._together = threading.Barrier(together)

    def handle(self, connection: Connection) -> None:
        while head := connection.head():
            with self._lock:
                self.now += 1
                self.most = max(self.most, self.now)
            self._together.wait(20)
            with self._lock:
                self.now -= 1
            connection.send(sized(head.split(" ")[1].encode()))


def test_results_are_in_the_order_of_requests(fetcher):
    gauge = Gauge(20)
    server = RawServer(gauge.handle)
    fetcher.client(base=server.url)
    results = send_all(fetcher, [{"url": f"/{n}"} for n in range(60)], 20)
    server.close()
    assert [answer["body"] for answer in results] == [
        f"/{n}" for n in range(60)
    ]
    # Three rounds, and connections are used again.
    assert gauge.most == 20
    assert server.connection_count == 20


def test_one_at_a_time_uses_one_connection(fetcher):
    gauge = Gauge(1)
    server = RawServer(gauge.handle)
    fetcher.client(base=server.url)
    results = send_all(fetcher, [{"url": "/a"}] * 8, 1)
    server.close()
    assert all(answer["status"] == 200 for answer in results)
    assert (gauge.most, server.connection_count) == (1, 1)


def test_each_hostile_server_ends_its_own_request_alone(fetcher):
    servers = [RawServer(handle) for _, handle, _, _, _ in COMMON_ROWS]
    good = RawServer(answering(sized(b"good")))
    # Time for the good one while others flood the same machine.
    fetcher.client(read_timeout_ms=2_000, total_timeout_ms=8_000)
    requests = []
    for server in servers:
        requests += [{"url": server.url}, {"url": good.url}]
    began = time.monotonic()
    results = send_all(fetcher, requests, 16)
    assert time.monotonic() - began < 60
    for server in [*servers, good]:
        server.close()
    for row, bad, fine in zip(COMMON_ROWS, results[::2], results[1::2]):
        name, _, _, phase, kind = row
        assert (bad.get("phase"), bad.get("kind")) == (phase, kind), (name, bad)
        assert fine.get("body") == "good", (name, fine)


def test_requests_that_cannot_be_sent(fetcher):
    server = RawServer(answering(sized(b"good")))
    fetcher.client()
    wanted = [
        ("http://127.0.0.1:1/", "connect", "ConnectionRefused"),
        ("http://no-such-host.invalid/", "resolve", "DnsError"),
        ("http://a..b/", "resolve", "DnsError"),
        ("gopher://a/", "request", "BadUrl"),
        ("no url", "request", "BadUrl"),
        ("http+unix://%2Fno%2Fsuch.sock/", "connect", "PathNotFound"),
        (server.url, None, None),
    ]
    results = send_all(fetcher, [{"url": url} for url, _, _ in wanted])
    server.close()
    for (url, phase, kind), answer in zip(wanted, results):
        assert (answer.get("phase"), answer.get("kind")) == (
            phase,
            kind,
        ), answer
        if phase and "://" in url:
            assert answer["url"] == url
    assert results[-1]["body"] == "good"
    assert send_all(fetcher, []) == []


def test_times_run_for_each_request_alone(fetcher):
    """The total time starts with the request, not while it waits for others."""

    def handle(connection: Connection) -> None:
        head = connection.head()
        if "/late" in head:
            connection.sock.recv(1)
            return
        # Three of them one after the other take more than each may.
        time.sleep(0.7)
        connection.send(sized(b"done"))

    server = RawServer(handle)
    fetcher.client(base=server.url, total_timeout_ms=2_000, read_timeout_ms=15_000)
    results = send_all(fetcher, [{"url": "/"}] * 8 + [{"url": "/late"}] * 2, 2)
    server.close()
    assert [answer.get("body") for answer in results[:8]] == ["done"] * 8
    for answer in results[8:]:
        assert (answer["phase"], answer["kind"]) == ("total", "Timeout")


def test_redirections_retries_and_stale_connections(fetcher):
    def handle(connection: Connection) -> None:
        while head := connection.head():
            if "/again" in head and connection.number < 4:
                return
            if "/from" in head:
                connection.send(
                    b"HTTP/1.1 302 Found\r\nLocation: /to\r\nSet-Cookie: a=b\r\n"
                    b"Content-Length: 0\r\n\r\n"
                )
            else:
                connection.send(sized(head.encode()))
            if "/last" in head:
                return

    server = RawServer(handle)
    fetcher.client(base=server.url, max_retries=5, retry_base_ms=10, cookies=1)
    results = send_all(fetcher, [{"url": "/again"}] * 3)
    assert all(answer.get("status") == 200 for answer in results), results
    for answer in send_all(fetcher, [{"url": "/from"}] * 5, 2):
        assert answer["body"].startswith("GET /to HTTP/1.1")
        assert "Cookie: a=b\r\n" in answer["body"]
        assert answer["redirects"] == 1
    # The server closes these while they wait in the pool.
    send_all(fetcher, [{"url": "/last"}] * 5, 5)
    assert wait_until(lambda: server.ended_count == server.connection_count)
    results = send_all(fetcher, [{"url": "/", "method": "POST"}] * 5, 5)
    assert all(answer.get("status") == 200 for answer in results), results
    server.close()


def test_large_contents_share_the_loop(fetcher):
    """A fast server with much content does not keep the others waiting."""
    size = 4 << 20
    server = RawServer(answering(lambda _, content: sized(content)))
    fetcher.client(base=server.url)
    requests = [{"url": "/", "method": "POST", "octets": "x" * size}] * 3
    results = send_all(fetcher, requests + [{"url": "/"}] * 20, 23)
    server.close()
    lengths = [answer["body_len"] for answer in results]
    assert lengths == [size] * 3 + [0] * 20


def test_asking_before_sending_goes_on_by_itself(fetcher):
    server = RawServer(answering(lambda _, content: sized(content)))
    fetcher.client()
    request = {
        "url": server.url,
        "method": "POST",
        "octets": "abc",
        "expect": 1,
    }
    results = send_all(fetcher, [request] * 2)
    server.close()
    assert [answer["body"] for answer in results] == ["abc"] * 2


def test_tls_and_tunnels(fetcher, certs):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certs / "good_chain.pem", certs / "good.key")

    def secure(connection: Connection) -> None:
        with context.wrap_socket(connection.sock, server_side=True) as stream:
            answering(sized(b"secret"))(Connection(stream, connection.number))

    def tunnel(connection: Connection) -> None:
        head = connection.head()
        assert head.startswith(f"CONNECT localhost:{server.port} HTTP/1.1")
        connection.send(b"HTTP/1.1 200 Connected\r\n\r\n")
        secure(connection)

    server, proxy = RawServer(secure), RawServer(tunnel)
    url = f"https://localhost:{server.port}/"
    for more in [{}, {"proxy": f"127.0.0.1:{proxy.port}"}]:
        fetcher.client(ca_file=str(certs / "root.pem"), **more)
        results = send_all(fetcher, [{"url": url}] * 12, 4)
        assert [answer.get("body") for answer in results] == [
            "secret"
        ] * 12, results
    assert server.connection_count <= 4 and 1 <= proxy.connection_count <= 4
    fetcher.client()
    results = send_all(fetcher, [{"url": url}] * 3)
    assert {(answer["phase"], answer["kind"]) for answer in results} == {
        ("tls", "TlsFailed")
    }
    server.close()
    proxy.close()


def test_five_hundred(fetcher):
    server = RawServer(answering(sized(b"ok")))
    fetcher.client(base=server.url)
    results = send_all(fetcher, [{"url": "/"}] * 500, 50)
    server.close()
    assert all(answer.get("body") == "ok" for answer in results)
    assert server.connection_count <= 50


def test_descriptors_are_given_back(fetcher):
    def count() -> int:
        # Pipes are passed over: `input()` of Mojo keeps a copy of its own.
        folder = Path(f"/proc/{fetcher.process.pid}/fd")
        names = [os.readlink(entry) for entry in folder.iterdir()]
        return sum(not name.startswith("pipe:") for name in names)

    server = RawServer(once(b""))
    fetcher.client(base=server.url)
    before = count()
    for _ in range(3):
        send_all(fetcher, [{"url": "/"}] * 20, 20)
    server.close()
    assert count() == before


# Counts how often a process looks at a clock, in a file that others can read.
CLOCK_COUNTER = """
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static _Atomic long *count;

__attribute__((constructor)) static void begin(void) {
    int file = open(getenv("CLOCK_COUNT"), O_RDWR);
    void *page = mmap(0, 8, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    count = page == MAP_FAILED ? 0 : page;
    close(file);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    if (count) atomic_fetch_add(count, 1);
    return syscall(SYS_clock_gettime, clock, time);
}
"""


@pytest.fixture
def watched_fetcher(fetcher, tmp_path):
    """A client whose looks at a clock are counted."""
    source, library = tmp_path / "counter.c", tmp_path / "counter.so"
    source.write_text(CLOCK_COUNTER)
    compile_preloaded(source, library)
    figures = tmp_path / "count"
    figures.write_bytes(bytes(8))
    running = Fetcher(
        Path(fetcher.process.args[0]),
        LD_PRELOAD=str(library),
        CLOCK_COUNT=str(figures),
    )
    with open(figures, "r+b") as file:
        running.count = mmap.mmap(file.fileno(), 8)
    yield running
    running.close()


@pytest.mark.unsanitized
def test_a_round_costs_what_is_ready(watched_fetcher):
    """Each look at a request asks the clock whether its time is over. One that
    is busy beside many that are silent must not make all of them be looked at."""
    silent_count, busy_count = 200, 400
    answered = threading.Event()
    counts = []

    def count() -> int:
        return struct.unpack("q", watched_fetcher.count[:8])[0]

    def hold(connection: Connection) -> None:
        connection.head()
        answered.wait(30)
        connection.send(sized(b"late"))

    def serve(connection: Connection) -> None:
        while connection.head():
            counts.append(count())
            connection.send(sized(b"now"))
            if len(counts) == busy_count:
                answered.set()

    silent, busy = RawServer(hold), RawServer(serve)
    watched_fetcher.client(read_timeout_ms=30_000, total_timeout_ms=60_000)
    requests = [{"url": silent.url}] * silent_count + [{"url": busy.url}] * busy_count
    results = send_all(watched_fetcher, requests, silent_count + 1)
    silent.close()
    busy.close()
    bodies = [answer.get("body") for answer in results]
    assert bodies == ["late"] * silent_count + ["now"] * busy_count
    # Behind the first ones all are under way.
    looks = (counts[-1] - counts[50]) / (busy_count - 51)
    assert 1 < looks < 60, looks


def may_mount() -> bool:
    """Tells whether a program may be shown another file of host names."""
    command = ["unshare", "--map-root-user", "--mount", "true"]
    try:
        return subprocess.run(command, capture_output=True, timeout=10).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


PORT_COUNT_MAX = 100


class FullListener:
    """Listens, but its queue is full: who connects waits."""

    def __init__(self, host: str, bound: socket.socket) -> None:
        self._socket = bound
        self._socket.listen(0)
        self.port = self._socket.getsockname()[1]
        self._first = socket.create_connection((host, self.port))

    def close(self) -> None:
        self._first.close()
        self._socket.close()


def bound_at_both(first: str, second: str) -> tuple[socket.socket, socket.socket]:
    """Finds a port that is free at two addresses, and binds both to it."""
    for _ in range(PORT_COUNT_MAX):
        one, other = socket.socket(), socket.socket()
        one.bind((first, 0))
        try:
            other.bind((second, one.getsockname()[1]))
            return one, other
        except OSError:
            one.close()
            other.close()
    raise AssertionError(f"no port is free at {first} and {second}")


def connecting_count(port: int) -> int:
    """Counts the connections to a port that nobody has answered yet."""
    return sum(row.peer_port == port and row.state == SYN_SENT for row in tcp_sockets())


@pytest.mark.skipif(not may_mount(), reason="unshare is not allowed here")
def test_a_host_whose_addresses_fail_at_once_ends_no_other_request(tmp_path):
    """Each address has a descriptor; both are ready in one round."""
    hosts = tmp_path / "hosts"
    hosts.write_text("127.0.0.1 both.test\n127.0.0.2 both.test\n")
    program = tmp_path / "fetcher"
    program.write_text(
        "#!/bin/sh\nexec unshare --map-root-user --mount sh -c "
        f"'mount --bind {hosts} /etc/hosts && exec {built('fetcher', 'clients')}'\n"
    )
    program.chmod(0o755)
    released = threading.Event()

    def handle(connection: Connection) -> None:
        connection.head()
        released.wait(20)
        connection.send(sized(b"ok"))

    slow = RawServer(handle)
    one, other = bound_at_both("127.0.0.1", "127.0.0.2")
    first = FullListener("127.0.0.1", one)
    second = FullListener("127.0.0.2", other)
    client = Fetcher(program)
    client.client()
    results = []
    urls = [f"http://both.test:{first.port}/", slow.url]

    def ask() -> None:
        results.extend(send_all(client, [{"url": url} for url in urls], 2))

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        assert wait_until(lambda: connecting_count(first.port) == 2, 10)
        with stopped(client.process.pid):
            first.close()
            second.close()
            # The system tries again, and is refused.
            assert wait_until(lambda: connecting_count(first.port) == 0, 20)
        asking.join(0.5)
        assert results == [], "a request that is not answered was given up"
    finally:
        released.set()
        asking.join(20)
        slow.close()
        assert client.close() == 0
    assert results[0]["kind"] == "ConnectionRefused", results
    assert results[1].get("body") == "ok", results

"""Connections that come, go and break, and the server's own end."""

import resource
import signal
import socket
import struct
import subprocess
import threading
import time

import crowd
import httpx
from conftest import (
    Client,
    is_refused,
    read_all,
    read_to,
    wait_until,
    wait_until_full,
    wait_until_read,
)
from processes import anonymous_len, cpu_s
from ready import ready

HEAD = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"


def test_curl(probe):
    result = subprocess.run(
        ["curl", "-sS", "-i", "-d", "body", f"{probe.url}/"],
        capture_output=True,
        timeout=10,
    )
    assert result.returncode == 0 and result.stdout.endswith(b"body")


def test_httpx(probe):
    with httpx.Client(base_url=probe.url, trust_env=False) as client:
        for number in range(20):
            assert client.get(f"/greet/n%20{number}").text == f"hi n {number}"
        assert (
            client.post("/", content=(b"x" * 1000 for _ in range(100))).content
            == b"x" * 100_000
        )
        assert client.get("/nope").status_code == 404
        assert (
            client.delete("/greet/x").headers["allow"] == "GET, HEAD, OPTIONS"
        )


def test_half_close_after_the_request_still_gets_the_answer(probe):
    with Client(probe) as client:
        client.send(HEAD * 3)
        client.sock.shutdown(socket.SHUT_WR)
        assert read_all(client.sock).count(b"200 OK") == 3


def test_half_close_in_a_request_ends_the_connection(probe):
    with Client(probe) as client:
        client.send(HEAD[:-3])
        client.sock.shutdown(socket.SHUT_WR)
        assert read_all(client.sock) == b""


def test_half_close_with_a_large_answer(probe):
    with Client(probe, timeout=10) as client:
        client.send(HEAD.replace(b"/ ", b"/shared ", 1) * 5)
        client.sock.shutdown(socket.SHUT_WR)
        wait_until_full(probe, client.sock)
        assert len(read_all(client.sock)) > 5_000_000


def test_reset_in_a_response_harms_nobody(probe):
    for _ in range(50):
        client = Client(probe)
        client.send(HEAD.replace(b"/ ", b"/shared ", 1) * 3)
        client.sock.setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )
        client.sock.close()
    with Client(probe) as client:
        client.send(HEAD)
        assert client.response().body == b"OK"


def test_response_to_a_refused_upload_arrives(probe):
    """The client is still sending when it is refused; it must see why."""
    for _ in range(20):
        with Client(probe) as client:
            client.send(
                b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n"
            )
            try:
                client.send(b"x" * 300_000)
            except OSError:
                pass
            assert client.response().status == 413


def test_a_client_that_goes_on_behind_the_last_response_is_not_reset(start):
    server = start(max_keepalive_requests=1)
    for _ in range(20):
        with Client(server) as client:
            client.send(HEAD)
            assert ready([client.sock], 15)  # the connection is ending
            client.send(HEAD)
            assert client.response().fields["connection"] == "close"
            assert client.sock.recv(1) == b""


def test_many_short_connections_reuse_descriptors(start):
    """No event or timer of a dead connection reaches the next one."""
    server = start(header_timeout_ms=200, idle_timeout_ms=200)
    failures = []

    def run(seed: int) -> None:
        for number in range(600):
            try:
                with Client(server) as client:
                    if (number + seed) % 5 == 0:
                        client.send(
                            HEAD[:7]
                        )  # left behind in the middle of a head
                        continue
                    client.send(
                        b"GET /greet/%d-%d HTTP/1.1\r\nHost: a\r\n\r\n"
                        % (seed, number)
                    )
                    body = client.response().body
                    if body != b"hi %d-%d" % (seed, number):
                        failures.append(body)
                    if number % 7 == 0:
                        client.sock.setsockopt(
                            socket.SOL_SOCKET,
                            socket.SO_LINGER,
                            struct.pack("ii", 1, 0),
                        )
            except OSError as error:
                failures.append(error)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[:5]


def test_too_many_connections_are_refused_clearly(start):
    server = start(max_connections=5)
    kept = [Client(server) for _ in range(5)]
    for client in kept:
        client.send(HEAD)
        assert client.response().body == b"OK"
    with Client(server) as refused:
        refused.send(HEAD)
        response = refused.response()
        assert response.status == 503 and response.fields["retry-after"] == "1"
    kept.pop().sock.close()

    def is_served() -> bool:
        with Client(server) as client:
            client.send(HEAD)
            return client.response().status == 200

    assert wait_until(is_served)
    for client in kept:
        client.sock.close()


def test_connections_leave_descriptors_for_files(start, tmp_path):
    """Whoever is one too many gets 503; who is connected gets files."""
    for number in range(20):
        (tmp_path / f"{number}.txt").write_text("x" * 20_000)

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))

    server = start(
        "file_server", root=tmp_path, cache_ms=60_000,
        popen={"preexec_fn": limit},
    )
    assert wait_until(server.said_of_limit)
    assert "(RLIMIT_NOFILE) leaves 1" in server.said_of_limit()[0]
    kept = [server.connect() for _ in range(300)]
    answers = {}

    def refused() -> int:
        """Those that are too many are told, as long as answers fit."""
        for sock in ready(kept, 0):
            answers.setdefault(sock, sock.recv(4096))
        return len(answers)

    # A quarter is kept from connections.
    assert wait_until(lambda: refused() >= 300 - 192, 10)
    assert any(b" 503 " in answer for answer in answers.values())
    client = kept[0]
    assert client not in answers
    client.settimeout(10)
    for number in range(20):
        client.sendall(
            b"GET /strict/%d.txt HTTP/1.1\r\nHost: a\r\n\r\n" % number
        )
        assert read_to(client, b"x" * 20_000).startswith(b"HTTP/1.1 200 ")
    for sock in kept:
        sock.close()
    assert server.stop() == 0


def test_limit_of_descriptors_is_raised(start):
    def limit() -> None:
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, min(hard, 3000)))

    server = start(max_connections=1500, popen={"preexec_fn": limit})
    with Client(server) as client:
        client.send(HEAD)
        assert client.response().status == 200
    limits = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
    assert limits[0] == limits[1] > 64
    # They are enough, so nothing is said.
    assert server.said_of_limit() == []
    many = start(max_connections=2500, popen={"preexec_fn": limit})
    assert wait_until(many.said_of_limit)
    assert len(many.said_of_limit()) == 1
    assert "max_connections is 2500; those" in many.said_of_limit()[0]


def test_connection_that_has_grown_old_is_ended(start):
    """The next response says so; then comes a new connection."""
    server = start(max_connection_age_ms=1_000)
    with Client(server) as client:
        began = time.monotonic()
        while True:
            client.send(HEAD)
            response = client.response()
            assert response.status == 200
            if "connection" in response.fields:
                break
            assert time.monotonic() - began < 20, "it does not grow old"
            time.sleep(0.02)
        assert response.fields["connection"] == "close"
        assert time.monotonic() - began > 0.7
        assert client.is_closed()


def test_idle_connection_that_has_grown_old_is_closed(start):
    server = start(max_connection_age_ms=500)
    with Client(server, 20) as client:
        client.send(HEAD)
        assert "connection" not in client.response().fields
        began = time.monotonic()
        # Its idle_timeout_ms is a minute, and here 20 s are waited for.
        assert client.is_closed()
        assert time.monotonic() - began > 0.3


def test_old_connections_do_not_end_together(start):
    server = start(max_connection_age_ms=2_000)
    clients = [Client(server, 20) for _ in range(20)]
    for client in clients:
        client.send(HEAD)
        assert client.response().status == 200
    ends = []
    waiting = {client.sock: client for client in clients}
    while waiting:
        for sock in ready(waiting, 20):
            assert sock.recv(1) == b""
            ends.append(time.monotonic())
            waiting.pop(sock).sock.close()
    # A fifth of their age; what the clock of the loop spreads is less.
    assert ends[-1] - ends[0] > 0.15


def test_no_descriptors_left_is_survived_without_spinning(start):
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (260, 260))

    server = start(popen={"preexec_fn": limit})
    clients = []
    for _ in range(300):
        clients.append(server.connect())
    before = cpu_s(server.process.pid)
    time.sleep(0.6)
    assert cpu_s(server.process.pid) - before < 0.3
    assert server.is_alive()
    for client in clients:
        client.close()

    def is_served() -> bool:
        with Client(server) as client:
            client.send(HEAD)
            return client.response().status == 200

    assert wait_until(is_served)
    assert server.stop() == 0


def test_sigterm_drains(start):
    server = start()
    with Client(server) as idle, Client(server) as busy, Client(
        server, timeout=10
    ) as slow:
        idle.send(HEAD)
        assert idle.response().status == 200
        busy.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab")
        slow.send(HEAD.replace(b"/ ", b"/shared ", 1) * 10)
        wait_until_read(server, busy)
        wait_until_full(server, slow.sock)
        server.process.send_signal(signal.SIGTERM)
        assert idle.is_closed()
        busy.send(b"cd")
        response = busy.response()
        assert (
            response.body == b"abcd"
            and response.fields["connection"] == "close"
        )
        assert busy.is_closed()
        assert slow.response().status == 200
        slow.sock.close()
        try:
            server.connect().close()
            refused = False
        except ConnectionRefusedError:
            refused = True
        assert refused
    assert server.process.wait(10) == 0
    assert server.process.stdout.read() == b"stopped\n"


def test_a_slow_reader_is_closed_when_it_has_been_served(start):
    """Its response was begun before the signal, and said nothing of closing."""
    server = start(idle_timeout_ms=60000)
    with Client(server, timeout=10) as slow:
        slow.send(HEAD.replace(b"/ ", b"/shared ", 1) * 20)
        wait_until_full(server, slow.sock)
        server.process.send_signal(signal.SIGTERM)
        assert wait_until(lambda: is_refused(server))
        assert len(read_all(slow.sock)) > 1_000_000
    assert server.process.wait(20) == 0


def test_request_sent_with_the_signal_is_answered(start):
    server = start()
    # Handlers of signals are installed by `serve`: one answer shows they are.
    with Client(server) as first:
        first.send(HEAD)
        first.response()
    client = Client(server)
    client.send(HEAD)
    server.process.send_signal(signal.SIGINT)
    assert client.response().body == b"OK"
    assert server.process.wait(10) == 0


def test_second_signal_ends_at_once(start):
    server = start(shutdown_timeout_ms=120_000, header_timeout_ms=120_000)
    with Client(server) as client:
        client.send(HEAD[:10])
        wait_until_read(server, client)
        server.process.send_signal(signal.SIGTERM)
        assert wait_until(lambda: is_refused(server))
        assert server.is_alive()
        server.process.send_signal(signal.SIGTERM)
        # By itself it would wait two minutes for the rest of the head.
        assert server.process.wait(20) == 0


def test_shutdown_timeout_bounds_the_drain(start):
    server = start(shutdown_timeout_ms=300, body_timeout_ms=120_000)
    with Client(server) as client:
        client.send(
            b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab"
        )
        wait_until_read(server, client)
        began = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        # It would be 30 s where nothing is set, and the content has two minutes.
        assert server.process.wait(20) == 0
        assert time.monotonic() - began > 0.25


def test_signals_can_be_left_alone(start):
    server = start(handles_signals=0)
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(5) != 0
    assert b"stopped" not in server.process.stdout.read()


def test_logging_can_be_switched_off(start):
    server = start(logs_errors=0)
    with Client(server) as client:
        client.send(b"GET /fail HTTP/1.1\r\nHost: a\r\n\r\n")
        assert client.response().status == 500
    assert server.lines() == []


def test_ten_thousand_idle_connections(start):
    count = 10_000
    limit = crowd.allow(count)
    server = start(popen={"preexec_fn": limit}, header_timeout_ms=60000)
    with Client(server) as client:
        client.send(HEAD)
        client.response()
    base = anonymous_len(server.process.pid)
    clients = crowd.connect(server.port, count, HEAD)
    for sock in clients:
        assert read_to(sock, b"OK")
    each = (anonymous_len(server.process.pid) - base) / count
    before = cpu_s(server.process.pid)
    time.sleep(2)
    used = cpu_s(server.process.pid) - before
    print(
        f"\n{count} idle connections: {each:.0f} bytes each, CPU in 2 s: {used:.3f} s"
    )
    for sock in clients:
        sock.close()
    assert each < 1024
    assert used < 0.1

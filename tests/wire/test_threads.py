"""Several workers on threads: who serves, where, and how all end."""

import json
import os
import resource
import signal
import socket
import subprocess
import time

import pytest
from conftest import Client, read_to, refusal, wait_until
from processes import cpus_of_threads, descriptor_count, stopped

GET = b"GET %s HTTP/1.1\r\nHost: test\r\n\r\n"


def fetch(server, path: str, timeout: float = 5.0) -> bytes:
    with Client(server, timeout) as client:
        client.send(GET % path.encode())
        return client.response().body


def stats(server) -> dict:
    return json.loads(fetch(server, "/stats"))


@pytest.mark.parametrize("count", [2, 5])
def test_all_workers_serve(start, count):
    server = start("workers_server", workers=count)
    for _ in range(40 * count):
        assert fetch(server, "/") == b"Hello, World!"
    # A worker shows its figures once it has answered all that was there; each
    # look at them is a request as well.
    looks = []

    def all_are_shown() -> bool:
        looks.append(stats(server))
        return looks[-1]["requests"] >= 40 * count + len(looks) - 1

    assert wait_until(all_are_shown), looks
    figures = looks[-1]
    assert all(worker[0] > 0 for worker in figures["workers"]), figures
    assert sum(worker[0] for worker in figures["workers"]) == (
        figures["requests"]
    )


def test_stats_count_open_connections(start):
    server = start("workers_server", workers=2)
    clients = [Client(server) for _ in range(10)]
    for client in clients:
        client.send(GET % b"/")
        assert client.response().status == 200
    assert wait_until(lambda: stats(server)["open"] >= 10)
    for client in clients:
        client.sock.close()
    assert wait_until(lambda: stats(server)["open"] <= 1)
    assert stats(server)["connections"] >= 11


@pytest.mark.skipif(
    len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs"
)
def test_workers_are_pinned_unless_told_otherwise(start):
    pinned = start("workers_server", workers=2)
    assert wait_until(
        lambda: len(
            {x for x in cpus_of_threads(pinned.process.pid) if x.isdigit()}
        )
        == 2
    ), cpus_of_threads(pinned.process.pid)
    free = start("workers_server", workers=2, pins=0)
    for _ in range(20):
        fetch(free, "/")
    assert not [
        x for x in cpus_of_threads(free.process.pid) if x.isdigit()
    ]


def test_pinning_keeps_to_the_affinity_mask(start):
    first = min(os.sched_getaffinity(0))
    server = start(
        "workers_server",
        popen={"preexec_fn": lambda: os.sched_setaffinity(0, {first})},
        workers=2,
    )
    assert fetch(server, "/") == b"Hello, World!"
    assert set(cpus_of_threads(server.process.pid)) == {str(first)}


def test_one_queue_for_all_lets_idle_workers_take_over(start):
    server = start("workers_server", workers=2, shared=1)
    with Client(server) as busy:
        busy.send(GET % b"/patient")
        assert wait_until(lambda: "patient at work" in server.stderr())
        # The worker that has it takes no connections for ten seconds, so all of
        # these are the other one's: nobody here waits as long.
        for _ in range(20):
            assert fetch(server, "/") == b"Hello, World!"


def test_signal_stops_all_workers_in_good_order(start):
    server = start("workers_server", workers=3)
    slow = [Client(server) for _ in range(6)]
    for client in slow:
        client.send(GET % b"/slow/100")
    assert wait_until(lambda: stats(server)["connections"] >= 6)
    server.process.send_signal(signal.SIGTERM)
    for client in slow:
        response = client.response()
        assert response.body == b"slept 100 "
    assert server.process.wait(10) == 0
    assert b"stopped" in server.process.stdout.read()
    with pytest.raises(OSError):
        server.connect()


def test_request_that_arrived_before_the_drain_is_answered(start):
    server = start("workers_server", workers=1)
    with Client(server) as kept, Client(server) as idle:
        for client in (kept, idle):
            client.send(GET % b"/")
            assert client.response().status == 200
        # It hears of both at the same time, and of either first.
        with stopped(server.process.pid):
            server.process.send_signal(signal.SIGTERM)
            kept.send(GET % b"/")
        assert kept.response().status == 200
        assert kept.is_closed() and idle.is_closed()
    assert server.process.wait(10) == 0


def test_second_signal_ends_all_workers_at_once(start):
    server = start("workers_server", workers=2, shutdown_timeout_ms=60_000)
    clients = [Client(server) for _ in range(8)]
    for client in clients:
        client.send(b"GET / HTTP/1.1\r\nHost: te")
    assert wait_until(lambda: stats(server)["connections"] >= 8)
    server.process.send_signal(signal.SIGTERM)
    with pytest.raises(subprocess.TimeoutExpired):
        server.process.wait(0.3)

    def is_ended_by_another() -> bool:
        # Two that come at the same time may be one.
        if server.is_alive():
            server.process.send_signal(signal.SIGTERM)
            time.sleep(0.1)
        return not server.is_alive()

    assert wait_until(is_ended_by_another)
    assert server.process.wait(5) == 0


@pytest.mark.parametrize("count", [0, 257, -1])
def test_worker_count_out_of_range_is_refused(count):
    said = refusal("workers_server", "0", f"workers={count}", "mode=threads")
    assert f"the number of workers is {count}" in said


def test_worker_that_cannot_start_stops_all_with_the_reason():
    limit = (resource.RLIMIT_NOFILE, (255, 255))
    said = refusal(
        "workers_server", "0", "workers=64",
        preexec_fn=lambda: resource.setrlimit(*limit),
    )  # fmt: skip
    assert "no more descriptors" in said


def test_port_in_use_is_told_though_workers_share_it(start):
    server = start("workers_server", workers=2)
    said = refusal("workers_server", str(server.port), "workers=2")
    assert "the address is in use" in said


def test_connections_leave_no_descriptors(start):
    server = start("workers_server", workers=4)
    for _ in range(50):
        fetch(server, "/")
    before = descriptor_count(server.process.pid)
    for _ in range(200):
        fetch(server, "/")
    assert wait_until(
        lambda: descriptor_count(server.process.pid) <= before
    )


def test_half_closed_client_is_answered_by_any_worker(start):
    server = start("workers_server", workers=3)
    for _ in range(10):
        with server.connect() as sock:
            sock.sendall(GET % b"/")
            sock.shutdown(socket.SHUT_WR)
            assert read_to(sock, b"Hello, World!")

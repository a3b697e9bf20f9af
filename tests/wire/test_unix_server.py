"""The server at a Unix socket: one worker, threads, processes; its file."""

import json
import os
import signal
import socket
import subprocess

import pytest
from conftest import Client, wait_until
from processes import workers
from toolchain import environment
from wire_programs import built

GET = b"GET %s HTTP/1.1\r\nHost: a\r\n\r\n"
KINDS = [
    {"workers": 1},
    {"workers": 3},
    {"workers": 2, "mode": "prefork"},
]


class UnixClient(Client):
    """A raw connection to a Unix socket."""

    def __init__(self, path: str) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(5)
        self.sock.connect(path)
        self.buffer = b""


def fetch(path: str, target: str) -> bytes:
    with UnixClient(path) as client:
        client.send(GET % target.encode())
        return client.response().body


def refusal(*arguments: str) -> str:
    """What a server says that cannot start."""
    result = subprocess.run(
        [str(built("workers_server")), "0", *arguments],
        capture_output=True,
        text=True,
        timeout=10,
        env=environment(),
    )
    assert result.returncode != 0
    return result.stderr


@pytest.mark.parametrize("kind", KINDS)
def test_all_workers_serve_at_a_path(start, tmp_path, kind):
    path = str(tmp_path / "app.sock")
    server = start("workers_server", unix=path, **kind)

    def all_have_served() -> bool:
        clients = [UnixClient(path) for _ in range(10)]
        for client in clients:
            client.send(GET % b"/slow/20" + GET % b"/peer")
        for client in clients:
            assert client.response().body == b"slept 20 "
            assert client.response().body == b"0.0.0.0:0"
            client.sock.close()
        figures = json.loads(fetch(path, "/stats"))["workers"]
        return sum(worker[0] > 0 for worker in figures) == kind["workers"]

    assert wait_until(all_have_served, 15)
    # More than the kernel takes at once.
    assert fetch(path, "/size/3000000") == b"x" * 3_000_000
    answer = subprocess.run(
        ["curl", "-s", "--unix-socket", path, "http://localhost/whole/a?b=1"],
        stdout=subprocess.PIPE,
        timeout=10,
    )
    assert answer.stdout == b"GET /whole/a?b=1 a "
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(10) == 0
    assert not os.path.exists(path)


def test_a_worker_that_dies_leaves_the_file(start, tmp_path):
    path = str(tmp_path / "app.sock")
    server = start("workers_server", unix=path, mode="prefork")
    assert wait_until(lambda: "hook: ready 2" in server.stderr())
    before = workers(server.process.pid)
    os.kill(before[0], signal.SIGKILL)

    def replaced() -> bool:
        now = workers(server.process.pid)
        return len(now) == 2 and before[0] not in now

    assert wait_until(replaced)
    os.kill(server.process.pid, signal.SIGHUP)
    assert wait_until(
        lambda: not set(before) & set(workers(server.process.pid)), 15
    )
    assert fetch(path, "/") == b"Hello, World!"


def test_a_file_left_behind_is_replaced_if_that_is_wanted(start, tmp_path):
    path = str(tmp_path / "app.sock")
    server = start("workers_server", unix=path)
    said = refusal(f"unix={path}", "replace_stale=1")
    assert path in said and "stop the other program" in said
    server.process.kill()
    server.process.wait(5)
    assert "pass replace_stale=True" in refusal(f"unix={path}")
    start("workers_server", unix=path, replace_stale=1)
    assert fetch(path, "/") == b"Hello, World!"


def test_an_abstract_name_needs_no_file(start):
    name = f"flare-test-{os.getpid()}"
    start("workers_server", unix=f"@{name}")
    assert fetch(f"\0{name}", "/") == b"Hello, World!"


def test_its_network_trusts_the_proxies_in_front(start, tmp_path):
    """PROXY protocol, whose peers are trusted by their addresses."""
    path = str(tmp_path / "app.sock")
    start("workers_server", unix=path, proxy_protocol="0.0.0.0/32")
    with UnixClient(path) as client:
        client.send(b"PROXY TCP4 192.0.2.9 192.0.2.1 4000 80\r\n")
        client.send(GET % b"/peer")
        assert client.response().body == b"192.0.2.9:4000"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["inherits=1"], "turn it off for bind_unix"),
        (["unix=/nowhere/app.sock"], "/nowhere/app.sock"),
    ],
)
def test_refusals(tmp_path, arguments, message):
    assert message in refusal(f"unix={tmp_path}/app.sock", *arguments)
    assert not (tmp_path / "app.sock").exists()

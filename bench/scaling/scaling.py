"""Measures what it costs that several processes share rooms and stores.

Rooms: members over WebSocket, one of whom speaks a hundred times a second; CPU a
message of the worker of the one who speaks, of all other workers, and of Redis,
and the time from sending to each member's receiving, this program's own reading
included. Stores: requests one after the other on one connection, as long as they
take and CPU of the worker. Setups take turns, round by round.

Run: .venv/bin/python bench/scaling/scaling.py [--rounds 3] [--messages 200]. It
needs Debian's redis-server, and Linux for the times of threads.
"""

import argparse
import http.client
import os
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from toolchain import BUILD, MOJO, environment  # noqa: E402

BINARY = BUILD / "bench" / "scaling_server"
START_TIMEOUT_S = 10
WAIT_S = 20
PAUSE_S = 0.01
WARM_UP = 20
MEMBERS = (10, 200)
ROOMS = [("local", 1), ("shared", 1), ("shared", 3), ("channel", 3), ("stream", 3)]
STORES = [("local", 1), ("channel", 1)]
REQUESTS = 400
UPGRADE = (
    b"GET /room HTTP/1.1\r\nHost: bench\r\nUpgrade: websocket\r\n"
    b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


def cpu_ns(pid: int) -> int:
    """CPU time of all threads of a process that live."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        total += int((task / "schedstat").read_text().split()[0])
    return total


def children(pid: int) -> list[int]:
    return [
        int(word)
        for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    ]


@contextmanager
def redis() -> Iterator[tuple[int, str]]:
    """Runs a server on a Unix socket; gives its process and address."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "redis.sock"
        command = ["redis-server", "--port", "0", "--save", "", "--dir", folder]
        process = subprocess.Popen(
            [*command, "--unixsocket", str(path)], stdout=subprocess.DEVNULL
        )
        try:
            end = time.monotonic() + START_TIMEOUT_S
            while not path.exists():
                if process.poll() is not None or time.monotonic() > end:
                    sys.exit("scaling: redis-server does not start")
                time.sleep(0.01)
            yield process.pid, f"redis+unix://{path}"
        finally:
            process.kill()
            process.wait()


@contextmanager
def server(plane: str, workers: int, url: str) -> Iterator[tuple[int, list[int]]]:
    """Runs the server; gives its port and its workers."""
    process = subprocess.Popen(
        [str(BINARY), "0", plane, str(workers), url],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment(),
    )
    try:
        port = int(process.stdout.readline().rsplit(":", 1)[1])
        end = time.monotonic() + START_TIMEOUT_S
        while len(children(process.pid)) < workers:
            if time.monotonic() > end:
                sys.exit("scaling: the workers do not start")
            time.sleep(0.01)
        yield port, children(process.pid)
    finally:
        process.terminate()
        process.wait()


class Member:
    """A client of the room."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), WAIT_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.waiting = b""
        self.socket.sendall(UPGRADE)
        while b"\r\n\r\n" not in self.waiting:
            self.waiting += self.socket.recv(4096)
        self.waiting = self.waiting.partition(b"\r\n\r\n")[2]

    def say(self, text: bytes) -> None:
        # A mask of zeros leaves the text as it is.
        self.socket.sendall(bytes([0x81, 0x80 | len(text)]) + bytes(4) + text)

    def take(self) -> list[bytes]:
        """Receives what is there: whole messages of at most 125 octets."""
        self.waiting += self.socket.recv(65536)
        found = []
        while len(self.waiting) > 1 and len(self.waiting) >= 2 + self.waiting[1]:
            end = 2 + self.waiting[1]
            found.append(self.waiting[2:end])
            self.waiting = self.waiting[end:]
        return found


@dataclass
class Talk:
    """What one round of a room has measured."""

    sender_us: float = 0.0
    others_us: float = 0.0
    redis_us: float = 0.0
    latencies_us: list[float] = field(default_factory=list)


def hear_all(selector: selectors.BaseSelector, wanted: set, text: bytes) -> list[int]:
    """Waits until all members have a text; gives when each had it."""
    times = []
    left = set(wanted)
    end = time.monotonic() + WAIT_S
    while left:
        if time.monotonic() > end:
            sys.exit(f"scaling: {len(left)} members did not get a message")
        for key, _ in selector.select(1.0):
            if text in key.data.take():
                times.append(time.perf_counter_ns())
                left.discard(key.data)
    return times


def talk(port: int, workers: list[int], redis_pid: int, size: int, count: int) -> Talk:
    with ExitStack() as held, selectors.DefaultSelector() as selector:
        members = [Member(port) for _ in range(size)]
        for member in members:
            held.callback(member.socket.close)
            selector.register(member.socket, selectors.EVENT_READ, member)
        sender = members[0]
        sender.say(b"pid")
        own = int(sender.take()[0])
        # Nobody is told when all processes have joined.
        joined: set = set()
        end = time.monotonic() + WAIT_S
        while len(joined) < size and time.monotonic() < end:
            sender.say(b"hello")
            for key, _ in selector.select(0.2):
                if key.data.take():
                    joined.add(key.data)
        time.sleep(0.3)
        for key, _ in selector.select(0.1):
            key.data.take()
        found = Talk()
        for number in range(WARM_UP + count):
            if number == WARM_UP:
                before = {pid: cpu_ns(pid) for pid in [*workers, redis_pid]}
            text = b"%031d" % number
            began = time.perf_counter_ns()
            sender.say(text)
            times = hear_all(selector, set(members), text)
            if number >= WARM_UP:
                found.latencies_us += [(heard - began) / 1_000 for heard in times]
            time.sleep(PAUSE_S)
        spent = {pid: cpu_ns(pid) - before[pid] for pid in before}
        found.sender_us = spent[own] / count / 1_000
        found.redis_us = spent[redis_pid] / count / 1_000
        others = [pid for pid in workers if pid != own]
        found.others_us = sum(spent[pid] for pid in others) / count / 1_000
        return found


@dataclass
class Asked:
    """What one round of a store has measured."""

    cpu_us: float
    redis_us: float
    latencies_us: list[float]


def ask(port: int, worker: int, redis_pid: int, path: str) -> Asked:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_S)
    connection.request("GET", "/login")
    answer = connection.getresponse()
    answer.read()
    cookie = answer.getheader("Set-Cookie").split(";")[0]
    latencies = []
    for number in range(WARM_UP + REQUESTS):
        if number == WARM_UP:
            before, redis_before = cpu_ns(worker), cpu_ns(redis_pid)
        began = time.perf_counter_ns()
        if path == "/order":
            key = f'"{os.getpid()}-{began}"'
            connection.request("POST", path, b"{}", {"Idempotency-Key": key})
        else:
            connection.request("GET", path, headers={"Cookie": cookie})
        answer = connection.getresponse()
        answer.read()
        if answer.status != 200:
            sys.exit(f"scaling: {path} was answered {answer.status}")
        if number >= WARM_UP:
            latencies.append((time.perf_counter_ns() - began) / 1_000)
    cpu = (cpu_ns(worker) - before) / REQUESTS / 1_000
    redis_cpu = (cpu_ns(redis_pid) - redis_before) / REQUESTS / 1_000
    connection.close()
    return Asked(cpu, redis_cpu, latencies)


def share(values: list[float], part: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


def show_rooms(found: dict[tuple, list[Talk]]) -> None:
    print("| carried by | workers | members | sender's | others' | Redis | p50 | p99 |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for (plane, workers, size), talks in found.items():
        parts = [
            statistics.median(talk.sender_us for talk in talks),
            statistics.median(talk.others_us for talk in talks),
            statistics.median(talk.redis_us for talk in talks),
            statistics.median(share(talk.latencies_us, 0.5) for talk in talks),
            statistics.median(share(talk.latencies_us, 0.99) for talk in talks),
        ]
        shown = " | ".join(f"{part:.0f}" for part in parts)
        print(f"| {plane} | {workers} | {size} | {shown} |")


def show_stores(found: dict[tuple, list[Asked]]) -> None:
    print("| request | kept | worker's | Redis | p50 | p99 |")
    print("| --- | --- | --- | --- | --- | --- |")
    for (path, plane), rounds in found.items():
        parts = [
            statistics.median(asked.cpu_us for asked in rounds),
            statistics.median(asked.redis_us for asked in rounds),
            statistics.median(share(asked.latencies_us, 0.5) for asked in rounds),
            statistics.median(share(asked.latencies_us, 0.99) for asked in rounds),
        ]
        shown = " | ".join(f"{part:.0f}" for part in parts)
        print(f"| {path} | {'local' if plane == 'local' else 'Redis'} | {shown} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--messages", type=int, default=200)
    parser.add_argument("--build", action="store_true", help="build, and end")
    options = parser.parse_args()
    source = HERE / "scaling_server.mojo"
    BINARY.parent.mkdir(parents=True, exist_ok=True)
    if options.build or not BINARY.exists():
        command = [str(MOJO), "build", "-I", str(ROOT), str(source), "-o", str(BINARY)]
        subprocess.run(command, check=True, env=environment())
    if options.build:
        return
    rooms: dict[tuple, list[Talk]] = {}
    stores: dict[tuple, list[Asked]] = {}
    with redis() as (redis_pid, url):
        for _ in range(options.rounds):
            for plane, workers in ROOMS:
                for size in MEMBERS:
                    with server(plane, workers, url) as (port, pids):
                        found = talk(port, pids, redis_pid, size, options.messages)
                    rooms.setdefault((plane, workers, size), []).append(found)
            for plane, workers in STORES:
                with server(plane, workers, url) as (port, pids):
                    for path in ("/plain", "/session", "/limited", "/order"):
                        asked = ask(port, pids[0], redis_pid, path)
                        stores.setdefault((path, plane), []).append(asked)
    show_rooms(rooms)
    print()
    show_stores(stores)


if __name__ == "__main__":
    main()

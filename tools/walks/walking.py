"""The walks: what is started for each, who asks, and what is found."""

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from toolchain import BUILD, ROOT, environment
from walks.askers import Asker, Http1Asker, Http2Asker, LineAsker, RoomAsker
from walks.breakpoints import Watch
from walks.counting import Count, functions_of, in_all
from walks.debug_info import Function, Missing, functions_at

WARM_UP = 200
# What all of so many requests do is counted.
PASSES = 10
WAIT_S = 20


def wait_for(is_there: Callable[[], bool], what: str) -> None:
    """Waits until something is there, but not for ever."""
    end = time.monotonic() + WAIT_S
    while not is_there():
        if time.monotonic() > end:
            raise TimeoutError(f"no {what} within {WAIT_S} s")
        time.sleep(0)


class Started:
    """Programs of one walk, which end with it."""

    def __init__(self, binary: Path) -> None:
        self._binary = binary
        self._stack = ExitStack()

    def __enter__(self) -> "Started":
        return self

    def __exit__(self, *_) -> None:
        self._stack.close()

    def program(self, *arguments: str) -> subprocess.Popen:
        """Starts the walked program, and waits until it is ready."""
        process = self._start(str(self._binary), *arguments)
        if not process.stdout.readline():
            raise RuntimeError(f"{arguments}: it ended with {process.wait()}")
        return process

    def server(self, *arguments: str) -> tuple[subprocess.Popen, int]:
        """Starts the walked program as a server; gives its port, too."""
        process = self._start(str(self._binary), *arguments)
        line = process.stdout.readline().decode()
        if not line.startswith("listening on "):
            raise RuntimeError(f"{arguments}: it says {line!r}")
        return process, int(line.rpartition(":")[2])

    def redis(self) -> str:
        """Starts a server of Redis; gives its URL."""
        folder = BUILD / "walks"
        path = folder / "redis.sock"
        path.unlink(missing_ok=True)
        try:
            self._start(
                "redis-server", "--port", "0", "--unixsocket", str(path),
                "--save", "", "--dir", str(folder),
            )  # fmt: skip
        except FileNotFoundError as error:
            raise Missing(
                "redis-server is needed: apt-get install redis-server"
            ) from error
        wait_for(path.exists, "socket of Redis")
        return f"unix://{path}"

    def call_at_end(self, function: Callable[[], None]) -> None:
        """Has something done before the programs are ended."""
        self._stack.callback(function)

    def _start(self, *command: str) -> subprocess.Popen:
        process = subprocess.Popen(
            command,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(),
        )
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)
        return process


# Each gives what is watched, and who asks.
Begun = tuple[list[subprocess.Popen], Asker]


def http1(started: Started) -> Begun:
    server, port = started.server("hello")
    return [server], Http1Asker(port)


def routed(started: Started) -> Begun:
    server, port = started.server("routed")
    return [server], Http1Asker(port)


def http2(started: Started) -> Begun:
    server, port = started.server("hello")
    return [server], Http2Asker(port)


def proxy(started: Started) -> Begun:
    _, upstream_port = started.server("hello")
    server, port = started.server("proxy", f"http://127.0.0.1:{upstream_port}")
    return [server], Http1Asker(port)


def client(started: Started) -> Begun:
    _, port = started.server("hello")
    process = started.program("client", f"http://127.0.0.1:{port}/")
    return [process], LineAsker(process)


def room(started: Started) -> Begun:
    url = started.redis()
    servers = [started.server("room", url) for _ in range(2)]
    return [x for x, _ in servers], RoomAsker([port for _, port in servers])


@dataclass(frozen=True)
class Walk:
    """One kind of request: what is watched, and who asks."""

    title: str
    begin: Callable[[Started], Begun]
    target: Count | None
    # Whether its functions begin in the same order always: threads do not.
    has_order: bool = True


WALKS = {
    "http1": Walk("HTTP/1.1 GET", http1, Count(20, 8)),
    "routed": Walk("the same behind a `Router`", routed, None),
    "http2": Walk("HTTP/2 GET", http2, Count(35, 12)),
    "proxy": Walk("proxied GET", proxy, Count(45, 15)),
    "client": Walk("`client.get`", client, Count(30, 10)),
    "room": Walk("message to a room over Redis", room, Count(40, 15), False),
}


@contextmanager
def one_cpu() -> Iterator[None]:
    """Keeps this process, and those that it starts, on one processor: threads take
    turns in about the same order then, and none does what it does on a new one."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def walk(name: str, binary: Path, addresses: list[int]) -> list[Function]:
    """Lists the functions that one request runs, in the order of their begin, or of
    their places if several threads take part."""
    with one_cpu(), Started(binary) as started:
        watched, asker = WALKS[name].begin(started)
        for _ in range(WARM_UP):
            asker.ask()
            wait_for(asker.is_answered, "answer")
        watch = Watch([x.pid for x in watched], binary, addresses)
        started.call_at_end(watch.close)
        passes = [
            watch.passed(asker.ask, asker.is_answered) for _ in range(PASSES)
        ]
    stacks = functions_at(binary, {x for found in passes for x in found})
    found = in_all([functions_of(addresses, stacks) for addresses in passes])
    return found if WALKS[name].has_order else sorted(found)

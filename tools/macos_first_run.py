"""The first run of flare on macOS: each step says what it looks at, and what it saw.

Run: python3 tools/macos_first_run.py [STEP...]

The selector on macOS is kqueue, which was written from its manual and has only
met table tests. The steps go from what must work first to what is likeliest to
break; the report is build/first_run/report.md, for an issue. Steps run on Linux
as well, against epoll, which is how they are tested.
"""

import http.client
import os
import platform
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from toolchain import BUILD, ROOT, build, environment

OUTPUT = BUILD / "first_run"
REPORT = OUTPUT / "report.md"
SERVICE = OUTPUT / "service"
LOG = OUTPUT / "service.log"
WAIT_S = 20
TESTS_S = 3600
IDLE_S = 5
IDLE_CPU_S = 0.25
CONNECTIONS = 200
PIPELINED = 16
MESSAGE_LEN = 4_000_000
ONE_ANSWER = b"Hello from flare!\n"
GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Wrong(Exception):
    """What a step saw that should not be."""


@dataclass(frozen=True)
class Step:
    """Something to try, and what to look at if it goes wrong."""

    name: str
    run: Callable[[], str]
    look_at: str


@contextmanager
def service(*words: str):
    """Runs the service of deploy/ on a free port; gives its process and the port."""
    with LOG.open("w") as log:
        process = subprocess.Popen(
            [str(SERVICE), "127.0.0.1:0", *words],
            stdout=subprocess.PIPE, stderr=log, text=True, env=environment(),
        )
    try:
        line = process.stdout.readline()
        if not line.startswith("listening on "):
            raise Wrong(f"it said {line!r} and ended with {process.wait(WAIT_S)}")
        yield process, int(line.rsplit(":", 1)[1])
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(WAIT_S)
        process.stdout.close()


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), WAIT_S)


def read_count(client: socket.socket, count: int) -> None:
    """Reads answers until there are so many."""
    octets = b""
    while octets.count(ONE_ANSWER) < count:
        more = client.recv(65536)
        if not more:
            raise Wrong(f"closed after {octets.count(ONE_ANSWER)} of {count} answers")
        octets += more


def cpu_s(pid: int) -> float:
    """Asks `ps` for the CPU time of a process, which both systems know."""
    told = subprocess.run(["ps", "-o", "time=", "-p", str(pid)], capture_output=True, text=True)
    total = 0.0
    for part in told.stdout.strip().replace("-", ":").split(":"):
        total = total * 60 + float(part)
    return total


def system() -> str:
    compiler = subprocess.run(["cc", "--version"], capture_output=True, text=True)
    return (
        f"{platform.platform()}, {platform.machine()}, Python {platform.python_version()},"
        f" {compiler.stdout.splitlines()[0]}"
    )


def build_service() -> str:
    began = time.monotonic()
    result = build(ROOT / "deploy" / "service.mojo", SERVICE)
    if result.returncode:
        raise Wrong(result.stdout[-3000:])
    return f"built in {time.monotonic() - began:.0f} s, {SERVICE.stat().st_size:,} bytes"


def one_request() -> str:
    with service() as (_, port), connect(port) as client:
        client.sendall(GET)
        read_count(client, 1)
    return "answered"


def kept_connection() -> str:
    with service() as (_, port), connect(port) as client:
        for _ in range(1000):
            client.sendall(GET)
            read_count(client, 1)
        client.sendall(GET * PIPELINED)
        read_count(client, PIPELINED)
    return f"1000 requests one by one, and {PIPELINED} at once"


def many_connections() -> str:
    with service() as (_, port):
        clients = [connect(port) for _ in range(CONNECTIONS)]
        for turn in range(5):
            for client in clients:
                client.sendall(GET)
            for client in clients:
                read_count(client, 1)
        for client in clients:
            client.close()
        with connect(port) as client:
            client.sendall(GET)
            read_count(client, 1)
    return f"{CONNECTIONS} connections, 5 requests each, and one after they had closed"


def large_message() -> str:
    """Sends more than any socket takes at once, so that the server waits to write."""
    from websockets.sync.client import connect as open_websocket

    text = "x" * (MESSAGE_LEN // 4)
    with service() as (_, port):
        with open_websocket(f"ws://127.0.0.1:{port}/ws", max_size=None) as client:
            for _ in range(4):
                client.send(text)
            for _ in range(4):
                if client.recv(timeout=WAIT_S) != text:
                    raise Wrong("another message came back")
    return f"{MESSAGE_LEN:,} bytes echoed, read only after all was sent"


def idle() -> str:
    with service() as (process, port), connect(port) as client:
        client.sendall(GET)
        read_count(client, 1)
        before = cpu_s(process.pid)
        time.sleep(IDLE_S)
        used = cpu_s(process.pid) - before
        if used > IDLE_CPU_S:
            raise Wrong(f"{used:.2f} s of CPU in {IDLE_S} s with nothing to do")
    return f"{used:.2f} s of CPU in {IDLE_S} s with one idle connection"


def deadline() -> str:
    """Half of a head: 408 comes by a timer alone, for no event ever does."""
    with service() as (_, port), connect(port) as client:
        began = time.monotonic()
        client.sendall(GET[:10])
        answer = client.recv(65536)
        if not answer.startswith(b"HTTP/1.1 408 "):
            raise Wrong(f"{answer[:80]!r} after {time.monotonic() - began:.1f} s")
    return f"408 after {time.monotonic() - began:.1f} s"


def stop() -> str:
    with service() as (process, port), connect(port) as client:
        client.sendall(GET)
        read_count(client, 1)
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        code = process.wait(WAIT_S)
        if code != 0:
            raise Wrong(f"it ended with {code}")
    return f"ended with 0 after {time.monotonic() - began:.2f} s"


def prefork() -> str:
    with service("workers=2") as (process, port):
        for _ in range(50):
            client = http.client.HTTPConnection("127.0.0.1", port, timeout=WAIT_S)
            client.request("GET", "/")
            if client.getresponse().read() != ONE_ANSWER:
                raise Wrong("another answer")
            client.close()
        process.send_signal(signal.SIGTERM)
        if (code := process.wait(WAIT_S)) != 0:
            raise Wrong(f"it ended with {code}")
    return "50 connections over two processes, and a stop in good order"


def tests(*words: str) -> Callable[[], str]:
    """Makes a step that runs a part of the tests."""

    def run() -> str:
        result = subprocess.run(
            [sys.executable, "tools/test.py", *words],
            cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TESTS_S,
        )
        lines = result.stdout.strip().splitlines()
        if result.returncode:
            raise Wrong("\n".join(lines[-60:]))
        return lines[-1]

    return run


STEPS = [
    Step("system", system, "uname, cc: Xcode's command line tools are enough"),
    Step(
        "build", build_service,
        "an unknown symbol: its name by platform in flare/sys; a wrong size: `by_platform` there",
    ),
    Step(
        "request", one_request,
        "nothing comes: layout of struct kevent and of sockaddr (it has sa_len) in flare/sys;"
        " EINVAL of bind or accept: the same; a crash: SO_NOSIGPIPE or SIGPIPE",
    ),
    Step(
        "kept", kept_connection,
        "the second request hangs: EVFILT_READ must not be one-shot;"
        " the batch hangs: octets that were read and not parsed have no event",
    ),
    Step(
        "many", many_connections,
        "some hang: more events than the list of one kevent call holds;"
        " the last one hangs: EV_EOF taken for an error of the listener",
    ),
    Step(
        "large", large_message,
        "it hangs: EVFILT_WRITE is not registered when a write was short, or not dropped after",
    ),
    Step("idle", idle, "CPU is burnt: a write filter that is left, or a wake-up that is not read"),
    Step("deadline", deadline, "it hangs: the timeout of kevent, a timespec and not milliseconds"),
    Step("stop", stop, "it hangs: the pipe of signals, or a loop that nobody wakes"),
    Step(
        "prefork", prefork,
        "fork: kqueues are not inherited, so a worker must make its own after it;"
        " SO_REUSEPORT does not spread on macOS, so all accept from one socket",
    ),
    Step("runtime", tests("tests/runtime", "tests/sys"), "the selector's and timers' own tests"),
    Step("sockets", tests("tests/net", "tests/tcp", "tests/udp", "tests/unix"), "errno by platform"),
    Step("unit", tests("unit"), "anything else that differs by platform"),
    Step("examples", tests("examples"), "what users see"),
    Step("wire", tests("wire"), "what is skipped names a program; /proc is not there"),
]


def attempt(step: Step) -> tuple[bool, str]:
    """Runs a step; gives whether it held, and what it saw."""
    LOG.unlink(missing_ok=True)
    try:
        return True, step.run()
    except (Wrong, OSError, subprocess.SubprocessError, http.client.HTTPException) as error:
        said = LOG.read_text()[-2000:] if LOG.exists() else ""
        return False, f"{type(error).__name__}: {error}\n{said}".rstrip()


def main(names: list[str]) -> int:
    """Runs the steps that are named, or all; writes the report."""
    known = [step.name for step in STEPS]
    if unknown := [name for name in names if name not in known]:
        print(f"there is no step {unknown[0]!r}; steps are {', '.join(known)}", file=sys.stderr)
        return 2
    OUTPUT.mkdir(parents=True, exist_ok=True)
    lines, failed = ["# The first run", ""], 0
    for step in STEPS:
        if names and step.name not in names and step.name != "build":
            continue
        print(f"{step.name} ...", end=" ", flush=True)
        holds, saw = attempt(step)
        failed += not holds
        print("ok:" if holds else "FAILED:", saw, flush=True)
        lines += [f"## {step.name}: {'ok' if holds else 'FAILED'}", "", "```", saw, "```", ""]
        if not holds:
            print(f"  look at: {step.look_at}", flush=True)
            lines += [f"Look at: {step.look_at}", ""]
        if not holds and step.name == "build":
            break
        REPORT.write_text("\n".join(lines))
    REPORT.write_text("\n".join(lines))
    print(f"report: {REPORT.relative_to(ROOT)}; please send it with an issue")
    return 1 if failed else 0


if __name__ == "__main__":
    os.chdir(ROOT)
    sys.exit(main(sys.argv[1:]))

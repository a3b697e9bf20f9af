"""What a supervisor and its workers are told, when, and what must come of it: a row
has one outcome, which docs/workers.md gives, with a listener for each worker, with one
for all, and at a Unix socket.

Behind each row that leaves a program serving, all of its workers answer, nobody is
left unreaped, and SIGTERM ends all of it.
"""

import os
import re
import socket
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from signal import (
    SIGABRT, SIGHUP, SIGINT, SIGKILL, SIGSEGV, SIGSTOP, SIGTERM, SIGTTIN,
    SIGTTOU, SIGUSR2,
)  # fmt: skip

import pytest
from conftest import START_TIMEOUT_S, wait_until
from processes import (
    children, descriptor_count, end_session, in_session, next_line, stopped, workers,
)  # fmt: skip
from toolchain import environment
from wire_programs import built

WAIT_S = 20
# How long a handler takes that others ask about meanwhile, on a slow machine too.
BUSY_MS = 2_000
WORKERS = 2
WAYS = {"own listeners": ["reuseport=1"], "one listener": ["reuseport=0"], "unix": []}
OPTIONS = ["mode=prefork", f"workers={WORKERS}", "linger_timeout_ms=100", "delay_first_ms=20"]


class Program:
    """A supervisor in a session of its own, with its workers."""

    def __init__(self, way: str, folder: Path, *options: str) -> None:
        self.log = folder / "log"
        self.path = folder / "socket"
        arguments = ["0", *OPTIONS, *WAYS[way], *options]
        if way == "unix":
            arguments.append(f"unix={self.path}")
        self.way = way
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [str(built("workers_server")), *arguments], stdout=subprocess.PIPE,
                stderr=log, env=environment(), start_new_session=True,
            )  # fmt: skip
        line = next_line(self.process, START_TIMEOUT_S)
        self.port = int(line.rsplit(":", 1)[1])

    @property
    def pid(self) -> int:
        return self.process.pid

    def said(self) -> str:
        return self.log.read_text()

    def hears(self, text: str, count: int = 1) -> None:
        assert wait_until(lambda: self.said().count(text) >= count, WAIT_S), (
            f"{text!r} {count} times is not in {self.said()}"
        )

    def is_ready(self) -> "Program":
        self.hears(f"hook: ready {WORKERS}")
        return self

    def tell(self, *numbers: int) -> None:
        for number in numbers:
            os.kill(self.pid, number)

    def tell_at_once(self, *numbers: int) -> None:
        """Has it find all of them at the same time."""
        with stopped(self.pid):
            self.tell(*numbers)

    def connect(self) -> socket.socket:
        if self.way == "unix":
            sock = socket.socket(socket.AF_UNIX)
            sock.settimeout(WAIT_S)
            sock.connect(str(self.path))
            return sock
        return socket.create_connection(("127.0.0.1", self.port), WAIT_S)

    def begin(self, path: str) -> socket.socket:
        sock = self.connect()
        sock.sendall(f"GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
        return sock

    def ask(self, path: str) -> str:
        return content(self.begin(path))

    def begin_busy(self) -> socket.socket:
        """Sends a request that a handler has when this returns."""
        sock = self.begin(f"/busy/{BUSY_MS}")
        assert wait_until(
            lambda: 'http_requests_in_flight 2' in self.ask("/metrics"), WAIT_S
        )
        return sock

    def who_answers(self, count: int) -> set[int]:
        """Waits until so many workers there are, and all of them answer, as far as
        the kernel asks them: of one socket it may choose the same one again."""
        seen = set()

        def look() -> bool:
            seen.add(int(self.ask("/pid")))
            there = set(workers(self.pid))
            # Nobody is told to go, starts or waits to be reaped.
            if len(there) != count or set(children(self.pid)) != there:
                return False
            return there <= seen if self.way == "own listeners" else bool(there & seen)

        assert wait_until(look, WAIT_S), (seen, children(self.pid), self.said())
        return set(workers(self.pid))

    def ends(self, code: int = 0) -> None:
        found = self.process.wait(WAIT_S)
        assert found == code, (found, self.said())
        assert wait_until(lambda: not in_session(self.pid), WAIT_S), in_session(self.pid)


def content(sock: socket.socket) -> str:
    """Reads an answer to its end."""
    with sock:
        octets = b""
        while piece := sock.recv(65536):
            octets += piece
    head, _, content = octets.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 "), octets
    return content.decode()


@dataclass
class Row:
    rule: str
    # What is done; what it gives is how many workers there are then, or 0 if all has
    # ended.
    act: Callable[[Program], int]
    options: list = field(default_factory=list)
    waits: bool = True
    ways: tuple = tuple(WAYS)


ROWS: dict[str, Row] = {}


def row(name: str, rule: str, *options: str, waits: bool = True, ways=tuple(WAYS)):
    """Notes what a row does; it begins when all workers are ready, if it `waits`."""

    def note(act: Callable[[Program], int]) -> Callable:
        ROWS[name] = Row(rule, act, list(options), waits, ways)
        return act

    return note


def stops_by(number: int) -> Callable[[Program], int]:
    def act(program: Program) -> int:
        with program.begin_busy() as sock:
            program.tell(number)
            assert content(sock) == f"busy {BUSY_MS}"
        program.ends()
        return 0

    return act


def stops_at_once_by(number: int) -> Callable[[Program], int]:
    def act(program: Program) -> int:
        program.hears("hook: spawned 0")
        program.tell(number)
        program.ends()
        return 0

    return act


BUSY = "handler_threads=4"
for number in (SIGTERM, SIGINT):
    row(f"{number.name}, while a request runs", "TERM, INT: finish what is under way", BUSY)(
        stops_by(number)
    )
    row(f"{number.name} at the start", "TERM, INT: workers end", waits=False)(
        stops_at_once_by(number)
    )


@row("SIGTERM twice", "a second one ends all at once", BUSY)
def _(program: Program) -> int:
    sock = program.begin("/busy/60000")
    assert wait_until(lambda: "http_requests_in_flight 2" in program.ask("/metrics"))
    program.tell(SIGTERM)
    assert wait_until(lambda: is_refused(program), WAIT_S)
    program.tell(SIGTERM)
    program.ends()
    with sock, pytest.raises((AssertionError, ConnectionError)):
        content(sock)
    return 0


def is_refused(program: Program) -> bool:
    try:
        program.connect().close()
    except (ConnectionError, FileNotFoundError):
        return True
    return False


@row("SIGHUP", "HUP: each worker is replaced, and finishes what it has", BUSY)
def _(program: Program) -> int:
    before = program.who_answers(WORKERS)
    with program.begin_busy() as sock:
        program.tell(SIGHUP)
        assert content(sock) == f"busy {BUSY_MS}"
    # All of them, one after the other.
    program.hears("hook: spawned", 2 * WORKERS)
    assert not before & program.who_answers(WORKERS)
    return WORKERS


@row("SIGHUP three times", "HUP: rolling restart", BUSY)
def _(program: Program) -> int:
    before = program.who_answers(WORKERS)
    for count in range(3):
        program.tell(SIGHUP)
        program.hears("hook: spawned", WORKERS + 1 + count)
    assert wait_until(lambda: not before & set(workers(program.pid)), WAIT_S)
    return WORKERS


@row("SIGHUP at the start", "HUP: rolling restart", waits=False)
def _(program: Program) -> int:
    program.hears("hook: spawned 0")
    program.tell(SIGHUP)
    program.is_ready()
    return WORKERS


@row("SIGHUP and SIGTERM at once", "TERM, INT: workers end")
def _(program: Program) -> int:
    program.tell_at_once(SIGHUP, SIGTERM)
    program.ends()
    return 0


@row("SIGTERM within a rolling restart", "TERM, INT: workers end", BUSY)
def _(program: Program) -> int:
    with program.begin_busy() as sock:
        program.tell(SIGHUP)
        program.hears("hook: spawned", WORKERS + 1)
        program.tell(SIGTERM)
        assert content(sock) == f"busy {BUSY_MS}"
    program.ends()
    return 0


@row("all signals while it stops", "TERM: workers end; nothing is begun any more", BUSY, "inherits=1",
     ways=("own listeners", "one listener"))  # fmt: skip
def _(program: Program) -> int:
    with program.begin_busy() as sock:
        program.tell(SIGTERM)
        assert wait_until(lambda: is_refused(program), WAIT_S)
        made = program.said().count("hook: spawned")
        program.tell(SIGHUP, SIGTTIN, SIGTTOU, SIGUSR2)
        program.hears("SIGUSR2: an upgrade or a stop is under way")
        assert content(sock) == f"busy {BUSY_MS}"
    program.ends()
    assert program.said().count("hook: spawned") == made
    return 0


@row("SIGTTIN", "TTIN: one worker more")
def _(program: Program) -> int:
    program.tell(SIGTTIN)
    return WORKERS + 1


@row("SIGTTOU", "TTOU: one less")
def _(program: Program) -> int:
    program.tell(SIGTTOU)
    return WORKERS - 1


@row("SIGTTOU for the last one", "TTOU: one less, spec 5", "handler_threads=1")
def _(program: Program) -> int:
    program.tell(SIGTTOU)
    program.who_answers(WORKERS - 1)
    program.tell(SIGTTOU)
    program.hears("the last worker stays")
    return WORKERS - 1


@row("SIGTTIN and SIGTTOU at once", "TTIN, TTOU: one worker more, one less")
def _(program: Program) -> int:
    # Not stopped meanwhile: SIGCONT takes these two back (POSIX, signal.h).
    program.tell(SIGTTIN, SIGTTOU)
    return WORKERS


@row("SIGTTIN and SIGHUP at once", "TTIN: one worker more")
def _(program: Program) -> int:
    before = program.who_answers(WORKERS)
    program.tell(SIGTTIN, SIGHUP)
    assert wait_until(lambda: not before & set(workers(program.pid)), WAIT_S)
    return WORKERS + 1


@row("SIGUSR2 without the option", "USR2: needs inherits_listeners")
def _(program: Program) -> int:
    program.tell(SIGUSR2)
    program.hears("SIGUSR2: this program does not hand its listeners over")
    return WORKERS


def ends_with(number: int) -> Callable[[Program], int]:
    def act(program: Program) -> int:
        program.tell(number)
        program.ends(-number)
        return 0

    return act


for number in (SIGKILL, SIGABRT):
    row(f"{number.name} ends the supervisor", "orphans cannot be, however that happens")(
        ends_with(number)
    )


@row("SIGKILL of the supervisor at the start", "orphans cannot be", waits=False)
def _(program: Program) -> int:
    program.hears("hook: spawned 0")
    program.tell(SIGKILL)
    program.ends(-SIGKILL)
    return 0


@row("a supervisor that is stopped", "spec 5: workers serve by themselves")
def _(program: Program) -> int:
    with stopped(program.pid):
        for _ in range(10):
            assert program.ask("/") == "Hello, World!"
        os.kill(workers(program.pid)[0], SIGKILL)
        assert wait_until(lambda: len(workers(program.pid)) == 1)
    return WORKERS


def ignored_by_workers(number: int) -> Callable[[Program], int]:
    def act(program: Program) -> int:
        before = program.who_answers(WORKERS)
        for pid in before:
            os.kill(pid, number)
        for _ in range(10):
            assert int(program.ask("/pid")) in before
        assert program.who_answers(WORKERS) == before
        return WORKERS

    return act


for number in (SIGINT, SIGHUP, SIGUSR2, SIGTTIN, SIGTTOU):
    row(f"{number.name} to workers", "PreforkProgram.work: the supervisor's, and ignored here")(
        ignored_by_workers(number)
    )


def dies_of(number: int) -> Callable[[Program], int]:
    def act(program: Program) -> int:
        before = program.who_answers(WORKERS)
        first = min(before)
        os.kill(first, number)
        program.hears("hook: recovered")
        assert re.search(
            rf"flare: worker \d \(pid {first}\) was killed by signal {int(number)} ", program.said()
        )
        assert len(before & program.who_answers(WORKERS)) == 1
        return WORKERS

    return act


for number in (SIGKILL, SIGSEGV, SIGABRT):
    row(f"{number.name} to a worker", "a worker that dies is reported and started anew")(
        dies_of(number)
    )


@row("SIGKILL to all workers", "a worker that dies is started anew")
def _(program: Program) -> int:
    before = program.who_answers(WORKERS)
    for pid in before:
        os.kill(pid, SIGKILL)
    assert program.ask("/") == "Hello, World!"
    program.hears("hook: recovered", WORKERS)
    assert not before & program.who_answers(WORKERS)
    return WORKERS


@row("SIGTERM to all workers", "a worker that somebody else has told to stop is replaced", BUSY)
def _(program: Program) -> int:
    before = program.who_answers(WORKERS)
    with program.begin_busy() as sock:
        for pid in before:
            os.kill(pid, SIGTERM)
        assert program.ask("/") == "Hello, World!"
        assert content(sock) == f"busy {BUSY_MS}"
    assert not before & program.who_answers(WORKERS)
    assert "crash" not in program.said()
    return WORKERS


@row("a stopped worker, and SIGTERM", "after grace_ms they are killed", "grace_ms=300")
def _(program: Program) -> int:
    os.kill(workers(program.pid)[0], SIGSTOP)
    program.tell(SIGTERM)
    program.ends()
    assert "took too long to finish and is killed" in program.said()
    return 0


@row("a stopped worker, and SIGHUP", "HUP: each is replaced; after grace_ms it is killed", "grace_ms=300")
def _(program: Program) -> int:
    before = program.who_answers(WORKERS)
    os.kill(min(before), SIGSTOP)
    program.tell(SIGHUP)
    program.hears("took too long to finish and is killed")
    assert wait_until(lambda: not before & set(workers(program.pid)), WAIT_S)
    return WORKERS


@row("a stopped worker, and SIGTERM twice", "a second one ends all at once")
def _(program: Program) -> int:
    os.kill(workers(program.pid)[0], SIGSTOP)
    program.tell(SIGTERM)
    assert wait_until(lambda: len(workers(program.pid)) == 1, WAIT_S)
    program.tell(SIGTERM)
    program.ends()
    return 0


@row("a worker that dies while it is replaced", "a worker that dies is started anew", BUSY)
def _(program: Program) -> int:
    before = program.who_answers(WORKERS)
    with stopped(program.pid):
        for pid in before:
            os.kill(pid, SIGKILL)
        assert wait_until(lambda: not workers(program.pid))
        program.tell(SIGHUP)
    assert program.ask("/") == "Hello, World!"
    return WORKERS


@row("descriptors", "the supervisor keeps nothing of dead workers")
def _(program: Program) -> int:
    before = descriptor_count(program.pid)
    first = program.who_answers(WORKERS)
    for pid in first:
        os.kill(pid, SIGKILL)
    program.hears("hook: recovered", WORKERS)
    second = program.who_answers(WORKERS)
    program.tell(SIGHUP)
    assert wait_until(lambda: not second & set(workers(program.pid)), WAIT_S)
    program.who_answers(WORKERS)
    assert descriptor_count(program.pid) == before
    return WORKERS


@pytest.mark.parametrize("name", ROWS)
def test_all_ways(tmp_path, name):
    one = ROWS[name]
    with ThreadPoolExecutor(len(WAYS)) as pool:
        found = list(pool.map(lambda way: run(one, way, tmp_path / way), one.ways))
    wrong = [f"{way}: {text}" for way, text in zip(one.ways, found) if text]
    assert not wrong, f"docs/workers.md, {one.rule}:\n" + "\n".join(wrong)


def run(one: Row, way: str, folder: Path) -> str:
    """Does what a row does one way; says what is wrong, if anything is."""
    folder.mkdir()
    program = Program(way, folder, *one.options)
    try:
        if one.waits:
            program.is_ready()
        count = one.act(program)
        if count:
            program.who_answers(count)
            program.tell(SIGTERM)
            program.ends()
    except (AssertionError, OSError, subprocess.TimeoutExpired) as error:
        return repr(error)
    finally:
        end_session(program.process)
    return ""


@pytest.mark.parametrize("mode", ["prefork", "failing"])
def test_nobody_reads_what_the_supervisor_says(mode):
    """Spec 5: a crashed worker is started anew, within a budget, and then there is an
    error: also where the log of both is a pipe whose reader has gone."""
    reading, writing = os.pipe()
    program = subprocess.Popen(
        [str(built("workers_server")), "0", f"mode={mode}", "workers=1", "restarts_max=3",
         "delay_first_ms=1", "delay_max_ms=1"],
        stdout=subprocess.PIPE, stderr=writing, env=environment(), start_new_session=True,
    )  # fmt: skip
    os.close(writing)
    os.close(reading)
    try:
        next_line(program, START_TIMEOUT_S)
        killed = []
        while mode == "prefork" and len(killed) < 4:
            assert wait_until(lambda: set(workers(program.pid)) - set(killed), WAIT_S)
            killed.append(workers(program.pid)[0])
            os.kill(killed[-1], SIGKILL)
        # Not of SIGPIPE.
        assert program.wait(WAIT_S) == 1
    finally:
        end_session(program)

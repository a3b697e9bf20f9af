"""Builds, starts and stops what a row describes."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from ports import claim_port
from suite.conformance import leniencies, wrong_protocol
from suite.console import say
from suite.gate import Place, fetch
from suite.http2 import fetch_http2, lenient_http2, wrong_http2, wrong_http2_protocol
from suite.layout import cpus_here, pinned
from suite.left_over import forget, remember
from suite.metadata import Program, Row, read_rows
from suite.process import children_s
from suite.programs import BENCH, missing, program_environment
from suite.response import Answer
from suite.workload import Workload
from suite.ws_gate import wrong_reply
from toolchain import BUILD, MOJO, ROOT

CERTS = ROOT / "build" / "certs"
LOOPBACK = "127.0.0.1"
START_S = 10
STOP_S = 10
UPSTREAM = "c_epoll"  # the folder of what stands behind gateways
INTERRUPTED = 130  # the status, as shells have it


class Failed(ValueError):
    """A server that gets no row; the text says why."""


def filled(program: Program, words: list[str], **more: object) -> list[str]:
    """Puts folders, programs and the port where a command has {names}."""
    names = {
        "build": BUILD / "bench" / program.key,
        "here": program.here,
        "root": program.root,
        "python": sys.executable,
        "mojo": MOJO,
        "certs": CERTS,
        "prefork": BENCH / "prefork.py",
        "build_flare": BENCH / "build_flare.py",
        **more,
    }
    try:
        return [word.format(**names) for word in words]
    except KeyError as error:
        known = ", ".join(names)
        raise Failed(f"its command has {{{error.args[0]}}}; known are {known}") from None


def build(program: Program) -> float:
    """Builds a program; gives the CPU time that took. Raises Failed."""
    if reason := missing(program.needs):
        raise Failed(reason)
    (BUILD / "bench" / program.key).mkdir(parents=True, exist_ok=True)
    if not program.build:
        return 0.0
    before = children_s()
    result = subprocess.run(
        filled(program, program.build),
        cwd=program.here,
        text=True,
        env={**program_environment(), **program.build_env},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if result.returncode:
        said = result.stdout.replace(f"{program.root}/", "").strip()
        raise Failed(f"its build failed: {said[-2000:]}")
    return children_s() - before


def free_port(host: str = LOOPBACK) -> int:
    """Finds a port to serve on. Raises Failed for no address of this machine."""
    try:
        return claim_port(host)
    except OSError as error:
        raise Failed(f"nothing can listen on {host}: {error.strerror or error}") from None


def start_upstream(port: int, cpus: list[int], scratch: Path) -> subprocess.Popen:
    """Starts the raw C server that gateways pass requests on to. Raises Failed."""
    folder = BENCH / "peers" / UPSTREAM
    program = read_rows((folder / "server.toml").read_text(), UPSTREAM, folder, ROOT)[0].program
    build(program)
    command = [*pinned(cpus), *filled(program, ["{build}/server", str(port)])]
    process = subprocess.Popen(
        command,
        env={**program_environment(), "BENCH_HOST": LOOPBACK},
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    remember(process.pid, scratch)
    end = time.monotonic() + START_S
    while time.monotonic() < end and process.poll() is None:
        try:
            socket.create_connection((LOOPBACK, port), 1).close()
            return process
        except OSError:
            time.sleep(0.02)
    process.kill()
    raise Failed(f"the upstream of gateways did not start in {START_S} s")


@dataclass
class Server:
    """A row that runs, listening on an address of `host`."""

    row: Row
    cpus: list[int]
    host: str = LOOPBACK
    port: int = 0
    command: list[str] = field(default_factory=list)
    process: subprocess.Popen | None = None
    upstream: subprocess.Popen | None = None
    scratch: Path | None = None
    rounds: dict[str, list[dict]] = field(default_factory=dict)
    accepts: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.row.name

    @property
    def place(self) -> Place:
        return self.host, self.port

    def check(self, plain: Workload, upload: Workload) -> None:
        """Holds it to the protocol, if it claims to speak it. Raises Failed.

        Not so gateways: the raw server behind them answers to no rules.
        """
        if self.row.gateway:
            return
        if self.row.http2:
            if wrong := wrong_http2_protocol(self.place, self.row.tls):
                raise Failed(wrong)
            self.accepts = lenient_http2(self.place, self.row.tls)
        elif self.row.parses:
            if wrong := wrong_protocol(self.place, plain, upload):
                raise Failed(wrong)
            self.accepts = leniencies(self.place, self.row.tls)

    def fetch(self, workload: Workload) -> Answer:
        """Asks once on a new connection. Raises OSError or ValueError."""
        if self.row.http2:
            return fetch_http2(self.place, workload)
        return fetch(self.place, workload)

    def wrong_reply(self, workload: Workload) -> str | None:
        """Says what is wrong with the server's answer or echo, or gives None."""
        if self.row.http2:
            return wrong_http2(self.place, workload, self.row.odd_fields)
        return wrong_reply(self.place, workload)

    def start(self, workload: Workload) -> None:
        """Starts it in a session of its own and waits for an answer. Raises Failed."""
        if self.row.tls:
            tool = [sys.executable, str(ROOT / "tools" / "certs.py")]
            subprocess.run(tool, check=True, stdout=subprocess.DEVNULL)
        self.port = free_port(self.host)
        self.scratch = Path(tempfile.mkdtemp(prefix="flare-bench-"))
        given = {"port": self.port, "scratch": self.scratch, "host": self.host}
        if self.row.gateway:
            # Where the load is: what the gateway's CPUs do is the gateway's.
            others = [cpu for cpu in cpus_here() if cpu not in self.cpus]
            given["upstream"] = free_port()
            self.upstream = start_upstream(
                given["upstream"], others if self.cpus else [], self.scratch
            )
        self.command = [*pinned(self.cpus), *filled(self.row.program, self.row.run, **given)]
        values = filled(self.row.program, list(self.row.env.values()), **given)
        env = {"BENCH_HOST": self.host, **dict(zip(self.row.env, values))}
        log = self.scratch / "log"
        with log.open("wb") as output:
            try:
                self.process = subprocess.Popen(
                    self.command,
                    env={**program_environment(), **env},
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                )
            except OSError as error:
                raise Failed(f"{error.filename} could not be started: {error.strerror}") from None
        remember(self.process.pid, self.scratch)
        end = time.monotonic() + START_S
        while time.monotonic() < end and self.process.poll() is None:
            try:
                self.fetch(workload)
                return
            except (OSError, ValueError):
                time.sleep(0.05)
        code, said = (self.process.poll(), log.read_text(errors="replace").strip()[-500:])
        self.stop()
        how = f"no answer in {START_S} s" if code is None else f"it ended with {code}"
        raise Failed(f"{how}; it said: {said or 'nothing'}")

    def stop(self) -> None:
        """Asks the process to end, then ends what is left of its group."""
        if self.process is None:
            return self.kill()
        self.process.terminate()
        try:
            self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            say(f"bench: {self.name} did not stop in {STOP_S} s and is killed")
        finally:  # of an interruption too
            self.kill()

    def kill(self) -> None:
        """Ends what is left of the process's group at once, and of its files."""
        if self.upstream is not None:
            self.upstream.kill()
            self.upstream.wait()
            forget(self.upstream.pid)
            self.upstream = None
        if self.process is not None:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                self.process.poll()  # nothing was left
            self.process.wait()
            forget(self.process.pid)
            self.process = None
        if self.scratch is not None:
            shutil.rmtree(self.scratch, ignore_errors=True)


def stop_all(servers: list[Server]) -> None:
    """Stops servers; who interrupts that does not wait for those that are left."""
    is_waited_for = True
    for server in servers:
        try:
            server.stop() if is_waited_for else server.kill()
        except KeyboardInterrupt:
            is_waited_for = False

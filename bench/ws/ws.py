"""Measures WebSocket servers beside each other: echoes, and a room.

Rounds are alternated over the servers, which run on one CPU, the load on
another. CPU time is that of the server's threads, from /proc in nanoseconds.
Every octet that comes back is compared; a server that fails gets no row.

Run: .venv/bin/python bench/ws/ws.py [--built] [--rounds 5] [--milliseconds 1500]
[NAME...]; it takes 4 minutes, and before that as long as the builds take.
"""

import argparse
import json
import os
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from toolchain import BUILD, MOJO, environment  # noqa: E402

FOLDER = BUILD / "bench" / "ws"
START_TIMEOUT_S = 10
WARM_UP_MS = 300
DESCRIPTOR_COUNT = 4096
# What it is called, and the arguments of the load.
WORKLOADS = {
    "echo 64 B, 16 connections": ("echo", 16, 64, 1),
    "echo 1 KiB, 16 connections": ("echo", 16, 1024, 1),
    "echo 125 B": ("echo", 64, 125, 1),
    "echo 125 B, 16 at once": ("echo", 64, 125, 16),
    "echo 4 KiB": ("echo", 64, 4096, 1),
    "echo 64 KiB": ("echo", 64, 65536, 1),
    "to 1,000 subscribers, 125 B": ("room", 1000, 125, 1),
}
PROGRAMS = {
    "flare": FOLDER / "flare",
    "gorilla": FOLDER / "gorilla",
    "fastwebsockets": FOLDER / "rust" / "target" / "release" / "fastwebsockets",
    "tungstenite": FOLDER / "rust" / "target" / "release" / "tungstenite",
}
# Its room would take more than its own example shows.
ECHO_ONLY = ("fastwebsockets",)


def run(command: list, **options) -> None:
    print("+", *command, flush=True)
    subprocess.run([str(part) for part in command], check=True, **options)


def build(names: list[str]) -> None:
    """Builds the load and the servers whose compilers are here."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    run(["cc", "-O2", "-Wall", "-o", FOLDER / "load", HERE / "load.c"])
    if "flare" in names:
        source = HERE / "flare_ws.mojo"
        run([MOJO, "build", "-I", ROOT, source, "-o", PROGRAMS["flare"]],
            env=environment())
    if "gorilla" in names and shutil.which("go"):
        run(["go", "build", "-o", PROGRAMS["gorilla"], "."],
            cwd=HERE / "go_gorilla", env={**os.environ, "GOTOOLCHAIN": "local"})
    if {"fastwebsockets", "tungstenite"} & set(names) and shutil.which("cargo"):
        # Built from a copy, so that no Cargo.lock is left beside the sources.
        shutil.copytree(HERE / "rust", FOLDER / "rust", dirs_exist_ok=True)
        run(["cargo", "build", "--release", "--quiet"], cwd=FOLDER / "rust")


class Server:
    """A running server on CPU 0."""

    def __init__(self, program: Path, mode: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        arguments = [str(self.port)] + (["room"] if mode == "room" else [])
        self.process = subprocess.Popen(
            [program, *arguments],
            env={**environment(), "GOMAXPROCS": "1"},
            preexec_fn=lambda: os.sched_setaffinity(0, {0}),
        )
        end = time.monotonic() + START_TIMEOUT_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > end:
                    raise
                time.sleep(0.02)

    def cpu_ns(self) -> int:
        tasks = Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[0]) for task in tasks)

    def measure(self, workload: tuple, milliseconds: int) -> dict:
        """Runs the load once."""
        before = self.cpu_ns()
        arguments = [self.port, *workload, milliseconds]
        ran = subprocess.run(
            [FOLDER / "load", *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
            preexec_fn=lambda: os.sched_setaffinity(0, {max(os.sched_getaffinity(0))}),
        )
        messages, duration_ns = map(int, ran.stdout.split())
        return {
            "per_s": messages * 1e9 / duration_ns,
            "cpu_us": (self.cpu_ns() - before) / 1e3 / max(messages, 1),
        }

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


def compare(programs: dict[str, Path], workload: tuple, options) -> dict:
    """Measures all servers in turn; every round of each."""
    running = {
        name: Server(program, workload[0])
        for name, program in programs.items()
        if workload[0] == "echo" or name not in ECHO_ONLY
    }
    rounds = {name: [] for name in running}
    try:
        for server in running.values():
            server.measure(workload, WARM_UP_MS)
        for _ in range(options.rounds):
            for name, server in running.items():
                rounds[name].append(server.measure(workload, options.milliseconds))
    finally:
        for server in running.values():
            server.stop()
    return rounds


def show(title: str, rounds: dict) -> None:
    """Prints a table: medians, and CPU time against ours."""

    def median(name: str, key: str) -> float:
        return statistics.median(one[key] for one in rounds[name])

    base = median("flare", "cpu_us") if "flare" in rounds else None
    print(f"\n| {title} | messages/s | CPU us/message | min - max | against flare |")
    print("| --- | --- | --- | --- | --- |")
    for name, all_rounds in rounds.items():
        cpu = [one["cpu_us"] for one in all_rounds]
        ratio = f"{median(name, 'cpu_us') / base:.2f}" if base else ""
        print(
            f"| {name} | {median(name, 'per_s'):,.0f} | {median(name, 'cpu_us'):.2f}"
            f" | {min(cpu):.2f} - {max(cpu):.2f} | {ratio} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="of " + ", ".join(PROGRAMS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--milliseconds", type=int, default=1500, help="of a round")
    parser.add_argument("--workload", default="", help="only those with this in their name")
    parser.add_argument("--built", action="store_true", help="use what was built before")
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in PROGRAMS]:
        parser.error(f"there is no {', '.join(unknown)}; there are {', '.join(PROGRAMS)}")
    if not any(options.workload in title for title in WORKLOADS):
        parser.error(f"no workload has {options.workload!r} in its name; there are {'; '.join(WORKLOADS)}")
    if options.rounds < 1 or options.milliseconds < 1:
        parser.error("--rounds and --milliseconds are 1 or more")
    limit = min(DESCRIPTOR_COUNT, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    names = options.names or list(PROGRAMS)
    if not options.built:
        build(names)
    # A server is left out if its compiler is not here.
    programs = {name: PROGRAMS[name] for name in names if PROGRAMS[name].exists()}
    if not programs or not (FOLDER / "load").exists():
        parser.error("nothing is built that could be measured; run it without --built")
    began = time.strftime("%Y%m%d-%H%M%S")
    found = {}
    for title, workload in WORKLOADS.items():
        if options.workload in title:
            found[title] = compare(programs, workload, options)
            show(title, found[title])
    result = {
        "commit": subprocess.check_output(
            ["git", "describe", "--always", "--dirty"], cwd=ROOT, text=True
        ).strip(),
        "date": began,
        "kernel": os.uname().release,
        "cpus": os.cpu_count(),
        "rounds": options.rounds,
        "milliseconds": options.milliseconds,
        "found": found,
    }
    path = ROOT / "bench" / "results" / f"ws-{began}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(result, indent=1))
    print("\nall rounds:", path.relative_to(ROOT))


if __name__ == "__main__":
    main()

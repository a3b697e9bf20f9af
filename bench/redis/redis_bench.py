"""Measures Redis clients beside each other: CPU and instructions a command.

Each client is a program that is told the server's Unix socket, how many commands
to send, how many at once, and which. It runs twice, with few commands and with
many; the difference is what commands cost, without the start of the program.
CPU is that of the client's process, user and system; the server's is not
counted. Instructions are those of user space, by callgrind: they do not depend
on what else the machine does.

Run: .venv/bin/python bench/redis/redis_bench.py [--instructions] [--rounds 5]
[--count 100000] [--python PYTHON] [NAME...]. It needs Debian's redis-server and
libhiredis-dev, for the others Go, Rust, and a Python with redis and hiredis.
"""

import argparse
import json
import re
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from toolchain import BUILD, MOJO, environment  # noqa: E402

FOLDER = BUILD / "bench" / "redis"
START_TIMEOUT_S = 10
RUN_TIMEOUT_S = 600
FEW = 1_600
MESSAGE = b"message-of-31-octets-0123456789"
# What it is called: the command, and how many are sent at once.
WORKLOADS = {
    "GET": ("GET", 1),
    "SET": ("SET", 1),
    "GET, 16 at once": ("GET", 16),
    "SET, 16 at once": ("SET", 16),
    "message received": ("SUB", 1),
}
COMPILED = ("flare", "hiredis", "redis-rs")


def run(command: list, **options) -> None:
    print("+", *command, flush=True)
    subprocess.run([str(part) for part in command], check=True, **options)


def build(names: list[str], python: str) -> dict[str, list[str]]:
    """Builds the clients whose compilers are here; gives their commands."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    programs: dict[str, list[str]] = {}
    steps = {
        # Valgrind knows no AVX-512.
        "flare": [
            *(MOJO, "build", "--target-cpu", "x86-64-v3", "-I", ROOT),
            HERE / "flare_redis.mojo",
        ],
        "hiredis": ["cc", "-O2", HERE / "hiredis.c", "-lhiredis"],
        "go-redis": ["go", "build"],
        "redis-rs": ["cargo", "build", "--release", "--target-dir", FOLDER / "rust"],
    }
    for name in names:
        binary = FOLDER / name
        if name == "redis-py":
            programs[name] = [python, str(HERE / "redis_py.py")]
        elif name == "redis-rs":
            run(steps[name], cwd=HERE / "rust_redis")
            programs[name] = [str(FOLDER / "rust" / "release" / "rust_redis")]
        else:
            folder = HERE / "go_redis" if name == "go-redis" else HERE
            run([*steps[name], "-o", binary], cwd=folder, env=environment())
            programs[name] = [str(binary)]
    return programs


@contextmanager
def server() -> Iterator[Path]:
    """Runs a server on a Unix socket."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "redis.sock"
        options = ["--port", "0", "--save", "", "--dir", folder]
        process = subprocess.Popen(
            ["redis-server", *options, "--unixsocket", str(path)],
            stdout=subprocess.DEVNULL,
        )
        end = time.monotonic() + START_TIMEOUT_S
        try:
            while not path.exists():
                if process.poll() is not None or time.monotonic() > end:
                    sys.exit("redis_bench: redis-server does not start")
                time.sleep(0.01)
            yield path
        finally:
            process.kill()
            process.wait()


def publish(path: Path, count: int) -> None:
    """Sends messages once somebody listens."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(RUN_TIMEOUT_S)
        connection.connect(str(path))
        end = time.monotonic() + START_TIMEOUT_S
        heard = b""
        while b":1\r\n" not in heard:
            connection.sendall(b"PUBSUB NUMSUB bench:channel\r\n")
            heard = connection.recv(4096)
            if time.monotonic() > end:
                return
        line = b"*3\r\n$7\r\nPUBLISH\r\n$13\r\nbench:channel\r\n$31\r\n%s\r\n" % MESSAGE
        left = count
        while left:
            batch = min(left, 100)
            connection.sendall(line * batch)
            answered = 0
            while answered < batch:
                answered += connection.recv(65536).count(b"\r\n")
            left -= batch


def cpu_of(command: list[str], path: Path, what: str) -> float:
    """Runs a client; gives its CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    sender = None
    if what == "SUB":
        count = int(command[-3])
        sender = threading.Thread(target=publish, args=(path, count), daemon=True)
        sender.start()
    try:
        out, error = process.communicate(timeout=RUN_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        sys.exit(f"redis_bench: {command[0]} does not end")
    if sender:
        sender.join(START_TIMEOUT_S)
    if process.returncode != 0 or not out.strip().isdigit():
        sys.exit(f"redis_bench: {command} failed: {error[-500:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def arguments_of(path: Path, count: int, workload: str) -> list[str]:
    what, size = WORKLOADS[workload]
    return [str(path), str(count), str(size), what]


def cpu_us(program: list[str], path: Path, workload: str, count: int) -> float:
    """Measures one round: microseconds of CPU a command."""
    what = WORKLOADS[workload][0]
    few = cpu_of([*program, *arguments_of(path, FEW, workload)], path, what)
    many = cpu_of([*program, *arguments_of(path, FEW + count, workload)], path, what)
    return (many - few) * 1e6 / count


def instructions(program: list[str], path: Path, workload: str) -> float:
    """Counts instructions of user space a command."""
    counts = []
    for count in (FEW, 11 * FEW):
        log = FOLDER / "callgrind.out"
        command = [
            *("valgrind", "--tool=callgrind", f"--callgrind-out-file={log}"),
            *program,
            *arguments_of(path, count, workload),
        ]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=RUN_TIMEOUT_S
        )
        found = re.search(r"Collected : (\d+)", done.stderr)
        if done.returncode != 0 or not found:
            sys.exit(f"redis_bench: {command} failed: {done.stderr[-500:]}")
        counts.append(int(found[1]))
    return (counts[1] - counts[0]) / (10 * FEW)


def measure_all(programs: dict[str, list[str]], options: argparse.Namespace) -> dict:
    """Measures all clients by turns; gives the results by workload."""
    results: dict[str, dict[str, list[float]]] = {name: {} for name in WORKLOADS}
    with server() as path:
        for program in programs.values():
            arguments = arguments_of(path, 16, "SET")
            subprocess.run([*program, *arguments], check=True, stdout=subprocess.DEVNULL)
        for workload in WORKLOADS:
            if options.instructions and WORKLOADS[workload][0] == "SUB":
                continue
            for _ in range(1 if options.instructions else options.rounds):
                for name, program in programs.items():
                    if not options.instructions:
                        figure = cpu_us(program, path, workload, options.count)
                    elif name in COMPILED:
                        figure = instructions(program, path, workload)
                    else:
                        continue
                    results[workload].setdefault(name, []).append(figure)
    return results


def show(results: dict[str, dict[str, list[float]]], unit: str) -> None:
    """Prints the medians as a table."""
    names = list(dict.fromkeys(name for row in results.values() for name in row))
    print(f"| {unit} |", " | ".join(names), "|")
    print("| --- |", " | ".join("---" for _ in names), "|")
    for workload, row in results.items():
        if row:
            cells = [f"{statistics.median(row[name]):.2f}" for name in names]
            print(f"| {workload} |", " | ".join(cells), "|")


def missing(name: str, python: str) -> str:
    """Says what a client lacks here, if anything."""
    needs = {"go-redis": "go", "redis-rs": "cargo", "hiredis": "cc", "redis-py": python}
    if name in needs and not shutil.which(needs[name]):
        return f"{needs[name]} is not here"
    if name == "redis-py":
        found = subprocess.run([python, "-c", "import redis, hiredis"], capture_output=True)
        if found.returncode:
            return f"{python} has not the packages redis and hiredis"
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="clients; all that are here")
    parser.add_argument("--instructions", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--python", default=sys.executable)
    options = parser.parse_args()
    if not shutil.which("redis-server"):
        sys.exit("redis_bench: redis-server is not here: apt-get install redis-server")
    names = []
    for name in options.names or ["flare", "hiredis", "redis-rs", "go-redis", "redis-py"]:
        if why := missing(name, options.python):
            print(f"without {name}: {why}")
        else:
            names.append(name)
    results = measure_all(build(names, options.python), options)
    show(results, "instructions" if options.instructions else "CPU us a command")
    (FOLDER / "results.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()

"""Measures what a file costs: flare and nginx, each with open files kept and not.

Usage: .venv/bin/python bench/files/run.py [--rounds N] [--seconds N] [--size BYTES]

Prints a table and leaves build/bench/files/SIZE.json. Takes under two minutes with
the defaults, of which the build is half a minute. Needs nginx and wrk.
"""

import argparse
import http.client
import json
import os
import platform
import random
import re
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path += [str(ROOT / "bench"), str(ROOT / "tools")]

from ports import claim_port  # noqa: E402
from suite.process import busy_s, cpu_s  # noqa: E402
from toolchain import BUILD, MOJO  # noqa: E402

FOLDER = BUILD / "bench" / "files"
CONNECTIONS = 64
START_S = 10
NAME = "file.bin"
# An answer of both has these, and the same content.
FIELDS = (
    "content-length",
    "content-type",
    "last-modified",
    "etag",
    "accept-ranges",
    "date",
)


def flare_command(port: int, cache_ms: int) -> list[str]:
    return [
        str(FOLDER / "server"),
        str(port),
        str(FOLDER / "root"),
        str(cache_ms),
    ]


def nginx_command(port: int, cache: str) -> list[str]:
    scratch = FOLDER / f"nginx-{port}"
    scratch.mkdir(parents=True, exist_ok=True)
    # Started by root, nginx would change to a user who may not read the folder.
    user = "user root;" if os.geteuid() == 0 else ""
    text = (HERE / "nginx.conf").read_text()
    for name, value in {
        "USER": user, "CACHE": cache, "SCRATCH": scratch, "ROOT": FOLDER / "root", "PORT": port,
    }.items():  # fmt: skip
        text = text.replace(f"@{name}@", str(value))
    (scratch / "nginx.conf").write_text(text)
    return ["nginx", "-p", str(scratch), "-c", str(scratch / "nginx.conf")]


SERVERS = {
    "flare": lambda port: flare_command(port, 1000),
    "flare, cache_ms=0": lambda port: flare_command(port, 0),
    "nginx": lambda port: nginx_command(port, ""),
    "nginx, open_file_cache": lambda port: nginx_command(
        port, "open_file_cache max=100;"
    ),
}


def start(command: list[str], port: int, content: bytes) -> subprocess.Popen:
    """Starts a server on CPU 0, waits for it and checks its answer."""
    process = subprocess.Popen(
        ["taskset", "-c", "0", *command], stdout=subprocess.DEVNULL
    )
    end = time.monotonic() + START_S
    while True:
        try:
            connection = http.client.HTTPConnection(
                "127.0.0.1", port, timeout=5
            )
            connection.request("GET", f"/{NAME}")
            break
        except ConnectionRefusedError:
            if time.monotonic() > end or process.poll() is not None:
                sys.exit(f"{command[0]} does not listen on {port}")
            time.sleep(0.05)
    answer = connection.getresponse()
    missing = [name for name in FIELDS if answer.getheader(name) is None]
    if answer.status != 200 or answer.read() != content or missing:
        sys.exit(f"{command[0]} answers {answer.status}, and without {missing}")
    connection.close()
    return process


def measure(process: subprocess.Popen, port: int, seconds: int) -> dict:
    """Loads a server from CPU 1, and tells what it has used."""
    url = f"http://127.0.0.1:{port}/{NAME}"
    load = [
        "taskset",
        "-c",
        "1",
        "wrk",
        "-t1",
        f"-c{CONNECTIONS}",
        f"-d{seconds}s",
        url,
    ]
    began, busy, used = time.monotonic(), busy_s(), cpu_s(process.pid)
    children = sum(os.times()[2:4])
    text = subprocess.run(
        load, capture_output=True, text=True, check=True
    ).stdout
    used, lasted = cpu_s(process.pid) - used, time.monotonic() - began
    others = busy_s() - busy - used - (sum(os.times()[2:4]) - children)
    if "Non-2xx" in text or "Socket errors" in text:
        sys.exit(f"wrk saw failures:\n{text}")
    count = int(re.search(r"(\d+) requests in", text)[1])
    return {
        "cpu_us": used / count * 1e6,
        "requests": count,
        "requests_per_s": count / lasted,
        "other_cpus": max(others, 0) / lasted,
    }


def git(*words: str) -> str:
    return subprocess.run(
        ["git", "-C", ROOT, *words], capture_output=True, text=True
    ).stdout.strip()


def said_by(*command: str) -> str:
    result = subprocess.run(command, capture_output=True, text=True)
    return (result.stdout + result.stderr).strip().splitlines()[0]


def environment(arguments: argparse.Namespace) -> dict:
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return {
        "commit": git("rev-parse", "HEAD"),
        "is_clean": git("status", "--porcelain") == "",
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "cpu": cpu[1] if cpu else platform.machine(),
        "cpus": os.cpu_count(),
        "kernel": platform.release(),
        "mojo": said_by(str(MOJO), "--version"),
        "nginx": said_by("nginx", "-v"),
        "wrk": said_by("wrk", "-v"),
        "load": f"wrk -t1 -c{CONNECTIONS} -d{arguments.seconds}s",
        "file_len": arguments.size,
    }


def table(results: dict[str, list[dict]]) -> str:
    lines = [
        "| Server | CPU us a request | from | to | Requests/s |",
        "|---|---:|---:|---:|---:|",
    ]
    for name, rounds in results.items():
        costs = [item["cpu_us"] for item in rounds]
        rate = statistics.median(item["requests_per_s"] for item in rounds)
        cells = (statistics.median(costs), min(costs), max(costs))
        lines.append(
            f"| {name} | "
            + " | ".join(f"{c:.2f}" for c in cells)
            + f" | {rate:,.0f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--size", type=int, default=65_536)
    arguments = parser.parse_args()
    if min(arguments.rounds, arguments.seconds, arguments.size) < 1:
        parser.error("--rounds, --seconds and --size are 1 or more")
    (FOLDER / "root").mkdir(parents=True, exist_ok=True)
    content = random.Random(1).randbytes(arguments.size)
    (FOLDER / "root" / NAME).write_bytes(content)
    build = [
        MOJO,
        "build",
        "-I",
        ROOT,
        HERE / "file_bench.mojo",
        "-o",
        FOLDER / "server",
    ]
    subprocess.run(build, check=True)
    running, results = {}, {name: [] for name in SERVERS}
    try:
        for name, command in SERVERS.items():
            port = claim_port()
            running[name] = (start(command(port), port, content), port)
        for index in range(arguments.rounds + 1):
            for name, (process, port) in running.items():
                # The first round warms up.
                result = measure(
                    process, port, arguments.seconds if index else 1
                )
                if index:
                    results[name].append(result)
    finally:
        for process, _ in running.values():
            process.send_signal(signal.SIGTERM)
            process.wait()
    disturbed = max(
        item["other_cpus"] for rounds in results.values() for item in rounds
    )
    record = {"environment": environment(arguments), "servers": results}
    (FOLDER / f"{arguments.size}.json").write_text(
        json.dumps(record, indent=1) + "\n"
    )
    print(table(results))
    print(f"\nother programs took up to {disturbed:.2f} CPUs of a round")


if __name__ == "__main__":
    main()

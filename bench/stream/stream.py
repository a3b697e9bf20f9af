"""What it costs a client to read one long response: CPU time and memory.

    .venv/bin/python bench/stream/stream.py [MIB [ROUNDS]]

A raw C server on one CPU sends the content; the clients take turns on the
other. CPU time is a client's whole life, its start included; so is its memory.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tools"))

from arguments import positive  # noqa: E402
from toolchain import BUILD, MOJO, environment  # noqa: E402

OUT = BUILD / "stream"
TIMEOUT_S = 600
POLL_S = 0.01


def build() -> dict[str, list[str]]:
    """Builds what can be built here; gives how each client is called."""
    OUT.mkdir(parents=True, exist_ok=True)
    for name in ("server", "socket"):
        words = ["cc", "-O2", "-D_GNU_SOURCE", "-o", OUT / name, HERE / f"{name}.c"]
        subprocess.run(words, check=True)
    words = [MOJO, "build", "-I", ROOT, HERE / "reader.mojo", "-o", OUT / "reader"]
    subprocess.run(words, check=True, env=environment())
    clients = {
        "raw C socket": [str(OUT / "socket"), "{port}"],
        "flare, open and read": [str(OUT / "reader"), "{port}"],
    }
    clients |= go()
    curl = ["curl", "-s", "-o", "/dev/null", "-w", "%{{size_download}}"]
    return clients | {"curl": [*curl, "http://127.0.0.1:{port}/"]}


def go() -> dict[str, list[str]]:
    try:
        words = ["go", "build", "-o", str(OUT / "go"), str(HERE / "main.go")]
        subprocess.run(words, check=True, cwd=OUT)
    except (OSError, subprocess.CalledProcessError):
        return {}
    return {"Go net/http": [str(OUT / "go"), "{port}"]}


def pinned(cpu: int, words: list[str]) -> list[str]:
    return ["taskset", "-c", str(cpu), *words]


def peak_mib(pid: int) -> float:
    """Reads the highest memory of a process so far; 0 if it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    lines = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(lines[0].split()[1]) / 1024 if lines else 0


def run(words: list[str], length: int) -> tuple[float, float]:
    """Runs a client once; gives its CPU seconds and its memory in MiB."""
    env = {**os.environ, "GOMAXPROCS": "1", "no_proxy": "*"}
    process = subprocess.Popen(words, stdout=subprocess.PIPE, env=env, text=True)
    memory, end = 0.0, time.monotonic() + TIMEOUT_S
    pid = 0
    while not pid:
        # The system's own figure includes what the process was before.
        memory = peak_mib(process.pid) or memory
        if time.monotonic() > end:
            process.kill()
        time.sleep(POLL_S)
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
    said = process.stdout.read().strip()
    # The raw client counts the head, too.
    if status or not length <= int(said) <= length + 200:
        raise SystemExit(f"{words}: {status}, {said} of {length} bytes")
    return usage.ru_utime + usage.ru_stime, memory


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mib", nargs="?", type=positive, default=1024)
    parser.add_argument("rounds", nargs="?", type=positive, default=5)
    given = parser.parse_args()
    mib, rounds = given.mib, given.rounds
    length = mib << 20
    clients = build()
    server = subprocess.Popen(
        pinned(0, [str(OUT / "server"), str(length)]),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        port = server.stdout.readline().strip()
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in clients}
        for _ in range(rounds):
            for name, words in clients.items():
                words = pinned(1, [word.format(port=port) for word in words])
                found[name].append(run(words, length))
    finally:
        server.kill()
        server.wait()
    base = statistics.median(cpu for cpu, _ in found["raw C socket"])
    print(f"| client | CPU s for {mib} MiB | against raw C | memory, MiB |")
    print("| --- | --- | --- | --- |")
    for name, figures in found.items():
        cpu = statistics.median(cpu for cpu, _ in figures)
        memory = max(memory for _, memory in figures)
        print(f"| {name} | {cpu:.3f} | {cpu / base:.2f} | {memory:.1f} |")


if __name__ == "__main__":
    main()

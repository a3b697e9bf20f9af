"""Compares the hello server with a raw C epoll server and nginx in one run.

Rounds are interleaved over the servers, so that what disturbs the machine
disturbs all of them; CPU time comes from the server's whole process tree. Every
run leaves a folder under bench/results with its origin and every round.

Run: make bench, or .venv/bin/python bench/bench.py --quick
"""

import argparse
import json
import os
import platform
import re
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from toolchain import BUILD, MOJO, build, environment  # noqa: E402

BENCH = ROOT / "bench"
LARGE = b"x" * 65536
CONNECTIONS = 64
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Workload:
    """What wrk asks for, and what the answer must be."""

    name: str
    target: str
    body: bytes
    script: str | None = None
    data: bytes | None = None
    budget: float | None = None


WORKLOADS = [
    Workload("plaintext", "/", b"Hello, World!", budget=1.05),
    Workload("pipelined x16", "/", b"Hello, World!", "pipeline.lua", budget=1.25),
    Workload("64 KiB response", "/64k", LARGE, budget=1.0),
    Workload("16 KiB upload", "/upload", b"OK", "upload.lua", b"u" * 16384, 1.2),
]
MICRO_BUDGETS = {
    "parse head, 50 bytes": 30,
    "parse head, 564 bytes": 220,
    "parse head, 1421 bytes": 350,
    "whole path, wrk request": 150,
    "whole path, browser request": 450,
}
BUILD_BUDGET_S = 15.0
IDLE_BUDGET_LEN = 1023
IDLE_COUNT = 4000
DISTURBED_CPUS = 0.1  # CPUs used by other programs; above it a round is repeated
REPEATS_MAX = 3  # for each workload


@dataclass
class Server:
    """A program that answers the workloads."""

    name: str
    command: list[str]
    port: int
    skips: tuple[str, ...] = ()
    process: subprocess.Popen | None = None
    rounds: dict = field(default_factory=dict)

    def start(self, cpu: int | None) -> None:
        pin = ["taskset", "-c", str(cpu)] if cpu is not None else []
        self.process = subprocess.Popen(
            [*pin, *self.command], env=environment(),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        end = time.monotonic() + 10
        while time.monotonic() < end:
            try:
                urllib.request.urlopen(self.url("/"), timeout=1).read()
                return
            except OSError:
                time.sleep(0.05)
        raise SystemExit(f"bench: {self.name} does not answer on port {self.port}")

    def url(self, target: str) -> str:
        return f"http://127.0.0.1:{self.port}{target}"

    def stop(self) -> None:
        if self.process:
            self.process.terminate()
            self.process.wait(10)

    def cpu_s(self) -> float:
        """Adds up the CPU time of the process and its children."""
        total = 0.0
        for pid in process_tree(self.process.pid):
            try:
                total += int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9
                for thread in Path(f"/proc/{pid}/task").iterdir():
                    if thread.name != str(pid):
                        total += int((thread / "schedstat").read_text().split()[0]) / 1e9
            except (OSError, IndexError):
                continue
        return total


def process_tree(root: int) -> list[int]:
    """Lists a process and all below it."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(fields[1])
    tree, added = [root], True
    while added:
        more = [pid for pid, parent in parents.items() if parent in tree and pid not in tree]
        tree += more
        added = bool(more)
    return tree


def need(program: str, package: str) -> None:
    if shutil.which(program) is None:
        raise SystemExit(f"bench: {program} is missing: apt-get install {package}")


def build_servers(folder: Path) -> tuple[list[Server], float]:
    """Builds the servers; gives them and the CPU time of building ours."""
    binary = BUILD / "bench" / "c_epoll"
    binary.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        ["cc", "-O2", "-o", str(binary), str(BENCH / "peers/c_epoll/server.c")], check=True
    )
    hello = BUILD / "bench" / "hello"
    before = os.times()
    result = build(BENCH / "servers/hello.mojo", hello)
    after = os.times()
    if result.returncode:
        raise SystemExit(result.stdout)
    build_s = (
        after.children_user - before.children_user
        + after.children_system - before.children_system
    )
    servers = [
        Server("C epoll, no parsing", [str(binary), "9301"], 9301),
        Server("flare", [str(hello), "9302"], 9302),
    ]
    if shutil.which("nginx"):
        configuration = folder / "nginx.conf"
        (folder / "html").mkdir()
        (folder / "html" / "64k").write_bytes(LARGE)
        (folder / "html").chmod(0o755)
        configuration.write_text(nginx_configuration(folder))
        command = ["nginx", "-p", str(folder), "-c", str(configuration), "-g", "daemon off;"]
        servers.append(Server("nginx", command, 9303))
    else:
        print("bench: nginx is missing and left out: apt-get install nginx-light")
    return servers, build_s


def nginx_configuration(folder: Path) -> str:
    user = "user root;" if os.geteuid() == 0 else ""
    return f"""{user}
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 4096; }}
http {{
  access_log off; keepalive_requests 1000000000; keepalive_timeout 75s;
  sendfile on; tcp_nopush on; tcp_nodelay on; default_type "text/plain; charset=utf-8";
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi; client_body_buffer_size 64k;
  open_file_cache max=100;
  server {{
    listen 127.0.0.1:9303;
    location = / {{ return 200 "Hello, World!"; }}
    location = /upload {{ client_max_body_size 1m; return 200 "OK"; }}
    location = /64k {{ root {folder}/html; }}
  }}
}}
"""


def check(server: Server, workload: Workload) -> str | None:
    """Compares one answer; gives the reason why it is wrong, or None."""
    request = urllib.request.Request(server.url(workload.target), data=workload.data)
    try:
        with urllib.request.urlopen(request, timeout=5) as response:
            status, body = response.status, response.read()
    except OSError as error:
        return str(error)
    if status != 200 or body != workload.body:
        return f"status {status} and {len(body)} bytes, wanted 200 and {len(workload.body)}"
    return None


def wrk_command(server: Server, workload: Workload, seconds: float, cpu: int | None) -> list[str]:
    pin = ["taskset", "-c", str(cpu)] if cpu is not None else []
    script = ["-s", str(BENCH / "load" / workload.script)] if workload.script else []
    return [
        *pin, "wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--latency",
        *script, server.url(workload.target),
    ]


def parse_wrk(text: str) -> dict:
    """Reads what wrk prints."""
    number = r"([\d.]+)"
    found = {
        "requests": int(re.search(r"(\d+) requests in", text)[1]),
        "rps": float(re.search(rf"Requests/sec:\s+{number}", text)[1]),
        "errors": {},
    }
    tail = re.search(rf"99%\s+{number}(us|ms|s)", text)
    if tail and float(tail[1]) > 0:  # wrk prints 0.00us for pipelined requests
        found["p99_ms"] = float(tail[1]) * {"us": 0.001, "ms": 1, "s": 1000}[tail[2]]
    sockets = re.search(r"connect (\d+), read (\d+), write (\d+), timeout (\d+)", text)
    if sockets:
        kinds = zip(("connect", "read", "write", "timeout"), map(int, sockets.groups()))
        found["errors"] = {kind: count for kind, count in kinds if count}
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    if bad:
        found["errors"]["status"] = int(bad[1])
    return found


def busy_s() -> float:
    """Reads the CPU time that the whole machine has spent.

    Interrupts belong in: the time they take is in a process's own counters too.
    """
    names = Path("/proc/stat").read_text().split()[1:8]
    user, nice, system, _idle, _wait, irq, softirq = map(int, names)
    return (user + nice + system + irq + softirq) / TICKS


def children_s() -> float:
    """Reads the CPU time of the children that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def one_round(server: Server, workload: Workload, seconds: float, cpu: int | None) -> dict:
    command = wrk_command(server, workload, seconds, cpu)
    load, began = os.getloadavg()[0], time.monotonic()
    busy, wrk, before = busy_s(), children_s(), server.cpu_s()
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    used = server.cpu_s() - before
    others = busy_s() - busy - (children_s() - wrk) - used
    found = parse_wrk(result.stdout)
    found["cpu_us"] = used * 1e6 / max(found["requests"], 1)
    found["load_before"] = load
    found["other_cpus"] = round(others / (time.monotonic() - began), 3)
    return found


def resident_len(pid: int) -> int:
    """Reads the private memory of a process, in bytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"RssAnon:\s+(\d+)", status)[1]) * 1024


def idle_connection_len(server: Server) -> float | None:
    """Measures the memory of a connection that was answered and is kept alive."""
    needed = IDLE_COUNT + 200
    for pid in (0, server.process.pid):
        _, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        if hard < needed:
            print(f"bench: no idle row: {needed} open files are not allowed")
            return None
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (needed, hard))
    base, clients = resident_len(server.process.pid), []
    try:
        for _ in range(IDLE_COUNT):
            client = socket.create_connection(("127.0.0.1", server.port), timeout=5)
            clients.append(client)
            client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            client.recv(4096)
        return (resident_len(server.process.pid) - base) / IDLE_COUNT
    finally:
        for client in clients:
            client.close()


def micro() -> dict[str, float]:
    """Builds and runs the microbenchmarks."""
    figures = {}
    for source in sorted((BENCH / "micro").glob("*.mojo")):
        binary = BUILD / "bench" / f"micro_{source.stem}"
        result = build(source, binary)
        if result.returncode:
            raise SystemExit(result.stdout)
        output = subprocess.run([str(binary)], capture_output=True, text=True, check=True)
        for line in output.stdout.splitlines():
            if line.startswith("{"):
                row = json.loads(line)
                figures[row["name"]] = row["ns"]
    return figures


def command_output(*command: str) -> str:
    try:
        result = subprocess.run(command, capture_output=True, text=True, env=environment())
    except OSError:
        return "not found"
    return (result.stdout + result.stderr).strip().splitlines()[0] if result.stdout or result.stderr else ""


def origin(arguments: argparse.Namespace) -> dict:
    """Collects what a figure needs to be believed (H11)."""
    model = re.search(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text())
    dirty = command_output("git", "-C", str(ROOT), "status", "--porcelain")
    return {
        "date": time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime()),
        "commit": command_output("git", "-C", str(ROOT), "rev-parse", "HEAD"),
        "tree": "dirty" if dirty else "clean",
        "cpu": model[1] if model else platform.machine(),
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "compiler": command_output(str(MOJO), "--version"),
        "flags": "mojo build (default -O3, host CPU); cc -O2",
        "cc": command_output("cc", "--version"),
        "wrk": command_output("wrk", "--version"),
        "nginx": command_output("nginx", "-v"),
        "connections": CONNECTIONS,
        "rounds": arguments.rounds,
        "seconds": arguments.seconds,
    }


def run_rounds(servers: list[Server], arguments: argparse.Namespace, cpus: tuple) -> None:
    for workload in WORKLOADS:
        taking_part = []
        for server in servers:
            reason = check(server, workload)
            if reason:
                print(f"bench: {server.name} gets no row for {workload.name}: {reason}")
            else:
                taking_part.append(server)
                one_round(server, workload, 1, cpus[0])  # warm-up
        repeats = REPEATS_MAX
        number = 0
        while number < arguments.rounds:
            rows = [one_round(server, workload, arguments.seconds, cpus[0]) for server in taking_part]
            others = max((row["other_cpus"] for row in rows), default=0)
            if others > DISTURBED_CPUS and repeats:
                repeats -= 1
                print(f"  {workload.name}: repeated, other programs took {others:.2f} CPUs")
                continue
            number += 1
            for server, row in zip(taking_part, rows):
                server.rounds.setdefault(workload.name, []).append(row)
                print(
                    f"  {workload.name}, round {number}, {server.name}:"
                    f" {row['cpu_us']:.3f} us CPU, {row['rps']:.0f} req/s", flush=True,
                )


def error_count(rows: list[dict]) -> int:
    return sum(sum(row["errors"].values()) for row in rows)


def errors_text(rows: list[dict]) -> str:
    """Lists the failures of some rounds by kind."""
    kinds: dict[str, int] = {}
    for row in rows:
        for kind, count in row["errors"].items():
            kinds[kind] = kinds.get(kind, 0) + count
    return ", ".join(f"{count} {kind}" for kind, count in kinds.items()) or "0"


def ratio(server: Server, base: Server, name: str) -> float | None:
    """Takes the median of the per-round ratios of CPU time a request."""
    if name not in server.rounds or name not in base.rounds:
        return None
    pairs = zip(server.rounds[name], base.rounds[name])
    return statistics.median(mine["cpu_us"] / limit["cpu_us"] for mine, limit in pairs)


def peer_tables(servers: list[Server]) -> list[str]:
    lines = []
    for workload in WORKLOADS:
        disturbed: list[float] = []
        lines += [
            f"### {workload.name}", "",
            "| server | CPU us a request (spread) | against C | req/s | p99 ms | errors |",
            "| --- | --- | --- | --- | --- | --- |",
        ]
        for server in servers:
            rows = server.rounds.get(workload.name)
            if not rows:
                continue
            disturbed += [row["other_cpus"] for row in rows]
            cpu = sorted(row["cpu_us"] for row in rows)
            tails = [row["p99_ms"] for row in rows if "p99_ms" in row]
            tail = f"{statistics.median(tails):.2f}" if tails else "-"
            lines.append(
                f"| {server.name} | {statistics.median(cpu):.3f} ({cpu[0]:.3f} to {cpu[-1]:.3f})"
                f" | {ratio(server, servers[0], workload.name):.3f}"
                f" | {statistics.median(row['rps'] for row in rows):.0f}"
                f" | {tail} | {errors_text(rows)} |"
            )
        if disturbed:
            lines += ["", f"Other programs took at most {max(disturbed):.2f} CPUs in a counted round."]
        lines.append("")
    return lines


def budget_table(
    servers: list[Server], figures: dict, build_s: float, idle_len: float | None
) -> list[str]:
    lines = ["### Budgets", "", "| what | budget | measured | met or not |", "| --- | --- | --- | --- |"]

    def row(what: str, budget: float, measured: float | None, unit: str) -> None:
        if measured is not None:
            verdict = "met" if measured <= budget else "**not met**"
            lines.append(f"| {what} | at most {budget}{unit} | {measured:.3g}{unit} | {verdict} |")

    for workload in WORKLOADS:
        row(
            f"{workload.name}, CPU a request against raw C epoll", workload.budget,
            ratio(servers[1], servers[0], workload.name), "",
        )
    for name, budget in MICRO_BUDGETS.items():
        row(name, budget, figures.get(name), " ns")
    row("idle connection, user-space memory", IDLE_BUDGET_LEN, idle_len, " bytes")
    row("build of the hello server, CPU (warm if built before)", BUILD_BUDGET_S, build_s, " s")
    return lines + [""]


def summary(
    about: dict, servers: list[Server], figures: dict, build_s: float, idle_len: float | None
) -> str:
    lines = [f"{key}: {value}  " for key, value in about.items()] + [""]
    lines += budget_table(servers, figures, build_s, idle_len) + peer_tables(servers)
    lines += ["### Microbenchmarks", "", "| what | ns |", "| --- | --- |"]
    lines += [f"| {name} | {ns:.1f} |" for name, ns in figures.items()]
    return "\n".join(lines) + "\n"


def publish(folder: Path) -> None:
    """Writes the documentation's tables from a result folder."""
    record = json.loads((folder / "results.json").read_text())
    rounds = [row for names in record["rounds"].values() for rows in names.values() for row in rows]
    if record["origin"]["tree"] == "dirty" or error_count(rounds):
        raise SystemExit("bench: a dirty tree or a failed response is not published")
    page = (
        "# Benchmarks\n\nWritten by `bench/bench.py --report FOLDER` from a result folder of"
        " `make bench`; nothing is typed by hand.\n\nThe build row says nothing of a cold build"
        " when the compiler has seen the program before. The microbenchmarks are not guarded"
        " against other programs as the rounds are.\n\n"
    )
    (ROOT / "docs" / "benchmarks.md").write_text(page + (folder / "summary.md").read_text())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="counted rounds (default 5)")
    parser.add_argument("--seconds", type=int, default=3, help="length of a round (default 3)")
    parser.add_argument("--quick", action="store_true", help="two rounds of one second")
    parser.add_argument("--report", type=Path, metavar="FOLDER",
                        help="only write docs/benchmarks.md from a result folder")
    arguments = parser.parse_args()
    if arguments.report:
        return publish(arguments.report)
    if arguments.quick:
        arguments.rounds, arguments.seconds = 2, 1
    need("wrk", "wrk")
    need("taskset", "util-linux")
    cpus = (0, 1) if (os.cpu_count() or 1) >= 2 else (None, None)
    if cpus[0] is None:
        print("bench: one CPU: load and server share it")
    about = origin(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        print("bench: building ...", flush=True)
        servers, build_s = build_servers(folder)
        figures = micro()
        try:
            for server in servers:
                server.start(cpus[1])
            idle_len = idle_connection_len(servers[1])
            run_rounds(servers, arguments, cpus)
        finally:
            for server in servers:
                server.stop()
    text = summary(about, servers, figures, build_s, idle_len)
    results = BENCH / "results" / time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    results.mkdir(parents=True)
    rounds = {server.name: server.rounds for server in servers}
    commands = [
        " ".join(wrk_command(server, workload, arguments.seconds, cpus[0]))
        for workload in WORKLOADS for server in servers
    ]
    record = {"origin": about, "commands": commands, "rounds": rounds,
              "micro_ns": figures, "build_cpu_s": build_s, "idle_connection_len": idle_len}
    (results / "results.json").write_text(json.dumps(record, indent=1))
    (results / "summary.md").write_text(text)
    print("\n" + text + f"\nresults: {results.relative_to(ROOT)}")


if __name__ == "__main__":
    main()

"""Compares clients over the raw C server: metadata, rounds, tables.

A client is started once and asked anew for each round, so its start costs it
nothing. It reads a number of seconds from a line, and answers with one of JSON.
"""

import json
import os
import select
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from suite import metadata, workload
from suite.budgets import client_budget_table
from suite.console import say
from suite.figures import errors_text, ratio, spread
from suite.layout import cpus_here, layout, pinned
from suite.load import Load
from suite.metadata import Program
from suite.process import busy_s, cpu_s, memory_len
from suite.programs import BENCH, program_environment
from suite.record import origin
from suite.rounds import DISTURBED_CPUS, REPEATS_MAX, WARM_UP_S, Plan
from suite.server import Failed, Server, build, filled
from suite.tables import cells, heading, stable
from suite.workload import Workload

OVERTIME_S = 60
STOP_S = 10
SCRIPTS = ("plain.lua", "upload.lua")  # clients neither pipeline nor send more fields
DEFAULT = ["plaintext", "64 KiB response", "16 KiB upload"]
LIMIT = "libcurl"  # what the others are compared with
COLUMNS = (
    "client",
    "CPU us a request (spread)",
    f"against {LIMIT}",
    "req/s",
    "errors",
    "MiB",
    "deviation",
)


@dataclass(frozen=True)
class ClientRow:
    """One way to run a client: so many requests at once."""

    program: Program
    name: str
    parallel: int
    run: list[str]
    env: dict[str, str] = field(default_factory=dict)


def load_rows(bench: Path) -> list[ClientRow]:
    """Reads the metadata of all clients."""
    rows = []
    for path in sorted((bench / "clients").glob("*/client.toml")):
        here, key = path.parent, f"client_{path.parent.name}"
        rows += metadata.read_entries(path.read_text(), key, here, bench.parent, ClientRow)
    return rows


@dataclass
class Client:
    """A client that runs, told of one workload."""

    row: ClientRow
    workload: Workload
    cpus: list[int]
    process: subprocess.Popen | None = None

    def start(self, port: int) -> None:
        words = filled(
            self.row.program,
            self.row.run,
            parallel=self.row.parallel,
            url=f"http://127.0.0.1:{port}{self.workload.target}",
            data_len=len(self.workload.data or b""),
        )
        # No proxy of this machine comes between.
        env = {**program_environment(), **self.row.env, "no_proxy": "*", "NO_PROXY": "*"}
        self.process = subprocess.Popen(
            [*pinned(self.cpus), *words],
            env=env,
            text=True,
            bufsize=1,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )

    def ask(self, seconds: int) -> dict:
        """Lets it run for a round. Raises Failed unless all its requests succeed."""
        try:
            self.process.stdin.write(f"{seconds}\n")
            ready, _, _ = select.select([self.process.stdout], [], [], seconds + OVERTIME_S)
            line = self.process.stdout.readline() if ready else ""
            found = json.loads(line)
        except (OSError, ValueError):
            raise Failed(f"it ended with {self.process.poll()} and no figures") from None
        length = len(self.workload.body) * found["requests"]
        if not found["requests"] or found["failures"] or found["bytes"] != length:
            raise Failed(f"not all its requests succeeded: {line.strip()}")
        return found

    def stop(self) -> None:
        if self.process is None:
            return
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass  # it has ended before
        try:
            self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def one_round(client: Client, server: Server, seconds: int) -> dict:
    """Measures one round; the CPU time is the client's alone."""
    pid, served_by = client.process.pid, server.process.pid
    load_before, began = os.getloadavg()[0], time.monotonic()
    busy, before, served = busy_s(), cpu_s(pid), cpu_s(served_by)
    found = client.ask(seconds)
    used, own = cpu_s(pid) - before, cpu_s(served_by) - served
    others = busy_s() - busy - used - own
    return {
        "requests": found["requests"],
        "rps": found["requests"] / (found["duration_us"] / 1e6),
        "errors": {"failed": found["failures"]} if found["failures"] else {},
        "cpu_us": used * 1e6 / found["requests"],
        "memory_len": memory_len(pid),
        "load_before": load_before,
        "other_cpus": round(others / (time.monotonic() - began), 3),
    }


def started(rows: list[ClientRow], item: Workload, server: Server, plan: Plan) -> list[Client]:
    """Starts and warms up the clients that work."""
    clients = []
    for row in rows:
        client = Client(row, item, plan.load.cpus)
        try:
            client.start(server.port)
            client.ask(WARM_UP_S)
            clients.append(client)
        except (Failed, OSError) as error:
            plan.leave_out(f"{row.name}, {item.name}", str(error))
            client.stop()
    return clients


def one_of_each(clients: list[Client], server: Server, plan: Plan) -> dict[str, dict]:
    """Measures a round of each client; leaves out those that fail."""
    found = {}
    for client in clients:
        try:
            found[client.row.name] = one_round(client, server, plan.load.seconds)
        except Failed as error:
            plan.leave_out(f"{client.row.name}, {client.workload.name}", str(error))
    return found


def run_rounds(rows: list[ClientRow], item: Workload, server: Server, plan: Plan) -> dict:
    """Runs a workload, interleaved over the clients; gives each one's rounds."""
    everybody = clients = started(rows, item, server, plan)
    rounds: dict[str, list[dict]] = {}
    repeats, number = REPEATS_MAX, 0
    try:
        while clients and number < plan.rounds:
            found = one_of_each(clients, server, plan)
            clients = [client for client in clients if client.row.name in found]
            others = max((figures["other_cpus"] for figures in found.values()), default=0)
            if others > DISTURBED_CPUS and repeats:
                repeats -= 1
                say(f"  {item.name}: repeated, other programs took {others:.2f} CPUs")
                continue
            number += 1
            for name, figures in found.items():
                rounds.setdefault(name, []).append(figures)
                say(
                    f"  {item.name}, round {number}, {name}:"
                    f" {figures['cpu_us']:.2f} us CPU, {figures['rps']:.0f} req/s"
                )
    finally:
        for client in everybody:
            client.stop()
    working = {client.row.name for client in clients}
    return {name: taken for name, taken in rounds.items() if name in working}


def table(title: str, rounds: dict[str, list[dict]], base: list[dict] | None) -> list[str]:
    """Writes the table of one workload."""
    lines = [f"### {title}", "", *heading(*COLUMNS)]
    for name, rows in rounds.items():
        cpu, against = spread(rows, "cpu_us"), ratio(rows, base)
        lines.append(
            cells(
                name,
                f"{cpu.median:.2f} ({cpu.low:.2f} to {cpu.high:.2f})",
                "-" if against is None else f"{against:.2f}",
                f"{spread(rows, 'rps').median:.0f}",
                errors_text(rows),
                f"{spread(rows, 'memory_len').median / 2**20:.1f}",
                stable(rows),
            )
        )
    others = max(row["other_cpus"] for rows in rounds.values() for row in rows)
    return [*lines, "", f"Other programs took at most {others:.2f} CPUs in a counted round.", ""]


def summary(record: dict) -> str:
    """Writes a run's page."""
    lines = [f"{key}: {value}  " for key, value in record["origin"].items()] + [""]
    for name, reason in record["left_out"].items():
        lines += [f"{name} has no row: {reason.splitlines()[0]}", ""]
    for item in record["workloads"]:
        for parallel in sorted({about["parallel"] for about in record["clients"].values()}):
            names = [
                name
                for name, about in record["clients"].items()
                if about["parallel"] == parallel and record["rounds"].get(name, {}).get(item)
            ]
            rounds = {name: record["rounds"][name][item] for name in names}
            base = next((rounds[n] for n in names if n.startswith(LIMIT)), None)
            if rounds:
                many = "one request" if parallel == 1 else f"{parallel} requests"
                lines += table(f"{item}, {many} at a time", rounds, base)
    return "\n".join([*lines, *client_budget_table(record)])


def built(rows: list[ClientRow], plan: Plan) -> list[ClientRow]:
    """Builds each program once; gives the rows of those that could be."""
    done: dict[str, str] = {}
    for row in rows:
        key = row.program.key
        if key not in done:
            try:
                build(row.program)
                done[key] = ""
            except Failed as error:
                done[key] = str(error)
        if done[key]:
            plan.leave_out(row.name, done[key])
    return [row for row in rows if not done[row.program.key]]


def measure(names: list[str], wanted: list[str], rounds: int, seconds: int) -> dict:
    """Measures clients, all if none is named; gives the record."""
    rows = metadata.select(load_rows(BENCH), names)
    items = [
        item
        for item in workload.load(BENCH, wanted or DEFAULT)
        if item.script in SCRIPTS and not item.tls and not item.connections
    ]
    if not items:
        raise ValueError("no workload that was named is for clients; see `list --workloads`")
    places = layout(cpus_here(), "single", 1, 1)
    plan = Plan(items, Load(1, 1, seconds, places.load), rounds)
    limit = next(row for row in metadata.load(BENCH) if not row.parses)
    about = origin([limit, *rows], plan, "client")
    for name in ("wrk", "load tool", "load from", "connections", "load threads"):
        about.pop(name)
    say("bench: building ...")
    build(limit.program)
    rows = built(rows, plan)
    server = Server(limit, places.server)
    try:
        server.start(items[0])
        found = {item.name: run_rounds(rows, item, server, plan) for item in items}
    finally:
        server.stop()
    return {
        "origin": about,
        "clients": {
            row.name: {"parallel": row.parallel, "run": " ".join(row.run), "env": row.env}
            for row in rows
        },
        "workloads": {item.name: {"response_len": len(item.body)} for item in items},
        "left_out": plan.left_out,
        "rounds": {
            row.name: {
                item: rounds[row.name] for item, rounds in found.items() if row.name in rounds
            }
            for row in rows
        },
    }

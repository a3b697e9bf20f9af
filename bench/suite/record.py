"""Collects what a figure needs to be believed (H11), and writes a result folder."""

import json
import os
import platform
import re
import time
from dataclasses import dataclass, field
from pathlib import Path

from suite.figures import error_count
from suite.metadata import Row
from suite.programs import BENCH, first_line
from suite.rounds import WARM_UP_S, Plan
from suite.server import Server, filled
from suite.wrk import wrk_command
from toolchain import BUILD, ROOT


@dataclass
class Own:
    """What is measured of this library alone; empty where it was not."""

    build_s: float | None = None
    idle_len: float | None = None
    micro_ns: dict[str, float] = field(default_factory=dict)


def versions(rows: list[Row]) -> dict[str, str]:
    """Asks the tools and the rows' programs for their versions."""
    found = {"wrk": first_line(["wrk", "--version"]), "Python": platform.python_version()}
    for row in rows:
        program = row.program
        for name, command in program.versions.items():
            if name not in found:
                found[name] = first_line(filled(program, command), program.here)
    return found


def origin(rows: list[Row], plan: Plan, kind: str) -> dict:
    """Describes machine, tree, tools and load."""
    model = re.search(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text())
    dirty = first_line(["git", "status", "--porcelain"])
    found = versions(rows)
    return {
        "date": time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime()),
        "commit": first_line(["git", "rev-parse", "HEAD"]),
        "tree": "dirty" if dirty else "clean",
        "cpu": model[1] if model else platform.machine(),
        "cores": os.cpu_count(),
        "kernel": platform.release(),
        "compiler": found.pop("Mojo", "not used"),
        "flags": "mojo build (default -O3, host CPU); cc -O2",
        **found,
        "run": kind,
        "connections": plan.load.connections,
        "load threads": plan.load.threads,
        "rounds": plan.rounds,
        "seconds": plan.load.seconds,
        "warm-up seconds": WARM_UP_S,
    }


def neutral(command: list[str]) -> str:
    """Writes a command with paths from the project's root."""
    return " ".join(command).replace(f"{BUILD}/", "build/").replace(f"{ROOT}/", "")


def as_record(about: dict, servers: list[Server], plan: Plan, own: Own) -> dict:
    """Gives everything that a run found."""
    return {
        "origin": about,
        "servers": {
            server.name: {
                "key": server.row.program.key,
                "framework": server.row.program.framework,
                "language": server.row.program.language,
                "category": server.row.program.category,
                "cores": server.row.cores,
                "parses": server.row.parses,
                "accepts": server.accepts,
                "build": neutral(filled(server.row.program, server.row.program.build)),
                "run": neutral(server.command),
                "env": server.row.env,
            }
            for server in servers
        },
        "workloads": {
            workload.name: {"budget": workload.budget, "response_len": len(workload.body)}
            for workload in plan.workloads
        },
        "commands": [
            " ".join(wrk_command(server.port, workload, plan.load))
            for workload in plan.workloads for server in servers
        ],
        "left_out": plan.left_out,
        "rounds": {server.name: server.rounds for server in servers},
        "micro_ns": own.micro_ns,
        "build_cpu_s": own.build_s,
        "idle_connection_len": own.idle_len,
    }


def write_results(record: dict, texts: dict[str, str], raw: dict[str, str]) -> Path:
    """Writes a new folder of results: the record, pages, and wrk's own words."""
    folder = BENCH / "results" / time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    (folder / "raw").mkdir(parents=True)
    (folder / "results.json").write_text(json.dumps(record, indent=1))
    for name, text in texts.items():
        (folder / name).write_text(text)
    for name, text in raw.items():
        (folder / "raw" / (re.sub(r"\W+", "_", name) + ".txt")).write_text(text)
    return folder


def read_record(folder: Path) -> dict:
    """Reads a folder's record; raises ValueError if it holds none."""
    try:
        return json.loads((folder / "results.json").read_text())
    except OSError:
        raise ValueError(f"{folder} holds no results.json; name a folder of a run") from None


def publish(folders: list[Path], page_path: Path) -> None:
    """Writes the documentation's tables from result folders."""
    page = (
        "# Benchmarks\n\nWritten by `bench/bench.py --report FOLDER` from a result folder of"
        " `make bench`; nothing is typed by hand.\n\nThe build row says nothing of a cold build"
        " when the compiler has seen the program before. The microbenchmarks are not guarded"
        " against other programs as the rounds are.\n\n"
    )
    parts = []
    for folder in folders:
        record = read_record(folder)
        rounds = [
            row for names in record["rounds"].values() for rows in names.values() for row in rows
        ]
        if record["origin"]["tree"] == "dirty" or error_count(rounds):
            raise ValueError(f"{folder}: a dirty tree or a failed response is not published")
        kind = record["origin"]["run"]
        title = "## Clients\n\n" if kind == "client" else f"## A {kind}-core run\n\n"
        title = title if len(folders) > 1 else ""
        parts.append(title + (folder / "summary.md").read_text())
    page_path.write_text(page + "\n".join(parts))

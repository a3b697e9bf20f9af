"""Collects what a figure needs to be believed (H11), and writes a result folder."""

import json
import os
import platform
import re
import tempfile
import time
from pathlib import Path

from suite.metadata import Row
from suite.programs import BENCH, first_line
from suite.rounds import WARM_UP_S, Plan
from suite.server import Server, filled
from suite.tools import load_command
from toolchain import BUILD, ROOT

RESULTS_LEN = 4 * 2**20  # what a folder takes, and a little more
# What a record holds, whatever it is of, and beside that for each kind of run.
ABOUT = ("run", "date", "commit", "tree", "cpu")
_MEASURED = ("servers", "workloads", "rounds", "left_out")
PARTS = {
    "single": (*_MEASURED, "micro_ns"),
    "multi": (*_MEASURED, "micro_ns"),
    "micro": (*_MEASURED, "micro_ns"),
    "sweep": ("sweep", "left_out"),
    "client": ("clients", "workloads", "rounds", "left_out"),
}


def versions(rows: list[Row]) -> dict[str, str]:
    """Asks the tools and the rows' programs for their versions."""
    found = {"wrk": first_line(["wrk", "--version"]), "Python": platform.python_version()}
    for row in rows:
        program = row.program
        for name, command in program.versions.items():
            if name not in found:
                found[name] = first_line(filled(program, command), program.here)
    return found


def machine(kind: str) -> dict:
    """Describes machine and tree."""
    model = re.search(r"model name\s*:\s*(.*)", Path("/proc/cpuinfo").read_text())
    dirty = first_line(["git", "status", "--porcelain"])
    return {
        "run": kind,
        "date": time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime()),
        "commit": first_line(["git", "rev-parse", "HEAD"]),
        "tree": "dirty" if dirty else "clean",
        "cpu": model[1] if model else platform.machine(),
        "cores": os.cpu_count(),
        "kernel": platform.release(),
    }


def origin(rows: list[Row], plan: Plan, kind: str) -> dict:
    """Describes machine, tree, tools and load."""
    found = versions(rows)
    if plan.load.tool != "wrk":
        found.pop("wrk")
    return {
        **machine(kind),
        "compiler": found.pop("Mojo", "not used"),
        "flags": "mojo build (default -O3, host CPU); cc -O2; cargo --release, thin LTO",
        **found,
        "load tool": plan.load.tool,
        "load from": "another host" if plan.load.remote else "this machine",
        "connections": plan.load.connections,
        "load threads": plan.load.threads,
        "rounds": plan.rounds,
        "seconds": plan.load.seconds,
        "warm-up seconds": WARM_UP_S,
    }


def neutral(command: list[str]) -> str:
    """Writes a command with paths from the project's root, and no other ones."""
    text = " ".join(command).replace(f"{BUILD}/", "build/")
    text = text.replace(f"{ROOT}/", "").replace(str(ROOT), ".")
    return text.replace(f"{tempfile.gettempdir()}/", "TEMPORARY/")


def as_record(about: dict, servers: list[Server], plan: Plan) -> dict:
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
                "labels": server.row.program.labels,
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
            neutral(load_command(server.place, workload, plan.load))
            for workload in plan.workloads
            for server in plan.taking_part(servers, workload)
            if workload.name in server.rounds
        ],
        "left_out": plan.left_out,
        "rounds": {server.name: server.rounds for server in servers},
        "micro_ns": {},
        "build_cpu_s": None,
        "idle_connection_len": None,
    }


def rounded(value: object) -> object:
    """Cuts all figures of a record to five digits, which is more than they hold."""
    if isinstance(value, dict):
        return {name: rounded(item) for name, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


def write_results(record: dict, texts: dict[str, str], raw: dict[str, str]) -> Path:
    """Writes a new folder of results: the record, pages, and the tools' own words."""
    began = BENCH / "results" / time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    folder, number = began, 1
    while folder.exists():  # of a run that ended in the same second
        number += 1
        folder = began.with_name(f"{began.name}-{number}")
    (folder / "raw").mkdir(parents=True)
    (folder / "results.json").write_text(json.dumps(rounded(record), indent=1))
    for name, text in texts.items():
        (folder / name).write_text(text)
    for name, text in raw.items():
        (folder / "raw" / (re.sub(r"\W+", "_", name) + ".txt")).write_text(text)
    return folder


def check_results() -> None:
    """Raises ValueError if no results can be kept, before hours are spent on them."""
    folder = BENCH / "results"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(RESULTS_LEN))
            file.flush()
    except OSError as error:
        raise ValueError(f"{folder} takes no results: {error.strerror}; make room there") from None


def read_record(folder: Path) -> dict:
    """Reads a folder's record; raises ValueError if it holds none, or a part of one."""
    path = folder / "results.json"
    try:
        record = json.loads(path.read_text())
    except OSError:
        raise ValueError(f"{folder} holds no results.json; name a folder of a run") from None
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}; measure again") from None
    if missing := lacking(record):
        raise ValueError(f"{path} is no record of this suite: there is no {missing}; measure again")
    return record


def lacking(record: object) -> str | None:
    """Names the first part that a record should have and has not."""
    about = record.get("origin") if isinstance(record, dict) else None
    if not isinstance(about, dict):
        return "origin"
    if about.get("run") not in PARTS:
        return f"run of a known kind: {', '.join(PARTS)}"
    gone = [name for name in ABOUT if name not in about]
    return next(iter(gone + [name for name in PARTS[about["run"]] if name not in record]), None)

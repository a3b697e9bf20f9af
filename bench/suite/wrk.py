"""Runs wrk and reads what bench/load/plain.lua makes it print."""

import json
from dataclasses import replace

from suite.gate import Place
from suite.load import Load
from suite.workload import Workload

MARK = "figures: "
LATENCIES = ("min", "p25", "p50", "p75", "p99", "max")


def of_workload(load: Load, workload: Workload) -> Load:
    """Gives the load with the workload's own number of connections."""
    return replace(load, connections=workload.connections or load.connections)


def wrk_command(place: Place, workload: Workload, load: Load) -> list[str]:
    """Gives the command, to be run in the project's root."""
    load = of_workload(load, workload)
    given = ["--", str(workload.pipelined)] if workload.pipelined > 1 else []
    return [
        "wrk",
        f"-t{load.threads}",
        f"-c{load.connections}",
        f"-d{load.seconds}s",
        "--latency",
        "-s",
        f"bench/load/{workload.script}",
        url(place, workload),
        *given,
    ]


def url(place: Place, workload: Workload) -> str:
    """Writes what is asked for."""
    scheme = "https" if workload.tls else "http"
    return f"{scheme}://{place[0]}:{place[1]}{workload.target}"


def parse_figures(text: str) -> dict:
    """Reads the line of figures; latencies are left out where there are none.

    Raises ValueError if there is no such line.
    """
    lines = [line for line in text.splitlines() if line.startswith(MARK)]
    if not lines:
        raise ValueError(f"there is no line {MARK!r}: {text.strip()[-200:]!r}")
    found = json.loads(lines[-1].removeprefix(MARK))
    seconds = found["duration_us"] / 1e6
    figures = {
        "requests": found["requests"],
        "rps": found["requests"] / seconds,
        "bytes_per_s": found["bytes"] / seconds,
        "errors": {kind: count for kind, count in found["errors"].items() if count},
    }
    if "waiting" in found:  # the open loop's: due at the end, and not answered
        figures["waiting"] = found["waiting"]
    if found["latency_us"]["p99"] > 0:  # 0 in some runs with pipelined requests
        for name, value in found["latency_us"].items():
            figures[f"{name}_ms"] = value / 1000
    return figures

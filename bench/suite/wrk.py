"""Runs wrk and reads what bench/load/plain.lua makes it print."""

import json
from dataclasses import dataclass

from suite.layout import pinned
from suite.workload import Workload

MARK = "figures: "
LATENCIES = ("min", "p25", "p50", "p75", "p99", "max")


@dataclass(frozen=True)
class Load:
    """How hard and for how long wrk asks, and on which CPUs."""

    threads: int
    connections: int
    seconds: int
    cpus: list[int]


def wrk_command(port: int, workload: Workload, load: Load) -> list[str]:
    """Gives the command, to be run in the project's root."""
    return [
        *pinned(load.cpus), "wrk", f"-t{load.threads}", f"-c{load.connections}",
        f"-d{load.seconds}s", "--latency", "-s", f"bench/load/{workload.script}",
        f"{'https' if workload.tls else 'http'}://127.0.0.1:{port}{workload.target}",
    ]


def parse_wrk(text: str) -> dict:
    """Reads the line of figures; latencies are left out where wrk has none.

    Raises ValueError if there is no such line.
    """
    lines = [line for line in text.splitlines() if line.startswith(MARK)]
    if not lines:
        raise ValueError(f"wrk printed no line {MARK!r}: {text.strip()[-200:]!r}")
    found = json.loads(lines[-1].removeprefix(MARK))
    seconds = found["duration_us"] / 1e6
    figures = {
        "requests": found["requests"],
        "rps": found["requests"] / seconds,
        "bytes_per_s": found["bytes"] / seconds,
        "errors": {kind: count for kind, count in found["errors"].items() if count},
    }
    if found["latency_us"]["p99"] > 0:  # 0 in some runs with pipelined requests
        for name in LATENCIES:
            figures[f"{name}_ms"] = found["latency_us"][name] / 1000
    return figures

"""Runs hey and reads the summary that it prints."""

import re

from suite.gate import Place
from suite.load import Load
from suite.workload import Workload
from suite.wrk import of_workload, url

SCRIPTS = ("plain.lua", "upload.lua", "close.lua")  # what hey can do as well
PERCENTILES = {"25": "p25", "50": "p50", "75": "p75", "99": "p99"}


def hey_command(place: Place, workload: Workload, load: Load) -> list[str]:
    """Gives the command. Raises ValueError for what hey cannot do."""
    if workload.script not in SCRIPTS:
        raise ValueError(f"hey cannot load {workload.name!r}; use wrk")
    load = of_workload(load, workload)
    words = [
        "hey",
        "-z",
        f"{load.seconds}s",
        "-c",
        str(load.connections),
        "-cpus",
        str(load.threads),
        "-disable-compression",
        "-disable-redirects",
    ]
    if workload.closes:
        words.append("-disable-keepalive")
    if workload.data is not None:
        words += ["-m", "POST", "-T", "application/octet-stream", "-d", workload.data.decode()]
    return [*words, url(place, workload)]


def _number(text: str, name: str) -> float:
    found = re.search(rf"^\s*{name}:\s+([\d.]+)", text, re.MULTILINE)
    if not found:
        raise ValueError(f"hey printed no {name!r}: {text.strip()[-200:]!r}")
    return float(found[1])


def parse_hey(text: str) -> dict:
    """Reads hey's summary. Raises ValueError if it is none."""
    seconds = _number(text, "Total")
    statuses = {code: int(count) for code, count in re.findall(r"\[(\d{3})\]\s+(\d+) resp", text)}
    failed = text.partition("Error distribution:")[2]
    errors = {
        "status": sum(count for code, count in statuses.items() if code != "200"),
        "failed": sum(int(count) for count in re.findall(r"^\s*\[(\d+)\]", failed, re.MULTILINE)),
    }
    requests = statuses.get("200", 0)
    size = re.search(r"Size/request:\s+(\d+)", text)
    figures = {
        "requests": requests,
        "rps": requests / seconds,
        # hey counts the bodies alone.
        "bytes_per_s": (int(size[1]) if size else 0) * requests / seconds,
        "errors": {kind: count for kind, count in errors.items() if count},
        "min_ms": _number(text, "Fastest") * 1000,
        "max_ms": _number(text, "Slowest") * 1000,
    }
    for percent, name in PERCENTILES.items():
        if found := re.search(rf"^\s*{percent}% in ([\d.]+) secs", text, re.MULTILINE):
            figures[f"{name}_ms"] = float(found[1]) * 1000
    return figures

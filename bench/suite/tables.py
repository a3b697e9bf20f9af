"""Writes a record's rounds as Markdown tables."""

from suite.figures import CV_MAX, errors_text, ratio, spread, worst_cv
from suite.wrk import LATENCIES

DETAIL_COLUMNS = (
    "language", "framework", "category", "name", "response bytes", "requests", "errors",
    "RPS", "bytes/s", "min", "25 %", "50 %", "75 %", "99 %", "max",
)


def limit_of(record: dict) -> str | None:
    """Names the server that stands for the limit of the machine, if one ran."""
    names = [name for name, server in record["servers"].items() if not server["parses"]]
    return names[0] if names else None


def _latency(rounds: list[dict], name: str) -> str:
    """Gives the median of a latency in ms, or - where none was taken."""
    taken = [row for row in rounds if name in row]
    return f"{spread(taken, name).median:.2f}" if taken else "-"


def _stable(rounds: list[dict]) -> str:
    if len(rounds) < 2:
        return "-"  # one round says nothing of stability
    cv = worst_cv(rounds)
    return f"{cv:.1%}" if cv <= CV_MAX else f"**unstable**, {cv:.1%}"


def cells(*contents: object) -> str:
    """Writes a line of a table."""
    return "| " + " | ".join(map(str, contents)) + " |"


def peer_tables(record: dict) -> list[str]:
    """Writes a table for each workload."""
    lines, limit = [], limit_of(record)
    columns = (
        "server", "CPU us a request (spread)", "against C", "req/s", "p99 ms", "errors",
        "MiB", "deviation",
    )
    for workload in record["workloads"]:
        lines += [f"### {workload}", "", cells(*columns), cells(*["---"] * len(columns))]
        base, disturbed = record["rounds"].get(limit, {}).get(workload), []
        for name, rounds in record["rounds"].items():
            rows = rounds.get(workload)
            if not rows:
                continue
            disturbed += [row["other_cpus"] for row in rows]
            cpu, against = spread(rows, "cpu_us"), ratio(rows, base)
            lines.append(cells(
                name, f"{cpu.median:.3f} ({cpu.low:.3f} to {cpu.high:.3f})",
                "-" if against is None else f"{against:.3f}",
                f"{spread(rows, 'rps').median:.0f}", _latency(rows, "p99_ms"),
                errors_text(rows), f"{spread(rows, 'memory_len').median / 2**20:.1f}",
                _stable(rows),
            ))
        if disturbed:
            lines += ["", f"Other programs took at most {max(disturbed):.2f} CPUs in a counted round."]
        lines.append("")
    return lines


def detail_tables(record: dict) -> str:
    """Writes the columns that users of benchmark suites know; latencies in ms."""
    lines = []
    for workload, about in record["workloads"].items():
        lines += [f"### {workload}", "", cells(*DETAIL_COLUMNS)]
        lines.append(cells(*["---"] * len(DETAIL_COLUMNS)))
        for name, rounds in record["rounds"].items():
            rows, server = rounds.get(workload), record["servers"][name]
            if rows:
                lines.append(cells(
                    server["language"], server["framework"], server["category"], name,
                    about["response_len"], sum(row["requests"] for row in rows),
                    errors_text(rows), f"{spread(rows, 'rps').median:.0f}",
                    f"{spread(rows, 'bytes_per_s').median:.0f}",
                    *(_latency(rows, f"{latency}_ms") for latency in LATENCIES),
                ))
        lines.append("")
    return "\n".join(lines)


def micro_table(record: dict) -> list[str]:
    if not record["micro_ns"]:
        return []
    lines = ["### Microbenchmarks", "", "| what | ns |", "| --- | --- |"]
    return lines + [f"| {name} | {ns:.1f} |" for name, ns in record["micro_ns"].items()]

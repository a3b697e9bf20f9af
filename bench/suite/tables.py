"""Writes a record's rounds as Markdown tables."""

from suite.figures import CV_MAX, errors_text, is_load_bound, ratio, spread, worst_cv
from suite.intervals import bootstrap, places
from suite.metadata import LABELS
from suite.wrk import LATENCIES

COLUMNS = (
    "place",
    "server",
    "CPU us a request (95 %)",
    "against C",
    "user + system us",
    "req/s",
    "p99 ms",
    "switches a request",
    "errors",
    "MiB",
    "deviation",
)
DETAIL_COLUMNS = (
    "language",
    "framework",
    "category",
    "name",
    "response bytes",
    "requests",
    "errors",
    "RPS",
    "bytes/s",
    "min",
    "25 %",
    "50 %",
    "75 %",
    "99 %",
    "max",
)


def limit_of(record: dict) -> str | None:
    """Names the server that stands for the limit of the machine, if one ran."""
    names = [name for name, server in record.get("servers", {}).items() if not server["parses"]]
    return names[0] if names else None


def latency(rounds: list[dict], name: str) -> str:
    """Gives the median of a latency in ms, or - where none was taken."""
    taken = [row for row in rounds if name in row]
    return f"{spread(taken, name).median:.2f}" if taken else "-"


def stable(rounds: list[dict]) -> str:
    """Writes the deviation, marked where it is more than is allowed."""
    if len(rounds) < 2:
        return "-"  # one round says nothing of stability
    cv = worst_cv(rounds)
    return f"{cv:.1%}" if cv <= CV_MAX else f"**unstable**, {cv:.1%}"


def cells(*contents: object) -> str:
    """Writes a line of a table."""
    return "| " + " | ".join(map(str, contents)) + " |"


def heading(*columns: str) -> list[str]:
    """Writes the first two lines of a table."""
    return [cells(*columns), cells(*["---"] * len(columns))]


def rows_of(record: dict, workload: str) -> dict[str, list[dict]]:
    """Gives the rounds of a workload by server, the least CPU time first."""
    found = {
        name: rounds[workload] for name, rounds in record["rounds"].items() if rounds.get(workload)
    }
    return dict(sorted(found.items(), key=lambda item: spread(item[1], "cpu_us").median))


def rate_text(record: dict, name: str, rounds: list[dict]) -> str:
    """Writes requests a second, with ≥ where the load was the limit.

    The open loop asks no faster than it is told, and never rests.
    """
    about, cores = record["origin"], record["servers"][name]["cores"]
    is_closed = about.get("load tool") != "open"
    mark = "≥ " if is_closed and is_load_bound(rounds, cores, about.get("load threads", 1)) else ""
    return f"{mark}{spread(rounds, 'rps').median:.0f}"


def peer_tables(record: dict) -> list[str]:
    """Writes a table for each workload."""
    lines: list[str] = []
    for workload in record["workloads"]:
        if rows := rows_of(record, workload):
            lines += [f"### {workload}", "", *peer_table(record, workload, rows), ""]
    return lines


def peer_table(record: dict, workload: str, rows: dict[str, list[dict]]) -> list[str]:
    """Writes the table of one workload, and what disturbed it."""
    lines = heading(*COLUMNS)
    base = record["rounds"].get(limit_of(record), {}).get(workload)
    ranks = places({name: [row["cpu_us"] for row in found] for name, found in rows.items()})
    for name, rounds in rows.items():
        cpu, against = bootstrap([row["cpu_us"] for row in rounds]), ratio(rounds, base)
        lines.append(
            cells(
                ranks[name],
                name,
                f"{cpu.median:.3f} ({cpu.low:.3f} to {cpu.high:.3f})",
                "-" if against is None else f"{against:.3f}",
                f"{spread(rounds, 'user_us').median:.2f} + {spread(rounds, 'system_us').median:.2f}",
                rate_text(record, name, rounds),
                latency(rounds, "p99_ms"),
                f"{spread(rounds, 'switches').median:.3f}",
                errors_text(rounds),
                f"{spread(rounds, 'memory_len').median / 2**20:.1f}",
                stable(rounds),
            )
        )
    others = max(row["other_cpus"] for found in rows.values() for row in found)
    steal = max(row["steal_cpus"] for found in rows.values() for row in found)
    return [
        *lines,
        "",
        f"Other programs took at most {others:.2f} CPUs in a counted round,"
        f" the host of the machine {steal:.2f}.",
    ]


def label_table(record: dict) -> list[str]:
    """Writes what has to be known of each server before rows are compared."""
    lines = heading("server", "language", *LABELS, "what it accepts against RFC 9112")
    for name, server in record["servers"].items():
        labels = [server["labels"][label] for label in LABELS]
        accepts = "; ".join(server["accepts"]) or "-"
        lines.append(cells(name, server["language"], *labels, accepts))
    return ["### Who is compared", "", *lines, ""]


def detail_tables(record: dict) -> str:
    """Writes the columns that users of benchmark suites know; latencies in ms."""
    lines = []
    for workload, about in record["workloads"].items():
        lines += [f"### {workload}", "", *heading(*DETAIL_COLUMNS)]
        for name, rows in rows_of(record, workload).items():
            server = record["servers"][name]
            lines.append(
                cells(
                    server["language"],
                    server["framework"],
                    server["category"],
                    name,
                    about["response_len"],
                    sum(row["requests"] for row in rows),
                    errors_text(rows),
                    f"{spread(rows, 'rps').median:.0f}",
                    f"{spread(rows, 'bytes_per_s').median:.0f}",
                    *(latency(rows, f"{name}_ms") for name in LATENCIES),
                )
            )
        lines.append("")
    return "\n".join(lines)


def headline_table(record: dict) -> list[str]:
    """Writes one line a server for the README: plaintext and pipelined."""
    first, second = "plaintext", "pipelined x16"
    base = record["rounds"].get(limit_of(record), {})
    lines = heading(
        "server",
        "CPU us a request",
        "against C",
        "req/s",
        f"{second}: CPU us",
        "against C",
        "router",
    )
    for name, rounds in rows_of(record, first).items():
        batch = record["rounds"][name].get(second)
        against = [
            ratio(found, base.get(item)) for item, found in ((first, rounds), (second, batch))
        ]
        told = ["-" if value is None else f"{value:.2f}" for value in against]
        lines.append(
            cells(
                name,
                f"{spread(rounds, 'cpu_us').median:.2f}",
                told[0],
                rate_text(record, name, rounds),
                f"{spread(batch, 'cpu_us').median:.2f}" if batch else "-",
                told[1],
                record["servers"][name]["labels"]["router"],
            )
        )
    return lines


def micro_table(record: dict) -> list[str]:
    """Writes the microbenchmarks; nothing if there are none."""
    if not record["micro_ns"]:
        return []
    lines = ["### Microbenchmarks", "", *heading("what", "ns")]
    return lines + [cells(name, f"{ns:.1f}") for name, ns in record["micro_ns"].items()]

"""Writes the page of a record, whatever kind it is of."""

from suite import clients
from suite.budgets import budget_table
from suite.tables import cells, heading, label_table, micro_table, peer_tables

TITLES = {
    "single": "A single-core run",
    "multi": "A multi-core run",
    "sweep": "Latency against load",
    "micro": "This library alone",
    "client": "Clients",
}


def origin_lines(record: dict) -> list[str]:
    """Writes where the figures come from, and who is missing."""
    lines = [f"{key}: {value}  " for key, value in record["origin"].items()] + [""]
    for name, reason in record["left_out"].items():
        lines += [f"{name} has no row: {reason.splitlines()[0]}", ""]
    return lines


def sweep_table(record: dict) -> list[str]:
    """Writes the points of a sweep."""
    lines = heading(
        "server", "asked for", "answered", "50 % ms", "99 % ms", "99.9 % ms", "max ms", "CPU us"
    )
    for name, points in record["sweep"].items():
        for point in points:
            mark = "" if point["is_met"] else " (not met)"
            lines.append(
                cells(
                    name,
                    point["rate"],
                    f"{point['rps']:.0f}{mark}",
                    *(f"{point[f'{key}_ms']:.3f}" for key in ("p50", "p99", "p999", "max")),
                    f"{point['cpu_us']:.2f}",
                )
            )
    return [*lines, ""]


def summary(record: dict) -> str:
    """Writes a run's page."""
    kind = record["origin"]["run"]
    if kind == "client":
        return clients.summary(record)
    lines = origin_lines(record)
    if kind == "sweep":
        lines += sweep_table(record)
    elif kind == "micro":
        lines += budget_table(record) + micro_table(record)
    else:
        lines += budget_table(record) + label_table(record) + peer_tables(record)
    return "\n".join(lines).rstrip("\n") + "\n"

"""Compares two records, row by row, and finds regressions."""

from suite.changes import NOTHING, piece_changes, sweep_changes
from suite.figures import ratios, spread
from suite.intervals import Interval, change, is_change
from suite.tables import cells, heading, limit_of

COLUMNS = (
    "workload",
    "server",
    "compared",
    "CPU us a request",
    "change (95 % for all rows at once)",
    "req/s",
    "verdict",
)

# Of the origin: where these differ, figures do too.
CONDITIONS = ("run", "cpu", "cores", "load tool", "load from", "connections", "load threads", "seconds")
NAMED_MAX = 20  # rows of one run alone, by name


def values(record: dict, name: str, workload: str) -> tuple[str, list[float]]:
    """Gives what a row is judged by, round by round.

    Where the raw C server ran as well, it is the ratio to that in the same
    round, which a slower day of the machine leaves as it is.
    """
    limit, rounds = limit_of(record), record["rounds"][name][workload]
    base = record["rounds"].get(limit, {}).get(workload)
    if limit and name != limit and (found := ratios(rounds, base)):
        return f"against {limit}", found
    return "CPU alone", [row["cpu_us"] for row in rounds]


def verdict(found: Interval) -> str:
    """Names a change that is beyond chance."""
    if not is_change(found):
        return "no change"
    return "**regression**" if found.median > 0 else "better"


def yardsticks(old: dict, new: dict, pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Lists the rows of the raw C server that others are compared with: how they
    change is the machine's doing."""
    limit = limit_of(new)
    if limit is None or limit != limit_of(old):
        return []
    others = {workload for workload, name in pairs if name != limit}
    return [(workload, name) for workload, name in pairs if name == limit and workload in others]


def comparison(old: dict, new: dict) -> tuple[str, list[str]]:
    """Writes the change of each row that both records have; lists regressions.

    Raises ValueError if they have none in common.
    """
    lines, worse = [f"old: {_run(old)}  ", f"new: {_run(new)}  ", *differences(old, new)], []
    if found := single_values(old, new):
        return "\n".join([*lines, "", *found[0]]) + "\n", found[1]
    lines += ["", *heading(*COLUMNS)]
    had, has = measured(old), measured(new)
    pairs = [pair for pair in has if pair in had]
    if not pairs:
        raise ValueError(NOTHING)
    excused = yardsticks(old, new, pairs)
    for workload, name in pairs:
        before, rows = old["rounds"][name][workload], new["rounds"][name][workload]
        was, is_now = values(old, name, workload), values(new, name, workload)
        if was[0] != is_now[0]:  # the raw C server ran in one of the two
            was, is_now = (
                ("CPU alone", [row["cpu_us"] for row in found]) for found in (before, rows)
            )
        found = change(was[1], is_now[1], len(pairs) - len(excused))
        told = "the yardstick" if (workload, name) in excused else verdict(found)
        if told == "**regression**":
            worse.append(f"{workload}, {name}")
        cpu, rate = (
            (spread(before, figure).median, spread(rows, figure).median)
            for figure in ("cpu_us", "rps")
        )
        lines.append(
            cells(
                workload,
                name,
                was[0],
                f"{cpu[0]:.3f} to {cpu[1]:.3f}",
                f"{found.median:+.1%} ({found.low:+.1%} to {found.high:+.1%})",
                f"{rate[0]:.0f} to {rate[1]:.0f}",
                told,
            )
        )
    for which, mine, other in (("old", had, has), ("new", has, had)):
        if alone := [", ".join(pair) for pair in mine if pair not in other]:
            more = f"; and {len(alone) - NAMED_MAX} more" if len(alone) > NAMED_MAX else ""
            named = "; ".join(alone[:NAMED_MAX])
            lines += ["", f"Not compared, only in the {which} run: {named}{more}."]
    return "\n".join(lines) + "\n", worse


def single_values(old: dict, new: dict) -> tuple[list[str], list[str]] | None:
    """Compares runs without rounds: of pieces, or of rising rates; None for others."""
    if old.get("sweep") and new.get("sweep"):
        return sweep_changes(old, new)
    kinds = {record["origin"].get("run") for record in (old, new)}
    return piece_changes(old, new) if kinds == {"micro"} else None


def measured(record: dict) -> list[tuple[str, str]]:
    """Lists the rows of a record that have rounds, by workload and name."""
    rounds = record.get("rounds", {})  # a sweep has none
    return [
        (workload, name)
        for name, workloads in rounds.items()
        for workload, rows in workloads.items()
        if rows
    ]


def differences(old: dict, new: dict) -> list[str]:
    """Says in what two runs differ that changes their figures."""
    was, is_now = old["origin"], new["origin"]
    found = [
        f"{key} ({was.get(key)}, then {is_now.get(key)})"
        for key in CONDITIONS
        if was.get(key) != is_now.get(key)
    ]
    if not found:
        return []
    return [f"**the runs differ in {', '.join(found)}: a change may come from that**"]


def _run(record: dict) -> str:
    about = record["origin"]
    return f"{about['date']}, {about['commit'][:10]}, {about['tree']} tree, {about['cpu']}"

"""Compares two records, server by server."""

from suite.figures import spread


def comparison(old: dict, new: dict) -> str:
    """Writes the change of each row that both records have.

    A change counts only where the rounds of the two do not overlap.
    """
    lines = [
        f"old: {_run(old)}  ", f"new: {_run(new)}  ", "",
        "| workload | server | CPU us a request | change | req/s | change | beyond the spread |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, workloads in new["rounds"].items():
        for workload, rows in workloads.items():
            before = old["rounds"].get(name, {}).get(workload)
            if before:
                lines.append(_row(workload, name, before, rows))
    return "\n".join(lines) + "\n"


def _run(record: dict) -> str:
    about = record["origin"]
    return f"{about['date']}, {about['commit'][:10]}, {about['tree']} tree, {about['cpu']}"


def _row(workload: str, name: str, before: list[dict], after: list[dict]) -> str:
    cells, beyond = [], []
    for figure, title in (("cpu_us", "CPU"), ("rps", "req/s")):
        old, new = spread(before, figure), spread(after, figure)
        digits = 3 if figure == "cpu_us" else 0
        cells.append(f"{old.median:.{digits}f} to {new.median:.{digits}f}")
        cells.append(f"{new.median / old.median - 1:+.1%}")
        if new.low > old.high or new.high < old.low:
            beyond.append(title)
    return f"| {workload} | {name} | {' | '.join(cells)} | {', '.join(beyond) or 'no'} |"

"""Compares what has one value and no rounds: the pieces of `micro`, points of `sweep`."""

from suite.tables import cells, heading

# Without rounds there is no interval: what is smaller may be chance.
PIECE_CHANGE = 0.1
# Of the 99 % latency at a rate that both runs met.
LATENCY_FACTOR = 2.0
HEAD_LINES = 2  # of a table
NOTHING = "the two runs have no row in common, so nothing can be compared"


def pieces(record: dict) -> dict[str, float]:
    """Gives the single values of a run of `micro`, by name."""
    found = {f"{name}, ns": value for name, value in record["micro_ns"].items()}
    for key, name in (
        ("build_cpu_s", "build, CPU s"),
        ("idle_connection_len", "idle connection, bytes"),
    ):
        if record.get(key) is not None:
            found[name] = record[key]
    return found


def piece_changes(old: dict, new: dict) -> tuple[list[str], list[str]]:
    """Writes how each piece changed; lists those that are worse."""
    had, has = pieces(old), pieces(new)
    lines, worse = heading("piece", "old", "new", "change", "verdict"), []
    for name in (name for name in has if name in had):
        change = has[name] / had[name] - 1 if had[name] else 0.0
        told = "no change"
        if abs(change) >= PIECE_CHANGE:
            told = "**regression**" if change > 0 else "better"
        if told == "**regression**":
            worse.append(name)
        lines.append(cells(name, f"{had[name]:.4g}", f"{has[name]:.4g}", f"{change:+.1%}", told))
    if len(lines) == HEAD_LINES:
        raise ValueError(NOTHING)
    return lines + ["", f"A change counts from {PIECE_CHANGE:.0%}: there are no rounds."], worse


def highest_met(points: list[dict]) -> int:
    """Gives the highest rate that a server followed, 0 for none."""
    return max((point["rate"] for point in points if point["is_met"]), default=0)


def sweep_changes(old: dict, new: dict) -> tuple[list[str], list[str]]:
    """Writes how each server followed rising rates; lists those that are worse."""
    lines = heading("server", "req/s asked", "99 % ms, old", "99 % ms, new", "verdict")
    worse: list[str] = []
    for name, points in new["sweep"].items():
        if name not in old["sweep"]:
            continue
        before = {point["rate"]: point for point in old["sweep"][name]}
        for point in points:
            rate = point["rate"]
            if rate in before and before[rate]["is_met"] and point["is_met"]:
                was, is_now = before[rate]["p99_ms"], point["p99_ms"]
                told = _latency_verdict(was, is_now)
                lines.append(cells(name, rate, f"{was:.3f}", f"{is_now:.3f}", told))
                worse += [f"{name} at {rate}"] if told == "**regression**" else []
        met, meets = highest_met(old["sweep"][name]), highest_met(points)
        told = "no change" if met == meets else "better" if meets > met else "**regression**"
        lines.append(cells(name, "highest met", met, meets, told))
        worse += [f"{name}, highest rate met"] if meets < met else []
    if len(lines) == HEAD_LINES:
        raise ValueError(NOTHING)
    text = f"A latency counts when it is {LATENCY_FACTOR:g} times the other: there are no rounds."
    return lines + ["", text], worse


def _latency_verdict(was: float, is_now: float) -> str:
    if is_now >= LATENCY_FACTOR * was:
        return "**regression**"
    return "better" if was >= LATENCY_FACTOR * is_now else "no change"

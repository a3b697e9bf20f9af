"""Medians, spreads, the gate of stability, and whether the load was the limit."""

import statistics
from dataclasses import dataclass

CV_MAX = 0.03  # above it a row is marked unstable
LOAD_BUSY = 0.95  # of its CPUs: the load generator can do no more
SERVER_IDLE = 0.9  # of its CPUs: the server could


@dataclass(frozen=True)
class Spread:
    """What some rounds say together; `cv` is the deviation over the mean."""

    median: float
    low: float
    high: float
    cv: float

    @classmethod
    def of(cls, values: list[float]) -> "Spread":
        """Sums up at least one value; one alone has no deviation."""
        mean = statistics.fmean(values)
        deviation = statistics.stdev(values) if len(values) > 1 else 0.0
        cv = deviation / mean if mean else 0.0
        return cls(statistics.median(values), min(values), max(values), cv)


def spread(rounds: list[dict], name: str) -> Spread:
    """Sums up one figure of the rounds."""
    return Spread.of([row[name] for row in rounds])


def worst_cv(rounds: list[dict]) -> float:
    """Takes the larger deviation of CPU time a request and requests a second."""
    return max(spread(rounds, name).cv for name in ("cpu_us", "rps"))


def ratios(mine: list[dict] | None, base: list[dict] | None) -> list[float]:
    """Gives the ratio of CPU time a request, round by round."""
    pairs = [(a["cpu_us"], b["cpu_us"]) for a, b in zip(mine or [], base or [])]
    return [used / limit for used, limit in pairs if limit]


def ratio(mine: list[dict] | None, base: list[dict] | None) -> float | None:
    """Takes the median of the per-round ratios of CPU time a request."""
    found = ratios(mine, base)
    return statistics.median(found) if found else None


def is_load_bound(rounds: list[dict], cores: int, threads: int) -> bool:
    """Tells whether the generator was the limit of the rate, not the server.

    Then a row's requests a second are the least that it can do. Nothing is
    known of a generator on another host.
    """
    known = [row for row in rounds if "load_cpus" in row and "server_cpus" in row]
    if not known:
        return False
    load, server = (spread(known, "load_cpus").median, spread(known, "server_cpus").median)
    return load >= LOAD_BUSY * threads and server < SERVER_IDLE * cores


def error_count(rounds: list[dict]) -> int:
    return sum(sum(row["errors"].values()) for row in rounds)


def errors_text(rounds: list[dict]) -> str:
    """Lists the failures of some rounds by kind."""
    kinds: dict[str, int] = {}
    for row in rounds:
        for kind, count in row["errors"].items():
            kinds[kind] = kinds.get(kind, 0) + count
    return ", ".join(f"{count} {kind}" for kind, count in kinds.items()) or "0"

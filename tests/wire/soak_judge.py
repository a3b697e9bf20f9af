"""What a soak has measured, and whether something grew."""

import csv
import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from processes import anonymous_len, descriptor_count

# Less is noise: an allocator's pages, a burst of connections.
MEMORY_GROWTH_MIN = 1 << 20
MEMORY_GROWTH_SHARE = 0.05
COUNT_GROWTH_MIN = 4
COUNT_GROWTH_SHARE = 0.1


@dataclass
class Process:
    """A process, and what it had at each second that it was there."""

    role: str
    pid: int
    seconds: list[float] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)
    descriptors: list[int] = field(default_factory=list)
    threads: list[int] = field(default_factory=list)

    def sample(self, second: float) -> None:
        """Looks at it; it may have gone."""
        try:
            found = (
                anonymous_len(self.pid),
                descriptor_count(self.pid),
                len(os.listdir(f"/proc/{self.pid}/task")),
            )
        except (OSError, TypeError):
            return
        self.seconds.append(second)
        for values, value in zip((self.memory, self.descriptors, self.threads), found):
            values.append(value)


@dataclass
class Second:
    """What clients saw of a second."""

    second: float
    answers: int
    p50_ms: float
    p99_ms: float
    lost: int
    fault: str


def percentile(values: list[float], percent: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))] if ordered else 0.0


def growth(seconds: Sequence[float], values: Sequence[float]) -> float:
    """By how much a line through the values rises from the first to the last.

    The slope is the median of those of all pairs that are a third of the time
    apart and more (Theil and Sen), so that peaks do not bend it.
    """
    if len(seconds) < 3 or seconds[-1] <= seconds[0]:
        return 0.0
    span = seconds[-1] - seconds[0]
    step = max(1, len(seconds) // 300)
    rows = list(zip(seconds, values))[::step]
    slopes = [
        (later - value) / (then - second)
        for at, (second, value) in enumerate(rows)
        for then, later in rows[at + 1 :]
        if then - second >= span / 3
    ]
    return statistics.median(slopes) * span if slopes else 0.0


@dataclass(frozen=True)
class Trend:
    """What one figure did after the warm-up."""

    role: str
    what: str
    median: float
    growth: float
    growth_max: float

    @property
    def grows(self) -> bool:
        return self.growth > self.growth_max


def trends(processes: list[Process], from_s: float, to_s: float) -> list[Trend]:
    """Fits lines to the second half of what came behind the warm-up.

    Buffers, caches and an allocator's pages grow to what the largest moment wants,
    which is rarer and rarer; what leaks grows in the second half as it did in the
    first. Memory is that of each process that lived through all of it, descriptors
    and threads are those of all of a role, since clients that come again choose
    among them.
    """
    found, half_s = [], (from_s + to_s) / 2
    totals: dict[tuple[str, str], dict[int, int]] = {}
    for one in processes:
        for what, values in (("descriptors", one.descriptors), ("threads", one.threads)):
            total = totals.setdefault((one.role, what), {})
            for second, value in zip(one.seconds, values):
                total[round(second)] = total.get(round(second), 0) + value
        if not one.seconds or one.seconds[0] > from_s or one.seconds[-1] < to_s - 3:
            continue
        late = [row for row in zip(one.seconds, one.memory) if row[0] >= half_s]
        middle = statistics.median(value for _, value in late)
        limit = max(MEMORY_GROWTH_MIN, MEMORY_GROWTH_SHARE * middle)
        found.append(Trend(one.role, "memory", middle, growth(*zip(*late)), limit))
    for (role, what), total in totals.items():
        late = [(second, value) for second, value in sorted(total.items()) if second >= half_s]
        if not late:
            continue
        middle = statistics.median(value for _, value in late)
        limit = max(COUNT_GROWTH_MIN, COUNT_GROWTH_SHARE * middle)
        found.append(Trend(role, what, middle, growth(*zip(*late)), limit))
    return found


def write_tables(folder: Path, processes: list[Process], seconds: list[Second]) -> None:
    with (folder / "processes.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["second", "role", "pid", "memory_len", "descriptors", "threads"])
        for one in processes:
            for row in zip(one.seconds, one.memory, one.descriptors, one.threads):
                table.writerow([f"{row[0]:.1f}", one.role, one.pid, *row[1:]])
    with (folder / "seconds.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["second", "answers", "p50_ms", "p99_ms", "lost", "fault"])
        for row in seconds:
            table.writerow(
                [f"{row.second:.1f}", row.answers, f"{row.p50_ms:.2f}", f"{row.p99_ms:.2f}",
                 row.lost, row.fault]
            )


def draw(path: Path, processes: list[Process], seconds: list[Second], from_s: float) -> None:
    """Draws memory, descriptors and threads by process, latency and answers."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    roles = sorted({one.role for one in processes})
    colours = {role: f"C{number}" for number, role in enumerate(roles)}
    figure, axes = pyplot.subplots(5, 1, figsize=(10, 13), sharex=True, layout="constrained")
    for row, (title, values) in enumerate(
        (
            ("memory of its own, MiB", lambda one: [x / (1 << 20) for x in one.memory]),
            ("descriptors", lambda one: one.descriptors),
            ("threads", lambda one: one.threads),
        )
    ):
        for one in processes:
            axes[row].plot(one.seconds, values(one), color=colours[one.role], lw=0.8)
        axes[row].set_title(title, loc="left", fontsize=10)
        axes[row].set_ylim(bottom=0)
    for role in roles:
        axes[0].plot([], [], color=colours[role], label=role)
    axes[0].legend(fontsize=8, ncols=3)
    times = [row.second for row in seconds]
    axes[3].semilogy(times, [max(0.1, row.p99_ms) for row in seconds], lw=0.8, label="99 %")
    axes[3].semilogy(times, [max(0.1, row.p50_ms) for row in seconds], lw=0.8, label="median")
    axes[3].set_title("latency, ms", loc="left", fontsize=10)
    axes[3].legend(fontsize=8)
    axes[4].plot(times, [row.answers for row in seconds], lw=0.8, label="answers")
    axes[4].plot(times, [row.lost for row in seconds], lw=0.8, color="C3", label="lost to a fault")
    axes[4].set_title("answers a second", loc="left", fontsize=10)
    axes[4].legend(fontsize=8)
    axes[4].set_xlabel("seconds; grey: the warm-up, dotted: a fault")
    faults = [row.second for row in seconds if row.fault]
    for one in axes:
        one.axvspan(0, from_s, color="#eeeeee", zorder=0)
        for second in faults:
            one.axvline(second, color="#bbbbbb", lw=0.4, ls=":", zorder=0)
    figure.savefig(path, dpi=90)
    pyplot.close(figure)

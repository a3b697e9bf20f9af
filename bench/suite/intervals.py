"""Bootstrap intervals of medians, ties and the gate of stability.

The random numbers have a fixed seed: the same rounds give the same interval.
"""

import random
import statistics
from dataclasses import dataclass

RESAMPLES = 2000
CONFIDENCE = 0.95
SEED = 1
MIN_CHANGE = 0.03  # a smaller change is no news, however narrow the intervals


@dataclass(frozen=True)
class Interval:
    """Where a median lies, with 95 % confidence."""

    median: float
    low: float
    high: float

    def overlaps(self, other: "Interval") -> bool:
        return self.low <= other.high and other.low <= self.high


def bootstrap(values: list[float]) -> Interval:
    """Draws the values again and again, and sees where the medians fall.

    One value alone has an interval of no width.
    """
    draw, count = random.Random(SEED), len(values)
    medians = sorted(statistics.median(draw.choices(values, k=count)) for _ in range(RESAMPLES))
    cut = round((1 - CONFIDENCE) / 2 * RESAMPLES)
    return Interval(statistics.median(values), medians[cut], medians[-1 - cut])


def change(before: list[float], after: list[float], among: int = 1) -> Interval:
    """Gives the change of the median as a part of what it was: 0.1 is 10 % more.

    `among` is how many changes are looked at: the more there are, the wider each
    interval has to be, so that chance alone moves none of them in 95 % of cases.
    """
    draw = random.Random(SEED)

    def one() -> float:
        old = statistics.median(draw.choices(before, k=len(before)))
        return statistics.median(draw.choices(after, k=len(after))) / old - 1

    changes = sorted(one() for _ in range(RESAMPLES))
    cut = round((1 - CONFIDENCE) / among / 2 * RESAMPLES)
    middle = statistics.median(after) / statistics.median(before) - 1
    return Interval(middle, changes[cut], changes[-1 - cut])


def is_change(found: Interval) -> bool:
    """Tells whether a change is beyond chance and large enough to speak of."""
    return abs(found.median) >= MIN_CHANGE and not found.low <= 0 <= found.high


def places(values: dict[str, list[float]]) -> dict[str, str]:
    """Ranks rows, the lowest median first; "2, tie" for one of a group.

    A row whose interval overlaps with that of the first of a group is in it.
    """
    found = {name: bootstrap(rows) for name, rows in values.items()}
    ranked = sorted(found, key=lambda name: found[name].median)
    groups: list[list[str]] = []
    for name in ranked:
        if groups and found[name].overlaps(found[groups[-1][0]]):
            groups[-1].append(name)
        else:
            groups.append([name])
    told, place = {}, 1
    for group in groups:
        for name in group:
            told[name] = f"{place}, tie" if len(group) > 1 else str(place)
        place += len(group)
    return told

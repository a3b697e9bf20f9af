"""What generators tell, put together: counts, times, and the histogram."""

import json
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

SHARES = (0.5, 0.75, 0.9, 0.99, 0.999)
ROWS_MAX = 14
"""Rows of the printed histogram."""


@dataclass
class Moment:
    """What one generator has told last, before its end."""

    at: float = 0.0
    answered: int = 0
    failed: int = 0
    octets: int = 0
    behind: int = 0
    p50: float = 0.0
    p99: float = 0.0
    max: float = 0.0


@dataclass
class Figures:
    """What came of a load; times are nanoseconds."""

    seconds: float = 0.0
    answered: int = 0
    failed: int = 0
    octets: int = 0
    unfinished: int = 0
    min_ns: int = 0
    max_ns: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    slots: Counter[int] = field(default_factory=Counter)

    def add(self, told: dict) -> None:
        """Adds what a generator has told at its end."""
        count = self.count
        self.seconds = max(self.seconds, told["seconds"])
        self.answered += told["answered"]
        self.failed += told["failed"]
        self.octets += told["octets"]
        self.unfinished += told["unfinished"]
        self.slots.update({value: n for value, n in told["slots"]})
        if self.count > count:
            least = told["min_ns"]
            self.min_ns = min(self.min_ns, least) if count else least
            self.max_ns = max(self.max_ns, told["max_ns"])
        self.statuses.update({int(k): n for k, n in told["statuses"].items()})
        self.errors.update(told["errors"])

    @property
    def count(self) -> int:
        """Times that are known: of answers, and of what had none at the end."""
        return sum(self.slots.values())

    @property
    def refused(self) -> int:
        """Answers of 400 and more."""
        return sum(n for status, n in self.statuses.items() if status >= 400)

    @property
    def is_clean(self) -> bool:
        """True if every request was answered, with a status below 400."""
        return not (self.failed or self.unfinished or self.refused) and self.answered > 0

    def at(self, share: float) -> int:
        """Gives the time that a share of all requests did not exceed."""
        wanted, seen = max(math.ceil(share * self.count), 1), 0
        for value in sorted(self.slots):
            seen += self.slots[value]
            if seen >= wanted:
                return max(value, self.min_ns)
        return 0

    def rows(self) -> list[tuple[int, int]]:
        """Cuts the times into steps of equal ratio: upper end and count."""
        if not self.count:
            return []
        low, high = max(self.min_ns, 1), max(self.max_ns, self.min_ns, 1)
        steps = 1 if high <= low else ROWS_MAX
        ratio = (high / low) ** (1 / steps)
        ends = [round(low * ratio ** (step + 1)) for step in range(steps - 1)] + [high]
        counts = [0] * steps
        place = 0
        for value in sorted(self.slots):
            while place < steps - 1 and value > ends[place]:
                place += 1
            counts[place] += self.slots[value]
        return list(zip(ends, counts))

    def as_json(self) -> str:
        """Writes all but the histogram; times in microseconds."""
        times = {"min": self.min_ns, "max": self.max_ns}
        times |= {f"p{share * 100:g}": self.at(share) for share in SHARES}
        return json.dumps(
            {
                "seconds": self.seconds,
                "answered": self.answered,
                "failed": self.failed,
                "unfinished": self.unfinished,
                "octets": self.octets,
                "statuses": {str(k): self.statuses[k] for k in sorted(self.statuses)},
                "errors": dict(self.errors),
                "latency_us": {name: value / 1000 for name, value in times.items()},
            }
        )


def shares(total: int, parts: int) -> list[int]:
    """Deals a number out to so many parts, as evenly as it goes."""
    return [total // parts + (index < total % parts) for index in range(parts)]


def together(moments: Iterable[Moment]) -> Moment:
    """Adds up what several generators tell; of times the worst counts."""
    seen = list(moments)
    return Moment(
        at=max(moment.at for moment in seen),
        answered=sum(moment.answered for moment in seen),
        failed=sum(moment.failed for moment in seen),
        octets=sum(moment.octets for moment in seen),
        behind=sum(moment.behind for moment in seen),
        p50=max(moment.p50 for moment in seen),
        p99=max(moment.p99 for moment in seen),
        max=max(moment.max for moment in seen),
    )

"""How long attempts at an upstream take, counted by classes."""

from flare.bytes.checked import *
from flare.bytes.digits import seconds_text
from std.builtin.globals import global_constant

comptime DURATION_CLASS_COUNT = 14
"""How many classes there are; the last one has no bound."""

comptime _BOUNDS_US: Array[Int, DURATION_CLASS_COUNT - 1] = [
    1_000,
    2_500,
    5_000,
    10_000,
    25_000,
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    10_000_000,
    60_000_000,
]


struct Durations(Copyable, Movable):
    """Counts of durations."""

    var counts: List[Int]
    """How many were of each class."""
    var sum_us: Int
    """All of them together, in microseconds."""

    def __init__(out self):
        """Makes one that has counted nothing."""
        self.counts = List[Int](length=DURATION_CLASS_COUNT, fill=0)
        self.sum_us = 0

    def add(mut self, elapsed_us: Int):
        """Counts a duration.

        Args:
            elapsed_us: In microseconds.
        """
        var index = 0
        while index < DURATION_CLASS_COUNT - 1 and (
            elapsed_us > global_constant[_BOUNDS_US]().at(index)
        ):
            index += 1
        self.counts.at(index) += 1
        self.sum_us += elapsed_us


def bound_text(index: Int) -> String:
    """Names the longest duration of a class, below `DURATION_CLASS_COUNT`: in
    seconds, as Prometheus has it."""
    if index == DURATION_CLASS_COUNT - 1:
        return String("+Inf")
    return seconds_text(global_constant[_BOUNDS_US]()[index])

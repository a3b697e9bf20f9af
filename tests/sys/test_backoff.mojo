"""Waits between attempts: how they grow, and what is left to chance."""

from flare.sys.backoff import Backoff
from tests.support.assertions import assert_equal


def test_waits_double_up_to_the_longest() raises:
    var longest: List[Int] = [50, 100, 200, 400, 800, 1_600, 2_000, 2_000]
    var backoff = Backoff(50, 2_000)
    for index in range(len(longest)):
        assert_equal(backoff.longest_ms(index + 1), longest[index])
    assert_equal(backoff.longest_ms(0), 50)
    assert_equal(backoff.longest_ms(1_000_000), 2_000)


def test_waits_at_their_bounds() raises:
    # (the first, the longest of all, attempts, how long the wait may be)
    for row in [
        (0, 1_000, 1_000, 0),
        (-5, 1_000, 3, 0),
        (100, 0, 3, 0),
        (100, 70, 1, 70),
        (100, 101, 2, 101),
        (100, 199, 3, 199),
        (1 << 60, 1 << 40, 1_000, 1 << 40),
        (1, 1 << 62, 1_000, 1 << 62),
    ]:
        assert_equal(Backoff(row[0], row[1]).longest_ms(row[2]), row[3])


def test_what_is_left_to_chance() raises:
    # Who lost one server together does not come back together: half of the wait
    # is certain, or nothing of it.
    var backoff = Backoff(50, 2_000)
    for attempt in range(1, 9):
        var longest = backoff.longest_ms(attempt)
        var waits = _Range()
        var spread = _Range()
        for random in range(4_002):
            waits.add(backoff.wait_ms(attempt, UInt64(random)))
            spread.add(backoff.spread_ms(attempt, UInt64(random)))
        assert_equal(waits.least, longest // 2)
        assert_equal(waits.most, longest)
        assert_equal(spread.least, 0)
        assert_equal(spread.most, longest)
    assert_equal(Backoff(0, 0).wait_ms(1_000_000, UInt64.MAX), 0)
    assert_equal(Backoff(0, 0).spread_ms(1_000_000, UInt64.MAX), 0)


struct _Range(Movable):
    var least: Int
    var most: Int

    def __init__(out self):
        self.least = Int.MAX
        self.most = -1

    def add(mut self, number: Int):
        self.least = min(self.least, number)
        self.most = max(self.most, number)

from flare.runtime.jitter import Jitter
from std.testing import assert_equal, assert_true


def test_limits_are_raised_by_up_to_a_part_of_them() raises:
    comptime TABLE: List[Tuple[Int, Int, Int]] = [
        # limit, percent, most that is added
        (0, 10, 0),
        (5, 10, 0),
        (10, 10, 1),
        (50, 10, 5),
        (99, 50, 49),
        (1_000, 10, 100),
        (1_000, 0, 0),
        (1_000, 100, 1_000),
    ]
    for row in materialize[TABLE]():
        var jitter = Jitter(7)
        var least = Int.MAX
        var most = -1
        for _ in range(20_000):
            var extra = jitter.raised(row[0], row[1]) - row[0]
            least = min(least, extra)
            most = max(most, extra)
        assert_equal(least, 0)
        assert_equal(most, row[2])


def test_large_limits_do_not_overflow() raises:
    assert_true(Jitter(1).raised(1 << 60, 100) >= 1 << 60)


def test_seeds_have_sequences_of_their_own() raises:
    assert_true(Jitter(1).next() != Jitter(2).next())
    assert_true(Jitter(0).next() != 0)

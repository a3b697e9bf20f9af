"""Which messages have come, and which are missing."""

from flare.backplane.origins import ORIGIN_COUNT_MAX, OriginTable
from tests.support.assertions import assert_equal, assert_false, assert_true


def test_each_counts_once() raises:
    var table = OriginTable()
    # (origin, sequence, is it new, lost so far)
    var rows = [
        (1, 5, True, 0),  # the first that is heard
        (1, 6, True, 0),
        (1, 6, False, 0),
        (1, 4, False, 0),
        (2, 1, True, 0),  # each by itself
        (1, 9, True, 2),
        (2, 2, True, 2),
        (2, 4, True, 3),
    ]
    var repeated = 0
    for row in rows:
        assert_equal(table.note(UInt64(row[0]), row[1], 0), row[2])
        assert_equal(table.lost_count, row[3])
        repeated += Int(not row[2])
    assert_equal(table.repeated_count, repeated)
    assert_equal(table.last(1), 9)
    assert_equal(table.last(3), 0)


def test_who_is_silent_is_forgotten_first() raises:
    var table = OriginTable()
    for origin in range(3 * ORIGIN_COUNT_MAX):
        assert_true(table.note(UInt64(origin), 1, origin))
        assert_true(len(table) <= ORIGIN_COUNT_MAX)
        assert_true(table.note(1 << 40, origin + 1, origin))
    assert_equal(table.last(1 << 40), 3 * ORIGIN_COUNT_MAX)
    assert_false(table.note(UInt64(3 * ORIGIN_COUNT_MAX - 1), 1, 0))
    assert_equal(table.last(0), 0)


def test_half_is_kept_of_those_heard_at_once() raises:
    """As when a reader catches up with what others have said meanwhile."""
    for late in [0, 1, ORIGIN_COUNT_MAX // 4, ORIGIN_COUNT_MAX - 1]:
        var table = OriginTable()
        for origin in range(ORIGIN_COUNT_MAX):
            assert_true(table.note(UInt64(origin), 1, Int(origin >= late)))
        assert_true(table.note(1 << 40, 1, 1))
        assert_equal(len(table), ORIGIN_COUNT_MAX // 2 + 1)
        assert_equal(table.last(0), 0)
        assert_equal(table.last(ORIGIN_COUNT_MAX - 1), 1)

"""Tests of deadlines."""

from flare.sys.deadline import NO_TIMEOUT_MS, Deadline
from std.testing import assert_equal, assert_true


def test_deadline_counts_down() raises:
    var deadline = Deadline(60_000)
    var left = deadline.left_ms()
    assert_true(left > 50_000 and left <= 60_000, String(left))
    assert_equal(deadline.timeout_ms, 60_000)


def test_deadline_that_is_over_stays_at_zero() raises:
    var deadline = Deadline(0)
    assert_equal(deadline.left_ms(), 0)
    assert_equal(deadline.left_ms(), 0)


def test_deadline_may_never_come() raises:
    assert_equal(Deadline(NO_TIMEOUT_MS).left_ms(), -1)
    assert_equal(Deadline(-9).left_ms(), -1)


def test_deadline_far_away_does_not_overflow() raises:
    var left = Deadline(Int.MAX).left_ms()
    # What poll takes: an int of 32 bits.
    assert_true(left > 0 and left < 1 << 32, String(left))

"""Tests of the clocks."""

from flare.sys.clock import (
    NO_TIMEOUT_MS,
    Deadline,
    coarse_monotonic_ms,
    monotonic_ns,
    thread_cpu_ns,
    unix_seconds,
)
from tests.support.assertions import assert_equal, assert_true


def test_clock_monotonic_does_not_go_back() raises:
    var last = monotonic_ns()
    for _ in range(1_000):
        var now = monotonic_ns()
        assert_true(now >= last)
        last = now


def test_clock_coarse_is_near_the_fine_one() raises:
    var coarse_ms = coarse_monotonic_ms()
    var fine_ms = monotonic_ns() // 1_000_000
    # Both count from boot; a busy machine may pause between the two reads.
    assert_true(fine_ms - coarse_ms >= -1)
    assert_true(fine_ms - coarse_ms < 1_000)


def test_clock_thread_time_grows_with_work() raises:
    var before = thread_cpu_ns()
    while thread_cpu_ns() < before + 1_000:
        pass
    assert_true(thread_cpu_ns() > before)


def test_clock_day_is_after_the_first_commit() raises:
    assert_true(unix_seconds() > 1_700_000_000)
    assert_true(unix_seconds() < 10_000_000_000)


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
    # What poll takes: an int of 32 bits, of which one is the sign.
    assert_true(left > 0 and left < 1 << 31, String(left))

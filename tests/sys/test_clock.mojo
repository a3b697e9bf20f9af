"""Tests of the clocks."""

from flare.sys.clock import (
    coarse_monotonic_ms,
    monotonic_ns,
    thread_cpu_ns,
    unix_seconds,
)
from std.testing import assert_true


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

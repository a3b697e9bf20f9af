"""Tests of backoff, budget and jitter."""

from flare.runtime.prefork.config import Jitter, RestartBudget, RestartPolicy
from tests.support.assertions import assert_equal, assert_false, assert_true


def test_delay_doubles_up_to_the_most() raises:
    var policy = RestartPolicy(100, 5_000, 5_000, 30, 60_000)
    var full = [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000]
    for index in range(len(full)):
        # No jitter gives all of the wait, the most of it half.
        assert_equal(policy.delay_ms(index + 1, 0), full[index])
        var half = full[index] // 2
        assert_equal(
            policy.delay_ms(index + 1, UInt64(half)), full[index] - half
        )
    assert_equal(policy.delay_ms(1_000_000, 0), 5_000)


def test_delay_stays_between_half_and_all() raises:
    var policy = RestartPolicy(7, 1_000, 1, 1, 1)
    var jitter = Jitter(42)
    var seen = List[Int]()
    for _ in range(1_000):
        var delay = policy.delay_ms(5, jitter.next())
        assert_true(delay >= 56 and delay <= 112)
        if delay not in seen:
            seen.append(delay)
    assert_true(len(seen) > 40)


def test_budget_slides() raises:
    var policy = RestartPolicy(1, 1, 1, 3, 1_000)
    var budget = RestartBudget()
    assert_equal(budget.note(policy, 0), 1)
    assert_equal(budget.note(policy, 500), 2)
    assert_equal(budget.note(policy, 999), 3)
    # The first one is a whole window away.
    assert_equal(budget.note(policy, 1_000), 3)
    assert_equal(budget.note(policy, 1_499), 4)
    assert_equal(budget.note(policy, 10_000), 1)


def test_jitter_raises_a_limit_by_so_much_at_most() raises:
    var jitter = Jitter(0)
    var least = 1 << 40
    var most = 0
    for _ in range(1_000):
        var raised = jitter.raised(1_000, 20)
        assert_true(raised >= 1_000 and raised <= 1_200)
        least = min(least, raised)
        most = max(most, raised)
    assert_true(least < 1_020 and most > 1_180)
    assert_equal(jitter.raised(1_000, 0), 1_000)
    assert_equal(jitter.raised(0, 100), 0)


def test_where_nobody_is_left_only_starts_that_fail_wait_longer() raises:
    var policy = RestartPolicy(100, 5_000, 5_000, 30, 60_000)
    var budget = RestartBudget()
    # While others serve, the row of crashes counts.
    assert_equal(budget.delay_ms(policy, 6, 0, is_alone=False), 3_200)
    # Nobody serves: as after a first crash.
    assert_equal(budget.delay_ms(policy, 6, 0, is_alone=True), 100)
    assert_equal(budget.delay_ms(policy, 6, 50, is_alone=True), 50)
    # Starts that come to nothing.
    var full = [100, 200, 400, 800]
    for index in range(len(full)):
        budget.note_start(is_ready=False)
        assert_equal(budget.delay_ms(policy, 9, 0, is_alone=True), full[index])
    # No longer than the worker's own row.
    assert_equal(budget.delay_ms(policy, 1, 0, is_alone=True), 100)
    budget.note_start(is_ready=True)
    assert_equal(budget.delay_ms(policy, 9, 0, is_alone=True), 100)


def test_starts_that_come_to_nothing_end_outside_of_the_window_too() raises:
    """One worker waits too long for the window ever to fill."""
    var policy = RestartPolicy(100, 5_000, 5_000, 30, 60_000)
    var budget = RestartBudget()
    var now_ms = 0
    for count in range(1, 31):
        budget.note_start(is_ready=False)
        assert_true(budget.note(policy, now_ms) <= policy.restarts_max)
        assert_false(budget.is_hopeless(policy))
        now_ms += budget.delay_ms(policy, count, 0, is_alone=True)
    budget.note_start(is_ready=False)
    assert_true(budget.note(policy, now_ms) <= policy.restarts_max)
    assert_true(budget.is_hopeless(policy))
    budget.note_start(is_ready=True)
    assert_false(budget.is_hopeless(policy))


def test_a_short_wait_does_not_spare_the_budget() raises:
    """A loop of crashes where nobody is left still ends."""
    var policy = RestartPolicy(100, 5_000, 5_000, 30, 60_000)
    var budget = RestartBudget()
    var now_ms = 0
    var count = 0
    while count <= policy.restarts_max and now_ms < policy.window_ms:
        count = budget.note(policy, now_ms)
        now_ms += budget.delay_ms(policy, count, 0, is_alone=True)
    assert_equal(count, 31)
    assert_equal(now_ms, 3_100)

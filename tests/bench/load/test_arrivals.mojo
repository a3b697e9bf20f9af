"""When requests are due, whatever became of those before."""

from cli.mojo_flare.bench.load.arrivals import Arrivals
from tests.support.assertions import assert_equal, assert_false, assert_true

comptime SECOND_NS = 1_000_000_000


def test_requests_are_spread_evenly() raises:
    var arrivals = Arrivals(4, 100, SECOND_NS)
    for index in range(4):
        assert_equal(arrivals.take(), 100 + index * SECOND_NS // 4)
    assert_true(arrivals.is_over())


def test_a_rate_that_divides_nothing_evenly_loses_no_request() raises:
    var arrivals = Arrivals(7, 0, 3 * SECOND_NS)
    while not arrivals.is_over():
        _ = arrivals.take()
    assert_equal(arrivals.taken_count, 21)


def test_what_is_late_stays_due_from_when_it_was() raises:
    var arrivals = Arrivals(1000, 0, SECOND_NS)
    assert_false(arrivals.is_due(-1))
    # The server stopped for half a second: five hundred have become due.
    var late_count = 0
    while arrivals.is_due(SECOND_NS // 2 - 1):
        assert_equal(arrivals.take(), late_count * 1_000_000)
        late_count += 1
    assert_equal(late_count, 500)


def test_a_long_run_does_not_overflow() raises:
    var arrivals = Arrivals(1_000_000, 0, 100_000 * SECOND_NS)
    arrivals.taken_count = 99_999 * 1_000_000 + 1
    assert_equal(arrivals.next_ns(), 99_999 * SECOND_NS + 1000)


def test_what_is_due_and_was_not_taken_is_counted() raises:
    var arrivals = Arrivals(1000, SECOND_NS, 2 * SECOND_NS)
    assert_equal(arrivals.behind_count(SECOND_NS - 1), 0)
    assert_equal(arrivals.behind_count(SECOND_NS), 1)
    assert_equal(arrivals.behind_count(SECOND_NS + SECOND_NS // 2), 501)
    for _ in range(501):
        _ = arrivals.take()
    assert_equal(arrivals.behind_count(SECOND_NS + SECOND_NS // 2), 0)
    assert_equal(arrivals.behind_count(9 * SECOND_NS), 2000 - 501)


def test_without_a_rate_one_is_due_at_any_time() raises:
    var arrivals = Arrivals(0, 100, SECOND_NS)
    assert_false(arrivals.is_due(99))
    for now_ns in range(100, 1000):
        assert_true(arrivals.is_due(now_ns))
        assert_equal(arrivals.take(now_ns), now_ns)
        assert_equal(arrivals.behind_count(now_ns), 0)

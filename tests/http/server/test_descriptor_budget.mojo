"""How descriptors are divided between connections and what they need."""

from flare.http.server.config import DescriptorBudget, RESERVE_COUNT_MAX
from tests.support.assertions import assert_equal, assert_true


def test_a_quarter_is_kept() raises:
    var budget = DescriptorBudget(1_024)
    assert_equal(budget.refused_from, 768)
    # Connections that are answered 503 take a quarter of that at most.
    assert_equal(budget.dropped_from, 832)


def test_a_high_limit_has_a_bounded_reserve() raises:
    var budget = DescriptorBudget(1 << 20)
    assert_equal(budget.refused_from, (1 << 20) - RESERVE_COUNT_MAX)


def test_order_holds_for_every_limit() raises:
    for limit in range(0, 5_000):
        var budget = DescriptorBudget(limit)
        assert_true(budget.refused_from <= budget.dropped_from)
        assert_true(budget.dropped_from <= limit)

"""Numbers that a program chooses: both bounds are allowed, and told."""

from flare.bytes.ranges import range_problem
from tests.support.assertions import assert_equal


def test_bounds() raises:
    for value in [1, 2, 60_000]:
        assert_equal(range_problem("timeout_ms", value, 1, 60_000), "")
    assert_equal(
        range_problem("timeout_ms", 0, 1, 60_000),
        "timeout_ms is 0; allowed are 1 to 60000",
    )
    assert_equal(
        range_problem("timeout_ms", 60_001, 1, 60_000),
        "timeout_ms is 60001; allowed are 1 to 60000",
    )
    assert_equal(
        range_problem("group.weight", -7, -5, -5),
        "group.weight is -7; allowed are -5 to -5",
    )

"""How often lines are written that clients bring about."""

from flare.http.server.worker_state import LinePace, PACE_MS
from tests.support.assertions import assert_equal, assert_false, assert_true


def test_one_line_in_a_while() raises:
    var pace = LinePace()
    assert_true(pace.may_write(5))
    assert_equal(pace.take_left_out(), 0)
    for _ in range(3):
        assert_false(pace.may_write(5))
    assert_false(pace.may_write(4 + PACE_MS))
    assert_true(pace.may_write(5 + PACE_MS))
    assert_equal(pace.take_left_out(), 4)
    # They are told of once.
    assert_false(pace.may_write(6 + PACE_MS))
    assert_true(pace.may_write(5 + 2 * PACE_MS))
    assert_equal(pace.take_left_out(), 1)
    assert_equal(pace.take_left_out(), 0)

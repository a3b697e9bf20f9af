"""Which address calls begin with: load-balancing.md of gRPC, "pick_first" and
"round_robin", and connection-backoff.md for how long one is left alone."""

from flare.grpc.client.address_turns import (
    MISS_FIRST_MS,
    MISS_MAX_MS,
    AddressTurns,
)
from tests.support.assertions import assert_equal


def _firsts(mut turns: AddressTurns, count: Int, now_ms: Int) -> String:
    var text = String()
    for _ in range(count):
        text.write(turns.first(now_ms))
    return text^


def test_each_in_turn() raises:
    var turns = AddressTurns(3, spreads=True)
    assert_equal(_firsts(turns, 7, 0), "0120120")


def test_all_at_that_which_was_reached_last() raises:
    var turns = AddressTurns(3, spreads=False)
    assert_equal(_firsts(turns, 3, 0), "000")
    turns.note_reached(2, 0)
    assert_equal(_firsts(turns, 3, 0), "222")


def test_one_that_was_not_reached_is_passed_over() raises:
    """Those that are there share its turns."""
    var turns = AddressTurns(3, spreads=True)
    turns.note_missed(1, 5)
    assert_equal(_firsts(turns, 6, 5), "020202")
    # When the time is over, one call tries it, and others do not wait with it.
    turns.note_reached(0, 5 + MISS_FIRST_MS)
    turns.note_reached(2, 5 + MISS_FIRST_MS)
    assert_equal(_firsts(turns, 6, 5 + MISS_FIRST_MS), "012020")
    turns.note_reached(1, 5 + MISS_FIRST_MS)
    assert_equal(_firsts(turns, 3, 5 + MISS_FIRST_MS), "120")


def test_it_is_passed_over_for_longer_each_time() raises:
    var turns = AddressTurns(2, spreads=True)
    var now_ms = 0
    var pause_ms = MISS_FIRST_MS
    for _ in range(10):
        turns.note_missed(0, now_ms)
        turns.note_reached(1, now_ms + pause_ms - 1)
        assert_equal(_firsts(turns, 3, now_ms + pause_ms - 1), "111")
        now_ms += pause_ms
        turns.note_reached(1, now_ms)
        assert_equal(turns.first(now_ms), 0)
        pause_ms = min(2 * pause_ms, MISS_MAX_MS)


def test_of_a_host_that_is_silent_one_call_at_a_time_finds_out() raises:
    """Whether it takes connections, or those that it has go nowhere: the calls of
    others must not wait for it until they find out."""
    var turns = AddressTurns(3, spreads=True)
    var now_ms = 7 * MISS_FIRST_MS
    # Of none is known that it is there.
    assert_equal(_firsts(turns, 3, now_ms), "012")
    for address in [0, 2]:
        turns.note_reached(address, now_ms)
    assert_equal(_firsts(turns, 4, now_ms), "0202")
    turns.note_reached(1, now_ms)
    assert_equal(_firsts(turns, 3, now_ms), "012")
    now_ms += MISS_FIRST_MS
    for address in [0, 2]:
        turns.note_reached(address, now_ms)
    assert_equal(_firsts(turns, 7, now_ms), "0120202")


def test_where_all_are_silent_calls_are_spread_nevertheless() raises:
    """They may have methods that take long."""
    var turns = AddressTurns(3, spreads=True)
    assert_equal(_firsts(turns, 9, 7 * MISS_FIRST_MS), "012012012")


def test_where_none_was_reached_all_are_tried() raises:
    var turns = AddressTurns(2, spreads=True)
    turns.note_missed(0, 0)
    turns.note_missed(1, 0)
    assert_equal(_firsts(turns, 4, 1), "0101")


def test_after_one_that_was_not_reached_calls_stay_with_the_next() raises:
    """However seldom they come: it may never have answered."""
    var turns = AddressTurns(3, spreads=False)
    turns.note_missed(0, 0)
    assert_equal(_firsts(turns, 2, 0), "11")
    assert_equal(_firsts(turns, 2, MISS_MAX_MS), "11")
    turns.note_missed(1, MISS_MAX_MS)
    assert_equal(_firsts(turns, 2, MISS_MAX_MS), "22")
    # Of one that another call has gone to by itself nothing follows.
    turns.note_missed(0, MISS_MAX_MS)
    assert_equal(_firsts(turns, 2, MISS_MAX_MS), "22")

"""The histogram: its slots, its shares, its error."""

from cli.mojo_flare.bench.load.histogram import (
    VALUE_MAX,
    Histogram,
    highest_of,
    slot_of,
)
from tests.support.assertions import assert_equal, assert_true


def test_every_value_is_in_the_slot_that_ends_at_or_above_it() raises:
    var value = 0
    while value < VALUE_MAX:
        for near in range(max(value - 1, 0), value + 2):
            var slot = slot_of(near)
            assert_true(highest_of(slot) >= near)
            assert_true(slot == 0 or highest_of(slot - 1) < near)
        value = value * 2 + 1
    assert_equal(highest_of(slot_of(VALUE_MAX)), VALUE_MAX)


def test_small_values_are_exact_and_large_ones_to_a_thousandth() raises:
    for value in range(2048):
        assert_equal(highest_of(slot_of(value)), value)
    var value = 2048
    while value < 1_000_000_000:
        var high = highest_of(slot_of(value))
        assert_true(high - value <= value // 1024, String(value))
        value = value * 3 // 2


def test_shares_of_one_to_a_thousand() raises:
    var histogram = Histogram()
    for value in range(1000, 0, -1):
        histogram.record(value)
    assert_equal(histogram.count, 1000)
    assert_equal(histogram.least, 1)
    assert_equal(histogram.most, 1000)
    assert_equal(histogram.at(0), 1)
    assert_equal(histogram.at(0.5), 500)
    assert_equal(histogram.at(0.99), 990)
    assert_equal(histogram.at(0.999), 999)
    assert_equal(histogram.at(1), 1000)


def test_no_value_has_no_shares() raises:
    var histogram = Histogram()
    assert_equal(histogram.at(0.5), 0)
    assert_equal(histogram.count, 0)


def test_what_is_beyond_the_range_counts_at_its_edge() raises:
    var histogram = Histogram()
    histogram.record(-5)
    histogram.record(VALUE_MAX + 1)
    assert_equal(histogram.least, 0)
    assert_equal(histogram.at(1), VALUE_MAX)


def test_a_share_is_never_beyond_what_was_seen() raises:
    var histogram = Histogram()
    histogram.record(1_000_001)
    assert_equal(histogram.at(0.5), 1_000_001)
    assert_equal(histogram.at(1), 1_000_001)


def test_slots_are_written_with_their_largest_value() raises:
    var histogram = Histogram()
    for value in [5, 5, 7, 3000]:
        histogram.record(value)
    var text = String()
    histogram.write_slots(text)
    assert_equal(text, "[5, 2], [7, 1], [3000, 1]")


def test_a_histogram_can_be_used_anew() raises:
    var histogram = Histogram()
    histogram.record(9)
    histogram.clear()
    assert_equal(histogram.at(1), 0)
    histogram.record(3)
    assert_equal(histogram.least, 3)
    assert_equal(histogram.most, 3)
    assert_equal(histogram.count, 1)

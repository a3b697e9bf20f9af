"""Octets that are the same."""

from flare.bytes.compare import same_octets, same_short, same_words
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.guard_page import GuardedBytes


def test_octets_are_the_same_or_differ_at_each_place() raises:
    for length in range(0, 70):
        var left = List[UInt8](length=length, fill=7)
        var right = left.copy()
        assert_true(same_octets(Span(left), Span(right)))
        assert_true(same_short(Span(left), Span(right)))
        for place in range(length):
            right[place] = 135
            assert_false(same_octets(Span(left), Span(right)))
            assert_false(same_short(Span(left), Span(right)))
            right[place] = 7
        right.append(7)
        assert_false(same_octets(Span(left), Span(right)))
        assert_false(same_octets(Span(right), Span(left)))
        assert_false(same_short(Span(left), Span(right)))
        assert_false(same_short(Span(right), Span(left)))


def test_words_are_the_same_or_differ_at_each_place() raises:
    for length in range(0, 40):
        var left = List[UInt8](length=length, fill=7)
        var right = left.copy()
        var are_words = length >= 4 and length <= 32
        assert_equal(same_words(Span(left), Span(right)), are_words)
        for place in range(length):
            right[place] = 135
            assert_false(same_words(Span(left), Span(right)))
            right[place] = 7


def test_nothing_behind_the_octets_is_read() raises:
    for length in range(0, 70):
        var octets = List[UInt8](length=length, fill=7)
        var guarded = GuardedBytes(octets)
        assert_true(same_octets(guarded.span(), Span(octets)))
        _ = same_words(guarded.span(), Span(octets))

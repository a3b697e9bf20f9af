"""Tests of checked elements and parts."""

from flare.bytes.checked import *
from tests.support.assertions import assert_equal


def test_at_lends_the_element() raises:
    var numbers: List[Int] = [3, 5, 7]
    assert_equal(numbers.at(0), 3)
    assert_equal(numbers.at(2), 7)
    numbers.at(1) = 6
    assert_equal(numbers[1], 6)
    var four = Array[Int, 4](fill=1)
    four.at(3) = 9
    assert_equal(four.at(3), 9)
    assert_equal(four.at(0), 1)
    var span = Span(numbers)
    assert_equal(span.at(2), 7)


def test_unsafe_at_lends_the_element() raises:
    var numbers: List[Int] = [3, 5, 7]
    # SAFETY: all indices are below the lengths.
    assert_equal(numbers.unsafe_at(2), 7)
    numbers.unsafe_at(1) = 6
    assert_equal(numbers[1], 6)
    var four = Array[Int, 4](fill=1)
    # SAFETY: as above.
    four.unsafe_at(3) = 9
    assert_equal(four.unsafe_at(3), 9)
    assert_equal(Span(numbers).unsafe_at(0), 3)


def test_parts_are_those_of_slices() raises:
    var octets = "hello".as_bytes()
    for start in range(len(octets) + 1):
        assert_equal(
            StringSpan(unsafe_from_utf8=octets.after(start)),
            StringSpan(unsafe_from_utf8=octets[start:]),
        )
        assert_equal(
            StringSpan(unsafe_from_utf8=octets.before(start)),
            StringSpan(unsafe_from_utf8=octets[:start]),
        )
        for end in range(start, len(octets) + 1):
            assert_equal(
                StringSpan(unsafe_from_utf8=octets.between(start, end)),
                StringSpan(unsafe_from_utf8=octets[start:end]),
            )


def test_held_lends_the_value() raises:
    var name = Optional(String("a"))
    assert_equal(name.held(), "a")
    name.held() = "b"
    assert_equal(name.value(), "b")

"""Octets in a list or a text of their own."""

from flare.bytes.copy import list_of, refill, text_of
from tests.support.assertions import assert_equal, assert_true
from tests.support.guard_page import GuardedBytes


def test_all_octets_are_copied_and_none_behind_them_is_read() raises:
    for length in range(0, 300):
        var octets = List[UInt8](capacity=length)
        for index in range(length):
            octets.append(UInt8(index * 7 & 255))
        var guarded = GuardedBytes(octets)
        var copy = list_of(guarded.span())
        assert_equal(copy, octets)
        # Most of them are no UTF-8, as octets of a field's value need not be.
        var text = text_of(guarded.span())
        assert_equal(list_of(text.as_bytes()), octets)


def test_a_copy_is_its_own() raises:
    var octets: List[UInt8] = [1, 2, 3]
    var copy = list_of(octets)
    octets[0] = 9
    assert_equal(copy, [UInt8(1), UInt8(2), UInt8(3)])


def test_a_list_is_filled_again_in_its_memory() raises:
    var list = List[UInt8]()
    for length in [0, 3, 300, 299, 0, 1, 300]:
        var octets = List[UInt8](capacity=length)
        for index in range(length):
            octets.append(UInt8((index + length) & 255))
        var capacity = list.capacity()
        var guarded = GuardedBytes(octets)
        refill(list, guarded.span())
        assert_equal(list, octets)
        assert_true(list.capacity() == max(capacity, length))

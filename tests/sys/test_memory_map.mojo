"""Tests of memory with a forbidden page behind it."""

from flare.sys.memory_map import PAGE_LEN, GuardedMemory
from std.testing import assert_equal
from tests.support.guard_page import GuardedBytes


def test_guarded_memory_is_writable_to_its_end() raises:
    for length in [1, 2, PAGE_LEN - 1, PAGE_LEN, PAGE_LEN + 1]:
        var memory = GuardedMemory(length)
        var room = memory.last(length)
        assert_equal(len(room), length)
        room[0] = 1
        room[length - 1] = 2
        assert_equal(room[length - 1], 2)


def test_guarded_bytes_are_a_copy() raises:
    var source: List[UInt8] = [1, 2, 3]
    var guarded = GuardedBytes(source)
    source[0] = 9
    assert_equal(len(guarded.span()), 3)
    assert_equal(guarded.span()[0], 1)
    assert_equal(guarded.span()[2], 3)
    var empty = GuardedBytes(source[0:0])
    assert_equal(len(empty.span()), 0)

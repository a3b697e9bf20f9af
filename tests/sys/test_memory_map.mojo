"""Tests of memory with a forbidden page behind it."""

from flare.sys.memory_map import PAGE_LEN, GuardedMemory, ProcessWord
from flare.sys.platform import IS_MACOS
from flare.sys.process import end_process, fork_process, reap
from flare.sys.signal import SignalPause
from tests.support.assertions import assert_equal
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


def test_a_child_starts_from_nothing() raises:
    var word = ProcessWord()
    assert_equal(word.load(), 0)
    word.store(7)
    var kept = 0 if IS_MACOS else 7
    assert_equal(word.load(), kept)
    var pause = SignalPause()
    var child = fork_process()
    if child == 0:
        # What the child remembers is its own.
        var found = word.load()
        word.store(9)
        end_process(found)
    pause^.end()
    var status = reap(child)
    while not status:
        status = reap(child)
    assert_equal(status.value().code, 0)
    assert_equal(word.load(), kept)

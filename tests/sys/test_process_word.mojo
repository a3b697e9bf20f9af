"""A word that a fork's child does not have."""

from flare.sys.platform import IS_MACOS
from flare.sys.process import end_process, fork_process, reap
from flare.sys.process_word import ProcessWord
from flare.sys.signal import SignalPause
from std.testing import assert_equal


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

"""Tests of waiting for a few descriptors."""

from flare.sys.clock import Deadline
from flare.sys.descriptor import Pipe
from flare.sys.poll import (
    POLL_READ,
    POLL_WRITE,
    PollEntry,
    poll_descriptors,
    wait_for,
)
from tests.support.assertions import assert_equal


def test_poll_tells_which_are_ready() raises:
    var silent = Pipe()
    var rung = Pipe()
    rung.notify()
    var entries: List[PollEntry] = [
        PollEntry(silent.reading_fd(), POLL_READ, 0),
        PollEntry(-1, POLL_READ, 0),
        PollEntry(rung.reading_fd(), POLL_READ, 0),
        PollEntry(rung.writing_fd(), POLL_WRITE, 0),
    ]
    assert_equal(poll_descriptors(entries, 5_000), 2)
    assert_equal(entries[0].found, 0)
    assert_equal(entries[1].found, 0)
    assert_equal(entries[2].found, POLL_READ)
    assert_equal(entries[3].found, POLL_WRITE)
    _ = silent^
    _ = rung^


def test_wait_ends_at_its_deadline() raises:
    var pipe = Pipe()
    var number = pipe.reading_fd()
    assert_equal(wait_for(number, POLL_READ, Deadline(0)), 0)
    assert_equal(wait_for(number, POLL_READ, Deadline(20)), 0)
    pipe.notify()
    assert_equal(wait_for(number, POLL_READ, Deadline(5_000)), 1)
    assert_equal(wait_for(number, POLL_READ, Deadline(-1)), 1)
    _ = pipe^


def test_wait_for_what_is_not_open_ends_at_once() raises:
    # POLLNVAL: an error is ready, too; the call that follows says which.
    assert_equal(wait_for(9_999, POLL_READ, Deadline(5_000)), 1)
    var nothing = List[PollEntry]()
    assert_equal(poll_descriptors(nothing, 0), 0)

"""Tests of the pipe as a bell."""

from flare.sys.pipe import Pipe, notify_pipe
from std.testing import assert_equal, assert_true


def test_pipe_counts_rings() raises:
    var pipe = Pipe()
    assert_equal(pipe.drain(), 0)
    pipe.notify()
    notify_pipe(pipe.writing_fd())
    assert_equal(pipe.drain(), 2)
    assert_equal(pipe.drain(), 0)


def test_pipe_more_rings_than_one_read_takes() raises:
    var pipe = Pipe()
    for _ in range(1_000):
        pipe.notify()
    assert_equal(pipe.drain(), 1_000)


def test_pipe_full_bell_does_not_wait() raises:
    var pipe = Pipe()
    # More than any pipe holds (64 KiB on Linux).
    for _ in range(200_000):
        pipe.notify()
    assert_true(pipe.drain() > 0)
    assert_equal(pipe.drain(), 0)

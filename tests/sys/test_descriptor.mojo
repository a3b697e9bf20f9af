"""Tests of owned descriptors."""

from flare.sys.descriptor import (
    Descriptor,
    Pipe,
    close_descriptor,
    duplicate_from,
    is_kept_on_exec,
    notify_pipe,
    read_into,
    write_from,
)
from flare.sys.errno import EAGAIN, EBADF
from tests.support.assertions import assert_equal, assert_false, assert_true


def _read(number: Int32) -> Int:
    var room = Array[UInt8, 8](fill=0)
    return read_into(number, Span(room))


# The compiler ends a value's life at its last use, and a number is no use of
# what lent it: `_ = pipe^` keeps a pipe open until there.


def test_descriptor_is_closed_with_its_owner() raises:
    var pipe = Pipe()
    var owner = duplicate_from(pipe.reading_fd(), 3)
    assert_true(owner.is_open())
    var number = owner.fd()
    assert_equal(_read(number), -EAGAIN)
    _ = owner^
    assert_equal(_read(number), -EBADF)
    _ = pipe^


def test_descriptor_close_twice_closes_once() raises:
    var pipe = Pipe()
    var owner = duplicate_from(pipe.reading_fd(), 3)
    var number = owner.fd()
    owner.close()
    assert_false(owner.is_open())
    assert_equal(owner.fd(), -1)
    var successor = duplicate_from(pipe.reading_fd(), number)
    assert_equal(successor.fd(), number)
    owner.close()
    _ = owner^
    assert_equal(_read(number), -EAGAIN)
    _ = successor^
    _ = pipe^


def test_descriptor_move_closes_once() raises:
    var pipe = Pipe()
    var first = duplicate_from(pipe.reading_fd(), 3)
    var number = first.fd()
    var second = first^
    assert_equal(second.fd(), number)
    assert_equal(_read(number), -EAGAIN)
    _ = second^
    assert_equal(_read(number), -EBADF)
    _ = pipe^


def test_descriptor_release_leaves_it_open() raises:
    var pipe = Pipe()
    var owner = duplicate_from(pipe.reading_fd(), 3)
    var number = owner.release()
    assert_false(owner.is_open())
    _ = owner^
    assert_equal(_read(number), -EAGAIN)
    close_descriptor(number)
    assert_equal(_read(number), -EBADF)
    _ = pipe^


def test_descriptor_duplicate_takes_the_first_free_number() raises:
    var pipe = Pipe()
    var first = duplicate_from(pipe.writing_fd(), 100)
    var second = duplicate_from(pipe.writing_fd(), first.fd())
    assert_true(first.fd() >= 100)
    assert_true(second.fd() > first.fd())
    assert_false(duplicate_from(-1, 100).is_open())
    _ = first^
    _ = pipe^


def test_descriptor_write_then_read() raises:
    var pipe = Pipe()
    assert_equal(write_from(pipe.writing_fd(), "abc".as_bytes()), 3)
    assert_equal(_read(pipe.reading_fd()), 3)
    assert_equal(_read(pipe.reading_fd()), -EAGAIN)
    assert_equal(write_from(-1, "abc".as_bytes()), -EBADF)
    _ = pipe^


def test_descriptor_set_nonblocking_of_nothing_is_refused() raises:
    var nothing = Descriptor(owned=-1)
    var number = 0
    try:
        nothing.set_nonblocking()
    except error:
        number = error.number
    assert_equal(number, EBADF)


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


def test_pipe_is_closed_on_exec() raises:
    var pipe = Pipe()
    assert_false(is_kept_on_exec(pipe.reading_fd()))
    assert_false(is_kept_on_exec(pipe.writing_fd()))
    _ = pipe^


def _drained(pipe: Pipe) -> Int:
    return pipe.drain()


def test_a_pipe_is_drained_by_who_may_not_change_it() raises:
    """Others notify meanwhile, so the compiler must not write its fields."""
    var pipe = Pipe()
    pipe.notify()
    pipe.notify()
    assert_equal(_drained(pipe), 2)
    assert_equal(_drained(pipe), 0)

"""Tests of signals as octets."""

from flare.sys.descriptor import Pipe, duplicate_from, write_from
from flare.sys.epoll import (
    EPOLLIN,
    EPOLL_ADD,
    EpollEvents,
    control_epoll,
    create_epoll,
)
from flare.sys.errno import EINVAL
from flare.sys.signal import (
    SIGHUP,
    SIGKILL,
    SIGTERM,
    SIGUSR1,
    SignalPipe,
    ignore_sigpipe,
    process_id,
    send_signal,
)
from tests.support.assertions import assert_equal, assert_true


def test_signal_bell_counts_each_delivery() raises:
    var bell = SignalPipe([SIGTERM, SIGUSR1])
    assert_equal(len(bell.take()), 0)
    send_signal(process_id(), SIGTERM)
    send_signal(process_id(), SIGTERM)
    send_signal(process_id(), SIGUSR1)
    assert_equal(_wait_for(bell, 3), 3)


def _wait_for(mut bell: SignalPipe, wanted: Int) raises -> Int:
    """Waits until the signals were delivered, which another thread may do."""
    var epoll = create_epoll()
    var events = EpollEvents(1)
    control_epoll(epoll.fd(), EPOLL_ADD, bell.fd(), EPOLLIN, 0)
    var count = 0
    while count < wanted:
        if events.wait(epoll.fd(), 5_000) == 0:
            return count
        count += len(bell.take())
    return count


def test_signal_bell_puts_the_former_handler_back() raises:
    var outer = SignalPipe([SIGUSR1])
    var inner = SignalPipe([SIGUSR1])
    send_signal(process_id(), SIGUSR1)
    assert_equal(_wait_for(inner, 1), 1)
    _ = inner^
    send_signal(process_id(), SIGUSR1)
    assert_equal(_wait_for(outer, 1), 1)


def test_signal_bell_leaves_a_descriptor_in_use_alone() raises:
    var pipe = Pipe()
    var taken = duplicate_from(pipe.writing_fd(), 250)
    var bell = SignalPipe([SIGUSR1])
    send_signal(process_id(), SIGUSR1)
    assert_equal(_wait_for(bell, 1), 1)
    assert_equal(pipe.drain(), 0)
    assert_equal(write_from(taken.fd(), "x".as_bytes()), 1)
    assert_equal(pipe.drain(), 1)
    _ = taken^
    _ = bell^


def test_signal_bell_that_fails_leaves_no_handler() raises:
    var outer = SignalPipe([SIGHUP])
    var number = 0
    try:
        var refused = SignalPipe([SIGHUP, SIGKILL])
        _ = refused.take()
    except error:
        number = error.number
    assert_equal(number, EINVAL)
    send_signal(process_id(), SIGHUP)
    assert_equal(_wait_for(outer, 1), 1)


def test_signal_sigpipe_is_ignored() raises:
    ignore_sigpipe()
    send_signal(process_id(), 13)
    assert_true(process_id() > 0)

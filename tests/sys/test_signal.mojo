"""Tests of signals as octets."""

from flare.sys.descriptor import (
    Descriptor,
    Pipe,
    duplicate_from,
    write_from,
)
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
    SIGPIPE,
    SIGTERM,
    SIGUSR1,
    SIGXFSZ,
    SignalPipe,
    ignore_signal,
    ignore_sigpipe,
    let_writes_fail,
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


def test_signal_rings_all_bells() raises:
    """Each of two servers in one process is promised that SIGTERM stops it."""
    var first = SignalPipe([SIGTERM, SIGUSR1])
    var second = SignalPipe([SIGUSR1])
    send_signal(process_id(), SIGUSR1)
    assert_equal(_wait_for(second, 1), 1)
    assert_equal(_wait_for(first, 1), 1)
    send_signal(process_id(), SIGTERM)
    assert_equal(_wait_for(first, 1), 1)
    assert_equal(len(second.take()), 0)


def test_signal_bells_may_end_in_any_order() raises:
    """Those that are left ring, and what was done before comes back with the
    last: here, nothing. A number that was a bell's may be a stranger's then."""
    ignore_signal(SIGUSR1)
    for ends_first_first in [False, True]:
        var first = SignalPipe([SIGUSR1])
        var second = SignalPipe([SIGUSR1])
        if ends_first_first:
            swap(first, second)
        _ = second^
        send_signal(process_id(), SIGUSR1)
        assert_equal(_wait_for(first, 1), 1)
        _ = first^
        var pipe = Pipe()
        var strangers = List[Descriptor]()
        for number in [250, 1_000]:
            strangers.append(duplicate_from(pipe.writing_fd(), Int32(number)))
            assert_equal(Int(strangers[len(strangers) - 1].fd()), number)
        send_signal(process_id(), SIGUSR1)
        assert_equal(pipe.drain(), 0)
        _ = strangers^


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


def test_signal_of_writes_that_fail_are_ignored() raises:
    let_writes_fail()
    for signal in [SIGPIPE, SIGXFSZ]:
        send_signal(process_id(), signal)
    assert_true(process_id() > 0)

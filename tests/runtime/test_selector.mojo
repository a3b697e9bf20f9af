"""Tests of what epoll is told, and of what its answers mean."""

from flare.runtime.event import Interest, Waker
from flare.runtime.selector import (
    Selector,
    changes_of_interest,
    epoll_mask,
    event_of_epoll,
    event_of_kernel_event,
    refusal_of_receipts,
)
from flare.sys.epoll import (
    EPOLLERR,
    EPOLLET,
    EPOLLHUP,
    EPOLLIN,
    EPOLLOUT,
    EPOLLRDHUP,
)
from flare.sys.errno import EBADF, EEXIST, ENOENT
from flare.sys.kqueue import (
    EVFILT_READ,
    EVFILT_WRITE,
    EV_ADD,
    EV_CLEAR,
    EV_DELETE,
    EV_EOF,
    EV_ERROR,
    EV_RECEIPT,
    KernelEvent,
)
from flare.sys.descriptor import Pipe
from std.sys import size_of
from tests.support.assertions import assert_equal, assert_false, assert_true


def test_epoll_interests() raises:
    assert_equal(epoll_mask(Interest.NONE), 0)
    assert_equal(epoll_mask(Interest.READ), EPOLLIN | EPOLLRDHUP)
    assert_equal(epoll_mask(Interest.WRITE), EPOLLOUT)
    assert_equal(
        epoll_mask(Interest.READ | Interest.WRITE),
        EPOLLIN | EPOLLRDHUP | EPOLLOUT,
    )
    assert_equal(
        epoll_mask(Interest.STREAM),
        EPOLLIN | EPOLLRDHUP | EPOLLOUT | EPOLLET,
    )


@fieldwise_init
struct _Row(Copyable):
    var what: StaticString
    var mask: UInt32
    var is_readable: Bool
    var is_writable: Bool
    var is_closed: Bool


def test_epoll_answers() raises:
    var rows: List[_Row] = [
        _Row("octets", EPOLLIN, True, False, False),
        _Row("room", EPOLLOUT, False, True, False),
        _Row("both", EPOLLIN | EPOLLOUT, True, True, False),
        _Row("half-close", EPOLLIN | EPOLLRDHUP, True, False, True),
        _Row("half-close alone", EPOLLRDHUP, True, False, True),
        # Errors and hang-ups are read off by reading or by writing.
        _Row("hang-up", EPOLLHUP, True, True, True),
        _Row("error", EPOLLERR, True, True, True),
    ]
    for row in rows:
        var event = event_of_epoll(row.mask, 0xDEADBEEF_00000007)
        assert_equal(event.token, 0xDEADBEEF_00000007, row.what)
        assert_equal(event.is_readable, row.is_readable, row.what)
        assert_equal(event.is_writable, row.is_writable, row.what)
        assert_equal(event.is_closed, row.is_closed, row.what)
        assert_equal(event.has_failed, row.mask == EPOLLERR, row.what)


@fieldwise_init
struct _InterestRow(Copyable):
    var what: StaticString
    var interest: Interest
    var read_flags: UInt16
    var write_flags: UInt16


def test_kqueue_layout() raises:
    # struct kevent of macOS: ident 8, filter 2, flags 2, fflags 4, data 8,
    # udata 8.
    assert_equal(size_of[KernelEvent](), 32)


def test_kqueue_changes_of_interests() raises:
    var rows: List[_InterestRow] = [
        _InterestRow("none", Interest.NONE, EV_DELETE, EV_DELETE),
        _InterestRow("read", Interest.READ, EV_ADD, EV_DELETE),
        _InterestRow("write", Interest.WRITE, EV_DELETE, EV_ADD),
        _InterestRow("both", Interest.READ | Interest.WRITE, EV_ADD, EV_ADD),
        _InterestRow(
            "read, edge",
            Interest.READ | Interest.EDGE,
            EV_ADD | EV_CLEAR,
            EV_DELETE,
        ),
        _InterestRow(
            "stream", Interest.STREAM, EV_ADD | EV_CLEAR, EV_ADD | EV_CLEAR
        ),
    ]
    for row in rows:
        var changes = changes_of_interest(9, 0x5_00000003, row.interest)
        assert_equal(changes[0].filter, EVFILT_READ, row.what)
        assert_equal(changes[1].filter, EVFILT_WRITE, row.what)
        assert_equal(changes[0].flags, row.read_flags | EV_RECEIPT, row.what)
        assert_equal(changes[1].flags, row.write_flags | EV_RECEIPT, row.what)
        for index in range(2):
            assert_equal(changes[index].ident, 9, row.what)
            assert_equal(changes[index].token, 0x5_00000003, row.what)


@fieldwise_init
struct _ReceiptRow(Copyable):
    var what: StaticString
    var interest: Interest
    var read_errno: Int
    var write_errno: Int
    var refusal: Int


def test_kqueue_receipts() raises:
    var rows: List[_ReceiptRow] = [
        _ReceiptRow("all well", Interest.STREAM, 0, 0, 0),
        _ReceiptRow("bad descriptor", Interest.STREAM, EBADF, EBADF, EBADF),
        _ReceiptRow("second fails", Interest.STREAM, 0, EBADF, EBADF),
        _ReceiptRow("nothing to delete", Interest.READ, 0, ENOENT, 0),
        _ReceiptRow("add says ENOENT", Interest.READ, ENOENT, 0, ENOENT),
        _ReceiptRow("one deleted", Interest.NONE, 0, ENOENT, 0),
        _ReceiptRow("not watched", Interest.NONE, ENOENT, ENOENT, ENOENT),
        _ReceiptRow("delete fails", Interest.WRITE, EBADF, 0, EBADF),
    ]
    for row in rows:
        var changes = changes_of_interest(9, 1, row.interest)
        var receipts = changes.copy()
        for index in range(2):
            receipts[index].flags = EV_ERROR
        receipts[0].data = Int64(row.read_errno)
        receipts[1].data = Int64(row.write_errno)
        assert_equal(
            refusal_of_receipts(changes, receipts), row.refusal, row.what
        )


@fieldwise_init
struct _EventRow(Copyable):
    var what: StaticString
    var filter: Int16
    var flags: UInt16
    var is_readable: Bool
    var is_writable: Bool
    var is_closed: Bool


def test_kqueue_answers() raises:
    var rows: List[_EventRow] = [
        _EventRow("octets", EVFILT_READ, EV_CLEAR, True, False, False),
        _EventRow("room", EVFILT_WRITE, EV_CLEAR, False, True, False),
        _EventRow("end of stream", EVFILT_READ, EV_EOF, True, False, True),
        _EventRow(
            "peer reads no more", EVFILT_WRITE, EV_EOF, False, True, True
        ),
        _EventRow("error", EVFILT_READ, EV_ERROR, True, True, True),
    ]
    for row in rows:
        var event = event_of_kernel_event(
            KernelEvent(9, row.filter, row.flags, 0, 0, 0xDEADBEEF_00000007)
        )
        assert_equal(event.token, 0xDEADBEEF_00000007, row.what)
        assert_equal(event.is_readable, row.is_readable, row.what)
        assert_equal(event.is_writable, row.is_writable, row.what)
        assert_equal(event.is_closed, row.is_closed, row.what)
        assert_equal(event.has_failed, (row.flags & EV_ERROR) != 0, row.what)
    var reset = event_of_kernel_event(
        KernelEvent(9, EVFILT_READ, EV_EOF, 54, 0, 7)
    )
    assert_true(reset.is_closed and reset.has_failed)


def test_selector_hands_back_all_of_the_token() raises:
    for token in [UInt64(0), 1, 0xFFFFFFFF, 0xDEADBEEF_00000007, UInt64.MAX]:
        var selector = Selector(4)
        var waker = Waker()
        selector.register(waker.fd(), token, Interest.READ)
        assert_equal(selector.wait(0), 0)
        waker.wake()
        assert_equal(selector.wait(5_000), 1)
        var event = selector.event(0)
        assert_equal(event.token, token)
        assert_true(event.is_readable)
        assert_false(event.is_closed)
        _ = waker^


def test_selector_level_repeats_edge_does_not() raises:
    var selector = Selector(4)
    var level = Waker()
    var edge = Waker()
    selector.register(level.fd(), 1, Interest.READ)
    selector.register(edge.fd(), 2, Interest.READ | Interest.EDGE)
    level.wake()
    edge.wake()
    assert_equal(selector.wait(5_000), 2)
    assert_equal(selector.wait(0), 1)
    assert_equal(selector.event(0).token, 1)
    edge.wake()
    assert_equal(selector.wait(0), 2)
    _ = level^
    _ = edge^


def test_selector_more_events_than_room_come_later() raises:
    var selector = Selector(2)
    var wakers = List[Waker]()
    for token in range(5):
        var waker = Waker()
        selector.register(
            waker.fd(), UInt64(token), Interest.READ | Interest.EDGE
        )
        waker.wake()
        wakers.append(waker^)
    var seen = Array[Int, 5](fill=0)
    var count = selector.wait(5_000)
    while count > 0:
        assert_true(count <= 2)
        for index in range(count):
            seen[Int(selector.event(index).token)] += 1
        count = selector.wait(0)
    for token in range(5):
        assert_equal(seen[token], 1)
    _ = wakers^


def test_selector_modify_changes_interest_and_token() raises:
    var selector = Selector(4)
    var pipe = Pipe()
    selector.register(pipe.writing_fd(), 1, Interest.READ)
    assert_equal(selector.wait(0), 0)
    selector.modify(pipe.writing_fd(), 2, Interest.WRITE)
    assert_equal(selector.wait(5_000), 1)
    var event = selector.event(0)
    assert_equal(event.token, 2)
    assert_true(event.is_writable)
    assert_false(event.is_readable)
    _ = pipe^


def test_selector_deregistered_is_silent() raises:
    var selector = Selector(4)
    var waker = Waker()
    selector.register(waker.fd(), 1, Interest.READ)
    waker.wake()
    selector.deregister(waker.fd())
    assert_equal(selector.wait(0), 0)
    selector.register(waker.fd(), 2, Interest.READ)
    assert_equal(selector.wait(0), 1)
    assert_equal(selector.event(0).token, 2)
    _ = waker^


def test_selector_closed_is_silent_and_its_number_can_return() raises:
    var selector = Selector(4)
    var first = Waker()
    var number = first.fd()
    selector.register(number, 1, Interest.READ)
    first.wake()
    _ = first^
    assert_equal(selector.wait(0), 0)
    var second = Waker()
    assert_equal(second.fd(), number)
    selector.register(number, 2, Interest.READ)
    assert_equal(selector.wait(0), 0)
    second.wake()
    assert_equal(selector.wait(5_000), 1)
    assert_equal(selector.event(0).token, 2)
    _ = second^


def _register(mut selector: Selector, number: Int32) -> Int:
    try:
        selector.register(number, 1, Interest.READ)
        return 0
    except error:
        return error.number


def _modify(mut selector: Selector, number: Int32) -> Int:
    try:
        selector.modify(number, 1, Interest.READ)
        return 0
    except error:
        return error.number


def _deregister(mut selector: Selector, number: Int32) -> Int:
    try:
        selector.deregister(number)
        return 0
    except error:
        return error.number


def test_selector_refusals() raises:
    var selector = Selector(4)
    var waker = Waker()
    assert_equal(_modify(selector, waker.fd()), ENOENT)
    assert_equal(_deregister(selector, waker.fd()), ENOENT)
    assert_equal(_register(selector, waker.fd()), 0)
    assert_equal(_register(selector, waker.fd()), EEXIST)
    assert_equal(_deregister(selector, waker.fd()), 0)
    assert_equal(_deregister(selector, waker.fd()), ENOENT)
    assert_true(_register(selector, -1) != 0)
    _ = waker^

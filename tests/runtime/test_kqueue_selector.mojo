"""Tests of what kqueue is told, and of what its answers mean."""

from flare.runtime.event import Interest
from flare.runtime.kqueue_selector import (
    FilterChanges,
    changes_of_interest,
    event_of_kernel_event,
    refusal_of_receipts,
)
from flare.sys.errno import EBADF, ENOENT
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
from std.sys import size_of
from std.testing import assert_equal


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

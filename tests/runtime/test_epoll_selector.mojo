"""Tests of what epoll is told, and of what its answers mean."""

from flare.runtime.epoll_selector import epoll_mask, event_of_epoll
from flare.runtime.event import Interest
from flare.sys.epoll import (
    EPOLLERR,
    EPOLLET,
    EPOLLHUP,
    EPOLLIN,
    EPOLLOUT,
    EPOLLRDHUP,
)
from std.testing import assert_equal


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

"""Tests of the waker."""

from flare.runtime.event import Event, Interest, Waker
from flare.runtime.selector import Selector
from flare.sys.thread import Task, Thread
from tests.support.assertions import assert_equal, assert_false


@fieldwise_init
struct _Waking(Task):
    var waker: Waker

    def run(mut self) raises:
        self.waker.wake()


def test_waker_ends_a_wait_from_another_thread() raises:
    var selector = Selector(4)
    var waker = Waker()
    selector.register(waker.fd(), 1, Interest.READ)
    for _ in range(50):
        var thread = Thread(_Waking(waker.copy()))
        assert_equal(selector.wait(-1), 1)
        assert_equal(waker.drain(), 1)
        thread^.join()
    assert_equal(selector.wait(0), 0)


def test_waker_copies_ring_one_bell() raises:
    var first = Waker()
    var second = first.copy()
    first.wake()
    second.wake()
    assert_equal(first.fd(), second.fd())
    assert_equal(second.drain(), 2)
    assert_equal(first.drain(), 0)


@fieldwise_init
struct _Made(Copyable):
    var event: Event
    var is_readable: Bool
    var is_writable: Bool
    var is_closed: Bool


def test_events_by_name() raises:
    for row in [
        _Made(Event.readable(3), True, False, False),
        _Made(Event.writable(3), False, True, False),
        _Made(Event.nothing(3), False, False, False),
        _Made(Event.everything(3), True, True, True),
    ]:
        assert_equal(row.event.token, 3)
        assert_equal(row.event.is_readable, row.is_readable)
        assert_equal(row.event.is_writable, row.is_writable)
        assert_equal(row.event.is_closed, row.is_closed)
        assert_false(row.event.has_failed)

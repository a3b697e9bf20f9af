"""Tests of the contract of selectors, with the one of this platform."""

from flare.runtime.event import Event, Interest
from flare.runtime.selector import Selector
from flare.runtime.waker import Waker
from flare.sys.errno import EEXIST, ENOENT
from flare.sys.pipe import Pipe
from std.testing import assert_equal, assert_false, assert_true


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

"""Rooms of WebSocket clients."""

from flare.http.websocket.hub import WsHub
from flare.http.websocket.outbox import WsSender
from std.testing import assert_equal
from tests.support.ws_box import open_box, taken


def test_rooms() raises:
    var ann = open_box(1)
    var bob = open_box(2)
    var hub = WsHub()
    hub.join(WsSender(ann), "red")
    hub.join(WsSender(bob), "red")
    hub.join(WsSender(bob), "blue")
    assert_equal(hub.count("red"), 2)
    assert_equal(hub.count("blue"), 1)
    assert_equal(hub.count(), 0)
    assert_equal(hub.send_text("r", "red"), 2)
    assert_equal(hub.send_binary("b".as_bytes(), "blue"), 1)
    assert_equal(hub.send_text("nobody"), 0)
    assert_equal(taken(ann), "\\x81\\x01r")
    assert_equal(taken(bob), "\\x81\\x01r\\x82\\x01b")


def test_who_joins_twice_is_there_once() raises:
    var ann = open_box(1)
    var hub = WsHub()
    for _ in range(3):
        hub.join(WsSender(ann))
    assert_equal(hub.send_text("once"), 1)
    assert_equal(taken(ann), "\\x81\\x04once")
    hub.leave(WsSender(ann))
    hub.leave(WsSender(ann))
    hub.leave(WsSender(ann), "never entered")
    assert_equal(hub.count(), 0)
    assert_equal(hub.send_text("gone"), 0)


def test_copies_are_the_same_hub() raises:
    var hub = WsHub()
    var copy = hub.copy()
    copy.join(WsSender(open_box(1)), "room")
    assert_equal(hub.count("room"), 1)


def test_who_is_closed_or_behind_does_not_count() raises:
    var ann = open_box(1)
    var bob = open_box(2, waiting_len_max=4)
    var eve = open_box(3, waiting_len_max=4, cuts=True)
    var hub = WsHub()
    for box in [ann, bob, eve]:
        hub.join(WsSender(box))
    # A frame of two octets and a header.
    assert_equal(hub.send_text("ok"), 3)
    assert_equal(hub.send_text("too much"), 1)
    WsSender(ann).close()
    assert_equal(hub.send_text("ok"), 0)
    assert_equal(taken(bob), "\\x81\\x02ok")
    assert_equal(hub.send_text("ok"), 1)
    assert_equal(hub.count(), 3, "they leave in on_close")


def test_many_come_and_go() raises:
    var hub = WsHub()
    for round in range(3):
        for id in range(1_000):
            hub.join(WsSender(open_box(UInt64(id))), "room")
        assert_equal(hub.send_text("hi", "room"), 1_000)
        for id in range(1_000):
            hub.leave(WsSender(open_box(UInt64(id))), "room")
        assert_equal(hub.count("room"), 0)

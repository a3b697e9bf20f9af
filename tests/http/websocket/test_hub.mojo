"""Rooms of WebSocket clients."""

from flare.http.websocket.hub import WsHub
from flare.http.websocket.outbox import WsSender
from flare.http.websocket.room_history import HistoryBounds
from flare.http.websocket.room_table import RoomTable
from flare.ws.core.error import CloseCode
from tests.support.assertions import (
    assert_equal,
    assert_false,
    assert_raises,
    assert_true,
)
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


def test_who_has_ended_does_not_come_in() raises:
    """Its `on_close` has been called, in which it would leave: another thread that
    lets it in then would leave it there for ever."""
    var gone = open_box(1)
    var hub = WsHub(history=5)
    assert_equal(hub.send_text("said", "room", id="1"), 0)
    gone.lock()[].close()
    hub.join(WsSender(gone), "room")
    assert_equal(hub.count("room"), 0)
    var resumed = hub.resume(WsSender(gone), "room", "")
    assert_equal(resumed.sent_count, 0)
    assert_equal(hub.count("room"), 0)
    var table = RoomTable(HistoryBounds(0, 1, 1))
    table.set_user(WsSender(gone), "ann")
    assert_false("ann" in table.users)


def test_many_come_and_go() raises:
    var hub = WsHub()
    for round in range(3):
        for id in range(1_000):
            hub.join(WsSender(open_box(UInt64(id))), "room")
        assert_equal(hub.send_text("hi", "room"), 1_000)
        for id in range(1_000):
            hub.leave(WsSender(open_box(UInt64(id))), "room")
        assert_equal(hub.count("room"), 0)


def test_a_user_is_reached_on_all_his_connections() raises:
    var phone = open_box(1)
    var laptop = open_box(2)
    var other = open_box(3)
    var hub = WsHub()
    hub.set_user(WsSender(phone), "ann")
    hub.set_user(WsSender(laptop), "ann")
    hub.set_user(WsSender(other), "bob")
    assert_equal(hub.send_to_user("ann", "hi"), 2)
    assert_equal(hub.send_to_user("bob", "b".as_bytes()), 1)
    assert_equal(hub.send_to_user("eve", "nobody"), 0)
    assert_equal(hub.send_text("no room has this name", "ann"), 0)
    assert_equal(taken(phone), "\\x81\\x02hi")
    assert_equal(taken(laptop), "\\x81\\x02hi")
    assert_equal(taken(other), "\\x82\\x01b")
    hub.unset_user(WsSender(phone))
    hub.unset_user(WsSender(phone))
    assert_equal(hub.send_to_user("ann", "x"), 1)
    # Whose it is may change.
    hub.set_user(WsSender(laptop), "eve")
    assert_equal(hub.send_to_user("ann", "x"), 0)
    assert_equal(hub.send_to_user("eve", "x"), 1)
    # An empty name is nobody's.
    hub.set_user(WsSender(laptop), "")
    assert_equal(hub.send_to_user("eve", "x"), 0)
    assert_equal(hub.send_to_user("", "x"), 0)


def test_all_connections_of_a_user_are_closed() raises:
    var phone = open_box(1)
    var laptop = open_box(2)
    var other = open_box(3)
    var hub = WsHub()
    hub.set_user(WsSender(phone), "ann")
    hub.set_user(WsSender(laptop), "ann")
    hub.set_user(WsSender(other), "bob")
    for code in [1005, 1006, 999, 5_000, 1004]:
        if code == CloseCode.NO_STATUS:
            continue
        with assert_raises():
            _ = hub.close_user("ann", code)
    with assert_raises():
        _ = hub.close_user("ann", 4_000, String("x") * 124)
    assert_equal(hub.close_user("ann", 4_001, "out"), 2)
    assert_equal(hub.close_user("ann", 4_001, "out"), 0)
    assert_equal(hub.send_to_user("ann", "x"), 0)
    assert_equal(taken(phone), "\\x88\\x05\\x0f\\xa1out")
    assert_equal(taken(laptop), "\\x88\\x05\\x0f\\xa1out")
    assert_true(WsSender(other).is_open())


def test_all_but_one_get_a_message() raises:
    var ann = open_box(1)
    var bob = open_box(2)
    var eve = open_box(3)
    var hub = WsHub(history=2)
    hub.join(WsSender(ann), "red")
    hub.join(WsSender(bob), "red")
    assert_equal(hub.send_text("a", "red", all_but=WsSender(ann), id="1"), 1)
    assert_equal(
        hub.send_binary("b".as_bytes(), "red", all_but=WsSender(bob)), 1
    )
    # Who is not there cannot be left out.
    assert_equal(hub.send_text("c", "red", all_but=WsSender(eve)), 2)
    assert_equal(hub.send_text("d", "blue", all_but=WsSender(ann)), 0)
    assert_equal(taken(ann), "\\x82\\x01b\\x81\\x01c")
    assert_equal(taken(bob), "\\x81\\x01a\\x81\\x01c")
    # What is kept is for all who come back, by another connection.
    assert_equal(hub.resume(WsSender(eve), "red", "1").sent_count, 2)


def test_all_rooms_are_left_at_once() raises:
    var ann = open_box(1)
    var bob = open_box(2)
    var hub = WsHub()
    for room in [String("red"), String("blue"), String("red"), String("")]:
        hub.join(WsSender(ann), room)
    hub.join(WsSender(bob), "blue")
    var rooms = hub.rooms_of(WsSender(ann))
    assert_equal(", ".join(rooms), "red, blue, ")
    hub.leave(WsSender(ann), "red")
    hub.leave(WsSender(ann), "never entered")
    assert_equal(", ".join(hub.rooms_of(WsSender(ann))), "blue, ")
    assert_equal(hub.leave_all(WsSender(ann)), 2)
    assert_equal(hub.leave_all(WsSender(ann)), 0)
    assert_equal(len(hub.rooms_of(WsSender(ann))), 0)
    assert_equal(hub.count("blue"), 1, "others stay")
    assert_equal(hub.count(), 0)
    hub.join(WsSender(ann), "red")
    assert_equal(hub.count("red"), 1)
    hub.leave(WsSender(ann), "red")
    assert_equal(len(hub.rooms_of(WsSender(ann))), 0)

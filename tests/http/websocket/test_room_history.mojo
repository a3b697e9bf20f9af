"""What rooms keep, and what clients that come back get of it."""

from flare.bytes.buffer import Buffer
from flare.http.websocket.hub import WsHub
from flare.http.websocket.outbox import WsSender
from flare.http.websocket.room_history import HistoryBounds, RoomHistory
from std.memory import ArcPointer
from tests.support.assertions import (
    assert_equal,
    assert_false,
    assert_raises,
    assert_true,
)
from tests.support.ws_box import open_box, taken


def _frame(text: StringSpan) -> ArcPointer[Buffer]:
    var frame = Buffer()
    frame.append(text.as_bytes())
    return ArcPointer(frame^)


def _missed(history: RoomHistory, last_id: StringSpan) -> String:
    var missed = history.missed(last_id)
    var text = String("" if missed.is_complete else "?")
    for index in range(len(missed.frames)):
        text.write(
            StringSpan(unsafe_from_utf8=missed.frames[index][].span()), "."
        )
    return text


def test_what_came_behind_a_message() raises:
    var history = RoomHistory()
    var bounds = HistoryBounds(3, 100, 1)
    assert_equal(_missed(history, ""), "")
    assert_equal(_missed(history, "a"), "?", "nobody knows it")
    for id in ["a", "b", "c"]:
        history.put(id, _frame(id), bounds)
    assert_equal(_missed(history, ""), "a.b.c.")
    assert_equal(_missed(history, "a"), "b.c.")
    assert_equal(_missed(history, "c"), "")
    assert_equal(_missed(history, "x"), "?a.b.c.")
    history.put("d", _frame("d"), bounds)
    # Who saw the last one that was dropped has missed nothing else.
    assert_equal(_missed(history, "a"), "b.c.d.")
    history.put("", _frame("e"), bounds)
    assert_equal(_missed(history, "a"), "?c.d.e.")
    assert_equal(_missed(history, "b"), "c.d.e.")
    assert_equal(_missed(history, "d"), "e.", "also those without an id")
    history.put("f", _frame("f"), bounds)
    history.put("g", _frame("g"), bounds)
    history.put("h", _frame("h"), bounds)
    # What was dropped last had no id: an empty one means nothing was seen.
    assert_equal(_missed(history, ""), "f.g.h.")


def test_count_and_octets_are_bounded() raises:
    var history = RoomHistory()
    var bounds = HistoryBounds(100, 10, 1)
    for number in range(1_000):
        history.put(String(number), _frame("abc"), bounds)
        assert_true(len(history) <= 3 and history.octet_count() <= 10)
        assert_equal(history.octet_count(), 3 * len(history))
    assert_equal(_missed(history, "997"), "abc.abc.")
    # One that is longer than all that may be kept leaves nothing.
    history.put("long", _frame("elevenbytes"), bounds)
    assert_equal(len(history), 0)
    assert_equal(history.octet_count(), 0)
    assert_equal(_missed(history, "long"), "")
    assert_equal(_missed(history, "997"), "?")
    bounds = HistoryBounds(2, 1_000, 1)
    for number in range(1_000):
        history.put(String(number), _frame("abc"), bounds)
        assert_true(len(history) <= 2)
    assert_equal(_missed(history, "998"), "abc.")


def test_a_client_gets_what_it_missed_and_then_what_comes() raises:
    var ann = open_box(1)
    var bob = open_box(2)
    var hub = WsHub(history=2)
    hub.join(WsSender(ann), "red")
    assert_equal(hub.send_text("a", "red", id="1"), 1)
    assert_equal(hub.send_text("b", "red", id="2"), 1)
    assert_equal(hub.send_binary("c".as_bytes(), "red", id="3"), 1)
    hub.leave(WsSender(ann), "red")
    # Kept, though nobody is there.
    assert_equal(hub.send_text("d", "blue", id="4"), 0)
    var back = hub.resume(WsSender(bob), "red", "2")
    assert_equal(back.sent_count, 1)
    assert_true(back.is_complete)
    assert_equal(hub.send_text("e", "red", id="5"), 1)
    assert_equal(taken(bob), "\\x82\\x01c\\x81\\x01e")
    assert_equal(hub.count("red"), 1)
    var eve = open_box(3)
    back = hub.resume(WsSender(eve), "blue", "")
    assert_equal(back.sent_count, 1)
    assert_true(back.is_complete)
    assert_equal(taken(eve), "\\x81\\x01d")


def test_who_missed_more_than_is_kept_is_told_first() raises:
    var hub = WsHub(history=2)
    for number in range(5):
        _ = hub.send_text(String(number), "red", id=String(number))
    var ann = open_box(1)
    var back = hub.resume(WsSender(ann), "red", "1", gap_text="gap")
    assert_false(back.is_complete)
    assert_equal(back.sent_count, 2)
    assert_equal(taken(ann), "\\x81\\x03gap\\x81\\x013\\x81\\x014")
    var bob = open_box(2)
    back = hub.resume(WsSender(bob), "red", "2", gap_text="gap")
    assert_true(back.is_complete)
    assert_equal(taken(bob), "\\x81\\x013\\x81\\x014")
    var eve = open_box(3)
    back = hub.resume(WsSender(eve), "none", "2", gap_text="gap")
    assert_false(back.is_complete)
    assert_equal(taken(eve), "\\x81\\x03gap")


def test_what_is_missed_may_be_more_than_may_wait() raises:
    """Else a client that was away for long could never come back."""
    var hub = WsHub(history=100)
    for number in range(20):
        _ = hub.send_text("0123456789", "red", id=String(number))
    var ann = open_box(1, waiting_len_max=100, cuts=True)
    var back = hub.resume(WsSender(ann), "red", "4")
    assert_equal(back.sent_count, 15)
    assert_equal(taken(ann), String("\\x81\\x0a0123456789") * 15)
    assert_equal(hub.send_text("on", "red"), 1)


def test_a_closed_client_gets_nothing() raises:
    var hub = WsHub(history=2)
    _ = hub.send_text("a", "red", id="1")
    var ann = open_box(1)
    WsSender(ann).close()
    assert_equal(hub.resume(WsSender(ann), "red", "").sent_count, 0)
    assert_equal(hub.send_text("b", "red"), 0)


def test_rooms_that_are_silent_are_forgotten() raises:
    var hub = WsHub(history=1, history_rooms=4)
    for number in range(4):
        _ = hub.send_text(String(number), String(number), id="x")
    # The first one is not the oldest any more.
    _ = hub.send_text("0", "0", id="x")
    _ = hub.send_text("4", "4", id="x")
    var kept = String()
    for number in range(5):
        var ann = open_box(1)
        if hub.resume(WsSender(ann), String(number), "x").is_complete:
            kept += String(number)
    assert_equal(kept, "034")


def test_a_hub_without_a_history_keeps_nothing() raises:
    var hub = WsHub()
    _ = hub.send_text("a", "red", id="1")
    var ann = open_box(1)
    var back = hub.resume(WsSender(ann), "red", "1")
    assert_false(back.is_complete)
    assert_equal(back.sent_count, 0)


def test_octets_of_a_room_are_bounded_by_its_option() raises:
    var hub = WsHub(history=100, history_size=10)
    for number in range(10):
        # Three octets each, with the header.
        _ = hub.send_text("x", "red", id=String(number))
    var ann = open_box(1)
    assert_equal(hub.resume(WsSender(ann), "red", "").sent_count, 3)


def test_numbers_are_checked() raises:
    with assert_raises(contains="history is -1"):
        _ = WsHub(history=-1)
    with assert_raises(contains="history_size 0"):
        _ = WsHub(history=1, history_size=0)
    with assert_raises(contains="history_rooms 0"):
        _ = WsHub(history=1, history_rooms=0)

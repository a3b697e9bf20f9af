"""What waits for one WebSocket client: order, limits, memory."""

from flare.bytes.buffer import Buffer
from flare.http.websocket.outbox import (
    WsSender,
    send,
    shared_frame,
)
from flare.ws.core.deflate import DeflateAgreement
from flare.ws.core.frame import Opcode
from tests.support.assertions import (
    assert_equal,
    assert_false,
    assert_raises,
    assert_true,
)
from tests.support.ws_box import bell_of, open_box, taken
from std.memory import ArcPointer


def frame(text: StringSpan) -> ArcPointer[Buffer]:
    return shared_frame(Opcode.TEXT, text.as_bytes())


def test_what_is_sent_keeps_its_order() raises:
    """RFC 6455 section 5.1: servers do not mask."""
    var box = open_box()
    var sender = WsSender(box)
    sender.send_text("a")
    sender.send_frame(frame("b"))
    sender.send_frame(frame("c"))
    sender.send_binary("d".as_bytes())
    sender.ping("e")
    sender.send_frame(frame("f"))
    sender.close(4000, "g")
    assert_equal(
        taken(box),
        "\\x81\\x01a\\x81\\x01b\\x81\\x01c\\x82\\x01d\\x89\\x01e\\x81\\x01f"
        "\\x88\\x03\\x0f\\xa0g",
    )


def test_a_sleeping_worker_is_woken_once() raises:
    var box = open_box()
    var rings = bell_of(box)
    for _ in range(3):
        send(box, Opcode.TEXT, "a".as_bytes())
    assert_equal(rings[].load(), 1)
    _ = taken(box)
    box.lock()[].put_frame(frame("b"))
    assert_equal(rings[].load(), 2)
    # A worker that hears the client looks here by itself.
    var room = Buffer(100)
    box.lock()[].lend_room(room)
    send(box, Opcode.TEXT, "c".as_bytes())
    assert_equal(rings[].load(), 2)


def test_frames_are_written_into_the_room_that_is_lent() raises:
    var box = open_box()
    send(box, Opcode.TEXT, "a".as_bytes())
    var room = Buffer(100)
    var base = room.unsafe_base()
    box.lock()[].lend_room(room)
    box.lock()[].put_frame(frame("b"))
    send(box, Opcode.TEXT, "c".as_bytes())
    box.lock()[].put_frame(frame("d"))
    box.lock()[].take_back(room, False)
    assert_equal(
        StringSpan(unsafe_from_utf8=room.span()[2:3]),
        "a",
    )
    assert_equal(len(room), 12)
    assert_true(room.unsafe_base() == base, "the same memory")
    # An idle connection keeps none.
    assert_equal(box.lock()[].core.output.capacity(), 0)
    send(box, Opcode.TEXT, "e".as_bytes())
    assert_equal(taken(box), "\\x81\\x01e")
    assert_equal(box.lock()[].core.output.capacity(), 0)


def test_too_much_is_refused_and_the_connection_goes_on() raises:
    var box = open_box(waiting_len_max=100)
    var text = String("x") * 90
    send(box, Opcode.TEXT, text.as_bytes())
    with assert_raises(contains="92 bytes wait for it; at most 100"):
        send(box, Opcode.TEXT, text.as_bytes())
    with assert_raises(contains="at most 100"):
        box.lock()[].put_frame(frame(text))
    assert_false(box.lock()[].is_cut)
    assert_equal(taken(box).byte_length(), 4 + 1 + 90)
    box.lock()[].put_frame(frame(text))
    with assert_raises(contains="92 bytes wait"):
        box.lock()[].put_frame(frame(text))
    # It can be closed whatever waits.
    send(box, Opcode.CLOSE, "enough".as_bytes(), 4000)


def test_too_much_cuts_off() raises:
    var box = open_box(cuts=True)
    var rings = bell_of(box)
    send(box, Opcode.TEXT, "a".as_bytes())
    assert_equal(rings[].load(), 1)
    with assert_raises(contains="(max_queue_size)"):
        send(box, Opcode.TEXT, (String("x") * 101).as_bytes())
    assert_true(box.lock()[].is_cut)
    # It may wait for the client to read, and not look here until then.
    assert_equal(rings[].load(), 2, "the worker is told")
    with assert_raises(contains="is closed"):
        send(box, Opcode.TEXT, "a".as_bytes())


def test_a_message_of_any_length_goes_to_whom_nothing_waits() raises:
    """Or it could never be sent, however fast the client reads."""
    var long = String("x") * 1_000
    for shared in [True, False]:
        var box = open_box(waiting_len_max=100)
        if shared:
            box.lock()[].put_frame(frame(long))
        else:
            send(box, Opcode.TEXT, long.as_bytes())
        with assert_raises(contains="1004 bytes wait"):
            send(box, Opcode.TEXT, "a".as_bytes())
        var out = Buffer()
        box.lock()[].take(out)
        assert_equal(len(out), 1_004)


def test_what_is_not_bounded_follows_a_message_of_any_length() raises:
    """A close frame, and what a client has missed."""
    var long = String("x") * 1_000
    var box = open_box(waiting_len_max=100, cuts=True)
    var sender = WsSender(box)
    sender.send_text(long)
    sender.send_frames([frame("missed")])
    sender.close(4000, "enough")
    assert_false(box.lock()[].is_cut)
    var out = Buffer()
    box.lock()[].take(out)
    assert_equal(len(out), 4 + 1_000 + 2 + 6 + 2 + 2 + 6)


def test_headers_count() raises:
    """RFC 6455 section 5.2: an empty message has two octets, too."""
    var box = open_box(waiting_len_max=100)
    for _ in range(50):
        send(box, Opcode.TEXT, "".as_bytes())
    with assert_raises(contains="100 bytes wait"):
        send(box, Opcode.TEXT, "".as_bytes())
    for _ in range(3):
        with assert_raises(contains="100 bytes wait"):
            box.lock()[].put_frame(frame(""))


def test_the_answer_to_each_message_of_a_batch_is_bounded() raises:
    """Only what was made for earlier ones does not count, since it is sent
    before it is more than may wait."""
    var box = open_box(waiting_len_max=100)
    var room = Buffer(1_000)
    box.lock()[].lend_room(room)
    for number in range(1, 4):
        box.lock()[].pass_on()
        send(box, Opcode.TEXT, (String("x") * 40).as_bytes())
        assert_equal(box.lock()[].is_full(), number == 3)
        send(box, Opcode.TEXT, (String("x") * 50).as_bytes())
        with assert_raises(contains="94 bytes wait"):
            send(box, Opcode.TEXT, (String("x") * 10).as_bytes())
        box.lock()[].core.output.truncate(number * 42)


def test_what_the_worker_has_counts_until_it_has_gone() raises:
    """A client may not have taken it for long."""
    var box = open_box(waiting_len_max=10_000)
    var text = String("x") * 6_000
    send(box, Opcode.TEXT, text.as_bytes())
    var out = Buffer()
    box.lock()[].take(out)
    assert_true(box.lock()[].wants_word())
    with assert_raises(contains="6004 bytes wait"):
        send(box, Opcode.TEXT, text.as_bytes())
    # The worker looks here again when it has gone.
    out.clear()
    box.lock()[].take(out)
    assert_equal(len(out), 0)
    assert_false(box.lock()[].wants_word())
    send(box, Opcode.TEXT, text.as_bytes())
    # The same for what it heard.
    var room = Buffer()
    box.lock()[].lend_room(room)
    send(box, Opcode.TEXT, text.as_bytes())
    box.lock()[].take_back(room, False)
    assert_true(box.lock()[].wants_word())
    with assert_raises(contains="12008 bytes wait"):
        box.lock()[].put_frame(frame("a"))


def test_a_worker_that_comes_back_is_not_rung_for() raises:
    var box = open_box(waiting_len_max=10_000)
    var rings = bell_of(box)
    var room = Buffer()
    box.lock()[].lend_room(room)
    box.lock()[].take_back(room, True)
    send(box, Opcode.TEXT, "a".as_bytes())
    assert_equal(rings[].load(), 0)
    var out = Buffer()
    box.lock()[].take(out)
    send(box, Opcode.TEXT, "a".as_bytes())
    assert_equal(rings[].load(), 1)


def test_nothing_follows_a_close_frame() raises:
    """RFC 6455 section 5.5.1."""
    var sender = WsSender(open_box())
    assert_true(sender.is_open())
    sender.close()
    assert_false(sender.is_open())
    with assert_raises(contains="is closed"):
        sender.send_frame(frame("a"))
    with assert_raises(contains="is closed"):
        sender.close()


def test_what_cannot_be_sent() raises:
    """RFC 6455 sections 5.5 and 7.4."""
    var sender = WsSender(open_box(waiting_len_max=1_000))
    for code in [0, 999, 1004, 1006, 1015, 1016, 2999, 5000]:
        with assert_raises(contains="close code"):
            sender.close(code)
    with assert_raises(contains="123 bytes"):
        sender.close(1000, String("x") * 124)
    with assert_raises(contains="125 bytes"):
        sender.ping(String("x") * 126)
    assert_true(sender.is_open())
    sender.ping(String("x") * 125)
    sender.close(1000, String("x") * 123)


def test_the_sender_compresses() raises:
    """RFC 7692 section 7.2.1; what is shared goes as it is."""
    var box = open_box(
        waiting_len_max=10_000, agreement=DeflateAgreement.widest()
    )
    var text = String("again ") * 500
    send(box, Opcode.TEXT, text.as_bytes())
    box.lock()[].put_frame(frame("plain"))
    var out = Buffer()
    box.lock()[].take(out)
    assert_true(len(out) < 100, "compressed")
    assert_equal(out.span()[0], 0xC1, "RSV1")
    assert_equal(String(unsafe_from_utf8=out.span()[len(out) - 5 :]), "plain")


def test_the_end_gives_memory_back() raises:
    var box = open_box()
    var sender = WsSender(box)
    sender.send_text("a")
    sender.send_frame(frame("b"))
    box.lock()[].close()
    assert_equal(taken(box), "")
    assert_false(sender.is_open())
    with assert_raises(contains="is closed"):
        sender.send_text("c")

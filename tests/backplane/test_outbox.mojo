"""What waits for an engine, and who has it meanwhile."""

from flare.backplane.backplane import Handover
from flare.backplane.message import MessageKind, write_message
from flare.backplane.outbox import ECHO_MS, Outbox
from flare.bytes.buffer import Buffer
from flare.bytes.never import NEVER
from tests.support.assertions import assert_equal, assert_false, assert_true


def _put(mut box: Outbox, text: StringSpan, comes_back: Bool) -> Handover:
    return box.put(text.as_bytes(), comes_back)


def _arrived(mut box: Outbox) -> String:
    var text = String()
    var out = Buffer()
    while box.take_arrived(out):
        text.write(StringSpan(unsafe_from_utf8=out.span()), ".")
        out.clear()
    return text


def test_what_does_not_come_back_is_for_the_sender_to_deliver() raises:
    var box = Outbox(100)
    assert_true(_put(box, "a", False) == Handover.GOES_OUT)
    assert_true(_put(box, "b", False) == Handover.GOES_OUT)
    box.failed()
    assert_equal(_arrived(box), "")
    assert_equal(len(box), 2)
    box.sent(2)
    assert_equal(len(box), 0)


def test_what_should_come_back_is_delivered_once_when_the_engine_fails() raises:
    var box = Outbox(100)
    assert_true(_put(box, "a", True) == Handover.COMES_BACK)
    box.sent(1)
    assert_true(_put(box, "b", True) == Handover.COMES_BACK)
    assert_true(_put(box, "c", True) == Handover.COMES_BACK)
    assert_equal(_arrived(box), "")
    box.failed()
    assert_equal(_arrived(box), "b.c.")
    # From now on the sender delivers itself.
    assert_true(_put(box, "d", True) == Handover.GOES_OUT)
    box.failed()
    assert_equal(_arrived(box), "")
    # All of them wait for the engine.
    var waiting = String()
    for index in range(len(box)):
        waiting.write(StringSpan(unsafe_from_utf8=box.waiting_at(index).span()))
    assert_equal(waiting, "bcd")
    box.sent(2)
    assert_true(_put(box, "e", True) == Handover.COMES_BACK)
    box.failed()
    assert_equal(_arrived(box), "e.")
    box.sent(2)
    assert_equal(len(box), 0)


def test_what_does_not_fit_is_dropped_and_counted() raises:
    var box = Outbox(10)
    assert_true(_put(box, "12345", True) == Handover.COMES_BACK)
    assert_true(_put(box, "1234567", True) == Handover.STAYS)
    # What came before it is delivered before it.
    assert_equal(_arrived(box), "12345.")
    assert_equal(box.dropped_count, 1)
    assert_true(_put(box, "12345", False) == Handover.GOES_OUT)
    assert_true(_put(box, "1", False) == Handover.STAYS)
    assert_equal(box.dropped_count, 2)
    box.sent(1)
    assert_true(_put(box, "1", False) == Handover.GOES_OUT)
    assert_equal(len(box), 2)


def test_many_go_through() raises:
    """As many as are sent, in order, and no more is kept."""
    var box = Outbox(100)
    var next = 0
    for number in range(1_000):
        assert_true(
            _put(box, String(number), False) == Handover.GOES_OUT,
            String(number),
        )
        if number % 7 == 6:
            for index in range(5):
                assert_equal(
                    StringSpan(unsafe_from_utf8=box.waiting_at(index).span()),
                    String(next + index),
                )
            var count = 7 if len(box) >= 14 else 5
            box.sent(count)
            next += count
    assert_equal(len(box), 1_000 - next)


def _message(sequence: Int) -> Buffer:
    var out = Buffer()
    write_message(out, MessageKind.TEXT, 7, sequence, "r", "", "x".as_bytes())
    return out^


def test_a_message_that_does_not_come_back_raises_a_doubt() raises:
    var box = Outbox(1_000)
    _ = box.put(_message(1).span(), False)
    _ = box.put(_message(2).span(), False)
    assert_equal(box.doubt_in_ms(0), NEVER, "nothing was sent")
    box.expect_echo(100)
    assert_equal(box.doubt_in_ms(100), ECHO_MS)
    # Another one that is sent meanwhile puts nothing off.
    box.expect_echo(600)
    assert_equal(box.doubt_in_ms(600), ECHO_MS - 500)
    assert_false(box.take_doubt(99 + ECHO_MS))
    assert_equal(box.doubt_in_ms(200 + ECHO_MS), 0)
    assert_true(box.take_doubt(100 + ECHO_MS))
    assert_false(box.take_doubt(100 + ECHO_MS), "once")
    assert_equal(box.doubt_in_ms(100 + ECHO_MS), NEVER)


def test_its_echo_or_a_later_one_ends_the_doubt() raises:
    for heard in range(1, 3):
        var box = Outbox(1_000)
        _ = box.put(_message(1).span(), False)
        box.expect_echo(0)
        box.put_arrived("short".as_bytes())
        var other = Buffer()
        write_message(other, MessageKind.TEXT, 8, 5, "r", "", "x".as_bytes())
        box.put_arrived(other.span())
        assert_equal(box.doubt_in_ms(0), ECHO_MS, "another's does not count")
        box.put_arrived(_message(heard).span())
        assert_equal(box.doubt_in_ms(0), NEVER)
        assert_false(box.take_doubt(10 * ECHO_MS))


def test_a_sender_that_fails_raises_a_doubt_at_once() raises:
    var box = Outbox(1_000)
    _ = box.put(_message(1).span(), False)
    box.expect_echo(100)
    box.doubt()
    assert_equal(box.doubt_in_ms(100), 0)
    assert_true(box.take_doubt(100))
    assert_false(box.take_doubt(100))

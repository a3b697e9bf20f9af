"""Orders to workers as octets: what is written is read, and nothing else is."""

from flare.backplane.worker_order import (
    ORDER_HEAD_LEN,
    OrderKind,
    OrderMessage,
    parse_order,
)
from flare.bytes.buffer import Buffer
from tests.support.assertions import assert_equal, assert_false, assert_true


def _written(message: OrderMessage) -> Buffer:
    var out = Buffer()
    message.write_to(out)
    return out^


def _example() -> Buffer:
    return _written(
        OrderMessage(OrderKind.ORDER, UInt64.MAX, 4_711, "drain", "http://é")
    )


def test_what_is_written_is_read() raises:
    for kind in [
        OrderKind.ORDER,
        OrderKind.DONE,
        OrderKind.FAILED,
        OrderKind.KEPT,
        OrderKind.WITHDRAWN,
    ]:
        for topic in ["", "drain", "ein Thema"]:
            for text in ["", "x", "http://a/ü?b=c\n"]:
                var octets = _written(OrderMessage(kind, 7, 12, topic, text))
                var read = parse_order(octets.span())
                assert_true(read)
                assert_true(read.value().kind == kind)
                assert_equal(read.value().id, 7)
                assert_equal(read.value().process, 12)
                assert_equal(read.value().topic, topic)
                assert_equal(read.value().text, text)


def test_what_is_cut_is_no_message_or_has_less_text() raises:
    var octets = _example()
    for length in range(len(octets)):
        var read = parse_order(octets.span()[:length])
        if length < ORDER_HEAD_LEN + 5:
            assert_false(read, String(length))
        elif read:
            assert_true("http://é".startswith(read.value().text))


def _is_message(index: Int, octet: UInt8) -> Bool:
    """Tells whether it is a message still with one octet changed."""
    var octets = List[UInt8](_example().span())
    octets[index] = octet
    return parse_order(octets).__bool__()


def test_what_is_none_is_refused() raises:
    # An unknown kind, a reserved octet, a topic beyond the end, a process that
    # is none, octets that are no text.
    assert_false(_is_message(0, 0))
    assert_false(_is_message(0, 6))
    assert_false(_is_message(1, 1))
    assert_false(_is_message(2, 200))
    assert_false(_is_message(7, 1))
    assert_false(_is_message(23, 0x40))
    assert_false(_is_message(24, 0xFF))
    assert_false(_is_message(30, 0xFF))
    assert_true(_is_message(8, 0))

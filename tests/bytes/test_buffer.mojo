"""The byte buffer."""

from flare.bytes.buffer import Buffer
from flare.bytes.scan import TCHAR
from tests.support.assertions import assert_equal, assert_true


def _text(buffer: Buffer) -> String:
    return String(unsafe_from_utf8=buffer.span())


def test_append_and_consume() raises:
    var buffer = Buffer(4)
    buffer.append("hello".as_bytes())
    buffer.append(" world".as_bytes())
    assert_equal(_text(buffer), "hello world")
    buffer.consume(6)
    assert_equal(_text(buffer), "world")
    buffer.append_literal["!"]()
    buffer.append_octet(33)
    assert_equal(_text(buffer), "world!!")
    buffer.truncate(5)
    assert_equal(_text(buffer), "world")
    buffer.consume(5)
    assert_equal(len(buffer), 0)


def _check_empty(mut buffer: Buffer) raises:
    assert_equal(len(buffer), 0)
    assert_equal(buffer.capacity(), 0)
    assert_equal(len(buffer.spare()), 0)
    # No scan goes beyond what is not there.
    assert_equal(buffer.terminate().scan_class[TCHAR](0), 0)


def test_buffers_without_capacity_are_each_their_own() raises:
    var first = Buffer()
    var second = Buffer(0)
    _check_empty(first)
    _check_empty(second)
    first.append("one".as_bytes())
    assert_equal(len(second), 0)
    second.append("two".as_bytes())
    swap(first, second)
    assert_equal(_text(first), "two")
    assert_equal(_text(second), "one")
    var third = Buffer()
    swap(third, first)
    _check_empty(first)
    assert_equal(_text(third), "two")


def test_room_and_commit() raises:
    var buffer = Buffer(8)
    var room = buffer.spare()
    assert_equal(len(room), 8)
    room[0] = 65
    room[1] = 66
    buffer.commit(2)
    assert_equal(_text(buffer), "AB")
    assert_equal(len(buffer.spare()), 6)


def test_consumed_space_is_used_again_before_growing() raises:
    var buffer = Buffer(256)
    for _ in range(1000):
        buffer.append("0123456789".as_bytes())
        buffer.append("0123456789".as_bytes())
        buffer.consume(15)
        if len(buffer) > 200:
            buffer.consume(len(buffer))
    assert_true(buffer.capacity() <= 512, "a queue that stays short grew")


def test_decimal() raises:
    var numbers: List[Int] = [0, 7, 9, 10, 99, 100, 12345, Int.MAX]
    for number in numbers:
        var buffer = Buffer(0)
        buffer.append_decimal(number)
        assert_equal(_text(buffer), String(number))


def test_writer() raises:
    var buffer = Buffer(0)
    buffer.write("n=", 42, " ", True)
    assert_equal(_text(buffer), "n=42 True")


def test_seal_puts_a_stop_octet_behind_the_content() raises:
    var buffer = Buffer(3)
    buffer.append("abc".as_bytes())
    _ = buffer.terminate()
    assert_equal(Int(buffer.unsafe_base()[unsafe_offset=3]), 0)
    _ = buffer^


def _filled(text: StringSpan) -> Buffer:
    var buffer = Buffer(2)
    buffer.append(text.as_bytes())
    return buffer^


def test_a_zero_stands_behind_the_octets() raises:
    for text in [
        "",
        "a",
        "token",
        "token and more than a vector of octets, 64",
    ]:
        var buffer = _filled(text)
        var input = buffer.terminate()
        assert_equal(len(input), text.byte_length())
        assert_equal(input[len(input)], 0)
        assert_equal(input.scan_field_value(0).offset, len(input))
        # It is no part of the content.
        assert_equal(len(buffer), text.byte_length())


def test_a_tail_has_the_same_terminator() raises:
    var buffer = _filled("GET token")
    var tail = buffer.terminate().tail(4)
    assert_equal(len(tail), 5)
    assert_equal(tail[0], 116)
    assert_equal(tail.scan_class[TCHAR](0), 5)
    assert_equal(len(tail.tail(5)), 0)
    assert_equal(tail.tail(5)[0], 0)
    _ = buffer^


def test_octets_are_read_in_words_and_parts() raises:
    var buffer = _filled("12345678x")
    var input = buffer.terminate()
    assert_equal(input.load16(0), 0x3231)
    assert_equal(input.load32(0), 0x34333231)
    assert_equal(input.load64(0), 0x3837363534333231)
    assert_equal(StringSpan(unsafe_from_utf8=input.span(7, 2)), "8x")
    _ = buffer^


def test_octets_move_over_those_before_them() raises:
    var buffer = _filled("3;abcdefg")
    buffer.terminate().move_down(0, 2, 7)
    assert_equal(StringSpan(unsafe_from_utf8=buffer.span()), "abcdefgfg")
    var input = buffer.terminate()
    input[7] = 33
    assert_equal(StringSpan(unsafe_from_utf8=buffer.span()), "abcdefg!g")

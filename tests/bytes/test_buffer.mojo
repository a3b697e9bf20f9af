"""The byte buffer."""

from flare.bytes.buffer import Buffer
from std.testing import assert_equal, assert_true


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

"""Octets with a terminator, as a buffer lends them to parsers."""

from flare.bytes.buffer import Buffer
from flare.bytes.octet_class import TCHAR
from std.testing import assert_equal


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

"""Tests of the layout of messages."""

from flare.sys.message import IoVector, Message
from flare.sys.platform import IS_MACOS
from std.reflection import reflect
from std.sys import size_of
from std.testing import assert_equal


def test_message_is_laid_out_as_in_c() raises:
    comptime message = reflect[Message]
    assert_equal(size_of[Message](), 56)
    assert_equal(message.field_offset[name="name_len"](), 8)
    assert_equal(message.field_offset[name="vectors"](), 16)
    assert_equal(message.field_offset[name="control"](), 32)
    assert_equal(message.field_offset[name="end_flags"](), 48)
    assert_equal(size_of[IoVector](), 16)


def test_message_flags_are_where_the_platform_has_them() raises:
    var vectors = Array[IoVector, 1](fill=IoVector.over("x".as_bytes()))
    var message = Message(
        vectors.unsafe_ptr().unsafe_origin_cast[MutUntrackedOrigin](), 1
    )
    assert_equal(message.flags(), 0)
    message.end_flags = 0x7FFF_0000_0020
    message.control_len = 0x10_0000_0000
    assert_equal(message.flags(), 0x10 if IS_MACOS else 0x20)
    _ = vectors^

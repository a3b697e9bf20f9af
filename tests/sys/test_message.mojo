"""Tests of the layout of messages."""

from flare.sys.clock import Deadline
from flare.sys.descriptor import Descriptor
from flare.sys.errno import EAGAIN, EBADF, EMSGSIZE
from flare.sys.sockets.message import IoVector, Message, receive_from, send_to
from flare.sys.platform import IS_MACOS
from flare.sys.poll import POLL_READ, wait_for
from flare.sys.sockets.sock_addr import AF_INET, SockAddr
from flare.sys.sockets.socket import (
    SOCK_DGRAM,
    bind_socket,
    local_address,
    open_socket,
)
from std.reflection import reflect
from std.sys import size_of
from tests.support.assertions import assert_equal, assert_false


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


def _bound() raises -> Descriptor:
    var socket = open_socket(AF_INET, SOCK_DGRAM)
    bind_socket(socket.fd(), SockAddr.inet([127, 0, 0, 1], 0))
    return socket^


def test_datagram_carries_its_sender_and_tells_truncation() raises:
    var receiver = _bound()
    var sender = _bound()
    var there = local_address(receiver.fd())
    var room = Array[UInt8, 16](fill=0)
    var from_whom = SockAddr()
    var nothing = receive_from(receiver.fd(), Span(room), from_whom)
    assert_equal(nothing.count, -EAGAIN)

    # (what is sent, room, what is counted, whether it is cut)
    for row in [(5, 16, 5, False), (0, 16, 0, False), (9, 4, 9, True)]:
        var octets = List[UInt8](length=row[0], fill=65)
        assert_equal(send_to(sender.fd(), octets, there), row[0])
        var ready = wait_for(receiver.fd(), POLL_READ, Deadline(5_000))
        assert_equal(ready, 1)
        var taken = receive_from(
            receiver.fd(), Span(room)[0 : row[1]], from_whom
        )
        assert_equal(taken.count, row[2])
        assert_equal(taken.is_truncated, row[3])
        assert_equal(from_whom.port(), local_address(sender.fd()).port())
        assert_equal(Int(from_whom.length), 16)


def test_datagram_refusals() raises:
    var sender = _bound()
    var there = local_address(sender.fd())
    var large = List[UInt8](length=70_000, fill=65)
    assert_equal(send_to(sender.fd(), large, there), -EMSGSIZE)
    assert_equal(send_to(-1, "x".as_bytes(), there), -EBADF)
    var room = Array[UInt8, 4](fill=0)
    var taken = receive_from(-1, Span(room), there)
    assert_equal(taken.count, -EBADF)
    assert_false(taken.is_truncated)
    _ = sender^

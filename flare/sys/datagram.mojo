"""Datagrams with addresses. The calls answer a count or a negative errno."""

from flare.sys.errno import last_errno
from flare.sys.message import (
    MSG_NOSIGNAL,
    MSG_TRUNC,
    IoVector,
    Message,
    receive_message,
)
from flare.sys.platform import IS_MACOS
from flare.sys.sock_addr import SOCK_ADDR_LEN_MAX, SockAddr
from std.ffi import external_call

# Linux then answers the datagram's full length; macOS takes no such flag.
comptime _RECEIVE_FLAGS = 0 if IS_MACOS else MSG_TRUNC


@fieldwise_init
struct ReceivedDatagram(TrivialRegisterPassable):
    """What `receive_from` took."""

    var count: Int
    """How many octets there were, or a negative errno. Of a truncated one, on
    Linux, how many there would have been."""
    var is_truncated: Bool
    """True if the room was too small: the rest of the datagram is lost."""


def receive_from(
    number: Int32, room: MutSpan[UInt8, _], mut sender: SockAddr
) -> ReceivedDatagram:
    """Takes a datagram.

    Args:
        number: A datagram socket.
        room: Where to.
        sender: Filled with the sender's address.

    Returns:
        What came, or a negative errno.
    """
    var vectors = Array[IoVector, 1](fill=IoVector.over(room))
    var message = Message(
        vectors.unsafe_ptr().unsafe_origin_cast[MutUntrackedOrigin](), 1
    )
    message.name = sender.octets.unsafe_ptr().unsafe_origin_cast[
        MutUntrackedOrigin
    ]()
    message.name_len = SOCK_ADDR_LEN_MAX
    var count = receive_message(number, message, Int32(_RECEIVE_FLAGS))
    sender.length = UInt32(message.name_len)
    _ = vectors^
    return ReceivedDatagram(count, message.flags() & MSG_TRUNC != 0)


def send_to(number: Int32, octets: Span[UInt8, _], receiver: SockAddr) -> Int:
    """Sends a datagram.

    Args:
        number: A datagram socket.
        octets: What to send.
        receiver: Where to.

    Returns:
        How many octets were taken: all; or a negative errno.
    """
    var count = external_call["sendto", Int](
        number,
        octets.unsafe_ptr(),
        len(octets),
        Int32(MSG_NOSIGNAL),
        receiver.octets.unsafe_ptr(),
        receiver.length,
    )
    return -last_errno() if count < 0 else count

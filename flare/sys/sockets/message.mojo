"""Messages and datagrams with their addresses and control data."""

from flare.sys.errno import EINTR, result_of
from flare.sys.platform import IS_MACOS, by_platform
from flare.sys.sockets.sock_addr import SOCK_ADDR_LEN_MAX, SockAddr
from std.ffi import external_call
from std.memory import OptionalPointer


comptime MSG_NOSIGNAL = by_platform(0x4000, 0)
"""Fail with EPIPE instead of raising SIGPIPE; macOS has a socket option."""
comptime MSG_MORE = by_platform(0x8000, 0)
"""More follows at once, so that a short packet need not go; macOS has no such
flag."""
comptime MSG_PEEK: Int32 = 0x2
"""Leave what is read where it is; the same on all platforms."""
comptime MSG_DONTWAIT = Int32(by_platform(0x40, 0x80))
"""Does not wait, though the socket is one that waits."""
comptime MSG_TRUNC = by_platform(0x20, 0x10)
"""The datagram was longer than the room for it."""


@fieldwise_init
struct IoVector(TrivialRegisterPassable):
    """One piece of a gathered write or a scattered read (`struct iovec`)."""

    var base: Pointer[UInt8, ImmUntrackedOrigin]
    """Start of the piece; its owner must outlive the call."""
    var length: Int

    @staticmethod
    def over(octets: Span[UInt8, _]) -> Self:
        """Describes a span, whose owner must outlive the call."""
        return Self(
            octets.unsafe_ptr()
            .unsafe_mut_cast[False]()
            .unsafe_origin_cast[ImmUntrackedOrigin](),
            len(octets),
        )


struct Message:
    """`struct msghdr` with the widths of Linux.

    macOS has the same fields, but 32 bits for three of the integers. All
    integers are little-endian and start as 0, so what is written as 64 bits
    reads right as 32; only the flags lie elsewhere.
    """

    var name: OptionalPointer[UInt8, MutUntrackedOrigin]
    """Where the address is."""
    var name_len: Int
    """Room for the address, then its length, in bytes."""
    var vectors: Pointer[IoVector, MutUntrackedOrigin]
    var vector_count: Int
    var control: OptionalPointer[UInt8, MutUntrackedOrigin]
    var control_len: Int
    """Its length in bytes; on macOS the upper half has the flags."""
    var end_flags: Int
    """The flags, on Linux."""

    def __init__(
        out self,
        vectors: Pointer[IoVector, MutUntrackedOrigin],
        vector_count: Int,
    ):
        """Makes a message without an address, of pieces that must outlive the
        call."""
        self.name = None
        self.name_len = 0
        self.vectors = vectors
        self.vector_count = vector_count
        self.control = None
        self.control_len = 0
        self.end_flags = 0

    def flags(self) -> Int:
        """Reads what the kernel says of a message that came: `MSG_` constants,
        or-ed."""
        comptime if IS_MACOS:
            return (self.control_len >> 32) & 0xFFFF_FFFF
        else:
            return self.end_flags & 0xFFFF_FFFF


@always_inline
def send_message(number: Int32, message: Message, flags: Int32) -> Int:
    """Sends a message, with `MSG_` constants, or-ed; all that it points to
    outlives the call. Returns how many octets were taken, or a negative errno,
    never EINTR."""
    while True:
        var count = result_of(
            external_call["sendmsg", Int](number, Pointer(to=message), flags)
        )
        if count != -EINTR:
            return count


@always_inline
def receive_message(number: Int32, mut message: Message, flags: Int32) -> Int:
    """Fills in a message, with `MSG_` constants, or-ed. Returns how many octets
    came, or a negative errno, never EINTR."""
    while True:
        var count = result_of(
            external_call["recvmsg", Int](number, Pointer(to=message), flags)
        )
        if count != -EINTR:
            return count


# Linux then answers the datagram's full length; macOS takes no such flag.
comptime _RECEIVE_FLAGS = 0 if IS_MACOS else MSG_TRUNC


@fieldwise_init
struct ReceivedDatagram(TrivialRegisterPassable):

    var count: Int
    """How many octets there were, or a negative errno. Of a truncated one, on
    Linux, how many there would have been."""
    var is_truncated: Bool
    """True if the room was too small: the rest of the datagram is lost."""


def receive_from(
    number: Int32, room: MutSpan[UInt8, _], mut sender: SockAddr
) -> ReceivedDatagram:
    """Takes a datagram, and its sender's address, or a negative errno."""
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
    """Sends a datagram. Returns how many octets were taken: all; or a negative
    errno."""
    return result_of(
        external_call["sendto", Int](
            number,
            octets.unsafe_ptr(),
            len(octets),
            Int32(MSG_NOSIGNAL),
            receiver.octets.unsafe_ptr(),
            receiver.length,
        )
    )

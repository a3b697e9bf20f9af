"""Descriptors that one process hands to another, over a pair of sockets."""

from flare.bytes.checked import *
from flare.sys.descriptor import Descriptor, close_on_exec, make_nonblocking
from flare.sys.errno import OsError, last_errno
from flare.sys.sockets.message import (
    MSG_NOSIGNAL,
    IoVector,
    Message,
    receive_message,
    send_message,
)
from flare.sys.platform import IS_MACOS, by_platform
from flare.sys.sockets.sock_addr import AF_UNIX
from flare.sys.sockets.socket import SOCK_STREAM
from std.ffi import external_call

comptime _SOL_SOCKET = Int32(by_platform(1, 0xFFFF))
comptime _SCM_RIGHTS = Int32(1)
comptime _CLOSE_ON_EXEC = Int32(0 if IS_MACOS else 0x4000_0000)
# MSG_CMSG_CLOEXEC; macOS has none.


struct _Rights:
    """`struct cmsghdr` with one descriptor."""

    var words: List[Int32]
    # On the heap, since the kernel writes there behind the compiler's back.
    # The length is a size_t on Linux and has 32 bits on macOS.

    comptime _HEAD_LEN = by_platform(4, 3)
    comptime LEN = 4 * (Self._HEAD_LEN + 1)

    def __init__(out self, number: Int32):
        self.words = List[Int32](length=6, fill=0)
        self.words.at(0) = Int32(Self.LEN)
        self.words.at(Self._HEAD_LEN - 2) = _SOL_SOCKET
        self.words.at(Self._HEAD_LEN - 1) = _SCM_RIGHTS
        self.words.at(Self._HEAD_LEN) = number

    def number(self, length: Int) -> Int32:
        """Finds the descriptor in what came; -1 if there is none."""
        if length < Self.LEN or Int(self.words.at(0)) != Self.LEN:
            return -1
        if (
            self.words.at(Self._HEAD_LEN - 2) != _SOL_SOCKET
            or self.words.at(Self._HEAD_LEN - 1) != _SCM_RIGHTS
        ):
            return -1
        return self.words.at(Self._HEAD_LEN)


struct SocketPair(Movable):
    """Two connected, non-blocking sockets; both are closed on exec."""

    var _first: Descriptor
    var _second: Descriptor

    def __init__(out self) raises OsError:
        var ends = Array[Int32, 2](fill=-1)
        if (
            external_call["socketpair", Int32](
                Int32(AF_UNIX), Int32(SOCK_STREAM), Int32(0), ends.unsafe_ptr()
            )
            != 0
        ):
            raise OsError("socketpair", last_errno())
        self._first = Descriptor(owned=ends[0])
        self._second = Descriptor(owned=ends[1])
        for index in range(2):
            make_nonblocking(ends.at(index))
            close_on_exec(ends.at(index))

    def take_first(mut self) -> Descriptor:
        """Takes one end out of the pair; not open at a second call."""
        return Descriptor(owned=self._first.release())

    def take_second(mut self) -> Descriptor:
        """Takes the other end out of the pair; not open at a second call."""
        return Descriptor(owned=self._second.release())


def send_with_descriptor(
    number: Int32, octets: Span[UInt8, _], passed: Int32
) -> Int:
    """Sends octets to an end of a `SocketPair`, and a descriptor, which stays
    open here; -1 for none. Returns how many octets were taken, or a negative
    errno."""
    var vectors = Array[IoVector, 1](fill=IoVector.over(octets))
    var rights = _Rights(passed)
    # SAFETY: all that the message points to outlives the call.
    var message = Message(
        vectors.unsafe_ptr().unsafe_origin_cast[MutUntrackedOrigin](), 1
    )
    if passed >= 0:
        message.control = (
            rights.words.unsafe_ptr()
            .unsafe_bitcast[UInt8]()
            .unsafe_origin_cast[MutUntrackedOrigin]()
        )
        message.control_len = _Rights.LEN
    var count = send_message(number, message, Int32(MSG_NOSIGNAL))
    _ = vectors^
    _ = rights^
    return count


def receive_with_descriptor(
    number: Int32, room: MutSpan[UInt8, _], mut passed: Descriptor
) -> Int:
    """Takes octets from an end of a `SocketPair`, and the descriptor that was
    sent with them, closed on exec; not open if there was none. What was sent
    with one descriptor and what was sent with another do not come together.
    Returns how many octets came, 0 at the end, or a negative errno."""
    var vectors = Array[IoVector, 1](fill=IoVector.over(room))
    var rights = _Rights(-1)
    # SAFETY: all that the message points to outlives the call.
    var message = Message(
        vectors.unsafe_ptr().unsafe_origin_cast[MutUntrackedOrigin](), 1
    )
    message.control = (
        rights.words.unsafe_ptr()
        .unsafe_bitcast[UInt8]()
        .unsafe_origin_cast[MutUntrackedOrigin]()
    )
    message.control_len = 24
    var count = receive_message(number, message, _CLOSE_ON_EXEC)
    _ = vectors^
    if count < 0:
        _ = rights^
        return count
    passed = Descriptor(owned=rights.number(message.control_len & 0xFFFF_FFFF))
    comptime if IS_MACOS:
        if passed.is_open():
            try:
                close_on_exec(passed.fd())
            except error:
                passed.close()
    return count

"""Socket calls. Hot ones answer a count or a negative errno and never raise."""

from flare.sys.clock import Deadline
from flare.sys.descriptor import (
    Descriptor,
    close_on_exec,
    make_blocking,
    make_nonblocking,
)
from flare.sys.errno import ECONNABORTED, EINTR, OsError, last_errno, result_of
from flare.sys.sockets.message import (
    MSG_DONTWAIT,
    MSG_MORE,
    MSG_NOSIGNAL,
    MSG_PEEK,
    IoVector,
    Message,
    send_message,
    send_to,
)
from flare.sys.platform import IS_MACOS
from flare.sys.sockets.sock_addr import SockAddr
from flare.sys.sockets.socket_option import (
    SocketOption,
    set_option,
    set_option_words,
)
from flare.sys.standard_streams import STREAM_COUNT, off_standard_streams
from std.ffi import external_call
from std.sys.intrinsics import likely


comptime SOCK_STREAM = 1
"""A byte stream."""
comptime SOCK_DGRAM = 2
"""Datagrams."""
comptime _SOCK_NONBLOCK = 0o4000
comptime _SOCK_CLOEXEC = 0o2000000

comptime SHUT_READ = 0
comptime SHUT_WRITE = 1
"""Ends writing: the peer sees the end of the stream."""
comptime SHUT_BOTH = 2


def open_socket(family: Int, kind: Int) raises OsError -> Descriptor:
    """Makes a non-blocking socket that is closed on exec, by an `AF_` and a
    `SOCK_` constant."""
    comptime flags = 0 if IS_MACOS else _SOCK_NONBLOCK | _SOCK_CLOEXEC
    var number = external_call["socket", Int32](
        Int32(family), Int32(kind | flags), Int32(0)
    )
    if number < 0:
        raise OsError("socket", last_errno())
    var socket = Descriptor(owned=number)
    if number < STREAM_COUNT:
        socket = off_standard_streams(socket^)
    comptime if IS_MACOS:
        prepare_macos_socket(socket.fd())
    return socket^


def prepare_macos_socket(number: Int32) raises OsError:
    """Does on macOS what Linux does with flags."""
    make_nonblocking(number)
    close_on_exec(number)
    set_option(number, SocketOption.NO_SIGPIPE, 1)


def bind_socket(number: Int32, address: SockAddr) raises OsError:
    if (
        external_call["bind", Int32](
            number, address.octets.unsafe_ptr(), address.length
        )
        != 0
    ):
        raise OsError("bind", last_errno())


def listen_socket(number: Int32, backlog: Int) raises OsError:
    """Lets a bound stream socket wait for connections, of which at most
    `backlog` wait to be accepted."""
    if external_call["listen", Int32](number, Int32(backlog)) != 0:
        raise OsError("listen", last_errno())


def accept_socket(number: Int32, mut peer: SockAddr) -> Int32:
    """Takes a waiting connection, non-blocking and closed on exec, and its
    peer's address. Returns a descriptor that the caller owns, or a negative
    errno, never EINTR."""
    while True:
        var accepted = _accept(number, peer)
        if accepted != -Int32(EINTR):
            return accepted


def _accept(number: Int32, mut peer: SockAddr) -> Int32:
    peer.length = 128
    comptime if IS_MACOS:
        var accepted = external_call["accept", Int32](
            number, peer.octets.unsafe_ptr(), Pointer(to=peer.length)
        )
        if accepted < 0:
            return Int32(-last_errno())
        try:
            prepare_macos_socket(accepted)
        except:
            var unusable = Descriptor(owned=accepted)
            unusable.close()
            # Options of a connection that its peer has given up already
            # cannot be set; the next one in the queue may well be sound.
            return Int32(-ECONNABORTED)
        return accepted
    else:
        var accepted = external_call["accept4", Int32](
            number,
            peer.octets.unsafe_ptr(),
            Pointer(to=peer.length),
            Int32(_SOCK_NONBLOCK | _SOCK_CLOEXEC),
        )
        return Int32(-last_errno()) if accepted < 0 else accepted


def connect_socket(number: Int32, address: SockAddr) -> Int:
    """Starts a connection. Returns 0, or a negative errno; -EINPROGRESS is the
    normal one. On a socket that waits a signal may end the call (EINTR)."""
    var result = external_call["connect", Int32](
        number, address.octets.unsafe_ptr(), address.length
    )
    return -last_errno() if result != 0 else 0


@always_inline
def receive(number: Int32, room: MutSpan[UInt8, _]) -> Int:
    """Reads octets from a socket: how many, 0 at the end of the stream, or a
    negative errno, never EINTR."""
    return _receive(number, room, 0)


def peek(number: Int32, room: MutSpan[UInt8, _]) -> Int:
    """Reads octets from a socket as `receive` does, and leaves them there."""
    return _receive(number, room, MSG_PEEK)


@always_inline
def _receive(number: Int32, room: MutSpan[UInt8, _], flags: Int32) -> Int:
    while True:
        var count = _receive_once(number, room, flags)
        if likely(count != -EINTR):
            return count


@always_inline
def _receive_once(number: Int32, room: MutSpan[UInt8, _], flags: Int32) -> Int:
    return result_of(
        external_call["recv", Int](number, room.unsafe_ptr(), len(room), flags)
    )


@always_inline
def send[
    more_follows: Bool = False, never_waits: Bool = False
](number: Int32, octets: Span[UInt8, _]) -> Int:
    """Writes octets to a socket; a closed peer never raises SIGPIPE. Returns
    how many were taken, or a negative errno, never EINTR.

    If `more_follows` at once, these need no packet of their own; if it
    `never_waits`, it does not though the socket is one that waits.
    """
    comptime now = Int(MSG_DONTWAIT) if never_waits else 0
    comptime flags = MSG_NOSIGNAL | (MSG_MORE if more_follows else 0) | now
    while True:
        var count = result_of(
            external_call["send", Int](
                number, octets.unsafe_ptr(), len(octets), Int32(flags)
            )
        )
        if likely(count != -EINTR):
            return count


def send_two(
    number: Int32, first: Span[UInt8, _], second: Span[UInt8, _]
) -> Int:
    """Writes two pieces with one call, without joining them. Returns how many
    octets of both were taken, or a negative errno, never EINTR."""
    var vectors = Array[IoVector, 2](fill=IoVector.over(first))
    vectors[1] = IoVector.over(second)
    var message = Message(
        vectors.unsafe_ptr().unsafe_origin_cast[MutUntrackedOrigin](), 2
    )
    var result = send_message(number, message, Int32(MSG_NOSIGNAL))
    _ = vectors^
    return result


def shutdown_socket(number: Int32, how: Int) -> Int:
    """Ends one or both directions of a connection, by a `SHUT_` constant.
    Returns 0, or a negative errno."""
    var result = external_call["shutdown", Int32](number, Int32(how))
    return -last_errno() if result != 0 else 0


def local_address(number: Int32) raises OsError -> SockAddr:
    var address = SockAddr()
    if (
        external_call["getsockname", Int32](
            number, address.octets.unsafe_ptr(), Pointer(to=address.length)
        )
        != 0
    ):
        raise OsError("getsockname", last_errno())
    return address^


def peer_address(number: Int32) raises OsError -> SockAddr:
    var address = SockAddr()
    if (
        external_call["getpeername", Int32](
            number, address.octets.unsafe_ptr(), Pointer(to=address.length)
        )
        != 0
    ):
        raise OsError("getpeername", last_errno())
    return address^


# Calls that wait inside the kernel, where polling cannot help.
#
# On Linux, connecting to a Unix socket whose queue is full fails with EAGAIN, and
# so does sending to a full Unix datagram socket; no poll tells when to try again.
# A blocking call waits in the kernel's own queue.


def connect_patiently(
    number: Int32, address: SockAddr, deadline: Deadline
) raises OsError -> Int:
    """Connects a socket that never blocks, waiting for room in the listener's
    queue. Returns 0, or a negative errno; -EAGAIN when the time is over. Raises
    if the socket cannot be prepared."""
    _allow_waiting(number, deadline)
    var result = connect_socket(number, address)
    make_nonblocking(number)
    return result


def send_patiently(
    number: Int32,
    octets: Span[UInt8, _],
    receiver: SockAddr,
    deadline: Deadline,
) raises OsError -> Int:
    """Sends a datagram on a non-blocking socket, waiting for room in the
    receiver's queue. Returns how many octets were taken, or a negative errno;
    -EAGAIN when the time is over. Raises if the socket cannot be prepared."""
    _allow_waiting(number, deadline)
    var result = send_to(number, octets, receiver)
    make_nonblocking(number)
    return result


def _allow_waiting(number: Int32, deadline: Deadline) raises OsError:
    _set_timeout(number, SocketOption.SEND_TIMEOUT, deadline.left_ms())
    make_blocking(number)


def _set_timeout(
    number: Int32, option: SocketOption, left_ms: Int
) raises OsError:
    # struct timeval: seconds and microseconds of 64 bits each. All zero means
    # for ever, so a deadline that is over becomes the shortest wait.
    var seconds = Int32(0)
    var microseconds = Int32(0)
    if left_ms >= 0:
        seconds = Int32(left_ms // 1_000)
        microseconds = Int32(max(left_ms % 1_000 * 1_000, 1))
    set_option_words(number, option, [seconds, 0, microseconds, 0])


def let_receives_wait(number: Int32, timeout_ms: Int) raises OsError:
    """Makes reads wait in the kernel, for so long until they answer -EAGAIN,
    negative for ever: one call where there would be three. Afterwards
    `receive_waiting` waits, and `send[never_waits=True]` does not."""
    _set_timeout(number, SocketOption.RECEIVE_TIMEOUT, timeout_ms)
    make_blocking(number)


@always_inline
def receive_waiting(number: Int32, room: MutSpan[UInt8, _]) -> Int:
    """Reads octets from a socket that waits, as `receive` does; a signal ends
    the wait (EINTR), of which the kernel does not say how much is left."""
    return _receive_once(number, room, 0)


def receive_now(number: Int32, room: MutSpan[UInt8, _]) -> Int:
    """Reads octets without waiting, also from a socket that waits."""
    return _receive(number, room, MSG_DONTWAIT)


def peek_now(number: Int32, room: MutSpan[UInt8, _]) -> Int:
    """Reads octets without waiting, and leaves them there."""
    return _receive(number, room, MSG_PEEK | MSG_DONTWAIT)

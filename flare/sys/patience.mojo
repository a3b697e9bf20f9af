"""Calls that wait inside the kernel, where polling cannot help.

On Linux, connecting to a Unix socket whose queue is full fails with EAGAIN, and
so does sending to a full Unix datagram socket; no poll tells when to try again.
A blocking call waits in the kernel's own queue.
"""

from flare.sys.datagram import send_to
from flare.sys.deadline import Deadline
from flare.sys.descriptor import make_blocking, make_nonblocking
from flare.sys.errno import OsError
from flare.sys.sock_addr import SockAddr
from flare.sys.socket import connect_socket
from flare.sys.socket_option import SocketOption, set_option_words


def connect_patiently(
    number: Int32, address: SockAddr, deadline: Deadline
) raises OsError -> Int:
    """Connects, waiting for room in the listener's queue.

    Args:
        number: A non-blocking socket.
        address: The peer's address.
        deadline: When to give up.

    Returns:
        0, or a negative errno; -EAGAIN when the time is over.

    Raises:
        OsError: If the socket cannot be prepared.
    """
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
    """Sends a datagram, waiting for room in the receiver's queue.

    Args:
        number: A non-blocking datagram socket.
        octets: What to send.
        receiver: Where to.
        deadline: When to give up.

    Returns:
        How many octets were taken, or a negative errno; -EAGAIN when the time
        is over.

    Raises:
        OsError: If the socket cannot be prepared.
    """
    _allow_waiting(number, deadline)
    var result = send_to(number, octets, receiver)
    make_nonblocking(number)
    return result


def _allow_waiting(number: Int32, deadline: Deadline) raises OsError:
    # struct timeval: seconds and microseconds of 64 bits each. All zero means
    # for ever, so a deadline that is over becomes the shortest wait.
    var left_ms = deadline.left_ms()
    var seconds = Int32(0)
    var microseconds = Int32(0)
    if left_ms >= 0:
        seconds = Int32(left_ms // 1_000)
        microseconds = Int32(max(left_ms % 1_000 * 1_000, 1))
    set_option_words(
        number, SocketOption.SEND_TIMEOUT, [seconds, 0, microseconds, 0]
    )
    make_blocking(number)

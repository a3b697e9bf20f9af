"""Options of sockets."""

from flare.sys.errno import OsError, last_errno
from flare.sys.platform import by_platform
from std.ffi import external_call

comptime _SOL_SOCKET = by_platform(1, 0xFFFF)
comptime _IPPROTO_TCP = 6
comptime _IPPROTO_IPV6 = 41


@fieldwise_init
struct SocketOption(TrivialRegisterPassable):
    """A socket option that takes an integer."""

    var level: Int32
    """The protocol level."""
    var name: Int32
    """The number at that level."""

    comptime REUSE_ADDR = SocketOption(
        Int32(_SOL_SOCKET), Int32(by_platform(2, 4))
    )
    """Binds over connections in TIME_WAIT."""
    comptime REUSE_PORT = SocketOption(
        Int32(_SOL_SOCKET), Int32(by_platform(15, 0x200))
    )
    """Lets several sockets listen on one port."""
    comptime KEEP_ALIVE = SocketOption(
        Int32(_SOL_SOCKET), Int32(by_platform(9, 8))
    )
    """Probes silent peers."""
    comptime LINGER = SocketOption(
        Int32(_SOL_SOCKET), Int32(by_platform(13, 0x80))
    )
    """What close does with unsent data."""
    comptime NO_SIGPIPE = SocketOption(Int32(_SOL_SOCKET), 0x1022)
    """Lets writes to a closed peer fail without SIGPIPE; macOS only."""
    comptime ERROR = SocketOption(
        Int32(_SOL_SOCKET), Int32(by_platform(4, 0x1007))
    )
    """The pending error, read only."""
    comptime SEND_BUFFER = SocketOption(
        Int32(_SOL_SOCKET), Int32(by_platform(7, 0x1001))
    )
    """Size of the kernel's send buffer in bytes."""
    comptime RECEIVE_BUFFER = SocketOption(
        Int32(_SOL_SOCKET), Int32(by_platform(8, 0x1002))
    )
    """Size of the kernel's receive buffer in bytes."""
    comptime NO_DELAY = SocketOption(Int32(_IPPROTO_TCP), 1)
    """Sends small segments at once."""
    comptime V6_ONLY = SocketOption(
        Int32(_IPPROTO_IPV6), Int32(by_platform(26, 27))
    )
    """Keeps an IPv6 socket from IPv4 peers."""


def set_option(number: Int32, option: SocketOption, value: Int) raises OsError:
    """Sets a socket option.

    Args:
        number: A socket.
        option: The option.
        value: Its value.

    Raises:
        OsError: If the kernel refuses.
    """
    _set(number, option, [Int32(value)])


def get_option(number: Int32, option: SocketOption) raises OsError -> Int:
    """Reads a socket option.

    Args:
        number: A socket.
        option: The option.

    Returns:
        Its value.

    Raises:
        OsError: If the kernel refuses.
    """
    var word = Int32(0)
    var length = UInt32(4)
    if (
        external_call["getsockopt", Int32](
            number,
            option.level,
            option.name,
            Pointer(to=word),
            Pointer(to=length),
        )
        != 0
    ):
        raise OsError("getsockopt", last_errno())
    return Int(word)


def set_reset_on_close(number: Int32) raises OsError:
    """Makes close send a reset instead of an orderly end (SO_LINGER of 0 s).

    Args:
        number: A TCP socket.

    Raises:
        OsError: If the kernel refuses.
    """
    # struct linger: l_onoff, l_linger.
    _set(number, SocketOption.LINGER, [Int32(1), Int32(0)])


def _set[
    word_count: Int
](
    number: Int32, option: SocketOption, value: Array[Int32, word_count]
) raises OsError:
    var result = external_call["setsockopt", Int32](
        number,
        option.level,
        option.name,
        value.unsafe_ptr(),
        UInt32(4 * word_count),
    )
    if result != 0:
        raise OsError("setsockopt", last_errno())

"""Options of sockets."""

from flare.bytes.checked import *
from flare.sys.errno import OsError, last_errno
from flare.sys.platform import IS_MACOS, by_platform
from std.ffi import external_call


comptime _SOL_SOCKET = by_platform(1, 0xFFFF)
comptime _IPPROTO_IP = 0
comptime _IPPROTO_TCP = 6
comptime _IPPROTO_IPV6 = 41


@fieldwise_init
struct SocketOption(TrivialRegisterPassable):
    """A socket option that takes an integer."""

    var level: Int32
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
    comptime KEEP_IDLE_S = SocketOption(
        Int32(_IPPROTO_TCP), Int32(by_platform(4, 0x10))
    )
    """Silence before the first probe, in seconds."""
    comptime KEEP_INTERVAL_S = SocketOption(
        Int32(_IPPROTO_TCP), Int32(by_platform(5, 0x101))
    )
    """Time between probes, in seconds."""
    comptime KEEP_COUNT = SocketOption(
        Int32(_IPPROTO_TCP), Int32(by_platform(6, 0x102))
    )
    """Probes without an answer that end a connection."""
    comptime BROADCAST = SocketOption(
        Int32(_SOL_SOCKET), Int32(by_platform(6, 0x20))
    )
    """Allows datagrams to a broadcast address."""
    comptime LINGER = SocketOption(
        Int32(_SOL_SOCKET), Int32(by_platform(13, 0x80))
    )
    """What close does with unsent data."""
    comptime NO_SIGPIPE = SocketOption(Int32(_SOL_SOCKET), 0x1022)
    """Lets writes to a closed peer fail without SIGPIPE; macOS only."""
    comptime IS_LISTENING = SocketOption(
        Int32(_SOL_SOCKET), Int32(by_platform(30, 2))
    )
    """1 for a socket that accepts connections, read only."""
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
    comptime UNSENT_MAX = SocketOption(
        Int32(_IPPROTO_TCP), Int32(by_platform(25, 0x201))
    )
    """Octets that may wait in the kernel until they are sent for the first time;
    beyond them there is no room (`TCP_NOTSENT_LOWAT`)."""
    comptime JOIN_GROUP_V4 = SocketOption(
        Int32(_IPPROTO_IP), Int32(by_platform(35, 12))
    )
    """Receives what is sent to a group; takes group and interface."""
    comptime LEAVE_GROUP_V4 = SocketOption(
        Int32(_IPPROTO_IP), Int32(by_platform(36, 13))
    )
    """No longer receives what is sent to a group."""
    comptime MULTICAST_INTERFACE_V4 = SocketOption(
        Int32(_IPPROTO_IP), Int32(by_platform(32, 9))
    )
    """Where datagrams to groups leave; takes an address."""
    comptime JOIN_GROUP_V6 = SocketOption(
        Int32(_IPPROTO_IPV6), Int32(by_platform(20, 12))
    )
    """Receives what is sent to a group; takes group and interface."""
    comptime LEAVE_GROUP_V6 = SocketOption(
        Int32(_IPPROTO_IPV6), Int32(by_platform(21, 13))
    )
    """No longer receives what is sent to a group."""
    comptime MULTICAST_INTERFACE_V6 = SocketOption(
        Int32(_IPPROTO_IPV6), Int32(by_platform(17, 9))
    )
    """Where datagrams to groups leave; takes the index of an interface."""
    comptime SEND_TIMEOUT = SocketOption(
        Int32(_SOL_SOCKET), Int32(by_platform(21, 0x1005))
    )
    """How long a blocking write or connect waits; takes a `timeval`."""
    comptime RECEIVE_TIMEOUT = SocketOption(
        Int32(_SOL_SOCKET), Int32(by_platform(20, 0x1006))
    )
    """How long a blocking read waits; takes a `timeval`."""
    comptime V6_ONLY = SocketOption(
        Int32(_IPPROTO_IPV6), Int32(by_platform(26, 27))
    )
    """Keeps an IPv6 socket from IPv4 peers."""


def set_option(number: Int32, option: SocketOption, value: Int) raises OsError:
    set_option_words(number, option, [Int32(value)])


def get_option(number: Int32, option: SocketOption) raises OsError -> Int:
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
    """Makes close send a reset instead of an orderly end (SO_LINGER of 0 s)."""
    # struct linger: l_onoff, l_linger.
    set_option_words(number, SocketOption.LINGER, [Int32(1), Int32(0)])


def set_option_words[
    word_count: Int
](
    number: Int32, option: SocketOption, value: Array[Int32, word_count]
) raises OsError:
    """Sets a socket option that takes a structure."""
    var result = external_call["setsockopt", Int32](
        number,
        option.level,
        option.name,
        value.unsafe_ptr(),
        UInt32(4 * word_count),
    )
    if result != 0:
        raise OsError("setsockopt", last_errno())


comptime _SIOCOUTQ: UInt = 0x5411
comptime _SO_NWRITE = SocketOption(0xFFFF, 0x1024)
# The same question on macOS.


def undelivered_len(number: Int32) -> Int:
    """Counts what was sent on a connected stream socket and has not arrived:
    what the peer's system has not acknowledged, for a Unix socket what the peer
    has not read and what keeps it; 0 if unknown.

    A socket is not writable again before a good part of its buffer is free,
    which takes a slow peer minutes; this shrinks with all that it takes.
    """
    comptime if IS_MACOS:
        try:
            return get_option(number, _SO_NWRITE)
        except error:
            return 0
    else:
        var count = Int32(0)
        var result = external_call["ioctl", Int32](
            number, _SIOCOUTQ, Pointer(to=count)
        )
        return Int(count) if result == 0 else 0


def set_group_v4(
    number: Int32,
    option: SocketOption,
    group: Array[UInt8, 4],
    address: Array[UInt8, 4],
    index: Int,
) raises OsError:
    """Sets `JOIN_GROUP_V4`, `LEAVE_GROUP_V4` or `MULTICAST_INTERFACE_V4`, which
    take a `struct ip_mreqn`. The group is all zero for the last of these; the
    address of the interface, or its index, is zero to choose it otherwise."""
    set_option_words(
        number, option, [_word(group, 0), _word(address, 0), Int32(index)]
    )


def set_group_v6(
    number: Int32, option: SocketOption, group: Array[UInt8, 16], index: Int
) raises OsError:
    """Sets `JOIN_GROUP_V6` or `LEAVE_GROUP_V6`, which take a `struct
    ipv6_mreq`. The index of the interface is 0 to let the system choose."""
    set_option_words(
        number,
        option,
        [
            _word(group, 0),
            _word(group, 4),
            _word(group, 8),
            _word(group, 12),
            Int32(index),
        ],
    )


def _word[count: Int](octets: Array[UInt8, count], start: Int) -> Int32:
    """Reads four octets as they lie in memory; all targets start low."""
    var word = UInt32(0)
    for index in range(4):
        word |= UInt32(octets.at(start + index)) << UInt32(8 * index)
    return Int32(word)

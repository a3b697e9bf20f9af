"""Groups that datagrams can be sent to (IP multicast)."""

from flare.sys.errno import OsError
from flare.sys.socket_option import SocketOption, set_option_words


def set_group_v4(
    number: Int32,
    option: SocketOption,
    group: Array[UInt8, 4],
    address: Array[UInt8, 4],
    index: Int,
) raises OsError:
    """Sets an option that takes a `struct ip_mreqn`.

    Args:
        number: An IPv4 datagram socket.
        option: `JOIN_GROUP_V4`, `LEAVE_GROUP_V4` or `MULTICAST_INTERFACE_V4`.
        group: The group; all zero for the last of these.
        address: An address of the interface; all zero to choose it otherwise.
        index: The interface's index; 0 to choose it otherwise.

    Raises:
        OsError: If the kernel refuses.
    """
    set_option_words(
        number, option, [_word(group, 0), _word(address, 0), Int32(index)]
    )


def set_group_v6(
    number: Int32, option: SocketOption, group: Array[UInt8, 16], index: Int
) raises OsError:
    """Sets an option that takes a `struct ipv6_mreq`.

    Args:
        number: An IPv6 datagram socket.
        option: `JOIN_GROUP_V6` or `LEAVE_GROUP_V6`.
        group: The group.
        index: The interface's index; 0 lets the system choose.

    Raises:
        OsError: If the kernel refuses.
    """
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
        word |= UInt32(octets[start + index]) << UInt32(8 * index)
    return Int32(word)

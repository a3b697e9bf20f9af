"""Socket addresses in the kernel's own layout."""

from flare.bytes.checked import *
from flare.bytes.padding import Padding
from flare.sys.platform import IS_MACOS, by_platform
from std.memory import unsafe_memset_zero

comptime AF_UNIX = 1
"""Sockets of one machine, named by a path."""
comptime AF_INET = 2
"""IPv4."""
comptime AF_INET6 = by_platform(10, 30)

comptime SOCK_ADDR_LEN_MAX = 128
"""Size of `struct sockaddr_storage` in bytes."""

comptime UNIX_NAME_LEN_MAX = by_platform(107, 103)
"""Longest name of a Unix socket, in bytes.

`sun_path` has 108 on Linux and 104 on macOS; a path needs one for its NUL.
"""

comptime _UNIX_NAME_OFFSET = 2


struct SockAddr(Copyable, Movable):
    """A `struct sockaddr` of any family, as octets.

    The family is 16 bits on Linux; on macOS a length of 8 bits comes first and
    the family has 8.
    """

    var _padding: Padding[128]
    var octets: Array[UInt8, SOCK_ADDR_LEN_MAX]
    var length: UInt32
    """How many octets of it are in use."""

    def __init__(out self):
        """Makes an empty address with room for any."""
        self._padding = {}
        self.octets = Array[UInt8, SOCK_ADDR_LEN_MAX](uninitialized=True)
        # SAFETY: the array is this value's own, and so long.
        unsafe_memset_zero(self.octets.unsafe_ptr(), SOCK_ADDR_LEN_MAX)
        self.length = SOCK_ADDR_LEN_MAX

    @staticmethod
    def inet(ip: Array[UInt8, 4], port: UInt16) -> Self:
        """Makes an IPv4 address (`struct sockaddr_in`), in network order."""
        var address = Self()
        address._begin(AF_INET, 16, port)
        for index in range(4):
            address.octets.at(4 + index) = ip.at(index)
        return address^

    @staticmethod
    def inet6(ip: Array[UInt8, 16], port: UInt16) -> Self:
        """Makes an IPv6 address (`struct sockaddr_in6`), in network order."""
        var address = Self()
        address._begin(AF_INET6, 28, port)
        for index in range(16):
            address.octets.at(8 + index) = ip.at(index)
        return address^

    @staticmethod
    def unix(name: Span[UInt8, _], is_abstract: Bool = False) -> Self:
        """Makes the address of a Unix socket (`struct sockaddr_un`) of a path,
        or of a name that is none (Linux only); a longer one is cut to
        `UNIX_NAME_LEN_MAX` bytes."""
        var address = Self()
        var length = min(len(name), UNIX_NAME_LEN_MAX)
        # An abstract name stands after a NUL and ends with the structure; a
        # path starts at once and ends with a NUL.
        var start = _UNIX_NAME_OFFSET + (1 if is_abstract else 0)
        address._begin(AF_UNIX, _UNIX_NAME_OFFSET + length + 1, 0)
        for index in range(length):
            address.octets.at(start + index) = name.at(index)
        return address^

    def unix_name(self) -> List[UInt8]:
        """Reads the name of `AF_UNIX`: the path, or a NUL and the abstract
        name; empty for a socket that has none."""
        var end = min(Int(self.length), SOCK_ADDR_LEN_MAX)
        var name = List[UInt8]()
        for index in range(_UNIX_NAME_OFFSET, end):
            var is_path = index > _UNIX_NAME_OFFSET and name.at(0) != 0
            if self.octets.at(index) == 0 and (is_path or IS_MACOS):
                break
            name.append(self.octets.at(index))
        return name^

    def _begin(mut self, family: Int, length: Int, port: UInt16):
        comptime if IS_MACOS:
            self.octets[0] = UInt8(length)
            self.octets[1] = UInt8(family)
        else:
            self.octets[0] = UInt8(family)
        self.octets[2] = UInt8(port >> 8)
        self.octets[3] = UInt8(port & 255)
        self.length = UInt32(length)

    def family(self) -> Int:
        """Reads the address family: `AF_INET`, `AF_INET6`, or another."""
        comptime if IS_MACOS:
            return Int(self.octets[1])
        else:
            return Int(self.octets[0]) | (Int(self.octets[1]) << 8)

    def port(self) -> UInt16:
        return (UInt16(self.octets[2]) << 8) | UInt16(self.octets[3])

    def inet_octets(self) -> Array[UInt8, 4]:
        """Reads the address of `AF_INET` in network order."""
        var ip = Array[UInt8, 4](uninitialized=True)
        for index in range(4):
            ip.at(index) = self.octets.at(4 + index)
        return ip^

    def inet6_octets(self) -> Array[UInt8, 16]:
        """Reads the address of `AF_INET6` in network order."""
        var ip = Array[UInt8, 16](uninitialized=True)
        for index in range(16):
            ip.at(index) = self.octets.at(8 + index)
        return ip^

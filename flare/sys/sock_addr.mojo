"""Socket addresses in the kernel's own layout."""

from flare.sys.platform import IS_MACOS, by_platform

comptime AF_INET = 2
"""IPv4."""
comptime AF_INET6 = by_platform(10, 30)
"""IPv6."""

comptime SOCK_ADDR_LEN_MAX = 128
"""Size of `struct sockaddr_storage` in bytes."""


struct SockAddr(Copyable, Movable):
    """A `struct sockaddr` of any family, as octets.

    The family is 16 bits on Linux; on macOS a length of 8 bits comes first and
    the family has 8.
    """

    var octets: Array[UInt8, SOCK_ADDR_LEN_MAX]
    """The structure."""
    var length: UInt32
    """How many octets of it are in use."""

    def __init__(out self):
        """Makes an empty address with room for any."""
        self.octets = Array[UInt8, SOCK_ADDR_LEN_MAX](fill=0)
        self.length = SOCK_ADDR_LEN_MAX

    @staticmethod
    def inet(ip: Array[UInt8, 4], port: UInt16) -> Self:
        """Makes an IPv4 address (`struct sockaddr_in`).

        Args:
            ip: The address in network order.
            port: The port.

        Returns:
            The structure.
        """
        var address = Self()
        address._begin(AF_INET, 16, port)
        for index in range(4):
            address.octets[4 + index] = ip[index]
        return address^

    @staticmethod
    def inet6(ip: Array[UInt8, 16], port: UInt16) -> Self:
        """Makes an IPv6 address (`struct sockaddr_in6`).

        Args:
            ip: The address in network order.
            port: The port.

        Returns:
            The structure.
        """
        var address = Self()
        address._begin(AF_INET6, 28, port)
        for index in range(16):
            address.octets[8 + index] = ip[index]
        return address^

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
        """Reads the address family.

        Returns:
            `AF_INET`, `AF_INET6`, or another.
        """
        comptime if IS_MACOS:
            return Int(self.octets[1])
        else:
            return Int(self.octets[0]) | (Int(self.octets[1]) << 8)

    def port(self) -> UInt16:
        """Reads the port of an IP address.

        Returns:
            The port.
        """
        return (UInt16(self.octets[2]) << 8) | UInt16(self.octets[3])

    def inet_octets(self) -> Array[UInt8, 4]:
        """Reads the address of `AF_INET`.

        Returns:
            The octets in network order.
        """
        var ip = Array[UInt8, 4](fill=0)
        for index in range(4):
            ip[index] = self.octets[4 + index]
        return ip^

    def inet6_octets(self) -> Array[UInt8, 16]:
        """Reads the address of `AF_INET6`.

        Returns:
            The octets in network order.
        """
        var ip = Array[UInt8, 16](fill=0)
        for index in range(16):
            ip[index] = self.octets[8 + index]
        return ip^

"""A socket address: an IP address and a port."""

from flare.bytes.checked import *
from flare.bytes.utf8 import lossy_text
from flare.net.error import AddressParseError
from flare.net.ip import IpAddr

comptime _SOCKET_ADDRESS = StaticString(
    "a socket address such as 127.0.0.1:8080 or [::1]:8080"
)


def _known_port[port: Int]() -> UInt16:
    """Converts a number, which would lose what is beyond 16 bits unseen."""
    comptime assert (
        port >= 0 and port <= 65_535
    ), "SocketAddr: a port is 0 to 65535"
    return UInt16(port)


struct SocketAddr(Comparable, Hashable, ImplicitlyCopyable, Writable):
    """Where a socket listens, or whom it speaks to."""

    var ip: IpAddr
    """The address."""
    var port: UInt16
    """The port; 0 lets the kernel choose one when binding."""

    @always_inline
    def __init__(out self, ip: IpAddr, port: UInt16):
        """Makes a socket address.

        Args:
            port: The port.
        """
        self.ip = ip
        self.port = port

    @always_inline
    def __init__(out self, ip: IpAddr, port: IntLiteral[_]):
        """Makes a socket address with a port that stands in the program; the
        build fails if it is none.

        Args:
            port: The port, 0 to 65535.
        """
        self.ip = ip
        self.port = _known_port[Int(type_of(port)())]()

    @staticmethod
    def localhost(port: IntLiteral[_]) -> Self:
        """Gives 127.0.0.1 with a port which stands in the program; the build
        fails if it is none.

        Args:
            port: The port, 0 to 65535; 0 lets the kernel choose one.
        """
        return Self.localhost(_known_port[Int(type_of(port)())]())

    @staticmethod
    def any(port: IntLiteral[_]) -> Self:
        """Gives 0.0.0.0, all IPv4 addresses of this machine, with a port which
        stands in the program; the build fails if it is none.

        Args:
            port: The port, 0 to 65535; 0 lets the kernel choose one.
        """
        return Self.any(_known_port[Int(type_of(port)())]())

    @staticmethod
    def localhost(port: UInt16) -> Self:
        """Names a port of this machine that other machines cannot reach."""
        return Self(IpAddr.v4(127, 0, 0, 1), port)

    @staticmethod
    def any(port: UInt16) -> Self:
        """Names a port on all IPv4 addresses of this machine."""
        return Self(IpAddr.v4(0, 0, 0, 0), port)

    @staticmethod
    def parse(text: StringSpan) raises AddressParseError -> Self:
        """Reads an address with a port.

        Source: RFC 3986 section 3.2.2 for the brackets, which IPv6 needs.

        Args:
            text: `a.b.c.d:port` or `[v6]:port`, nothing around it.

        Raises:
            AddressParseError: If the text has another form; the port is 0 to
                65535 without leading zeros.
        """
        var octets = text.as_bytes()
        var colon = len(octets) - 1
        while colon >= 0 and octets.at(colon) != 58:
            colon -= 1
        if colon < 0 or octets.at(len(octets) - 1) == 93:
            raise _error(text, len(octets), "a colon and a port are missing")
        if colon == 0:
            raise _error(
                text,
                0,
                "an address is missing; 0.0.0.0 or [::] is every one of this"
                " machine",
            )
        var port = parse_port(text, colon + 1)
        if octets.at(0) != 91:
            var ip = IpAddr.parse(octets.before(colon))
            if ip.is_v6():
                raise _error(text, 0, "IPv6 needs brackets around it")
            return Self(ip, port)
        if colon < 2 or octets.at(colon - 1) != 93:
            raise _error(text, colon, "']' is missing before the colon")
        var ip = IpAddr.parse(octets.between(1, colon - 1))
        if ip.is_v4():
            raise _error(text, 0, "IPv4 has no brackets around it")
        return Self(ip, port)

    def without_mapping(self) -> Self:
        """Gives the IPv4 socket address that an IPv4-mapped one stands for,
        `1.2.3.4:80` for `[::ffff:1.2.3.4]:80`; any other as it is."""
        return Self(self.ip.without_mapping(), self.port)

    def __lt__(self, other: Self) -> Bool:
        """Tells whether this one comes first, by address, then port.

        Args:
            other: A socket address.
        """
        return self.ip < other.ip or (
            self.ip == other.ip and self.port < other.port
        )

    def write_to(self, mut writer: Some[Writer]):
        """Writes the form that `parse` reads."""
        if self.ip.is_v6():
            writer.write_string("[")
            self.ip.write_to(writer)
            writer.write_string("]:")
            self.port.write_to(writer)
        else:
            self.ip.write_to(writer)
            writer.write_string(":")
            self.port.write_to(writer)


def host_and_port(host: StringSpan, port: UInt16) -> String:
    """Writes a host name, or an address without brackets, and a port.

    Source: RFC 3986 section 3.2.2: an IPv6 address stands in brackets, or nobody
    could tell the port from its last part.
    """
    if ":" in host:
        return String("[", host, "]:", port)
    return String(host, ":", port)


def _error(
    text: StringSpan, offset: Int, reason: StaticString
) -> AddressParseError:
    return AddressParseError(
        _SOCKET_ADDRESS, lossy_text(text.as_bytes()), offset, reason
    )


def parse_port(text: StringSpan, start: Int) raises AddressParseError -> UInt16:
    """Reads the port at the end of a text, from `start`. Raises if it is not 0
    to 65535 without leading zeros."""
    var octets = text.as_bytes()
    var count = len(octets) - start
    if count < 1 or count > 5:
        raise _error(text, start, "a port has one to five digits")
    var port = 0
    for index in range(start, len(octets)):
        if octets.at(index) < 48 or octets.at(index) > 57:
            raise _error(text, index, "a port has decimal digits only")
        port = port * 10 + Int(octets.at(index)) - 48
    if port > 65_535:
        raise _error(text, start, "a port is at most 65535")
    if count > 1 and octets.at(start) == 48:
        raise _error(text, start, "a port has no leading zero")
    return UInt16(port)

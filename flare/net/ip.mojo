"""IP addresses, version 4 and 6."""

from flare.net.address_parse_error import AddressParseError
from flare.net.ip_parser import parse_ip_octets
from flare.net.ip_text import write_v4, write_v6


struct IpAddr(Comparable, Hashable, ImplicitlyCopyable, Writable):
    """An IPv4 or IPv6 address.

    Prints in the canonical form (RFC 5952), which `parse` reads back. An
    IPv4-mapped IPv6 address (`::ffff:1.2.3.4`) stays an IPv6 address, since a
    socket of that version needs it so; but what it is for (`is_private` and its
    neighbours) and which `IpNetwork` it is in is asked of the IPv4 address that
    it stands for. `without_mapping` gives that one.
    """

    # The address in network order; IPv4 keeps its four octets at the low end.
    var _high: UInt64
    var _low: UInt64
    var _is_v4: Bool

    def __init__(out self, high: UInt64, low: UInt64, is_v4: Bool):
        """Makes an address from its bits.

        Args:
            high: The upper 64 bits; 0 for IPv4.
            low: The lower 64 bits; for IPv4 the address in its lower half.
            is_v4: True for IPv4.
        """
        self._high = high
        self._low = low
        self._is_v4 = is_v4

    @staticmethod
    def v4(a: UInt8, b: UInt8, c: UInt8, d: UInt8) -> Self:
        """Makes an IPv4 address from its octets.

        Args:
            a: The first octet.
            b: The second octet.
            c: The third octet.
            d: The fourth octet.

        Returns:
            The address a.b.c.d.
        """
        var low = (
            (UInt64(a) << 24) | (UInt64(b) << 16) | (UInt64(c) << 8) | UInt64(d)
        )
        return Self(0, low, True)

    @staticmethod
    def from_v4_octets(octets: Array[UInt8, 4]) -> Self:
        """Makes an IPv4 address from octets in network order.

        Args:
            octets: The octets.

        Returns:
            The address.
        """
        return Self.v4(octets[0], octets[1], octets[2], octets[3])

    @staticmethod
    def from_v6_octets(octets: Array[UInt8, 16]) -> Self:
        """Makes an IPv6 address from octets in network order.

        Args:
            octets: The octets.

        Returns:
            The address.
        """
        var high = UInt64(0)
        var low = UInt64(0)
        for index in range(8):
            high = (high << 8) | UInt64(octets[index])
            low = (low << 8) | UInt64(octets[index + 8])
        return Self(high, low, False)

    @staticmethod
    def parse(text: StringSpan) raises AddressParseError -> Self:
        """Reads an address.

        Source: RFC 4291 section 2.2 for IPv6; four decimal octets without
        leading zeros for IPv4. Zones, whitespace and everything else odd are
        refused.

        Args:
            text: The whole address.

        Returns:
            The address.

        Raises:
            AddressParseError: If the text is neither kind of address.
        """
        return Self.parse(text.as_bytes())

    @staticmethod
    def parse(text: Span[UInt8, _]) raises AddressParseError -> Self:
        """Reads an address from octets, without an allocation.

        Args:
            text: The whole address.

        Returns:
            The address.

        Raises:
            AddressParseError: If the text is neither kind of address.
        """
        var bits = parse_ip_octets(text)
        return Self(bits.high, bits.low, bits.is_v4)

    def v4_octets(self) -> Array[UInt8, 4]:
        """Gives the octets of an IPv4 address.

        Returns:
            The octets in network order.
        """
        var octets = Array[UInt8, 4](fill=0)
        for index in range(4):
            octets[index] = UInt8((self._low >> UInt64(24 - 8 * index)) & 255)
        return octets^

    def v6_octets(self) -> Array[UInt8, 16]:
        """Gives the octets of an IPv6 address.

        Returns:
            The octets in network order.
        """
        var octets = Array[UInt8, 16](fill=0)
        for index in range(8):
            var shift = UInt64(56 - 8 * index)
            octets[index] = UInt8((self._high >> shift) & 255)
            octets[index + 8] = UInt8((self._low >> shift) & 255)
        return octets^

    def bits_high(self) -> UInt64:
        """Gives the upper half of the address.

        Returns:
            64 bits; 0 for IPv4.
        """
        return self._high

    def bits_low(self) -> UInt64:
        """Gives the lower half of the address.

        Returns:
            64 bits; an IPv4 address is the lower half of them.
        """
        return self._low

    @always_inline
    def is_v4(self) -> Bool:
        """Tells whether this is an IPv4 address.

        Returns:
            True for IPv4.
        """
        return self._is_v4

    @always_inline
    def is_v6(self) -> Bool:
        """Tells whether this is an IPv6 address, IPv4-mapped ones included.

        Returns:
            True for IPv6.
        """
        return not self._is_v4

    def without_mapping(self) -> Self:
        """Gives the IPv4 address that an IPv4-mapped one stands for.

        An IPv6 socket that takes IPv4 clients too names them by such addresses
        (RFC 4291 section 2.5.5.2, RFC 3493 section 3.7).

        Returns:
            `1.2.3.4` for `::ffff:1.2.3.4`; any other address as it is.
        """
        if self._is_v4 or self._high != 0 or self._low >> 32 != 0xFFFF:
            return self
        return Self(0, self._low & 0xFFFFFFFF, True)

    def is_private(self) -> Bool:
        """Tells whether the address is for use inside a site.

        Source: RFC 1918 for IPv4, RFC 4193 (fc00::/7) for IPv6.

        Returns:
            True if it is.
        """
        var ip = self.without_mapping()
        if ip._is_v4:
            return (
                ip._low >> 24 == 10
                or ip._low >> 20 == 0xAC1
                or ip._low >> 16 == 0xC0A8
            )
        return ip._high >> 57 == 0x7E

    def is_loopback(self) -> Bool:
        """Tells whether the address is this machine itself.

        Source: RFC 1122 section 3.2.1.3 (127/8), RFC 4291 section 2.5.3 (::1).

        Returns:
            True if it is.
        """
        var ip = self.without_mapping()
        if ip._is_v4:
            return ip._low >> 24 == 127
        return ip._high == 0 and ip._low == 1

    def is_multicast(self) -> Bool:
        """Tells whether the address names a group.

        Source: RFC 5771 (224/4), RFC 4291 section 2.7 (ff00::/8).

        Returns:
            True if it does.
        """
        var ip = self.without_mapping()
        if ip._is_v4:
            return ip._low >> 28 == 14
        return ip._high >> 56 == 255

    def is_link_local(self) -> Bool:
        """Tells whether the address is good on one link only.

        Source: RFC 3927 (169.254/16), RFC 4291 section 2.5.6 (fe80::/10).

        Returns:
            True if it is.
        """
        var ip = self.without_mapping()
        if ip._is_v4:
            return ip._low >> 16 == 0xA9FE
        return ip._high >> 54 == 0x3FA

    def is_unspecified(self) -> Bool:
        """Tells whether the address is all zero: 0.0.0.0 or ::.

        Returns:
            True if it is.
        """
        var ip = self.without_mapping()
        return ip._high == 0 and ip._low == 0

    def __eq__(self, other: Self) -> Bool:
        """Compares two addresses.

        Args:
            other: An address.

        Returns:
            True if version and bits are equal.
        """
        return (
            self._high == other._high
            and self._low == other._low
            and self._is_v4 == other._is_v4
        )

    def __lt__(self, other: Self) -> Bool:
        """Orders addresses: IPv4 first, then by their bits.

        Args:
            other: An address.

        Returns:
            True if this one comes first.
        """
        if self._is_v4 != other._is_v4:
            return self._is_v4
        if self._high != other._high:
            return self._high < other._high
        return self._low < other._low

    def write_to(self, mut writer: Some[Writer]):
        """Writes the canonical text form (RFC 5952).

        Args:
            writer: Where to.
        """
        if self._is_v4:
            write_v4(self._low, writer)
        else:
            write_v6(self._high, self._low, writer)

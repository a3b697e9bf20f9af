"""A block of IP addresses."""

from flare.net.error import AddressParseError
from flare.net.ip import IpAddr

comptime _NETWORK = StaticString(
    "a network such as 10.0.0.0/8 or 2001:db8::/32"
)

# Length of the prefix of IPv4-mapped addresses (RFC 4291 section 2.5.5.2).
comptime _MAPPED_LEN = 96


struct IpNetwork(Equatable, Hashable, ImplicitlyCopyable, Writable):
    """All addresses that share a prefix (RFC 4632 section 3.1).

    IPv4-mapped addresses (`::ffff:1.2.3.4`) are IPv4 addresses here: a listener
    of both versions names its IPv4 clients by them. They are in the networks of
    their IPv4 address, in no IPv6 one (not even `::/0`), and a network of
    nothing else is an IPv4 network: `::ffff:10.0.0.0/104` is `10.0.0.0/8`.
    """

    var base: IpAddr
    """The first address; all bits behind the prefix are 0."""
    var prefix_len: Int
    """Length of the prefix in bits: 0 to 32 for IPv4, to 128 for IPv6."""

    def __init__(out self, base: IpAddr, prefix_len: Int):
        """Makes a network; bits behind the prefix are cleared.

        Args:
            base: Any address of the network.
            prefix_len: Length of the prefix in bits; held to what the
                address's version allows.
        """
        var bits = 32 if base.is_v4() else 128
        self.prefix_len = min(max(prefix_len, 0), bits)
        self.base = _masked(base, self.prefix_len)
        if base.is_v6() and self.prefix_len >= _MAPPED_LEN:
            self.base = self.base.without_mapping()
            if self.base.is_v4():
                self.prefix_len -= _MAPPED_LEN

    @staticmethod
    def parse(text: StringSpan) raises AddressParseError -> Self:
        """Reads a network.

        Args:
            text: `address/prefix length`, nothing around it.

        Returns:
            The network.

        Raises:
            AddressParseError: If the text has another form, or the address
                has bits set behind the prefix, which is nearly always a slip.
        """
        var octets = text.as_bytes()
        var slash = 0
        while slash < len(octets) and octets[slash] != 47:
            slash += 1
        var count = len(octets) - slash - 1
        if count < 1 or count > 3:
            raise _error(text, slash, "'/' and a prefix length are missing")
        var ip = IpAddr.parse(octets[0:slash])
        var prefix_len = 0
        for index in range(slash + 1, len(octets)):
            if octets[index] < 48 or octets[index] > 57:
                raise _error(text, index, "a prefix length is decimal digits")
            prefix_len = prefix_len * 10 + Int(octets[index]) - 48
        if count > 1 and octets[slash + 1] == 48:
            raise _error(text, slash + 1, "a length has no leading zero")
        if prefix_len > (32 if ip.is_v4() else 128):
            raise _error(text, slash + 1, "the prefix is longer than addresses")
        if _masked(ip, prefix_len) != ip:
            raise _error(text, 0, "bits are set behind the prefix")
        return Self(ip, prefix_len)

    def contains(self, ip: IpAddr) -> Bool:
        """Tells whether an address belongs to the network.

        Args:
            ip: An address; of the other version it never belongs, and a mapped
                one is of version 4.

        Returns:
            True if the prefix is the same.
        """
        var plain = ip.without_mapping()
        if plain.is_v4() != self.base.is_v4():
            return False
        return _masked(plain, self.prefix_len) == self.base

    def write_to(self, mut writer: Some[Writer]):
        """Writes the form that `parse` reads.

        Args:
            writer: Where to.
        """
        writer.write(self.base, "/", self.prefix_len)


def any_contains(networks: List[IpNetwork], ip: IpAddr) -> Bool:
    """Tells whether an address belongs to one of some networks.

    Args:
        networks: The networks.
        ip: An address.

    Returns:
        True if one of them contains it; False if there are none.
    """
    for network in networks:
        if network.contains(ip):
            return True
    return False


def _error(
    text: StringSpan, offset: Int, reason: StaticString
) -> AddressParseError:
    return AddressParseError(
        _NETWORK, String(from_utf8_lossy=text.as_bytes()), offset, reason
    )


def _high_bits(count: Int) -> UInt64:
    """Makes a word whose upper `count` bits are set."""
    if count <= 0:
        return 0
    if count >= 64:
        return UInt64.MAX
    return UInt64.MAX << UInt64(64 - count)


def _masked(ip: IpAddr, prefix_len: Int) -> IpAddr:
    if ip.is_v4():
        var mask = _high_bits(prefix_len + 32)
        return IpAddr(0, ip.bits_low() & mask & 0xFFFFFFFF, True)
    return IpAddr(
        ip.bits_high() & _high_bits(prefix_len),
        ip.bits_low() & _high_bits(prefix_len - 64),
        False,
    )

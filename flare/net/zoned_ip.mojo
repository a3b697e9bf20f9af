"""An IPv6 address with the link that it is good on."""

from flare.net.error import AddressParseError
from flare.net.ip import IpAddr

comptime ZONE_LEN_MAX = 15
"""Longest name of a network interface, in bytes (RFC 3493 section 4: the
system's `IF_NAMESIZE` of 16 counts a closing NUL)."""

comptime _ZONED = StaticString(
    "an IPv6 address with a zone such as fe80::1%eth0"
)


struct ZonedIpAddr(Copyable, Equatable, Movable, Writable):
    """An IP address that may name a zone (RFC 4007 section 11).

    `IpAddr` has no zones and refuses them: what a zone means is known to one
    machine alone, and text that carries one across a trust border is a trick
    more often than an address. Programs that need link-local addresses ask for
    this type by name.
    """

    var ip: IpAddr
    """The address."""
    var zone: String
    """The zone, such as the name of an interface; empty for none."""

    def __init__(out self, ip: IpAddr, var zone: String):
        """Makes an address with a zone.

        Args:
            ip: The address.
            zone: The zone, as `parse` would accept it; empty for none.
        """
        self.ip = ip
        self.zone = zone^

    @staticmethod
    def parse(text: StringSpan) raises AddressParseError -> Self:
        """Reads an address that may end with `%` and a zone.

        Source: RFC 4007 section 11.2; letters, digits and `-._~` of RFC 6874
        section 2 make up a zone.

        Args:
            text: The whole address.

        Returns:
            The address.

        Raises:
            AddressParseError: If the address is none, the zone is empty, too
                long or has other octets, or an IPv4 address has a zone.
        """
        var octets = text.as_bytes()
        var percent = 0
        while percent < len(octets) and octets[percent] != 37:
            percent += 1
        var ip = IpAddr.parse(octets[0:percent])
        if percent == len(octets):
            return Self(ip, String())
        if ip.is_v4():
            raise _error(octets, percent, "IPv4 has no zones")
        var count = len(octets) - percent - 1
        if count < 1 or count > ZONE_LEN_MAX:
            raise _error(octets, percent, "a zone has 1 to 15 bytes")
        for index in range(percent + 1, len(octets)):
            if not _is_zone_octet(octets[index]):
                raise _error(octets, index, "a zone has letters and digits")
        return Self(
            ip, String(StringSpan(unsafe_from_utf8=octets[percent + 1 :]))
        )

    def write_to(self, mut writer: Some[Writer]):
        """Writes the form that `parse` reads.

        Args:
            writer: Where to.
        """
        writer.write(self.ip)
        if self.zone.byte_length() > 0:
            writer.write("%", self.zone)


def _error(
    text: Span[UInt8, _], offset: Int, reason: StaticString
) -> AddressParseError:
    return AddressParseError(
        _ZONED, String(from_utf8_lossy=text), offset, reason
    )


def _is_zone_octet(octet: UInt8) -> Bool:
    var folded = octet | 0x20
    if (folded >= 97 and folded <= 122) or (octet >= 48 and octet <= 57):
        return True
    # - . _ ~
    return octet == 45 or octet == 46 or octet == 95 or octet == 126

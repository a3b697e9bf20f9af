"""IP addresses, with zones, and networks of them."""

from flare.bytes.ascii import find_octet, hex_digit_text, hex_digit_value
from flare.bytes.checked import *
from flare.bytes.from_text import FromText, TextError
from flare.bytes.utf8 import lossy_text
from flare.net.error import AddressParseError


struct IpAddr(Comparable, FromText, Hashable, ImplicitlyCopyable, Writable):
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
        """Gives the IPv4 address a.b.c.d.

        Args:
            a: The first octet.
            b: The second octet.
            c: The third octet.
            d: The fourth octet.
        """
        var low = (
            (UInt64(a) << 24) | (UInt64(b) << 16) | (UInt64(c) << 8) | UInt64(d)
        )
        return Self(0, low, True)

    @staticmethod
    def from_v4_octets(octets: Array[UInt8, 4]) -> Self:
        """Gives the IPv4 address of octets in network order.

        Args:
            octets: The octets.
        """
        return Self.v4(octets[0], octets[1], octets[2], octets[3])

    @staticmethod
    def from_v6_octets(octets: Array[UInt8, 16]) -> Self:
        """Gives the IPv6 address of octets in network order."""
        var high = UInt64(0)
        var low = UInt64(0)
        for index in range(8):
            high = (high << 8) | UInt64(octets.at(index))
            low = (low << 8) | UInt64(octets.at(index + 8))
        return Self(high, low, False)

    @staticmethod
    def from_text(text: StringSpan) raises TextError -> Self:
        """Reads an address for a setting or a parameter, as `parse` does."""
        try:
            return Self.parse(text)
        except:
            raise TextError("is no IP address; write it as 127.0.0.1 or ::1")

    @staticmethod
    def parse(text: StringSpan) raises AddressParseError -> Self:
        """Reads an address.

        Source: RFC 4291 section 2.2 for IPv6; four decimal octets without
        leading zeros for IPv4. Zones, whitespace and everything else odd are
        refused.

        Args:
            text: The whole address.

        Raises:
            AddressParseError: If the text is neither kind of address.
        """
        return Self.parse(text.as_bytes())

    @staticmethod
    def parse(text: Span[UInt8, _]) raises AddressParseError -> Self:
        """Reads an address from octets, without an allocation."""
        var bits = parse_ip_octets(text)
        return Self(bits.high, bits.low, bits.is_v4)

    def v4_octets(self) -> Array[UInt8, 4]:
        """Gives the octets of an IPv4 address in network order."""
        var octets = Array[UInt8, 4](uninitialized=True)
        for index in range(4):
            octets.at(index) = UInt8(
                (self._low >> UInt64(24 - 8 * index)) & 255
            )
        return octets^

    def v6_octets(self) -> Array[UInt8, 16]:
        """Gives the octets of an IPv6 address in network order."""
        var octets = Array[UInt8, 16](uninitialized=True)
        for index in range(8):
            var shift = UInt64(56 - 8 * index)
            octets.at(index) = UInt8((self._high >> shift) & 255)
            octets.at(index + 8) = UInt8((self._low >> shift) & 255)
        return octets^

    def bits_high(self) -> UInt64:
        """Gives the upper 64 bits of the address; 0 for IPv4."""
        return self._high

    def bits_low(self) -> UInt64:
        """Gives the lower 64 bits of the address; an IPv4 address is the lower
        half of them."""
        return self._low

    @always_inline
    def is_v4(self) -> Bool:
        """Tells whether this is an IPv4 address."""
        return self._is_v4

    @always_inline
    def is_v6(self) -> Bool:
        """Tells whether this is an IPv6 address, IPv4-mapped ones included."""
        return not self._is_v4

    def without_mapping(self) -> Self:
        """Gives the IPv4 address that an IPv4-mapped one stands for, `1.2.3.4`
        for `::ffff:1.2.3.4`; any other address as it is.

        An IPv6 socket that takes IPv4 clients too names them by such addresses
        (RFC 4291 section 2.5.5.2, RFC 3493 section 3.7)."""
        if self._is_v4 or self._high != 0 or self._low >> 32 != 0xFFFF:
            return self
        return Self(0, self._low & 0xFFFFFFFF, True)

    def is_private(self) -> Bool:
        """Tells whether the address is for use inside a site.

        Source: RFC 1918 for IPv4, RFC 4193 (fc00::/7) for IPv6."""
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
        """
        var ip = self.without_mapping()
        if ip._is_v4:
            return ip._low >> 24 == 127
        return ip._high == 0 and ip._low == 1

    def is_multicast(self) -> Bool:
        """Tells whether the address names a group.

        Source: RFC 5771 (224/4), RFC 4291 section 2.7 (ff00::/8)."""
        var ip = self.without_mapping()
        if ip._is_v4:
            return ip._low >> 28 == 14
        return ip._high >> 56 == 255

    def is_link_local(self) -> Bool:
        """Tells whether the address is good on one link only.

        Source: RFC 3927 (169.254/16), RFC 4291 section 2.5.6 (fe80::/10)."""
        var ip = self.without_mapping()
        if ip._is_v4:
            return ip._low >> 16 == 0xA9FE
        return ip._high >> 54 == 0x3FA

    def is_unspecified(self) -> Bool:
        """Tells whether the address is all zero: 0.0.0.0 or ::."""
        var ip = self.without_mapping()
        return ip._high == 0 and ip._low == 0

    def __lt__(self, other: Self) -> Bool:
        """Tells whether this one comes first: IPv4 before IPv6, then by their
        bits.

        Args:
            other: An address.
        """
        if self._is_v4 != other._is_v4:
            return self._is_v4
        if self._high != other._high:
            return self._high < other._high
        return self._low < other._low

    def write_to(self, mut writer: Some[Writer]):
        """Writes the canonical text form (RFC 5952)."""
        writer.write_string(self._message())

    @no_inline
    def _message(self) -> String:
        # Not generic: it would be generated for each kind of writer.
        var message = String()
        if self._is_v4:
            write_v4(self._low, message)
        else:
            write_v6(self._high, self._low, message)
        return message^


comptime _IP = StaticString("an IPv4 or IPv6 address")
comptime _TEXT_LEN_MAX = 45
# The longest form is an IPv6 address whose end is dotted: six groups of four
# digits, six colons, 15 octets of IPv4 (RFC 4291 section 2.2).


@fieldwise_init
struct IpBits(TrivialRegisterPassable):
    """An address as bits."""

    var high: UInt64
    """The upper 64 bits; 0 for IPv4."""
    var low: UInt64
    var is_v4: Bool


def parse_ip_octets(text: Span[UInt8, _]) raises AddressParseError -> IpBits:
    """Reads an address of either version."""
    if len(text) == 0:
        raise _error(text, 0, "it is empty")
    if len(text) > _TEXT_LEN_MAX:
        raise _error(text, _TEXT_LEN_MAX, "it is too long")
    for index in range(len(text)):
        if text.at(index) == 58:
            return _parse_v6(text)
    return IpBits(0, _parse_v4(text, 0), True)


def _error(
    text: Span[UInt8, _], offset: Int, reason: StaticString
) -> AddressParseError:
    return AddressParseError(_IP, lossy_text(text), offset, reason)


comptime _NAME = StaticString(
    "it begins as a name does; write its address, such as 127.0.0.1, or look it"
    " up with `resolve` of flare.dns"
)


def _is_letter(octet: UInt8) -> Bool:
    return (octet | 32) >= 97 and (octet | 32) <= 122


def _parse_v4(
    text: Span[UInt8, _], start: Int
) raises AddressParseError -> UInt64:
    """Reads four decimal octets up to the end of the text."""
    var bits = UInt64(0)
    var offset = start
    for index in range(4):
        if index > 0:
            if offset >= len(text) or text.at(offset) != 46:
                raise _error(text, offset, "IPv4 has four octets between dots")
            offset += 1
        var octet_start = offset
        var octet = 0
        while (
            offset < len(text)
            and text.at(offset) >= 48
            and text.at(offset) <= 57
        ):
            octet = octet * 10 + Int(text.at(offset)) - 48
            offset += 1
            if offset - octet_start > 3 or octet > 255:
                raise _error(text, octet_start, "an octet is at most 255")
        if offset == octet_start:
            if offset == 0 and _is_letter(text.at(0)):
                raise _error(text, 0, _NAME)
            raise _error(text, offset, "a decimal digit must stand here")
        if offset - octet_start > 1 and text.at(octet_start) == 48:
            raise _error(text, octet_start, "an octet has no leading zero")
        bits = (bits << 8) | UInt64(octet)
    if offset < len(text):
        raise _error(text, offset, "nothing may follow the fourth octet")
    return bits


def _parse_v6(text: Span[UInt8, _]) raises AddressParseError -> IpBits:
    """Reads groups of hex digits, with one `::` at most."""
    var groups = Array[UInt64, 8](fill=0)
    var count = 0
    var gap = -1
    var offset = 0
    if text.at(0) == 58:
        if len(text) < 2 or text.at(1) != 58:
            raise _error(text, 0, "a single colon may not stand at the start")
    while offset < len(text):
        if (
            text.at(offset) == 58
            and offset + 1 < len(text)
            and text.at(offset + 1) == 58
        ):
            if gap >= 0:
                raise _error(text, offset, "'::' may stand once only")
            gap = count
            offset += 2
            continue
        if count > 0 and gap != count:
            if text.at(offset) != 58:
                raise _error(text, offset, "groups are parted by colons")
            offset += 1
        if count == 8:
            raise _error(text, offset, "IPv6 has eight groups")
        var end = _group_end(text, offset)
        if end < len(text) and text.at(end) == 46:
            if count > 6:
                raise _error(text, offset, "there is no room for IPv4 here")
            var v4 = _parse_v4(text, offset)
            groups.at(count) = v4 >> 16
            groups.at(count + 1) = v4 & 0xFFFF
            count += 2
            break
        if end == offset or end - offset > 4:
            raise _error(text, offset, "a group has one to four hex digits")
        groups.at(count) = _hex(text, offset, end)
        count += 1
        offset = end
    return _assemble(text, groups, count, gap)


def _group_end(text: Span[UInt8, _], start: Int) -> Int:
    var end = start
    while end < len(text) and hex_digit_value(text.at(end)) >= 0:
        end += 1
    return end


def _hex(text: Span[UInt8, _], start: Int, end: Int) -> UInt64:
    var group = UInt64(0)
    for index in range(start, end):
        group = group * 16 + UInt64(hex_digit_value(text.at(index)))
    return group


def _assemble(
    text: Span[UInt8, _], groups: Array[UInt64, 8], count: Int, gap: Int
) raises AddressParseError -> IpBits:
    if gap < 0 and count != 8:
        raise _error(text, len(text), "IPv6 has eight groups, or '::'")
    if gap >= 0 and count == 8:
        raise _error(text, len(text), "'::' must stand for one group at least")
    var high = UInt64(0)
    var low = UInt64(0)
    var zeros = 8 - count
    for place in range(8):
        var group = UInt64(0)
        if gap < 0 or place < gap:
            group = groups.at(place)
        elif place >= gap + zeros:
            group = groups.at(place - zeros)
        if place < 4:
            high = (high << 16) | group
        else:
            low = (low << 16) | group
    return IpBits(high, low, False)


def write_v4(bits: UInt64, mut writer: Some[Writer]):
    """Writes four decimal octets, which are in the lower 32 bits."""
    for index in range(4):
        if index > 0:
            writer.write_string(".")
        Int((bits >> UInt64(24 - 8 * index)) & 255).write_to(writer)


def write_v6(high: UInt64, low: UInt64, mut writer: Some[Writer]):
    """Writes an IPv6 address in its canonical form.

    Source: RFC 5952 sections 4 and 5: lower case, no leading zeros, `::` for
    the first of the longest runs of two or more zero groups, and the dotted
    form for IPv4-mapped addresses.
    """
    if high == 0 and low >> 32 == 0xFFFF:
        writer.write_string("::ffff:")
        write_v4(low & 0xFFFFFFFF, writer)
        return
    write_v6_groups(high, low, writer)


def write_v6_groups(high: UInt64, low: UInt64, mut writer: Some[Writer]):
    """Writes an IPv6 address as hex groups only, as URLs have it.

    Source: RFC 5952 section 4; URL Standard section 3.5 (IPv6 serializer).
    """
    var run_start = -1
    var run_len = 1
    var start = 0
    while start < 8:
        var end = start
        while end < 8 and _group(high, low, end) == 0:
            end += 1
        if end - start > run_len:
            run_start = start
            run_len = end - start
        start = max(end, start + 1)
    var index = 0
    while index < 8:
        if index == run_start:
            writer.write_string("::")
            index += run_len
            continue
        if index > 0 and index != run_start + run_len:
            writer.write_string(":")
        _write_hex(_group(high, low, index), writer)
        index += 1


def _group(high: UInt64, low: UInt64, index: Int) -> UInt64:
    if index < 4:
        return (high >> UInt64(48 - 16 * index)) & 0xFFFF
    return (low >> UInt64(48 - 16 * (index - 4))) & 0xFFFF


def _write_hex(group: UInt64, mut writer: Some[Writer]):
    var has_started = False
    for index in range(4):
        var digit = Int((group >> UInt64(12 - 4 * index)) & 15)
        if digit != 0 or has_started or index == 3:
            has_started = True
            writer.write_string(hex_digit_text(digit))


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

        Raises:
            AddressParseError: If the address is none, the zone is empty, too
                long or has other octets, or an IPv4 address has a zone.
        """
        var octets = text.as_bytes()
        var percent = find_octet(octets, 37)
        var ip = IpAddr.parse(octets.before(percent))
        if percent == len(octets):
            return Self(ip, String())
        if ip.is_v4():
            raise _zoned_ip_error(octets, percent, "IPv4 has no zones")
        var count = len(octets) - percent - 1
        if count < 1 or count > ZONE_LEN_MAX:
            raise _zoned_ip_error(octets, percent, "a zone has 1 to 15 bytes")
        for index in range(percent + 1, len(octets)):
            if not _is_zone_octet(octets.at(index)):
                raise _zoned_ip_error(
                    octets, index, "a zone has letters and digits"
                )
        return Self(
            ip, String(StringSpan(unsafe_from_utf8=octets.after(percent + 1)))
        )

    def write_to(self, mut writer: Some[Writer]):
        """Writes the form that `parse` reads."""
        self.ip.write_to(writer)
        if self.zone.byte_length() > 0:
            writer.write_string("%")
            writer.write_string(self.zone)


def _zoned_ip_error(
    text: Span[UInt8, _], offset: Int, reason: StaticString
) -> AddressParseError:
    return AddressParseError(_ZONED, lossy_text(text), offset, reason)


def _is_zone_octet(octet: UInt8) -> Bool:
    var folded = octet | 0x20
    if (folded >= 97 and folded <= 122) or (octet >= 48 and octet <= 57):
        return True
    # - . _ ~
    return octet == 45 or octet == 46 or octet == 95 or octet == 126


comptime _NETWORK = StaticString(
    "a network such as 10.0.0.0/8 or 2001:db8::/32"
)

# Length of the prefix of IPv4-mapped addresses (RFC 4291 section 2.5.5.2).
comptime _MAPPED_LEN = 96


struct IpNetwork(Equatable, FromText, Hashable, ImplicitlyCopyable, Writable):
    """All addresses that share a prefix (RFC 4632 section 3.1).

    IPv4-mapped addresses (`::ffff:1.2.3.4`) are IPv4 addresses here: a listener
    of both versions names its IPv4 clients by them. They are in the networks of
    their IPv4 address, in no IPv6 one (not even `::/0`), and a network of
    nothing else is an IPv4 network: `::ffff:10.0.0.0/104` is `10.0.0.0/8`.
    """

    var base: IpAddr
    """The first address; all bits after the prefix are 0."""
    var prefix_len: Int
    """Length of the prefix in bits: 0 to 32 for IPv4, to 128 for IPv6."""

    def __init__(out self, base: IpAddr, prefix_len: Int):
        """Makes a network; bits after the prefix are cleared.

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

        Raises:
            AddressParseError: If the text has another form, or the address
                has bits set after the prefix, which is nearly always a slip.
        """
        var octets = text.as_bytes()
        var slash = find_octet(octets, 47)
        var count = len(octets) - slash - 1
        if count < 1 or count > 3:
            raise _ip_network_error(
                text, slash, "'/' and a prefix length are missing"
            )
        var ip = IpAddr.parse(octets.before(slash))
        var prefix_len = 0
        for index in range(slash + 1, len(octets)):
            if octets.at(index) < 48 or octets.at(index) > 57:
                raise _ip_network_error(
                    text, index, "a prefix length is decimal digits"
                )
            prefix_len = prefix_len * 10 + Int(octets.at(index)) - 48
        if count > 1 and octets.at(slash + 1) == 48:
            raise _ip_network_error(
                text, slash + 1, "a length has no leading zero"
            )
        if prefix_len > (32 if ip.is_v4() else 128):
            raise _ip_network_error(
                text, slash + 1, "the prefix is longer than addresses"
            )
        if _masked(ip, prefix_len) != ip:
            raise _ip_network_error(text, 0, "bits are set behind the prefix")
        return Self(ip, prefix_len)

    @staticmethod
    def from_text(text: StringSpan) raises TextError -> Self:
        """Reads a network for a setting or a parameter, as `parse` does."""
        try:
            return Self.parse(text)
        except:
            raise TextError("is no network; write it as 10.0.0.0/8")

    def contains(self, ip: IpAddr) -> Bool:
        """Tells whether an address belongs to the network: it has its prefix.

        Args:
            ip: An address; of the other version it never belongs, and a mapped
                one is of version 4.
        """
        var plain = ip.without_mapping()
        if plain.is_v4() != self.base.is_v4():
            return False
        return _masked(plain, self.prefix_len) == self.base

    def write_to(self, mut writer: Some[Writer]):
        """Writes the form that `parse` reads."""
        self.base.write_to(writer)
        writer.write_string("/")
        self.prefix_len.write_to(writer)


def any_contains(networks: List[IpNetwork], ip: IpAddr) -> Bool:
    for network in networks:
        if network.contains(ip):
            return True
    return False


def _ip_network_error(
    text: StringSpan, offset: Int, reason: StaticString
) -> AddressParseError:
    return AddressParseError(
        _NETWORK, lossy_text(text.as_bytes()), offset, reason
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


def is_ip_address(text: StringSpan) -> Bool:
    """Tells whether a text is an address that `IpAddr.parse` takes, unlike a
    name.

    Args:
        text: The text, an IPv6 address without brackets.
    """
    try:
        _ = IpAddr.parse(text)
        return True
    except:
        return False

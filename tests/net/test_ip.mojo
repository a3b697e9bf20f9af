"""IP addresses: accepted and refused spellings, classes, canonical text."""

from flare.net.error import AddressParseError
from flare.net.ip import IpAddr, IpNetwork, ZonedIpAddr, any_contains
from tests.support.assertions import assert_equal, assert_false, assert_true
from tests.support.guard_page import GuardedBytes


@fieldwise_init
struct _Good(Copyable, Movable):
    """A spelling and its canonical form."""

    var rule: StaticString
    var text: StaticString
    var canonical: StaticString


@fieldwise_init
struct _Bad(Copyable, Movable):
    """No address, and where it stops being one."""

    var rule: StaticString
    var text: String
    var offset: Int
    var reason: StaticString


def _failure(text: Span[UInt8, _]) raises -> AddressParseError:
    try:
        _ = IpAddr.parse(text)
    except error:
        return error.copy()
    raise Error("accepted: ", String(from_utf8_lossy=text))


def test_ip_accepts() raises:
    var rows: List[_Good] = [
        _Good("791-3.1 all zero", "0.0.0.0", "0.0.0.0"),
        _Good("791-3.1 all one", "255.255.255.255", "255.255.255.255"),
        _Good(
            "4291-2.2 form 1",
            "2001:DB8:0:0:8:800:200C:417A",
            "2001:db8::8:800:200c:417a",
        ),
        _Good("4291-2.2 form 2 nothing else", "::", "::"),
        _Good("4291-2.2 form 2 start", "::1", "::1"),
        _Good("4291-2.2 form 2 end", "2001:db8::", "2001:db8::"),
        _Good(
            "4291-2.2 form 2 for one group",
            "1:2:3:4:5:6:7::",
            "1:2:3:4:5:6:7:0",
        ),
        _Good("4291-2.2 form 3", "::13.1.68.3", "::d01:4403"),
        _Good(
            "4291-2.2 form 3 behind six groups",
            "1:2:3:4:5:6:1.2.3.4",
            "1:2:3:4:5:6:102:304",
        ),
        _Good("5952-4.1 leading zeros", "2001:0db8::0001", "2001:db8::1"),
        _Good(
            "5952-4.2.1 as short as can be",
            "2001:db8:0:0:0:0:2:1",
            "2001:db8::2:1",
        ),
        _Good(
            "5952-4.2.2 never for one group",
            "2001:db8:0:1:1:1:1:1",
            "2001:db8:0:1:1:1:1:1",
        ),
        _Good(
            "5952-4.2.3 the longest run", "2001:0:0:1:0:0:0:1", "2001:0:0:1::1"
        ),
        _Good(
            "5952-4.2.3 the first of equals",
            "2001:db8:0:0:1:0:0:1",
            "2001:db8::1:0:0:1",
        ),
        _Good("5952-4.3 lower case", "ABCD::EF", "abcd::ef"),
        _Good("5952-5 mapped", "::FFFF:0102:0304", "::ffff:1.2.3.4"),
        _Good(
            "the longest",
            "0000:0000:0000:0000:0000:ffff:255.255.255.255",
            "::ffff:255.255.255.255",
        ),
    ]
    for row in rows:
        var ip = IpAddr.parse(row.text)
        assert_equal(String(ip), row.canonical, row.rule)
        assert_equal(IpAddr.parse(String(ip)), ip, row.rule)


def test_ip_refuses() raises:
    comptime OCTET = StaticString("an octet is at most 255")
    comptime DIGIT = StaticString("a decimal digit must stand here")
    comptime ZERO = StaticString("an octet has no leading zero")
    comptime BEHIND = StaticString("nothing may follow the fourth octet")
    comptime DOTS = StaticString("IPv4 has four octets between dots")
    comptime GROUP = StaticString("a group has one to four hex digits")
    comptime EIGHT = StaticString("IPv6 has eight groups")
    comptime PARTED = StaticString("groups are parted by colons")
    comptime GAP = StaticString("'::' must stand for one group at least")
    var rows: List[_Bad] = [
        _Bad("empty", "", 0, "it is empty"),
        _Bad("longer than any", "1" * 46, 45, "it is too long"),
        _Bad("three octets", "1.2.3", 5, DOTS),
        _Bad("five octets", "1.2.3.4.5", 7, BEHIND),
        _Bad("octet 256", "1.2.3.256", 6, OCTET),
        _Bad("octet of four digits", "1.2.3.0000", 6, OCTET),
        _Bad("leading zero, octal to libc", "127.0.0.01", 8, ZERO),
        _Bad("no digit", "1..2.3", 2, DIGIT),
        _Bad("hex octet", "0x7f.0.0.1", 1, DOTS),
        _Bad("sign", "1.2.3.-4", 6, DIGIT),
        _Bad("space before", " 1.2.3.4", 0, DIGIT),
        _Bad("space behind", "1.2.3.4 ", 7, BEHIND),
        _Bad("NUL behind", "1.2.3.4\0", 7, BEHIND),
        _Bad("CR LF behind", "1.2.3.4\r\n", 7, BEHIND),
        _Bad("user before @", "1@1.2.3.4", 1, DOTS),
        _Bad("user behind @", "1.2.3.4@h", 7, BEHIND),
        _Bad("zone on IPv4", "1.2.3.4%eth0", 7, BEHIND),
        _Bad("4291-2.2 zone", "fe80::1%eth0", 7, PARTED),
        _Bad("4291-2.2 NUL in IPv6", "::1\0", 3, PARTED),
        _Bad("4291-2.2 CR in IPv6", "::1\r", 3, PARTED),
        _Bad("4291-2.2 brackets", "[::1]", 0, GROUP),
        _Bad(
            "4291-2.2 seven groups",
            "1:2:3:4:5:6:7",
            13,
            "IPv6 has eight groups, or '::'",
        ),
        _Bad("4291-2.2 nine groups", "1:2:3:4:5:6:7:8:9", 16, EIGHT),
        _Bad("4291-2.2 '::' for nothing", "1:2:3:4::5:6:7:8", 16, GAP),
        _Bad("4291-2.2 '::' twice", "1::2::3", 4, "'::' may stand once only"),
        _Bad("4291-2.2 three colons", ":::1", 2, GROUP),
        _Bad("4291-2.2 five digits", "12345::", 0, GROUP),
        _Bad(
            "4291-2.2 colon at the start",
            ":1:2:3:4:5:6:7",
            0,
            "a single colon may not stand at the start",
        ),
        _Bad("4291-2.2 colon at the end", "1:2:3:4:5:6:7:", 14, GROUP),
        _Bad("4291-2.2 no hex digit", "::g", 2, GROUP),
        _Bad(
            "4291-2.2 IPv4 too late",
            "1:2:3:4:5:6:7:1.2.3.4",
            14,
            "there is no room for IPv4 here",
        ),
        _Bad("4291-2.2 IPv4 in the middle", "::1.2.3.4:5", 9, BEHIND),
        _Bad("4291-2.2 short IPv4", "::1.2.3", 7, DOTS),
    ]
    for row in rows:
        var error = _failure(row.text.as_bytes())
        assert_equal(error.reason, row.reason, row.rule)
        assert_equal(error.offset, row.offset, row.rule)


def test_ip_error_escapes_what_was_found() raises:
    var error = _failure("1.2.3.4\r\n\x1b[2J".as_bytes())
    assert_equal(
        String(error),
        "'1.2.3.4\\x0d\\x0a\\x1b[2J' is not an IPv4 or IPv6 address: nothing"
        " may follow the fourth octet (byte 7)",
    )


def test_ip_classes() raises:
    var private: List[StaticString] = [
        "10.0.0.0",
        "10.255.255.255",
        "172.16.0.0",
        "172.31.255.255",
        "192.168.1.100",
        "fc00::",
        "fdff::1",
    ]
    for text in private:
        assert_true(IpAddr.parse(text).is_private(), text)
    var public: List[StaticString] = [
        "9.255.255.255",
        "11.0.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "192.167.1.1",
        "192.169.1.1",
        "fbff::",
        "fe00::",
        "::10.0.0.1",
    ]
    for text in public:
        assert_false(IpAddr.parse(text).is_private(), text)
    assert_true(IpAddr.parse("127.255.0.1").is_loopback())
    assert_true(IpAddr.parse("::1").is_loopback())
    assert_false(IpAddr.parse("128.0.0.1").is_loopback())
    assert_false(IpAddr.parse("::2").is_loopback())
    assert_true(IpAddr.parse("224.0.0.1").is_multicast())
    assert_true(IpAddr.parse("239.255.255.255").is_multicast())
    assert_true(IpAddr.parse("ff02::1").is_multicast())
    assert_false(IpAddr.parse("240.0.0.0").is_multicast())
    assert_true(IpAddr.parse("169.254.7.7").is_link_local())
    assert_true(IpAddr.parse("febf::1").is_link_local())
    assert_false(IpAddr.parse("fec0::1").is_link_local())
    assert_false(IpAddr.parse("169.253.0.1").is_link_local())
    assert_true(IpAddr.parse("0.0.0.0").is_unspecified())
    assert_true(IpAddr.parse("::").is_unspecified())
    assert_false(IpAddr.parse("::1").is_unspecified())
    assert_true(IpAddr.parse("::ffff:1.2.3.4").is_v6())
    assert_true(IpAddr.parse("1.2.3.4").is_v4())


def test_ip_octets_round_trip() raises:
    for text in ["1.2.3.4", "255.0.255.1"]:
        var ip = IpAddr.parse(text)
        assert_equal(IpAddr.from_v4_octets(ip.v4_octets()), ip)
    for text in ["2001:db8::8:800:200c:417a", "::ffff:1.2.3.4", "::"]:
        var ip = IpAddr.parse(text)
        assert_equal(IpAddr.from_v6_octets(ip.v6_octets()), ip)
    assert_equal(IpAddr.parse("1.2.3.4").v4_octets()[3], 4)
    assert_equal(IpAddr.parse("102::").v6_octets()[1], 2)


def test_ip_versions_differ_and_sort() raises:
    var v4 = IpAddr.parse("1.2.3.4")
    var v6 = IpAddr.parse("::1.2.3.4")
    assert_true(v4 != v6)
    assert_true(v4 < v6)
    assert_true(IpAddr.parse("::1") < IpAddr.parse("1::"))
    assert_equal(hash(v4), hash(IpAddr.v4(1, 2, 3, 4)))


def _parsed(octets: Span[UInt8, _]) -> String:
    """Gives the address, or why it is none."""
    try:
        return String(IpAddr.parse(octets))
    except error:
        return String(error)


def test_ip_reads_nothing_behind_the_text() raises:
    for text in [
        "1.2.3.4",
        "1.2.3.",
        "1",
        "::",
        ":",
        "1::",
        "1:2:3:4:5:6:7:8",
        "::1.2",
        "1:",
        "::ffff:255.255.255.255",
        "abcd",
    ]:
        var octets = text.as_bytes()
        for length in range(len(octets) + 1):
            var guarded = GuardedBytes(octets[0:length])
            assert_equal(_parsed(guarded.span()), _parsed(octets[0:length]))
            _ = guarded^


@fieldwise_init
struct _Mapped(Copyable, Movable):
    """An IPv4 address; as mapped, too, it is for what it is for."""

    var text: StaticString
    var is_private: Bool
    var is_loopback: Bool
    var is_link_local: Bool
    var is_multicast: Bool
    var is_unspecified: Bool


def test_ip_mapped_is_for_what_its_ipv4_address_is() raises:
    var rows: List[_Mapped] = [
        _Mapped("10.1.2.3", True, False, False, False, False),
        _Mapped("172.31.0.1", True, False, False, False, False),
        _Mapped("192.168.1.1", True, False, False, False, False),
        _Mapped("127.0.0.1", False, True, False, False, False),
        _Mapped("169.254.169.254", False, False, True, False, False),
        _Mapped("224.0.0.1", False, False, False, True, False),
        _Mapped("0.0.0.0", False, False, False, False, True),
        _Mapped("8.8.8.8", False, False, False, False, False),
    ]
    for row in rows:
        for prefix in ["", "::ffff:"]:
            var ip = IpAddr.parse(String(prefix, row.text))
            assert_equal(ip.is_private(), row.is_private, row.text)
            assert_equal(ip.is_loopback(), row.is_loopback, row.text)
            assert_equal(ip.is_link_local(), row.is_link_local, row.text)
            assert_equal(ip.is_multicast(), row.is_multicast, row.text)
            assert_equal(ip.is_unspecified(), row.is_unspecified, row.text)


@fieldwise_init
struct _ZonedIpBad(Copyable, Movable):
    """No address, and where it stops being one."""

    var text: StaticString
    var offset: Int
    var reason: StaticString


def test_zoned_ip_accepts() raises:
    var zoned = ZonedIpAddr.parse("FE80::1%eth0")
    assert_equal(zoned.zone, "eth0")
    assert_true(zoned.ip.is_link_local())
    assert_equal(String(zoned), "fe80::1%eth0")
    for text in [
        "::1",
        "1.2.3.4",
        "fe80::1%1",
        "fe80::1%br-0_a.b~c",
        "::ffff:1.2.3.4%abcdefghijklmno",
    ]:
        assert_equal(String(ZonedIpAddr.parse(text)), text)
        assert_equal(ZonedIpAddr.parse(text), ZonedIpAddr.parse(text))


def test_zoned_ip_refuses() raises:
    comptime LENGTH = StaticString("a zone has 1 to 15 bytes")
    comptime LETTERS = StaticString("a zone has letters and digits")
    var rows: List[_ZonedIpBad] = [
        _ZonedIpBad("fe80::1%", 7, LENGTH),
        _ZonedIpBad("fe80::1%abcdefghijklmnop", 7, LENGTH),
        _ZonedIpBad("fe80::1%eth0/64", 12, LETTERS),
        _ZonedIpBad("fe80::1%a%b", 9, LETTERS),
        _ZonedIpBad("fe80::1%a\0", 9, LETTERS),
        _ZonedIpBad("fe80::1%a\r", 9, LETTERS),
        _ZonedIpBad("fe80::1%a@b", 9, LETTERS),
        _ZonedIpBad("1.2.3.4%eth0", 7, "IPv4 has no zones"),
        _ZonedIpBad("%eth0", 0, "it is empty"),
    ]
    for row in rows:
        var is_refused = False
        try:
            _ = ZonedIpAddr.parse(row.text)
        except error:
            is_refused = True
            assert_equal(error.reason, row.reason, row.text)
            assert_equal(error.offset, row.offset, row.text)
        assert_true(is_refused, row.text)


@fieldwise_init
struct _IpNetworkBad(Copyable, Movable):
    """No network, and where it stops being one."""

    var text: StaticString
    var offset: Int
    var reason: StaticString


@fieldwise_init
struct _In(Copyable, Movable):
    """An address, and whether it is in one of some networks."""

    var rule: StaticString
    var networks: StaticString
    var ip: StaticString
    var is_inside: Bool


def test_network_round_trip() raises:
    for text in [
        "0.0.0.0/0",
        "10.0.0.0/8",
        "1.2.3.4/32",
        "::/0",
        "2001:db8::/32",
        "::1/128",
    ]:
        assert_equal(String(IpNetwork.parse(text)), text)


def test_network_contains() raises:
    var ten = IpNetwork.parse("10.0.0.0/8")
    assert_true(ten.contains(IpAddr.parse("10.255.255.255")))
    assert_false(ten.contains(IpAddr.parse("11.0.0.0")))
    assert_false(ten.contains(IpAddr.parse("::10.0.0.1")))
    var odd = IpNetwork.parse("192.0.2.128/25")
    assert_true(odd.contains(IpAddr.parse("192.0.2.129")))
    assert_false(odd.contains(IpAddr.parse("192.0.2.127")))
    var all = IpNetwork.parse("::/0")
    assert_true(all.contains(IpAddr.parse("ffff::1")))
    assert_false(all.contains(IpAddr.parse("1.2.3.4")))
    var deep = IpNetwork.parse("2001:db8::8000:0:0:0/65")
    assert_true(deep.contains(IpAddr.parse("2001:db8::8000:0:0:1")))
    assert_false(deep.contains(IpAddr.parse("2001:db8::1")))


def test_any_contains() raises:
    var rows: List[_In] = [
        _In("RFC 4632 inside", "10.0.0.0/8 ::1/128", "10.1.2.3", True),
        _In("RFC 4632 outside", "10.0.0.0/8 ::1/128", "11.0.0.0", False),
        _In("the second one", "10.0.0.0/8 ::1/128", "::1", True),
        _In("RFC 4291-2.5.5.2 mapped", "10.0.0.0/8", "::ffff:10.1.2.3", True),
        _In("mapped, outside", "10.0.0.0/8", "::ffff:11.0.0.0", False),
        _In("by its IPv6 form", "::ffff:0:0/96", "::ffff:11.0.0.0", True),
        _In("and that is IPv4's", "::ffff:0:0/96", "11.0.0.0", True),
        _In("mapped network", "::ffff:10.0.0.0/104", "10.1.2.3", True),
        _In(
            "mapped network, outside", "::ffff:10.0.0.0/104", "11.0.0.0", False
        ),
        _In("mapped is not IPv6", "::/0", "::ffff:10.1.2.3", False),
        _In("mapped is not ::/64", "::/64", "::ffff:10.1.2.3", False),
        _In("RFC 4291-2.5.5.1 compatible", "10.0.0.0/8", "::10.1.2.3", False),
        _In("one bit off", "10.0.0.0/8", "::fffe:10.1.2.3", False),
        _In("bits in front", "10.0.0.0/8", "1::ffff:10.1.2.3", False),
        _In("RFC 6052 translated", "10.0.0.0/8", "64:ff9b::10.1.2.3", False),
        _In("everything IPv4", "0.0.0.0/0", "::1", False),
    ]
    for row in rows:
        var networks = List[IpNetwork]()
        for text in row.networks.split(" "):
            networks.append(IpNetwork.parse(text))
        var ip = IpAddr.parse(row.ip)
        assert_equal(any_contains(networks, ip), row.is_inside, row.rule)
        assert_false(any_contains([], ip), row.rule)


def test_network_refuses() raises:
    comptime MISSING = StaticString("'/' and a prefix length are missing")
    var rows: List[_IpNetworkBad] = [
        _IpNetworkBad("10.0.0.0", 8, MISSING),
        _IpNetworkBad("10.0.0.0/", 8, MISSING),
        _IpNetworkBad("10.0.0.0/0008", 8, MISSING),
        _IpNetworkBad("10.0.0.0/08", 9, "a length has no leading zero"),
        _IpNetworkBad("10.0.0.0/33", 9, "the prefix is longer than addresses"),
        _IpNetworkBad("::/129", 3, "the prefix is longer than addresses"),
        _IpNetworkBad("10.0.0.0/+8", 9, "a prefix length is decimal digits"),
        _IpNetworkBad("10.0.0.0/8 ", 10, "a prefix length is decimal digits"),
        _IpNetworkBad("10.0.0.1/8", 0, "bits are set behind the prefix"),
        _IpNetworkBad("2001:db8::1/64", 0, "bits are set behind the prefix"),
        _IpNetworkBad("/8", 0, "it is empty"),
        _IpNetworkBad("10.0.0/8", 6, "IPv4 has four octets between dots"),
    ]
    for row in rows:
        var is_refused = False
        try:
            _ = IpNetwork.parse(row.text)
        except error:
            is_refused = True
            assert_equal(error.reason, row.reason, row.text)
            assert_equal(error.offset, row.offset, row.text)
        assert_true(is_refused, row.text)


def test_network_initializer_clears_host_bits() raises:
    var network = IpNetwork(IpAddr.parse("10.1.2.3"), 16)
    assert_equal(network, IpNetwork.parse("10.1.0.0/16"))
    assert_equal(IpNetwork(IpAddr.parse("1.2.3.4"), 99).prefix_len, 32)
    assert_equal(IpNetwork(IpAddr.parse("1.2.3.4"), -1).prefix_len, 0)


def test_a_mapped_network_is_ipv4() raises:
    var ten = IpNetwork.parse("::ffff:10.0.0.0/104")
    assert_equal(String(ten), "10.0.0.0/8")
    assert_equal(ten, IpNetwork.parse("10.0.0.0/8"))
    assert_equal(String(IpNetwork.parse("::ffff:0:0/96")), "0.0.0.0/0")
    assert_equal(String(IpNetwork.parse("::ffff:1.2.3.4/128")), "1.2.3.4/32")
    assert_equal(String(IpNetwork.parse("::fffe:0:0/95")), "::fffe:0:0/95")
    assert_true(ten.contains(IpAddr.parse("::ffff:10.1.2.3")))
    assert_false(ten.contains(IpAddr.parse("::ffff:11.1.2.3")))

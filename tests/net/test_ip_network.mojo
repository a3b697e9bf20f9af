"""Networks in CIDR notation (RFC 4632 section 3.1)."""

from flare.net.ip import IpAddr
from flare.net.ip_network import IpNetwork, any_contains
from std.testing import assert_equal, assert_false, assert_true


@fieldwise_init
struct _Bad(Copyable, Movable):
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
    var rows: List[_Bad] = [
        _Bad("10.0.0.0", 8, MISSING),
        _Bad("10.0.0.0/", 8, MISSING),
        _Bad("10.0.0.0/0008", 8, MISSING),
        _Bad("10.0.0.0/08", 9, "a length has no leading zero"),
        _Bad("10.0.0.0/33", 9, "the prefix is longer than addresses"),
        _Bad("::/129", 3, "the prefix is longer than addresses"),
        _Bad("10.0.0.0/+8", 9, "a prefix length is decimal digits"),
        _Bad("10.0.0.0/8 ", 10, "a prefix length is decimal digits"),
        _Bad("10.0.0.1/8", 0, "bits are set behind the prefix"),
        _Bad("2001:db8::1/64", 0, "bits are set behind the prefix"),
        _Bad("/8", 0, "it is empty"),
        _Bad("10.0.0/8", 6, "IPv4 has four octets between dots"),
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

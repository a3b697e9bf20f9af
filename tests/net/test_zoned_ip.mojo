"""IPv6 addresses with zones (RFC 4007 section 11)."""

from flare.net.zoned_ip import ZonedIpAddr
from std.testing import assert_equal, assert_true


@fieldwise_init
struct _Bad(Copyable, Movable):
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
    var rows: List[_Bad] = [
        _Bad("fe80::1%", 7, LENGTH),
        _Bad("fe80::1%abcdefghijklmnop", 7, LENGTH),
        _Bad("fe80::1%eth0/64", 12, LETTERS),
        _Bad("fe80::1%a%b", 9, LETTERS),
        _Bad("fe80::1%a\0", 9, LETTERS),
        _Bad("fe80::1%a\r", 9, LETTERS),
        _Bad("fe80::1%a@b", 9, LETTERS),
        _Bad("1.2.3.4%eth0", 7, "IPv4 has no zones"),
        _Bad("%eth0", 0, "it is empty"),
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

"""Socket addresses: an IP address and a port."""

from flare.net.ip import IpAddr
from flare.net.socket_addr import SocketAddr
from tests.support.assertions import assert_equal, assert_false, assert_true


@fieldwise_init
struct _Bad(Copyable, Movable):
    """No socket address, and where it stops being one."""

    var text: StaticString
    var offset: Int
    var reason: StaticString


def test_socket_addr_call_sites_of_the_specification() raises:
    var addr = SocketAddr.parse("[::1]:8080")
    assert_true(addr.ip.is_v6())
    assert_equal(addr.port, 8080)
    assert_equal(String(SocketAddr.localhost(8080)), "127.0.0.1:8080")
    assert_equal(String(SocketAddr.any(0)), "0.0.0.0:0")
    assert_equal(SocketAddr(IpAddr.parse("::1"), 8080), addr)


def test_socket_addr_round_trip() raises:
    for text in [
        "1.2.3.4:0",
        "1.2.3.4:65535",
        "[::]:1",
        "[2001:db8::1]:443",
        "[::ffff:1.2.3.4]:80",
    ]:
        assert_equal(String(SocketAddr.parse(text)), text)


def test_socket_addr_refuses() raises:
    comptime DIGITS = StaticString("a port has one to five digits")
    # RFC 3986 section 3.2.2: what is no address is a registered name.
    comptime NAME = StaticString(
        "it begins as a name does; write its address, such as 127.0.0.1, or"
        " look it up with `resolve` of flare.dns"
    )
    comptime DECIMAL = StaticString("a port has decimal digits only")
    var rows: List[_Bad] = [
        _Bad("", 0, "a colon and a port are missing"),
        _Bad("1.2.3.4", 7, "a colon and a port are missing"),
        _Bad("1.2.3.4:", 8, DIGITS),
        _Bad("1.2.3.4:123456", 8, DIGITS),
        _Bad("1.2.3.4:65536", 8, "a port is at most 65535"),
        _Bad("1.2.3.4:080", 8, "a port has no leading zero"),
        _Bad("1.2.3.4:+80", 8, DECIMAL),
        _Bad("1.2.3.4:80\r", 10, DECIMAL),
        _Bad("1.2.3.4:80\0", 10, DECIMAL),
        _Bad("1.2.3.4 :80", 7, "nothing may follow the fourth octet"),
        _Bad("::1:80", 0, "IPv6 needs brackets around it"),
        _Bad("[::1:80", 4, "']' is missing before the colon"),
        _Bad("[::1]80", 4, DECIMAL),
        _Bad("[::1]", 5, "a colon and a port are missing"),
        _Bad("[1.2.3.4]:80", 0, "IPv4 has no brackets around it"),
        _Bad("[fe80::1%eth0]:80", 7, "groups are parted by colons"),
        _Bad(".1.2.3:80", 0, "a decimal digit must stand here"),
        _Bad("1..2.3:80", 2, "a decimal digit must stand here"),
        _Bad("u@1.2.3.4:80", 0, NAME),
        _Bad("localhost:80", 0, NAME),
        _Bad(
            ":80",
            0,
            "an address is missing; 0.0.0.0 or [::] is every one of this"
            " machine",
        ),
    ]
    for row in rows:
        var is_refused = False
        try:
            _ = SocketAddr.parse(row.text)
        except error:
            is_refused = True
            assert_equal(error.reason, row.reason, row.text)
            assert_equal(error.offset, row.offset, row.text)
        assert_true(is_refused, row.text)


def test_socket_addr_compares_and_hashes() raises:
    var low = SocketAddr.localhost(1)
    var high = SocketAddr.localhost(2)
    assert_true(low < high)
    assert_false(low == high)
    assert_equal(hash(low), hash(SocketAddr.parse("127.0.0.1:1")))

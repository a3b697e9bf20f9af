"""Tests of socket addresses in the kernel's layout."""

from flare.sys.sock_addr import AF_INET, AF_INET6, SockAddr
from std.testing import assert_equal


def test_sock_addr_inet_round_trip() raises:
    var ip: Array[UInt8, 4] = [192, 0, 2, 7]
    var address = SockAddr.inet(ip, 0x1F90)
    assert_equal(address.family(), AF_INET)
    assert_equal(address.port(), 0x1F90)
    assert_equal(Int(address.length), 16)
    # The port is in network order in octets 2 and 3 (struct sockaddr_in).
    assert_equal(address.octets[2], 0x1F)
    assert_equal(address.octets[3], 0x90)
    var back = address.inet_octets()
    for index in range(4):
        assert_equal(back[index], ip[index])


def test_sock_addr_inet6_round_trip() raises:
    var ip = Array[UInt8, 16](fill=0)
    for index in range(16):
        ip[index] = UInt8(index + 1)
    var address = SockAddr.inet6(ip, 65_535)
    assert_equal(address.family(), AF_INET6)
    assert_equal(address.port(), 65_535)
    assert_equal(Int(address.length), 28)
    var back = address.inet6_octets()
    for index in range(16):
        assert_equal(back[index], ip[index])

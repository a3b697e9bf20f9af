"""Tests of socket addresses in the kernel's layout."""

from flare.bytes.checked import *
from flare.sys.sockets.sock_addr import (
    AF_INET,
    AF_INET6,
    AF_UNIX,
    UNIX_NAME_LEN_MAX,
    SockAddr,
)
from tests.support.assertions import assert_equal, assert_true


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
        assert_equal(back.at(index), ip.at(index))


def test_sock_addr_inet6_round_trip() raises:
    var ip = Array[UInt8, 16](fill=0)
    for index in range(16):
        ip.at(index) = UInt8(index + 1)
    var address = SockAddr.inet6(ip, 65_535)
    assert_equal(address.family(), AF_INET6)
    assert_equal(address.port(), 65_535)
    assert_equal(Int(address.length), 28)
    var back = address.inet6_octets()
    for index in range(16):
        assert_equal(back.at(index), ip.at(index))


def test_sock_addr_unix_path_round_trip() raises:
    var address = SockAddr.unix("/run/a".as_bytes())
    assert_equal(address.family(), AF_UNIX)
    # Two octets for the family, the path, and its NUL.
    assert_equal(Int(address.length), 2 + 6 + 1)
    assert_equal(address.octets[2], 47)
    var name = address.unix_name()
    assert_equal(StringSpan(unsafe_from_utf8=name), "/run/a")
    # A kernel may count the whole structure: the path ends at its NUL.
    address.length = 110
    assert_equal(len(address.unix_name()), 6)


def test_sock_addr_unix_abstract_round_trip() raises:
    var address = SockAddr.unix("app".as_bytes(), is_abstract=True)
    assert_equal(Int(address.length), 2 + 1 + 3)
    assert_equal(address.octets[2], 0)
    var name = address.unix_name()
    assert_equal(len(name), 4)
    assert_equal(name.at(0), 0)
    assert_equal(name.at(3), 112)


def test_sock_addr_unix_lengths() raises:
    var octets = List[UInt8](length=300, fill=97)
    var address = SockAddr.unix(octets)
    assert_equal(len(address.unix_name()), UNIX_NAME_LEN_MAX)
    assert_true(Int(address.length) <= 110)
    # Without a name, and with a length that no kernel gives.
    address.length = 2
    assert_equal(len(address.unix_name()), 0)
    address.length = 0
    assert_equal(len(address.unix_name()), 0)
    address.length = 4_000
    assert_equal(len(address.unix_name()), UNIX_NAME_LEN_MAX)

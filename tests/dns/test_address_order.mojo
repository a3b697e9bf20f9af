"""Tests of the order in which addresses are tried."""

from flare.dns.address_order import interleave_families
from flare.net.ip import IpAddr
from std.testing import assert_equal


def _ordered(families: String) raises -> String:
    """Numbers addresses of the families given, and shows their new order."""
    var addresses = List[IpAddr]()
    for index in range(families.byte_length()):
        if families.as_bytes()[index] == 52:
            addresses.append(IpAddr.v4(10, 0, 0, UInt8(index)))
        else:
            addresses.append(IpAddr(0xFD00 << 48, UInt64(index), False))
    var order = String()
    for address in interleave_families(addresses):
        order.write(address.bits_low() & 15)
    return order^


def test_interleaving_rows() raises:
    # Families in the resolver's order; which comes when (RFC 8305 section 4).
    for row in [
        ("", ""),
        ("4", "0"),
        ("6", "0"),
        ("46", "01"),
        ("64", "01"),
        ("6644", "0213"),
        ("4466", "0213"),
        ("6664", "0312"),
        ("4666", "0123"),
        ("66664444", "04152637"),
        ("444", "012"),
        ("6464", "0123"),
        ("644", "012"),
        ("66444", "02134"),
    ]:
        assert_equal(_ordered(row[0]), row[1], row[0])

"""CRC-32C: the examples of RFC 3720 appendix B.4, in one piece and in two."""

from flare.bytes.crc32c import Crc32c
from std.testing import assert_equal


@fieldwise_init
struct _Row(Copyable, Movable):
    """Octets and their checksum."""

    var rule: StaticString
    var octets: List[UInt8]
    var value: UInt32


def _rows() -> List[_Row]:
    var digits = List[UInt8]()
    digits.extend("123456789".as_bytes())
    return [
        _Row("no octets", List[UInt8](), 0),
        _Row("the check value", digits^, 0xE3069283),
        _Row("3720-B.4 zeros", List[UInt8](length=32, fill=0), 0x8A9136AA),
        _Row("3720-B.4 ones", List[UInt8](length=32, fill=255), 0x62A8AB43),
        _Row("3720-B.4 up", [UInt8(x) for x in range(32)], 0x46DD794E),
        _Row("3720-B.4 down", [UInt8(31 - x) for x in range(32)], 0x113FDB5C),
    ]


def test_crc32c() raises:
    for row in _rows():
        for cut in range(len(row.octets) + 1):
            var checksum = Crc32c()
            checksum.update(row.octets[0:cut])
            checksum.update(row.octets[cut:])
            assert_equal(checksum.value(), row.value, row.rule)

"""CRC-32C, which guards against slips of transmission, not against anybody.

Source: RFC 3720 section 12.1 and appendix B.4.
"""

from flare.bytes.checked import *
from std.builtin.globals import global_constant

comptime _POLYNOMIAL: UInt32 = 0x82F63B78
# 0x1EDC6F41 with its bits in reverse order.


def _table() -> Array[UInt32, 256]:
    var table = Array[UInt32, 256](fill=0)
    for octet in range(256):
        var rest = UInt32(octet)
        for _ in range(8):
            rest = (rest >> 1) ^ (_POLYNOMIAL if rest & 1 == 1 else 0)
        table[octet] = rest
    return table^


comptime _TABLE = _table()


struct Crc32c(Copyable, Movable):
    """A checksum over octets that come in pieces."""

    var _rest: UInt32

    def __init__(out self):
        """Starts with no octets."""
        self._rest = UInt32.MAX

    def update(mut self, octets: Span[UInt8, _]):
        """Adds octets.

        Args:
            octets: What follows.
        """
        ref table = global_constant[_TABLE]()
        for octet in octets:
            var index = Int((self._rest ^ UInt32(octet)) & 0xFF)
            self._rest = (self._rest >> 8) ^ table.at(index)

    def value(self) -> UInt32:
        """Gives the checksum.

        Returns:
            The checksum of all octets so far.
        """
        return self._rest ^ UInt32.MAX

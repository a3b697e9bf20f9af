"""Classes of octets as nibble tables, the form in which a SIMD shuffle tests them.

An ASCII class is a set of at most 128 octets. Row `low` of the table `LOW`
holds one bit for each high nibble, so octet `c` is a member exactly when
`LOW[c & 15] & HIGH[c >> 4]` is not zero. Octets from 0x80 up are in no class.
"""

comptime NibbleTable = SIMD[DType.uint8, 16]
"""Sixteen octets, indexed by a nibble."""


struct OctetClass(TrivialRegisterPassable):
    """A set of ASCII octets."""

    var low: NibbleTable
    """For each low nibble, one bit for each high nibble that completes a member."""

    def __init__(out self, members: StaticString):
        """Builds a class from its members.

        Args:
            members: Every member, once each, ASCII only.
        """
        self.low = NibbleTable(0)
        for octet in members.as_bytes():
            var row = Int(octet & 15)
            self.low[row] = self.low[row] | (UInt8(1) << (octet >> 4))

    def contains(self, octet: UInt8) -> Bool:
        """Tells whether an octet is a member.

        Args:
            octet: Any octet.

        Returns:
            True for members; False for all octets from 0x80 up.
        """
        if octet >= 0x80:
            return False
        return (self.low[Int(octet & 15)] & (UInt8(1) << (octet >> 4))) != 0


def _high_nibble_bits() -> NibbleTable:
    var table = NibbleTable(0)
    for nibble in range(8):
        table[nibble] = UInt8(1) << UInt8(nibble)
    return table


comptime HIGH = _high_nibble_bits()
"""For each high nibble below 8, its bit; the same for all ASCII classes."""

comptime TCHAR = OctetClass(
    "!#$%&'*+-.^_`|~0123456789"
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)
"""Octets of a token (RFC 9110 section 5.6.2)."""

comptime REG_NAME = OctetClass(
    "-._~!$&'()*+,;=0123456789"
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)
"""Octets of a registered name or an IPv4 address but `%`, behind which two hex
digits have to stand (RFC 3986 section 3.2.2)."""

comptime IP_FUTURE = OctetClass(
    "-._~!$&'()*+,;=:0123456789"
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)
"""Octets of an IPvFuture behind its version (RFC 3986 section 3.2.2)."""

comptime QDTEXT = OctetClass(
    "\t !#$%&'()*+,-./0123456789:;<=>?@"
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_`abcdefghijklmnopqrstuvwxyz{|}~"
)
"""ASCII octets that stand for themselves in a quoted string (RFC 9110 section
5.6.4)."""

"""SipHash: a hash whose values nobody can foretell without its key.

Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012.
"""

from flare.bytes.checked import *
from std.bit import rotate_bits_left


trait Keyed:
    """A hasher with a key that peers do not know.

    Who knows how names are hashed can make up any number that a table puts into
    one place, so that each costs as much as all before it. A hasher with this
    trait is safe from that.
    """

    comptime HASH_KEY_LEN: Int
    """Length of the key in bytes."""


@fieldwise_init
struct SipKey(TrivialRegisterPassable):
    """The key: 128 bits."""

    var low: UInt64
    """The first eight octets, little-endian."""
    var high: UInt64
    """The last eight octets, little-endian."""


struct SipHash[c: Int, d: Int](Copyable, Movable):
    """The hash of octets that come in any number of pieces.

    `SipHash[2, 4]` is the function of the paper, `SipHash[1, 3]` the faster one
    for tables, whose values no peer sees.

    Parameters:
        c: Rounds for each eight octets.
        d: Rounds at the end.
    """

    var _v0: UInt64
    var _v1: UInt64
    var _v2: UInt64
    var _v3: UInt64
    # The octets that make no whole word yet.
    var _tail: UInt64
    var _length: UInt64

    @always_inline
    def __init__(out self, key: SipKey):
        self._v0 = key.low ^ 0x736F_6D65_7073_6575
        self._v1 = key.high ^ 0x646F_7261_6E64_6F6D
        self._v2 = key.low ^ 0x6C79_6765_6E65_7261
        self._v3 = key.high ^ 0x7465_6462_7974_6573
        self._tail = 0
        self._length = 0

    def update(mut self, octets: Span[UInt8, _]):
        var index = 0
        var count = len(octets)
        while index < count and self._length & 7 != 0:
            self._add(octets.at(index))
            index += 1
        var base = octets.unsafe_ptr()
        while count - index >= 8:
            # SAFETY: the loop's condition keeps the eight octets in the span.
            self._compress(
                base.unsafe_offset(index)
                .unsafe_bitcast[UInt64]()
                .unsafe_load[alignment=1]()
            )
            self._length += 8
            index += 8
        while index < count:
            self._add(octets.at(index))
            index += 1

    def update_word(mut self, word: UInt64):
        """Takes the eight octets of a word, little-endian."""
        if self._length & 7 == 0:
            self._compress(word)
            self._length += 8
            return
        for place in range(8):
            self._add(UInt8((word >> UInt64(8 * place)) & 255))

    def finish(self) -> UInt64:
        """Computes the hash of all octets so far; more may follow."""
        var last = self.copy()
        last._compress((self._length << 56) | self._tail)
        last._v2 ^= 255
        comptime for _ in range(Self.d):
            last._round()
        return last._v0 ^ last._v1 ^ last._v2 ^ last._v3

    @always_inline
    def _add(mut self, octet: UInt8):
        self._tail |= UInt64(octet) << (8 * (self._length & 7))
        self._length += 1
        if self._length & 7 == 0:
            self._compress(self._tail)
            self._tail = 0

    @always_inline
    def _compress(mut self, word: UInt64):
        self._v3 ^= word
        comptime for _ in range(Self.c):
            self._round()
        self._v0 ^= word

    @always_inline
    def _round(mut self):
        self._v0 += self._v1
        self._v2 += self._v3
        self._v1 = rotate_bits_left[13](self._v1) ^ self._v0
        self._v3 = rotate_bits_left[16](self._v3) ^ self._v2
        self._v0 = rotate_bits_left[32](self._v0)
        self._v2 += self._v1
        self._v0 += self._v3
        self._v1 = rotate_bits_left[17](self._v1) ^ self._v2
        self._v3 = rotate_bits_left[21](self._v3) ^ self._v0
        self._v2 = rotate_bits_left[32](self._v2)

"""Checksums and hashes: SHA-1, SHA-256 (FIPS 180-4), HMAC (RFC 2104), CRC-32C."""

from flare.bytes.checked import *
from flare.bytes.hash_padding import last_blocks
from flare.bytes.sha2 import add_block
from std.builtin.globals import global_constant

comptime SHA1_LEN = 20
"""Length of a digest in bytes."""

comptime _BLOCK_LEN = 64


def sha1(octets: Span[UInt8, _]) -> Array[UInt8, SHA1_LEN]:
    var state: Array[UInt32, 5] = [
        0x67452301,
        0xEFCDAB89,
        0x98BADCFE,
        0x10325476,
        0xC3D2E1F0,
    ]
    var start = 0
    while len(octets) - start >= _BLOCK_LEN:
        _add_block(state, octets.between(start, start + _BLOCK_LEN))
        start += _BLOCK_LEN
    var end = last_blocks[_BLOCK_LEN](octets.after(start), len(octets))
    for start in range(0, len(end), _BLOCK_LEN):
        _add_block(state, Span(end).between(start, start + _BLOCK_LEN))
    var digest = Array[UInt8, SHA1_LEN](uninitialized=True)
    for index in range(SHA1_LEN):
        var shift = UInt32(24 - 8 * (index & 3))
        digest.at(index) = UInt8((state.at(index >> 2) >> shift) & 0xFF)
    return digest^


def _add_block(mut state: Array[UInt32, 5], block: Span[UInt8, _]):
    var words = Array[UInt32, 80](uninitialized=True)
    for index in range(_BLOCK_LEN):
        words.at(index >> 2) = words.at(index >> 2) << 8 | UInt32(
            block.at(index)
        )
    for index in range(16, 80):
        words.at(index) = _rotate[1](
            words.at(index - 3)
            ^ words.at(index - 8)
            ^ words.at(index - 14)
            ^ words.at(index - 16)
        )
    var a = state[0]
    var b = state[1]
    var c = state[2]
    var d = state[3]
    var e = state[4]
    for index in range(80):
        var next = _rotate[5](a) + _mix(index, b, c, d) + e + words.at(index)
        e = d
        d = c
        c = _rotate[30](b)
        b = a
        a = next
    state[0] += a
    state[1] += b
    state[2] += c
    state[3] += d
    state[4] += e


@always_inline
def _mix(index: Int, b: UInt32, c: UInt32, d: UInt32) -> UInt32:
    """Gives function and constant of a step (FIPS 180-4 sections 4.1.1, 4.2.1)."""
    if index < 20:
        return ((b & c) | (~b & d)) + 0x5A827999
    if index < 40:
        return (b ^ c ^ d) + 0x6ED9EBA1
    if index < 60:
        return ((b & c) | (b & d) | (c & d)) + 0x8F1BBCDC
    return (b ^ c ^ d) + 0xCA62C1D6


@always_inline
def _rotate[count: Int](word: UInt32) -> UInt32:
    return word << UInt32(count) | word >> UInt32(32 - count)


comptime SHA256_LEN = 32
"""Length of a digest in bytes."""
comptime SHA256_BLOCK_LEN = 64
"""What is taken at a time, in bytes (FIPS 180-4 section 5.2.1)."""

comptime Sha256Digest = Array[UInt8, SHA256_LEN]

# FIPS 180-4 section 5.3.3: the square roots of the first 8 primes, the first 32
# bits of what is after the point.
comptime _START = SIMD[DType.uint32, 8](
    0x6A09_E667,
    0xBB67_AE85,
    0x3C6E_F372,
    0xA54F_F53A,
    0x510E_527F,
    0x9B05_688C,
    0x1F83_D9AB,
    0x5BE0_CD19,
)


struct Sha256(Copyable, Movable):
    """Takes octets in pieces of any length, and gives their digest.

    Its time depends on the length alone, not on the octets.
    """

    var _state: SIMD[DType.uint32, 8]
    var _block: Array[UInt8, SHA256_BLOCK_LEN]
    var _block_len: Int
    var _length: UInt64

    def __init__(out self):
        self._state = _START
        self._block = Array[UInt8, SHA256_BLOCK_LEN](fill=0)
        self._block_len = 0
        self._length = 0

    def update(mut self, octets: Span[UInt8, _]):
        self._length += UInt64(len(octets))
        var start = 0
        if self._block_len > 0:
            start = min(SHA256_BLOCK_LEN - self._block_len, len(octets))
            for index in range(start):
                self._block.at(self._block_len + index) = octets.at(index)
            self._block_len += start
            if self._block_len < SHA256_BLOCK_LEN:
                return
            add_block(self._state, Span(self._block))
            self._block_len = 0
        while len(octets) - start >= SHA256_BLOCK_LEN:
            add_block(
                self._state, octets.between(start, start + SHA256_BLOCK_LEN)
            )
            start += SHA256_BLOCK_LEN
        for index in range(start, len(octets)):
            self._block.at(self._block_len) = octets.at(index)
            self._block_len += 1

    def finish(deinit self) -> Sha256Digest:
        """Ends the octets (FIPS 180-4 section 5.1.1)."""
        var bit_count = self._length << 3
        self._block.at(self._block_len) = 0x80
        for index in range(self._block_len + 1, SHA256_BLOCK_LEN):
            self._block.at(index) = 0
        if self._block_len >= SHA256_BLOCK_LEN - 8:
            add_block(self._state, Span(self._block))
            self._block = Array[UInt8, SHA256_BLOCK_LEN](fill=0)
        for index in range(8):
            self._block.at(56 + index) = UInt8(
                (bit_count >> UInt64(56 - 8 * index)) & 0xFF
            )
        add_block(self._state, Span(self._block))
        var digest = Sha256Digest(fill=0)
        for index in range(SHA256_LEN):
            digest.at(index) = UInt8(
                (self._state[index // 4] >> UInt32(24 - 8 * (index % 4))) & 0xFF
            )
        return digest^


def sha256(octets: Span[UInt8, _]) -> Sha256Digest:
    """Computes the digest of octets at hand."""
    var hash = Sha256()
    hash.update(octets)
    return hash^.finish()


struct HmacSha256(Copyable, Movable):
    """Takes octets in pieces of any length, and gives their code.

    Compare codes with `equals_in_constant_time` alone.
    """

    var _inner: Sha256
    var _outer: Sha256

    def __init__(out self, key: Span[UInt8, _]):
        """Starts with no octets. 32 random octets are the right secret; one
        longer than a block is replaced by its digest (RFC 2104 section 2)."""
        var block = Array[UInt8, SHA256_BLOCK_LEN](fill=0)
        if len(key) <= SHA256_BLOCK_LEN:
            for index in range(len(key)):
                block.at(index) = key.at(index)
        else:
            var digest = sha256(key)
            for index in range(SHA256_LEN):
                block.at(index) = digest.at(index)
        self._inner = Sha256()
        self._outer = Sha256()
        for index in range(SHA256_BLOCK_LEN):
            block.at(index) ^= 0x36
        self._inner.update(Span(block))
        for index in range(SHA256_BLOCK_LEN):
            block.at(index) ^= 0x36 ^ 0x5C
        self._outer.update(Span(block))

    def update(mut self, octets: Span[UInt8, _]):
        self._inner.update(octets)

    def finish(deinit self) -> Sha256Digest:
        var inner = self._inner^
        var outer = self._outer^
        var digest = inner^.finish()
        outer.update(Span(digest))
        return outer^.finish()


def hmac_sha256(key: Span[UInt8, _], octets: Span[UInt8, _]) -> Sha256Digest:
    var code = HmacSha256(key)
    code.update(octets)
    return code^.finish()


def equals_in_constant_time(
    left: Span[UInt8, _], right: Span[UInt8, _]
) -> Bool:
    """Compares a secret with what a peer sent.

    The time depends on the length of `right` alone, so that the peer learns
    nothing from it about how much was right.
    """
    var difference = len(left) ^ len(right)
    for index in range(len(right)):
        var octet = left.at(index % len(left)) if len(left) > 0 else UInt8(0)
        difference |= Int(octet ^ right.at(index))
    return difference == 0


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
        self._rest = UInt32.MAX

    def update(mut self, octets: Span[UInt8, _]):
        ref table = global_constant[_TABLE]()
        for octet in octets:
            var index = Int((self._rest ^ UInt32(octet)) & 0xFF)
            self._rest = (self._rest >> 8) ^ table.at(index)

    def value(self) -> UInt32:
        """Gives the checksum of all octets so far."""
        return self._rest ^ UInt32.MAX

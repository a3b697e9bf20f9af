"""MD5 (RFC 1321), for protocols that still ask for it; it protects nothing."""

from flare.bytes.checked import *
from flare.bytes.hash_padding import last_blocks
from std.builtin.globals import global_constant

comptime MD5_LEN = 16
"""Length of a digest in bytes."""

comptime _BLOCK_LEN = 64

# RFC 1321 section 3.4: the integer part of 4294967296 times abs(sin(i)).
comptime _SINES: Array[UInt32, 64] = [
    0xD76AA478,
    0xE8C7B756,
    0x242070DB,
    0xC1BDCEEE,
    0xF57C0FAF,
    0x4787C62A,
    0xA8304613,
    0xFD469501,
    0x698098D8,
    0x8B44F7AF,
    0xFFFF5BB1,
    0x895CD7BE,
    0x6B901122,
    0xFD987193,
    0xA679438E,
    0x49B40821,
    0xF61E2562,
    0xC040B340,
    0x265E5A51,
    0xE9B6C7AA,
    0xD62F105D,
    0x02441453,
    0xD8A1E681,
    0xE7D3FBC8,
    0x21E1CDE6,
    0xC33707D6,
    0xF4D50D87,
    0x455A14ED,
    0xA9E3E905,
    0xFCEFA3F8,
    0x676F02D9,
    0x8D2A4C8A,
    0xFFFA3942,
    0x8771F681,
    0x6D9D6122,
    0xFDE5380C,
    0xA4BEEA44,
    0x4BDECFA9,
    0xF6BB4B60,
    0xBEBFBC70,
    0x289B7EC6,
    0xEAA127FA,
    0xD4EF3085,
    0x04881D05,
    0xD9D4D039,
    0xE6DB99E5,
    0x1FA27CF8,
    0xC4AC5665,
    0xF4292244,
    0x432AFF97,
    0xAB9423A7,
    0xFC93A039,
    0x655B59C3,
    0x8F0CCC92,
    0xFFEFF47D,
    0x85845DD1,
    0x6FA87E4F,
    0xFE2CE6E0,
    0xA3014314,
    0x4E0811A1,
    0xF7537E82,
    0xBD3AF235,
    0x2AD7D2BB,
    0xEB86D391,
]
comptime _SHIFTS: Array[UInt32, 16] = [
    7,
    12,
    17,
    22,
    5,
    9,
    14,
    20,
    4,
    11,
    16,
    23,
    6,
    10,
    15,
    21,
]


def md5(octets: Span[UInt8, _]) -> Array[UInt8, MD5_LEN]:
    var state = SIMD[DType.uint32, 4](
        0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476
    )
    var start = 0
    while len(octets) - start >= _BLOCK_LEN:
        _add_block(state, octets.between(start, start + _BLOCK_LEN))
        start += _BLOCK_LEN
    var end = last_blocks[_BLOCK_LEN, is_big_endian=False](
        octets.after(start), len(octets)
    )
    for start in range(0, len(end), _BLOCK_LEN):
        _add_block(state, Span(end).between(start, start + _BLOCK_LEN))
    var digest = Array[UInt8, MD5_LEN](uninitialized=True)
    for index in range(MD5_LEN):
        var shift = UInt32(8 * (index & 3))
        digest.at(index) = UInt8((state[index >> 2] >> shift) & 0xFF)
    return digest^


def _add_block(mut state: SIMD[DType.uint32, 4], block: Span[UInt8, _]):
    """RFC 1321 section 3.4."""
    var words = Array[UInt32, 16](fill=0)
    for index in range(_BLOCK_LEN):
        words.at(index >> 2) |= UInt32(block.at(index)) << UInt32(
            8 * (index & 3)
        )
    var a = state[0]
    var b = state[1]
    var c = state[2]
    var d = state[3]
    for index in range(64):
        var mixed: UInt32
        var word = index
        var turn = index >> 4
        if turn == 0:
            mixed = (b & c) | (~b & d)
        elif turn == 1:
            mixed = (d & b) | (~d & c)
            word = 5 * index + 1
        elif turn == 2:
            mixed = b ^ c ^ d
            word = 3 * index + 5
        else:
            mixed = c ^ (b | ~d)
            word = 7 * index
        var sine = global_constant[_SINES]().at(index)
        var shift = global_constant[_SHIFTS]().at(4 * turn + (index & 3))
        var sum = a + mixed + words.at(word & 15) + sine
        a = d
        d = c
        c = b
        b += sum << shift | sum >> (32 - shift)
    state += SIMD[DType.uint32, 4](a, b, c, d)

"""SHA-1, which the WebSocket handshake asks for (FIPS 180-4 section 6.1).

It guards nothing there; do not use it where an attacker may choose the octets.
"""

from flare.bytes.checked import *

comptime SHA1_LEN = 20
"""Length of a digest in bytes."""

comptime _BLOCK_LEN = 64
# Where the length of the message stands in its last block.
comptime _LENGTH_OFFSET = 56


def sha1(octets: Span[UInt8, _]) -> Array[UInt8, SHA1_LEN]:
    """Computes a digest.

    Args:
        octets: The message.

    Returns:
        The digest.
    """
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
    _add_last(state, octets.after(start), len(octets))
    var digest = Array[UInt8, SHA1_LEN](fill=0)
    for index in range(SHA1_LEN):
        var shift = UInt32(24 - 8 * (index & 3))
        digest.at(index) = UInt8((state.at(index >> 2) >> shift) & 0xFF)
    return digest^


def _add_last(
    mut state: Array[UInt32, 5], rest: Span[UInt8, _], message_len: Int
):
    """Adds the octets that fill no block, a 1 bit, and the length in bits."""
    var block = Array[UInt8, _BLOCK_LEN](fill=0)
    for index in range(len(rest)):
        block.at(index) = rest.at(index)
    block.at(len(rest)) = 0x80
    if len(rest) >= _LENGTH_OFFSET:
        _add_block(state, Span(block))
        block = Array[UInt8, _BLOCK_LEN](fill=0)
    var bit_count = UInt64(message_len) * 8
    for index in range(8):
        var shift = UInt64(56 - 8 * index)
        block.at(_LENGTH_OFFSET + index) = UInt8((bit_count >> shift) & 0xFF)
    _add_block(state, Span(block))


def _add_block(mut state: Array[UInt32, 5], block: Span[UInt8, _]):
    var words = Array[UInt32, 80](fill=0)
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

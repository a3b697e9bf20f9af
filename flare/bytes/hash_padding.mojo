"""The end of a message as hashes of MD5's family pad it."""

from flare.bytes.checked import *


def last_blocks[
    block_len: Int, length_len: Int = 8, *, is_big_endian: Bool = True
](rest: Span[UInt8, _], message_len: Int) -> List[UInt8]:
    """Puts a 1 bit and the message's length in bits after the octets that fill
    no block (RFC 1321 section 3.1, FIPS 180-4 section 5.1). The length takes
    `length_len` bytes, of which 64 bits are used, its highest octet first if
    `is_big_endian`. Returns one block or two."""
    var block_count = 1 if len(rest) < block_len - length_len else 2
    var blocks = List[UInt8](length=block_count * block_len, fill=0)
    for index in range(len(rest)):
        blocks.at(index) = rest.at(index)
    blocks.at(len(rest)) = 0x80
    var bit_count = UInt64(message_len) * 8
    var start = len(blocks) - (8 if is_big_endian else length_len)
    for index in range(8):
        var shift = UInt64(56 - 8 * index if is_big_endian else 8 * index)
        blocks.at(start + index) = UInt8((bit_count >> shift) & 0xFF)
    return blocks^

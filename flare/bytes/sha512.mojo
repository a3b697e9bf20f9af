"""SHA-512/256 (FIPS 180-4), which challenges name SHA-512-256 (RFC 7616)."""

from flare.bytes.checked import *
from flare.bytes.hash_padding import last_blocks
from flare.bytes.sha2 import add_block

comptime SHA512_256_LEN = 32
"""Length of a digest in bytes."""

comptime _BLOCK_LEN = 128


def sha512_256(octets: Span[UInt8, _]) -> Array[UInt8, SHA512_256_LEN]:
    # FIPS 180-4 section 5.3.6.2.
    var state = SIMD[DType.uint64, 8](
        0x2231_2194_FC2B_F72C,
        0x9F55_5FA3_C84C_64C2,
        0x2393_B86B_6F53_B151,
        0x9638_7719_5940_EABD,
        0x9628_3EE2_A88E_FFE3,
        0xBE5E_1E25_5386_3992,
        0x2B01_99FC_2C85_B8AA,
        0x0EB7_2DDC_81C5_2CA2,
    )
    var start = 0
    while len(octets) - start >= _BLOCK_LEN:
        add_block(state, octets.between(start, start + _BLOCK_LEN))
        start += _BLOCK_LEN
    var end = last_blocks[_BLOCK_LEN, 16](octets.after(start), len(octets))
    for start in range(0, len(end), _BLOCK_LEN):
        add_block(state, Span(end).between(start, start + _BLOCK_LEN))
    var digest = Array[UInt8, SHA512_256_LEN](uninitialized=True)
    for index in range(SHA512_256_LEN):
        var shift = UInt64(56 - 8 * (index & 7))
        digest.at(index) = UInt8((state[index >> 3] >> shift) & 0xFF)
    return digest^

"""The rounds of SHA-256 and SHA-512 (FIPS 180-4), which differ in the width of a word
and in what follows from it."""

from flare.bytes.checked import *
from std.bit import byte_swap
from std.builtin.globals import global_constant

# FIPS 180-4 section 4.2.3: the cube roots of the first 80 primes, the first 64
# bits of what is after the point. SHA-256 has the first 32 bits of 64 of them
# (section 4.2.2).
comptime _CONSTANTS: Array[UInt64, 80] = [
    0x428A_2F98_D728_AE22,
    0x7137_4491_23EF_65CD,
    0xB5C0_FBCF_EC4D_3B2F,
    0xE9B5_DBA5_8189_DBBC,
    0x3956_C25B_F348_B538,
    0x59F1_11F1_B605_D019,
    0x923F_82A4_AF19_4F9B,
    0xAB1C_5ED5_DA6D_8118,
    0xD807_AA98_A303_0242,
    0x1283_5B01_4570_6FBE,
    0x2431_85BE_4EE4_B28C,
    0x550C_7DC3_D5FF_B4E2,
    0x72BE_5D74_F27B_896F,
    0x80DE_B1FE_3B16_96B1,
    0x9BDC_06A7_25C7_1235,
    0xC19B_F174_CF69_2694,
    0xE49B_69C1_9EF1_4AD2,
    0xEFBE_4786_384F_25E3,
    0x0FC1_9DC6_8B8C_D5B5,
    0x240C_A1CC_77AC_9C65,
    0x2DE9_2C6F_592B_0275,
    0x4A74_84AA_6EA6_E483,
    0x5CB0_A9DC_BD41_FBD4,
    0x76F9_88DA_8311_53B5,
    0x983E_5152_EE66_DFAB,
    0xA831_C66D_2DB4_3210,
    0xB003_27C8_98FB_213F,
    0xBF59_7FC7_BEEF_0EE4,
    0xC6E0_0BF3_3DA8_8FC2,
    0xD5A7_9147_930A_A725,
    0x06CA_6351_E003_826F,
    0x1429_2967_0A0E_6E70,
    0x27B7_0A85_46D2_2FFC,
    0x2E1B_2138_5C26_C926,
    0x4D2C_6DFC_5AC4_2AED,
    0x5338_0D13_9D95_B3DF,
    0x650A_7354_8BAF_63DE,
    0x766A_0ABB_3C77_B2A8,
    0x81C2_C92E_47ED_AEE6,
    0x9272_2C85_1482_353B,
    0xA2BF_E8A1_4CF1_0364,
    0xA81A_664B_BC42_3001,
    0xC24B_8B70_D0F8_9791,
    0xC76C_51A3_0654_BE30,
    0xD192_E819_D6EF_5218,
    0xD699_0624_5565_A910,
    0xF40E_3585_5771_202A,
    0x106A_A070_32BB_D1B8,
    0x19A4_C116_B8D2_D0C8,
    0x1E37_6C08_5141_AB53,
    0x2748_774C_DF8E_EB99,
    0x34B0_BCB5_E19B_48A8,
    0x391C_0CB3_C5C9_5A63,
    0x4ED8_AA4A_E341_8ACB,
    0x5B9C_CA4F_7763_E373,
    0x682E_6FF3_D6B2_B8A3,
    0x748F_82EE_5DEF_B2FC,
    0x78A5_636F_4317_2F60,
    0x84C8_7814_A1F0_AB72,
    0x8CC7_0208_1A64_39EC,
    0x90BE_FFFA_2363_1E28,
    0xA450_6CEB_DE82_BDE9,
    0xBEF9_A3F7_B2C6_7915,
    0xC671_78F2_E372_532B,
    0xCA27_3ECE_EA26_619C,
    0xD186_B8C7_21C0_C207,
    0xEADA_7DD6_CDE0_EB1E,
    0xF57D_4F7F_EE6E_D178,
    0x06F0_67AA_7217_6FBA,
    0x0A63_7DC5_A2C8_98A6,
    0x113F_9804_BEF9_0DAE,
    0x1B71_0B35_131C_471B,
    0x28DB_77F5_2304_7D84,
    0x32CA_AB7B_40C7_2493,
    0x3C9E_BE0A_15C9_BEBC,
    0x431D_67C4_9C10_0D4C,
    0x4CC5_D4BE_CB3E_42B6,
    0x597F_299C_FC65_7E2A,
    0x5FCB_6FAB_3AD6_FAEC,
    0x6C44_198C_4A47_5817,
]


def add_block[word: DType](mut state: SIMD[word, 8], block: Span[UInt8, _]):
    """Takes the next block of a message, of 16 words in network byte order, into the
    state (FIPS 180-4 sections 6.2.2 and 6.4.2). `word` is `uint32` for SHA-256 and
    `uint64` for SHA-512."""
    comptime is_wide = word == DType.uint64
    comptime count = _round_count[word]()
    debug_assert(len(block) == (128 if is_wide else 64), "no block")
    # SAFETY: the caller gives 16 words, and all indices below stay within the
    # schedule's and the table's words.
    var schedule = Array[Scalar[word], count](uninitialized=True)
    var words = block.unsafe_ptr().unsafe_bitcast[Scalar[word]]()
    comptime for index in range(16):
        schedule.unsafe_at(index) = byte_swap(
            words.unsafe_offset(index).unsafe_load[alignment=1]()
        )
    for index in range(16, count):
        var far = schedule.unsafe_at(index - 15)
        var near = schedule.unsafe_at(index - 2)
        comptime if is_wide:
            far = _right[1](far) ^ _right[8](far) ^ (far >> 7)
            near = _right[19](near) ^ _right[61](near) ^ (near >> 6)
        else:
            far = _right[7](far) ^ _right[18](far) ^ (far >> 3)
            near = _right[17](near) ^ _right[19](near) ^ (near >> 10)
        schedule.unsafe_at(index) = (
            schedule.unsafe_at(index - 16)
            + far
            + schedule.unsafe_at(index - 7)
            + near
        )
    var a, b, c, d = state[0], state[1], state[2], state[3]
    var e, f, g, h = state[4], state[5], state[6], state[7]
    ref constants = global_constant[_constants[word]()]()
    for index in range(count):
        var first = (
            h
            + _mixed[
                14 if is_wide else 6,
                18 if is_wide else 11,
                41 if is_wide else 25,
            ](e)
            + ((e & f) ^ (~e & g))
            + constants.unsafe_at(index)
            + schedule.unsafe_at(index)
        )
        var second = _mixed[
            28 if is_wide else 2, 34 if is_wide else 13, 39 if is_wide else 22
        ](a) + ((a & b) ^ (a & c) ^ (b & c))
        h = g
        g = f
        f = e
        e = d + first
        d = c
        c = b
        b = a
        a = first + second
    state += SIMD[word, 8](a, b, c, d, e, f, g, h)


def _round_count[word: DType]() -> Int:
    return 80 if word == DType.uint64 else 64


def _constants[word: DType]() -> Array[Scalar[word], _round_count[word]()]:
    var found = Array[Scalar[word], _round_count[word]()](fill=0)
    for index in range(_round_count[word]()):
        var wide = materialize[_CONSTANTS]()[index]
        found[index] = Scalar[word](
            wide if word == DType.uint64 else wide >> 32
        )
    return found^


@always_inline
def _mixed[
    one: Int, two: Int, three: Int, word: DType
](value: Scalar[word]) -> Scalar[word]:
    return _right[one](value) ^ _right[two](value) ^ _right[three](value)


@always_inline
def _right[count: Int, word: DType](value: Scalar[word]) -> Scalar[word]:
    comptime width = 64 if word == DType.uint64 else 32
    return (value >> Scalar[word](count)) | (
        value << Scalar[word](width - count)
    )

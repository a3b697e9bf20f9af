"""The Huffman code of field strings (RFC 7541 section 5.2 and appendix B).

The code is canonical: codes of one length are numbered in the order of their
symbols, and shorter ones come first. So the lengths are all that has to be
written down; the codes and the tables follow from them.
"""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from std.builtin.globals import global_constant
from std.sys.intrinsics import unlikely

comptime _SYMBOL_COUNT = 257
comptime _END_OF_STRING = 256
comptime _CODE_LEN_MAX = 30

# Length of each symbol's code in bits, as letters from `A` for 0 on, one row
# for 16 octets; the last one is the end of the string (appendix B).
comptime _LENGTHS = StaticString(
    "NX]]]]]]]Y_]]_]]"
    "]]]]]]_]]]]]]]]]"
    "GKKMNGILKKILIGGG"
    "FFFGGGGGGGHIPGMK"
    "NGHHHHHHHHHHHHHH"
    "HHHHHHHHIHINTNOG"
    "PFGFGFGGGFHHGGGF"
    "GHGFFGHHHHHPLON]"
    "UWUUWWWXWXXXXXYX"
    "YYWXYXXXXVWXWXXY"
    "WVUWWXXVXWWYVWXX"
    "VVWVXWXXUWWWXWWX"
    "[[UTWXWZ[[[\\\\[YZ"
    "TV[\\\\[\\YVV[[]\\\\\\"
    "UYUVWVVXWWZZYY[X"
    "[\\[[\\\\\\\\\\]\\\\\\\\\\["
    "_"
)


def _length(symbol: Int) -> Int:
    return Int(_LENGTHS.as_bytes()[symbol]) - 65


def _make_codes() -> Array[UInt32, _SYMBOL_COUNT]:
    var codes = Array[UInt32, _SYMBOL_COUNT](fill=0)
    var code = UInt32(0)
    for length in range(1, _CODE_LEN_MAX + 1):
        code <<= 1
        for symbol in range(_SYMBOL_COUNT):
            if _length(symbol) == length:
                codes[symbol] = code
                code += 1
    return codes^


comptime _CODES = _make_codes()

comptime _SHORT_LEN = 10
# Codes up to this length are looked up at once; they are all of ASCII that
# fields are made of.


def _make_short() -> Array[UInt16, 1 << _SHORT_LEN]:
    """For each ten bits the symbol that they begin with, and above it the
    length of its code; 0 if that is longer."""
    var table = Array[UInt16, 1 << _SHORT_LEN](fill=0)
    var codes = _make_codes()
    for symbol in range(256):
        var length = _length(symbol)
        if length > _SHORT_LEN:
            continue
        var first = Int(codes[symbol]) << (_SHORT_LEN - length)
        for index in range(first, first + (1 << (_SHORT_LEN - length))):
            table[index] = UInt16(symbol | (length << 8))
    return table^


comptime _SHORT = _make_short()


def _make_long_symbols() -> Array[UInt16, _SYMBOL_COUNT]:
    """The symbols in the order of their codes."""
    var table = Array[UInt16, _SYMBOL_COUNT](fill=0)
    var count = 0
    for length in range(1, _CODE_LEN_MAX + 1):
        for symbol in range(_SYMBOL_COUNT):
            if _length(symbol) == length:
                table[count] = UInt16(symbol)
                count += 1
    return table^


comptime _BY_CODE = _make_long_symbols()


def huffman_len(octets: Span[UInt8, _]) -> Int:
    """Tells how long a string is when it is encoded."""
    # SAFETY: an octet is an index into the table.
    var bit_count = 0
    for octet in octets:
        bit_count += Int(_LENGTHS.as_bytes().unsafe_at(Int(octet))) - 65
    return (bit_count + 7) >> 3


def huffman_encode(mut out: Buffer, octets: Span[UInt8, _]):
    # SAFETY: an octet is an index into both tables.
    ref codes = global_constant[_CODES]()
    var bits = UInt64(0)
    var bit_count = 0
    for octet in octets:
        var length = Int(_LENGTHS.as_bytes().unsafe_at(Int(octet))) - 65
        bits = (bits << UInt64(length)) | UInt64(codes.unsafe_at(Int(octet)))
        bit_count += length
        while bit_count >= 8:
            bit_count -= 8
            out.append_octet(UInt8((bits >> UInt64(bit_count)) & 0xFF))
    if bit_count > 0:
        # The rest is filled with the start of the end of the string, all ones.
        var missing = UInt64(8 - bit_count)
        var last = (bits << missing) | ((UInt64(1) << missing) - 1)
        out.append_octet(UInt8(last & 0xFF))


comptime HUFFMAN_BROKEN = -1
"""What `huffman_decode` gives for what is no encoded string."""


def huffman_decode(mut out: Buffer, octets: Span[UInt8, _]) -> Int:
    """Decodes a string; at most 8 octets for each 5 of the encoded one.

    Returns how many there are, or `HUFFMAN_BROKEN`: the string has a code for
    its end in it, or is not filled up with less than eight ones (RFC 7541
    section 5.2).
    """
    # SAFETY: no code is shorter than five bits, so the room is enough; ten bits
    # are an index into the table of short codes.
    out.reserve(len(octets) * 8 // 5 + 1)
    var room = out.spare()
    ref short = global_constant[_SHORT]()
    var count = 0
    var position = 0
    # What is not decoded, from the highest bit on; below it there are zeros.
    var bits = UInt64(0)
    var bit_count = 0
    while True:
        while bit_count <= 56 and position < len(octets):
            bits |= UInt64(octets.unsafe_at(position)) << UInt64(56 - bit_count)
            bit_count += 8
            position += 1
        var entry = short.unsafe_at(Int(bits >> UInt64(64 - _SHORT_LEN)))
        var length = Int(entry >> 8)
        var symbol = Int(entry & 0xFF)
        if unlikely(length == 0):
            var found = _find_long(bits)
            length = found & 0xFF
            symbol = found >> 8
        if length > bit_count:
            break
        if unlikely(symbol == _END_OF_STRING):
            return HUFFMAN_BROKEN
        room.unsafe_at(count) = UInt8(symbol)
        count += 1
        bits <<= UInt64(length)
        bit_count -= length
    if bit_count >= 8:
        return HUFFMAN_BROKEN
    if bit_count > 0 and (~bits) >> UInt64(64 - bit_count) != 0:
        return HUFFMAN_BROKEN
    out.commit(count)
    return count


@no_inline
def _find_long(bits: UInt64) -> Int:
    """Finds a code of more than ten bits: the symbol, and below it the length."""
    # SAFETY: the codes of a length are counted, so the sum stays an index.
    var first = UInt64(0)
    var start = 0
    for length in range(1, _CODE_LEN_MAX + 1):
        first <<= 1
        var count = _count_of(length)
        var code = bits >> UInt64(64 - length)
        if code < first + UInt64(count):
            var index = start + Int(code - first)
            var symbol = Int(global_constant[_BY_CODE]().unsafe_at(index))
            return (symbol << 8) | length
        first += UInt64(count)
        start += count
    # Never, since the code is complete.
    return (_END_OF_STRING << 8) | _CODE_LEN_MAX


def _make_counts() -> Array[UInt8, _CODE_LEN_MAX + 1]:
    var counts = Array[UInt8, _CODE_LEN_MAX + 1](fill=0)
    for symbol in range(_SYMBOL_COUNT):
        counts[_length(symbol)] += 1
    return counts^


comptime _COUNTS = _make_counts()


@always_inline
def _count_of(length: Int) -> Int:
    # SAFETY: no length is above the last index.
    return Int(global_constant[_COUNTS]().unsafe_at(length))

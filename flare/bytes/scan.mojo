"""Classes of octets, and scans that look at many at once, with scalar twins."""

from std.bit import count_trailing_zeros
from std.memory import pack_bits
from std.sys import CompilationTarget
from std.sys.intrinsics import likely, llvm_intrinsic

comptime NibbleTable = SIMD[DType.uint8, 16]
"""Sixteen octets, indexed by a nibble."""


struct OctetClass(TrivialRegisterPassable):
    """A set of ASCII octets."""

    var low: NibbleTable
    """For each low nibble, one bit for each high nibble that completes a member."""

    def __init__(out self, members: StaticString):
        """Builds a class from its members, once each, ASCII only."""
        self.low = NibbleTable(0)
        for octet in members.as_bytes():
            var row = Int(octet & 15)
            self.low[row] = self.low[row] | (UInt8(1) << (octet >> 4))

    def contains(self, octet: UInt8) -> Bool:
        """Tells whether an octet is a member; none from 0x80 up is."""
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
"""Octets of a registered name or an IPv4 address but `%`, after which two hex
digits have to stand (RFC 3986 section 3.2.2)."""

comptime IP_FUTURE = OctetClass(
    "-._~!$&'()*+,;=:0123456789"
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)
"""Octets of an IPvFuture after its version (RFC 3986 section 3.2.2)."""

comptime QDTEXT = OctetClass(
    "\t !#$%&'()*+,-./0123456789:;<=>?@"
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_`abcdefghijklmnopqrstuvwxyz{|}~"
)
"""ASCII octets that stand for themselves in a quoted string (RFC 9110 section
5.6.4)."""

comptime BytePtr = Pointer[UInt8, MutUntrackedOrigin]
"""A position in memory that some `Buffer` owns."""

comptime SCAN_WIDTH = 32 if CompilationTarget.has_avx2() else 16
"""Octets looked at in one step."""

comptime SCAN_SLACK = 64
"""Readable bytes that must follow the stop octet, in bytes."""

comptime _Vector = SIMD[DType.uint8, SCAN_WIDTH]


def _repeat(table: NibbleTable) -> _Vector:
    var vector = _Vector(0)
    for lane in range(SCAN_WIDTH):
        vector[lane] = table[lane & 15]
    return vector


@always_inline
def _lookup(table: _Vector, nibbles: _Vector) -> _Vector:
    """Reads `table[nibble]` in each lane; a lane of 128 or more reads 0 on x86."""
    comptime if CompilationTarget.has_avx2():
        return llvm_intrinsic[
            "llvm.x86.avx2.pshuf.b", _Vector, has_side_effect=False
        ](table, nibbles)
    elif CompilationTarget.has_sse4():
        return llvm_intrinsic[
            "llvm.x86.ssse3.pshuf.b.128", _Vector, has_side_effect=False
        ](table, nibbles)
    elif CompilationTarget.has_neon():
        return llvm_intrinsic[
            "llvm.aarch64.neon.tbl1.v16i8", _Vector, has_side_effect=False
        ](table, nibbles & 15)
    else:
        var found = _Vector(0)
        comptime for lane in range(SCAN_WIDTH):
            found[lane] = table[Int(nibbles[lane] & 15)]
        return found


@always_inline
def scan_class[members: OctetClass](base: BytePtr, start: Int) -> Int:
    """Finds the offset of the first octet that is no member of a class. See the
    file's comment for what must follow."""
    # SAFETY: the caller promises a stop octet with SCAN_SLACK bytes after it.
    comptime low = _repeat(members.low)
    comptime high = _repeat(HIGH)
    var offset = start
    while True:
        var octets = base.unsafe_load[width=SCAN_WIDTH](offset)
        # An octet from 0x80 up has a high nibble of 8 to 15, which HIGH maps to 0.
        var hit = _lookup(low, octets & 15) & _lookup(high, octets >> 4)
        var stops = pack_bits(hit.eq(0))
        if likely(stops != 0):
            return offset + Int(count_trailing_zeros(stops))
        offset += SCAN_WIDTH


def scan_class_scalar[members: OctetClass](base: BytePtr, start: Int) -> Int:
    """Does the same as `scan_class`, one octet at a time."""
    # SAFETY: the caller promises a stop octet.
    var offset = start
    while members.contains(base[unsafe_offset=offset]):
        offset += 1
    return offset


@fieldwise_init
struct FieldValueStop(TrivialRegisterPassable):
    """Where a field value's scan ended, with what it saw on the way."""

    var offset: Int
    """Offset of the first control octet other than HTAB."""
    var has_high_octets: Bool
    """True if an octet from 0x80 up may stand before the stop.

    It may be a false alarm: octets of the last vector after the stop count.
    """


@always_inline
def scan_field_value(base: BytePtr, start: Int) -> FieldValueStop:
    """Finds the first octet that no field value may hold: a control but HTAB;
    for a well-formed line it is the CR.

    Source: RFC 9110 section 5.5 (`field-vchar`, SP, HTAB; obs-text is kept).
    See the file's comment for what must follow.
    """
    # SAFETY: the caller promises a stop octet with SCAN_SLACK bytes after it.
    var offset = start
    var seen = _Vector(0)
    while True:
        var octets = base.unsafe_load[width=SCAN_WIDTH](offset)
        seen |= octets
        var stops = pack_bits((octets.lt(32) & octets.ne(9)) | octets.eq(127))
        if likely(stops != 0):
            var high = pack_bits(seen.ge(128)) != 0
            return FieldValueStop(
                offset + Int(count_trailing_zeros(stops)), high
            )
        offset += SCAN_WIDTH


def scan_field_value_scalar(base: BytePtr, start: Int) -> Int:
    """Finds the first control octet other than HTAB, one octet at a time."""
    # SAFETY: the caller promises a stop octet.
    var offset = start
    while True:
        var octet = base[unsafe_offset=offset]
        if (octet < 32 and octet != 9) or octet == 127:
            return offset
        offset += 1


@always_inline
def scan_target(base: BytePtr, start: Int) -> Int:
    """Finds the first octet that no request target may hold.

    Source: RFC 9112 section 3.2: visible ASCII at the widest, and no `#`, for a
    target has no fragment and proxies disagree on what one would mean. See the
    file's comment for what must follow.
    """
    # SAFETY: the caller promises a stop octet with SCAN_SLACK bytes after it.
    var offset = start
    while True:
        var octets = base.unsafe_load[width=SCAN_WIDTH](offset)
        var stops = pack_bits((octets - 33).gt(93) | octets.eq(35))
        if likely(stops != 0):
            return offset + Int(count_trailing_zeros(stops))
        offset += SCAN_WIDTH


def scan_target_scalar(base: BytePtr, start: Int) -> Int:
    """Finds the first octet that no request target may hold, one at a time."""
    # SAFETY: the caller promises a stop octet.
    var offset = start
    while True:
        var octet = base[unsafe_offset=offset]
        if octet <= 32 or octet >= 127 or octet == 35:
            return offset
        offset += 1


@always_inline
def find_octet_within(base: BytePtr, start: Int, end: Int, octet: UInt8) -> Int:
    """Finds the first occurrence of an octet in a range, or `end`. `SCAN_SLACK`
    bytes after `end` are readable."""
    # SAFETY: the caller promises SCAN_SLACK readable bytes after `end`.
    var offset = start
    while offset < end:
        var octets = base.unsafe_load[width=SCAN_WIDTH](offset)
        var hits = pack_bits(octets.eq(octet))
        if hits != 0:
            return min(end, offset + Int(count_trailing_zeros(hits)))
        offset += SCAN_WIDTH
    return end


comptime CASE_BITS_32: UInt32 = 0x20202020
"""The bit that tells lower-case ASCII letters from upper-case, in four octets."""

comptime CASE_BITS_64: UInt64 = 0x2020202020202020
"""The bit that tells lower-case ASCII letters from upper-case, in eight octets."""


@always_inline
def word64(text: StaticString) -> UInt64:
    """Makes the word that `load64` gives for the same octets, for use at
    compile time."""
    var word = UInt64(0)
    var shift = UInt64(0)
    for octet in text.as_bytes():
        word |= UInt64(octet) << shift
        shift += 8
    return word


@always_inline
def word32(text: StaticString) -> UInt32:
    """Makes the word that `load32` gives for the same octets, for use at
    compile time."""
    return UInt32(word64(text))


@always_inline
def load64(base: BytePtr, offset: Int) -> UInt64:
    # SAFETY: the caller promises eight readable octets.
    return (
        base.unsafe_offset(offset)
        .unsafe_bitcast[UInt64]()
        .unsafe_load[alignment=1]()
    )


@always_inline
def load32(base: BytePtr, offset: Int) -> UInt32:
    # SAFETY: the caller promises four readable octets.
    return (
        base.unsafe_offset(offset)
        .unsafe_bitcast[UInt32]()
        .unsafe_load[alignment=1]()
    )


@always_inline
def load16(base: BytePtr, offset: Int) -> UInt16:
    # SAFETY: the caller promises two readable octets.
    return (
        base.unsafe_offset(offset)
        .unsafe_bitcast[UInt16]()
        .unsafe_load[alignment=1]()
    )

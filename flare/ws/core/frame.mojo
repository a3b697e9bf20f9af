"""Frames and their masking (RFC 6455 section 5)."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.ws.core.error import WsProtocolError, WsRule
from std.memory import bitcast
from std.sys import CompilationTarget
from std.sys.intrinsics import unlikely


@fieldwise_init
struct Role(Equatable, TrivialRegisterPassable):
    """A side of a connection; they differ in who masks (RFC 6455 section 5.1)."""

    var code: UInt8
    """A small number, distinct for each side."""

    comptime CLIENT = Role(0)
    """Masks what it sends, and takes nothing masked."""
    comptime SERVER = Role(1)
    """Takes only what is masked, and masks nothing."""


@fieldwise_init
struct Opcode(Equatable, TrivialRegisterPassable, Writable):
    """The purpose of a frame (RFC 6455 section 5.2)."""

    var code: UInt8
    """The four bits that are sent."""

    comptime CONTINUATION = Opcode(0)
    """A further frame of a message."""
    comptime TEXT = Opcode(1)
    """The first frame of a message of text."""
    comptime BINARY = Opcode(2)
    """The first frame of a message of octets."""
    comptime CLOSE = Opcode(8)
    """The last frame of a side."""
    comptime PING = Opcode(9)
    """Asks for a `PONG`."""
    comptime PONG = Opcode(10)
    """Answers a `PING`, or comes unasked."""

    @always_inline
    def is_control(self) -> Bool:
        """Tells whether such a frame stands for itself, unlike those of
        messages."""
        return (self.code & 8) != 0

    @always_inline
    def is_known(self) -> Bool:
        """Tells whether the opcode is defined, not reserved (RFC 6455 section
        5.2)."""
        return self.code <= 2 or (self.code >= 8 and self.code <= 10)

    def write_to(self, mut writer: Some[Writer]):
        """Writes the name."""
        match Int(self.code):
            case 0:
                writer.write("continuation")
            case 1:
                writer.write("text")
            case 2:
                writer.write("binary")
            case 8:
                writer.write("close")
            case 9:
                writer.write("ping")
            case 10:
                writer.write("pong")
            case _:
                writer.write("opcode ", self.code)


comptime FRAME_HEADER_LEN_MAX = 14
"""Longest frame header in bytes: two octets, a length of eight, a key."""

comptime CONTROL_PAYLOAD_LEN_MAX = 125
"""Longest payload of a control frame, in bytes (RFC 6455 section 5.5)."""

comptime _FIN: UInt8 = 0x80
comptime _RSV1: UInt8 = 0x40
comptime _RSV2_RSV3: UInt8 = 0x30
comptime _MASK: UInt8 = 0x80
comptime _LENGTH_16: Int = 126
comptime _LENGTH_64: Int = 127


@fieldwise_init
struct FrameExpectation(TrivialRegisterPassable):
    """What the next frame has to keep to, besides the rules for all."""

    var is_masked: Bool
    """True if the peer is a client."""
    var is_continuation: Bool
    """True within a message."""
    var may_be_compressed: Bool
    """True if permessage-deflate was agreed on."""
    var frame_len_max: Int
    """Longest payload, in bytes."""


struct FrameHeader(TrivialRegisterPassable):
    """A frame without its payload."""

    var opcode: Opcode
    var is_final: Bool
    """True for the last frame of a message, and for control frames (FIN)."""
    var is_compressed: Bool
    """True in the first frame of a compressed message (RSV1; RFC 7692)."""
    var key: MaskingKey
    var payload_len: Int
    var header_len: Int

    @always_inline
    def __init__(out self, opcode: Opcode, payload_len: Int):
        """Makes the header of a frame that is a whole message, unmasked."""
        self.opcode = opcode
        self.is_final = True
        self.is_compressed = False
        self.key = MaskingKey.none()
        self.payload_len = payload_len
        self.header_len = 0

    @always_inline
    def write_to(self, mut out: Buffer):
        """Appends the header, its length in the fewest octets."""
        # SAFETY: the longest header fits into what was reserved.
        out.reserve(FRAME_HEADER_LEN_MAX)
        var at = out.spare().unsafe_ptr()
        var first = self.opcode.code
        if self.is_final:
            first |= _FIN
        if self.is_compressed:
            first |= _RSV1
        at[unsafe_offset=0] = first
        var mask = _MASK if self.key.is_given else UInt8(0)
        var length = 2
        if self.payload_len < _LENGTH_16:
            at[unsafe_offset=1] = mask | UInt8(self.payload_len)
        elif self.payload_len < 1 << 16:
            at[unsafe_offset=1] = mask | UInt8(_LENGTH_16)
            at[unsafe_offset=2] = UInt8(self.payload_len >> 8)
            at[unsafe_offset=3] = UInt8(self.payload_len & 0xFF)
            length = 4
        else:
            at[unsafe_offset=1] = mask | UInt8(_LENGTH_64)
            for place in range(8):
                var octet = (self.payload_len >> (56 - 8 * place)) & 0xFF
                at[unsafe_offset=2 + place] = UInt8(octet)
            length = 10
        if self.key.is_given:
            for place in range(4):
                var octet = (self.key.word >> UInt32(8 * place)) & 0xFF
                at[unsafe_offset=length + place] = UInt8(octet)
            length += 4
        out.commit(length)


@always_inline
def parse_frame_header(
    octets: Span[UInt8, _], expected: FrameExpectation, mut header: FrameHeader
) raises WsProtocolError -> Bool:
    """Reads the header at the start of a frame, as far as it is there; False if
    octets are missing. What follows it may be there.

    Source: RFC 6455 section 5.2. A rule that is broken is found as soon as the
    octets that break it are here; the error's offset counts from the start of
    the frame.
    """
    if len(octets) < 1:
        return False
    var first = octets.at(0)
    header = FrameHeader(Opcode(first & 15), 0)
    header.is_final = (first & _FIN) != 0
    header.is_compressed = (first & _RSV1) != 0
    # Most frames begin a message and have no other bit than FIN.
    var is_plain = (first & ~_FIN) - Opcode.TEXT.code <= 1
    if unlikely(not is_plain or expected.is_continuation):
        var broken = _broken_rule(header, first, expected)
        if broken:
            raise WsProtocolError(broken.held(), 0)
    if len(octets) < 2:
        return False
    var second = octets.at(1)
    var is_masked = (second & _MASK) != 0
    if unlikely(is_masked != expected.is_masked):
        if is_masked:
            raise WsProtocolError(materialize[WsRule.MASKED](), 1)
        raise WsProtocolError(materialize[WsRule.NOT_MASKED](), 1)
    header.payload_len = Int(second & 127)
    var length_len = 0
    if header.payload_len >= _LENGTH_16:
        if header.opcode.is_control():
            raise WsProtocolError(materialize[WsRule.CONTROL_LEN](), 1)
        length_len = 2 if header.payload_len == _LENGTH_16 else 8
        if not _read_length(octets, length_len, header):
            return False
    header.header_len = 2 + length_len + (4 if is_masked else 0)
    if unlikely(header.payload_len > expected.frame_len_max):
        raise WsProtocolError(materialize[WsRule.FRAME_LEN](), 1)
    if unlikely(len(octets) < header.header_len):
        return False
    if is_masked:
        header.key = _read_key(octets, 2 + length_len)
    return True


@no_inline
def _broken_rule(
    header: FrameHeader, octet: UInt8, expected: FrameExpectation
) -> Optional[WsRule]:
    """Looks at the first octet, in the order of its bits."""
    var opcode = header.opcode
    if header.is_compressed:
        var may_be = expected.may_be_compressed and not opcode.is_control()
        if not may_be or opcode == Opcode.CONTINUATION:
            return materialize[WsRule.RESERVED_BITS]()
    if (octet & _RSV2_RSV3) != 0:
        return materialize[WsRule.RESERVED_BITS]()
    if not opcode.is_known():
        return materialize[WsRule.OPCODE]()
    if opcode.is_control():
        if not header.is_final:
            return materialize[WsRule.CONTROL_FRAGMENTED]()
        return None
    if opcode == Opcode.CONTINUATION:
        if not expected.is_continuation:
            return materialize[WsRule.UNEXPECTED_CONTINUATION]()
    elif expected.is_continuation:
        return materialize[WsRule.EXPECTED_CONTINUATION]()
    return None


def _read_length(
    octets: Span[UInt8, _], count: Int, mut header: FrameHeader
) raises WsProtocolError -> Bool:
    """Reads a length of two or eight octets; False if some are missing."""
    if count == 8 and len(octets) > 2 and octets.at(2) >= 0x80:
        raise WsProtocolError(materialize[WsRule.LENGTH_FORM](), 2)
    if len(octets) < 2 + count:
        return False
    var length = 0
    for index in range(2, 2 + count):
        length = length << 8 | Int(octets.at(index))
    if length < (_LENGTH_16 if count == 2 else 1 << 16):
        raise WsProtocolError(materialize[WsRule.LENGTH_FORM](), 2)
    header.payload_len = length
    return True


@always_inline
def _read_key(octets: Span[UInt8, _], offset: Int) -> MaskingKey:
    # SAFETY: the caller has seen that the four octets are there. Every target
    # is little-endian.
    return MaskingKey(
        octets.unsafe_ptr()
        .unsafe_offset(offset)
        .unsafe_bitcast[UInt32]()
        .unsafe_load[alignment=1]()
    )


def write_frame(mut out: Buffer, header: FrameHeader, payload: Span[UInt8, _]):
    """Appends a frame, with an unmasked payload of the header's length that is
    not a part of `out`.

    Source: RFC 6455 sections 5.2 and 5.3.
    """
    out.reserve(FRAME_HEADER_LEN_MAX + len(payload))
    header.write_to(out)
    if not header.key.is_given:
        out.append(payload)
        return
    copy_masked(payload, out.spare().before(len(payload)), header.key)
    out.commit(len(payload))


comptime _WIDTH = 32 if CompilationTarget.has_avx2() else 16


struct MaskingKey(TrivialRegisterPassable):
    """The key of one frame, or none."""

    var word: UInt32
    """The four octets in memory order."""
    var is_given: Bool
    """False for the frames of a server."""

    @always_inline
    def __init__(out self, word: UInt32):
        """Makes a key of four octets that nobody can foretell (RFC 6455 section
        10.3)."""
        self.word = word
        self.is_given = True

    @always_inline
    @staticmethod
    def none() -> Self:
        """Makes what a server has in place of a key."""
        var key = Self(0)
        key.is_given = False
        return key

    @always_inline
    def rotated(self, count: Int) -> Self:
        """Gives the key for the octets after some that were masked."""
        var bits = UInt32(8 * (count & 3))
        if bits == 0:
            return self
        var turned = self
        turned.word = self.word >> bits | self.word << (32 - bits)
        return turned


@always_inline
def apply_mask(octets: MutSpan[UInt8, _], key: MaskingKey):
    """Masks or unmasks octets where they are; the first one meets the first
    octet of the key (see `MaskingKey.rotated` for a later part of a payload).
    """
    # SAFETY: both ends are the span itself, which lives as long as the call.
    var start = octets.unsafe_ptr()
    _mask(
        start.unsafe_mut_cast[False]().unsafe_origin_cast[ImmUntrackedOrigin](),
        start,
        len(octets),
        key.word,
    )


@always_inline
def copy_masked(
    source: Span[UInt8, _], dest: MutSpan[UInt8, _], key: MaskingKey
):
    """Masks or unmasks octets on their way to another place, as long, and apart
    from the source."""
    # SAFETY: no more than either span holds.
    var count = min(len(source), len(dest))
    _mask(source.unsafe_ptr(), dest.unsafe_ptr(), count, key.word)


def _mask(
    source: Pointer[UInt8, _],
    dest: MutPointer[UInt8, _],
    count: Int,
    word: UInt32,
):
    # SAFETY: the callers promise `count` octets at both ends; every load and
    # store ends at `count` or before.
    comptime step = 4 * _WIDTH
    var wide = bitcast[DType.uint8, _WIDTH](
        SIMD[DType.uint32, _WIDTH // 4](word)
    )
    var index = 0
    while index + step <= count:
        comptime for part in range(4):
            var at = index + part * _WIDTH
            dest.unsafe_store(at, source.unsafe_load[width=_WIDTH](at) ^ wide)
        index += step
    while index + _WIDTH <= count:
        dest.unsafe_store(index, source.unsafe_load[width=_WIDTH](index) ^ wide)
        index += _WIDTH
    # A loop over octets here would cost more than all of a small frame.
    comptime for width in [16, 8, 4]:
        comptime if width < _WIDTH:
            if index + width <= count:
                var narrow = wide.slice[width]()
                dest.unsafe_store(
                    index, source.unsafe_load[width=width](index) ^ narrow
                )
                index += width
    while index < count:
        var shift = UInt32(8 * (index & 3))
        dest[unsafe_offset=index] = source[unsafe_offset=index] ^ UInt8(
            (word >> shift) & 0xFF
        )
        index += 1


def apply_mask_scalar(octets: MutSpan[UInt8, _], key: MaskingKey):
    """Masks or unmasks octets, one at a time."""
    for index in range(len(octets)):
        var shift = UInt32(8 * (index & 3))
        octets.at(index) ^= UInt8((key.word >> shift) & 0xFF)

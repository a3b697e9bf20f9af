"""Frames: the header that all have, what types there are, and those that are
short enough to be read at once (RFC 9113 sections 4 and 6).
"""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.http.h2.error import ErrorCode, Http2Error, Http2Rule
from std.bit import byte_swap
from std.sys.intrinsics import unlikely

comptime FRAME_HEADER_LEN = 9
"""Length of a frame header in bytes (RFC 9113 section 4.1)."""

comptime CLIENT_PREFACE = StaticString("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
"""What a client sends first (RFC 9113 section 3.4)."""

comptime STREAM_ID_MAX = 0x7FFF_FFFF
"""The highest stream number (RFC 9113 section 5.1.1)."""


struct FrameType:
    """Types of frames (RFC 9113 section 6, RFC 9218 section 7.1)."""

    comptime DATA = UInt8(0)
    """Content."""
    comptime HEADERS = UInt8(1)
    """The start of a field block."""
    comptime PRIORITY = UInt8(2)
    """A priority of RFC 7540, which is checked and not used."""
    comptime RST_STREAM = UInt8(3)
    """The end of a stream before its time."""
    comptime SETTINGS = UInt8(4)
    """What the sender can take."""
    comptime PUSH_PROMISE = UInt8(5)
    """A response that nobody asked for; refused."""
    comptime PING = UInt8(6)
    """A question whether the peer is there."""
    comptime GOAWAY = UInt8(7)
    """The end of a connection, and the last stream that counts."""
    comptime WINDOW_UPDATE = UInt8(8)
    """How much more may be sent."""
    comptime CONTINUATION = UInt8(9)
    """More of a field block."""
    comptime PRIORITY_UPDATE = UInt8(16)
    """A priority of RFC 9218 for a stream."""


struct Flags:
    """Flags of frames (RFC 9113 section 6)."""

    comptime END_STREAM = UInt8(1)
    """The sender's last frame of the stream."""
    comptime ACK = UInt8(1)
    """An answer to SETTINGS or PING."""
    comptime END_HEADERS = UInt8(4)
    """The last frame of a field block."""
    comptime PADDED = UInt8(8)
    """There is padding."""
    comptime PRIORITY = UInt8(32)
    """A priority of RFC 7540 stands before the field block."""


@fieldwise_init
struct FrameHeader(TrivialRegisterPassable):
    """What stands before each payload (RFC 9113 section 4.1)."""

    var payload_len: Int
    var type: UInt8
    """The type; unknown ones are dropped (section 4.1)."""
    var flags: UInt8
    """What the type makes of them."""
    var stream_id: Int
    """The stream; 0 is the connection."""

    @always_inline
    def has(self, flag: UInt8) -> Bool:
        """Tells whether one of `Flags` is set."""
        return self.flags & flag != 0


@always_inline
def read_u32(octets: Span[UInt8, _], offset: Int) -> Int:
    """Reads four octets, big end first."""
    # SAFETY: four octets were taken.
    var four = octets.between(offset, offset + 4)
    return (
        (Int(four.unsafe_at(0)) << 24)
        | (Int(four.unsafe_at(1)) << 16)
        | (Int(four.unsafe_at(2)) << 8)
        | Int(four.unsafe_at(3))
    )


@always_inline
def read_u31(octets: Span[UInt8, _], offset: Int) -> Int:
    """Reads four octets without the highest bit, which is reserved."""
    return read_u32(octets, offset) & STREAM_ID_MAX


@always_inline
def parse_frame_header(octets: Span[UInt8, _]) -> FrameHeader:
    """Reads a frame header, of `FRAME_HEADER_LEN` octets that are there."""
    if unlikely(len(octets) < FRAME_HEADER_LEN):
        # The program ends here.
        _ = octets.at(FRAME_HEADER_LEN - 1)
    # SAFETY: the length was checked.
    var word = byte_swap(
        octets.unsafe_ptr().unsafe_bitcast[UInt64]().unsafe_load[alignment=1]()
    )
    var id = Int(word & 0x7F_FFFF) << 8 | Int(octets.unsafe_at(8))
    return FrameHeader(
        Int(word >> 40),
        UInt8((word >> 32) & 0xFF),
        UInt8((word >> 24) & 0xFF),
        id,
    )


@always_inline
def write_frame_header(mut out: Buffer, header: FrameHeader):
    # SAFETY: `reserve` made room for nine octets.
    out.reserve(FRAME_HEADER_LEN)
    var room = out.spare().unsafe_ptr()
    var word = (
        (UInt64(header.payload_len) << 40)
        | (UInt64(header.type) << 32)
        | (UInt64(header.flags) << 24)
        | (UInt64(header.stream_id) >> 8)
    )
    room.unsafe_bitcast[UInt64]().unsafe_store[alignment=1](byte_swap(word))
    room[unsafe_offset=8] = UInt8(header.stream_id & 0xFF)
    out.commit(FRAME_HEADER_LEN)


def append_u32(mut out: Buffer, number: Int):
    """Appends a number less than 2^32 in four octets, big end first."""
    for shift in range(24, -1, -8):
        out.append_octet(UInt8((number >> shift) & 0xFF))


def write_rst_stream(mut out: Buffer, stream_id: Int, code: ErrorCode):
    """Writes RST_STREAM (RFC 9113 section 6.4)."""
    write_frame_header(out, FrameHeader(4, FrameType.RST_STREAM, 0, stream_id))
    append_u32(out, Int(code.number))


def write_window_update(mut out: Buffer, stream_id: Int, increment: Int):
    """Writes WINDOW_UPDATE (RFC 9113 section 6.9); the increment is at least 1,
    the stream 0 for the connection."""
    write_frame_header(
        out, FrameHeader(4, FrameType.WINDOW_UPDATE, 0, stream_id)
    )
    append_u32(out, increment)


def write_ping(mut out: Buffer, flags: UInt8, payload: Span[UInt8, _]):
    """Writes PING (RFC 9113 section 6.7), with `Flags.ACK` or 0."""
    write_frame_header(out, FrameHeader(8, FrameType.PING, flags, 0))
    out.append(payload.before(8))


def write_goaway(
    mut out: Buffer, last_stream_id: Int, code: ErrorCode, text: StringSpan
):
    """Writes GOAWAY (RFC 9113 section 6.8), with the last stream of the peer
    that was looked at, and a text for people."""
    write_frame_header(
        out, FrameHeader(8 + text.byte_length(), FrameType.GOAWAY, 0, 0)
    )
    append_u32(out, last_stream_id)
    append_u32(out, Int(code.number))
    out.append(text.as_bytes())


@fieldwise_init
struct PayloadPart(TrivialRegisterPassable):
    """Where something stands within a payload."""

    var offset: Int
    var length: Int


@always_inline
def unpadded(
    header: FrameHeader, payload: Span[UInt8, _]
) raises Http2Error -> PayloadPart:
    """Finds what padding stands around (RFC 9113 section 6.1). Raises if the
    padding is as long as the payload, or longer."""
    if not header.has(Flags.PADDED):
        return PayloadPart(0, len(payload))
    if len(payload) == 0:
        raise Http2Error(Http2Rule.PAYLOAD_LEN, 0)
    var padding_len = Int(payload.at(0))
    if padding_len >= len(payload):
        raise Http2Error(Http2Rule.PADDING, 0)
    return PayloadPart(1, len(payload) - 1 - padding_len)


comptime PRIORITY_FIELDS_LEN = 5
"""Length of a priority of RFC 7540 in bytes."""


def check_dependency(
    payload: Span[UInt8, _], offset: Int, stream_id: Int
) raises Http2Error:
    """Checks a priority of RFC 7540, which is not used (RFC 9113 section
    5.3.2). Raises if the stream depends on itself."""
    if read_u31(payload, offset) == stream_id:
        raise Http2Error(Http2Rule.SELF_DEPENDENCY, stream_id)

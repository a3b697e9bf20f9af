"""Messages as octets of a stream: prefixes, and gzip where it pays."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.compress.encoder import Encoder
from flare.compress.error import Format
from flare.grpc.core.coding import MessageCoding
from flare.grpc.core.message_reader import PREFIX_LEN
from flare.grpc.core.status import GrpcCode, GrpcStatus
from std.bit import byte_swap
from std.sys.intrinsics import unlikely

comptime COMPRESSED_LEN_MIN = 256
"""Shortest message that is compressed, in bytes: a stream of gzip has 18 octets
around its content."""

comptime WRITTEN_LEN_MAX = 0xFFFF_FFFF
"""Longest message that a prefix can say, in bytes."""


def begin_message(mut out: Buffer) -> Int:
    """Leaves room for a prefix, behind which a message is then written, and
    gives where it begins, for `end_message`; the buffer may not be consumed
    between.

        var start = begin_message(out)
        encode_into(message, out)
        end_message(out, start, MessageCoding.IDENTITY)
    """
    var start = len(out)
    out.append_literal["\0\0\0\0\0"]()
    return start


def end_message(
    mut out: Buffer,
    start: Int,
    coding: MessageCoding,
    length_max: Int = WRITTEN_LEN_MAX,
    *,
    always: Bool = False,
) raises GrpcStatus:
    """Writes the prefix of a message, and compresses it where that makes it
    shorter.

    Args:
        out: What `begin_message` had, with nothing after the message.
        start: What `begin_message` gave.
        coding: What `grpc-encoding` has said.
        length_max: Longest message that is sent, in bytes before it is
            compressed.
        always: True to compress it even if that makes it longer.

    Raises:
        GrpcStatus: `RESOURCE_EXHAUSTED` if it is too long; it is taken out of
            the buffer then.
    """
    var length = len(out) - start - PREFIX_LEN
    if unlikely(length > length_max):
        out.truncate(start)
        raise _too_long(length, length_max)
    if coding == MessageCoding.GZIP and (
        always or length >= COMPRESSED_LEN_MIN
    ):
        if _compress(out, start, always):
            set_prefix(out, start, 1)
            return
    set_prefix(out, start, 0)


@no_inline
def _too_long(length: Int, length_max: Int) -> GrpcStatus:
    return GrpcStatus(
        GrpcCode.RESOURCE_EXHAUSTED,
        String(
            "message of ",
            length,
            " bytes; the longest that is sent has ",
            length_max,
        ),
    )


def _compress(mut out: Buffer, start: Int, always: Bool) -> Bool:
    """Puts the compressed message in place of the plain one, if it is shorter or
    has to be."""
    var packed = Buffer()
    try:
        var encoder = Encoder(Format.GZIP)
        encoder.receive(out.span().after(start + PREFIX_LEN), packed)
        encoder.finish(packed)
    except:
        # Without the library, or memory for it, the plain one is as good.
        return False
    if not always and len(packed) >= len(out) - start - PREFIX_LEN:
        return False
    out.truncate(start + PREFIX_LEN)
    out.append(packed.span())
    return True


def set_prefix(mut out: Buffer, start: Int, flag: UInt8):
    """Writes the prefix of what `begin_message` has left room for."""
    # SAFETY: `begin_message` has left the octets there.
    var length = len(out) - start - PREFIX_LEN
    var prefix = out.unsafe_base().unsafe_offset(start)
    prefix[unsafe_offset=0] = flag
    prefix.unsafe_offset(1).unsafe_bitcast[UInt32]().unsafe_store[alignment=1](
        byte_swap(UInt32(length & 0xFFFF_FFFF))
    )


def append_message(
    octets: Span[UInt8, _],
    mut out: Buffer,
    coding: MessageCoding = MessageCoding.IDENTITY,
    length_max: Int = WRITTEN_LEN_MAX,
    *,
    always: Bool = False,
) raises GrpcStatus:
    """Writes a message that is there as octets.

    Args:
        octets: The message; it must not lie in the buffer.
        out: Gets prefix and message.
        coding: What `grpc-encoding` has said.
        length_max: Longest message that is sent, in bytes.
        always: As for `end_message`.

    Raises:
        GrpcStatus: As `end_message`.
    """
    var start = begin_message(out)
    out.append(octets)
    end_message(out, start, coding, length_max, always=always)

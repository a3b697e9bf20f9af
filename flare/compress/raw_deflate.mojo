"""Deflate streams that never end, cut into messages (RFC 7692 section 7.2).

After each message the compressor brings all out (a sync flush), so that the
other side can decompress it; what was said before may be referred to later,
unless the stream is restarted between messages.
"""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.compress.error import CompressError, CompressErrorKind, Format
from flare.sys.codecs.zlib import (
    CodecStatus,
    DeflateStream,
    InflateStream,
    NO_FLUSH,
    SYNC_FLUSH,
)

comptime WINDOW_BITS_MIN = 9
"""Smallest window that zlib compresses with, as a power of two."""

comptime _PIECE_LEN = 16 * 1024


struct RawDeflater(Movable):
    """The side that compresses; its memory is 4 << `window_bits` bytes and
    512 << `memory_level`."""

    var _stream: DeflateStream

    def __init__(
        out self, window_bits: Int, level: Int, memory_level: Int = 8
    ) raises CompressError:
        """Starts a stream, loading zlib. It may refer back 2 to the power of
        `window_bits` (9 to 15) bytes; level 1 is the quickest, 9 the smallest;
        memory level 1 takes the least memory and compresses worst, 9 the most.
        Raises `UNAVAILABLE` if the library is missing or refuses."""
        try:
            self._stream = DeflateStream(
                -window_bits, level, memory_level=memory_level
            )
        except error:
            raise _error(CompressErrorKind.UNAVAILABLE, 0, String(error))

    def restart(mut self):
        """Forgets all that was compressed."""
        self._stream.restart()

    def add(
        mut self, octets: Span[UInt8, _], mut output: Buffer
    ) raises CompressError:
        """Compresses octets; much of them may stay inside."""
        self._run(octets, output, NO_FLUSH)

    def flush(mut self, mut output: Buffer) raises CompressError:
        """Brings out all that is inside. Unless nothing was added since the
        last flush, `output` then ends with the octets 0, 0, 255 and 255."""
        self._run(Span[UInt8, ImmStaticOrigin](), output, SYNC_FLUSH)

    def _run(
        mut self, octets: Span[UInt8, _], mut output: Buffer, flush: Int32
    ) raises CompressError:
        var taken = 0
        while True:
            output.reserve(_PIECE_LEN)
            var room = output.spare()
            var step = self._stream.step(octets.after(taken), room, flush)
            output.commit(step.produced)
            taken += step.consumed
            if step.status != CodecStatus.GOES_ON:
                raise _error(CompressErrorKind.NO_MEMORY, taken, String())
            if step.produced < len(room) and taken == len(octets):
                return


struct RawInflater(Movable):
    """The side that decompresses, in 40 KiB of memory at most."""

    var _stream: InflateStream
    var _window_bits: Int

    def __init__(out self, window_bits: Int) raises CompressError:
        """Starts a stream, loading zlib, for windows of 2 to the power of 8 to
        15 bytes. Raises `UNAVAILABLE` if the library is missing or refuses."""
        self._window_bits = window_bits
        try:
            self._stream = InflateStream(-window_bits)
        except error:
            raise _error(CompressErrorKind.UNAVAILABLE, 0, String(error))

    def restart(mut self):
        """Forgets all that was decompressed."""
        self._stream.restart(-self._window_bits)

    def receive(
        mut self,
        octets: Span[UInt8, _],
        mut output: Buffer,
        output_len_max: Int,
    ) raises CompressError:
        """Decompresses octets, until `output` is `output_len_max` long; it has
        what came out before an error too.

        A sender may end its deflate stream within a message and begin another
        (RFC 7692 section 7.2.3.4); the window lives on. Raises `CORRUPT`,
        `NO_MEMORY`, or `OUTPUT_LIMIT` once there is more than fits.
        """
        var taken = 0
        while True:
            var allowed = output_len_max - len(output)
            if allowed <= 0:
                taken += self._look_beyond(octets.after(taken))
                if taken == len(octets):
                    return
                continue
            output.reserve(min(_PIECE_LEN, allowed))
            var room = output.spare()
            if len(room) > allowed:
                room = room.before(allowed)
            var step = self._stream.step(octets.after(taken), room)
            output.commit(step.produced)
            taken += step.consumed
            self._go_on(step.status, taken)
            if step.produced < len(room) and taken == len(octets):
                return

    def is_between_blocks(self) -> Bool:
        """Tells whether the octets so far make whole blocks of deflate; within
        one, octets are missing."""
        return self._stream.is_between_blocks()

    def _look_beyond(
        mut self, octets: Span[UInt8, _]
    ) raises CompressError -> Int:
        """Takes octets that must not bring anything out."""
        var spare = Array[UInt8, 1](fill=0)
        var step = self._stream.step(octets, Span(spare))
        if step.produced > 0:
            raise _error(CompressErrorKind.OUTPUT_LIMIT, 0, String())
        self._go_on(step.status, step.consumed)
        return step.consumed

    def _go_on(mut self, status: CodecStatus, offset: Int) raises CompressError:
        if status == CodecStatus.ENDED:
            if not self._stream.begin_next(-self._window_bits):
                raise _error(CompressErrorKind.NO_MEMORY, offset, String())
        elif status == CodecStatus.NO_MEMORY:
            raise _error(CompressErrorKind.NO_MEMORY, offset, String())
        elif status != CodecStatus.GOES_ON:
            raise _error(CompressErrorKind.CORRUPT, offset, String())


def _error(
    kind: CompressErrorKind, offset: Int, var reason: String
) -> CompressError:
    return CompressError(kind, Format.RAW_DEFLATE, offset, -1, reason^)

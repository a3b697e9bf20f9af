"""Decompression, piece by piece."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.copy import list_of
from flare.compress.error import CompressError, CompressErrorKind, Format
from flare.sys.codecs.brotli import BrotliDecoder
from flare.sys.codecs.zlib import (
    CodecStatus,
    CodecStep,
    GZIP_WRAPPED,
    InflateStream,
    RAW_DEFLATE,
)
from flare.sys.codecs.zstd import ZstdDecoder

comptime OUTPUT_LEN_MAX = 64 * 1024 * 1024
"""Most decompressed octets, unless the caller says otherwise, in bytes.

Deflate packs up to 1,032 octets into one, brotli millions: a limit on what is
received does not bound what comes out.
"""

comptime PIECE_LEN = 16 * 1024
"""How much room a library is given at a time, in bytes."""

comptime _GZIP_FIRST: UInt8 = 0x1F

comptime _START: UInt8 = 0
comptime _HELD: UInt8 = 1
comptime _RUNNING: UInt8 = 2
comptime _ENDED: UInt8 = 3
comptime _FAILED: UInt8 = 4


struct Decoder(Movable):
    """A stream that is being decompressed.

    Give it the octets as they come with `receive`, and call `finish` after the
    last. After an error it is of no more use. What comes out is the same
    however the octets are cut.

    Never more than `output_len_max` octets come out. Memory: 40 KiB for the
    formats of zlib; brotli takes up to 16 MiB, and zstd a little over 8 MiB
    (RFC 9659), if the sender wants it, and no sender can ask for more. Of what
    zstd takes the process keeps four of up to 2 MiB for those who come next.
    """

    var format: Format
    """What the stream is written in."""
    var output_len_max: Int
    """Most octets that may come out, in bytes."""
    var _inflate: Optional[InflateStream]
    var _brotli: Optional[BrotliDecoder]
    var _zstd: Optional[ZstdDecoder]
    var _phase: UInt8
    # The first octet of a deflate stream, until the second tells its wrapping.
    var _held: UInt8
    var _has_pending: Bool
    var _input_len: Int
    var _output_len: Int

    def __init__(
        out self, format: Format, output_len_max: Int = OUTPUT_LEN_MAX
    ) raises CompressError:
        """Starts a stream, loading the format's library.

        Raises:
            CompressError: If the library is missing.
        """
        self.format = format
        self.output_len_max = output_len_max
        self._inflate = None
        self._brotli = None
        self._zstd = None
        self._phase = _START
        self._held = 0
        self._has_pending = False
        self._input_len = 0
        self._output_len = 0
        try:
            if format == Format.BROTLI:
                self._brotli = BrotliDecoder()
            elif format == Format.ZSTD:
                self._zstd = ZstdDecoder()
            else:
                self._inflate = InflateStream(format.window_bits())
        except error:
            raise CompressError(
                CompressErrorKind.UNAVAILABLE, format, 0, -1, String(error)
            )

    @no_inline
    def __deinit__(deinit self):
        return

    def receive(
        mut self, octets: Span[UInt8, _], mut output: Buffer
    ) raises CompressError:
        """Decompresses the next octets.

        Args:
            octets: Any piece of the stream.
            output: Gets what comes out; what came out before an error too.

        Raises:
            CompressError: `CORRUPT`, `TRAILING`, `OUTPUT_LIMIT`, `NO_MEMORY`,
                or `MISUSED` after an error.
        """
        _ = self.receive_some(octets, output, Int.MAX)

    def receive_some(
        mut self, octets: Span[UInt8, _], mut output: Buffer, count_max: Int
    ) raises CompressError -> Int:
        """Decompresses until so many octets came out, and gives how many were
        taken.

        For those who must bound their memory: a few octets may hold megabytes.
        Call again with the octets that were not taken until all are, and
        `has_pending` is false.

        Args:
            octets: Any piece of the stream; may be empty.
            output: Gets what comes out; what came out before an error too.
            count_max: Most octets to append; at least 1.

        Raises:
            CompressError: As `receive`.
        """
        if self._phase == _FAILED:
            raise self._error(
                CompressErrorKind.MISUSED, "it has failed before; start anew"
            )
        var taken = 0
        var left = count_max
        while left > 0 and (taken < len(octets) or self._has_pending):
            if self._phase != _RUNNING:
                taken += self._begin(octets.after(taken))
                continue
            var step = self._step(
                octets.after(taken), output, min(left, PIECE_LEN)
            )
            taken += step.consumed
            left -= step.produced
        return taken

    def has_pending(self) -> Bool:
        """Tells whether more may come out without more octets: `receive_some`
        stopped at its bound; call it again."""
        return self._has_pending

    def is_started(self) -> Bool:
        """Tells whether any octet was received.

        A message that names a content coding and has no content at all is
        common enough: there is no stream to `finish` then.
        """
        return self._input_len > 0

    def finish(mut self) raises CompressError:
        """Says that there are no more octets.

        Raises:
            CompressError: `TRUNCATED` if the stream does not end here;
                `MISUSED` after an error, or while `has_pending`.
        """
        if self._phase == _FAILED or self._has_pending:
            raise self._error(
                CompressErrorKind.MISUSED,
                "it has failed before, or not all was taken from it",
            )
        if self._phase != _ENDED:
            raise self._error(CompressErrorKind.TRUNCATED, "")

    def _begin(mut self, octets: Span[UInt8, _]) raises CompressError -> Int:
        """Goes on to the next stream; the octets are at least one."""
        if self.format == Format.ZSTD and not _may_start_zstd(octets.at(0)):
            # Libraries may also read what was written before there was an RFC.
            if self._phase == _ENDED:
                raise self._error(CompressErrorKind.TRAILING, "")
            raise self._error(CompressErrorKind.CORRUPT, "it is no zstd")
        if self._phase == _ENDED and self.format != Format.ZSTD:
            if self.format != Format.GZIP or octets.at(0) != _GZIP_FIRST:
                raise self._error(CompressErrorKind.TRAILING, "")
            # RFC 1952 section 2.2: members follow each other without a mark.
            self._inflate.held().restart(GZIP_WRAPPED)
        elif self.format == Format.DEFLATE and self._phase == _START:
            if len(octets) == 1 and _may_start_zlib(octets.at(0)):
                self._phase = _HELD
                self._held = octets.at(0)
                self._input_len += 1
                return 1
            if len(octets) == 1 or not _starts_zlib(octets.at(0), octets.at(1)):
                self._inflate.held().restart(RAW_DEFLATE)
        elif self._phase == _HELD:
            if not _starts_zlib(self._held, octets.at(0)):
                self._inflate.held().restart(RAW_DEFLATE)
            # No single octet completes a symbol, so nothing comes out of it.
            var held = Array[UInt8, 1](fill=self._held)
            var room = Array[UInt8, 1](fill=0)
            _ = self._inflate.held().step(Span(held), Span(room))
        self._phase = _RUNNING
        return 0

    def _step(
        mut self, octets: Span[UInt8, _], mut output: Buffer, room_len: Int
    ) raises CompressError -> CodecStep:
        var allowed = self.output_len_max - self._output_len
        if allowed <= 0:
            # Only room tells whether there is more, so one octet is offered.
            var spare = Array[UInt8, 1](fill=0)
            var step = self._call(octets, Span(spare))
            if step.produced > 0:
                raise self._error(CompressErrorKind.OUTPUT_LIMIT, "")
            self._note(step, len(octets), 1)
            return step
        var count = min(room_len, allowed)
        output.reserve(count)
        var step = self._call(octets, output.spare().before(count))
        output.commit(step.produced)
        self._note(step, len(octets), count)
        return step

    def _call(
        mut self, octets: Span[UInt8, _], room: MutSpan[UInt8, _]
    ) -> CodecStep:
        if self.format == Format.BROTLI:
            return self._brotli.held().step(octets, room)
        if self.format == Format.ZSTD:
            return self._zstd.held().step(octets, room)
        return self._inflate.held().step(octets, room)

    def _note(
        mut self, step: CodecStep, offered: Int, room_len: Int
    ) raises CompressError:
        self._input_len += step.consumed
        self._output_len += step.produced
        self._has_pending = False
        if step.status == CodecStatus.ENDED:
            self._phase = _ENDED
        elif step.status == CodecStatus.NEEDS_DICTIONARY:
            raise self._error(
                CompressErrorKind.CORRUPT, "it needs a preset dictionary"
            )
        elif step.status == CodecStatus.WINDOW_TOO_LARGE:
            raise self._error(
                CompressErrorKind.CORRUPT,
                "its window is larger than 8 MiB (RFC 9659)",
            )
        elif step.status == CodecStatus.NO_MEMORY:
            raise self._error(CompressErrorKind.NO_MEMORY, "")
        elif step.status == CodecStatus.CORRUPT:
            raise self._error(CompressErrorKind.CORRUPT, "")
        elif step.produced == room_len:
            self._has_pending = True
        elif offered > 0 and step.consumed == 0 and step.produced == 0:
            # The bound of the loop around: no library does this.
            raise self._error(CompressErrorKind.CORRUPT, "it does not go on")

    @no_inline
    def _error(
        mut self, kind: CompressErrorKind, reason: StaticString
    ) -> CompressError:
        self._phase = _FAILED
        self._has_pending = False
        return CompressError(
            kind,
            self.format,
            self._input_len,
            self.output_len_max,
            String(reason),
        )


def decompress(
    octets: Span[UInt8, _],
    format: Format,
    output_len_max: Int = OUTPUT_LEN_MAX,
) raises CompressError -> List[UInt8]:
    """Decompresses a whole stream.

    Args:
        octets: The stream, with nothing after it.
        format: What it is written in.
        output_len_max: Most octets that may come out, in bytes.

    Returns:
        The decompressed octets.

    Raises:
        CompressError: As `Decoder`.
    """
    var decoder = Decoder(format, output_len_max)
    var output = Buffer()
    decoder.receive(octets, output)
    decoder.finish()
    return list_of(output.span())


def _may_start_zlib(first: UInt8) -> Bool:
    # RFC 1950 section 2.2: method 8, and a window of at most 32 KiB.
    return first & 15 == 8 and first >> 4 <= 7


def _may_start_zstd(first: UInt8) -> Bool:
    # RFC 8878 sections 3.1.1 and 3.1.2: magic numbers, the low octet first.
    return first == 0x28 or first & 0xF0 == 0x50


def _starts_zlib(first: UInt8, second: UInt8) -> Bool:
    # RFC 1950 section 2.2. A raw stream that looks the same would begin with a
    # stored block and noise in its padding, which nobody writes.
    var number = Int(first) << 8 | Int(second)
    return _may_start_zlib(first) and number % 31 == 0

"""Compression, piece by piece."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.bytes.copy import list_of
from flare.compress.decoder import PIECE_LEN
from flare.compress.error import CompressError, CompressErrorKind, Format
from flare.sys.codecs.brotli import (
    BrotliEncoder,
    FINISH as BROTLI_FINISH,
    FLUSH as BROTLI_FLUSH,
    PROCESS as BROTLI_PROCESS,
)
from flare.sys.codecs.zlib import (
    CodecStatus,
    CodecStep,
    DeflateStream,
    FINISH,
    NO_FLUSH,
    SYNC_FLUSH,
)
from flare.sys.codecs.zstd import (
    CONTINUE as ZSTD_CONTINUE,
    END as ZSTD_END,
    FLUSH as ZSTD_FLUSH,
    ZstdEncoder,
)

comptime LEVEL_DEFAULT = -1
"""The format's usual balance of time and length."""

comptime ZLIB_LEVEL_MAX = 9
"""The level of smallest output for the formats of zlib."""
comptime BROTLI_LEVEL_MAX = 11
"""The level of smallest output for brotli."""
comptime ZSTD_LEVEL_MAX = 19
"""The level of smallest output for zstd with windows of 8 MiB (RFC 9659)."""

# zlib's own default.
comptime _ZLIB_LEVEL_USUAL = 6
# About as quick as level 6 of zlib, and smaller; brotli's own 11 takes seconds.
comptime _BROTLI_LEVEL_USUAL = 5
# zstd's own default.
comptime _ZSTD_LEVEL_USUAL = 3


@fieldwise_init
struct _Flush(Equatable, TrivialRegisterPassable):
    """How much has to come out."""

    var zlib: Int32
    var brotli: Int32
    var zstd: Int32

    comptime NONE = _Flush(NO_FLUSH, BROTLI_PROCESS, ZSTD_CONTINUE)
    comptime ALL = _Flush(SYNC_FLUSH, BROTLI_FLUSH, ZSTD_FLUSH)
    comptime END = _Flush(FINISH, BROTLI_FINISH, ZSTD_END)


struct Encoder(Movable):
    """A stream that is being compressed.

    Give it octets with `receive`, and call `finish` after the last. Memory:
    270 KiB for the formats of zlib, a few MiB for brotli and zstd; zstd takes
    more from level 7 on, and 90 MiB at 19. Of what zlib takes the process keeps
    four at most for those who come next, and of zstd's what is up to 2 MiB.
    """

    var format: Format
    """What the stream is written in."""
    var _deflate: Optional[DeflateStream]
    var _brotli: Optional[BrotliEncoder]
    var _zstd: Optional[ZstdEncoder]
    var _input_len: Int
    var _is_open: Bool

    def __init__(
        out self, format: Format, level: Int = LEVEL_DEFAULT
    ) raises CompressError:
        """Starts a stream, loading the format's library.

        Args:
            format: What to write.
            level: 0 (quickest) to 9, to 11 for brotli, 1 to 19 for zstd
                (smallest), or `LEVEL_DEFAULT`.

        Raises:
            CompressError: `UNAVAILABLE` if the library is missing; `MISUSED` if
                there is no such level.
        """
        self.format = format
        self._deflate = None
        self._brotli = None
        self._zstd = None
        self._input_len = 0
        self._is_open = True
        var chosen = _checked_level(format, level)
        try:
            if format == Format.BROTLI:
                self._brotli = BrotliEncoder(chosen)
            elif format == Format.ZSTD:
                self._zstd = ZstdEncoder(chosen)
            else:
                self._deflate = DeflateStream(format.window_bits(), chosen)
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
        """Compresses the next octets; much of them may stay inside.

        Args:
            octets: What to compress.
            output: Gets what comes out.

        Raises:
            CompressError: `NO_MEMORY`, or `MISUSED` after `finish`.
        """
        self._run(octets, output, _Flush.NONE)

    def flush(mut self, mut output: Buffer) raises CompressError:
        """Brings out all that was received, for a peer who waits for it; each
        flush costs a few octets. The rest is as for `receive`."""
        self._run(Span[UInt8, ImmStaticOrigin](), output, _Flush.ALL)

    def finish(mut self, mut output: Buffer) raises CompressError:
        """Ends the stream; the rest is as for `receive`."""
        self._run(Span[UInt8, ImmStaticOrigin](), output, _Flush.END)
        self._is_open = False

    def _run(
        mut self, octets: Span[UInt8, _], mut output: Buffer, flush: _Flush
    ) raises CompressError:
        if not self._is_open:
            raise self._error(
                CompressErrorKind.MISUSED, "its stream has ended; start anew"
            )
        var taken = 0
        while True:
            output.reserve(PIECE_LEN)
            var room = output.spare().before(PIECE_LEN)
            var step = self._call(octets.after(taken), room, flush)
            output.commit(step.produced)
            taken += step.consumed
            self._input_len += step.consumed
            if step.status == CodecStatus.ENDED:
                return
            if step.status != CodecStatus.GOES_ON:
                raise self._error(CompressErrorKind.NO_MEMORY, "")
            if step.produced < PIECE_LEN and taken == len(octets):
                return

    def _call(
        mut self,
        octets: Span[UInt8, _],
        room: MutSpan[UInt8, _],
        flush: _Flush,
    ) -> CodecStep:
        if self.format == Format.BROTLI:
            return self._brotli.held().step(octets, room, flush.brotli)
        if self.format == Format.ZSTD:
            return self._zstd.held().step(octets, room, flush.zstd)
        return self._deflate.held().step(octets, room, flush.zlib)

    @no_inline
    def _error(
        mut self, kind: CompressErrorKind, reason: StaticString
    ) -> CompressError:
        self._is_open = False
        return CompressError(
            kind, self.format, self._input_len, -1, String(reason)
        )


def compress(
    octets: Span[UInt8, _], format: Format, level: Int = LEVEL_DEFAULT
) raises CompressError -> List[UInt8]:
    """Compresses octets to a whole stream.

    Args:
        octets: What to compress.
        format: What to write.
        level: As for `Encoder`.

    Returns:
        The stream.

    Raises:
        CompressError: As `Encoder`.
    """
    var encoder = Encoder(format, level)
    var output = Buffer()
    # At once: so zstd takes memory for a content of this length alone, and says
    # the length, for which the reader does.
    encoder._run(octets, output, _Flush.END)
    return list_of(output.span())


def _checked_level(format: Format, level: Int) raises CompressError -> Int:
    var level_min = 0
    var level_max = ZLIB_LEVEL_MAX
    var level_usual = _ZLIB_LEVEL_USUAL
    if format == Format.BROTLI:
        level_max = BROTLI_LEVEL_MAX
        level_usual = _BROTLI_LEVEL_USUAL
    elif format == Format.ZSTD:
        level_min = 1
        level_max = ZSTD_LEVEL_MAX
        level_usual = _ZSTD_LEVEL_USUAL
    if level == LEVEL_DEFAULT:
        return level_usual
    if level < level_min or level > level_max:
        raise CompressError(
            CompressErrorKind.MISUSED,
            format,
            0,
            -1,
            String(
                "there is no level ",
                level,
                "; choose ",
                level_min,
                " to ",
                level_max,
            ),
        )
    return level

"""Fuzzes decompression: cuts and bounds change nothing, limits hold."""

from flare.bytes.buffer import Buffer
from flare.compress.decoder import Decoder
from flare.compress.error import CompressError, CompressErrorKind, Format
from fuzz.engine import Target, cut_points, fuzz_main, octets_from_hex

comptime LIMIT = 5_000


def _feed(
    input: Span[UInt8, _],
    format: Format,
    cuts: List[Int],
    count_max: Int,
    mut output: Buffer,
) raises CompressError:
    var decoder = Decoder(format, LIMIT)
    var taken = 0
    for end in cuts:
        while taken < end or decoder.has_pending():
            taken += decoder.receive_some(input[taken:end], output, count_max)
    decoder.finish()


def _outcome(
    input: Span[UInt8, _], format: Format, cuts: List[Int], count_max: Int
) raises -> String:
    var output = Buffer()
    try:
        _feed(input, format, cuts, count_max, output)
    except error:
        if len(output) > LIMIT or error.offset > len(input):
            raise Error("beyond a limit: ", len(output), " ", error)
        # How far these get before they find a fault hangs on the cuts.
        if format == Format.BROTLI or format == Format.ZSTD:
            return "refused"
        # zlib may have read an octet more or less where its room was full.
        if error.kind == CompressErrorKind.OUTPUT_LIMIT:
            error.offset = -1
        var content = String(from_utf8_lossy=output.span())
        return String(error, " ", content)
    return String(from_utf8_lossy=output.span())


@fieldwise_init
struct DecoderTarget(Target):
    """Split invariance of every format."""

    def seeds(self) -> List[String]:
        """Lists streams."""
        return [
            octets_from_hex(
                "1f8b0800000000000203cb48cdc9c9d751c840a21401a7bbd2fe14000000"
            ),
            octets_from_hex("789ccb48cdc9c9d751c840a214014b1e06f6"),
            octets_from_hex("edc13101000000c2a0f54f6d0c1fa0"),
            octets_from_hex("8b098068656c6c6f2c2068656c6c6f2c2068656c6c6f2103"),
            octets_from_hex("5bffff8f7f02201e0b0472ef1f00"),
            octets_from_hex("28b52ffd20147500004068656c6c6f2c20210100e28a11"),
            octets_from_hex("28b52ffd006829000068656c6c6f"),
        ]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Decompresses whole, in pieces, and in bounded calls."""
        for code in range(6):
            var format = Format(UInt8(code))
            var whole = _outcome(input, format, [len(input)], LIMIT * 2)
            var cuts = cut_points(input)
            if _outcome(input, format, cuts, LIMIT * 2) != whole:
                raise Error(format, " changes with the cuts: ", whole)
            var bound = 1 + len(input) % 97
            if _outcome(input, format, cuts, bound) != whole:
                raise Error(format, " changes with the bound: ", whole)


def main() raises:
    """Runs the target."""
    fuzz_main("decoder", DecoderTarget())

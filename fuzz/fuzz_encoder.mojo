"""Fuzzes compression: what is written is read back, flushed or not."""

from flare.bytes.buffer import Buffer
from flare.compress.decoder import decompress
from flare.compress.encoder import Encoder
from flare.compress.error import Format
from fuzz.engine import Target, cut_points, fuzz_main


@fieldwise_init
struct EncoderTarget(Target):
    """Round trip."""

    def seeds(self) -> List[String]:
        """Lists texts."""
        return ["", "aaaaaaaaaaaaaaaa", "the quick brown fox"]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Compresses in pieces, and decompresses."""
        var code = len(input) % 5
        var encoder = Encoder(Format(UInt8(code)), len(input) % 10)
        var stream = Buffer()
        var start = 0
        for end in cut_points(input):
            encoder.receive(input[start:end], stream)
            if (end - start) % 3 == 1:
                encoder.flush(stream)
            start = end
        encoder.finish(stream)
        var octets = decompress(stream.span(), encoder.format)
        if octets != List[UInt8](input):
            raise Error("changed by a round trip")


def main() raises:
    """Runs the target."""
    fuzz_main("encoder", EncoderTarget())

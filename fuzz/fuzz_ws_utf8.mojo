"""Fuzzes UTF-8 in pieces: as the whole, as the decoder, and as early."""

from flare.bytes.utf8 import is_valid_utf8
from flare.ws.core.receiver import Utf8Checker
from fuzz.engine import Target, cut_points, fuzz_main, octets_from_hex


@fieldwise_init
struct WsUtf8Target(Target):
    """Split invariance, and agreement with the decoder of `flare.bytes`."""

    def seeds(self) -> List[String]:
        """Lists texts."""
        return [
            "plain ASCII that is longer than one block of thirty-two octets",
            "h\u00e4\u00dflich \u20ac \U0001f4a9 \uffff \U0010ffff",
            octets_from_hex("edbfbf f4908080 c0af e08080"),
        ]

    def tokens(self) -> List[String]:
        """Lists the ends of the ranges."""
        return [
            octets_from_hex("c280"),
            octets_from_hex("e0a080"),
            octets_from_hex("ed9fbf"),
            octets_from_hex("f0908080"),
            octets_from_hex("f48fbfbf"),
        ]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Checks whole and in pieces."""
        var whole = Utf8Checker()
        var bad = whole.check(input)
        if (bad < 0 and whole.is_complete()) != is_valid_utf8(input):
            raise Error("the decoder disagrees; first bad octet ", bad)
        var pieces = Utf8Checker()
        var start = 0
        for end in cut_points(input):
            var found = pieces.check(input[start:end])
            if found >= 0:
                if start + found != bad:
                    raise Error("bad at ", bad, " or ", start + found)
                return
            start = end
        if bad >= 0 or pieces.is_complete() != whole.is_complete():
            raise Error("pieces are taken that the whole is not")


def main() raises:
    """Runs the target."""
    fuzz_main("ws_utf8", WsUtf8Target())

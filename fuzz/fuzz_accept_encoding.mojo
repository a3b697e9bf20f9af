"""Fuzzes the fields about content codings: weights in range, choices allowed."""

from flare.compress.content_coding import ContentCoding
from flare.http.message.content_coding import (
    AcceptEncoding,
    CODING_COUNT_MAX,
    WEIGHT_MAX,
    parse_content_encoding,
)
from fuzz.engine import Target, fuzz_main


@fieldwise_init
struct AcceptEncodingTarget(Target):
    """The choice is the best that is offered; spaces change nothing."""

    def seeds(self) -> List[String]:
        """Lists fields."""
        return ["gzip;q=0.5, br;q=1.000, *;q=0", "identity;q=0", "deflate,,"]

    def tokens(self) -> List[String]:
        """Lists what fields are made of."""
        return [",", ";q=", "0.001", "*", "x-gzip", "identity", "br", "\t"]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Reads the input as either field."""
        var text = String(from_utf8_lossy=input)
        var accepted = AcceptEncoding(text)
        var spaced = AcceptEncoding(text.replace(",", " ,\t"))
        var offered: List[ContentCoding] = [
            ContentCoding.BR,
            ContentCoding.GZIP,
            ContentCoding.DEFLATE,
            ContentCoding.IDENTITY,
        ]
        var best = 0
        for coding in offered:
            var weight = accepted.weight(coding)
            if weight < 0 or weight > WEIGHT_MAX:
                raise Error("weight out of range: ", weight)
            if weight != spaced.weight(coding):
                raise Error("spaces count")
            best = max(best, weight)
        var chosen = accepted.choose(offered)
        if Bool(chosen) != (best > 0):
            raise Error("no choice, or one too many")
        if chosen and accepted.weight(chosen.value()) != best:
            raise Error("not the best")
        var codings = List[ContentCoding]()
        try:
            parse_content_encoding(text, codings)
        except:
            pass
        if len(codings) > CODING_COUNT_MAX:
            raise Error("too many codings")


def main() raises:
    """Runs the target."""
    fuzz_main("accept_encoding", AcceptEncodingTarget())

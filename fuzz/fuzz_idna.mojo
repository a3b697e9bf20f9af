"""Fuzzes the ASCII form of domains: it is ASCII, and it is its own form."""

from flare.bytes.utf8 import decode_utf8
from flare.url.idna import domain_to_ascii, punycode_decode, punycode_encode
from flare.url.idna_data import normalize
from fuzz.engine import Target, fuzz_main


@fieldwise_init
struct IdnaTarget(Target):
    """Forms are fixed points, of domains and of text; Punycode goes back."""

    def seeds(self) -> List[String]:
        """Lists domains of several scripts."""
        return [
            "Ya\u011F\u0131z.com",
            "\u0646\u0627\u0645\u0647\u200C\u0627\u06CC.\u05D01",
            "\u0915\u094D\u200D\u0937.xn--11b2ezcw70k",
            "\u1112\u1161\u11AB.e\u0302\u0323.\uFDFA",
        ]

    def tokens(self) -> List[String]:
        """Lists what mapping, order and composition hang on."""
        comptime ALL = "xn-- . 1 - \u3002 \u0301 \u0323 \u3099 \u200C \u200D \u05D0 \u0661 \u0628 \u094D \u1100 \u1161 \u11A8 \uAC00 \u00DF \u2126 \uFB03 \u00AD \U0001E900 \U000E0100"
        return [String(token) for token in ALL.split(" ")]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Feeds the octets themselves, and their text."""
        var text = String(from_utf8_lossy=input[0 : min(len(input), 300)])
        var octets = text.as_bytes()
        var code_points = List[Int]()
        var index = 0
        while index < len(octets):
            var read = decode_utf8(octets, index)
            code_points.append(read.value)
            index += read.octet_count
        _check_forms(code_points)
        var ascii: List[UInt8]
        try:
            ascii = domain_to_ascii(input)
        except:
            return
        for octet in ascii:
            if octet >= 128 or (octet >= 65 and octet <= 90):
                raise Error("the form has an octet that it may not have")
        if domain_to_ascii(ascii) != ascii:
            raise Error("the form of the form is another one")


def _check_forms(code_points: List[Int]) raises:
    var form = normalize(code_points)
    if normalize(form) != form:
        raise Error("normalizing twice is not normalizing once")
    var encoded = List[UInt8]()
    punycode_encode(code_points, encoded)
    var decoded = punycode_decode(encoded)
    if not decoded or decoded.value() != code_points:
        raise Error("Punycode does not lead back")


def main() raises:
    """Runs the target."""
    fuzz_main("idna", IdnaTarget())

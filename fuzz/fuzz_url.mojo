"""Fuzzes URLs: a normal form parses to itself, at any base."""

from flare.url.parts import UrlParts
from flare.url.url import Url, parse_url
from fuzz.engine import Target, fuzz_main


@fieldwise_init
struct UrlTarget(Target):
    """Normal forms are fixed points."""

    def seeds(self) -> List[String]:
        """Lists URLs."""
        return [
            "//me:p@h:8/a/../?c#d",
            "x:/.//h/..",
            "//0x7f.1",
            "//\u00DF.\uFF27",
            "//e\u0302\u0323.\u0628\u200C\u0628.\u1112\u1161\u11AB",
        ]

    def tokens(self) -> List[String]:
        """Lists what URLs are made of."""
        comptime ALL = "http: // \\ .. %2e @ : [::1] xn-- ? # \t 0x %00 \u3002 x: \u0301 \u200D \u05D0 \u094D \uFDFA \u11AB"
        return [String(token) for token in ALL.split(" ")]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Parses the octets themselves, then as text at two bases."""
        var text = String(from_utf8_lossy=input)
        try:
            _ = parse_url(input, "".as_bytes(), UrlParts())
        except:
            pass
        for base in ["http://h/a/b?c#d", "x:/a/b"]:
            var url: Url
            try:
                url = Url.parse(text, Url.parse(base))
            except:
                continue
            if Url.parse(url.href()) != url:
                raise Error("changed by a round trip: ", url)


def main() raises:
    """Runs the target."""
    fuzz_main("url", UrlTarget())

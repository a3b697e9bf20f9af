"""Fuzzes signed texts: nothing but what was signed is read."""

from flare.bytes.base64 import base64url_decode, base64url_encode
from flare.http.session.session import has_csrf_token
from flare.http.session.signing_keys import SigningKeys
from fuzz.engine import Target, fuzz_main

comptime _NOW_S = 1_800_000_000


struct SignedTarget(Target):
    """Forgeries fail, round trips do not, base64url has one form."""

    var keys: SigningKeys
    """What signs."""

    def __init__(out self) raises:
        """Makes keys."""
        self.keys = SigningKeys("0123456789abcdef0123456789abcdef")

    def seeds(self) -> List[String]:
        """Lists texts, signed ones among them."""
        return [self.keys.sign("s", "a=1", _NOW_S), "a=1&b=2", "aGVsbG8"]

    def tokens(self) -> List[String]:
        """Lists what signed texts are made of."""
        return [".", ".1800000000.", "_", "-", "="]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Reads the input as a signed text, and signs it."""
        var read = self.keys.verify("s", input, _NOW_S, 60)
        if read:
            var again = self.keys.sign("s", read.value(), _NOW_S)
            if again.as_bytes() != input:
                raise Error("a forgery was read: ", read.value())
        if has_csrf_token(self.keys, "s", input):
            raise Error("a token that nobody made")
        var octets = base64url_decode(input)
        if octets:
            var encoded = List[UInt8]()
            base64url_encode(octets.value(), encoded)
            if Span(encoded) != input:
                raise Error("two texts for the same octets")
        var text = String(from_utf8_lossy=input)
        var signed = self.keys.sign("s", text, _NOW_S)
        if self.keys.verify("s", signed.as_bytes(), _NOW_S, 0) != text:
            raise Error("lost by a round trip")


def main() raises:
    """Runs the target."""
    fuzz_main("signed", SignedTarget())

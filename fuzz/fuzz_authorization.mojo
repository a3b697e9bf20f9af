"""Fuzzes the Authorization field: no crash; what is read is what was written."""

from flare.bytes.base64 import base64_encode
from flare.http.message.authorization import parse_basic, parse_bearer
from fuzz.engine import Target, fuzz_main


@fieldwise_init
struct AuthorizationTarget(Target):
    """Round trip of credentials; tokens hold no octet that they must not."""

    def seeds(self) -> List[String]:
        """Lists fields."""
        return ["Basic YW5uOnNlY3JldA==", "Bearer tok.en-1==", "basic  Og=="]

    def tokens(self) -> List[String]:
        """Lists what fields are made of."""
        return ["Basic ", "Bearer ", "=", "Og==", "/", "+", " "]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Reads the input by either scheme."""
        var sent = parse_basic(input)
        if sent:
            var pair = String(sent.value().user, ":", sent.value().password)
            var field = String("Basic ", base64_encode(pair.as_bytes()))
            var again = parse_basic(field.as_bytes())
            if not again or again.value().user != sent.value().user:
                raise Error("user not read back")
            if again.value().password != sent.value().password:
                raise Error("password not read back")
        var token = parse_bearer(input.as_imm())
        if token:
            for octet in token.value().as_bytes():
                if octet <= 32 or octet >= 127 or octet == 44:
                    raise Error("a token with octet ", octet)


def main() raises:
    """Runs the target."""
    fuzz_main("authorization", AuthorizationTarget())

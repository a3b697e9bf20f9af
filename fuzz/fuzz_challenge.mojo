"""Fuzzes challenges for Digest: an answer to one is a field that can be sent."""

from flare.http.client.connect.auth import BasicAuth
from flare.http.client.connect.digest import (
    DigestSession,
    next_nonce,
    parse_challenges,
)
from flare.http.message.header_map import HeaderMap
from fuzz.engine import Target, fuzz_main


@fieldwise_init
struct ChallengeTarget(Target):
    """What is answered can be sent, and is one challenge's answer."""

    def seeds(self) -> List[String]:
        """Lists values of WWW-Authenticate."""
        return [
            'Digest realm="a", qop="auth, auth-int", algorithm=SHA-256, nonce="b", opaque="c"',
            'Basic realm="x, y", Digest nonce=n, realm="\\"", stale=true, algorithm=MD5-sess',
            'Negotiate abc==, Digest realm="a", nonce="b", userhash=true, domain="/a /b"',
            'nextnonce="a", qop=auth, rspauth="00"',
        ]

    def tokens(self) -> List[String]:
        """Lists what challenges are made of."""
        return ["Digest ", "realm=", "nonce=", '"', ", ", "\\", "qop=auth", "="]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Reads the input, and answers what can be answered."""
        var value = String(from_utf8_lossy=input)
        var nonce = next_nonce(value)
        if nonce.byte_length() > 3 * len(input):
            raise Error("a nonce of ", nonce.byte_length(), " bytes")
        var carrier = HeaderMap()
        try:
            carrier.set("WWW-Authenticate", value)
        except:
            # No such field reaches a client.
            return
        for ref challenge in parse_challenges(
            carrier.value(0).as_bytes().as_imm()
        ):
            if not challenge.is_usable():
                continue
            var session = DigestSession("", "me", challenge.copy(), "cnonce")
            var answer = session.answer(BasicAuth("me", "w"), "GET", "/")
            var headers = HeaderMap()
            headers.set("Authorization", answer)
            _ = session.covers("/a?b")
            if "response=" not in answer:
                raise Error("no answer: ", answer)


def main() raises:
    """Runs the target."""
    fuzz_main("challenge", ChallengeTarget())

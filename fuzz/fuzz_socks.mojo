"""Fuzzes what a SOCKS5 proxy sends: the same end however it is cut, and never
an octet taken that belongs to the host behind it."""

from flare.http.client.connect.error import Phase
from flare.http.client.connect.socks import (
    SocksHandshake,
    socks_destination,
    socks_login,
)
from fuzz.engine import Target, cut_points, fuzz_main, octets_from_hex

comptime HANDSHAKE_LEN_MAX = 2 + 2 + 4 + 1 + 255 + 2
"""Most octets of a proxy that one handshake takes (RFC 1928, RFC 1929)."""


@fieldwise_init
struct SocksTarget(Target):
    """Split invariance, and as much is taken as a plain look says."""

    def seeds(self) -> List[String]:
        """Lists what proxies send."""
        return [
            octets_from_hex("05000500000101020304005048545450"),
            octets_from_hex(
                "0502010005000004000000000000000000000000000000000000"
            ),
            octets_from_hex("050005000003036162630050"),
            octets_from_hex("05ff"),
            octets_from_hex("05000505000100000000"),
            "HTTP/1.1 400 Bad\r\n\r\n",
        ]

    def tokens(self) -> List[String]:
        """Lists what a handshake is made of."""
        return [
            octets_from_hex("0500"),
            octets_from_hex("0502"),
            octets_from_hex("0100"),
            octets_from_hex("05000003ff"),
            octets_from_hex("05000001"),
        ]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Compares the whole with the pieces."""
        for has_login in [False, True]:
            var whole = _outcome(input, [len(input)], has_login)
            var cuts = cut_points(input)
            cuts.append(len(input))
            var pieces = _outcome(input, cuts, has_login)
            if pieces != whole:
                raise Error("whole: ", whole, " in pieces: ", pieces)
            var plain = _plain_len(input, has_login)
            if whole.endswith("True") != (plain > 0):
                raise Error("by a plain look ", plain, ", and ", whole)
            if plain > 0 and not whole.startswith(String(plain, " ")):
                raise Error("not ", plain, " bytes: ", whole)


def _plain_len(input: Span[UInt8, _], has_login: Bool) -> Int:
    """Tells how many octets a proxy says yes with; 0 if it does not (RFC 1928
    sections 3 and 6, RFC 1929 section 2)."""
    var octets = List[UInt8](input)
    # What is missing is no part of any answer.
    var length = len(octets)
    octets.resize(HANDSHAKE_LEN_MAX + 1, 0xEE)
    var start = 2
    if octets[1] == 2 and has_login:
        if octets[2] != 1 or octets[3] != 0:
            return 0
        start = 4
    elif octets[1] != 0:
        return 0
    if octets[0] != 5 or octets[start] != 5 or octets[start + 1] != 0:
        return 0
    var end = start + 4 + 2
    if octets[start + 3] == 1:
        end += 4
    elif octets[start + 3] == 4:
        end += 16
    elif octets[start + 3] == 3:
        end += 1 + Int(octets[start + 4])
    else:
        return 0
    return end if end <= length else 0


def _outcome(
    input: Span[UInt8, _], cuts: List[Int], has_login: Bool
) raises -> String:
    var login = List[UInt8]()
    if has_login:
        login = socks_login("me", "word")
    var socks = SocksHandshake(socks_destination("a.test", 443), login^)
    var taken = 0
    var start = 0
    var said = String()
    try:
        for end in cuts:
            taken += socks.receive(input[start:end])
            start = end
    except error:
        if error.phase != Phase.PROXY:
            raise Error("another phase: ", error)
        said = String(error)
    if taken > HANDSHAKE_LEN_MAX:
        raise Error("it has taken ", taken, " bytes")
    if socks.is_done() != (socks.wanted_len() == 0):
        raise Error("it wants ", socks.wanted_len(), " bytes")
    if said.byte_length() > 0:
        return said^
    return String(taken, " ", len(socks.output), " ", socks.is_done())


def main() raises:
    """Runs the target."""
    fuzz_main("socks", SocksTarget())

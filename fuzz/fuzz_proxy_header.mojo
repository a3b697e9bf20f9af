"""Fuzzes PROXY headers: more octets never change an answer."""

from flare.net.proxy_header import (
    PROXY_HEADER_LEN_MAX,
    ProxyHeader,
    find_proxy_header,
)
from fuzz.engine import Target, cut_points, fuzz_main, octets_from_hex


def _outcome(input: Span[UInt8, _]) raises -> String:
    """Tells in a line what is found; empty for nothing yet."""
    var found: Optional[ProxyHeader]
    try:
        found = find_proxy_header(input)
    except error:
        if error.offset < 0 or error.offset > len(input):
            raise Error("offset outside of the octets: ", error)
        return String(error)
    if not found:
        return String()
    var header = found.value()
    if header.header_len > min(len(input), PROXY_HEADER_LEN_MAX):
        raise Error("a header of ", header.header_len, " octets")
    if header.client:
        return String(header.header_len, " ", header.client.value())
    return String(header.header_len)


@fieldwise_init
struct ProxyHeaderTarget(Target):
    """The same answer for every beginning that is long enough."""

    def seeds(self) -> List[String]:
        """Lists headers."""
        comptime V2 = "0d0a0d0a000d0a515549540a"
        return [
            "PROXY TCP4 192.0.2.1 198.51.100.2 56324 443\r\nGET",
            "PROXY TCP6 2001:db8::1 ::ffff:1.2.3.4 1 65535\r\n",
            "PROXY UNKNOWN x\r\n",
            octets_from_hex(V2 + "2111000cc0000201c6336402dc0401bb"),
            octets_from_hex(
                V2 + "21110013c0000201c6336402dc0401bb030004a9b87e8f"
            ),
            octets_from_hex(V2 + "20000000"),
        ]

    def tokens(self) -> List[String]:
        """Lists what headers are made of."""
        return ["PROXY ", "TCP4 ", "TCP6 ", "UNKNOWN", " ", "\r\n", "::", "."]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Compares the answers to beginnings of the input."""
        var last = _outcome(input)
        for cut in cut_points(input):
            var early = _outcome(input[0:cut])
            if early.byte_length() > 0 and early != last:
                raise Error("'", early, "' became '", last, "'")


def main() raises:
    """Runs the target."""
    fuzz_main("proxy_header", ProxyHeaderTarget())

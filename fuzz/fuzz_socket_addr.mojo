"""Fuzzes socket addresses, networks and zones: what prints parses back."""

from flare.net.ip import IpNetwork, ZonedIpAddr
from flare.net.socket_addr import SocketAddr
from fuzz.engine import Target, fuzz_main


@fieldwise_init
struct SocketAddrTarget(Target):
    """Round trip of everything that holds an IP address."""

    def seeds(self) -> List[String]:
        """Lists one of each."""
        return ["[::1]:8080", "1.2.3.4:80", "10.0.0.0/8", "fe80::1%eth0"]

    def tokens(self) -> List[String]:
        """Lists what they are made of."""
        return ["::", ":", ".", "255", "/0", "%", "[", "]:", "65535"]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Parses the input as each kind."""
        var text = String(from_utf8_lossy=input)
        for kind in range(3):
            var printed = _printed(text, kind)
            if printed != "" and _printed(printed, kind) != printed:
                raise Error("changed by a round trip: ", printed)


def _printed(text: StringSpan, kind: Int) -> String:
    try:
        if kind == 0:
            return String(IpNetwork.parse(text))
        if kind == 1:
            return String(SocketAddr.parse(text))
        return String(ZonedIpAddr.parse(text))
    except:
        return ""


def main() raises:
    """Runs the target."""
    fuzz_main("socket_addr", SocketAddrTarget())

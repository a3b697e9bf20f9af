"""Fuzzes IP addresses: what is accepted prints in a form that parses back."""

from flare.net.ip import IpAddr
from fuzz.engine import Target, fuzz_main


@fieldwise_init
struct IpTarget(Target):
    """Round trip of addresses, offset of faults."""

    def seeds(self) -> List[String]:
        """Lists addresses."""
        return ["1.2.3.4", "2001:db8::8:800:200c:417a", "::ffff:1.2.3.4"]

    def tokens(self) -> List[String]:
        """Lists what addresses are made of."""
        return ["::", ":", ".", "255", "ffff", "0"]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Parses the octets themselves: a forbidden page is behind them."""
        var ip: IpAddr
        try:
            ip = IpAddr.parse(input)
        except error:
            if error.offset < 0 or error.offset > len(input):
                raise Error("offset outside of the text: ", error)
            return
        if IpAddr.parse(String(ip)) != ip:
            raise Error("changed by a round trip: ", ip)


def main() raises:
    """Runs the target."""
    fuzz_main("ip", IpTarget())

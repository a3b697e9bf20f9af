"""Fuzzes host names: what passes has nothing that a resolver could misread."""

from flare.dns.host_name import check_host_name
from flare.net.ip import IpAddr
from fuzz.engine import Target, fuzz_main


@fieldwise_init
struct HostNameTarget(Target):
    """Octets and labels of names that pass; offsets of the others."""

    def seeds(self) -> List[String]:
        """Lists host names, and texts that are close to one."""
        return ["www.example.com", "a-b.c_d.", "127.0.0.1", "0x7f.1", "a@b"]

    def tokens(self) -> List[String]:
        """Lists what names are made of."""
        return [".", "-", "_", "a", "0", "0x", "9", "@", "\0", "\r\n", "%"]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Checks the octets themselves: a forbidden page is behind them."""
        try:
            check_host_name(input)
        except error:
            if error.offset < 0 or error.offset > len(input):
                raise Error("offset outside of the text: ", error)
            return
        var label_len = 0
        for octet in input:
            label_len = 0 if octet == 46 else label_len + 1
            if octet <= 44 or octet == 64 or octet >= 123 or label_len > 63:
                raise Error("an octet or a length that no name has")
        try:
            _ = IpAddr.parse(input)
        except:
            return
        raise Error("an address has passed as a name")


def main() raises:
    """Runs the target."""
    fuzz_main("host_name", HostNameTarget())

"""Fuzzes what proxies tell: no crash, bounded, the nearest hop is never lost."""

from flare.http.message.forwarded import HopsFromNearest, parse_node
from fuzz.engine import Target, fuzz_main


@fieldwise_init
struct ForwardedTarget(Target):
    """Bounds hold; a node that is written is read back; a prefix has no say."""

    def seeds(self) -> List[String]:
        """Lists fields."""
        return [
            'for="[2001:db8::17]:4711";proto=http;host="a\\.b", for=1.2.3.4',
            "203.0.113.7, 10.0.0.1:80, [::1]:81, unknown",
        ]

    def tokens(self) -> List[String]:
        """Lists what fields are made of."""
        return ["for=", "proto=", "host=", ";", ",", '"', "\\", "[", "]", ":"]

    def run(mut self, input: Span[UInt8, _]) raises:
        """Reads the input as either field, and as a node."""
        for is_forwarded in [True, False]:
            var count = 0
            for hop in HopsFromNearest(input, is_forwarded=is_forwarded):
                count += 1
                for octet in hop.host.as_bytes():
                    if octet < 32 or octet > 126:
                        raise Error("a control octet in a host")
            if count > len(input) // 2 + 1:
                raise Error("more hops than elements")
            _check_last(input, is_forwarded)
        var node = parse_node(input)
        if node:
            var written = String(node.value())
            var again = parse_node(written.as_bytes())
            if not again or again.value() != node.value():
                raise Error("not read back: ", written)


def _check_last(input: Span[UInt8, _], is_forwarded: Bool) raises:
    """Checks that what a proxy adds is read, whatever stands before it."""
    var longer = List[UInt8]()
    longer.extend(input)
    var added = StaticString(",for=203.0.113.9;proto=https")
    if not is_forwarded:
        added = ",203.0.113.9"
    longer.extend(added.as_bytes())
    var hops = HopsFromNearest(Span(longer).as_imm(), is_forwarded=is_forwarded)
    var address = hops.__next__().address
    if not address or String(address.value()) != "203.0.113.9:0":
        raise Error("the nearest hop is lost")


def main() raises:
    """Runs the target."""
    fuzz_main("forwarded", ForwardedTarget())

"""Fuzzes what proxies tell: no crash, bounded, cuts between elements agree."""

from flare.http.message.forwarded import (
    HOP_COUNT_MAX,
    parse_forwarded,
    parse_forwarded_for,
    parse_node,
)
from fuzz.engine import Target, fuzz_main


@fieldwise_init
struct ForwardedTarget(Target):
    """Bounds hold; a node that is written is read back."""

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
        var hops = parse_forwarded(input)
        if hops:
            if len(hops.value()) > HOP_COUNT_MAX:
                raise Error("too many hops")
            for ref hop in hops.value():
                for octet in hop.host.as_bytes():
                    if octet < 32 or octet > 126:
                        raise Error("a control octet in a host")
        hops = parse_forwarded_for(input)
        if hops and len(hops.value()) > HOP_COUNT_MAX:
            raise Error("too many hops")
        var node = parse_node(input)
        if node:
            var written = String(node.value())
            var again = parse_node(written.as_bytes())
            if not again or again.value() != node.value():
                raise Error("not read back: ", written)


def main() raises:
    """Runs the target."""
    fuzz_main("forwarded", ForwardedTarget())

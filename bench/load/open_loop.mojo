"""The open-loop load generator: a constant rate, whatever the server does.

Usage: open_loop ADDRESS TARGET RATE CONNECTIONS SECONDS BODY_LEN

ADDRESS is such as 127.0.0.1:8080; BODY_LEN is the length of each answer's
content. Ends with a line of figures, as bench/load/plain.lua makes wrk print.
"""

from cli.mojo_flare.bench.load.arrivals import Arrivals
from bench.load.generator import Generator
from flare.net import SocketAddr
from flare.sys.clock import monotonic_ns
from std.sys import argv

comptime LEAD_NS = 1_000_000
"""From the last connection to the first request."""


def main() raises:
    if len(argv()) != 7:
        raise Error(
            "usage: open_loop ADDRESS TARGET RATE CONNECTIONS SECONDS BODY_LEN"
        )
    var rate = Int(String(argv()[3]))
    var connection_count = Int(String(argv()[4]))
    var duration_ns = Int(String(argv()[5])) * 1_000_000_000
    if rate < 1 or connection_count < 1 or duration_ns < 1:
        raise Error("RATE, CONNECTIONS and SECONDS are at least 1")
    var request = String(
        "GET ", argv()[2], " HTTP/1.1\r\nHost: ", argv()[1], "\r\n\r\n"
    )
    var generator = Generator(
        SocketAddr.parse(String(argv()[1])),
        request,
        Int(String(argv()[6])),
        connection_count,
    )
    var arrivals = Arrivals(rate, monotonic_ns() + LEAD_NS, duration_ns)
    generator.run(arrivals)
    generator.tally.tell(duration_ns)

"""What came of a run, and the line of figures that tells it."""

from cli.mojo_flare.bench.load.histogram import Histogram


struct Tally(Movable):
    """What came of a run."""

    var latency_ns: Histogram
    """Of what was answered and of what still waited at the end."""
    var answered_count: Int
    var octet_count: Int
    var wrong_count: Int
    """Answers other than 200."""
    var closed_count: Int
    """Connections that ended."""
    var waiting_count: Int
    """Requests that were due and have no answer."""

    def __init__(out self):
        self.latency_ns = Histogram()
        self.answered_count = 0
        self.octet_count = 0
        self.wrong_count = 0
        self.closed_count = 0
        self.waiting_count = 0

    def tell(self, duration_ns: Int):
        """Prints what bench/load/plain.lua makes wrk print; times in
        microseconds."""
        ref latency = self.latency_ns
        print('figures: {"requests": ', self.answered_count, sep="", end="")
        print(', "bytes": ', self.octet_count, sep="", end="")
        print(', "duration_us": ', duration_ns // 1000, sep="", end="")
        print(', "latency_us": {"min": ', _us(latency.least), sep="", end="")
        print(', "p25": ', _us(latency.at(0.25)), sep="", end="")
        print(', "p50": ', _us(latency.at(0.5)), sep="", end="")
        print(', "p75": ', _us(latency.at(0.75)), sep="", end="")
        print(', "p90": ', _us(latency.at(0.9)), sep="", end="")
        print(', "p99": ', _us(latency.at(0.99)), sep="", end="")
        print(', "p999": ', _us(latency.at(0.999)), sep="", end="")
        print(', "max": ', _us(latency.most), "}", sep="", end="")
        print(', "errors": {"status": ', self.wrong_count, sep="", end="")
        print(', "closed": ', self.closed_count, "}", sep="", end="")
        print(', "waiting": ', self.waiting_count, "}", sep="")


def _us(value_ns: Int) -> Float64:
    return Float64(value_ns) / 1000

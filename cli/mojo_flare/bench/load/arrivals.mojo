"""When requests are due, whatever the server does: the open loop."""

comptime _SECOND_NS = 1_000_000_000


struct Arrivals(Movable):
    """Requests at a constant rate from a start to an end.

    A request that finds no free connection stays due. Its latency runs from
    when it was due, not from when it was sent: so a server that stops for a
    while is charged for all that would have come meanwhile.
    """

    var rate: Int
    """Requests a second; 0 for one whenever a connection is free, which is no
    open loop: its latencies run from when a request was sent."""
    var start_ns: Int
    """When the first is due."""
    var end_ns: Int
    """None is due from here on."""
    var taken_count: Int
    """How many were taken."""

    def __init__(out self, rate: Int, start_ns: Int, duration_ns: Int):
        """Plans them."""
        self.rate = rate
        self.start_ns = start_ns
        self.end_ns = start_ns + duration_ns
        self.taken_count = 0

    def next_ns(self) -> Int:
        """Tells when the next is due."""
        if self.rate == 0:
            return self.start_ns
        # In two parts: the product of a long run would not fit into 64 bits.
        var seconds = self.taken_count // self.rate
        var rest = self.taken_count % self.rate
        return (
            self.start_ns
            + seconds * _SECOND_NS
            + rest * _SECOND_NS // self.rate
        )

    def is_due(self, now_ns: Int) -> Bool:
        """Tells whether there is one to send."""
        return self.next_ns() <= now_ns and not self.is_over()

    def is_over(self) -> Bool:
        """Tells whether all were taken."""
        return self.next_ns() >= self.end_ns

    def take(mut self, now_ns: Int = 0) -> Int:
        """Takes the next and tells when it was due: now, without a rate."""
        var due_ns = self.next_ns() if self.rate > 0 else now_ns
        self.taken_count += 1
        return due_ns

    def behind_count(self, now_ns: Int) -> Int:
        """Counts the requests that are due and were not taken."""
        if self.rate == 0 or now_ns < self.start_ns:
            return 0
        var passed_ns = min(now_ns, self.end_ns) - self.start_ns
        var due_count = (
            passed_ns // _SECOND_NS * self.rate
            + passed_ns % _SECOND_NS * self.rate // _SECOND_NS
        )
        # The first is due at the start, and none at the end.
        due_count += Int(now_ns < self.end_ns)
        return max(due_count - self.taken_count, 0)

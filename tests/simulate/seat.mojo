"""Where an actor sits: its end of a connection, and when it acts."""

from tests.simulate.kernel import Kernel, NOBODY


struct Seat(Copyable):
    """What all actors have, be they clients or upstreams."""

    var end: Int
    """Its end of a connection; `NOBODY` before it has one."""
    var is_over: Bool
    """True if it has left."""
    var start_ns: Int
    """When it begins."""
    var next_ns: Int
    """When it does something next, whatever happens."""
    var problem: String
    """What was wrong with what it was told; empty if nothing was."""

    def __init__(out self, end: Int, start_ns: Int):
        """Gives a place to one that begins at some time."""
        self.end = end
        self.is_over = False
        self.start_ns = start_ns
        self.next_ns = start_ns
        self.problem = String()

    def is_due(self, kernel: Kernel) -> Bool:
        """Tells whether it has something to do."""
        if self.is_over or kernel.now_ns < self.start_ns:
            return False
        return self.next_ns <= kernel.now_ns or self.end in kernel.news

    def dial(mut self, mut kernel: Kernel) -> Bool:
        """Connects to the server, or leaves if nobody listens there."""
        self.end = kernel.dial()
        self.is_over = self.end == NOBODY
        return not self.is_over

    def wake_later(mut self, mut kernel: Kernel, pause_ns_max: Int):
        """Acts again some time soon."""
        var pause_ns = kernel.dice.below(pause_ns_max)
        self.next_ns = min(self.next_ns, kernel.now_ns + pause_ns)

    def leave(mut self, mut kernel: Kernel, *, is_reset: Bool):
        """Ends its connection, and does nothing more."""
        if is_reset:
            kernel.reset_end(self.end)
        else:
            kernel.close_end(self.end)
        self.is_over = True
        self.next_ns = Int.MAX

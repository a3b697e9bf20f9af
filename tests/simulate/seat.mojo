"""Where an actor sits: its end of a connection, and when it acts."""

from flare.bytes.buffer import Buffer
from flare.bytes.checked import *
from flare.sys.errno import EAGAIN
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

    def receive(
        mut self, mut kernel: Kernel, mut inbox: Buffer, length_max: Int
    ) -> Int:
        """Reads once, so much or less. Returns how much has come, 0 at the end,
        or a negative errno."""
        var room = List[UInt8](length=length_max, fill=0)
        var length = length_max
        if kernel.dice.one_in(2):
            length = kernel.dice.between(1, length_max)
        var count = kernel.read(self.end, Span(room)[:length], False)
        if count > 0:
            inbox.append(Span(room)[:count])
        return count

    def send(
        mut self, mut kernel: Kernel, mut outbox: Buffer, pause_ns_max: Int
    ) -> Bool:
        """Sends in portions, some of them later; leaves if nobody takes them.
        True if all is sent."""
        while len(outbox) > 0:
            var length = kernel.dice.between(1, len(outbox))
            var count = kernel.write(self.end, outbox.span()[:length])
            if count == -EAGAIN:
                return False
            if count < 0:
                self.leave(kernel, is_reset=False)
                return False
            outbox.consume(count)
            if kernel.dice.one_in(3):
                self.wake_later(kernel, pause_ns_max)
                return False
        return True

    def portion(
        mut self, mut kernel: Kernel, left: Int, room: Int, pause_ns_max: Int
    ) -> Int:
        """Tells how much of what is left is sent now: what there is room for, or
        less, and the rest soon."""
        var count = max(min(left, room), 0)
        if count > 1 and kernel.dice.one_in(2):
            count = kernel.dice.between(1, count)
            self.wake_later(kernel, pause_ns_max)
        return count

    def leave(mut self, mut kernel: Kernel, *, is_reset: Bool):
        """Ends its connection, and does nothing more."""
        if is_reset:
            kernel.reset_end(self.end)
        else:
            kernel.close_end(self.end)
        self.is_over = True
        self.next_ns = Int.MAX

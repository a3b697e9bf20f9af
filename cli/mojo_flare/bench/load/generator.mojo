"""Sends requests when they are due, whatever the server does.

The time of an answer runs from when its request was due, not from when it was
sent: a server that stops for a while is charged for all that would have come
meanwhile, and so is one that has too few connections (coordinated omission).

The generator does not sleep while a request is due within a millisecond, so it
wants a CPU of its own.
"""

from arrivals import Arrivals
from flare.http.client.connect.error import ClientError
from flare.runtime import Reactor
from flare.sys.clock import monotonic_ns
from link import Link, Outcome
from tally import Tally
from target import Target

comptime OPEN_MAX_NS = 10_000_000_000
"""Longest wait for the first connections."""
comptime DRAIN_MAX_NS = 5_000_000_000
"""Longest wait for answers behind the end."""
comptime _GRACE_NS = 100_000_000
comptime _TELL_NS = 500_000_000
comptime _CHECK_NS = 50_000_000
comptime _MS_NS = 1_000_000


struct Generator(Movable):
    """Loads one target over a number of connections."""

    var tally: Tally
    var _target: Target
    var _reactor: Reactor
    var _links: List[Link]
    var _free: List[Int]
    var _timeout_ns: Int
    var _start_ns: Int
    var _told_ns: Int
    var _checked_ns: Int

    def __init__(
        out self, var target: Target, connection_count: Int, timeout_ns: Int
    ) raises:
        """Opens all connections.

        Args:
            target: What is asked.
            connection_count: Requests that may be under way at once.
            timeout_ns: How long an answer may take from when it was sent.

        Raises:
            Error: If a connection cannot be opened.
        """
        self.tally = Tally()
        self._target = target^
        self._reactor = Reactor()
        self._links = List[Link](capacity=connection_count)
        self._free = List[Int](capacity=connection_count)
        self._timeout_ns = timeout_ns
        self._start_ns = 0
        self._told_ns = 0
        self._checked_ns = 0
        for index in range(connection_count):
            self._links.append(Link(UInt64(index)))
            self._links[index].open(self._target, self._reactor)
        self._await_links()

    def _await_links(mut self) raises:
        var until_ns = monotonic_ns() + OPEN_MAX_NS
        while len(self._free) < len(self._links):
            if monotonic_ns() > until_ns:
                raise Error(
                    len(self._free),
                    " of ",
                    len(self._links),
                    " connections were opened within 10 s",
                )
            for at in range(self._reactor.poll(100)):
                var event = self._reactor.event(at)
                var index = Int(event.token)
                var outcome = self._links[index].turn(
                    self._target, event.is_writable
                )
                if outcome == Outcome.OPENED:
                    self._free.append(index)

    def run(mut self, mut arrivals: Arrivals) raises:
        """Sends all arrivals and waits for their answers.

        Args:
            arrivals: When requests are due.

        Raises:
            Error: If the kernel refuses.
        """
        self._start_ns = arrivals.start_ns
        self._told_ns = arrivals.start_ns
        self._checked_ns = arrivals.start_ns
        # What was due at the very end may be sent a moment later.
        var send_until_ns = arrivals.end_ns
        if arrivals.rate > 0:
            send_until_ns += _GRACE_NS
        var last_ns = arrivals.end_ns + min(self._timeout_ns, DRAIN_MAX_NS)
        while True:
            var now_ns = monotonic_ns()
            while (
                len(self._free) > 0
                and now_ns < send_until_ns
                and arrivals.is_due(now_ns)
            ):
                self._send(self._free.pop(), arrivals.take(now_ns), now_ns)
            if now_ns >= arrivals.end_ns and self._is_done(
                arrivals, now_ns >= send_until_ns
            ):
                break
            if now_ns >= last_ns:
                break
            self._receive_ready(self._wait_ms(arrivals, now_ns))
            self._look_at_clock(arrivals, now_ns)
        self._count_unfinished(arrivals)

    def _is_done(self, arrivals: Arrivals, sends_no_more: Bool) -> Bool:
        """Tells whether nothing is under way, and nothing follows."""
        return len(self._free) == len(self._links) and (
            sends_no_more or arrivals.is_over()
        )

    def _wait_ms(self, arrivals: Arrivals, now_ns: Int) -> Int:
        """Gives how long nothing is due, in whole milliseconds."""
        if len(self._free) == 0 or now_ns >= arrivals.end_ns:
            return 50
        return min(max((arrivals.next_ns() - now_ns) // _MS_NS, 0), 50)

    def _send(mut self, index: Int, due_ns: Int, now_ns: Int):
        self._links[index].sent_ns = now_ns
        try:
            var outcome = self._links[index].ask(
                self._target, self._reactor, due_ns
            )
            self._conclude(index, outcome)
        except error:
            self._fail(index, _name(error))

    def _receive_ready(mut self, wait_ms: Int) raises:
        for at in range(self._reactor.poll(wait_ms)):
            var event = self._reactor.event(at)
            var index = Int(event.token)
            var was_busy = self._links[index].is_busy
            try:
                var outcome = self._links[index].turn(
                    self._target, event.is_writable
                )
                self._conclude(index, outcome)
            except error:
                if was_busy:
                    self._fail(index, _name(error))
                else:
                    self._links[index].close()

    def _conclude(mut self, index: Int, outcome: Outcome):
        if outcome != Outcome.ANSWERED:
            return
        ref link = self._links[index]
        self.tally.note_answer(
            link.status, link.octet_count, monotonic_ns() - link.due_ns
        )
        self._free.append(index)

    def _fail(mut self, index: Int, name: String):
        """Gives up a request; its connection is opened anew by the next."""
        self._links[index].close()
        self.tally.note_error(name)
        self._free.append(index)

    def _look_at_clock(mut self, arrivals: Arrivals, now_ns: Int):
        if now_ns - self._checked_ns >= _CHECK_NS:
            self._checked_ns = now_ns
            for index in range(len(self._links)):
                ref link = self._links[index]
                if link.is_busy and now_ns - link.sent_ns > self._timeout_ns:
                    self._fail(index, "timeout")
        var is_idle = not arrivals.is_due(now_ns)
        var late_ns = now_ns - self._told_ns
        # Telling takes time; better while nothing is due.
        if late_ns >= 2 * _TELL_NS or (late_ns >= _TELL_NS and is_idle):
            self._told_ns = now_ns
            self.tally.tell(
                now_ns - self._start_ns, arrivals.behind_count(now_ns)
            )

    def _count_unfinished(mut self, mut arrivals: Arrivals):
        var now_ns = monotonic_ns()
        for index in range(len(self._links)):
            if self._links[index].is_busy:
                self.tally.note_unfinished(now_ns - self._links[index].due_ns)
        while arrivals.rate > 0 and not arrivals.is_over():
            self.tally.note_unfinished(now_ns - arrivals.take())


def _name(error: ClientError) -> String:
    """Names what has failed, in a few words."""
    return String(error.phase, ": ", error.kind)

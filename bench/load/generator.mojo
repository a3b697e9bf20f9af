"""Sends requests when they are due, over connections of one reactor.

A connection has one request under way. The time of an answer runs from when
its request was due. The generator does not sleep while one is due within a
millisecond, so it wants a CPU of its own.
"""

from cli.mojo_flare.bench.load.arrivals import Arrivals
from bench.load.connecting import open_sockets
from bench.load.tally import Tally
from flare.net import RawSocket, SocketAddr
from flare.runtime import Reactor
from flare.sys.clock import monotonic_ns
from flare.sys.errno import EAGAIN

comptime DRAIN_MAX_NS = 1_000_000_000
"""Longest wait for answers behind the end."""
comptime _ROOM_LEN = 65_536
comptime _MS_NS = 1_000_000


struct Link(Movable):
    """A connection: its socket and the answer it waits for."""

    var socket: RawSocket
    var due_ns: Int
    """When the request under way was due."""
    var received_len: Int
    """Octets of the answer so far."""
    var is_waiting: Bool
    """A request is under way."""
    var is_open: Bool

    def __init__(out self, var socket: RawSocket):
        self.socket = socket^
        self.due_ns = 0
        self.received_len = 0
        self.is_waiting = False
        self.is_open = True


struct Generator(Movable):
    """Loads one address with one request."""

    var tally: Tally
    var _reactor: Reactor
    var _links: List[Link]
    var _free: List[Int]
    var _request: List[UInt8]
    var _room: List[UInt8]
    var _body_len: Int
    var _answer_len: Int

    def __init__(
        out self,
        address: SocketAddr,
        request: StringSpan,
        body_len: Int,
        connection_count: Int,
    ) raises:
        """Opens the connections.

        Args:
            address: The server.
            request: What is sent, head and all.
            body_len: Octets of the content of each answer.
            connection_count: How many connections.

        Raises:
            Error: If a connection cannot be opened in five seconds.
        """
        self.tally = Tally()
        self._reactor = Reactor()
        self._links = List[Link](capacity=connection_count)
        self._free = List[Int](capacity=connection_count)
        self._request = List[UInt8](request.as_bytes())
        self._room = List[UInt8](length=_ROOM_LEN, fill=0)
        self._body_len = body_len
        self._answer_len = 0
        for var socket in open_sockets(
            self._reactor, address, connection_count
        ):
            self._links.append(Link(socket^))
            self._free.append(len(self._free))

    def run(mut self, mut arrivals: Arrivals) raises:
        """Sends all arrivals and waits for their answers.

        What was due and has no answer when the wait is over counts with the
        time that it has waited.

        Args:
            arrivals: When requests are due.

        Raises:
            Error: If the kernel refuses, or no connection is left.
        """
        var last_ns = arrivals.end_ns + DRAIN_MAX_NS
        while not arrivals.is_over() or self._is_waiting():
            var now_ns = monotonic_ns()
            # From the end on nothing more is sent: what is due is overdue.
            if now_ns >= last_ns:
                break
            while (
                len(self._free) > 0
                and now_ns < arrivals.end_ns
                and arrivals.is_due(now_ns)
            ):
                self._send(self._free.pop(), arrivals.take())
            if now_ns >= arrivals.end_ns and not self._is_waiting():
                break
            self._receive_ready(self._wait_ms(arrivals, now_ns))
            if self.tally.closed_count == len(self._links):
                raise Error("the server has closed all connections")
        self._count_what_waits(arrivals)

    def _is_waiting(self) -> Bool:
        return len(self._free) + self.tally.closed_count < len(self._links)

    def _wait_ms(self, arrivals: Arrivals, now_ns: Int) -> Int:
        """Gives how long nothing is due, in whole milliseconds."""
        if len(self._free) == 0 or arrivals.is_over():
            return 100
        return min(max((arrivals.next_ns() - now_ns) // _MS_NS, 0), 100)

    def _send(mut self, index: Int, due_ns: Int):
        ref link = self._links[index]
        link.due_ns = due_ns
        link.received_len = 0
        link.is_waiting = True
        if link.socket.send(Span(self._request)) != len(self._request):
            self._drop(index)

    def _receive_ready(mut self, wait_ms: Int) raises:
        for at in range(self._reactor.poll(wait_ms)):
            var index = Int(self._reactor.event(at).token)
            if self._links[index].is_open:
                self._receive(index)

    def _receive(mut self, index: Int):
        """Reads until the answer is whole or nothing more is there."""
        while True:
            var count = self._links[index].socket.receive(Span(self._room))
            if count == -EAGAIN:
                return
            if count <= 0:
                self._drop(index)
                return
            self._take(index, count)
            if not self._links[index].is_open or count < _ROOM_LEN:
                return

    def _take(mut self, index: Int, count: Int):
        """Adds octets to the answer; all answers are as long as the first."""
        ref link = self._links[index]
        if link.received_len == 0:
            if not _is_ok(Span(self._room)[0:count]):
                self.tally.wrong_count += 1
                self._drop(index)
                return
            if self._answer_len == 0:
                self._answer_len = self._body_len + _head_len(
                    Span(self._room)[0:count]
                )
        link.received_len += count
        if link.received_len > self._answer_len:
            self.tally.wrong_count += 1
            self._drop(index)
        elif link.received_len == self._answer_len:
            link.is_waiting = False
            self.tally.latency_ns.record(monotonic_ns() - link.due_ns)
            self.tally.answered_count += 1
            self.tally.octet_count += link.received_len
            self._free.append(index)

    def _drop(mut self, index: Int):
        """Gives up a connection."""
        ref link = self._links[index]
        if not link.is_open:
            return
        for at in range(len(self._free)):
            if self._free[at] == index:
                _ = self._free.pop(at)
                break
        link.is_open = False
        link.is_waiting = False
        link.socket.close()
        self.tally.closed_count += 1

    def _count_what_waits(mut self, mut arrivals: Arrivals):
        var now_ns = monotonic_ns()
        for index in range(len(self._links)):
            if self._links[index].is_waiting:
                self.tally.latency_ns.record(now_ns - self._links[index].due_ns)
                self.tally.waiting_count += 1
        while not arrivals.is_over():
            self.tally.latency_ns.record(now_ns - arrivals.take())
            self.tally.waiting_count += 1


def _is_ok(octets: Span[UInt8, _]) -> Bool:
    """Tells whether an answer starts with `HTTP/1.1 200`."""
    var wanted = "HTTP/1.1 200".as_bytes()
    if len(octets) < len(wanted):
        return False
    for at in range(len(wanted)):
        if octets[at] != wanted[at]:
            return False
    return True


def _head_len(octets: Span[UInt8, _]) -> Int:
    """Counts the octets up to the content; all if the head does not end."""
    for at in range(3, len(octets)):
        if (
            octets[at] == 10
            and octets[at - 1] == 13
            and octets[at - 2] == 10
            and octets[at - 3] == 13
        ):
            return at + 1
    return len(octets)

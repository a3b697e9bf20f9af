"""All that is simulated around a server: the kernel, and the actors."""

from flare.bytes.checked import *
from flare.http import ShutdownHandle
from tests.simulate.http1_client import Http1Client, Manner
from tests.simulate.kernel import FIRST_NUMBER, FileKind, Kernel, START_NS
from tests.simulate.upstream import Upstream

comptime _ROUND_COUNT_MAX = 200_000
# No scenario takes a hundredth of that: one that does goes round in circles.

comptime _SILENCE_NS_MAX = 600_000_000_000
# How long a server may hold a connection when nobody does anything any more.


struct World(Movable):
    """A scenario, and whether all has gone as it must."""

    var kernel: Kernel
    var clients: List[Http1Client]
    var upstreams: List[Upstream]
    """Connections to upstreams that were made."""
    var _upload_counts: Dict[Int, Int]
    # How often an upstream was sent an upload.
    var problem: String
    """What went wrong first; empty if nothing did."""
    var stop: Optional[ShutdownHandle]
    var round_count: Int
    var traces: Bool
    """True to print what the program is told."""
    var _is_stopping: Bool
    var _quiet_since_ns: Int

    def __init__(out self, seed: UInt64):
        self.kernel = Kernel(seed)
        self.clients = []
        self.upstreams = []
        self._upload_counts = {}
        self.problem = String()
        self.stop = None
        self.round_count = 0
        self.traces = False
        self._is_stopping = False
        self._quiet_since_ns = 0
        var count = self.kernel.dice.between(1, 6)
        for index in range(count):
            self.clients.append(Http1Client(self.kernel, 1_000 * (index + 1)))

    def fail(mut self, what: String):
        if self.problem.byte_length() == 0:
            var micros = (self.kernel.now_ns - START_NS) // 1_000
            self.problem = String(what, ", at ", micros, " us")

    def wait(mut self, epoll: Int, capacity: Int, timeout_ms: Int) -> List[Int]:
        """Lets time pass and actors act until the program has something to do,
        or has waited for `timeout_ms`. Gives indices of files."""
        var end_ns = Int.MAX
        if timeout_ms >= 0:
            end_ns = self.kernel.now_ns + timeout_ms * 1_000_000
        # What the program has done took a moment, too.
        self.kernel.now_ns += self.kernel.dice.below(100_000)
        while True:
            self.round_count += 1
            self.kernel.deliver()
            self._act()
            var found = self.kernel.ready(epoll, capacity)
            if len(found) > 0:
                if self.traces:
                    self._trace(found)
                return found^
            if self.round_count > _ROUND_COUNT_MAX:
                self.fail("it goes round in circles")
                self._stop(2)
                continue
            var next_ns = min(self.kernel.next_ns(), self._next_ns())
            if next_ns == Int.MAX and not self._is_stopping:
                if self.kernel.stream_count() == 0:
                    self._stop(1)
                    continue
                if timeout_ms < 0:
                    self.fail("a connection is held without a deadline")
                    self._stop(2)
                    continue
                if self._quiet_since_ns == 0:
                    self._quiet_since_ns = self.kernel.now_ns
                if self.kernel.now_ns - self._quiet_since_ns > _SILENCE_NS_MAX:
                    self.fail("a connection is held for more than ten minutes")
                    self._stop(2)
                    continue
            if next_ns == Int.MAX and end_ns == Int.MAX:
                self.fail("it waits for ever")
                return []
            if next_ns > end_ns:
                self.kernel.now_ns = max(self.kernel.now_ns, end_ns)
                return []
            self.kernel.now_ns = max(self.kernel.now_ns, next_ns)

    def _trace(self, found: List[Int]):
        """Prints what the program is told."""
        var line = String((self.kernel.now_ns - START_NS) // 1_000, " us:")
        for index in found:
            ref file = self.kernel.files.at(index)
            line += String(" ", FIRST_NUMBER + index, "=")
            line += String(self.kernel.mask(index))
            if file.kind == FileKind.STREAM:
                ref end = self.kernel.ends.at(file.index)
                line += String(
                    "(",
                    len(end.inbox),
                    "+",
                    len(end.wire),
                    " of ",
                    end.window,
                    ")",
                )
        print(line)

    def _stop(mut self, count: Int):
        """Asks the server to end, at once by a second time."""
        self._is_stopping = True
        for _ in range(count):
            self.stop.value().shutdown()

    def _next_ns(self) -> Int:
        var earliest = Int.MAX
        for index in range(len(self.clients)):
            earliest = min(earliest, self.clients.at(index).next_ns)
        for index in range(len(self.upstreams)):
            earliest = min(earliest, self.upstreams.at(index).next_ns)
        return earliest

    def _act(mut self):
        """Has all act to whom something has happened, or whose time has come."""
        for index in range(len(self.clients)):
            ref client = self.clients.at(index)
            if client.is_over:
                continue
            if (
                client.next_ns <= self.kernel.now_ns
                or client.end in self.kernel.news
            ):
                client.act(self.kernel)
                if client.problem.byte_length() > 0:
                    self.fail(String("client ", index, ": ", client.problem))
        for end in self.kernel.dialled:
            self.upstreams.append(Upstream(self.kernel.dice, end))
            self.upstreams.at(len(self.upstreams) - 1).next_ns = 0
        self.kernel.dialled.clear()
        for index in range(len(self.upstreams)):
            ref upstream = self.upstreams.at(index)
            if upstream.is_over:
                continue
            if (
                upstream.next_ns <= self.kernel.now_ns
                or upstream.end in self.kernel.news
            ):
                upstream.act(self.kernel)
                self._note_upstream(index)
        self.kernel.news.clear()

    def _note_upstream(mut self, index: Int):
        """Looks at what an upstream was asked: never twice for an upload."""
        ref upstream = self.upstreams.at(index)
        var problem = upstream.problem
        var begun = List[Int]()
        swap(begun, upstream.begun)
        if problem.byte_length() > 0:
            self.fail("upstream: " + problem)
        for index in range(len(self.clients)):
            if self.clients.at(index).manner == Manner.SPEAKS_ILL:
                # It may ask for anything.
                return
        for id in begun:
            var count = self._upload_counts.get(id, 0) + 1
            self._upload_counts[id] = count
            var place = self.asked_by(id)
            if place < 0:
                self.fail(String("an upstream was asked for ", id))
            elif count > 1 and self.clients.at(place).is_upload(id):
                self.fail(String("upload ", id, " was sent ", count, " times"))

    def asked_by(self, id: Int) -> Int:
        """Gives the index of the client that asks for it; -1 if none does."""
        for index in range(len(self.clients)):
            if self.clients.at(index).asks_for(id):
                return index
        return -1

    def judge(mut self):
        """Says what is wrong when the server has ended."""
        for index in range(len(self.clients)):
            ref client = self.clients.at(index)
            if client.is_judged() and not client.is_content():
                self.fail(String("client ", index, " was left waiting"))
        if self.kernel.open_count > 0:
            self.fail(
                String(self.kernel.open_count, " descriptors are still open")
            )
